//! A = Q R by reflections, in panels.
//!
//! ```text
//! H₁ … H_b = I − V T Vᵀ        T_jj = τ_j        T_{<j, j} = −τ_j T (Vᵀ v_j)
//! ```
//!
//! A panel is factored column by column; what follows it is updated by two products. Columns are kept as rows.

use super::super::kernels::vectorised;
use super::super::matmul::{Mat, MatMut, product};
use super::lanes::{axpy, dot, reflect};

/// Columns of a panel.
const PANEL: usize = 32;

/// A factored matrix of `height` x `columns`, not wider than tall.
pub struct Reflections {
    /// V, column by column: 0 above the diagonal, 1 on it.
    vectors: Vec<f64>,
    /// T of each panel, row by row.
    factors: Vec<Vec<f64>>,
    /// R, row by row.
    triangle: Vec<f64>,
    columns: usize,
    height: usize,
}

impl Reflections {
    /// Factors the transpose of a matrix of `columns` rows, each of `height` numbers.
    pub fn of_rows(rows: Vec<f64>, columns: usize, height: usize) -> Self {
        assert!(columns <= height && rows.len() == columns * height, "qr: wider than tall");
        let triangle = vec![0.0; columns * columns];
        let mut factored = Reflections { vectors: rows, factors: Vec::new(), triangle, columns, height };
        for start in (0..columns).step_by(PANEL) {
            factored.panel(start);
        }
        factored
    }

    /// Factors the panel that starts with a column, and turns the columns behind it.
    fn panel(&mut self, start: usize) {
        let (n, m) = (self.columns, self.height);
        let count = PANEL.min(n - start);
        let (panel, behind) = self.vectors[start * m..].split_at_mut(count * m);
        let mut heads = vec![0.0; count];
        let mut taus = vec![0.0; count];
        factor(panel, m, start, &mut taus, &mut heads);
        for j in 0..count {
            let column = &mut panel[j * m..][..start + j];
            for (i, x) in column.iter_mut().enumerate() {
                self.triangle[i * n + start + j] = std::mem::take(x);
            }
            self.triangle[(start + j) * (n + 1)] = heads[j];
        }
        let vectors = Mat::strided(&panel[start..], (count, m - start), (m, 1));
        let factor = accumulate(vectors, &taus);
        if start + count < n {
            let rest = MatMut::strided(&mut behind[start..], (n - start - count, m - start), (m, 1));
            turn(vectors, Mat::new(&factor, count, count), rest);
        }
        self.factors.push(factor);
    }

    /// R, row by row.
    pub fn into_triangle(self) -> Vec<f64> {
        self.triangle
    }

    /// The first columns of Q, one row each, and R, row by row. The diagonal of R is not negative.
    pub fn into_parts(mut self) -> (Vec<f64>, Vec<f64>) {
        let (n, m) = (self.columns, self.height);
        let mut q = vec![0.0; n * m];
        (0..n).for_each(|i| q[i * (m + 1)] = 1.0);
        for (panel, factor) in self.factors.iter().enumerate().rev() {
            let start = panel * PANEL;
            let count = PANEL.min(n - start);
            let vectors = Mat::strided(&self.vectors[start * m + start..], (count, m - start), (m, 1));
            // Columns before the panel are still those of the identity, and 0 in its rows.
            let columns = MatMut::strided(&mut q[start * m + start..], (n - start, m - start), (m, 1));
            turn(vectors, Mat::new(factor, count, count).t(), columns);
        }
        for i in 0..n {
            if self.triangle[i * (n + 1)] < 0.0 {
                self.triangle[i * n + i..(i + 1) * n].iter_mut().for_each(|x| *x = -*x);
                q[i * m..(i + 1) * m].iter_mut().for_each(|x| *x = -*x);
            }
        }
        (q, self.triangle)
    }
}

/// C ← C − (C Vᵀ) T V, of rows.
fn turn(vectors: Mat<'_, f64>, factor: Mat<'_, f64>, mut rows: MatMut<'_, f64>) {
    let (count, behind) = (vectors.rows(), rows.rows());
    let (mut inner, mut outer) = (vec![0.0; behind * count], vec![0.0; behind * count]);
    product(1.0, rows.as_ref(), vectors.t(), 0.0, MatMut::new(&mut inner, behind, count));
    product(1.0, Mat::new(&inner, behind, count), factor, 0.0, MatMut::new(&mut outer, behind, count));
    product(-1.0, Mat::new(&outer, behind, count), vectors, 1.0, rows.rb());
}

/// T of a panel.
fn accumulate(vectors: Mat<'_, f64>, taus: &[f64]) -> Vec<f64> {
    let b = taus.len();
    let (mut gram, mut factor) = (vec![0.0; b * b], vec![0.0; b * b]);
    product(1.0, vectors, vectors.t(), 0.0, MatMut::new(&mut gram, b, b));
    for j in 0..b {
        for i in 0..j {
            let sum: f64 = (i..j).map(|l| factor[i * b + l] * gram[j * b + l]).sum();
            factor[i * b + j] = -taus[j] * sum;
        }
        factor[j * b + j] = taus[j];
    }
    factor
}

vectorised! {
    /// Factors columns of `height`, the first of which has its pivot at `start`.
    fn factor(columns: &'a mut [f64], height: usize, start: usize, taus: &'a mut [f64], heads: &'a mut [f64]) {
        for j in 0..taus.len() {
            let (column, behind) = columns[j * height..].split_at_mut(height);
            let column = &mut column[start + j..];
            (taus[j], heads[j]) = reflect(column, 0);
            for other in behind.chunks_exact_mut(height) {
                let other = &mut other[start + j..];
                let share = -taus[j] * dot(column, other);
                axpy(share, column, other);
            }
        }
    }
}
