//! Linear maps by tensors that belong to another layer.

use crate::engine::linear::{Linear, LinearGradient};
use crate::engine::matmul::{Mat, MatMut};
use crate::engine::scalar::{Scalar, Store};
use crate::network::{Param, Reverse, Tape, Value};

/// How a stored matrix is read as a map of out x in.
#[derive(Debug, Clone, Copy)]
pub enum Tied {
    /// Its transpose: the other layer's map run against its direction.
    Turned,
    /// So many rows, from the first of them on; the same entries of the bias belong to it.
    Rows {
        /// The first row.
        first: usize,
        /// How many.
        count: usize,
    },
}

impl Tied {
    fn view<S>(self, stored: Mat<'_, S>) -> Mat<'_, S> {
        match self {
            Tied::Turned => stored.t(),
            Tied::Rows { first, count } => {
                let cols = stored.cols();
                stored.block((first, count), (0, cols))
            }
        }
    }

    fn view_mut<S>(self, stored: MatMut<'_, S>) -> MatMut<'_, S> {
        match self {
            Tied::Turned => stored.t(),
            Tied::Rows { first, count } => {
                let cols = stored.cols();
                stored.block((first, count), (0, cols))
            }
        }
    }

    fn entries<T>(self, bias: &[T]) -> std::ops::Range<usize> {
        match self {
            Tied::Turned => 0..bias.len(),
            Tied::Rows { first, count } => first..first + count,
        }
    }
}

impl<S: Scalar> Tape<'_, S> {
    /// `y = x Wᵀ + b`. Unmarked: what enters and leaves a tensor is said by the layer it belongs to, and here both
    /// have other widths.
    pub fn tied(&mut self, x: Value, weight: Param, part: Tied, bias: Option<Param>) -> Value {
        let map = part.view(self.weights.matrix(weight));
        let (rows, cols) = (self.shape(x).0, map.rows());
        let mut y = self.space.take(rows * cols);
        let bias_part = bias.map(|bias| self.weights.get(bias)).map(|bias| &bias[part.entries(bias)]);
        let layer = Linear { weight: map, bias: bias_part };
        layer.forward(self.get(x), MatMut::new(&mut y, rows, cols), Store::Write);
        let y = self.put(y, rows, cols);
        self.push(y, move |back, dy| {
            let Reverse { weights, values, gradients, weight_gradients, space, .. } = back;
            let layer = Linear { weight: part.view(weights.matrix(weight)), bias: None };
            let (x_value, dy) = (values.get(x), Mat::new(dy, rows, cols));
            let input = Some(gradients.slot(x, space));
            layer.backward(x_value, dy, LinearGradient { input, ..Default::default() });
            if let Some(into) = weight_gradients {
                if let Some(bias) = bias {
                    let all = into.get_mut(bias);
                    let entries = part.entries(all);
                    let bias = Some(&mut all[entries]);
                    layer.backward(x_value, dy, LinearGradient { bias, ..Default::default() });
                }
                let weight = Some((part.view_mut(into.matrix_mut(weight)), Store::Add));
                layer.backward(x_value, dy, LinearGradient { weight, ..Default::default() });
            }
        });
        y
    }
}
