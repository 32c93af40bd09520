//! Attention within each sample.

use super::dropout::sample_of;
use crate::engine::attention::{Attention, Qkv, QkvGradient, Seen};
use crate::engine::matmul::{Mat, MatMut};
use crate::engine::relative::{Grid, Relative, RelativeGradient};
use crate::engine::scalar::Scalar;
use crate::network::{Mark, Param, Reverse, Tape, Value};

impl<S: Scalar> Tape<'_, S> {
    /// Self-attention within every sample, on q, k and v side by side in the columns of `qkv`.
    pub fn self_attention(
        &mut self,
        qkv: Value,
        layer: Attention,
        batch: usize,
        relative: Option<(Grid, [Param; 4])>,
        block: usize,
    ) -> Value {
        let (rows, cols) = self.shape(qkv);
        let (tokens, wide, narrow) =
            (rows / batch, layer.heads * layer.head_dim, layer.kv_heads * layer.head_dim);
        assert_eq!(cols, wide + 2 * narrow, "self attention: columns of q, k and v");
        if self.cache.is_some() {
            return self.cached_attention(|values| split(values.get(qkv), wide, narrow), layer, block);
        }
        let maps = layer.heads * tokens * tokens;
        let (mut probs, mut y) = (self.space.take(batch * maps), self.space.take(rows * wide));
        let factors = self.dropout_factors(layer.dropout, batch * maps);
        for sample in 0..batch {
            let x = split(self.values.get(qkv).block((sample * tokens, tokens), (0, cols)), wide, narrow);
            let tables = relative.map(|(grid, params)| tables(grid, params.map(|p| self.weights.matrix(p))));
            let out = MatMut::new(&mut y[sample * tokens * wide..][..tokens * wide], tokens, wide);
            let probs = (&mut probs[sample * maps..][..maps], sample_of(&factors, sample, maps));
            layer.forward(x, tables.as_ref(), probs, out, self.space);
        }
        let y = self.put(y, rows, wide);
        let probs = self.put(probs, batch * layer.heads * tokens, tokens);
        self.mark(Mark::Attention(block as u32), probs);
        self.push_with(y, factors, move |back, dy, factors| {
            let Reverse { weights, values, gradients, weight_gradients, space, .. } = back;
            let mut dqkv = space.take(rows * cols);
            for sample in 0..batch {
                let x = split(values.get(qkv).block((sample * tokens, tokens), (0, cols)), wide, narrow);
                let tables = relative.map(|(grid, params)| tables(grid, params.map(|p| weights.matrix(p))));
                let probs = &values.data(probs)[sample * maps..][..maps];
                let seen = Seen { probs, dropout: sample_of(factors, sample, maps) };
                let dy = Mat::new(&dy[sample * tokens * wide..][..tokens * wide], tokens, wide);
                let to = MatMut::new(&mut dqkv[sample * tokens * cols..][..tokens * cols], tokens, cols);
                let mut to = QkvGradient::Joint(to);
                match (&tables, relative, &mut *weight_gradients) {
                    (Some(_), Some((_, params)), Some(into)) => {
                        let mut grown = params.map(|param| space.zeros(into.layout().range(param).len()));
                        let mut views = grown.iter_mut().zip(params).map(|(data, param)| {
                            let (rows, cols) = into.layout().stored(param);
                            MatMut::new(data, rows, cols)
                        });
                        let mut next = || views.next().expect("four tables");
                        let keys = Some((next(), next()));
                        let mut gradient = RelativeGradient { keys, values: Some((next(), next())) };
                        layer.backward(x, tables.as_ref(), seen, dy, &mut to, Some(&mut gradient), space);
                        for (param, data) in params.into_iter().zip(&grown) {
                            S::accumulate(data, into.get_mut(param));
                        }
                        space.give_all(grown);
                    }
                    _ => layer.backward(x, tables.as_ref(), seen, dy, &mut to, None, space),
                }
            }
            gradients.add(qkv, dqkv, space);
            back.release(probs);
        });
        y
    }
}

fn split<S: Scalar>(x: Mat<'_, S>, wide: usize, narrow: usize) -> Qkv<'_, S> {
    Qkv { q: x.columns(0, wide), k: x.columns(wide, narrow), v: x.columns(wide + narrow, narrow) }
}

/// Tables in the order vertical and horizontal of the keys, vertical and horizontal of the values.
fn tables<S: Scalar>(grid: Grid, [kv, kh, vv, vh]: [Mat<'_, S>; 4]) -> Relative<'_, S> {
    Relative { grid, keys: Some((kv, kh)), values: Some((vv, vh)) }
}
