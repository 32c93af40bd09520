//! Eigenvalues of a symmetric matrix, by reflections to tridiagonal form.
//!
//! ```text
//! H = I − τ u uᵀ        H A H = A − u wᵀ − w uᵀ        w = τ A u − ½ τ² (uᵀ A u) u
//! ```
//!
//! The last row of what remains is turned first, so the rest is always the leading block. Each reflection goes through memory
//! once: a number gets the update of the reflection before and then takes part in A u. Only the lower half is kept, in rows
//! that are padded to whole vectors; the blocks of [`LANES`] rows and columns on the diagonal are kept in full.

use super::super::kernels::vectorised;
use super::super::matmul::{Mat, product};
use super::lanes::{LANES, axpy, dot, fold, reflect};
use super::padded::{GROUP, Padded, group};
use super::{Unsolved, tridiagonal};

/// Columns of a Gram matrix per product: of the upper half only what lies in these blocks is computed.
const BAND: usize = 48;
/// The lower half of a symmetric matrix.
pub struct Symmetric(Padded);

impl Symmetric {
    /// The lower half of a square matrix.
    pub fn lower(a: Mat<'_, f64>) -> Self {
        let mut half = Padded::zeros(a.rows());
        (0..half.size).for_each(|i| half.row_mut(i)[..=i].copy_from_slice(&a.row(i)[..=i]));
        Symmetric(half)
    }

    /// A Aᵀ.
    pub fn gram(a: Mat<'_, f64>) -> Self {
        let (n, width) = (a.rows(), a.cols());
        let mut gram = Padded::zeros(n);
        for start in (0..n).step_by(BAND) {
            let count = BAND.min(n - start);
            let into = gram.view_mut().block((start, n - start), (start, count));
            let (left, right) =
                (a.block((start, n - start), (0, width)), a.block((start, count), (0, width)));
            product(1.0, left, right.t(), 0.0, into);
        }
        Symmetric(gram)
    }

    /// The matrix, of which the lower half means something.
    pub fn view(&self) -> Mat<'_, f64> {
        self.0.view()
    }

    /// Its eigenvalues, smallest first.
    pub fn eigenvalues(self) -> Result<Vec<f64>, Unsolved> {
        let Symmetric(mut a) = self;
        let n = a.size;
        let scale = super::scale_of((0..n).flat_map(|i| &a.row(i)[..=i]))?;
        if scale != 1.0 {
            a.numbers().iter_mut().for_each(|x| *x *= scale);
        }
        fill_blocks(&mut a);
        let (mut diagonal, mut squares, stride) = (vec![0.0; n], vec![0.0; n], a.stride);
        reduce(a.numbers(), stride, &mut diagonal, &mut squares);
        tridiagonal::eigenvalues(&mut diagonal, &mut squares)?;
        diagonal.iter_mut().for_each(|x| *x /= scale);
        Ok(diagonal)
    }
}

/// Copies the lower halves of the blocks on the diagonal into their upper halves.
fn fill_blocks(a: &mut Padded) {
    for i in 0..a.size {
        for j in i / LANES * LANES..i {
            a.row_mut(j)[i] = a.row(i)[j];
        }
    }
}

vectorised! {
    /// The diagonal of the tridiagonal form of a matrix and the squares beside it; what follows the last of them is 0.
    fn reduce(a: &'a mut [f64], stride: usize, diagonal: &'a mut [f64], squares: &'a mut [f64]) {
        let [mut u, mut v, mut w, mut y] = [(); 4].map(|()| vec![0.0f64; stride]);
        for k in (0..diagonal.len()).rev() {
            let row = &mut a[k * stride..][..=k];
            axpy(-v[k], &w, row);
            axpy(-w[k], &v, row);
            diagonal[k] = row[k];
            if k == 0 {
                return;
            }
            u[..k].copy_from_slice(&row[..k]);
            u[k..].fill(0.0);
            let (tau, beta) = reflect(&mut u[..k], k - 1);
            squares[k - 1] = beta * beta;
            y.fill(0.0);
            update_and_multiply(a, stride, k, (&v, &w), &u, &mut y);
            y[k..].fill(0.0);
            let half = -0.5 * tau * tau * dot(&y, &u);
            for (y, u) in y.iter_mut().zip(&u) {
                *y = half.mul_add(*u, tau * *y);
            }
            std::mem::swap(&mut u, &mut v);
            std::mem::swap(&mut y, &mut w);
        }
    }
}

/// A ← A − v wᵀ − w vᵀ, y ← y + A u, over the first `size` rows.
#[inline(always)]
fn update_and_multiply(
    a: &mut [f64],
    stride: usize,
    size: usize,
    (v, w): (&[f64], &[f64]),
    u: &[f64],
    y: &mut [f64],
) {
    for start in (0..size).step_by(GROUP) {
        let block = start / LANES;
        let rows = &mut a[start * stride..][..GROUP * stride];
        let factors = std::array::from_fn(|r| [-v[start + r], -w[start + r], u[start + r]]);
        let sums = work_off(rows, stride, block, factors, [v, w, u], y);
        for (y, sum) in y[start..].iter_mut().zip(sums) {
            *y += fold(sum);
        }
    }
}

/// The rows of one group: `block` vectors beside the diagonal block and the one inside. Gives the sums of A u for the rows.
#[inline(always)]
fn work_off(
    rows: &mut [f64],
    stride: usize,
    block: usize,
    factors: [[f64; 3]; GROUP],
    vectors: [&[f64]; 3],
    y: &mut [f64],
) -> [[f64; LANES]; GROUP] {
    let [v, w, u] = vectors.map(|x| &x.as_chunks::<LANES>().0[..=block]);
    let y = &mut y.as_chunks_mut::<LANES>().0[..block];
    let rows = group(rows, stride, block + 1);
    let mut sums = [[0.0; LANES]; GROUP];
    for at in 0..block {
        let (v, w, u) = (v[at], w[at], u[at]);
        let mut below = y[at];
        for r in 0..GROUP {
            let a = &mut rows[r][at];
            for i in 0..LANES {
                a[i] = factors[r][1].mul_add(v[i], factors[r][0].mul_add(w[i], a[i]));
                below[i] = a[i].mul_add(factors[r][2], below[i]);
                sums[r][i] = a[i].mul_add(u[i], sums[r][i]);
            }
        }
        y[at] = below;
    }
    for r in 0..GROUP {
        let a = &mut rows[r][block];
        for i in 0..LANES {
            a[i] = factors[r][1].mul_add(v[block][i], factors[r][0].mul_add(w[block][i], a[i]));
            sums[r][i] = a[i].mul_add(u[block][i], sums[r][i]);
        }
    }
    sums
}
