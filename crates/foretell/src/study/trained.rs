//! Evaluation by training: what ETAS does with those that its proxy lets through.

use super::evaluate::{Evaluator, Failure, LEAST};
use super::rungs;
use crate::architecture::Architecture;
use crate::data::Data;
use crate::seed::Seed;
use crate::space::Space;
use crate::train::{self, Recipe};
use std::sync::Arc;

/// The validation loss after a fixed number of steps, small being good. A network is trained with the vocabulary or the
/// classes of the data, which are no choice of a search.
#[derive(Clone)]
pub struct Trained {
    data: Arc<Data>,
    recipe: Recipe,
    /// A hash of the recipe as it was given.
    hash: String,
    /// Which draw of weights and samples, counted from that of the recipe.
    draw: u64,
}

impl Trained {
    /// Trains networks of a space by one recipe. Data of another kind than they read are refused here, before anything is
    /// searched.
    pub fn new(data: Data, recipe: Recipe, space: &dyn Space) -> crate::error::Result<Self> {
        recipe.check()?;
        train::fit(&space.sample(&mut Seed(0).stream("sample", 0)), &data)?;
        let text = serde_json::to_string(&recipe).expect("a recipe is plain data");
        let hash = blake3::hash(text.as_bytes()).to_hex()[..8].to_owned();
        Ok(Trained { data: Arc::new(data), recipe, hash, draw: 0 })
    }
}

impl Evaluator for Trained {
    fn label(&self) -> String {
        let length = rungs::said(self.recipe.steps, self.draw);
        format!("valid_loss{length} (recipe {}, data {}){LEAST}", self.hash, &self.data.digest()[..8])
    }

    fn evaluate(&self, architecture: &Architecture) -> Result<f64, Failure> {
        let network = train::fit(architecture, &self.data)?;
        Ok(-train::run(&network, &self.data, &self.recipe)?.valid.loss)
    }

    /// Only the end is validated.
    fn trained_for(&self, steps: u64, draw: u64) -> Option<Arc<dyn Evaluator>> {
        let seed = self.recipe.seed.wrapping_add(draw);
        let recipe = Recipe { seed, validate_every: 0, patience: 0, ..self.recipe.for_steps(steps) };
        Some(Arc::new(Trained { recipe, draw, ..self.clone() }))
    }

    fn seen_per_step(&self) -> u64 {
        match &*self.data {
            Data::Text(_) => (self.recipe.batch * self.recipe.tokens) as u64,
            Data::Images(_) => self.recipe.batch as u64,
        }
    }

    fn side_by_side(&self) -> bool {
        true
    }
}
