//! Activation functions.

use crate::engine::activation::Activation;
use crate::engine::scalar::Scalar;
use crate::network::{Mark, Tape, Value};

impl<S: Scalar> Tape<'_, S> {
    /// An elementwise function, unmarked: not every one belongs to a feed-forward layer.
    pub fn activate(&mut self, x: Value, kind: Activation) -> Value {
        let (rows, cols) = self.shape(x);
        let (mut slope, mut y) = (self.space.take(rows * cols), self.space.take(rows * cols));
        kind.forward(self.data(x), &mut y, &mut slope);
        let y = self.put(y, rows, cols);
        self.push_with(y, slope, move |back, dy, slope| {
            let mut dx = back.space.take(dy.len());
            dx.copy_from_slice(dy);
            kind.backward(slope, &mut dx);
            back.gradients.add(x, dx, back.space);
        });
        y
    }

    /// The same; marks what enters and leaves as the block's activation.
    pub fn activation(&mut self, x: Value, kind: Activation, block: usize) -> Value {
        let y = self.activate(x, kind);
        self.mark(Mark::PreActivation(block as u32), x);
        self.mark(Mark::Activation(block as u32), y);
        y
    }
}
