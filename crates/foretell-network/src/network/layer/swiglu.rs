//! Gated feed-forward activation.

use crate::engine::activation::Activation;
use crate::engine::scalar::Scalar;
use crate::network::{Mark, Tape, Value};

impl<S: Scalar> Tape<'_, S> {
    /// `silu(gate) up`; marks what enters and leaves the activation function.
    ///
    /// In two layers: those who look at an activation want it, and its gradient, before it meets `up`.
    pub fn swiglu(&mut self, gate: Value, up: Value, block: usize) -> Value {
        let active = self.activate(gate, Activation::Silu);
        self.mark(Mark::PreActivation(block as u32), gate);
        self.mark(Mark::Activation(block as u32), active);
        self.multiply(active, up)
    }
}
