//! Numbers with one tangent: `v + t ε`, `ε² = 0`.
//!
//! ```text
//! (v + t ε)(w + u ε) = v w + (v u + t w) ε        f(v + t ε) = f(v) + f′(v) t ε
//! ```
//!
//! A forward pass over [`Dual`] input gives the Jacobian-vector product in the tangents of the output; forward and
//! backward with tangents on the weights gives the Hessian-vector product in the tangents of the gradients.

use super::fourier::Transform;
use super::matmul::{Mat, MatMut, product};
use super::scalar::{Dispatch, Scalar};
use std::cmp::Ordering;
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

/// A value and its derivative in one direction.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Dual<R> {
    /// v
    pub value: R,
    /// t
    pub tangent: R,
}

impl<R: Scalar> Dual<R> {
    /// `value + tangent ε`
    pub fn new(value: R, tangent: R) -> Self {
        Self { value, tangent }
    }

    /// Pairs two slices of one length.
    pub fn zip(value: &[R], tangent: &[R]) -> Vec<Self> {
        assert_eq!(value.len(), tangent.len(), "Dual::zip");
        value.iter().zip(tangent).map(|(&v, &t)| Self::new(v, t)).collect()
    }

    /// Numbers without tangent.
    pub fn constants(value: &[R]) -> Vec<Self> {
        value.iter().map(|&v| Self::new(v, R::ZERO)).collect()
    }

    /// The tangents alone.
    pub fn tangents(x: &[Self]) -> Vec<R> {
        x.iter().map(|x| x.tangent).collect()
    }

    /// `f(v) + slope t ε`
    fn chain(self, value: R, slope: R) -> Self {
        Self::new(value, slope * self.tangent)
    }
}

/// Compares values, so that control flow ignores tangents.
impl<R: PartialEq> PartialEq for Dual<R> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<R: PartialOrd> PartialOrd for Dual<R> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.value.partial_cmp(&other.value)
    }
}

impl<R: Scalar> Neg for Dual<R> {
    type Output = Self;
    fn neg(self) -> Self {
        Self::new(-self.value, -self.tangent)
    }
}

impl<R: Scalar> Add for Dual<R> {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self::new(self.value + other.value, self.tangent + other.tangent)
    }
}

impl<R: Scalar> Sub for Dual<R> {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self::new(self.value - other.value, self.tangent - other.tangent)
    }
}

impl<R: Scalar> Mul for Dual<R> {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Self::new(self.value * other.value, self.value * other.tangent + self.tangent * other.value)
    }
}

impl<R: Scalar> Div for Dual<R> {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        let quotient = self.value / other.value;
        Self::new(quotient, (self.tangent - quotient * other.tangent) / other.value)
    }
}

impl<R: Scalar> AddAssign for Dual<R> {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl<R: Scalar> SubAssign for Dual<R> {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl<R: Scalar> MulAssign for Dual<R> {
    fn mul_assign(&mut self, other: Self) {
        *self = *self * other;
    }
}

/// A slice of pairs as a slice of twice as many numbers.
fn flat<R>(x: &[Dual<R>]) -> &[R] {
    // SAFETY: `Dual` is `repr(C)` with two fields of type R: same alignment, twice the size, no padding.
    unsafe { std::slice::from_raw_parts(x.as_ptr().cast(), 2 * x.len()) }
}

fn flat_mut<R>(x: &mut [Dual<R>]) -> &mut [R] {
    // SAFETY: as in `flat`; the exclusive borrow of `x` lives as long as the result.
    unsafe { std::slice::from_raw_parts_mut(x.as_mut_ptr().cast(), 2 * x.len()) }
}

/// Values (`part` 0) or tangents (`part` 1) of a matrix, in place: a view with doubled strides.
fn plane<R: Scalar>(a: Mat<'_, Dual<R>>, part: usize) -> Mat<'_, R> {
    let data = flat(a.data());
    let start = part.min(data.len());
    Mat::strided(&data[start..], (a.rows(), a.cols()), (2 * a.row_stride(), 2 * a.col_stride()))
}

fn plane_mut<'a, R: Scalar>(c: &'a mut MatMut<'_, Dual<R>>, part: usize) -> MatMut<'a, R> {
    let (shape, strides) = ((c.rows(), c.cols()), (2 * c.row_stride(), 2 * c.col_stride()));
    let data = flat_mut(c.data_mut());
    let start = part.min(data.len());
    MatMut::strided(&mut data[start..], shape, strides)
}

/// Whether some tangent differs from zero.
fn moves<R: Scalar>(a: Mat<'_, Dual<R>>) -> bool {
    (0..a.rows()).any(|i| (0..a.cols()).any(|j| a.at(i, j).tangent != R::ZERO))
}

impl<R: Scalar> Scalar for Dual<R> {
    const ZERO: Self = Self { value: R::ZERO, tangent: R::ZERO };
    const ONE: Self = Self { value: R::ONE, tangent: R::ZERO };

    fn dispatch<D: Dispatch>(arguments: D::Arguments<Self>) -> D::Output {
        R::dispatch_dual::<D>(arguments)
    }
    fn dispatch_dual<D: Dispatch>(_: D::Arguments<Dual<Self>>) -> D::Output {
        unreachable!("numbers carry one tangent")
    }

    fn from_f64(x: f64) -> Self {
        Self::new(R::from_f64(x), R::ZERO)
    }
    fn to_f64(self) -> f64 {
        self.value.to_f64()
    }
    fn transform(kind: Transform, shape: (usize, usize), x: &mut [Self]) {
        // A linear map treats the tangent as it treats the value.
        let mut values: Vec<R> = x.iter().map(|x| x.value).collect();
        let mut tangents = Self::tangents(x);
        R::transform(kind, shape, &mut values);
        R::transform(kind, shape, &mut tangents);
        x.iter_mut().zip(values.into_iter().zip(tangents)).for_each(|(x, (v, t))| *x = Self::new(v, t));
    }
    fn exp(self) -> Self {
        let e = self.value.exp();
        self.chain(e, e)
    }
    fn ln(self) -> Self {
        self.chain(self.value.ln(), self.value.recip())
    }
    fn tanh(self) -> Self {
        let t = self.value.tanh();
        self.chain(t, R::ONE - t * t)
    }
    fn erf(self) -> Self {
        let slope = R::from_f64(std::f64::consts::FRAC_2_SQRT_PI) * (-(self.value * self.value)).exp();
        self.chain(self.value.erf(), slope)
    }
    fn sqrt(self) -> Self {
        let root = self.value.sqrt();
        self.chain(root, R::from_f64(0.5) / root)
    }
    fn abs(self) -> Self {
        let sign = if self.value > R::ZERO {
            R::ONE
        } else if self.value < R::ZERO {
            -R::ONE
        } else {
            R::ZERO
        };
        self.chain(self.value.abs(), sign)
    }

    /// Three real products, or fewer where a factor has no tangent: `C.v = α A.v B.v`, `C.t = α (A.t B.v + A.v B.t)`.
    fn product(alpha: f64, a: Mat<'_, Self>, b: Mat<'_, Self>, beta: f64, mut c: MatMut<'_, Self>) {
        let (a_moves, b_moves) = (moves(a), moves(b));
        product(alpha, plane(a, 0), plane(b, 0), beta, plane_mut(&mut c, 0));
        let mut beta = beta;
        if a_moves {
            product(alpha, plane(a, 1), plane(b, 0), beta, plane_mut(&mut c, 1));
            beta = 1.0;
        }
        if b_moves {
            product(alpha, plane(a, 0), plane(b, 1), beta, plane_mut(&mut c, 1));
        } else if !a_moves {
            plane_mut(&mut c, 1).scale(beta);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// f(x) = e^x tanh x / √(1 + x²) + erf x ln(2 + x) |x| at 0.7: tangent against central differences.
    #[test]
    fn derivative_of_a_formula() {
        fn f<S: Scalar>(x: S) -> S {
            let one = S::ONE;
            x.exp() * x.tanh() / (one + x * x).sqrt() + x.erf() * (one + one + x).ln() * x.abs()
        }
        let h = 1e-5;
        for x in [0.7, -0.7] {
            let numeric = (f(x + h) - f(x - h)) / (2.0 * h);
            assert!((f(Dual::new(x, 1.0)).tangent - numeric).abs() < 1e-9);
        }
    }

    /// A dual of a dual carries the second derivative: (x³)″ = 6 x.
    #[test]
    fn second_derivative_by_nesting() {
        let x = Dual::new(Dual::new(2.0, 1.0), Dual::new(1.0, 0.0));
        assert_eq!((x * x * x).tangent.tangent, 12.0);
    }

    #[test]
    fn product_rule() {
        let a: Vec<_> = (0..6).map(|i| Dual::new(i as f64, 1.0 - i as f64)).collect();
        let b: Vec<_> = (0..6).map(|i| Dual::new(2.0 - i as f64, 0.5 * i as f64)).collect();
        let mut c = vec![Dual::new(1.0, 2.0); 4];
        product(2.0, Mat::new(&a, 2, 3), Mat::new(&b, 3, 2), 3.0, MatMut::new(&mut c, 2, 2));
        for i in 0..2 {
            for j in 0..2 {
                let sum = (0..3).fold(Dual::ZERO, |s, k| s + a[3 * i + k] * b[2 * k + j]);
                let expected = Dual::from_f64(2.0) * sum + Dual::from_f64(3.0) * Dual::new(1.0, 2.0);
                assert_eq!((c[2 * i + j].value, c[2 * i + j].tangent), (expected.value, expected.tangent));
            }
        }
    }
}
