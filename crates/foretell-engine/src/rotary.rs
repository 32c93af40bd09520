//! Rotary positions, LLaMA's half-split form.
//!
//! ```text
//! (x_i, x_{i+n}) → (x_i cos a − x_{i+n} sin a, x_{i+n} cos a + x_i sin a)      n = head width / 2
//! a = position · base^(−i/n)
//! ```
//!
//! The map is a rotation, so the backward pass turns the gradient back.

use super::matmul::MatMut;
use super::scalar::Scalar;
use std::ops::Range;

/// Sines and cosines of a range of positions.
#[derive(Clone, Debug)]
pub struct Rotary<S> {
    cos: Vec<S>,
    sin: Vec<S>,
    half: usize,
}

impl<S: Scalar> Rotary<S> {
    /// Tables for rows at `positions` and heads of `head_dim` columns; the usual base is 10 000.
    pub fn new(positions: Range<usize>, head_dim: usize, base: f64) -> Self {
        assert!(head_dim.is_multiple_of(2), "rotary: odd head width {head_dim}");
        let half = head_dim / 2;
        let angle = |n: usize| (n / half) as f64 * base.powf(-((n % half) as f64) / half as f64);
        let table = |f: fn(f64) -> f64| {
            (positions.start * half..positions.end * half).map(|n| S::from_f64(f(angle(n)))).collect()
        };
        Self { cos: table(f64::cos), sin: table(f64::sin), half }
    }

    /// Rotates the rows of `x`, row t by the t-th of the positions.
    pub fn forward(&self, x: MatMut<'_, S>) {
        self.turn(x, S::ONE);
    }

    /// Rotates gradients back.
    pub fn backward(&self, dx: MatMut<'_, S>) {
        self.turn(dx, -S::ONE);
    }

    fn turn(&self, mut x: MatMut<'_, S>, direction: S) {
        let n = self.half;
        assert!(
            x.rows() * n <= self.cos.len() && x.cols().is_multiple_of(2 * n),
            "rotary: {} x {}",
            x.rows(),
            x.cols()
        );
        for t in 0..x.rows() {
            let (cos, sin) = (&self.cos[t * n..][..n], &self.sin[t * n..][..n]);
            for head in x.row_mut(t).chunks_exact_mut(2 * n) {
                let (low, high) = head.split_at_mut(n);
                for i in 0..n {
                    let (a, b, s) = (low[i], high[i], direction * sin[i]);
                    low[i] = a * cos[i] - b * s;
                    high[i] = b * cos[i] + a * s;
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
        let (rotary, x, c) = (Rotary::new(0..3, 4, 100.0), random(24, 1), random(24, 2));
        let mut dx = c.clone();
        rotary.backward(MatMut::new(&mut dx, 3, 8));
        gradients(&[x], &[dx], |p| {
            let mut y = p[0].clone();
            rotary.forward(MatMut::new(&mut y, 3, 8));
            weighted(&y, &c)
        });
    }

    /// Position 1, frequencies 1 and 1/10: columns 0 and 2 turn by one radian.
    #[test]
    fn turns_the_two_halves() {
        let mut x = [0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 2.0];
        Rotary::<f64>::new(0..2, 4, 100.0).forward(MatMut::new(&mut x, 2, 4));
        let expected = [1f64.cos(), -2.0 * 0.1f64.sin(), 1f64.sin(), 2.0 * 0.1f64.cos()];
        assert!(x[4..].iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12));
    }
}
