use super::super::check::{distance, random};
use super::super::matmul::{MatMut, product};
use super::*;

/// Sizes on both sides of the widths of vectors, groups, panels and bands.
const SIZES: [usize; 12] = [1, 2, 3, 7, 8, 9, 15, 17, 33, 48, 65, 100];

fn close(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-8 * b.abs(), "{a} against {b}");
}

/// All as near as rounding allows: by shares of the largest.
fn close_all(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    let size = expected.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).abs() <= 1e-14 * size * (2 + found.len()) as f64, "{a:e} against {b:e} of {size:e}");
    }
}

fn times(a: &[f64], b: &[f64], m: usize, k: usize, n: usize) -> Vec<f64> {
    let mut c = vec![0.0; m * n];
    product(1.0, Mat::new(a, m, k), Mat::new(b, k, n), 0.0, MatMut::new(&mut c, m, n));
    c
}

fn turned(a: &[f64], m: usize, n: usize) -> Vec<f64> {
    (0..m * n).map(|at| a[at % m * n + at / m]).collect()
}

fn identity(n: usize) -> Vec<f64> {
    (0..n * n).map(|at| f64::from(at % (n + 1) == 0)).collect()
}

/// Q of random draws.
fn orthonormal(m: usize, n: usize, seed: u64) -> Vec<f64> {
    qr(Mat::new(&random(m * n, seed), m, n)).unwrap().0
}

/// m x n with the given singular values (n ≤ m): U diag(σ) Vᵀ.
fn with_values(m: usize, values: &[f64], seed: u64) -> Vec<f64> {
    let n = values.len();
    let (mut u, v) = (orthonormal(m, n, seed), orthonormal(n, n, seed + 1));
    u.iter_mut().enumerate().for_each(|(at, x)| *x *= values[at % n]);
    times(&u, &turned(&v, n, n), m, n, n)
}

/// Eigenvalues by Jacobi's rotations, which share nothing with the code under test.
fn jacobi(mut a: Vec<f64>, n: usize) -> Vec<f64> {
    for _ in 0..30 {
        for (p, q) in (0..n).flat_map(|p| (p + 1..n).map(move |q| (p, q))) {
            if a[p * n + q] == 0.0 {
                continue;
            }
            let slope = (a[q * n + q] - a[p * n + p]) / (2.0 * a[p * n + q]);
            let t = 1.0f64.copysign(slope) / (slope.abs() + slope.hypot(1.0));
            let (c, s) = (1.0 / t.hypot(1.0), t / t.hypot(1.0));
            for k in 0..n {
                let (x, y) = (a[k * n + p], a[k * n + q]);
                (a[k * n + p], a[k * n + q]) = (c * x - s * y, s * x + c * y);
            }
            for k in 0..n {
                let (x, y) = (a[p * n + k], a[q * n + k]);
                (a[p * n + k], a[q * n + k]) = (c * x - s * y, s * x + c * y);
            }
        }
    }
    let mut values: Vec<f64> = (0..n).map(|i| a[i * (n + 1)]).collect();
    values.sort_by(f64::total_cmp);
    values
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

/// A A⁻¹ = I, A x = b, ln det A = Σ ln λ; only the lower half is read, and one bad pivot, even the last, is found.
#[test]
fn cholesky_of_many_sizes() {
    for n in SIZES {
        let x = random(n * n, n as u64);
        let mut a = times(&x, &turned(&x, n, n), n, n, n);
        (0..n).for_each(|i| a[i * (n + 1)] += 1.0);
        let lower: Vec<f64> = (0..n * n).map(|at| if at % n > at / n { f64::NAN } else { a[at] }).collect();
        let factor = Cholesky::new(Mat::new(&lower, n, n)).unwrap();
        assert!(distance(&times(&a, &factor.inverse(), n, n, n), &identity(n)) < 1e-11, "{n}");
        assert!(distance(&times(&a, &factor.solve(&x[..n]), n, n, 1), &x[..n]) < 1e-11, "{n}");
        let values = symmetric_eigenvalues(Mat::new(&a, n, n)).unwrap();
        let log: f64 = values.iter().map(|x| x.ln()).sum();
        assert!((factor.log_det() - log).abs() < 1e-10 * (1.0 + log.abs()), "{n}");
        for bad in [-1e6, f64::NAN, f64::INFINITY] {
            let mut damaged = a.clone();
            damaged[n * n - 1] = bad;
            assert_eq!(Cholesky::new(Mat::new(&damaged, n, n)).err(), Some(Unsolved), "{n} {bad}");
        }
    }
}

/// ‖u vᵀ‖_* = ‖u‖ ‖v‖
#[test]
fn rank_one() {
    let (u, v) = (random(30, 1), random(20, 2));
    let norm = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
    close(nuclear_norm(Mat::new(&times(&u, &v, 30, 1, 20), 30, 20)).unwrap(), norm(&u) * norm(&v));
}

/// Full rank, deficient rank, and singular values falling to 1e-12, in double and in single precision.
#[test]
fn nuclear_norm_agrees_with_singular_values() {
    let (m, n) = (40, 30);
    let full = random(m * n, 3);
    let thin = times(&random(m * 7, 4), &random(7 * n, 5), m, 7, n);
    let slope: Vec<f64> = (0..n).map(|i| 10f64.powf(-(i as f64) * 0.4)).collect();
    let steep = with_values(m, &slope, 6);
    for a in [&full, &thin, &steep] {
        let single: Vec<f32> = a.iter().map(|x| *x as f32).collect();
        for (double, single) in [
            (Mat::new(a, m, n), Mat::new(&single, m, n)),
            (Mat::new(a, m, n).t(), Mat::new(&single, m, n).t()),
        ] {
            let expected: f64 = singular_values(double).unwrap().iter().sum();
            close(nuclear_norm(double).unwrap(), expected);
            assert!((nuclear_norm(single).unwrap() - expected).abs() < 1e-6 * expected);
        }
    }
    close(nuclear_norm(Mat::new(&steep, m, n)).unwrap(), slope.iter().sum());
}

/// Known values of tall, wide and square matrices: random, repeated, few but zero, falling to 1e-12, all zero.
#[test]
fn known_singular_values() {
    for n in SIZES {
        let mut spread: Vec<f64> = random(n, 5).iter().map(|x| x.abs()).collect();
        spread.sort_by(|a, b| b.total_cmp(a));
        let few = (0..n).map(|i| f64::from(i < n.div_ceil(3)) * 2.0).collect();
        let steep = (0..n).map(|i| 10f64.powf(-12.0 * i as f64 / n as f64)).collect();
        for values in [spread, vec![1.0; n], few, steep, vec![0.0; n]] {
            for m in [n, n + 1, 3 * n] {
                let a = with_values(m, &values, n as u64);
                close_all(&singular_values(Mat::new(&a, m, n)).unwrap(), &values);
                close_all(&singular_values(Mat::new(&a, m, n).t()).unwrap(), &values);
            }
        }
    }
}

/// Random, of low rank, steep and zero, against Jacobi's rotations.
#[test]
fn eigenvalues_agree_with_jacobi() {
    for n in [1usize, 2, 3, 7, 8, 9, 16, 17, 40] {
        for (rank, steep) in [(n, 1.0), (n.div_ceil(5), 1.0), (n, 0.5), (0, 1.0)] {
            let x = random(n * n, 7);
            let left: Vec<f64> = (0..n * n)
                .map(|at| if at % n < rank { x[at] * f64::powi(steep, (at % n) as i32) } else { 0.0 })
                .collect();
            let signs: Vec<f64> =
                left.iter().enumerate().map(|(at, x)| if at % n % 3 == 0 { -x } else { *x }).collect();
            let a = times(&signs, &turned(&left, n, n), n, n, n);
            close_all(&symmetric_eigenvalues(Mat::new(&a, n, n)).unwrap(), &jacobi(a, n));
        }
    }
}

/// Second differences: 2 − 2 cos(kπ/(n+1)). Diagonals are their own eigenvalues, to the last bit.
#[test]
fn eigenvalues_by_formula() {
    for n in SIZES {
        let entry = |at: usize| [2.0, -1.0, 0.0][(at / n).abs_diff(at % n).min(2)];
        let a: Vec<f64> = (0..n * n).map(entry).collect();
        let angle = |k: usize| k as f64 * std::f64::consts::PI / (n + 1) as f64;
        let expected: Vec<f64> = (1..=n).map(|k| 2.0 - 2.0 * angle(k).cos()).collect();
        close_all(&symmetric_eigenvalues(Mat::new(&a, n, n)).unwrap(), &expected);
    }
    let diagonal: Vec<f64> =
        (0..16).map(|at| if at % 5 == 0 { [3.0, -1.0, 0.0, 7.0][at / 5] } else { 0.0 }).collect();
    assert_eq!(symmetric_eigenvalues(Mat::new(&diagonal, 4, 4)).unwrap(), [-1.0, 0.0, 3.0, 7.0]);
}

/// Values grow with their matrix, from numbers that are hardly there to the largest.
#[test]
fn any_scale() {
    let n = 20;
    let a = random(n * n, 9);
    let symmetric: Vec<f64> = (0..n * n).map(|at| a[at] + a[at % n * n + at / n]).collect();
    let view = Mat::new(&a, n, n);
    let expected = (
        singular_values(view).unwrap(),
        symmetric_eigenvalues(Mat::new(&symmetric, n, n)).unwrap(),
        nuclear_norm(view).unwrap(),
        qr(view).unwrap(),
    );
    for exponent in [-307, -300, -160, -155, -150, -100, 100, 150, 155, 160, 300] {
        let scale = 10f64.powi(exponent);
        let scaled = |x: &[f64]| x.iter().map(|x| x * scale).collect::<Vec<f64>>();
        let large = scaled(&a);
        let view = Mat::new(&large, n, n);
        close_all(&singular_values(view).unwrap(), &scaled(&expected.0));
        let values = symmetric_eigenvalues(Mat::new(&scaled(&symmetric), n, n)).unwrap();
        close_all(&values, &scaled(&expected.1));
        close(nuclear_norm(view).unwrap(), expected.2 * scale);
        let (q, r) = qr(view).unwrap();
        close_all(&q, &expected.3.0);
        close_all(&r, &scaled(&expected.3.1));
    }
}

/// One row is so much smaller than the others that the squares of its entries have few digits or none.
#[test]
fn rows_that_nearly_vanish() {
    for small in [1e-140, 1e-150, 1e-155, 1e-160, 1e-162, 1e-170, 1e-300] {
        for place in [0, 3, 8] {
            let scaled = |x: Vec<f64>| -> Vec<f64> {
                let row = |(at, x): (usize, f64)| if at / 9 == place { x * small } else { x };
                x.into_iter().enumerate().map(row).collect()
            };
            let (a, zero) = (scaled(random(81, 4)), scaled(random(81, 4)));
            let zero: Vec<f64> =
                zero.iter().enumerate().map(|(at, x)| if at / 9 == place { 0.0 } else { *x }).collect();
            let values = |a: &[f64]| singular_values(Mat::new(a, 9, 9)).unwrap();
            close_all(&values(&a), &values(&zero));
            let both = |a: &[f64]| times(a, &turned(a, 9, 9), 9, 9, 9);
            let squares: Vec<f64> = values(&zero).iter().rev().map(|x| x * x).collect();
            close_all(&symmetric_eigenvalues(Mat::new(&both(&a), 9, 9)).unwrap(), &squares);
        }
    }
}

/// One unknown: x = Σ a b / (Σ a² + λ).
#[test]
fn ridge_by_hand() {
    let found = ridge(Mat::new(&[1.0, 2.0, 2.0], 3, 1), &[1.0, 3.0, 4.0], 1.0).unwrap();
    close(found[0], 1.5);
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

/// ln |det A| = Σ ln σ; −∞ with a column of zeros anywhere; the leading entry need not be a pivot.
#[test]
fn determinants_of_many_sizes() {
    for n in SIZES {
        let mut a = random(n * n, 10);
        let values = singular_values(Mat::new(&a, n, n)).unwrap();
        let expected: f64 = values.iter().map(|x| x.ln()).sum();
        let found = log_abs_det(Mat::new(&a, n, n)).unwrap();
        assert!((found - expected).abs() < 1e-10 * (1.0 + expected.abs()), "{n}: {found} {expected}");
        for column in [0, n / 2, n - 1] {
            let mut singular = a.clone();
            singular[column..].iter_mut().step_by(n).for_each(|x| *x = 0.0);
            assert_eq!(log_abs_det(Mat::new(&singular, n, n)), Ok(f64::NEG_INFINITY));
        }
        // A reversed identity has no pivot in place.
        a.iter_mut().enumerate().for_each(|(at, x)| *x = f64::from(at / n + at % n == n - 1));
        assert_eq!(log_abs_det(Mat::new(&a, n, n)), Ok(0.0));
    }
}

/// Q R = A, Qᵀ Q = I, R upper with a positive diagonal; of deficient rank, too, but for zeros on the diagonal.
#[test]
fn qr_of_many_sizes() {
    for n in SIZES {
        for (m, rank) in [(n, n), (n + 3, n), (4 * n, n), (2 * n, n.div_ceil(2))] {
            let a = times(&random(m * rank, 8), &random(rank * n, 9), m, rank, n);
            let (q, r) = qr(Mat::new(&a, m, n)).unwrap();
            assert!(distance(&times(&q, &r, m, n, n), &a) < 1e-13);
            assert!(distance(&times(&turned(&q, m, n), &q, n, m, n), &identity(n)) < 1e-13);
            assert!((0..n).all(|i| r[i * (n + 1)] >= 0.0 && r[i * n..i * (n + 1)].iter().all(|x| *x == 0.0)));
            assert!(rank < n || (0..n).all(|i| r[i * (n + 1)] > 0.0));
        }
    }
}

#[test]
fn not_finite() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for place in [0, 3] {
            let mut a = [2.0, 1.0, 1.0, 2.0];
            a[place] = bad;
            let view = Mat::new(&a, 2, 2);
            assert_eq!(nuclear_norm(view), Err(Unsolved));
            assert_eq!(nuclear_norm(Mat::new(&a.map(|x| x as f32), 2, 2)), Err(Unsolved));
            assert_eq!(singular_values(view), Err(Unsolved));
            assert_eq!(symmetric_eigenvalues(view), Err(Unsolved));
            assert_eq!(log_abs_det(view), Err(Unsolved));
            assert_eq!(qr(view), Err(Unsolved));
            assert_eq!(ridge(view, &[1.0, 2.0], 1.0), Err(Unsolved));
            assert!(Cholesky::new(view).is_err());
        }
    }
}

#[test]
fn nothing_at_all() {
    for view in [Mat::<f64>::new(&[], 0, 3), Mat::new(&[], 3, 0), Mat::new(&[], 0, 0)] {
        assert_eq!(nuclear_norm(view), Ok(0.0));
        assert_eq!(singular_values(view), Ok(Vec::new()));
    }
    let none = Mat::<f64>::new(&[], 0, 0);
    assert_eq!(symmetric_eigenvalues(none), Ok(Vec::new()));
    assert_eq!(log_abs_det(none), Ok(0.0));
    assert_eq!(qr(none), Ok((Vec::new(), Vec::new())));
    assert_eq!(qr(Mat::<f64>::new(&[], 3, 0)), Ok((Vec::new(), Vec::new())));
    let factor = Cholesky::new(none).unwrap();
    assert_eq!((factor.log_det(), factor.inverse(), factor.solve(&[])), (0.0, Vec::new(), Vec::new()));
}
