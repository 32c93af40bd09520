//! Layers that take values apart and put them together again, by rows or by columns.

use crate::engine::scalar::{Scalar, Store};
use crate::network::{Tape, Value};

impl<S: Scalar> Tape<'_, S> {
    /// `count` columns from the `first` on.
    pub fn columns(&mut self, x: Value, first: usize, count: usize) -> Value {
        let (rows, cols) = self.shape(x);
        let mut y = self.space.take(rows * count);
        for (to, from) in y.chunks_exact_mut(count).zip(self.data(x).chunks_exact(cols)) {
            to.copy_from_slice(&from[first..][..count]);
        }
        let y = self.put(y, rows, count);
        self.push(y, move |back, dy| {
            let (mut slot, store) = back.gradients.slot(x, back.space);
            if store == Store::Write {
                slot.scale(0.0);
            }
            for (to, from) in slot.data_mut().chunks_exact_mut(cols).zip(dy.chunks_exact(count)) {
                S::accumulate(from, &mut to[first..][..count]);
            }
        });
        y
    }

    /// `count` rows from the `first` on.
    pub fn rows(&mut self, x: Value, first: usize, count: usize) -> Value {
        let (_, cols) = self.shape(x);
        let inside = first * cols..(first + count) * cols;
        let mut y = self.space.take(count * cols);
        y.copy_from_slice(&self.data(x)[inside.clone()]);
        let y = self.put(y, count, cols);
        self.push(y, move |back, dy| {
            let (mut slot, store) = back.gradients.slot(x, back.space);
            if store == Store::Write {
                slot.scale(0.0);
            }
            S::accumulate(dy, &mut slot.data_mut()[inside.clone()]);
        });
        y
    }

    /// The rows of all parts, one part after the other.
    pub fn stack(&mut self, parts: &[Value]) -> Value {
        let (_, cols) = self.shape(parts[0]);
        let rows = parts.iter().map(|part| self.shape(*part).0).sum();
        let mut y = self.space.take(rows * cols);
        let mut rest = &mut y[..];
        for part in parts {
            let from = self.values.data(*part);
            let (to, after) = rest.split_at_mut(from.len());
            to.copy_from_slice(from);
            rest = after;
        }
        let y = self.put(y, rows, cols);
        let parts = parts.to_vec();
        self.push(y, move |back, dy| {
            let mut rest = dy;
            for part in parts.iter().copied() {
                let (from, after) = rest.split_at(back.values.data(part).len());
                back.gradients.add_copy(part, from, back.space);
                rest = after;
            }
        });
        y
    }

    /// The tokens of `a`, then those of `b`, in every sample.
    pub fn join(&mut self, a: Value, b: Value, batch: usize) -> Value {
        let ((above, cols), (below, _)) = (self.shape(a), self.shape(b));
        assert_eq!(self.shape(b).1, cols, "join");
        let (upper, lower) = (above / batch * cols, below / batch * cols);
        let mut y = self.space.take((above + below) * cols);
        let parts = self.data(a).chunks_exact(upper).zip(self.data(b).chunks_exact(lower));
        for (y, (a, b)) in y.chunks_exact_mut(upper + lower).zip(parts) {
            y[..upper].copy_from_slice(a);
            y[upper..].copy_from_slice(b);
        }
        let y = self.put(y, above + below, cols);
        self.push(y, move |back, dy| {
            for (to, first, size) in [(a, 0, upper), (b, upper, lower)] {
                let mut gradient = back.space.take(batch * size);
                for (to, dy) in gradient.chunks_exact_mut(size).zip(dy.chunks_exact(upper + lower)) {
                    to.copy_from_slice(&dy[first..][..size]);
                }
                back.gradients.add(to, gradient, back.space);
            }
        });
        y
    }
}
