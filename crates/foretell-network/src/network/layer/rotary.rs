//! Rotary positions.

use crate::engine::matmul::MatMut;
use crate::engine::rotary::Rotary;
use crate::engine::scalar::Scalar;
use crate::network::{Tape, Value};

impl<S: Scalar> Tape<'_, S> {
    /// Turns every head of row t of each sample by position t, counted from the first token that the cache lacks.
    pub fn rotate(&mut self, x: Value, head_dim: usize, base: f64, batch: usize) -> Value {
        let (rows, cols) = self.shape(x);
        let tokens = rows / batch;
        let first = self.cached_tokens();
        let layer = Rotary::new(first..first + tokens, head_dim, base);
        let mut y = self.space.take(rows * cols);
        y.copy_from_slice(self.data(x));
        y.chunks_exact_mut(tokens * cols).for_each(|y| layer.forward(MatMut::new(y, tokens, cols)));
        let y = self.put(y, rows, cols);
        self.push(y, move |back, dy| {
            let mut dx = back.space.take(dy.len());
            dx.copy_from_slice(dy);
            dx.chunks_exact_mut(tokens * cols).for_each(|dx| layer.backward(MatMut::new(dx, tokens, cols)));
            back.gradients.add(x, dx, back.space);
        });
        y
    }
}
