//! Fixed transforms over tokens and head columns.

use crate::engine::fourier::{Fourier, Transform};
use crate::engine::matmul::{Mat, MatMut};
use crate::engine::scalar::Scalar;
use crate::network::{Mark, Tape, Value};

impl<S: Scalar> Tape<'_, S> {
    /// A two-dimensional transform of every head of every sample; marks its softmax as the block's where asked for.
    pub fn transform(
        &mut self,
        x: Value,
        kind: Transform,
        heads: usize,
        batch: usize,
        block: usize,
    ) -> Value {
        let (rows, cols) = self.shape(x);
        let tokens = rows / batch;
        let layer = Fourier::new(kind, tokens, cols / heads);
        let mut y = self.space.take(rows * cols);
        for (y, x) in y.chunks_exact_mut(tokens * cols).zip(self.values.data(x).chunks_exact(tokens * cols)) {
            layer.forward(Mat::new(x, tokens, cols), MatMut::new(y, tokens, cols), self.space);
        }
        if self.keep_softmax {
            let width = cols / heads;
            let mut softmax = self.space.take(rows * cols);
            for (n, row) in softmax.chunks_exact_mut(width).enumerate() {
                let (sample, head, t) = (n / (heads * tokens), n / tokens % heads, n % tokens);
                row.copy_from_slice(&y[(sample * tokens + t) * cols + head * width..][..width]);
                S::softmax(row);
            }
            let softmax = self.put(softmax, rows * heads, width);
            self.mark(Mark::Spectrum(block as u32), softmax);
        }
        let y = self.put(y, rows, cols);
        self.push(y, move |back, dy| {
            let mut dx = back.space.take(rows * cols);
            for (dx, dy) in dx.chunks_exact_mut(tokens * cols).zip(dy.chunks_exact(tokens * cols)) {
                layer.backward(Mat::new(dy, tokens, cols), MatMut::new(dx, tokens, cols), back.space);
            }
            back.gradients.add(x, dx, back.space);
        });
        y
    }
}
