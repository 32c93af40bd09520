//! Singular values, nuclear norms, eigenvalues, determinants and QR, always in `f64`.
//!
//! ```text
//! ‖A‖_* = Σ σ_i        σ_i² = eigenvalues of A Aᵀ or AᵀA, whichever is smaller
//! ```
//!
//! Squaring halves the digits of small singular values, and gradients are mostly rank-deficient, so the fast route is
//! taken only where all of them are well above the rounding of the squares; else the matrix is decomposed as it stands.
//!
//! The functions here copy their matrix into double precision; the files below know nothing else.

mod bidiagonal;
mod lanes;
mod padded;
mod qr;
mod symmetric;
mod triangular;
mod tridiagonal;

use super::matmul::{Mat, MatMut};
use super::scalar::Scalar;
use qr::Reflections;
use std::fmt;
use symmetric::Symmetric;

/// The input is not finite or an iteration did not converge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsolved;

impl fmt::Display for Unsolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no decomposition: the matrix is not finite or the iteration did not converge")
    }
}

impl std::error::Error for Unsolved {}

/// Squared singular values above this share of the largest are trusted: rounding of the squares, some 1e-15 of the
/// largest, then moves a root by 1e-8 of itself at most.
const TRUSTED: f64 = 1e-7;

/// Sizes of entries whose squares neither overflow nor lose digits.
const SAFE: std::ops::Range<f64> = 1e-100..1e100;

/// A finite matrix, row by row.
struct Dense {
    data: Vec<f64>,
    rows: usize,
    cols: usize,
}

impl Dense {
    fn new<S: Scalar>(a: Mat<'_, S>) -> Result<Self, Unsolved> {
        const BAND: usize = 8;
        let (rows, cols) = (a.rows(), a.cols());
        let mut data = vec![0.0; rows * cols];
        if a.col_stride() == 1 {
            let pairs = data.chunks_exact_mut(cols.max(1)).enumerate();
            pairs.for_each(|(i, row)| row.iter_mut().zip(a.row(i)).for_each(|(y, x)| *y = x.to_f64()));
        } else {
            // A band at a time: of each column as many rows as lie together in memory.
            for (band, chunk) in data.chunks_mut(BAND * cols.max(1)).enumerate() {
                for j in 0..cols {
                    let column = chunk[j..].iter_mut().step_by(cols).enumerate();
                    column.for_each(|(i, y)| *y = a.at(band * BAND + i, j).to_f64());
                }
            }
        }
        let finite = data.iter().all(|x| x.is_finite());
        if finite { Ok(Dense { data, rows, cols }) } else { Err(Unsolved) }
    }

    /// The matrix or its transpose, whichever is not taller than wide.
    fn lying<S: Scalar>(a: Mat<'_, S>) -> Result<Self, Unsolved> {
        Self::new(if a.rows() > a.cols() { a.t() } else { a })
    }

    fn view(&self) -> Mat<'_, f64> {
        Mat::new(&self.data, self.rows, self.cols)
    }
}

/// The power of two by which entries are multiplied so that their squares are safe; entries must be finite.
fn scale_of<'a>(entries: impl Iterator<Item = &'a f64>) -> Result<f64, Unsolved> {
    let mut finite = true;
    let top = entries.fold(0.0f64, |top, x| {
        finite &= x.is_finite();
        top.max(x.abs())
    });
    if !finite {
        return Err(Unsolved);
    }
    Ok(if top == 0.0 || SAFE.contains(&top) {
        1.0
    } else {
        (-top.log2().floor()).clamp(-1000.0, 1000.0).exp2()
    })
}

/// `A B`, row by row.
pub fn product<S: Scalar>(a: Mat<'_, S>, b: Mat<'_, S>, into: &mut [S]) {
    let into = MatMut::new(into, a.rows(), b.cols());
    super::matmul::product(1.0, a, b, 0.0, into);
}

/// σ, largest first.
pub fn singular_values<S: Scalar>(a: Mat<'_, S>) -> Result<Vec<f64>, Unsolved> {
    bidiagonal::singular_values(Dense::lying(a)?.view())
}

/// Eigenvalues of a symmetric matrix (its lower half is read), smallest first.
pub fn symmetric_eigenvalues<S: Scalar>(a: Mat<'_, S>) -> Result<Vec<f64>, Unsolved> {
    assert_eq!(a.rows(), a.cols(), "symmetric eigenvalues: not square");
    Symmetric::lower(Dense::new(a)?.view()).eigenvalues()
}

/// ‖A‖_*, for single-precision matrices from the eigenvalues of the smaller Gram matrix, whatever their rank.
///
/// In double precision these are known to 1e-16 of the largest, so singular values to 1e-8 of the largest: a tenth of what
/// rounding to single precision has done to the matrix itself. On DSS gradients of AutoFormer, whose rank is deficient,
/// the norm is off by 6e-8 at most and takes 0.4 times the time of all singular values.
pub fn nuclear_norm<S: Scalar>(a: Mat<'_, S>) -> Result<f64, Unsolved> {
    let exact = size_of::<S>() > 4;
    nuclear(&Dense::lying(a)?, exact)
}

fn nuclear(a: &Dense, exact: bool) -> Result<f64, Unsolved> {
    let gram = Symmetric::gram(a.view());
    if !exact {
        return Ok(gram.eigenvalues()?.iter().map(|square| square.max(0.0).sqrt()).sum());
    }
    // A Cholesky factor costs little beside the eigenvalues, which would be thrown away for a singular matrix.
    let fast = if thin(gram.view()) { None } else { gram.eigenvalues().ok().and_then(|s| roots(&s)) };
    match fast {
        Some(norm) => Ok(norm),
        None => Ok(bidiagonal::singular_values(a.view())?.iter().sum()),
    }
}

/// Σ √λ if every λ is above the rounding of the largest, the last.
fn roots(squares: &[f64]) -> Option<f64> {
    let top = squares.last().map_or(0.0, |top| *top);
    let clear = squares.iter().all(|&s| s > TRUSTED * top);
    clear.then(|| squares.iter().map(|s| s.sqrt()).sum())
}

/// Whether a Gram matrix is singular to working precision, by its Cholesky factor, or its squares are not safe.
fn thin(gram: Mat<'_, f64>) -> bool {
    let n = gram.rows();
    let top = (0..n).fold(0.0f64, |m, i| m.max(gram.at(i, i)));
    match triangular::cholesky(gram) {
        Ok(factor) => !SAFE.contains(&top) || (0..n).any(|i| factor[i * (n + 1)].powi(2) <= TRUSTED * top),
        Err(Unsolved) => true,
    }
}

/// The x with the least ‖A x − b‖² + λ‖x‖².
pub fn ridge<S: Scalar>(a: Mat<'_, S>, b: &[f64], lambda: f64) -> Result<Vec<f64>, Unsolved> {
    assert_eq!(a.rows(), b.len(), "ridge: rows");
    least_squares(&Dense::new(a)?, b, lambda)
}

fn least_squares(a: &Dense, b: &[f64], lambda: f64) -> Result<Vec<f64>, Unsolved> {
    let n = a.cols;
    let (mut normal, mut right) = (vec![0.0; n * n], vec![0.0; n]);
    product(a.view().t(), a.view(), &mut normal);
    product(a.view().t(), Mat::new(b, b.len(), 1), &mut right);
    (0..n).for_each(|i| normal[i * (n + 1)] += lambda);
    Ok(triangular::solve(&triangular::cholesky(Mat::new(&normal, n, n))?, &right))
}

/// The factor of a symmetric positive definite matrix (its lower half is read).
pub struct Cholesky {
    factor: Vec<f64>,
    size: usize,
}

impl Cholesky {
    /// Factors a matrix; one that is not positive definite has no factor.
    pub fn new(a: Mat<'_, f64>) -> Result<Self, Unsolved> {
        assert_eq!(a.rows(), a.cols(), "Cholesky: not square");
        Ok(Cholesky { factor: triangular::cholesky(a)?, size: a.rows() })
    }

    /// A⁻¹ b.
    pub fn solve(&self, b: &[f64]) -> Vec<f64> {
        assert_eq!(self.size, b.len(), "Cholesky: rows");
        triangular::solve(&self.factor, b)
    }

    /// A⁻¹, row by row.
    pub fn inverse(&self) -> Vec<f64> {
        triangular::inverse(&self.factor, self.size)
    }

    /// ln det A.
    pub fn log_det(&self) -> f64 {
        (0..self.size).map(|i| 2.0 * self.factor[i * (self.size + 1)].ln()).sum()
    }
}

/// ln |det A|; −∞ where A is singular.
pub fn log_abs_det<S: Scalar>(a: Mat<'_, S>) -> Result<f64, Unsolved> {
    assert_eq!(a.rows(), a.cols(), "log |det|: not square");
    triangular::log_abs_det(Dense::new(a)?.data, a.rows())
}

/// Q (m x n, orthonormal columns) and R (n x n, diagonal not negative) of A = Q R with m ≥ n, row by row.
pub fn qr<S: Scalar>(a: Mat<'_, S>) -> Result<(Vec<f64>, Vec<f64>), Unsolved> {
    let (m, n) = (a.rows(), a.cols());
    assert!(m >= n, "qr: {m} x {n} is wider than tall");
    orthogonal(Dense::new(a.t())?)
}

/// Q and R of the transpose.
fn orthogonal(mut a: Dense) -> Result<(Vec<f64>, Vec<f64>), Unsolved> {
    let (n, m, scale) = (a.rows, a.cols, scale_of(a.data.iter())?);
    a.data.iter_mut().for_each(|x| *x *= scale);
    let (q, mut r) = Reflections::of_rows(a.data, n, m).into_parts();
    r.iter_mut().for_each(|x| *x /= scale);
    Ok((Dense::new(Mat::new(&q, n, m).t())?.data, r))
}

#[cfg(test)]
mod tests;
