//! Convolutions of images and token maps.

use super::Names;
use crate::engine::conv2d::{Conv2d, Conv2dGradient};
use crate::engine::matmul::{Mat, MatMut};
use crate::engine::scalar::Scalar;
use crate::network::{Mark, Reverse, Tape, Value};

impl<S: Scalar> Tape<'_, S> {
    /// A convolution of every sample of `x`, a row of channels x height x width each: positions x outputs rows.
    pub fn convolution(&mut self, x: Value, conv: Conv2d, names: Names, indices: [usize; 2]) -> Value {
        let weight = self.param(names[0], indices);
        let bias = (!names[1].is_empty()).then(|| self.param(names[1], indices));
        let (batch, image) = self.shape(x);
        let (high, wide) = conv.output_size();
        let (positions, cols) = (high * wide, conv.outputs);
        let mut y = self.space.take(batch * positions * cols);
        for (sample, y) in y.chunks_exact_mut(positions * cols).enumerate() {
            let x = &self.values.data(x)[sample * image..][..image];
            let bias = bias.map(|bias| self.weights.get(bias));
            conv.forward(x, self.weights.get(weight), bias, MatMut::new(y, positions, cols), self.space);
        }
        let y = self.put(y, batch * positions, cols);
        self.mark(Mark::Input(weight), x);
        self.mark(Mark::Output(weight), y);
        self.push(y, move |back, dy| {
            let Reverse { weights, values, gradients, weight_gradients, space, .. } = back;
            let mut dx = space.take(batch * image);
            for (sample, dx) in dx.chunks_exact_mut(image).enumerate() {
                let x = &values.data(x)[sample * image..][..image];
                let dy = Mat::new(&dy[sample * positions * cols..][..positions * cols], positions, cols);
                let w = weights.get(weight);
                let gradient = Conv2dGradient { input: Some(dx), weight: None, bias: None };
                conv.backward(x, w, dy, gradient, space);
                if let Some(into) = weight_gradients {
                    let gradient =
                        Conv2dGradient { input: None, weight: Some(into.get_mut(weight)), bias: None };
                    conv.backward(x, w, dy, gradient, space);
                    if let Some(bias) = bias {
                        let gradient =
                            Conv2dGradient { input: None, weight: None, bias: Some(into.get_mut(bias)) };
                        conv.backward(x, w, dy, gradient, space);
                    }
                }
            }
            gradients.add(x, dx, space);
        });
        y
    }
}
