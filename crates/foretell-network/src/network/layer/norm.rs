//! Normalisation over the columns.

use super::Names;
use crate::engine::layer_norm::{LayerNorm, LayerNormGradient};
use crate::engine::matmul::{Mat, MatMut};
use crate::engine::scalar::Scalar;
use crate::network::{Mark, Reverse, Tape, Value};

impl<S: Scalar> Tape<'_, S> {
    /// Layer norm over the columns; `x` itself where norms are switched off.
    pub fn layer_norm(&mut self, x: Value, names: Names, indices: [usize; 2], eps: f64) -> Value {
        if self.unnormed {
            return x;
        }
        let (gain, bias) = (self.param(names[0], indices), self.param(names[1], indices));
        let (rows, cols) = self.shape(x);
        let (mut stats, mut y) = (self.space.take(2 * rows), self.space.take(rows * cols));
        let layer = LayerNorm { gain: self.weights.get(gain), bias: self.weights.get(bias), eps };
        layer.forward(self.get(x), MatMut::new(&mut y, rows, cols), &mut stats);
        let y = self.put(y, rows, cols);
        self.mark(Mark::Normed(gain), y);
        self.push_with(y, stats, move |back, dy, stats| {
            let Reverse { weights, values, gradients, weight_gradients, space, .. } = back;
            let layer = LayerNorm { gain: weights.get(gain), bias: weights.get(bias), eps };
            let (mut dg, mut db) = (space.zeros(cols), space.zeros(cols));
            let input = Some(gradients.slot(x, space));
            let gradient = LayerNormGradient { input, parameters: Some((&mut dg, &mut db)) };
            layer.backward(values.get(x), stats, Mat::new(dy, rows, cols), gradient);
            if let Some(into) = weight_gradients {
                S::accumulate(&dg, into.get_mut(gain));
                S::accumulate(&db, into.get_mut(bias));
            }
            space.give_all([dg, db]);
        });
        y
    }
}
