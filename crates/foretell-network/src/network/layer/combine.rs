//! Layers that make one value of two.

use crate::engine::scalar::Scalar;
use crate::network::{Tape, Value};

impl<S: Scalar> Tape<'_, S> {
    /// `a b`, number by number.
    pub fn multiply(&mut self, a: Value, b: Value) -> Value {
        let (rows, cols) = self.shape(a);
        assert_eq!(self.shape(b), (rows, cols), "multiply");
        let mut y = self.space.take(rows * cols);
        y.copy_from_slice(self.data(a));
        S::hadamard(self.data(b), &mut y);
        let y = self.put(y, rows, cols);
        self.push(y, move |back, dy| {
            for (to, other) in [(a, b), (b, a)] {
                let mut gradient = back.space.take(dy.len());
                gradient.copy_from_slice(dy);
                S::hadamard(back.values.data(other), &mut gradient);
                back.gradients.add(to, gradient, back.space);
            }
        });
        y
    }

    /// The columns of `a`, then those of `b`.
    pub fn beside(&mut self, a: Value, b: Value) -> Value {
        let ((rows, left), (_, right)) = (self.shape(a), self.shape(b));
        assert_eq!(self.shape(b).0, rows, "beside");
        let cols = left + right;
        let mut y = self.space.take(rows * cols);
        let halves = self.data(a).chunks_exact(left).zip(self.data(b).chunks_exact(right));
        for (y, (a, b)) in y.chunks_exact_mut(cols).zip(halves) {
            y[..left].copy_from_slice(a);
            y[left..].copy_from_slice(b);
        }
        let y = self.put(y, rows, cols);
        self.push(y, move |back, dy| {
            for (to, from, width) in [(a, 0, left), (b, left, right)] {
                let mut gradient = back.space.take(rows * width);
                for (to, dy) in gradient.chunks_exact_mut(width).zip(dy.chunks_exact(cols)) {
                    to.copy_from_slice(&dy[from..][..width]);
                }
                back.gradients.add(to, gradient, back.space);
            }
        });
        y
    }
}
