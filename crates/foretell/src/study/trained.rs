//! Evaluation by training: what ETAS does with those that its proxy lets through.

use super::evaluate::{Evaluator, Failure, LEAST};
use crate::architecture::Architecture;
use crate::data::Data;
use crate::seed::Seed;
use crate::space::Space;
use crate::train::{self, Recipe};

/// The validation loss after a fixed number of steps, small being good. A network is trained with the vocabulary or the
/// classes of the data, which are no choice of a search.
pub struct Trained {
    data: Data,
    recipe: Recipe,
}

impl Trained {
    /// Trains networks of a space by one recipe. Data of another kind than they read are refused here, before anything is
    /// searched.
    pub fn new(data: Data, recipe: Recipe, space: &dyn Space) -> crate::error::Result<Self> {
        recipe.check()?;
        train::fit(&space.sample(&mut Seed(0).stream("sample", 0)), &data)?;
        Ok(Trained { data, recipe })
    }
}

impl Evaluator for Trained {
    fn label(&self) -> String {
        let recipe = serde_json::to_string(&self.recipe).expect("a recipe is plain data");
        let hash = blake3::hash(recipe.as_bytes()).to_hex();
        format!(
            "valid_loss after {} steps (recipe {}, data {}){LEAST}",
            self.recipe.steps,
            &hash[..8],
            &self.data.digest()[..8]
        )
    }

    fn evaluate(&self, architecture: &Architecture) -> Result<f64, Failure> {
        let network = train::fit(architecture, &self.data)?;
        Ok(-train::run(&network, &self.data, &self.recipe)?.valid.loss)
    }
}
