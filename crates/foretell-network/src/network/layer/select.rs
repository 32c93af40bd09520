//! Layers that take matrices apart and put them together.

use crate::engine::scalar::Scalar;
use crate::network::{Tape, Value};

impl<S: Scalar> Tape<'_, S> {
    /// The given rows, in their order.
    pub fn select(&mut self, x: Value, rows: Vec<usize>) -> Value {
        let (all, cols) = self.shape(x);
        let mut y = self.space.take(rows.len() * cols);
        for (to, &row) in y.chunks_exact_mut(cols).zip(&rows) {
            to.copy_from_slice(&self.values.data(x)[row * cols..][..cols]);
        }
        let y = self.put(y, rows.len(), cols);
        self.push(y, move |back, dy| {
            let mut dx = back.space.zeros(all * cols);
            for (from, &row) in dy.chunks_exact(cols).zip(&rows) {
                S::accumulate(from, &mut dx[row * cols..][..cols]);
            }
            back.gradients.add(x, dx, back.space);
        });
        y
    }

    /// All rows of several values: row t of a value becomes row `places[t]`. Every place must be named once.
    pub fn merge(&mut self, parts: Vec<(Value, Vec<usize>)>) -> Value {
        let rows = parts.iter().map(|(_, places)| places.len()).sum();
        let cols = self.shape(parts[0].0).1;
        let mut y = self.space.take(rows * cols);
        for (part, places) in &parts {
            for (from, &place) in self.values.data(*part).chunks_exact(cols).zip(places) {
                y[place * cols..][..cols].copy_from_slice(from);
            }
        }
        let y = self.put(y, rows, cols);
        self.push(y, move |back, dy| {
            for (part, places) in &parts {
                let mut dx = back.space.take(places.len() * cols);
                for (to, place) in dx.chunks_exact_mut(cols).zip(places) {
                    to.copy_from_slice(&dy[place * cols..][..cols]);
                }
                back.gradients.add(*part, dx, back.space);
            }
        });
        y
    }
}
