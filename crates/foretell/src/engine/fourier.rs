//! Fixed transforms of tokens x head columns: the real part of the discrete Fourier transform, and the cosine transform.
//!
//! ```text
//! Fourier: Y = Re(F_T X F_n) = C_T X C_n − S_T X S_n     C = cos(2π i j / N), S = sin(2π i j / N)
//! cosine:  Y = D_T X D_nᵀ                                D[i, j] = 2 cos(π i (2 j + 1) / 2 N)
//! ```
//!
//! Neither is normalised. Both are linear: the backward pass of the first is itself (C and S are symmetric), that of the
//! second is D_Tᵀ dY D_n. Both are done by products with the small matrices, O(T² n + T n²) a head: one code for every
//! scalar type, no planning. Y of the first is even, Y[−i, −j] = Y[i, j], so its tall products stop at row T/2.

use super::buffer::Workspace;
use super::matmul::{Mat, MatMut, product};
use super::scalar::Scalar;

/// Which transform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transform {
    /// Re(FFT2)
    Fourier,
    /// DCT-II along both axes
    Cosine,
}

/// The matrices of a transform for one number of tokens and one head width.
#[derive(Clone, Debug)]
pub struct Fourier<S> {
    kind: Transform,
    tokens: usize,
    width: usize,
    /// C and S, or D, of the tokens and of the columns.
    tall: Vec<Vec<S>>,
    wide: Vec<Vec<S>>,
}

fn matrix<S: Scalar>(n: usize, f: impl Fn(usize, usize) -> f64) -> Vec<S> {
    (0..n * n).map(|at| S::from_f64(f(at / n, at % n))).collect()
}

fn matrices<S: Scalar>(kind: Transform, n: usize) -> Vec<Vec<S>> {
    use std::f64::consts::PI;
    // Products of indices are reduced as integers, so that angles stay small and exact.
    let angle = |k: usize, period: usize| 2.0 * PI * (k % period) as f64 / period as f64;
    match kind {
        Transform::Fourier => {
            vec![matrix(n, |i, j| angle(i * j, n).cos()), matrix(n, |i, j| angle(i * j, n).sin())]
        }
        Transform::Cosine => vec![matrix(n, |i, j| 2.0 * angle(i * (2 * j + 1), 4 * n).cos())],
    }
}

impl<S: Scalar> Fourier<S> {
    /// Prepares the matrices.
    pub fn new(kind: Transform, tokens: usize, width: usize) -> Self {
        Self { kind, tokens, width, tall: matrices(kind, tokens), wide: matrices(kind, width) }
    }

    /// Transforms every head of `x` (tokens x heads · width) into `y`.
    pub fn forward(&self, x: Mat<'_, S>, y: MatMut<'_, S>, space: &mut Workspace<S>) {
        self.apply(x, y, false, space);
    }

    /// Writes dx.
    pub fn backward(&self, dy: Mat<'_, S>, dx: MatMut<'_, S>, space: &mut Workspace<S>) {
        self.apply(dy, dx, self.kind == Transform::Cosine, space);
    }

    fn apply(&self, x: Mat<'_, S>, mut y: MatMut<'_, S>, turned: bool, space: &mut Workspace<S>) {
        let (t, n) = (self.tokens, self.width);
        assert!(
            x.rows() == t && x.cols().is_multiple_of(n) && (y.rows(), y.cols()) == (t, x.cols()),
            "fourier: {} x {} for {t} x {n}",
            x.rows(),
            x.cols()
        );
        let rows = if self.kind == Transform::Fourier { t / 2 + 1 } else { t };
        let mut half = space.take(t * n);
        for c in (0..x.cols()).step_by(n) {
            for (term, (tall, wide)) in self.tall.iter().zip(&self.wide).enumerate() {
                let (tall, wide) = (Mat::new(tall, t, t), Mat::new(wide, n, n));
                let (tall, wide) = if turned { (tall.t(), wide) } else { (tall, wide.t()) };
                product(1.0, x.columns(c, n), wide, 0.0, MatMut::new(&mut half, t, n));
                let (sign, beta) = if term == 0 { (1.0, 0.0) } else { (-1.0, 1.0) };
                let to = y.rb().block((0, rows), (c, n));
                product(sign, tall.block((0, rows), (0, t)), Mat::new(&half, t, n), beta, to);
            }
            for i in rows..t {
                for j in 0..n {
                    *y.at_mut(i, c + j) = y.as_ref().at(t - i, c + (n - j) % n);
                }
            }
        }
        space.give(half);
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{distance, gradients, random, weighted};
    use super::*;
    use std::f64::consts::PI;

    fn run(layer: &Fourier<f64>, x: &[f64], heads: usize) -> Vec<f64> {
        let (t, w) = (layer.tokens, heads * layer.width);
        let mut y = vec![f64::NAN; t * w];
        layer.forward(Mat::new(x, t, w), MatMut::new(&mut y, t, w), &mut Workspace::new());
        y
    }

    #[test]
    fn gradient() {
        for (kind, t, n) in
            [(Transform::Fourier, 5, 4), (Transform::Fourier, 6, 3), (Transform::Cosine, 5, 4)]
        {
            let (heads, layer) = (2, Fourier::new(kind, t, n));
            let (x, c) = (random(t * heads * n, 1), random(t * heads * n, 2));
            let mut dx = vec![0.0; x.len()];
            let (dy, to) = (Mat::new(&c, t, heads * n), MatMut::new(&mut dx, t, heads * n));
            layer.backward(dy, to, &mut Workspace::new());
            gradients(&[x], &[dx], |p| weighted(&run(&layer, &p[0], heads), &c));
        }
    }

    /// Both sums written out.
    #[test]
    fn definition() {
        for (t, n) in [(7, 6), (8, 5)] {
            let x = random(t * n, 3);
            let sum = |i: usize, j: usize, f: &dyn Fn(f64, f64, f64, f64) -> f64| -> f64 {
                (0..t * n).map(|at| x[at] * f(i as f64, (at / n) as f64, j as f64, (at % n) as f64)).sum()
            };
            let all = |f: &dyn Fn(f64, f64, f64, f64) -> f64| -> Vec<f64> {
                (0..t * n).map(|at| sum(at / n, at % n, f)).collect()
            };
            let (tf, nf) = (t as f64, n as f64);
            let fourier = all(&|i, a, j, b| (2.0 * PI * (i * a / tf + j * b / nf)).cos());
            let cosine = all(&|i, a, j, b| {
                4.0 * (PI * i * (2.0 * a + 1.0) / (2.0 * tf)).cos()
                    * (PI * j * (2.0 * b + 1.0) / (2.0 * nf)).cos()
            });
            assert!(distance(&run(&Fourier::new(Transform::Fourier, t, n), &x, 1), &fourier) < 1e-13);
            assert!(distance(&run(&Fourier::new(Transform::Cosine, t, n), &x, 1), &cosine) < 1e-13);
        }
    }
}
