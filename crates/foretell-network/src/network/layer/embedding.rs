//! Table look-up.

use crate::engine::embedding;
use crate::engine::matmul::{Mat, MatMut};
use crate::engine::scalar::{Scalar, Store};
use crate::network::{Param, Tape, Value};

impl<S: Scalar> Tape<'_, S> {
    /// The word embedding of every id, or ones where the pass feeds ones.
    pub fn words(&mut self, ids: &[u32], table: Param, padding: Option<u32>) -> Value {
        if self.unit_words {
            return self.ones(ids.len(), self.weights.matrix(table).cols());
        }
        self.embedding(ids, table, padding)
    }

    /// A matrix of ones.
    pub fn ones(&mut self, rows: usize, cols: usize) -> Value {
        let mut ones = self.space.take(rows * cols);
        ones.fill(S::ONE);
        self.put(ones, rows, cols)
    }

    /// The table's row of every id; the row of the `padding` id is read but receives no gradient.
    pub fn embedding(&mut self, ids: &[u32], table: Param, padding: Option<u32>) -> Value {
        let cols = self.weights.matrix(table).cols();
        let mut y = self.space.take(ids.len() * cols);
        let to = MatMut::new(&mut y, ids.len(), cols);
        embedding::forward(ids, self.weights.matrix(table), to, Store::Write);
        let y = self.put(y, ids.len(), cols);
        let ids = ids.to_vec();
        self.push(y, move |back, dy| {
            if let Some(into) = &mut back.weight_gradients {
                embedding::backward(&ids, Mat::new(dy, ids.len(), cols), into.matrix_mut(table), padding);
            }
        });
        y
    }
}
