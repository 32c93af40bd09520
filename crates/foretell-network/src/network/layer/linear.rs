//! Linear maps.

use super::Names;
use crate::architecture::Form;
use crate::engine::linear::{Linear, LinearGradient};
use crate::engine::matmul::{Mat, MatMut};
use crate::engine::scalar::{Scalar, Store};
use crate::network::{Mark, Param, Reverse, Tape, Value, Weights};

/// The weight of a linear map as `[out, in]`, however it is stored.
fn oriented<S: Scalar>(weights: &Weights<S>, weight: Param) -> Mat<'_, S> {
    let stored = weights.matrix(weight);
    if weights.layout.tensor(weight).form == Form::LinearTransposed { stored.t() } else { stored }
}

impl<S: Scalar> Tape<'_, S> {
    /// `y = x Wᵀ + b`; marks what enters and leaves.
    pub fn linear(&mut self, x: Value, names: Names, indices: [usize; 2]) -> Value {
        let weight = self.param(names[0], indices);
        let bias = (!names[1].is_empty()).then(|| self.param(names[1], indices));
        self.linear_by(x, weight, bias)
    }

    /// [`linear`](Self::linear) by handles.
    pub fn linear_by(&mut self, x: Value, weight: Param, bias: Option<Param>) -> Value {
        let (rows, _) = self.shape(x);
        let cols = oriented(self.weights, weight).rows();
        let mut y = self.space.take(rows * cols);
        let layer =
            Linear { weight: oriented(self.weights, weight), bias: bias.map(|bias| self.weights.get(bias)) };
        layer.forward(self.get(x), MatMut::new(&mut y, rows, cols), Store::Write);
        let y = self.put(y, rows, cols);
        self.mark(Mark::Input(weight), x);
        self.mark(Mark::Output(weight), y);
        self.push(y, move |back, dy| {
            let Reverse { weights, values, gradients, weight_gradients, space, .. } = back;
            let layer = Linear { weight: oriented(weights, weight), bias: None };
            let (x_value, dy) = (values.get(x), Mat::new(dy, rows, cols));
            let input = Some(gradients.slot(x, space));
            layer.backward(x_value, dy, LinearGradient { input, ..Default::default() });
            if let Some(into) = weight_gradients {
                if let Some(bias) = bias {
                    let bias = Some(into.get_mut(bias));
                    layer.backward(x_value, dy, LinearGradient { bias, ..Default::default() });
                }
                let turned = into.layout().tensor(weight).form == Form::LinearTransposed;
                let (stored, store) = into.slot(weight);
                let weight = Some((if turned { stored.t() } else { stored }, store));
                layer.backward(x_value, dy, LinearGradient { weight, ..Default::default() });
            }
        });
        y
    }
}
