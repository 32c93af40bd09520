//! Evaluation by training: what ETAS does with those that its proxy lets through.

use super::evaluate::{Evaluator, Failure, LEAST};
use crate::architecture::Architecture;
use crate::data::Data;
use crate::train::{self, Recipe};

/// The validation loss after a fixed number of steps, small being good. A network is trained with the vocabulary or the
/// classes of the data, which are no choice of a search.
pub struct Trained {
    data: Data,
    recipe: Recipe,
}

impl Trained {
    /// Trains every network by one recipe.
    pub fn new(data: Data, recipe: Recipe) -> crate::error::Result<Self> {
        recipe.check()?;
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
        let failed = |e: crate::error::Error| Failure { status: e.kind(), message: e.to_string() };
        let network = train::fit(architecture, &self.data).map_err(failed)?;
        Ok(-train::run(&network, &self.data, &self.recipe).map_err(failed)?.last.loss)
    }
}
