//! Depthwise convolution over time, zero padded to the same length.
//!
//! ```text
//! y[t, c] = Σ_j w[c, j] x[t + j − ⌊k/2⌋, c]        x of T x C, w of C x k, k odd
//! ```

use super::matmul::{Mat, MatMut};
use super::scalar::{Scalar, Store};

/// Calls `f(t, source row, tap j)` for every tap inside the sequence.
pub(super) fn taps(length: usize, kernel: usize, mut f: impl FnMut(usize, usize, usize)) {
    assert!(kernel % 2 == 1, "convolution over time: even kernel {kernel}");
    for t in 0..length {
        for j in 0..kernel {
            if let Some(source) = (t + j).checked_sub(kernel / 2).filter(|&s| s < length) {
                f(t, source, j);
            }
        }
    }
}

fn check<S: Scalar>(x: Mat<'_, S>, weight: Mat<'_, S>, (rows, cols): (usize, usize)) {
    assert!(
        weight.rows() == x.cols() && (rows, cols) == (x.rows(), x.cols()),
        "conv1d: {} x {} by {} x {} into {rows} x {cols}",
        x.rows(),
        x.cols(),
        weight.rows(),
        weight.cols()
    );
}

/// Writes `y`.
pub fn forward<S: Scalar>(x: Mat<'_, S>, weight: Mat<'_, S>, mut y: MatMut<'_, S>) {
    check(x, weight, (y.rows(), y.cols()));
    y.scale(0.0);
    taps(x.rows(), weight.cols(), |t, source, j| {
        for (c, (y, &x)) in y.row_mut(t).iter_mut().zip(x.row(source)).enumerate() {
            *y += weight.at(c, j) * x;
        }
    });
}

/// Gradients; `None` skips the work, `dweight` is added to.
pub fn backward<S: Scalar>(
    x: Mat<'_, S>,
    weight: Mat<'_, S>,
    dy: Mat<'_, S>,
    mut dx: Option<(MatMut<'_, S>, Store)>,
    mut dweight: Option<MatMut<'_, S>>,
) {
    check(x, weight, (dy.rows(), dy.cols()));
    if let Some((dx, store)) = &mut dx {
        dx.scale(store.beta());
    }
    taps(x.rows(), weight.cols(), |t, source, j| {
        if let Some((dx, _)) = &mut dx {
            for (c, (dx, &dy)) in dx.row_mut(source).iter_mut().zip(dy.row(t)).enumerate() {
                *dx += weight.at(c, j) * dy;
            }
        }
        if let Some(dw) = &mut dweight {
            for (c, (&x, &dy)) in x.row(source).iter().zip(dy.row(t)).enumerate() {
                *dw.at_mut(c, j) += x * dy;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::super::check::{gradients, random, weighted};
    use super::*;

    #[test]
    fn gradient() {
        let (t, c, k) = (6, 3, 5);
        let (parts, cotangent) = ([random(t * c, 1), random(c * k, 2)], random(t * c, 3));
        let (mut dx, mut dw) = (vec![f64::NAN; t * c], vec![0.0; c * k]);
        backward(
            Mat::new(&parts[0], t, c),
            Mat::new(&parts[1], c, k),
            Mat::new(&cotangent, t, c),
            Some((MatMut::new(&mut dx, t, c), Store::Write)),
            Some(MatMut::new(&mut dw, c, k)),
        );
        gradients(&parts, &[dx, dw], |p| {
            let mut y = vec![0.0; t * c];
            forward(Mat::new(&p[0], t, c), Mat::new(&p[1], c, k), MatMut::new(&mut y, t, c));
            weighted(&y, &cotangent)
        });
    }
}
