//! Architecture → weights and a pass through them. Every tensor carries its role and block.
//!
//! A family is one file with a forward pass over the layers of [`layer`]; the [`Tape`] runs it backward.

mod adaptive;
mod bert;
mod cache;
#[cfg(test)]
mod check;
mod decoder;
mod flexibert;
mod gpt2;
mod gradients;
mod initialisation;
mod layer;
mod llama;
mod model;
mod names;
mod pit;
mod recurrent;
mod sealed;
mod shunted;
mod tape;
mod transformer_xl;
mod vit;
mod weights;

pub use decoder::{Decoder, decoding_bytes};
pub use gradients::WeightGradients;
pub use initialisation::Initialisation;
pub use layer::DROPOUT;
pub use model::{CompiledModel, Model, forward, has_model, outputs, outputs_need_scores, register};
pub use names::Naming;
pub use sealed::{sealed, unsealed};
pub use tape::{Embedding, Mark, Reverse, Tape, Value};
pub use weights::numbers;
pub use weights::{Layout, Param, Supernet, Weights};

use crate::architecture::{Architecture, NetworkKind};
use cache::Cache;

/// What a network is fed: samples one after the other.
#[derive(Debug, Clone)]
pub enum Input<S> {
    /// Images of channels x height x width.
    Images {
        /// The pixels.
        pixels: Vec<S>,
        /// The class of each image; empty: unknown.
        labels: Vec<u32>,
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
    /// How many samples.
    pub fn batch(&self) -> usize {
        let (Input::Images { batch, .. } | Input::Tokens { batch, .. }) = self;
        *batch
    }

    /// The `index`-th of `parts` equal parts of the samples; `steps_first` says that ids are listed step after step.
    pub fn part(&self, index: usize, parts: usize, steps_first: bool) -> Self
    where
        S: Copy,
    {
        let size = self.batch() / parts;
        let samples = index * size..(index + 1) * size;
        match self {
            Input::Images { pixels, labels, batch } => {
                let image = pixels.len() / batch;
                let pixels = pixels[samples.start * image..samples.end * image].to_vec();
                Input::Images {
                    pixels,
                    labels: labels.get(samples).unwrap_or_default().to_vec(),
                    batch: size,
                }
            }
            Input::Tokens { ids, types, labels, batch } => {
                let pick = |all: &[u32]| -> Vec<u32> {
                    let tokens = all.len() / batch;
                    if steps_first {
                        return all.chunks(*batch).flat_map(|step| &step[samples.clone()]).copied().collect();
                    }
                    all[samples.start * tokens..samples.end * tokens].to_vec()
                };
                Input::Tokens { ids: pick(ids), types: pick(types), labels: pick(labels), batch: size }
            }
        }
    }

    /// Images without classes.
    pub fn images(pixels: Vec<S>, batch: usize) -> Self {
        Input::Images { pixels, labels: Vec::new(), batch }
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

/// Whether rows of a network's tokens are listed step after step.
pub fn steps_first(architecture: &Architecture) -> bool {
    architecture.family().card().kind == NetworkKind::Recurrent
}
