//! A number without content: a pass over it asks for the same memory as any other and computes nothing.
//!
//! Buffers of [`Blank`] take no space, but a [`Workspace`](super::buffer::Workspace) counts their lengths. Running a
//! network over it therefore gives the exact number of values that a real pass holds at its peak, before anything is
//! allocated.

use super::dual::Dual;
use super::fourier::Transform;
use super::matmul::{Mat, MatMut};
use super::scalar::{Dispatch, Scalar, Store};
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

/// Nothing, in the place of a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Blank;

macro_rules! nothing {
    ($($operator:ident::$method:ident),*; $($assign:ident::$in_place:ident),*) => {
        $(impl $operator for Blank {
            type Output = Blank;
            fn $method(self, _: Blank) -> Blank {
                Blank
            }
        })*
        $(impl $assign for Blank {
            fn $in_place(&mut self, _: Blank) {}
        })*
    };
}
nothing!(Add::add, Sub::sub, Mul::mul, Div::div; AddAssign::add_assign, SubAssign::sub_assign, MulAssign::mul_assign);

impl Neg for Blank {
    type Output = Blank;
    fn neg(self) -> Blank {
        Blank
    }
}

impl Scalar for Blank {
    const ZERO: Self = Blank;
    const ONE: Self = Blank;

    fn dispatch<D: Dispatch>(arguments: D::Arguments<Blank>) -> D::Output {
        D::blank(arguments)
    }
    fn dispatch_dual<D: Dispatch>(_: D::Arguments<Dual<Blank>>) -> D::Output {
        unreachable!("memory is counted without tangents")
    }

    fn from_f64(_: f64) -> Self {
        Blank
    }
    fn to_f64(self) -> f64 {
        0.0
    }
    fn exp(self) -> Self {
        Blank
    }
    fn ln(self) -> Self {
        Blank
    }
    fn tanh(self) -> Self {
        Blank
    }
    fn erf(self) -> Self {
        Blank
    }
    fn sqrt(self) -> Self {
        Blank
    }
    fn abs(self) -> Self {
        Blank
    }
    // The kernels in which a pass spends its time do nothing at all, so that asking is quick.
    fn product(_: f64, _: Mat<'_, Self>, _: Mat<'_, Self>, _: f64, _: MatMut<'_, Self>) {}
    fn transform(_: Transform, _: (usize, usize), _: &mut [Self]) {}
    fn gelu_erf(_: &[Self], _: &mut [Self], _: &mut [Self]) {}
    fn gelu_tanh(_: &[Self], _: &mut [Self], _: &mut [Self]) {}
    fn softmax(_: &mut [Self]) {}
    fn softmax_backward(_: &[Self], _: &mut [Self], _: Self) {}
    fn norm(_: &[Self], _: &[Self], _: &[Self], _: f64, _: &mut [Self]) -> (Self, Self) {
        (Blank, Blank)
    }
    fn norm_backward(
        _: &[Self],
        _: (Self, Self),
        _: &[Self],
        _: &[Self],
        _: Option<(&mut [Self], &mut [Self])>,
        _: Option<(&mut [Self], Store)>,
    ) {
    }
}
