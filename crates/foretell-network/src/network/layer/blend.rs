//! A mean of two values, weighted by a third.

use crate::engine::scalar::Scalar;
use crate::network::{Tape, Value};

impl<S: Scalar> Tape<'_, S> {
    /// `a b + (1 − a) c`, number by number.
    pub fn blend(&mut self, a: Value, b: Value, c: Value) -> Value {
        let (rows, cols) = self.shape(a);
        assert!(self.shape(b) == (rows, cols) && self.shape(c) == (rows, cols), "blend");
        let mut y = self.space.take(rows * cols);
        let parts = self.data(a).iter().zip(self.data(b)).zip(self.data(c));
        for (y, ((&a, &b), &c)) in y.iter_mut().zip(parts) {
            *y = a * b + (S::ONE - a) * c;
        }
        let y = self.put(y, rows, cols);
        self.push(y, move |back, dy| {
            let [mut da, mut db, mut dc] = [(); 3].map(|()| back.space.take(dy.len()));
            let [va, vb, vc] = [a, b, c].map(|value| back.values.data(value));
            for (i, &dy) in dy.iter().enumerate() {
                da[i] = dy * (vb[i] - vc[i]);
                db[i] = dy * va[i];
                dc[i] = dy * (S::ONE - va[i]);
            }
            for (value, gradient) in [(a, da), (b, db), (c, dc)] {
                back.gradients.add(value, gradient, back.space);
            }
        });
        y
    }
}
