//! Gaussian error linear units.
//!
//! ```text
//! erf:  y = x Φ(x)                     dy/dx = Φ(x) + x φ(x)
//! tanh: y = x/2 (1 + tanh u)           u = √(2/π) (x + 0.044715 x³)
//! ```
//!
//! The forward pass writes the slope beside the value, where it is nearly free; the backward pass is one product.

use super::scalar::Scalar;

/// Which of the two forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gelu {
    /// The exact form.
    Erf,
    /// The approximation by tanh.
    Tanh,
}

impl Gelu {
    /// Writes the value and the slope of every `x`.
    pub fn forward<S: Scalar>(self, x: &[S], y: &mut [S], slope: &mut [S]) {
        assert!(x.len() == y.len() && x.len() == slope.len(), "gelu: {} into {}", x.len(), y.len());
        match self {
            Gelu::Erf => S::gelu_erf(x, y, slope),
            Gelu::Tanh => S::gelu_tanh(x, y, slope),
        }
    }

    /// `dy` becomes `dx = dy · slope`.
    pub fn backward<S: Scalar>(self, slope: &[S], dy: &mut [S]) {
        S::hadamard(slope, dy);
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{gradients, random, weighted};
    use super::*;

    #[test]
    fn gradient() {
        for form in [Gelu::Erf, Gelu::Tanh] {
            let x: Vec<f64> = random(40, 1).iter().map(|x| 2.0 * x).collect();
            let (c, mut y, mut slope) = (random(40, 2), vec![0.0; 40], vec![0.0; 40]);
            form.forward(&x, &mut y, &mut slope);
            let mut dx = c.clone();
            form.backward(&slope, &mut dx);
            gradients(&[x], &[dx], |p| {
                let (mut y, mut slope) = (vec![0.0; 40], vec![0.0; 40]);
                form.forward(&p[0], &mut y, &mut slope);
                weighted(&y, &c)
            });
        }
    }
}
