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
