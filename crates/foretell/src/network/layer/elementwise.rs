//! Layers that treat every number alike.

use crate::engine::gelu::Gelu;
use crate::engine::scalar::Scalar;
use crate::network::{Mark, Tape, Value};

impl<S: Scalar> Tape<'_, S> {
    /// GELU; marks what enters and leaves as the block's activation.
    pub fn gelu(&mut self, x: Value, kind: Gelu, block: usize) -> Value {
        let y = self.gelu_unmarked(x, kind);
        self.mark(Mark::PreActivation(block as u32), x);
        self.mark(Mark::Activation(block as u32), y);
        y
    }

    /// GELU outside a feed-forward layer.
    pub fn gelu_unmarked(&mut self, x: Value, kind: Gelu) -> Value {
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

    /// `a + b`
    pub fn add(&mut self, a: Value, b: Value) -> Value {
        let (rows, cols) = self.shape(a);
        assert_eq!(self.shape(b), (rows, cols), "add");
        let mut y = self.space.take(rows * cols);
        y.copy_from_slice(self.data(a));
        S::accumulate(self.data(b), &mut y);
        let y = self.put(y, rows, cols);
        self.push(y, move |back, dy| {
            back.gradients.add_copy(a, dy, back.space);
            back.gradients.add_copy(b, dy, back.space);
        });
        y
    }
}
