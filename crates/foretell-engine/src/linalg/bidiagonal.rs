//! Singular values, by reflections from both sides to bidiagonal form.
//!
//! ```text
//! (I − τ u uᵀ) A (I − σ v vᵀ) = A − u yᵀ − z vᵀ        y = τ Aᵀ u        z = σ (A v − u (yᵀ v))
//! ```
//!
//! The singular values of a bidiagonal matrix are the eigenvalues, without their signs, of the symmetric tridiagonal matrix
//! with a diagonal of zeros and the entries of both diagonals in turn beside it. As in [`symmetric`](super::symmetric), the
//! last row and column are turned first and updates wait for the next product.

use super::super::kernels::vectorised;
use super::super::matmul::Mat;
use super::lanes::{LANES, axpy, dot, fold, reflect};
use super::padded::{GROUP, Padded, group};
use super::qr::Reflections;
use super::{Unsolved, tridiagonal};

/// The singular values of a matrix that is not taller than wide, largest first.
pub fn singular_values(a: Mat<'_, f64>) -> Result<Vec<f64>, Unsolved> {
    let (n, width) = (a.rows(), a.cols());
    let scale = super::scale_of((0..n).flat_map(|i| a.row(i)))?;
    let mut rows: Vec<f64> = (0..n).flat_map(|i| a.row(i)).map(|x| x * scale).collect();
    if width > n {
        rows = Reflections::of_rows(rows, n, width).into_triangle();
    }
    let mut square = Padded::zeros(n);
    (0..n).for_each(|i| square.row_mut(i).copy_from_slice(&rows[i * n..][..n]));
    let (mut beside, stride) = (vec![0.0; 2 * n], square.stride);
    reduce(square.numbers(), stride, &mut beside);
    let mut values = vec![0.0; 2 * n];
    tridiagonal::eigenvalues(&mut values, &mut beside)?;
    Ok(values[n..].iter().rev().map(|x| x.max(0.0) / scale).collect())
}

vectorised! {
    /// The squares of the bidiagonal form, those of the diagonal and those beside it in turn, and a final 0.
    fn reduce(a: &'a mut [f64], stride: usize, squares: &'a mut [f64]) {
        let [mut u, mut v, mut y, mut z, mut column, mut sums] = [(); 6].map(|()| vec![0.0f64; stride]);
        for k in (0..squares.len() / 2).rev() {
            for (i, x) in column[..=k].iter_mut().enumerate() {
                *x = (-z[i]).mul_add(v[k], (-u[i]).mul_add(y[k], a[i * stride + k]));
            }
            column[k + 1..].fill(0.0);
            let (tau, beta) = reflect(&mut column[..=k], k);
            squares[2 * k] = beta * beta;
            if k == 0 {
                return;
            }
            sums.fill(0.0);
            update_and_add(a, stride, k + 1, [(&u, &y), (&z, &v)], &column, &mut sums);
            sums.iter_mut().for_each(|x| *x *= tau);
            sums[k..].fill(0.0);
            std::mem::swap(&mut u, &mut column);
            std::mem::swap(&mut y, &mut sums);

            let head = u[k];
            v[..k].copy_from_slice(&a[k * stride..][..k]);
            v[k..].fill(0.0);
            axpy(-head, &y, &mut v);
            let (sigma, beta) = reflect(&mut v[..k], k - 1);
            squares[2 * k - 1] = beta * beta;
            multiply(a, stride, k, &v, &mut z);
            axpy(-dot(&y, &v), &u, &mut z);
            z.iter_mut().for_each(|x| *x *= sigma);
            z[k..].fill(0.0);
            u[k] = 0.0;
        }
    }
}

/// A ← A − Σ l rᵀ over the pairs (l, r), y ← y + Aᵀ u, over the first `size` rows and columns.
#[inline(always)]
fn update_and_add(
    a: &mut [f64],
    stride: usize,
    size: usize,
    pairs: [(&[f64], &[f64]); 2],
    u: &[f64],
    y: &mut [f64],
) {
    let blocks = size.div_ceil(LANES);
    let y = &mut y.as_chunks_mut::<LANES>().0[..blocks];
    let right = pairs.map(|(_, right)| &right.as_chunks::<LANES>().0[..blocks]);
    for start in (0..size).step_by(GROUP) {
        let factors: [[f64; 3]; GROUP] =
            std::array::from_fn(|r| [-pairs[0].0[start + r], -pairs[1].0[start + r], u[start + r]]);
        let rows = group(&mut a[start * stride..], stride, blocks);
        for at in 0..blocks {
            let (first, second, mut sum) = (right[0][at], right[1][at], y[at]);
            for r in 0..GROUP {
                let a = &mut rows[r][at];
                for i in 0..LANES {
                    a[i] = factors[r][1].mul_add(second[i], factors[r][0].mul_add(first[i], a[i]));
                    sum[i] = a[i].mul_add(factors[r][2], sum[i]);
                }
            }
            y[at] = sum;
        }
    }
}

/// z ← A v, over the first `size` rows and columns.
#[inline(always)]
fn multiply(a: &mut [f64], stride: usize, size: usize, v: &[f64], z: &mut [f64]) {
    let blocks = size.div_ceil(LANES);
    let v = &v.as_chunks::<LANES>().0[..blocks];
    for start in (0..size).step_by(GROUP) {
        let rows = group(&mut a[start * stride..], stride, blocks);
        let mut sums = [[0.0; LANES]; GROUP];
        for at in 0..blocks {
            for r in 0..GROUP {
                for i in 0..LANES {
                    sums[r][i] = rows[r][at][i].mul_add(v[at][i], sums[r][i]);
                }
            }
        }
        z[start..].iter_mut().zip(sums).for_each(|(z, sum)| *z = fold(sum));
    }
}
