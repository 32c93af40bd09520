//! Cholesky factors, what they solve, and determinants by elimination with pivots.

use super::super::kernels::vectorised;
use super::super::matmul::{Mat, MatMut, product};
use super::Unsolved;
use super::lanes::{axpy, dot};

/// Columns of a panel.
const PANEL: usize = 16;
/// Columns of an inverse factor per product: above its diagonal are zeros.
const WIDE: usize = 128;

/// The lower factor L of A = L Lᵀ, row by row; zeros above its diagonal.
pub fn cholesky(a: Mat<'_, f64>) -> Result<Vec<f64>, Unsolved> {
    let n = a.rows();
    let mut factor = vec![0.0; n * n];
    for start in (0..n).step_by(PANEL) {
        let (count, height) = (PANEL.min(n - start), n - start);
        // The columns of the panel from the diagonal on, one row each.
        let mut panel = vec![0.0; count * height];
        for i in 0..height {
            (0..count.min(i + 1)).for_each(|j| panel[j * height + i] = a.at(start + i, start + j));
        }
        let before = Mat::strided(&factor[start * n..], (height, start), (n, 1));
        let into = MatMut::new(&mut panel, count, height);
        product(-1.0, before.block((0, count), (0, start)), before.t(), 1.0, into);
        if !factor_panel(&mut panel, height) {
            return Err(Unsolved);
        }
        for i in 0..height {
            let row = &mut factor[(start + i) * n + start..][..count.min(i + 1)];
            row.iter_mut().enumerate().for_each(|(j, x)| *x = panel[j * height + i]);
        }
    }
    Ok(factor)
}

/// A⁻¹ b from the factor of A.
pub fn solve(factor: &[f64], b: &[f64]) -> Vec<f64> {
    let mut x = b.to_vec();
    substitute(factor, &mut x);
    x
}

/// A⁻¹ from the factor of A, row by row.
pub fn inverse(factor: &[f64], n: usize) -> Vec<f64> {
    let lower = invert(factor, n);
    let mut inverse = vec![0.0; n * n];
    for start in (0..n).step_by(PANEL) {
        let (count, height) = (PANEL.min(n - start), n - start);
        let below = Mat::strided(&lower[start * n..], (height, start + count), (n, 1));
        let into = MatMut::strided(&mut inverse[start * n..], (count, start + count), (n, 1));
        product(1.0, below.columns(start, count).t(), below, 0.0, into);
    }
    for i in 0..n {
        for j in 0..i {
            inverse[j * n + i] = inverse[i * n + j];
        }
    }
    inverse
}

/// L⁻¹, row by row.
fn invert(factor: &[f64], n: usize) -> Vec<f64> {
    let mut inverse = vec![0.0; n * n];
    for start in (0..n).step_by(PANEL) {
        let count = PANEL.min(n - start);
        let (before, rows) = inverse.split_at_mut(start * n);
        for left in (0..start).step_by(WIDE) {
            let (wide, height) = (WIDE.min(start - left), start - left);
            let factor = Mat::strided(&factor[start * n + left..], (count, height), (n, 1));
            let known = Mat::strided(&before[left * n + left..], (height, wide), (n, 1));
            product(-1.0, factor, known, 0.0, MatMut::strided(&mut rows[left..], (count, wide), (n, 1)));
        }
        (0..count).for_each(|i| rows[i * n + start + i] = 1.0);
        let block = &factor[start * (n + 1)..];
        eliminate(&mut rows[..count * n], n, (0, start + count), block, n, false);
    }
    inverse
}

/// ln |det A|; −∞ where A is singular.
pub fn log_abs_det(mut a: Vec<f64>, n: usize) -> Result<f64, Unsolved> {
    let mut sum = 0.0;
    for start in (0..n).step_by(PANEL) {
        let (count, height) = (PANEL.min(n - start), n - start);
        let mut panel = vec![0.0; count * height];
        for i in 0..height {
            for j in 0..count {
                panel[j * height + i] = a[(start + i) * n + start + j];
            }
        }
        let mut swaps = vec![0; count];
        eliminate_panel(&mut panel, height, &mut swaps);
        for (j, other) in swaps.into_iter().enumerate() {
            let pivot = panel[j * (height + 1)];
            if pivot == 0.0 {
                return Ok(f64::NEG_INFINITY);
            }
            sum += pivot.abs().ln();
            if other != j {
                let (above, below) = a.split_at_mut((start + other) * n);
                above[(start + j) * n..][..n].swap_with_slice(&mut below[..n]);
            }
        }
        let behind = start + count;
        if behind < n {
            let lower: Vec<f64> =
                (0..count * count).map(|at| panel[at % count * height + at / count]).collect();
            let (rows, rest) = a[start * n..].split_at_mut(count * n);
            eliminate(rows, n, (behind, n), &lower, count, true);
            let left = Mat::strided(&panel[count..], (n - behind, count), (1, height));
            let right = Mat::strided(&rows[behind..], (count, n - behind), (n, 1));
            product(
                -1.0,
                left,
                right,
                1.0,
                MatMut::strided(&mut rest[behind..], (n - behind, n - behind), (n, 1)),
            );
        }
    }
    if sum.is_finite() { Ok(sum) } else { Err(Unsolved) }
}

vectorised! {
    /// Factors the columns of a panel, one row each; false where a pivot is not positive.
    fn factor_panel(columns: &'a mut [f64], height: usize) -> bool {
        for j in 0..columns.len() / height {
            let (before, column) = columns.split_at_mut(j * height);
            let column = &mut column[j..height];
            subtract(before, height, j, |l| before[l * height + j], column);
            let pivot = column[0];
            if !(pivot > 0.0 && pivot.is_finite()) {
                return false;
            }
            let factor = 1.0 / pivot.sqrt();
            column.iter_mut().for_each(|x| *x *= factor);
            column[0] = pivot.sqrt();
        }
        true
    }

    /// x ← L⁻ᵀ L⁻¹ x.
    fn substitute(factor: &'a [f64], x: &'a mut [f64]) {
        let n = x.len();
        for i in 0..n {
            x[i] = (x[i] - dot(&factor[i * n..][..i], x)) / factor[i * (n + 1)];
        }
        for i in (0..n).rev() {
            x[i] /= factor[i * (n + 1)];
            axpy(-x[i], &factor[i * n..][..i], x);
        }
    }

    /// Some columns of rows X ← L⁻¹ X, with a diagonal of ones or the one that L has.
    fn eliminate(
        rows: &'a mut [f64], stride: usize, columns: (usize, usize), lower: &'a [f64], lower_stride: usize, ones: bool
    ) {
        let (from, to) = columns;
        for i in 0..rows.len() / stride {
            let (before, row) = rows.split_at_mut(i * stride);
            let row = &mut row[from..to];
            let factors = &lower[i * lower_stride..];
            subtract(before, stride, from, |l| factors[l], row);
            if !ones {
                let factor = 1.0 / factors[i];
                row.iter_mut().for_each(|x| *x *= factor);
            }
        }
    }

    /// Eliminates the columns of a panel, one row each, with the largest pivot; tells which row each was swapped with.
    fn eliminate_panel(columns: &'a mut [f64], height: usize, swaps: &'a mut [usize]) {
        for j in 0..swaps.len() {
            let (before, rest) = columns.split_at_mut(j * height);
            let column = &mut rest[..height];
            for (l, other) in before.chunks_exact(height).enumerate() {
                axpy(-column[l], &other[l + 1..], &mut column[l + 1..]);
            }
            let pivot = (j..height).fold(j, |best, i| if column[i].abs() > column[best].abs() { i } else { best });
            swaps[j] = pivot;
            columns.chunks_exact_mut(height).for_each(|column| column.swap(j, pivot));
            let column = &mut columns[j * height..][j..height];
            let factor = 1.0 / column[0];
            column[1..].iter_mut().for_each(|x| *x *= factor);
        }
    }
}

/// into ← into − Σ factor(l) row_l, where row l starts at `l · stride + from`; four rows at a time.
#[inline(always)]
fn subtract(rows: &[f64], stride: usize, from: usize, factor: impl Fn(usize) -> f64, into: &mut [f64]) {
    let (count, n) = (rows.len() / stride, into.len());
    let row = |l: usize| &rows[l * stride + from..][..n];
    let whole = count / 4 * 4;
    for l in (0..whole).step_by(4) {
        let (a, b, c, d) = (row(l), row(l + 1), row(l + 2), row(l + 3));
        let [fa, fb, fc, fd] = [-factor(l), -factor(l + 1), -factor(l + 2), -factor(l + 3)];
        for i in 0..n {
            into[i] = fd.mul_add(d[i], fc.mul_add(c[i], fb.mul_add(b[i], fa.mul_add(a[i], into[i]))));
        }
    }
    (whole..count).for_each(|l| axpy(-factor(l), row(l), into));
}
