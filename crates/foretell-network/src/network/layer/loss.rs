//! Losses.

use crate::engine::cross_entropy::cross_entropy;
use crate::engine::matmul::MatMut;
use crate::engine::scalar::Scalar;
use crate::network::{Output, Param, Reverse, Tape, Value};

impl<S: Scalar> Tape<'_, S> {
    /// The output layer of a language model: the logits of all words unless nobody wants them, the loss if there are
    /// labels. A pass with a cache scores its last token only.
    pub fn language_model(
        &mut self,
        features: Value,
        words: Param,
        bias: Option<Param>,
        labels: &[u32],
    ) -> Output {
        if self.headless && labels.is_empty() {
            return Output { features, logits: None, loss: None };
        }
        let features = self.last_if_cached(features);
        let logits = self.linear_by(features, words, bias);
        let loss = (!labels.is_empty()).then(|| self.cross_entropy(logits, labels.to_vec(), 1.0));
        Output { features, logits: Some(logits), loss }
    }

    /// `weight` times the mean cross-entropy of rows of logits, labels smoothed as the pass says; a 1 x 1 value.
    pub fn cross_entropy(&mut self, logits: Value, labels: Vec<u32>, weight: f64) -> Value {
        let (weight, smoothing) = (S::from_f64(weight), self.smoothing);
        let loss = weight * cross_entropy(self.get(logits), &labels, smoothing, None);
        let loss = self.input(&[loss], 1, 1);
        self.push(loss, move |back, dy| {
            let Reverse { values, gradients, space, .. } = back;
            let z = values.get(logits);
            let (rows, cols) = (z.rows(), z.cols());
            let mut dz = space.take(rows * cols);
            cross_entropy(z, &labels, smoothing, Some(MatMut::new(&mut dz, rows, cols)));
            S::scale(weight * dy[0], &mut dz);
            gradients.add(logits, dz, space);
        });
        loss
    }
}
