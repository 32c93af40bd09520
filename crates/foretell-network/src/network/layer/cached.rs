//! Layers of a decoder that continues from a [`Cache`](crate::network::Cache): forward only, one sample.

use super::Relation;
use super::xl_attention::split;
use crate::engine::attention::{Attention, Qkv};
use crate::engine::matmul::MatMut;
use crate::engine::scalar::Scalar;
use crate::engine::xl_attention;
use crate::network::tape::Values;
use crate::network::{Tape, Value};

impl<S: Scalar> Tape<'_, S> {
    /// Tokens before the first of this pass: those whose keys and values, or states, the cache holds.
    pub fn cached_tokens(&self) -> usize {
        self.cache.as_ref().map_or(0, |cache| cache.tokens())
    }

    /// The last row where the pass has a cache, else all of `x`: only the next token is asked for.
    pub fn last_if_cached(&mut self, x: Value) -> Value {
        let (rows, _) = self.shape(x);
        if self.cache.is_some() && rows > 1 { self.rows(x, rows - 1, 1) } else { x }
    }

    /// Attention of the new tokens to themselves and to all tokens of the cache, which keeps their keys and values.
    pub(super) fn cached_attention(
        &mut self,
        new: impl for<'v> FnOnce(&'v Values<S>) -> Qkv<'v, S>,
        layer: Attention,
        block: usize,
    ) -> Value {
        let Tape { values, space, cache, .. } = self;
        let cache = cache.as_deref_mut().expect("the caller looked");
        let Qkv { q, k, v } = new(values);
        let (rows, wide) = (q.rows(), q.cols());
        let [k, v] = cache.extend(block, [k, v]);
        let (mut probs, mut y) = (space.take(layer.heads * rows * k.rows()), space.take(rows * wide));
        let out = MatMut::new(&mut y, rows, wide);
        layer.forward(Qkv { q, k, v }, None, (&mut probs, None), out, space);
        space.give(probs);
        self.put(y, rows, wide)
    }

    /// [`cached_attention`](Self::cached_attention) with relative positions. The projected distances of a whole context
    /// are kept from the first pass on; later passes bring a table without rows.
    pub(super) fn cached_xl_attention(
        &mut self,
        qkv: Value,
        relation: Relation,
        layer: Attention,
        block: usize,
    ) -> Value {
        let Tape { values, space, cache, weights, .. } = self;
        let cache = cache.as_deref_mut().expect("the caller looked");
        let width = layer.heads * layer.head_dim;
        let Qkv { q, k, v } = split(values.get(qkv), width);
        let rows = q.rows();
        let table = values.get(relation.table);
        if table.rows() > 0 {
            cache.keep_table(block, table);
        }
        let ([k, v], table) = cache.extend_with_table(block, [k, v]);
        let relation = relation.view(table, weights);
        let (mut probs, mut y) = (space.take(layer.heads * rows * k.rows()), space.take(rows * width));
        let out = MatMut::new(&mut y, rows, width);
        xl_attention::forward(&layer, Qkv { q, k, v }, relation, &mut probs, out, space);
        space.give(probs);
        self.put(y, rows, width)
    }

    /// How many distances a Transformer-XL projects in a pass of `tokens`: as many as tokens; with a cache those of a
    /// whole context in the first pass and none later.
    pub fn distances(&self, tokens: usize) -> usize {
        match &self.cache {
            None => tokens,
            Some(cache) if cache.has_tables() => 0,
            Some(cache) => cache.context(),
        }
    }

    /// State `k` of a recurrent layer before the first step: zeros, or what the cache holds.
    pub fn state(&mut self, layer: usize, k: usize, (batch, width): (usize, usize)) -> Value {
        let mut state = self.space.zeros(batch * width);
        if let Some(kept) = self.cache.as_ref().and_then(|cache| cache.state(layer, k)) {
            state.copy_from_slice(kept);
        }
        self.put(state, batch, width)
    }

    /// Keeps the states of a recurrent layer after the last step, where the pass has a cache.
    pub fn keep_states(&mut self, layer: usize, states: &[Value]) {
        let Tape { values, cache, .. } = self;
        if let Some(cache) = cache {
            cache.keep_states(layer, states.iter().map(|state| values.data(*state)));
        }
    }
}
