//! Loops of the decompositions, to be inlined into [`vectorised!`](super::super::kernels) bodies.
//!
//! Sums run over as many lanes on every processor, so the bits do not depend on the width of its vectors.

/// Numbers that are handled at once: one vector of AVX-512, two of AVX2.
pub const LANES: usize = 8;

/// Σ of the lanes, in pairs.
#[inline(always)]
pub fn fold(x: [f64; LANES]) -> f64 {
    let four = [x[0] + x[4], x[1] + x[5], x[2] + x[6], x[3] + x[7]];
    (four[0] + four[2]) + (four[1] + four[3])
}

/// Σ xᵢ yᵢ
#[inline(always)]
pub fn dot(x: &[f64], y: &[f64]) -> f64 {
    let y = &y[..x.len()];
    let ((xs, x_rest), (ys, y_rest)) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
    let ((x_pairs, x_last), (y_pairs, y_last)) = (xs.as_chunks::<2>(), ys.as_chunks::<2>());
    let mut sums = [[0.0; LANES]; 2];
    for (x, y) in x_pairs.iter().zip(y_pairs) {
        for half in 0..2 {
            for i in 0..LANES {
                sums[half][i] = x[half][i].mul_add(y[half][i], sums[half][i]);
            }
        }
    }
    for (x, y) in x_last.iter().zip(y_last) {
        for i in 0..LANES {
            sums[0][i] = x[i].mul_add(y[i], sums[0][i]);
        }
    }
    let [mut sum, other] = sums;
    sum.iter_mut().zip(other).for_each(|(sum, other)| *sum += other);
    x_rest.iter().zip(y_rest).fold(fold(sum), |sum, (x, y)| x.mul_add(*y, sum))
}

/// y ← y + a x
#[inline(always)]
pub fn axpy(a: f64, x: &[f64], y: &mut [f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y = a.mul_add(*x, *y);
    }
}

/// What is below this share of a matrix whose largest entry is about 1 is nothing.
const NOTHING: f64 = 1e-280;

/// A reflection I − τ u uᵀ that turns x into β at its pivot and 0 elsewhere: u replaces x, with 1 at the pivot.
///
/// Gives τ and β. Where there is nothing to turn, u and τ are 0.
#[inline(always)]
pub fn reflect(x: &mut [f64], pivot: usize) -> (f64, f64) {
    let head = std::mem::take(&mut x[pivot]);
    let rest = dot(x, x);
    if rest <= NOTHING {
        x.fill(0.0);
        return (0.0, head);
    }
    let beta = -head.mul_add(head, rest).sqrt().copysign(head);
    let factor = 1.0 / (head - beta);
    x.iter_mut().for_each(|x| *x *= factor);
    x[pivot] = 1.0;
    ((beta - head) / beta, beta)
}
