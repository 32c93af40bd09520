//! Elementwise activations, with the slope written beside the value.
//!
//! ```text
//! tanh x · 1/(1 + e^(−x)) · max(x, 0) · max(x, 0.01 x) · x/(1 + e^(−x))
//! GELU, erf:  x Φ(x), slope Φ(x) + x φ(x)
//! GELU, tanh: x/2 (1 + tanh u), u = √(2/π) (x + 0.044715 x³)
//! ```
//!
//! The forward pass writes the slope, where it is nearly free; the backward pass is one product.

use super::scalar::Scalar;

/// An elementwise function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// tanh x
    Tanh,
    /// 1/(1 + e^(−x))
    Sigmoid,
    /// max(x, 0), slope 0 at 0
    Relu,
    /// x for x > 0, else 0.01 x
    LeakyRelu,
    /// x/(1 + e^(−x))
    Silu,
    /// GELU, the exact form.
    Gelu,
    /// GELU, the approximation by tanh.
    GeluTanh,
}

impl Activation {
    /// Writes the value and the slope of every `x`.
    pub fn forward<S: Scalar>(self, x: &[S], y: &mut [S], slope: &mut [S]) {
        assert!(x.len() == y.len() && x.len() == slope.len(), "activation: {} into {}", x.len(), y.len());
        match self {
            Activation::Tanh => {
                S::tanh_all(x, y);
                slope.iter_mut().zip(y).for_each(|(s, &mut y)| *s = S::ONE - y * y);
            }
            Activation::Sigmoid => {
                S::sigmoid_all(x, y);
                slope.iter_mut().zip(y).for_each(|(s, &mut y)| *s = y * (S::ONE - y));
            }
            Activation::Gelu => S::gelu_erf(x, y, slope),
            Activation::GeluTanh => S::gelu_tanh(x, y, slope),
            Activation::Relu => pieces(x, y, slope, S::ZERO),
            Activation::LeakyRelu => pieces(x, y, slope, S::from_f64(0.01)),
            Activation::Silu => {
                S::sigmoid_all(x, y);
                for ((y, slope), &x) in y.iter_mut().zip(slope).zip(x) {
                    *slope = *y * (S::ONE + x * (S::ONE - *y));
                    *y *= x;
                }
            }
        }
    }

    /// `dy` becomes `dx = dy · slope`.
    pub fn backward<S: Scalar>(self, slope: &[S], dy: &mut [S]) {
        S::hadamard(slope, dy);
    }
}

fn pieces<S: Scalar>(x: &[S], y: &mut [S], slope: &mut [S], below: S) {
    for ((y, slope), &x) in y.iter_mut().zip(slope).zip(x) {
        *slope = if x > S::ZERO { S::ONE } else { below };
        *y = x * *slope;
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{gradients, random, weighted};
    use super::*;
    use Activation::*;

    #[test]
    fn gradient() {
        for kind in [Tanh, Sigmoid, Relu, LeakyRelu, Silu, Gelu, GeluTanh] {
            let x: Vec<f64> = random(40, 1).iter().map(|x| 2.0 * x).collect();
            let c = random(40, 2);
            let (mut y, mut slope, mut dx) = (vec![0.0; 40], vec![0.0; 40], c.clone());
            kind.forward(&x, &mut y, &mut slope);
            kind.backward(&slope, &mut dx);
            gradients(&[x], &[dx], |p| {
                let (mut y, mut slope) = (vec![0.0; 40], vec![0.0; 40]);
                kind.forward(&p[0], &mut y, &mut slope);
                weighted(&y, &c)
            });
        }
    }
}
