//! Layer normalisation over the last axis.
//!
//! ```text
//! y = g x̂ + b        x̂ = (x − μ)/σ        μ = mean x        σ² = mean (x − μ)² + ε
//! dg = Σ dy x̂        db = Σ dy        dx = (h − mean h − x̂ mean h x̂)/σ        h = g dy
//! ```

use super::matmul::{Mat, MatMut};
use super::scalar::{Scalar, Store};

/// Gain, bias and ε.
#[derive(Clone, Copy, Debug)]
pub struct LayerNorm<'a, S> {
    /// g
    pub gain: &'a [S],
    /// b
    pub bias: &'a [S],
    /// ε
    pub eps: f64,
}

/// Where the gradients of a [`LayerNorm`] go; `None` skips the work.
#[derive(Debug)]
pub struct LayerNormGradient<'a, S> {
    /// dx
    pub input: Option<(MatMut<'a, S>, Store)>,
    /// dg and db, always added to.
    pub parameters: Option<(&'a mut [S], &'a mut [S])>,
}

impl<S: Scalar> LayerNorm<'_, S> {
    /// Writes `y` and, for the backward pass, μ and 1/σ of every row side by side into `stats`.
    pub fn forward(&self, x: Mat<'_, S>, mut y: MatMut<'_, S>, stats: &mut [S]) {
        let (rows, width) = (x.rows(), x.cols());
        assert!(
            self.gain.len() == width && self.bias.len() == width && y.cols() == width && y.rows() == rows,
            "layer norm: {rows} x {width} by a gain of {} into {} x {}",
            self.gain.len(),
            y.rows(),
            y.cols()
        );
        assert_eq!(stats.len(), 2 * rows, "layer norm: statistics of {rows} rows");
        for (i, stats) in stats.chunks_exact_mut(2).enumerate() {
            (stats[0], stats[1]) = S::norm(x.row(i), self.gain, self.bias, self.eps, y.row_mut(i));
        }
    }

    /// Gradients for the input `x` and the statistics of the forward pass.
    pub fn backward(&self, x: Mat<'_, S>, stats: &[S], dy: Mat<'_, S>, gradient: LayerNormGradient<'_, S>) {
        assert!(
            dy.rows() == x.rows() && dy.cols() == x.cols() && stats.len() == 2 * x.rows(),
            "layer norm backward: {} x {} against {} x {}",
            dy.rows(),
            dy.cols(),
            x.rows(),
            x.cols()
        );
        let LayerNormGradient { mut input, mut parameters } = gradient;
        for (i, stats) in stats.chunks_exact(2).enumerate() {
            let dx = input.as_mut().map(|(dx, store)| (dx.row_mut(i), *store));
            let parameters = parameters.as_mut().map(|(g, b)| (&mut **g, &mut **b));
            S::norm_backward(x.row(i), (stats[0], stats[1]), self.gain, dy.row(i), parameters, dx);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{distance, gradients, random, weighted};
    use super::*;

    fn run(p: &[Vec<f64>], rows: usize, stats: &mut [f64]) -> Vec<f64> {
        let width = p[1].len();
        let mut y = vec![0.0; rows * width];
        let layer = LayerNorm { gain: &p[1], bias: &p[2], eps: 1e-5 };
        layer.forward(Mat::new(&p[0], rows, width), MatMut::new(&mut y, rows, width), stats);
        y
    }

    #[test]
    fn gradient() {
        for width in [5, 37] {
            let rows = 4;
            let parts = [random(rows * width, 1), random(width, 2), random(width, 3)];
            let (c, mut stats) = (random(rows * width, 4), vec![0.0; 2 * rows]);
            run(&parts, rows, &mut stats);
            for store in [Store::Write, Store::Add] {
                let (mut dx, mut dg, mut db) = (vec![0.0; rows * width], vec![0.0; width], vec![0.0; width]);
                LayerNorm { gain: &parts[1], bias: &parts[2], eps: 1e-5 }.backward(
                    Mat::new(&parts[0], rows, width),
                    &stats,
                    Mat::new(&c, rows, width),
                    LayerNormGradient {
                        input: Some((MatMut::new(&mut dx, rows, width), store)),
                        parameters: Some((&mut dg, &mut db)),
                    },
                );
                gradients(&parts, &[dx, dg, db], |p| weighted(&run(p, rows, &mut vec![0.0; 2 * rows]), &c));
            }
        }
    }

    /// A common offset of 1e6 is removed before squaring.
    #[test]
    fn large_offset() {
        let x = random(64, 9);
        let moved: Vec<f64> = x.iter().map(|x| x + 1e6).collect();
        let parameters = [vec![1.0; 64], vec![0.0; 64]];
        let y =
            |x: &[f64]| run(&[x.to_vec(), parameters[0].clone(), parameters[1].clone()], 1, &mut [0.0; 2]);
        assert!(distance(&y(&x), &y(&moved)) < 1e-9);
    }
}
