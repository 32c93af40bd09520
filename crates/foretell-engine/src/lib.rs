//! Layers with explicit backward passes, matrix products and linear algebra, on one core.
//!
//! - [`scalar`]: what a layer may compute with: `f32`, `f64`, and [`dual::Dual`] numbers carrying one tangent.
//! - [`matmul`]: strided matrix views and products; [`buffer`]: reusable memory.
//! - One file per layer: forward, backward, gradient check. Layers borrow their parameters and keep no state.
//! - [`linalg`]: singular values, nuclear norms, eigenvalues, always in `f64`.
//!
//! Every layer is written once over [`scalar::Scalar`]. A pass over `f32` gives values and gradients; the same pass
//! over `Dual` gives Jacobian-vector products (tangent of the output) and Hessian-vector products (tangent of the
//! gradient), exactly.

// The one crate that may; each use says why it is sound.
#![allow(unsafe_code)]

pub mod activation;
pub mod attention;
pub mod batch_norm;
pub mod blank;
pub mod buffer;
pub mod conv1d;
pub mod conv2d;
pub mod cross_entropy;
pub mod dual;
pub mod dynamic_conv;
pub mod embedding;
pub mod fourier;
mod functions;
mod kernels;
pub mod layer_norm;
pub mod linalg;
pub mod linear;
pub mod matmul;
mod real;
pub mod relative;
pub mod rms_norm;
pub mod rotary;
pub mod scalar;
pub mod xl_attention;

#[cfg(test)]
mod check;
