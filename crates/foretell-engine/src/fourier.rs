//! Fixed transforms of tokens x head columns: the real part of the discrete Fourier transform, and the cosine transform.
//!
//! ```text
//! Fourier: Y[i, j] = Σ_ab X[a, b] cos(2π (i a / T + j b / n))
//! cosine:  Y[i, j] = Σ_ab X[a, b] 2 cos(π i (2a + 1) / 2T) 2 cos(π j (2b + 1) / 2n)
//! ```
//!
//! Neither is normalised. Both are linear: the backward pass of the first is itself, that of the second its transpose.

use super::buffer::Workspace;
use super::matmul::{Mat, MatMut};
use super::scalar::Scalar;
use rustdct::{DctNum, DctPlanner};
use rustfft::num_complex::Complex;
use rustfft::{FftNum, FftPlanner};

/// Which transform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transform {
    /// Re(FFT2)
    Fourier,
    /// DCT-II along both axes
    Cosine,
    /// The transpose of [`Transform::Cosine`].
    CosineTransposed,
}

/// A transform of heads of one number of tokens and one width.
#[derive(Clone, Copy, Debug)]
pub struct Fourier {
    kind: Transform,
    tokens: usize,
    width: usize,
}

impl Fourier {
    /// A transform for `tokens` rows and heads of `width` columns.
    pub fn new(kind: Transform, tokens: usize, width: usize) -> Self {
        Self { kind, tokens, width }
    }

    /// Transforms every head of `x` (tokens x heads · width) into `y`.
    pub fn forward<S: Scalar>(&self, x: Mat<'_, S>, y: MatMut<'_, S>, space: &mut Workspace<S>) {
        self.apply(x, y, self.kind, space);
    }

    /// Writes dx.
    pub fn backward<S: Scalar>(&self, dy: Mat<'_, S>, dx: MatMut<'_, S>, space: &mut Workspace<S>) {
        let kind = if self.kind == Transform::Cosine { Transform::CosineTransposed } else { self.kind };
        self.apply(dy, dx, kind, space);
    }

    fn apply<S: Scalar>(
        &self,
        x: Mat<'_, S>,
        mut y: MatMut<'_, S>,
        kind: Transform,
        space: &mut Workspace<S>,
    ) {
        let (t, n) = (self.tokens, self.width);
        assert!(
            x.rows() == t && x.cols().is_multiple_of(n) && (y.rows(), y.cols()) == (t, x.cols()),
            "fourier: {} x {} for {t} x {n}",
            x.rows(),
            x.cols()
        );
        let mut head = space.take(t * n);
        for c in (0..x.cols()).step_by(n) {
            for (i, row) in head.chunks_exact_mut(n).enumerate() {
                row.copy_from_slice(&x.row(i)[c..c + n]);
            }
            S::transform(kind, (t, n), &mut head);
            for (i, row) in head.chunks_exact(n).enumerate() {
                y.row_mut(i)[c..c + n].copy_from_slice(row);
            }
        }
        space.give(head);
    }
}

/// The plans of one thread and the memory they work in: both are made once for each size.
pub(super) struct Plans<R: FftNum + DctNum> {
    fft: FftPlanner<R>,
    dct: DctPlanner<R>,
    complex: [Vec<Complex<R>>; 3],
    real: [Vec<R>; 2],
}

impl<R: FftNum + DctNum> Plans<R> {
    pub(super) fn new() -> Self {
        let (complex, real) = ([(); 3].map(|()| Vec::new()), [(); 2].map(|()| Vec::new()));
        Plans { fft: FftPlanner::new(), dct: DctPlanner::new(), complex, real }
    }

    /// The transform of one t x n matrix of real numbers, in place.
    pub(super) fn transform(&mut self, kind: Transform, (t, n): (usize, usize), x: &mut [R]) {
        if kind == Transform::Fourier {
            return self.fourier((t, n), x);
        }
        let [columns, scratch] = &mut self.real;
        let mut along = |data: &mut [R], length: usize| {
            let plan = self.dct.plan_dct2(length);
            scratch.resize(plan.get_scratch_len(), R::zero());
            for line in data.chunks_exact_mut(length) {
                if kind == Transform::Cosine {
                    plan.process_dct2_with_scratch(line, scratch);
                } else {
                    // The third kind halves its first input; the transpose of the second does not.
                    let first = line[0];
                    plan.process_dct3_with_scratch(line, scratch);
                    let half = first / (R::one() + R::one());
                    line.iter_mut().for_each(|y| *y = *y + half);
                }
                line.iter_mut().for_each(|y| *y = *y + *y);
            }
        };
        along(x, n);
        turn(x, t, n, columns);
        along(columns, t);
        x.iter_mut().enumerate().for_each(|(at, x)| *x = columns[at % n * t + at / n]);
    }

    fn fourier(&mut self, (t, n): (usize, usize), x: &mut [R]) {
        let [rows, columns, scratch] = &mut self.complex;
        let mut along = |data: &mut [Complex<R>], length: usize| {
            let plan = self.fft.plan_fft_forward(length);
            scratch.resize(plan.get_inplace_scratch_len(), Complex::new(R::zero(), R::zero()));
            plan.process_with_scratch(data, scratch);
        };
        rows.clear();
        rows.extend(x.iter().map(|x| Complex::new(*x, R::zero())));
        along(rows, n);
        turn(rows, t, n, columns);
        along(columns, t);
        x.iter_mut().enumerate().for_each(|(at, x)| *x = columns[at % n * t + at / n].re);
    }
}

/// Writes the transpose of a rows x cols matrix.
fn turn<T: Copy>(x: &[T], rows: usize, cols: usize, to: &mut Vec<T>) {
    to.clear();
    to.extend((0..rows * cols).map(|at| x[at % rows * cols + at / rows]));
}

#[cfg(test)]
mod tests {
    use super::super::check::{distance, gradients, random, weighted};
    use super::*;
    use std::f64::consts::PI;

    fn run(layer: &Fourier, x: &[f64], heads: usize) -> Vec<f64> {
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
