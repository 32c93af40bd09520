//! The engine's layers on a tape: forward now, backward later. One file per kind; all are methods of [`Tape`].

mod activation;
mod adapter;
mod apart;
mod attention;
mod batch_norm;
mod blend;
mod cached;
mod combine;
mod convolution;
mod dropout;
mod elementwise;
mod embedding;
mod linear;
mod loss;
mod map;
mod norm;
mod rms_norm;
mod rotary;
mod rows;
mod scale;
mod select;
mod slice;
mod span;
mod swiglu;
mod tied;
mod transform;
mod xl_attention;

pub use dropout::RATE as DROPOUT;
pub use tied::Tied;
pub use xl_attention::Relation;

use super::{Param, Tape};
use crate::architecture::Names;
use crate::engine::scalar::Scalar;

impl<S: Scalar> Tape<'_, S> {
    /// The handle of a tensor that the architecture is known to have.
    pub fn param(&self, pattern: &'static str, indices: [usize; 2]) -> Param {
        self.weights
            .layout
            .find(pattern, indices)
            .unwrap_or_else(|| panic!("the architecture lists no {pattern}"))
    }
}
