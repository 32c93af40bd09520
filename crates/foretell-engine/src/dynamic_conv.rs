//! Convolution over time with a kernel per token and head (span-based dynamic convolution).
//!
//! ```text
//! κ[t, h, :] = softmax z[t, h, :]        y[t, h, :] = Σ_j κ[t, h, j] v[t + j − ⌊k/2⌋, h, :]
//! ```
//!
//! v of T x (heads · width), z and κ of T x (heads · k), k odd; v is zero outside the sequence.

use super::conv1d::taps;
use super::matmul::{Mat, MatMut};
use super::scalar::{Scalar, Store};

/// Shape of a dynamic convolution.
#[derive(Clone, Copy, Debug)]
pub struct DynamicConv {
    /// Heads, each with its own kernel.
    pub heads: usize,
    /// k, odd.
    pub kernel: usize,
}

impl DynamicConv {
    fn check<S: Scalar>(&self, v: Mat<'_, S>, kernels: usize, (rows, cols): (usize, usize)) -> usize {
        assert!(
            v.cols().is_multiple_of(self.heads) && (rows, cols) == (v.rows(), v.cols()),
            "dynamic conv: {} x {} in {} heads into {rows} x {cols}",
            v.rows(),
            v.cols(),
            self.heads
        );
        assert_eq!(kernels, v.rows() * self.heads * self.kernel, "dynamic conv: kernels");
        v.cols() / self.heads
    }

    /// Turns the logits z into the kernels κ, in place, and writes `y`.
    pub fn forward<S: Scalar>(&self, v: Mat<'_, S>, kernels: &mut [S], mut y: MatMut<'_, S>) {
        let width = self.check(v, kernels.len(), (y.rows(), y.cols()));
        kernels.chunks_exact_mut(self.kernel).for_each(S::softmax);
        y.scale(0.0);
        taps(v.rows(), self.kernel, |t, source, j| {
            for h in 0..self.heads {
                let weight = kernels[(t * self.heads + h) * self.kernel + j];
                S::axpy(
                    weight,
                    &v.row(source)[h * width..][..width],
                    &mut y.row_mut(t)[h * width..][..width],
                );
            }
        });
    }

    /// Stores dv and writes dz, given the kernels κ of the forward pass.
    pub fn backward<S: Scalar>(
        &self,
        v: Mat<'_, S>,
        kernels: &[S],
        dy: Mat<'_, S>,
        (mut dv, store): (MatMut<'_, S>, Store),
        dlogits: &mut [S],
    ) {
        let width = self.check(v, kernels.len(), (dy.rows(), dy.cols()));
        dv.scale(store.beta());
        dlogits.fill(S::ZERO);
        taps(v.rows(), self.kernel, |t, source, j| {
            for h in 0..self.heads {
                let (n, dy) = ((t * self.heads + h) * self.kernel + j, &dy.row(t)[h * width..][..width]);
                S::axpy(kernels[n], dy, &mut dv.row_mut(source)[h * width..][..width]);
                dlogits[n] = S::dot(dy, &v.row(source)[h * width..][..width]);
            }
        });
        for (kernel, dlogits) in kernels.chunks_exact(self.kernel).zip(dlogits.chunks_exact_mut(self.kernel))
        {
            S::softmax_backward(kernel, dlogits, S::ONE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{gradients, random, weighted};
    use super::*;

    #[test]
    fn gradient() {
        let (t, heads, width, kernel) = (6, 2, 3, 5);
        let (layer, w) = (DynamicConv { heads, kernel }, heads * width);
        let (parts, c) = ([random(t * w, 1), random(t * heads * kernel, 2)], random(t * w, 3));
        let run = |p: &[Vec<f64>]| {
            let (mut kernels, mut y) = (p[1].clone(), vec![0.0; t * w]);
            layer.forward(Mat::new(&p[0], t, w), &mut kernels, MatMut::new(&mut y, t, w));
            (y, kernels)
        };
        let (_, kernels) = run(&parts);
        let (mut dv, mut dz) = (vec![f64::NAN; t * w], vec![f64::NAN; t * heads * kernel]);
        let to = (MatMut::new(&mut dv, t, w), Store::Write);
        layer.backward(Mat::new(&parts[0], t, w), &kernels, Mat::new(&c, t, w), to, &mut dz);
        gradients(&parts, &[dv, dz], |p| weighted(&run(p).0, &c));
    }
}
