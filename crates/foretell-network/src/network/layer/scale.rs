//! Multiplication by a constant.

use crate::engine::scalar::Scalar;
use crate::network::{Tape, Value};

impl<S: Scalar> Tape<'_, S> {
    /// `factor · x`
    pub fn scale(&mut self, x: Value, factor: f64) -> Value {
        let (rows, cols) = self.shape(x);
        let factor = S::from_f64(factor);
        let mut y = self.space.take(rows * cols);
        y.copy_from_slice(self.data(x));
        S::scale(factor, &mut y);
        let y = self.put(y, rows, cols);
        self.push(y, move |back, dy| {
            let mut dx = back.space.take(dy.len());
            dx.copy_from_slice(dy);
            S::scale(factor, &mut dx);
            back.gradients.add(x, dx, back.space);
        });
        y
    }
}
