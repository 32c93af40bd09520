//! Eigenvalues of a symmetric tridiagonal matrix: the QL iteration of Pal, Walker and Kahan, which takes no square root per
//! rotation and carries no vectors.
//!
//! ```text
//! γ ← c (d_i − σ) − s γ        c = p / (p + e²)        s = e² / (p + e²)        p = γ² / c
//! ```
//!
//! Absolute errors are a few roundings of the largest eigenvalue, as with any such method; what couples two eigenvalues by
//! less than that is dropped at once, which on rank-deficient matrices leaves little to iterate.

use super::Unsolved;

/// Rotations of a block before it is taken not to converge; two or three suffice.
const SWEEPS: usize = 60;

/// Turns the diagonal `d` of a tridiagonal matrix into its eigenvalues, smallest first; `e` holds the squares beside it and
/// a final 0.
pub fn eigenvalues(d: &mut [f64], e: &mut [f64]) -> Result<(), Unsolved> {
    if !d.iter().chain(&*e).all(|x| x.is_finite()) {
        return Err(Unsolved);
    }
    let size = d.iter().map(|x| x * x).chain(e.iter().copied()).fold(0.0, f64::max).sqrt();
    let small = (0.5 * f64::EPSILON * size).powi(2);
    let (mut start, mut sweeps) = (0, 0);
    while start < d.len() {
        let end = (start..d.len()).find(|i| e[*i] <= small).unwrap_or(d.len() - 1);
        e[end] = 0.0;
        if end == start {
            (start, sweeps) = (start + 1, 0);
            continue;
        }
        if end == start + 1 {
            // Two equal numbers with a coupling of a rounding would be swapped for ever.
            let (mean, half) = (0.5 * (d[start] + d[end]), 0.5 * (d[start] - d[end]));
            let away = half.hypot(e[start].sqrt());
            (d[start], d[end], e[start]) = (mean - away, mean + away, 0.0);
            continue;
        }
        if sweeps == SWEEPS {
            return Err(Unsolved);
        }
        sweeps += 1;
        sweep(&mut d[start..=end], &mut e[start..end]);
    }
    d.sort_by(f64::total_cmp);
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
        // γ² / c is γ² · (r / p): the three quotients do not wait for each other.
        let growth = r / p;
        (c, s) = (p / r, square / r);
        gamma = c * (d[i] - shift) - s * before.1;
        d[i + 1] = before.1 + (d[i] - gamma);
        p = if growth.is_finite() { gamma * gamma * growth } else { before.0 * square };
    }
    e[0] = s * p;
    d[0] = shift + gamma;
}

#[cfg(test)]
mod tests {
    use super::super::super::check::random;
    use super::*;

    /// Equal numbers whose couplings are a few roundings: every one of them is an eigenvalue to within these.
    #[test]
    fn couplings_of_a_rounding() {
        for seed in 0..200 {
            let n = 2 + seed % 20;
            let couplings = random(n, seed as u64);
            let size = [1e-16, 3e-16, 1e-15][seed % 3];
            let mut squares: Vec<f64> = couplings.iter().map(|x| (size * x).powi(2)).collect();
            squares[n - 1] = 0.0;
            let mut values = vec![-1.0; n];
            assert_eq!(eigenvalues(&mut values, &mut squares), Ok(()), "{seed}");
            assert!(values.iter().all(|x| (x + 1.0).abs() < 1e-14), "{values:?}");
            // The same beside a diagonal of zeros: pairs of ±1.
            let mut pairs: Vec<f64> = couplings.iter().flat_map(|x| [1.0, (size * x).powi(2)]).collect();
            pairs[2 * n - 1] = 0.0;
            let mut values = vec![0.0; 2 * n];
            assert_eq!(eigenvalues(&mut values, &mut pairs), Ok(()), "{seed}");
            assert!(values.iter().all(|x| (x.abs() - 1.0).abs() < 1e-14), "{values:?}");
        }
    }
}
