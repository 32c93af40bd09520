//! The numbers a layer may compute with.
//!
//! [`Scalar`] asks for arithmetic, a few functions, one matrix product and the row kernels in which a network spends
//! the rest of its time. The kernels have plain bodies here; `f32` and `f64` replace them by vectorised ones,
//! [`Dual`] uses them as they stand.

use super::blank::Blank;
use super::dual::Dual;
use super::fourier::Transform;
use super::matmul::{Mat, MatMut};
use std::fmt::Debug;
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

/// Whether a result replaces what its destination holds or is added to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// `y = result`
    Write,
    /// `y += result`
    Add,
}

impl Store {
    /// The factor of the old content: 0 for [`Store::Write`], 1 for [`Store::Add`].
    pub fn beta(self) -> f64 {
        if self == Store::Add { 1.0 } else { 0.0 }
    }

    /// Stores one number.
    #[inline(always)]
    pub fn put<S: Scalar>(self, y: &mut S, result: S) {
        *y = if self == Store::Add { *y + result } else { result };
    }
}

/// Work that was compiled once for every concrete scalar, so that generic code elsewhere calls it and does not compile it
/// again. [`Scalar::dispatch`] picks the entry.
pub trait Dispatch {
    /// What the work is handed.
    type Arguments<S: Scalar>;
    /// What it gives.
    type Output;
    /// Single precision.
    fn f32(arguments: Self::Arguments<f32>) -> Self::Output;
    /// Double precision.
    fn f64(arguments: Self::Arguments<f64>) -> Self::Output;
    /// Single precision with a tangent.
    fn dual_f32(arguments: Self::Arguments<Dual<f32>>) -> Self::Output;
    /// Double precision with a tangent.
    fn dual_f64(arguments: Self::Arguments<Dual<f64>>) -> Self::Output;
    /// Numbers without content.
    fn blank(arguments: Self::Arguments<Blank>) -> Self::Output;
}

/// A number with the operations the layers need. Comparison looks at the value only, never at a tangent.
pub trait Scalar:
    Copy
    + Default
    + Debug
    + Send
    + Sync
    + PartialOrd
    + 'static
    + Neg<Output = Self>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
{
    /// 0
    const ZERO: Self;
    /// 1
    const ONE: Self;

    /// The nearest number of this type, with no tangent.
    fn from_f64(x: f64) -> Self;
    /// The value part.
    fn to_f64(self) -> f64;
    /// eˣ
    fn exp(self) -> Self;
    /// ln x
    fn ln(self) -> Self;
    /// tanh x
    fn tanh(self) -> Self;
    /// erf x = 2/√π ∫₀ˣ e^(−t²) dt
    fn erf(self) -> Self;
    /// √x
    fn sqrt(self) -> Self;
    /// |x|; its derivative is the sign, 0 at 0.
    fn abs(self) -> Self;
    /// `C = α A B + β C`. Shapes were compared by [`product`](super::matmul::product).
    fn product(alpha: f64, a: Mat<'_, Self>, b: Mat<'_, Self>, beta: f64, c: MatMut<'_, Self>);

    /// A fixed transform of one t x n matrix, in place.
    fn transform(kind: Transform, shape: (usize, usize), x: &mut [Self]);

    /// Calls the entry of this scalar.
    fn dispatch<D: Dispatch>(arguments: D::Arguments<Self>) -> D::Output;

    /// Calls the entry of this scalar with a tangent.
    fn dispatch_dual<D: Dispatch>(arguments: D::Arguments<Dual<Self>>) -> D::Output;

    /// 1 / x
    fn recip(self) -> Self {
        Self::ONE / self
    }

    /// Σ x
    fn sum(x: &[Self]) -> Self {
        x.iter().fold(Self::ZERO, |s, &a| s + a)
    }

    /// Σ x y
    fn dot(x: &[Self], y: &[Self]) -> Self {
        assert_eq!(x.len(), y.len(), "dot");
        x.iter().zip(y).fold(Self::ZERO, |s, (&a, &b)| s + a * b)
    }

    /// Σ x², accumulated in double precision for single-precision input.
    fn sum_of_squares(x: &[Self]) -> Self {
        Self::dot(x, x)
    }

    /// `y += a x`
    fn axpy(a: Self, x: &[Self], y: &mut [Self]) {
        assert_eq!(x.len(), y.len(), "axpy");
        for (y, &x) in y.iter_mut().zip(x) {
            *y += a * x;
        }
    }

    /// `y += x`
    fn accumulate(x: &[Self], y: &mut [Self]) {
        assert_eq!(x.len(), y.len(), "accumulate");
        for (y, &x) in y.iter_mut().zip(x) {
            *y += x;
        }
    }

    /// `y *= x`
    fn hadamard(x: &[Self], y: &mut [Self]) {
        assert_eq!(x.len(), y.len(), "hadamard");
        for (y, &x) in y.iter_mut().zip(x) {
            *y *= x;
        }
    }

    /// `y *= a`
    fn scale(a: Self, y: &mut [Self]) {
        for y in y {
            *y *= a;
        }
    }

    /// `yᵢ = tanh xᵢ`
    fn tanh_all(x: &[Self], y: &mut [Self]) {
        for (y, &x) in y.iter_mut().zip(x) {
            *y = x.tanh();
        }
    }

    /// `yᵢ = 1 / (1 + e^(−xᵢ))`
    fn sigmoid_all(x: &[Self], y: &mut [Self]) {
        for (y, &x) in y.iter_mut().zip(x) {
            *y = (Self::ONE + (-x).exp()).recip();
        }
    }

    /// `yᵢ = x Φ(x)` and `slopeᵢ = Φ(x) + x φ(x)`, Φ and φ of the standard normal distribution.
    fn gelu_erf(x: &[Self], y: &mut [Self], slope: &mut [Self]) {
        let (half, density) = (Self::from_f64(0.5), Self::from_f64(0.398_942_280_401_432_7));
        let narrow = Self::from_f64(std::f64::consts::FRAC_1_SQRT_2);
        for ((y, slope), &x) in y.iter_mut().zip(slope).zip(x) {
            let phi = half * (Self::ONE + (x * narrow).erf());
            *y = x * phi;
            *slope = phi + x * density * (-(half * x * x)).exp();
        }
    }

    /// `yᵢ = x/2 (1 + tanh u)` with `u = √(2/π) (x + 0.044715 x³)`, and its derivative.
    fn gelu_tanh(x: &[Self], y: &mut [Self], slope: &mut [Self]) {
        let (half, cubic) = (Self::from_f64(0.5), Self::from_f64(0.044715));
        let (c, three) = (Self::from_f64(0.797_884_560_802_865_4), Self::from_f64(3.0));
        for ((y, slope), &x) in y.iter_mut().zip(slope).zip(x) {
            let t = (c * (x + cubic * x * x * x)).tanh();
            *y = half * x * (Self::ONE + t);
            let du = c * (Self::ONE + three * cubic * x * x);
            *slope = half * (Self::ONE + t) + half * x * (Self::ONE - t * t) * du;
        }
    }

    /// The largest value, −∞ of nothing.
    fn largest(x: &[Self]) -> f64 {
        x.iter().fold(f64::NEG_INFINITY, |m, x| m.max(x.to_f64()))
    }

    /// ln Σ eˣ, without overflow.
    fn log_sum_exp(x: &[Self]) -> Self {
        let top = Self::from_f64(Self::largest(x));
        x.iter().fold(Self::ZERO, |s, &x| s + (x - top).exp()).ln() + top
    }

    /// Replaces a row by `eˣ / Σ eˣ`.
    fn softmax(row: &mut [Self]) {
        // Without its tangent: the result does not depend on the shift.
        let top = Self::from_f64(Self::largest(row));
        let mut total = Self::ZERO;
        for x in row.iter_mut() {
            *x = (*x - top).exp();
            total += *x;
        }
        Self::scale(total.recip(), row);
    }

    /// Replaces `dp` by the gradient at the softmax input: `ds = a p (dp − Σ p dp)`.
    fn softmax_backward(p: &[Self], dp: &mut [Self], a: Self) {
        let mean = Self::dot(p, dp);
        for (d, &p) in dp.iter_mut().zip(p) {
            *d = a * p * (*d - mean);
        }
    }

    /// `y = g (x − μ) / σ + b`, `σ² = mean (x − μ)² + ε`. Returns `(μ, 1/σ)`.
    fn norm(x: &[Self], gain: &[Self], bias: &[Self], eps: f64, y: &mut [Self]) -> (Self, Self) {
        let n = Self::from_f64(x.len() as f64);
        let mean = Self::sum(x) / n;
        let var = x.iter().fold(Self::ZERO, |s, &x| s + (x - mean) * (x - mean)) / n;
        let rstd = (var + Self::from_f64(eps)).sqrt().recip();
        for (((y, &x), &g), &b) in y.iter_mut().zip(x).zip(gain).zip(bias) {
            *y = (x - mean) * rstd * g + b;
        }
        (mean, rstd)
    }

    /// With `x̂ = (x − μ)/σ` and `h = g dy`: `dg += dy x̂`, `db += dy`, `dx = (h − mean h − x̂ mean h x̂)/σ`.
    fn norm_backward(
        x: &[Self],
        (mean, rstd): (Self, Self),
        gain: &[Self],
        dy: &[Self],
        parameters: Option<(&mut [Self], &mut [Self])>,
        input: Option<(&mut [Self], Store)>,
    ) {
        if let Some((dgain, dbias)) = parameters {
            for (((dg, db), &dy), &x) in dgain.iter_mut().zip(dbias).zip(dy).zip(x) {
                *dg += dy * (x - mean) * rstd;
                *db += dy;
            }
        }
        let Some((dx, store)) = input else { return };
        let n = Self::from_f64(x.len() as f64);
        let (mut h_mean, mut hx_mean) = (Self::ZERO, Self::ZERO);
        for ((&x, &g), &dy) in x.iter().zip(gain).zip(dy) {
            h_mean += g * dy;
            hx_mean += g * dy * (x - mean) * rstd;
        }
        (h_mean, hx_mean) = (h_mean / n, hx_mean / n);
        for (((dx, &x), &g), &dy) in dx.iter_mut().zip(x).zip(gain).zip(dy) {
            store.put(dx, rstd * (g * dy - h_mean - (x - mean) * rstd * hx_mean));
        }
    }
}
