//! Table look-up.

use crate::engine::embedding;
use crate::engine::matmul::{Mat, MatMut};
use crate::engine::scalar::{Scalar, Store};
use crate::network::{Param, Tape, Value};

impl<S: Scalar> Tape<'_, S> {
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
