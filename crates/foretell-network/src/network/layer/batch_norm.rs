//! Normalisation over the batch.

use super::Names;
use crate::engine::batch_norm::BatchNorm;
use crate::engine::scalar::Scalar;
use crate::network::{Reverse, Tape, Value};

impl<S: Scalar> Tape<'_, S> {
    /// Every column by its mean and variance over all rows: those of the batch, as in training.
    pub fn batch_norm(&mut self, x: Value, names: Names, indices: [usize; 2], eps: f64) -> Value {
        let (gain, bias) = (self.param(names[0], indices), self.param(names[1], indices));
        let (rows, cols) = self.shape(x);
        let mut y = self.space.take(rows * cols);
        let layer =
            BatchNorm { gain: self.weights.get(gain), bias: self.weights.get(bias), positions: 1, eps };
        let statistics = layer.statistics(self.data(x));
        layer.forward(self.data(x), &statistics, &mut y);
        let y = self.put(y, rows, cols);
        self.push(y, move |back, dy| {
            let Reverse { weights, values, gradients, weight_gradients, space, .. } = back;
            let layer = BatchNorm { gain: weights.get(gain), bias: weights.get(bias), positions: 1, eps };
            let (mut dx, mut dg, mut db) = (space.take(rows * cols), space.zeros(cols), space.zeros(cols));
            layer.backward(values.data(x), &statistics, dy, Some(&mut dx), Some((&mut dg, &mut db)));
            gradients.add(x, dx, space);
            if let Some(into) = weight_gradients {
                S::accumulate(&dg, into.get_mut(gain));
                S::accumulate(&db, into.get_mut(bias));
            }
            space.give_all([dg, db]);
        });
        y
    }
}
