//! What a decoder keeps of the tokens it has seen.

use crate::engine::matmul::Mat;
use crate::engine::scalar::Scalar;

/// Keys and values of every layer for all tokens so far, or the states of a recurrent network. One sample.
#[derive(Debug, Clone)]
pub struct Cache<S> {
    /// Tokens seen.
    tokens: usize,
    /// The most tokens it will hold.
    context: usize,
    /// Whether the pass in progress leaves its states behind.
    keeps: bool,
    layers: Vec<Layer<S>>,
}

/// The buffers of one layer; those that its family does not use stay empty.
#[derive(Debug, Clone, Default)]
struct Layer<S> {
    /// Keys and values, a row per token.
    kv: [Vec<S>; 2],
    /// Projected distances of a whole context, farthest first.
    table: Vec<S>,
    /// States of a recurrent cell.
    states: Vec<Vec<S>>,
}

impl<S: Scalar> Cache<S> {
    /// Empty, with room for `context` tokens.
    pub fn new(context: usize) -> Self {
        Cache { tokens: 0, context, keeps: true, layers: Vec::new() }
    }

    /// Tokens seen so far.
    pub fn tokens(&self) -> usize {
        self.tokens
    }

    /// The most tokens it will hold.
    pub fn context(&self) -> usize {
        self.context
    }

    /// Bytes of all numbers held.
    pub fn bytes(&self) -> u64 {
        let numbers = |layer: &Layer<S>| {
            let lists = layer.kv.iter().chain([&layer.table]).chain(&layer.states);
            lists.map(Vec::len).sum::<usize>()
        };
        (self.layers.iter().map(numbers).sum::<usize>() * size_of::<S>()) as u64
    }

    /// Says whether the tokens of the next pass stay.
    pub(super) fn begin(&mut self, keeps: bool) {
        self.keeps = keeps;
    }

    /// Counts the tokens of a finished pass, or forgets their keys and values.
    pub(super) fn finish(&mut self, tokens: usize) {
        if self.keeps {
            self.tokens += tokens;
            return;
        }
        let (before, with) = (self.tokens, self.tokens + tokens);
        for buffer in self.layers.iter_mut().flat_map(|layer| &mut layer.kv) {
            buffer.truncate(buffer.len() / with * before);
        }
    }

    /// Puts the keys and values of new tokens after those kept, and gives all of them.
    pub(super) fn extend(&mut self, layer: usize, new: [Mat<'_, S>; 2]) -> [Mat<'_, S>; 2] {
        self.extend_with_table(layer, new).0
    }

    /// [`extend`](Self::extend) with the distances of as many tokens, farthest first.
    pub(super) fn extend_with_table(
        &mut self,
        layer: usize,
        new: [Mat<'_, S>; 2],
    ) -> ([Mat<'_, S>; 2], Mat<'_, S>) {
        let (context, all, width) = (self.context, self.tokens + new[0].rows(), new[0].cols());
        let layer = self.layer(layer);
        for (buffer, rows) in layer.kv.iter_mut().zip(new) {
            if buffer.is_empty() {
                buffer.reserve_exact(context * width);
            }
            (0..rows.rows()).for_each(|t| buffer.extend_from_slice(rows.row(t)));
        }
        let [k, v] = &layer.kv;
        let distances = if layer.table.is_empty() { 0 } else { all };
        let table = &layer.table[layer.table.len() - distances * width..];
        ([Mat::new(k, all, width), Mat::new(v, all, width)], Mat::new(table, distances, width))
    }

    /// Keeps the projected distances of a whole context.
    pub(super) fn keep_table(&mut self, layer: usize, table: Mat<'_, S>) {
        let kept = &mut self.layer(layer).table;
        kept.clear();
        (0..table.rows()).for_each(|t| kept.extend_from_slice(table.row(t)));
    }

    /// Whether projected distances are kept.
    pub(super) fn has_tables(&self) -> bool {
        self.layers.first().is_some_and(|layer| !layer.table.is_empty())
    }

    /// A state of a recurrent layer, if a step was taken.
    pub(super) fn state(&self, layer: usize, k: usize) -> Option<&[S]> {
        self.layers.get(layer)?.states.get(k).map(Vec::as_slice)
    }

    /// Keeps the states of a recurrent layer.
    pub(super) fn keep_states<'s>(&mut self, layer: usize, states: impl Iterator<Item = &'s [S]>)
    where
        S: 's,
    {
        if self.keeps {
            let kept = &mut self.layer(layer).states;
            for (k, state) in states.enumerate() {
                match kept.get_mut(k) {
                    Some(kept) => kept.copy_from_slice(state),
                    None => kept.push(state.to_vec()),
                }
            }
        }
    }

    fn layer(&mut self, layer: usize) -> &mut Layer<S> {
        if self.layers.len() <= layer {
            let empty = || Layer { kv: [Vec::new(), Vec::new()], table: Vec::new(), states: Vec::new() };
            self.layers.resize_with(layer + 1, empty);
        }
        &mut self.layers[layer]
    }
}
