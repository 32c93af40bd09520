//! Tokens as maps: one row of channels x positions per sample, as convolutions read them.

use crate::engine::scalar::Scalar;
use crate::network::{Param, Tape, Value};

impl<S: Scalar> Tape<'_, S> {
    /// Each sample's tokens from the `skip`-th on as one row, channel after channel.
    pub fn channels_first(&mut self, x: Value, batch: usize, skip: usize) -> Value {
        let (rows, cols) = self.shape(x);
        let (sample, map) = (rows / batch * cols, (rows / batch - skip) * cols);
        let mut y = self.space.take(batch * map);
        for (to, from) in y.chunks_exact_mut(map).zip(self.data(x).chunks_exact(sample)) {
            turn(&from[skip * cols..], cols, to);
        }
        let y = self.put(y, batch, map);
        self.push(y, move |back, dy| {
            let mut dx = back.space.zeros(rows * cols);
            for (to, from) in dx.chunks_exact_mut(sample).zip(dy.chunks_exact(map)) {
                turn(from, map / cols, &mut to[skip * cols..]);
            }
            back.gradients.add(x, dx, back.space);
        });
        y
    }

    /// Adds a learned map, stored channel after channel, to the tokens of every sample.
    pub fn add_map(&mut self, x: Value, map: Param, batch: usize) -> Value {
        let (rows, cols) = self.shape(x);
        let sample = rows / batch * cols;
        let (mut tokens, mut y) = (self.space.take(sample), self.space.take(rows * cols));
        turn(self.weights.get(map), sample / cols, &mut tokens);
        y.copy_from_slice(self.data(x));
        y.chunks_exact_mut(sample).for_each(|to| S::accumulate(&tokens, to));
        self.space.give(tokens);
        let y = self.put(y, rows, cols);
        self.push(y, move |back, dy| {
            let mut turned = back.space.take(sample);
            for from in dy.chunks_exact(sample) {
                turn(from, cols, &mut turned);
                back.add_weight_gradient(map, &turned);
            }
            back.space.give(turned);
            back.gradients.add_copy(x, dy, back.space);
        });
        y
    }
}

/// Writes the transpose of a matrix with the given number of columns.
fn turn<S: Scalar>(from: &[S], cols: usize, to: &mut [S]) {
    let rows = from.len() / cols;
    for (i, row) in from.chunks_exact(cols).enumerate() {
        row.iter().enumerate().for_each(|(j, x)| to[j * rows + i] = *x);
    }
}
