//! Decompositions on one core: `cargo bench -p foretell-engine`.

use divan::Bencher;
use foretell_engine::linalg::{self, Cholesky};
use foretell_engine::matmul::Mat;

/// Rows and columns of gradients, and of a batch of features.
const SHAPES: [(usize, usize); 5] = [(64, 64), (192, 192), (192, 768), (320, 1280), (576, 576)];
const SIZES: [usize; 3] = [64, 256, 512];

fn main() {
    divan::main();
}

/// Reproducible numbers between −½ and ½.
fn numbers(len: usize) -> Vec<f64> {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    };
    (0..len).map(|_| next()).collect()
}

/// X Xᵀ and a little on the diagonal.
fn positive(n: usize) -> Vec<f64> {
    let (x, mut a) = (numbers(n * n), vec![0.0; n * n]);
    linalg::product(Mat::new(&x, n, n), Mat::new(&x, n, n).t(), &mut a);
    (0..n).for_each(|i| a[i * (n + 1)] += 0.1);
    a
}

#[divan::bench(args = SHAPES)]
fn nuclear_norm_f32(bencher: Bencher, (m, n): (usize, usize)) {
    let a: Vec<f32> = numbers(m * n).iter().map(|x| *x as f32).collect();
    bencher.bench(|| linalg::nuclear_norm(Mat::new(&a, m, n)));
}

#[divan::bench(args = SHAPES)]
fn singular_values(bencher: Bencher, (m, n): (usize, usize)) {
    let a = numbers(m * n);
    bencher.bench(|| linalg::singular_values(Mat::new(&a, m, n)));
}

#[divan::bench(args = SIZES)]
fn symmetric_eigenvalues(bencher: Bencher, n: usize) {
    let a = positive(n);
    bencher.bench(|| linalg::symmetric_eigenvalues(Mat::new(&a, n, n)));
}

#[divan::bench(args = [50, 200, 500])]
fn cholesky(bencher: Bencher, n: usize) {
    let a = positive(n);
    bencher.bench(|| Cholesky::new(Mat::new(&a, n, n)));
}

#[divan::bench(args = [50, 200, 500])]
fn cholesky_inverse(bencher: Bencher, n: usize) {
    let factor = Cholesky::new(Mat::new(&positive(n), n, n)).expect("positive definite");
    bencher.bench(|| factor.inverse());
}

#[divan::bench(args = SIZES)]
fn log_abs_det(bencher: Bencher, n: usize) {
    let a = numbers(n * n);
    bencher.bench(|| linalg::log_abs_det(Mat::new(&a, n, n)));
}

#[divan::bench(args = [(192, 192), (768, 192)])]
fn qr(bencher: Bencher, (m, n): (usize, usize)) {
    let a = numbers(m * n);
    bencher.bench(|| linalg::qr(Mat::new(&a, m, n)));
}
