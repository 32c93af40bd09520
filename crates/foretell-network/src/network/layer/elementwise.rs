//! Layers that treat every number alike.

use crate::engine::scalar::Scalar;
use crate::network::{Tape, Value};

impl<S: Scalar> Tape<'_, S> {
    /// `a + b`
    pub fn add(&mut self, a: Value, b: Value) -> Value {
        let (rows, cols) = self.shape(a);
        assert_eq!(self.shape(b), (rows, cols), "add");
        let mut y = self.space.take(rows * cols);
        y.copy_from_slice(self.data(a));
        S::accumulate(self.data(b), &mut y);
        let y = self.put(y, rows, cols);
        self.push(y, move |back, dy| {
            back.gradients.add_copy(a, dy, back.space);
            back.gradients.add_copy(b, dy, back.space);
        });
        y
    }
}
