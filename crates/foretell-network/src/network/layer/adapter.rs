//! Low-rank adapters beside linear maps.

use super::Names;
use crate::engine::scalar::Scalar;
use crate::network::{Tape, Value};

/// Scale of an adapter's update, divided by its rank.
const ALPHA: f64 = 64.0;

impl<S: Scalar> Tape<'_, S> {
    /// `y = x Wᵀ + b + (x Aᵀ) Bᵀ α / rank`, the last term only where the architecture lists A and B.
    pub fn adapted_linear(&mut self, x: Value, names: Names, adapter: Names, indices: [usize; 2]) -> Value {
        let y = self.linear(x, names, indices);
        if self.weights.layout.find(adapter[0], indices).is_none() {
            return y;
        }
        let low = self.linear(x, [adapter[0], ""], indices);
        let (_, rank) = self.shape(low);
        let update = self.linear(low, [adapter[1], ""], indices);
        self.add_scaled(y, update, ALPHA / rank as f64)
    }

    /// `a + factor b`
    fn add_scaled(&mut self, a: Value, b: Value, factor: f64) -> Value {
        let (rows, cols) = self.shape(a);
        let factor = S::from_f64(factor);
        let mut y = self.space.take(rows * cols);
        y.copy_from_slice(self.data(a));
        S::axpy(factor, self.data(b), &mut y);
        let y = self.put(y, rows, cols);
        self.push(y, move |back, dy| {
            back.gradients.add_copy(a, dy, back.space);
            let mut db = back.space.take(dy.len());
            db.copy_from_slice(dy);
            S::scale(factor, &mut db);
            back.gradients.add(b, db, back.space);
        });
        y
    }
}
