//! Attention with the relative positions of Transformer-XL within each sample.

use crate::engine::attention::{Attention, Qkv, QkvGradient};
use crate::engine::matmul::{Mat, MatMut};
use crate::engine::scalar::Scalar;
use crate::engine::xl_attention::{Positions, PositionsGradient, backward, forward};
use crate::network::{Mark, Param, Reverse, Tape, Value, Weights};

/// The relative term of a layer: projected positions, farthest first, and the biases of content and position.
#[derive(Debug, Clone, Copy)]
pub struct Relation {
    /// A row per distance.
    pub table: Value,
    /// `r_w_bias`
    pub content_bias: Param,
    /// `r_r_bias`
    pub position_bias: Param,
}

impl Relation {
    pub(super) fn view<'a, S: Scalar>(&self, table: Mat<'a, S>, weights: &'a Weights<S>) -> Positions<'a, S> {
        let [content_bias, position_bias] = [self.content_bias, self.position_bias].map(|b| weights.get(b));
        Positions { table, content_bias, position_bias }
    }
}

impl<S: Scalar> Tape<'_, S> {
    /// Self-attention within every sample, on q, k and v side by side in the columns of `qkv`.
    pub fn xl_attention(
        &mut self,
        qkv: Value,
        relation: Relation,
        layer: Attention,
        batch: usize,
        block: usize,
    ) -> Value {
        let ((rows, cols), width) = (self.shape(qkv), layer.heads * layer.head_dim);
        assert_eq!(cols, 3 * width, "xl attention: columns of q, k and v");
        if self.cache.is_some() {
            return self.cached_xl_attention(qkv, relation, layer, block);
        }
        let (tokens, maps) = (rows / batch, layer.heads * (rows / batch) * (rows / batch));
        let (mut probs, mut y) = (self.space.take(batch * maps), self.space.take(rows * width));
        for sample in 0..batch {
            let x = split(self.values.get(qkv).block((sample * tokens, tokens), (0, cols)), width);
            let r = relation.view(self.values.get(relation.table), self.weights);
            let out = MatMut::new(&mut y[sample * tokens * width..][..tokens * width], tokens, width);
            forward(&layer, x, r, &mut probs[sample * maps..][..maps], out, self.space);
        }
        let y = self.put(y, rows, width);
        let probs = self.put(probs, batch * layer.heads * tokens, tokens);
        self.mark(Mark::Attention(block as u32), probs);
        self.push(y, move |back, dy| {
            let Reverse { weights, values, gradients, space, .. } = back;
            let (mut dqkv, mut dtable) = (space.take(rows * cols), space.zeros(tokens * width));
            let (mut content, mut position) = (space.zeros(width), space.zeros(width));
            let mut part = space.take(tokens * width);
            for sample in 0..batch {
                let x = split(values.get(qkv).block((sample * tokens, tokens), (0, cols)), width);
                let r = relation.view(values.get(relation.table), weights);
                let probs = &values.data(probs)[sample * maps..][..maps];
                let dy = Mat::new(&dy[sample * tokens * width..][..tokens * width], tokens, width);
                let to = MatMut::new(&mut dqkv[sample * tokens * cols..][..tokens * cols], tokens, cols);
                let mut dr = PositionsGradient {
                    table: MatMut::new(&mut part, tokens, width),
                    content_bias: &mut content,
                    position_bias: &mut position,
                };
                backward(&layer, x, r, probs, dy, &mut QkvGradient::Joint(to), &mut dr, space);
                S::accumulate(&part, &mut dtable);
            }
            gradients.add(qkv, dqkv, space);
            gradients.add(relation.table, dtable, space);
            back.add_weight_gradient(relation.content_bias, &content);
            back.add_weight_gradient(relation.position_bias, &position);
            back.space.give_all([content, position, part]);
            back.release(probs);
        });
        y
    }
}

/// Queries, keys and values of equal width.
pub(super) fn split<S: Scalar>(x: Mat<'_, S>, width: usize) -> Qkv<'_, S> {
    Qkv { q: x.columns(0, width), k: x.columns(width, width), v: x.columns(2 * width, width) }
}
