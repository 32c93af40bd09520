//! [`Scalar`] for `f32` and `f64`.

use super::dual::Dual;
use super::fourier::{Plans, Transform};
use super::kernels::{double, single};
use super::matmul::{Mat, MatMut};
use super::scalar::{Dispatch, Scalar, Store};
use std::cell::RefCell;

/// Up to so many rows a product is computed into columns: `gemm` packs its left factor, and for rows that is the large one.
const FEW_ROWS: usize = 40;
/// The size from which a weight is worth it.
const LARGE_WEIGHT: usize = 1 << 14;

macro_rules! real {
    ($t:ident, $dual:ident, $kernels:ident, $erf:path) => {
        impl Scalar for $t {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;

            fn dispatch<D: Dispatch>(arguments: D::Arguments<$t>) -> D::Output {
                D::$t(arguments)
            }
            fn dispatch_dual<D: Dispatch>(arguments: D::Arguments<Dual<$t>>) -> D::Output {
                D::$dual(arguments)
            }

            fn from_f64(x: f64) -> Self {
                x as $t
            }
            fn to_f64(self) -> f64 {
                self.into()
            }
            fn exp(self) -> Self {
                self.exp()
            }
            fn ln(self) -> Self {
                self.ln()
            }
            fn tanh(self) -> Self {
                self.tanh()
            }
            fn erf(self) -> Self {
                $erf(self)
            }
            fn sqrt(self) -> Self {
                self.sqrt()
            }
            fn abs(self) -> Self {
                self.abs()
            }

            fn transform(kind: Transform, shape: (usize, usize), x: &mut [Self]) {
                thread_local! {
                    static PLANS: RefCell<Plans<$t>> = RefCell::new(Plans::new());
                }
                PLANS.with_borrow_mut(|plans| plans.transform(kind, shape, x));
            }

            fn product(alpha: f64, a: Mat<'_, Self>, b: Mat<'_, Self>, beta: f64, mut c: MatMut<'_, Self>) {
                let (m, n) = (c.rows(), c.cols());
                if m > FEW_ROWS || m == 1 || c.col_stride() != 1 || n * a.cols() < LARGE_WEIGHT {
                    return multiply(alpha, a, b, beta, c);
                }
                thread_local! {
                    static TURNED: RefCell<Vec<$t>> = const { RefCell::new(Vec::new()) };
                }
                TURNED.with_borrow_mut(|turned| {
                    turned.resize(m * n, 0.0);
                    multiply(alpha, a, b, 0.0, MatMut::strided(turned, (m, n), (1, m)));
                    for i in 0..m {
                        let from = turned[i..].iter().step_by(m);
                        match beta {
                            0.0 => c.row_mut(i).iter_mut().zip(from).for_each(|(y, x)| *y = *x),
                            _ => {
                                c.row_mut(i).iter_mut().zip(from).for_each(|(y, x)| *y = beta as $t * *y + *x)
                            }
                        }
                    }
                });

                fn multiply(alpha: f64, a: Mat<'_, $t>, b: Mat<'_, $t>, beta: f64, mut c: MatMut<'_, $t>) {
                    let (m, n, k) = (c.rows(), c.cols(), a.cols());
                    assert!(
                        a.rows() == m && b.cols() == n && b.rows() == k,
                        "product: shapes were not compared"
                    );
                    if k == 0 {
                        return c.scale(beta);
                    }
                    let (ars, acs) = (a.row_stride() as isize, a.col_stride() as isize);
                    let (brs, bcs) = (b.row_stride() as isize, b.col_stride() as isize);
                    let (crs, ccs) = (c.row_stride() as isize, c.col_stride() as isize);
                    // SAFETY: a view owns a slice that its constructor checked to reach its last element, so every
                    // offset i·row_stride + j·col_stride with i < rows, j < cols stays inside; the shapes agree (assert
                    // above); `c` is exclusive, hence disjoint from `a` and `b`.
                    unsafe {
                        gemm::gemm(
                            m,
                            n,
                            k,
                            c.data_mut().as_mut_ptr(),
                            ccs,
                            crs,
                            beta != 0.0,
                            a.data().as_ptr(),
                            acs,
                            ars,
                            b.data().as_ptr(),
                            bcs,
                            brs,
                            beta as $t,
                            alpha as $t,
                            false,
                            false,
                            false,
                            gemm::Parallelism::None,
                        );
                    }
                }
            }

            fn sum(x: &[Self]) -> Self {
                $kernels::sum(x)
            }
            fn dot(x: &[Self], y: &[Self]) -> Self {
                $kernels::dot(x, y)
            }
            fn sum_of_squares(x: &[Self]) -> Self {
                $kernels::sum_of_squares(x)
            }
            fn axpy(a: Self, x: &[Self], y: &mut [Self]) {
                $kernels::axpy(a, x, y)
            }
            fn accumulate(x: &[Self], y: &mut [Self]) {
                $kernels::axpy(1.0, x, y)
            }
            fn hadamard(x: &[Self], y: &mut [Self]) {
                $kernels::hadamard(x, y)
            }
            fn scale(a: Self, y: &mut [Self]) {
                $kernels::scale(a, y)
            }
            fn tanh_all(x: &[Self], y: &mut [Self]) {
                $kernels::tanh_all(x, y)
            }
            fn sigmoid_all(x: &[Self], y: &mut [Self]) {
                $kernels::sigmoid_all(x, y)
            }
            fn gelu_erf(x: &[Self], y: &mut [Self], slope: &mut [Self]) {
                $kernels::gelu_erf(x, y, slope)
            }
            fn gelu_tanh(x: &[Self], y: &mut [Self], slope: &mut [Self]) {
                $kernels::gelu_tanh(x, y, slope)
            }
            fn largest(x: &[Self]) -> f64 {
                $kernels::largest(x).into()
            }
            fn log_sum_exp(x: &[Self]) -> Self {
                $kernels::log_sum_exp(x)
            }
            fn softmax(row: &mut [Self]) {
                $kernels::softmax(row)
            }
            fn softmax_backward(p: &[Self], dp: &mut [Self], a: Self) {
                $kernels::softmax_backward(p, dp, a)
            }
            fn norm(x: &[Self], gain: &[Self], bias: &[Self], eps: f64, y: &mut [Self]) -> (Self, Self) {
                $kernels::norm(x, gain, bias, eps as $t, y)
            }
            fn norm_backward(
                x: &[Self],
                stats: (Self, Self),
                gain: &[Self],
                dy: &[Self],
                parameters: Option<(&mut [Self], &mut [Self])>,
                input: Option<(&mut [Self], Store)>,
            ) {
                if let Some((dgain, dbias)) = parameters {
                    $kernels::norm_parameters(x, stats, dy, dgain, dbias);
                }
                if let Some((dx, store)) = input {
                    $kernels::norm_input(x, stats, gain, dy, store == Store::Add, dx);
                }
            }
        }
    };
}

real!(f32, dual_f32, single, libm::erff);
real!(f64, dual_f64, double, libm::erf);
