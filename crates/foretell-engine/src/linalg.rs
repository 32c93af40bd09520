//! Singular values, nuclear norms, eigenvalues, determinants and QR, always in `f64`.
//!
//! ```text
//! ‖A‖_* = Σ σ_i        σ_i² = eigenvalues of A Aᵀ or AᵀA, whichever is smaller
//! ‖Xᵀ D‖_* for r rows of X and D:  σ_i² = eigenvalues of Lᵀ (D Dᵀ) L, X Xᵀ = L Lᵀ   (r x r)
//! ```
//!
//! Squaring halves the digits of small singular values, and gradients are mostly rank-deficient, so the fast route is
//! taken only where all of them are well above the rounding of the squares; else the matrix (or the triangular factors
//! of X and D) is decomposed as it stands.

use super::matmul::Mat;
use super::scalar::Scalar;
use super::tridiagonal::eigenvalues;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::linalg::solvers::{DenseSolveCore, Solve};
use faer::{Accum, Par, Side};
use std::fmt;

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

fn dense<S: Scalar>(a: Mat<'_, S>) -> Result<faer::Mat<f64>, Unsolved> {
    let a = faer::Mat::from_fn(a.rows(), a.cols(), |i, j| a.at(i, j).to_f64());
    if a.is_all_finite() { Ok(a) } else { Err(Unsolved) }
}

fn values(a: &faer::Mat<f64>) -> Result<Vec<f64>, Unsolved> {
    if a.nrows() == 0 || a.ncols() == 0 {
        return Ok(Vec::new());
    }
    a.singular_values().map_err(|_| Unsolved)
}

/// `A B`, row by row.
pub fn product<S: Scalar>(a: Mat<'_, S>, b: Mat<'_, S>, into: &mut [S]) {
    let into = super::matmul::MatMut::new(into, a.rows(), b.cols());
    super::matmul::product(1.0, a, b, 0.0, into);
}

/// σ, largest first.
pub fn singular_values<S: Scalar>(a: Mat<'_, S>) -> Result<Vec<f64>, Unsolved> {
    values(&dense(a)?)
}

/// Eigenvalues of a symmetric matrix (its lower half is read), smallest first.
pub fn symmetric_eigenvalues<S: Scalar>(a: Mat<'_, S>) -> Result<Vec<f64>, Unsolved> {
    assert_eq!(a.rows(), a.cols(), "symmetric eigenvalues: not square");
    eigenvalues(dense(a)?)
}

/// Σ √λ if every λ is above the rounding of a matrix of size `scale`.
fn roots(squares: &[f64], scale: f64) -> Option<f64> {
    let clear = squares.iter().all(|&s| s > TRUSTED * scale);
    clear.then(|| squares.iter().map(|s| s.sqrt()).sum())
}

/// ‖A‖_*, for single-precision matrices from the eigenvalues of the smaller Gram matrix, whatever their rank.
///
/// In double precision these are known to 1e-16 of the largest, so singular values to 1e-8 of the largest: a tenth of what
/// rounding to single precision has done to the matrix itself. On DSS gradients of AutoFormer, whose rank is deficient,
/// the norm is off by 6e-8 at most and takes 0.4 times the time of all singular values.
pub fn nuclear_norm<S: Scalar>(a: Mat<'_, S>) -> Result<f64, Unsolved> {
    let dense = dense(a)?;
    if size_of::<S>() > 4 {
        return nuclear(&dense);
    }
    Ok(eigenvalues(gram(&dense))?.iter().map(|square| square.max(0.0).sqrt()).sum())
}

/// The lower half of the smaller of A Aᵀ and Aᵀ A.
fn gram(a: &faer::Mat<f64>) -> faer::Mat<f64> {
    let turned = a.transpose();
    let (left, right) = if a.nrows() < a.ncols() { (a.as_ref(), turned) } else { (turned, a.as_ref()) };
    let mut gram = faer::Mat::zeros(left.nrows(), left.nrows());
    let (lower, full) = (BlockStructure::TriangularLower, BlockStructure::Rectangular);
    triangular::matmul(gram.as_mut(), lower, Accum::Replace, left, full, right, full, 1.0, Par::Seq);
    gram
}

fn nuclear(a: &faer::Mat<f64>) -> Result<f64, Unsolved> {
    let gram = gram(a);
    // A Cholesky factor costs little beside the eigenvalues, which would be thrown away for a singular matrix.
    let fast = if thin(&gram) { None } else { eigenvalues(gram).ok().and_then(|s| roots(&s, largest(&s))) };
    match fast {
        Some(norm) => Ok(norm),
        None => Ok(values(a)?.iter().sum()),
    }
}

fn largest(squares: &[f64]) -> f64 {
    squares.iter().fold(0.0, |m, &s| m.max(s))
}

/// Whether a Gram matrix is singular to working precision, by its Cholesky factor.
fn thin(gram: &faer::Mat<f64>) -> bool {
    let top = (0..gram.nrows()).fold(0.0f64, |m, i| m.max(gram[(i, i)]));
    match gram.llt(Side::Lower) {
        Ok(factor) => (0..gram.nrows()).any(|i| factor.L()[(i, i)].powi(2) <= TRUSTED * top),
        Err(_) => true,
    }
}

/// ‖Xᵀ D‖_* from the factors X (r x m) and D (r x n): the gradient of a linear layer without forming it.
pub fn nuclear_norm_of_product<S: Scalar>(x: Mat<'_, S>, d: Mat<'_, S>) -> Result<f64, Unsolved> {
    assert_eq!(x.rows(), d.rows(), "nuclear norm of a product: rows");
    let (r, x, d) = (x.rows(), dense(x)?, dense(d)?);
    if r >= x.ncols().min(d.ncols()) {
        return nuclear(&(x.transpose() * &d));
    }
    if let Some(norm) = kernel_norm(&x, &d) {
        return Ok(norm);
    }
    let triangle = |a: &faer::Mat<f64>| a.transpose().qr().thin_R().to_owned();
    let (rx, rd) = (triangle(&x), triangle(&d));
    Ok(values(&(rx * rd.transpose()))?.iter().sum())
}

/// The r x r route; none where rounding would show.
fn kernel_norm(x: &faer::Mat<f64>, d: &faer::Mat<f64>) -> Option<f64> {
    let (kx, kd) = (x * x.transpose(), d * d.transpose());
    let factor = kx.llt(Side::Lower).ok()?;
    let middle = factor.L().transpose() * &kd * factor.L();
    roots(&eigenvalues(middle).ok()?, kx.norm_l2() * kd.norm_l2())
}

/// The x with the least ‖A x − b‖² + λ‖x‖².
pub fn ridge<S: Scalar>(a: Mat<'_, S>, b: &[f64], lambda: f64) -> Result<Vec<f64>, Unsolved> {
    assert_eq!(a.rows(), b.len(), "ridge: rows");
    let a = dense(a)?;
    let mut normal = a.transpose() * &a;
    (0..a.ncols()).for_each(|i| normal[(i, i)] += lambda);
    let right = a.transpose() * faer::Mat::from_fn(b.len(), 1, |i, _| b[i]);
    let x = normal.llt(Side::Lower).map_err(|_| Unsolved)?.solve(right);
    Ok((0..a.ncols()).map(|i| x[(i, 0)]).collect())
}

/// The factor of a symmetric positive definite matrix (its lower half is read).
pub struct Cholesky(faer::linalg::solvers::Llt<f64>);

impl Cholesky {
    /// Factors a matrix; one that is not positive definite has no factor.
    pub fn new(a: Mat<'_, f64>) -> Result<Self, Unsolved> {
        assert_eq!(a.rows(), a.cols(), "Cholesky: not square");
        dense(a)?.llt(Side::Lower).map(Cholesky).map_err(|_| Unsolved)
    }

    /// A⁻¹ b.
    pub fn solve(&self, b: &[f64]) -> Vec<f64> {
        let x = self.0.solve(faer::Mat::from_fn(b.len(), 1, |i, _| b[i]));
        (0..b.len()).map(|i| x[(i, 0)]).collect()
    }

    /// A⁻¹, row by row.
    pub fn inverse(&self) -> Vec<f64> {
        let n = self.0.L().nrows();
        let inverse = self.0.inverse();
        (0..n * n).map(|at| inverse[(at / n, at % n)]).collect()
    }

    /// ln det A.
    pub fn log_det(&self) -> f64 {
        let factor = self.0.L();
        (0..factor.nrows()).map(|i| 2.0 * factor[(i, i)].ln()).sum()
    }
}

/// ln |det A|; −∞ where A is singular.
pub fn log_abs_det<S: Scalar>(a: Mat<'_, S>) -> Result<f64, Unsolved> {
    assert_eq!(a.rows(), a.cols(), "log |det|: not square");
    let lu = dense(a)?.partial_piv_lu();
    let sum: f64 = (0..a.rows()).map(|i| lu.U()[(i, i)].abs().ln()).sum();
    // Behind a pivot of zero the factor has no meaning.
    Ok(if sum.is_nan() { f64::NEG_INFINITY } else { sum })
}

/// Q (m x n, orthonormal columns) and R (n x n, positive diagonal) of A = Q R with m ≥ n, row by row.
pub fn qr<S: Scalar>(a: Mat<'_, S>) -> Result<(Vec<f64>, Vec<f64>), Unsolved> {
    let (m, n) = (a.rows(), a.cols());
    assert!(m >= n, "qr: {m} x {n} is wider than tall");
    let factors = dense(a)?.qr();
    let (q, r) = (factors.compute_thin_Q(), factors.thin_R());
    let sign = |i: usize| if r[(i, i)] < 0.0 { -1.0 } else { 1.0 };
    Ok((
        (0..m * n).map(|at| q[(at / n, at % n)] * sign(at % n)).collect(),
        (0..n * n).map(|at| if at % n < at / n { 0.0 } else { r[(at / n, at % n)] * sign(at / n) }).collect(),
    ))
}

#[cfg(test)]
mod tests {
    use super::super::check::{distance, random};
    use super::super::matmul::{MatMut, product};
    use super::*;

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() <= 1e-8 * b.abs(), "{a} against {b}");
    }

    fn times(a: &[f64], b: &[f64], m: usize, k: usize, n: usize) -> Vec<f64> {
        let mut c = vec![0.0; m * n];
        product(1.0, Mat::new(a, m, k), Mat::new(b, k, n), 0.0, MatMut::new(&mut c, m, n));
        c
    }

    /// A = (4, 2; 2, 3): det 8, A⁻¹ = (3, −2; −2, 4) / 8. (1, 2; 2, 1) is not positive definite.
    #[test]
    fn cholesky_by_hand() {
        let factor = Cholesky::new(Mat::new(&[4.0, 2.0, 2.0, 3.0], 2, 2)).unwrap();
        close(factor.log_det(), 8f64.ln());
        let expected = [0.375, -0.25, -0.25, 0.5];
        factor.inverse().iter().zip(expected).for_each(|(a, b)| close(*a, b));
        factor.solve(&[8.0, 16.0]).iter().zip([-1.0, 6.0]).for_each(|(a, b)| close(*a, b));
        assert!(Cholesky::new(Mat::new(&[1.0, 2.0, 2.0, 1.0], 2, 2)).is_err());
    }

    /// ‖u vᵀ‖_* = ‖u‖ ‖v‖
    #[test]
    fn rank_one() {
        let (u, v) = (random(30, 1), random(20, 2));
        let norm = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
        close(nuclear_norm(Mat::new(&times(&u, &v, 30, 1, 20), 30, 20)).unwrap(), norm(&u) * norm(&v));
        close(
            nuclear_norm_of_product(Mat::new(&u, 1, 30), Mat::new(&v, 1, 20)).unwrap(),
            norm(&u) * norm(&v),
        );
    }

    /// Full rank, deficient rank, and singular values falling to 1e-12, against the plain decomposition.
    #[test]
    fn nuclear_norm_agrees_with_singular_values() {
        let (m, n) = (40, 30);
        let full = random(m * n, 3);
        let thin = times(&random(m * 7, 4), &random(7 * n, 5), m, 7, n);
        let (q, _) = qr(Mat::new(&random(m * n, 6), m, n)).unwrap();
        let (p, _) = qr(Mat::new(&random(n * n, 7), n, n)).unwrap();
        let sloped: Vec<f64> =
            q.iter().enumerate().map(|(at, q)| q * 10f64.powf(-((at % n) as f64) * 0.4)).collect();
        let steep = times(&sloped, &p, m, n, n);
        for a in [&full, &thin, &steep] {
            for view in [Mat::new(a, m, n), Mat::new(a, m, n).t()] {
                close(nuclear_norm(view).unwrap(), singular_values(view).unwrap().iter().sum());
            }
        }
        let expected: f64 = (0..n).map(|i| 10f64.powf(-(i as f64) * 0.4)).sum();
        close(nuclear_norm(Mat::new(&steep, m, n)).unwrap(), expected);
    }

    /// Independent rows, repeated rows and a product wider than its factors.
    /// One unknown: x = Σ a b / (Σ a² + λ).
    #[test]
    fn ridge_by_hand() {
        let found = ridge(Mat::new(&[1.0, 2.0, 2.0], 3, 1), &[1.0, 3.0, 4.0], 1.0).unwrap();
        close(found[0], 1.5);
    }

    #[test]
    fn nuclear_norm_of_factors() {
        for (r, m, n, repeat) in [(10, 30, 20, false), (10, 30, 20, true), (25, 12, 40, false)] {
            let (mut x, d) = (random(r * m, 1), random(r * n, 2));
            if repeat {
                let first = x[..m].to_vec();
                x[m..2 * m].copy_from_slice(&first);
            }
            let mut g = vec![0.0; m * n];
            product(1.0, Mat::new(&x, r, m).t(), Mat::new(&d, r, n), 0.0, MatMut::new(&mut g, m, n));
            let expected = singular_values(Mat::new(&g, m, n)).unwrap().iter().sum();
            close(nuclear_norm_of_product(Mat::new(&x, r, m), Mat::new(&d, r, n)).unwrap(), expected);
        }
    }

    /// Eigenvalues of [[2, 1], [1, 2]] are 1 and 3; its determinant is 3.
    #[test]
    fn small_symmetric_matrix() {
        let a = Mat::new(&[2.0f32, 1.0, 1.0, 2.0], 2, 2);
        let values = symmetric_eigenvalues(a).unwrap();
        assert!(distance(&values, &[1.0, 3.0]) < 1e-15);
        close(log_abs_det(a).unwrap(), 3f64.ln());
        assert_eq!(log_abs_det(Mat::new(&[1.0, 2.0, 2.0, 4.0], 2, 2)).unwrap(), f64::NEG_INFINITY);
    }

    #[test]
    fn qr_with_positive_diagonal() {
        let a = random(35, 8);
        let (q, r) = qr(Mat::new(&a, 7, 5)).unwrap();
        assert!(distance(&times(&q, &r, 7, 5, 5), &a) < 1e-14);
        assert!((0..5).all(|i| r[6 * i] > 0.0));
        let mut unit = vec![0.0; 25];
        product(1.0, Mat::new(&q, 7, 5).t(), Mat::new(&q, 7, 5), 0.0, MatMut::new(&mut unit, 5, 5));
        let identity: Vec<f64> = (0..25).map(|at| f64::from(at % 6 == 0)).collect();
        assert!(distance(&unit, &identity) < 1e-14);
    }

    #[test]
    fn not_finite() {
        assert_eq!(nuclear_norm(Mat::new(&[1.0, f64::NAN], 1, 2)), Err(Unsolved));
        assert_eq!(nuclear_norm(Mat::<f64>::new(&[], 0, 3)), Ok(0.0));
    }
}
