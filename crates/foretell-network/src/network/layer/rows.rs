//! Layers that move, add or average rows.

use crate::engine::scalar::Scalar;
use crate::network::{Param, Tape, Value};

impl<S: Scalar> Tape<'_, S> {
    /// Adds a table to the rows of every sample: row t of a sample gets row t of the table, counted from the first token
    /// that the cache lacks.
    pub fn add_table(&mut self, x: Value, table: Param, batch: usize) -> Value {
        let (rows, cols) = self.shape(x);
        let sample = rows / batch * cols;
        let used = self.cached_tokens() * cols..self.cached_tokens() * cols + sample;
        let mut y = self.space.take(rows * cols);
        y.copy_from_slice(self.data(x));
        let added = &self.weights.get(table)[used.clone()];
        y.chunks_exact_mut(sample).for_each(|to| S::accumulate(added, to));
        let y = self.put(y, rows, cols);
        self.push(y, move |back, dy| {
            if let Some(into) = &mut back.weight_gradients {
                let into = &mut into.get_mut(table)[used.clone()];
                dy.chunks_exact(sample).for_each(|from| S::accumulate(from, into));
            }
            back.gradients.add_copy(x, dy, back.space);
        });
        y
    }

    /// Puts a learned row before the tokens of every sample.
    pub fn prepend(&mut self, x: Value, token: Param, batch: usize) -> Value {
        let (rows, cols) = self.shape(x);
        let sample = rows / batch * cols;
        let mut y = self.space.take((rows + batch) * cols);
        for (to, from) in y.chunks_exact_mut(sample + cols).zip(self.data(x).chunks_exact(sample)) {
            to[..cols].copy_from_slice(self.weights.get(token));
            to[cols..].copy_from_slice(from);
        }
        let y = self.put(y, rows + batch, cols);
        self.push(y, move |back, dy| {
            let mut dx = back.space.take(rows * cols);
            for (to, from) in dx.chunks_exact_mut(sample).zip(dy.chunks_exact(sample + cols)) {
                to.copy_from_slice(&from[cols..]);
                back.add_weight_gradient(token, &from[..cols]);
            }
            back.gradients.add(x, dx, back.space);
        });
        y
    }

    /// The mean of each sample's rows `from..to`.
    pub fn mean_rows(&mut self, x: Value, batch: usize, (from, to): (usize, usize)) -> Value {
        let (rows, cols) = self.shape(x);
        let (sample, share) = (rows / batch * cols, S::from_f64(1.0 / (to - from) as f64));
        let inside = from * cols..to * cols;
        let mut y = self.space.zeros(batch * cols);
        for (mean, sample) in y.chunks_exact_mut(cols).zip(self.data(x).chunks_exact(sample)) {
            sample[inside.clone()].chunks_exact(cols).for_each(|row| S::axpy(share, row, mean));
        }
        let y = self.put(y, batch, cols);
        self.push(y, move |back, dy| {
            let mut dx = back.space.zeros(rows * cols);
            for (sample, mean) in dx.chunks_exact_mut(sample).zip(dy.chunks_exact(cols)) {
                sample[inside.clone()].chunks_exact_mut(cols).for_each(|row| S::axpy(share, mean, row));
            }
            back.gradients.add(x, dx, back.space);
        });
        y
    }
}
