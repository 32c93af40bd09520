//! Eigenvalues of a symmetric matrix: Householder reflections to tridiagonal form (`faer`), then the QL iteration of Pal,
//! Walker and Kahan, which takes no square root per rotation and carries no vectors.
//!
//! ```text
//! T = Qᵀ A Q        γ ← c (d_i − σ) − s γ        c = p / (p + e²)        s = e² / (p + e²)        p = γ² / c
//! ```
//!
//! Absolute errors are a few roundings of the largest eigenvalue, as with any such method; what couples two eigenvalues by
//! less than that is dropped at once, which on rank-deficient matrices leaves little to iterate.

use super::linalg::Unsolved;
use faer::Par;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::tridiag::{tridiag_in_place, tridiag_in_place_scratch};

/// Rotations of a block before it is taken not to converge; two or three suffice.
const SWEEPS: usize = 60;

/// Eigenvalues of the symmetric matrix whose lower half is given, smallest first.
pub fn eigenvalues(mut a: faer::Mat<f64>) -> Result<Vec<f64>, Unsolved> {
    let n = a.nrows();
    if n == 0 {
        return Ok(Vec::new());
    }
    let mut reflections =
        faer::Mat::zeros(faer::linalg::qr::no_pivoting::factor::recommended_block_size::<f64>(n, n), n - 1);
    let mut memory = MemBuffer::new(tridiag_in_place_scratch::<f64>(n, Par::Seq, Default::default()));
    tridiag_in_place(
        a.as_mut(),
        reflections.as_mut(),
        Par::Seq,
        MemStack::new(&mut memory),
        Default::default(),
    );
    let mut diagonal: Vec<f64> = (0..n).map(|i| a[(i, i)]).collect();
    let mut squares: Vec<f64> = (1..n).map(|i| a[(i, i - 1)].powi(2)).collect();
    squares.push(0.0);
    iterate(&mut diagonal, &mut squares)?;
    diagonal.sort_by(f64::total_cmp);
    Ok(diagonal)
}

/// Turns the diagonal `d` of a tridiagonal matrix into its eigenvalues; `e` holds the squares beside it and a final 0.
fn iterate(d: &mut [f64], e: &mut [f64]) -> Result<(), Unsolved> {
    if !d.iter().chain(&*e).all(|x| x.is_finite()) {
        return Err(Unsolved);
    }
    let size = d.iter().map(|x| x * x).chain(e.iter().copied()).fold(0.0, f64::max).sqrt();
    let small = (0.25 * f64::EPSILON * size).powi(2);
    let (mut start, mut sweeps) = (0, 0);
    while start < d.len() {
        let end = (start..d.len()).find(|i| e[*i] <= small).unwrap_or(d.len() - 1);
        e[end] = 0.0;
        if end == start {
            (start, sweeps) = (start + 1, 0);
            continue;
        }
        if sweeps == SWEEPS {
            return Err(Unsolved);
        }
        sweeps += 1;
        sweep(&mut d[start..=end], &mut e[start..end]);
    }
    Ok(())
}

/// One shifted QL step over an unreduced block.
fn sweep(d: &mut [f64], e: &mut [f64]) {
    let last = d.len() - 1;
    let beside = e[0].sqrt();
    let half = (d[1] - d[0]) / (2.0 * beside);
    let shift = d[0] - beside / (half + half.hypot(1.0).copysign(half));
    let (mut c, mut s, mut gamma) = (1.0, 0.0, d[last] - shift);
    let mut p = gamma * gamma;
    for i in (0..last).rev() {
        let (square, r) = (e[i], p + e[i]);
        if i + 1 < last {
            e[i + 1] = s * r;
        }
        let before = (c, gamma);
        (c, s) = (p / r, square / r);
        gamma = c * (d[i] - shift) - s * before.1;
        d[i + 1] = before.1 + (d[i] - gamma);
        p = if c == 0.0 { before.0 * square } else { gamma * gamma / c };
    }
    e[0] = s * p;
    d[0] = shift + gamma;
}

#[cfg(test)]
mod tests {
    use super::super::check::random;
    use super::*;

    fn close(found: &[f64], expected: &[f64]) {
        let size = expected.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        for (a, b) in found.iter().zip(expected) {
            assert!((a - b).abs() <= 1e-14 * size * found.len() as f64, "{a} {b}");
        }
    }

    /// Second differences: 2 − 2 cos(kπ/(n+1)).
    #[test]
    fn second_differences() {
        let n = 50;
        let a = faer::Mat::from_fn(n, n, |i, j| match i.abs_diff(j) {
            0 => 2.0,
            1 => -1.0,
            _ => 0.0,
        });
        let angle = |k: usize| k as f64 * std::f64::consts::PI / (n + 1) as f64;
        let expected: Vec<f64> = (1..=n).map(|k| 2.0 - 2.0 * angle(k).cos()).collect();
        close(&eigenvalues(a).unwrap(), &expected);
    }

    /// Random, of low rank, steep, diagonal, zero and of one row, against faer's own.
    #[test]
    fn agrees_with_faer() {
        for (n, rank, steep) in
            [(1, 1, 1.0), (2, 2, 1.0), (40, 40, 1.0), (40, 3, 1.0), (60, 60, 0.5), (30, 0, 1.0)]
        {
            let x = random(n * rank.max(1), 7);
            let factor = faer::Mat::from_fn(n, rank, |i, j| x[i * rank + j] * f64::powi(steep, j as i32));
            let a = &factor * factor.transpose();
            let expected = a.self_adjoint_eigenvalues(faer::Side::Lower).unwrap();
            close(&eigenvalues(a).unwrap(), &expected);
        }
        let diagonal = faer::Mat::from_fn(4, 4, |i, j| if i == j { [3.0, -1.0, 0.0, 7.0][i] } else { 0.0 });
        assert_eq!(eigenvalues(diagonal).unwrap(), [-1.0, 0.0, 3.0, 7.0]);
    }

    #[test]
    fn what_is_not_finite_is_refused() {
        let a = faer::Mat::from_fn(3, 3, |i, j| if i == j { f64::NAN } else { 1.0 });
        assert!(eigenvalues(a).is_err());
    }
}
