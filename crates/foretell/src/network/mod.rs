//! Architecture → weights and a pass through them. Every tensor carries its role and block.
//!
//! A family is one file with a forward pass over the layers of [`layer`]; the [`Tape`] runs it backward.

mod adaptive;
mod bert;
#[cfg(test)]
mod check;
mod flexibert;
pub mod gpt2;
mod gradients;
mod layer;
mod llama;
mod pit;
mod recurrent;
mod shunted;
mod tape;
pub mod transformer_xl;
mod vit;
mod weights;

pub use gradients::WeightGradients;
pub use tape::{Mark, Reverse, Tape, Value};
pub use weights::{Layout, Param, Weights};

use crate::architecture::Architecture;
use crate::engine::scalar::Scalar;

/// What a network is fed: samples one after the other.
#[derive(Debug, Clone)]
pub enum Input<S> {
    /// Images of channels x height x width.
    Images {
        /// The pixels.
        pixels: Vec<S>,
        /// How many images.
        batch: usize,
    },
    /// Token ids, all samples of one length; sample after sample, for recurrent networks step after step.
    Tokens {
        /// The ids.
        ids: Vec<u32>,
        /// Segment types of encoders; empty: all zero.
        types: Vec<u32>,
        /// The id to be predicted at each position; empty: no loss is computed.
        labels: Vec<u32>,
        /// How many samples.
        batch: usize,
    },
}

impl<S> Input<S> {
    /// One sample of several; `steps_first` says that ids are listed step after step.
    pub fn sample(&self, index: usize, steps_first: bool) -> Self
    where
        S: Copy,
    {
        match self {
            Input::Images { pixels, batch } => {
                let size = pixels.len() / batch;
                Input::Images { pixels: pixels[index * size..][..size].to_vec(), batch: 1 }
            }
            Input::Tokens { ids, types, labels, batch } => {
                let pick = |all: &[u32]| -> Vec<u32> {
                    let length = all.len() / batch;
                    let at = |t: usize| if steps_first { t * batch + index } else { index * length + t };
                    (0..length).map(|t| all[at(t)]).collect()
                };
                Input::Tokens { ids: pick(ids), types: pick(types), labels: pick(labels), batch: 1 }
            }
        }
    }

    /// Token ids without segment types or labels.
    pub fn tokens(ids: Vec<u32>, batch: usize) -> Self {
        Input::Tokens { ids, types: Vec::new(), labels: Vec::new(), batch }
    }
}

/// What a network gives.
#[derive(Debug, Clone, Copy)]
pub struct Output {
    /// Features before the head: samples · tokens rows.
    pub features: Value,
    /// Logits, where the family has a head of its own.
    pub logits: Option<Value>,
    /// The mean negative log-likelihood of the labels, 1 x 1, where the family computes it and labels were given.
    pub loss: Option<Value>,
}

/// Runs a network forward.
pub fn forward<S: Scalar>(architecture: &Architecture, input: &Input<S>, tape: &mut Tape<'_, S>) -> Output {
    match architecture.family().name() {
        "vit" => vit::forward(architecture, input, tape),
        "pit" => pit::forward(architecture, input, tape),
        "shunted" => shunted::forward(architecture, input, tape),
        "bert" => bert::forward(architecture, input, tape),
        "flexibert" => flexibert::forward(architecture, input, tape),
        "gpt2" => gpt2::forward(architecture, input, tape),
        "transformer-xl" => transformer_xl::forward(architecture, input, tape),
        "recurrent" => recurrent::forward(architecture, input, tape),
        "llama" => llama::forward(architecture, input, tape),
        other => unreachable!("{other} is in the catalogue of families but has no network"),
    }
}
