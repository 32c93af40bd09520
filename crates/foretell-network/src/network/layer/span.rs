//! Convolutions over the tokens of each sample.

use crate::engine::conv1d;
use crate::engine::dynamic_conv::DynamicConv;
use crate::engine::matmul::{Mat, MatMut};
use crate::engine::scalar::{Scalar, Store};
use crate::network::{Mark, Param, Reverse, Tape, Value};

impl<S: Scalar> Tape<'_, S> {
    /// A depthwise convolution with one odd kernel per column, zero padded; marks what enters and leaves.
    pub fn depthwise(&mut self, x: Value, weight: Param, batch: usize) -> Value {
        let (rows, cols) = self.shape(x);
        let tokens = rows / batch;
        let mut y = self.space.take(rows * cols);
        for (y, x) in y.chunks_exact_mut(tokens * cols).zip(self.data(x).chunks_exact(tokens * cols)) {
            let kernels = self.weights.matrix(weight);
            conv1d::forward(Mat::new(x, tokens, cols), kernels, MatMut::new(y, tokens, cols));
        }
        let y = self.put(y, rows, cols);
        self.mark(Mark::Input(weight), x);
        self.mark(Mark::Output(weight), y);
        self.push(y, move |back, dy| {
            let Reverse { weights, values, gradients, weight_gradients, space, .. } = back;
            let mut dx = space.take(rows * cols);
            let samples = values.data(x).chunks_exact(tokens * cols).zip(dy.chunks_exact(tokens * cols));
            for (dx, (x, dy)) in dx.chunks_exact_mut(tokens * cols).zip(samples) {
                let (x, dy) = (Mat::new(x, tokens, cols), Mat::new(dy, tokens, cols));
                let dx = Some((MatMut::new(dx, tokens, cols), Store::Write));
                let dw = weight_gradients.as_mut().map(|into| into.matrix_mut(weight));
                conv1d::backward(x, weights.matrix(weight), dy, dx, dw);
            }
            gradients.add(x, dx, space);
        });
        y
    }

    /// A convolution of `x` whose kernels are the softmax of `logits`, a kernel per token and head side by side; marks
    /// the kernels as the block's.
    pub fn dynamic_convolution(
        &mut self,
        x: Value,
        logits: Value,
        layer: DynamicConv,
        batch: usize,
        block: usize,
    ) -> Value {
        let (rows, cols) = self.shape(x);
        let (sample, taps) = (rows / batch * cols, rows / batch * layer.heads * layer.kernel);
        let (mut kernels, mut y) = (self.space.take(batch * taps), self.space.take(rows * cols));
        kernels.copy_from_slice(self.data(logits));
        let samples = y.chunks_exact_mut(sample).zip(self.data(x).chunks_exact(sample));
        for ((y, x), kernels) in samples.zip(kernels.chunks_exact_mut(taps)) {
            let (x, y) = (Mat::new(x, sample / cols, cols), MatMut::new(y, sample / cols, cols));
            layer.forward(x, kernels, y);
        }
        let y = self.put(y, rows, cols);
        let kernels = self.put(kernels, rows * layer.heads, layer.kernel);
        self.mark(Mark::Kernel(block as u32), kernels);
        self.push(y, move |back, dy| {
            let Reverse { values, gradients, space, .. } = back;
            let (mut dx, mut dlogits) = (space.take(rows * cols), space.take(batch * taps));
            let to = dx.chunks_exact_mut(sample).zip(dlogits.chunks_exact_mut(taps));
            let from = values.data(x).chunks_exact(sample).zip(values.data(kernels).chunks_exact(taps));
            for (((dx, dlogits), (x, kernels)), dy) in to.zip(from).zip(dy.chunks_exact(sample)) {
                let [x, dy] = [x, dy].map(|data| Mat::new(data, sample / cols, cols));
                let dx = (MatMut::new(dx, sample / cols, cols), Store::Write);
                layer.backward(x, kernels, dy, dx, dlogits);
            }
            gradients.add(x, dx, space);
            gradients.add(logits, dlogits, space);
            back.release(kernels);
        });
        y
    }
}
