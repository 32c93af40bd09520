//! Runs a network once per distinct pass and keeps only what was asked for. Knows no formula.

mod data;
mod derivative;
mod inputs;
mod layers;
mod memory;
mod pass;
mod result;
mod run;

pub use derivative::{hessian_vector_product, jacobian_vector_product, per_sample};
pub use inputs::{Inputs, input};
pub use layers::Layers;
pub use memory::{peak_bytes, within};
pub use pass::{Derivative, Feed, Fold, Loss, Pass, Signal, Trace, WeightTransform};
pub use result::{AnyWeights, KeptValue, Number, Numbers, PassResult, View};
pub use run::{Matrix, TypedResult, natural, run, run_on};

use crate::architecture::Architecture;
use crate::engine::buffer::Workspace;
use crate::engine::dual::Dual;
use crate::error::Result;
use crate::network::Weights;
use crate::seed::Seed;
use std::time::Instant;

/// What every pass over one candidate has in common.
#[derive(Debug, Clone, Copy)]
pub struct Setting<'a> {
    /// The candidate.
    pub architecture: &'a Architecture,
    /// What it is fed, if that is given.
    pub inputs: Option<&'a Inputs>,
    /// Seed of everything that is drawn beside the weights.
    pub seed: Seed,
    /// Seed of weights that a pass draws again.
    pub weights_seed: Seed,
}

impl<'a> Setting<'a> {
    /// Drawn inputs.
    pub fn new(architecture: &'a Architecture, seed: Seed) -> Self {
        Setting { architecture, inputs: None, seed, weights_seed: seed }
    }
}

/// Memory of one worker, used again for every candidate.
#[derive(Debug, Default)]
pub struct Worker<S> {
    space: Workspace<S>,
    dual: Workspace<Dual<S>>,
}

impl<S: Number> Worker<S> {
    /// Runs one pass, whatever it differentiates.
    pub fn run(&mut self, setting: &Setting, weights: &Weights<S>, pass: &Pass) -> Result<PassResult> {
        let start = Instant::now();
        let mut seen = match pass.derivative {
            Derivative::Values | Derivative::Weights => {
                PassResult::of(run(setting, weights, pass, &mut self.space)?)
            }
            Derivative::Samples(fold, layers) => {
                let replaced = run::replaced(setting, weights, pass.weights);
                let weights = replaced.as_ref().unwrap_or(weights);
                let plain = Pass { weights: WeightTransform::Keep, ..pass.clone() };
                let numbers = derivative::folded(setting, weights, &plain, (fold, layers), &mut self.space)?;
                PassResult { numbers, ..PassResult::default() }
            }
            Derivative::Hessian(layers) => {
                let spaces = (&mut self.space, &mut self.dual);
                let product = derivative::hessian_gradient(setting, weights, pass, layers, spaces)?;
                PassResult { gradients: Some(S::own(product.data)), ..PassResult::default() }
            }
            Derivative::Trace(trace) => {
                let traces = derivative::trace(setting, weights, pass, trace, &mut self.space)?;
                PassResult { traces, ..PassResult::default() }
            }
            Derivative::Curve { points, circles } => {
                let numbers = derivative::curve(setting, weights, pass, (points, circles), &mut self.dual)?;
                PassResult { numbers, ..PassResult::default() }
            }
        };
        seen.seconds = start.elapsed().as_secs_f64();
        Ok(seen)
    }

    /// Frees idle memory that the last candidate had no use for, so that memory stays flat over many.
    pub fn trim(&mut self) {
        if self.space.idle_bytes() > 2 * self.space.peak_bytes() {
            self.space.clear();
        }
        self.dual.clear();
    }

    /// Takes the large buffers of what was seen back, for the next candidate.
    pub fn give(&mut self, seen: PassResult) {
        let kept = seen.values.into_iter().map(|(_, kept)| kept.numbers);
        kept.chain(seen.gradients).for_each(|numbers| S::reclaim(numbers, &mut self.space));
    }
}

/// The fewest passes that serve all of `wanted`.
pub fn union(wanted: impl IntoIterator<Item = Pass>) -> Vec<Pass> {
    let mut passes: Vec<Pass> = Vec::new();
    for pass in wanted {
        match passes.iter_mut().find(|known| known.serves(&pass) || pass.serves(known)) {
            Some(known) => known.merge(&pass),
            None => passes.push(pass),
        }
    }
    passes
}
