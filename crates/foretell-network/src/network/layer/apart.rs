//! Attention on queries, keys and values that are values of their own.

use super::dropout::sample_of;
use crate::engine::attention::{Attention, Qkv, QkvGradient, Seen};
use crate::engine::matmul::{Mat, MatMut};
use crate::engine::scalar::Scalar;
use crate::network::tape::Values;
use crate::network::{Mark, Reverse, Tape, Value};

impl<S: Scalar> Tape<'_, S> {
    /// Attention within every sample, which may have fewer keys than queries; marks the probabilities as the block's.
    pub fn attention(&mut self, qkv: [Value; 3], layer: Attention, batch: usize, block: usize) -> Value {
        if self.cache.is_some() {
            return self.cached_attention(|values| pick(values, qkv, 0, 1), layer, block);
        }
        let ((rows, wide), (seen, narrow)) = (self.shape(qkv[0]), self.shape(qkv[1]));
        let (tokens, keys) = (rows / batch, seen / batch);
        let maps = layer.heads * tokens * keys;
        let (mut probs, mut y) = (self.space.take(batch * maps), self.space.take(rows * wide));
        let factors = self.dropout_factors(layer.dropout, batch * maps);
        for (sample, (probs, y)) in
            probs.chunks_exact_mut(maps).zip(y.chunks_exact_mut(tokens * wide)).enumerate()
        {
            let x = pick(&self.values, qkv, sample, batch);
            let probs = (probs, sample_of(&factors, sample, maps));
            layer.forward(x, None, probs, MatMut::new(y, tokens, wide), self.space);
        }
        let y = self.put(y, rows, wide);
        let probs = self.put(probs, batch * layer.heads * tokens, keys);
        self.mark(Mark::Attention(block as u32), probs);
        self.push_with(y, factors, move |back, dy, factors| {
            let Reverse { values, gradients, space, .. } = back;
            let shapes = [(tokens, wide), (keys, narrow), (keys, narrow)];
            let mut grown = shapes.map(|(tokens, width)| space.take(batch * tokens * width));
            for (sample, dy) in dy.chunks_exact(tokens * wide).enumerate() {
                let x = pick(values, qkv, sample, batch);
                let probs = &values.data(probs)[sample * maps..][..maps];
                let seen = Seen { probs, dropout: sample_of(factors, sample, maps) };
                let [q, k, v] = &mut grown;
                let [q, k, v] =
                    [(q, shapes[0]), (k, shapes[1]), (v, shapes[2])].map(|(data, (tokens, width))| {
                        MatMut::new(&mut data[sample * tokens * width..][..tokens * width], tokens, width)
                    });
                let mut to = QkvGradient::Apart { q, k, v };
                layer.backward(x, None, seen, Mat::new(dy, tokens, wide), &mut to, None, space);
            }
            for (value, gradient) in qkv.into_iter().zip(grown) {
                gradients.add(value, gradient, space);
            }
            back.release(probs);
        });
        y
    }
}

/// Queries, keys and values of one sample.
fn pick<S: Scalar>(values: &Values<S>, qkv: [Value; 3], sample: usize, batch: usize) -> Qkv<'_, S> {
    let [q, k, v] = qkv.map(|value| {
        let all = values.get(value);
        let tokens = all.rows() / batch;
        all.block((sample * tokens, tokens), (0, all.cols()))
    });
    Qkv { q, k, v }
}
