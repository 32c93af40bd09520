//! Root-mean-square normalisation over the columns.

use crate::engine::matmul::{Mat, MatMut};
use crate::engine::rms_norm::RmsNorm;
use crate::engine::scalar::Scalar;
use crate::network::{Mark, Param, Reverse, Tape, Value};

impl<S: Scalar> Tape<'_, S> {
    /// RMS norm over the columns.
    pub fn rms_norm(&mut self, x: Value, gain: Param, eps: f64) -> Value {
        if self.unnormed {
            return x;
        }
        let (rows, cols) = self.shape(x);
        let (mut inverse, mut y) = (self.space.take(rows), self.space.take(rows * cols));
        let layer = RmsNorm { gain: self.weights.get(gain), eps };
        layer.forward(self.get(x), MatMut::new(&mut y, rows, cols), &mut inverse);
        let y = self.put(y, rows, cols);
        self.mark(Mark::Normed(gain), y);
        self.push_with(y, inverse, move |back, dy, inverse| {
            let Reverse { weights, values, gradients, weight_gradients, space, .. } = back;
            let layer = RmsNorm { gain: weights.get(gain), eps };
            let (dx, dgain) =
                (Some(gradients.slot(x, space)), weight_gradients.as_mut().map(|w| w.get_mut(gain)));
            layer.backward(values.get(x), inverse, Mat::new(dy, rows, cols), dx, dgain);
        });
        y
    }
}
