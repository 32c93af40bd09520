//! Dropout of training passes.

use crate::engine::scalar::Scalar;
use crate::network::{Tape, Value};
use rand::RngExt;

/// The share of numbers that a training pass drops: that of every original which drops any.
const RATE: f64 = 0.1;

impl<S: Scalar> Tape<'_, S> {
    /// In training, each number is zero with probability 0.1 and grown by 1/0.9 otherwise; in evaluation, `x` itself.
    pub fn dropout(&mut self, x: Value) -> Value {
        let Some(mut rng) = self.training.take() else { return x };
        let (rows, cols) = self.shape(x);
        let (mut mask, mut y) = (self.space.take(rows * cols), self.space.take(rows * cols));
        let kept = S::from_f64(1.0 / (1.0 - RATE));
        mask.iter_mut().for_each(|m| *m = if rng.random_bool(RATE) { S::ZERO } else { kept });
        self.training = Some(rng);
        y.copy_from_slice(self.data(x));
        S::hadamard(&mask, &mut y);
        let y = self.put(y, rows, cols);
        self.push(y, move |back, dy| {
            let mut dx = back.space.take(dy.len());
            dx.copy_from_slice(dy);
            S::hadamard(&mask, &mut dx);
            back.gradients.add(x, dx, back.space);
            back.space.give(mask);
        });
        y
    }
}
