//! Table look-up: `y_t = E[id_t]`, `dE[id_t] += dy_t`.

use super::matmul::{Mat, MatMut};
use super::scalar::{Scalar, Store};

/// Copies row `ids[t]` of the table to, or adds it to, row t of `y`.
pub fn forward<S: Scalar>(ids: &[u32], table: Mat<'_, S>, mut y: MatMut<'_, S>, store: Store) {
    assert!(
        ids.len() == y.rows() && table.cols() == y.cols(),
        "embedding: {} ids into {} rows",
        ids.len(),
        y.rows()
    );
    for (t, &id) in ids.iter().enumerate() {
        match store {
            Store::Write => y.row_mut(t).copy_from_slice(table.row(id as usize)),
            Store::Add => S::accumulate(table.row(id as usize), y.row_mut(t)),
        }
    }
}

/// Adds row t of `dy` to row `ids[t]` of the table's gradient; rows of the `padding` id receive nothing.
pub fn backward<S: Scalar>(ids: &[u32], dy: Mat<'_, S>, mut dtable: MatMut<'_, S>, padding: Option<u32>) {
    assert!(ids.len() == dy.rows() && dtable.cols() == dy.cols(), "embedding backward: {} ids", ids.len());
    for (t, &id) in ids.iter().enumerate().filter(|(_, id)| Some(**id) != padding) {
        S::accumulate(dy.row(t), dtable.row_mut(id as usize));
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{gradients, random, weighted};
    use super::*;

    #[test]
    fn gradient() {
        let (ids, c) = ([2, 0, 2, 3], random(12, 2));
        let (table, mut dtable) = (random(15, 1), vec![0.0; 15]);
        backward(&ids, Mat::new(&c, 4, 3), MatMut::new(&mut dtable, 5, 3), None);
        let mut padded = vec![0.0; 15];
        backward(&ids, Mat::new(&c, 4, 3), MatMut::new(&mut padded, 5, 3), Some(2));
        assert!(padded[6..9].iter().all(|&x| x == 0.0) && padded[..3] == dtable[..3]);
        gradients(&[table], &[dtable], |p| {
            let mut y = vec![0.0; 12];
            forward(&ids, Mat::new(&p[0], 5, 3), MatMut::new(&mut y, 4, 3), Store::Write);
            weighted(&y, &c)
        });
    }
}
