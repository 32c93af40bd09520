//! Root-mean-square normalisation over the last axis.
//!
//! ```text
//! y = g x / r        r² = mean x² + ε
//! dg = Σ dy x / r        dx = (h − x̂ mean h x̂)/r        h = g dy        x̂ = x / r
//! ```

use super::matmul::{Mat, MatMut};
use super::scalar::{Scalar, Store};

/// Gain and ε.
#[derive(Clone, Copy, Debug)]
pub struct RmsNorm<'a, S> {
    /// g
    pub gain: &'a [S],
    /// ε
    pub eps: f64,
}

impl<S: Scalar> RmsNorm<'_, S> {
    /// Writes `y` and 1/r of every row.
    pub fn forward(&self, x: Mat<'_, S>, mut y: MatMut<'_, S>, inverse: &mut [S]) {
        assert!(
            self.gain.len() == x.cols() && inverse.len() == x.rows(),
            "rms norm: {} x {}",
            x.rows(),
            x.cols()
        );
        let n = S::from_f64(x.cols() as f64);
        for (i, inverse) in inverse.iter_mut().enumerate() {
            *inverse = (S::dot(x.row(i), x.row(i)) / n + S::from_f64(self.eps)).sqrt().recip();
            for ((y, &x), &g) in y.row_mut(i).iter_mut().zip(x.row(i)).zip(self.gain) {
                *y = x * *inverse * g;
            }
        }
    }

    /// Gradients; `None` skips the work, `dgain` is added to.
    pub fn backward(
        &self,
        x: Mat<'_, S>,
        inverse: &[S],
        dy: Mat<'_, S>,
        mut dx: Option<(MatMut<'_, S>, Store)>,
        mut dgain: Option<&mut [S]>,
    ) {
        let n = S::from_f64(x.cols() as f64);
        for (i, &inverse) in inverse.iter().enumerate() {
            let (x, dy) = (x.row(i), dy.row(i));
            if let Some(dgain) = &mut dgain {
                for ((dg, &dy), &x) in dgain.iter_mut().zip(dy).zip(x) {
                    *dg += dy * x * inverse;
                }
            }
            if let Some((dx, store)) = &mut dx {
                let mean =
                    x.iter().zip(dy).zip(self.gain).fold(S::ZERO, |s, ((&x, &d), &g)| s + x * d * g) / n;
                for (((dx, &x), &dy), &g) in dx.row_mut(i).iter_mut().zip(x).zip(dy).zip(self.gain) {
                    store.put(dx, inverse * (g * dy - x * inverse * inverse * mean));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{gradients, random, weighted};
    use super::*;

    #[test]
    fn gradient() {
        let (rows, width) = (3, 7);
        let parts = [random(rows * width, 1), random(width, 2)];
        let c = random(rows * width, 3);
        let run = |p: &[Vec<f64>], inverse: &mut [f64]| {
            let mut y = vec![0.0; rows * width];
            let layer = RmsNorm { gain: &p[1], eps: 1e-6 };
            layer.forward(Mat::new(&p[0], rows, width), MatMut::new(&mut y, rows, width), inverse);
            y
        };
        let (mut inverse, mut dx, mut dg) = (vec![0.0; rows], vec![0.0; rows * width], vec![0.0; width]);
        run(&parts, &mut inverse);
        RmsNorm { gain: &parts[1], eps: 1e-6 }.backward(
            Mat::new(&parts[0], rows, width),
            &inverse,
            Mat::new(&c, rows, width),
            Some((MatMut::new(&mut dx, rows, width), Store::Write)),
            Some(&mut dg),
        );
        gradients(&parts, &[dx, dg], |p| weighted(&run(p, &mut vec![0.0; rows]), &c));
    }
}
