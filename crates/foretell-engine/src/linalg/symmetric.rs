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
use super::super::matmul::{Mat, MatMut, product};
use super::lanes::{LANES, axpy, dot, fold, reflect};
use super::{Unsolved, tridiagonal};

/// Columns of a Gram matrix per product: of the upper half only what lies in these blocks is computed.
const BAND: usize = 48;
/// Rows that go through memory together.
const GROUP: usize = 4;

/// The lower half of a symmetric matrix.
pub struct Symmetric {
    data: Vec<f64>,
    size: usize,
    stride: usize,
}

impl Symmetric {
    fn zeros(size: usize) -> Self {
        let stride = stride(size);
        Symmetric { data: vec![0.0; size.next_multiple_of(LANES) * stride], size, stride }
    }

    /// The lower half of a square matrix.
    pub fn lower(a: Mat<'_, f64>) -> Self {
        let mut half = Self::zeros(a.rows());
        for (i, row) in half.data.chunks_exact_mut(half.stride).take(half.size).enumerate() {
            row[..=i].copy_from_slice(&a.row(i)[..=i]);
        }
        half
    }

    /// A Aᵀ.
    pub fn gram(a: Mat<'_, f64>) -> Self {
        let mut gram = Self::zeros(a.rows());
        let below = |start: usize| a.block((start, gram.size - start), (0, a.cols()));
        for start in (0..gram.size).step_by(BAND) {
            let shape = (gram.size - start, BAND.min(gram.size - start));
            let into = &mut gram.data[start * (gram.stride + 1)..];
            let right = below(start).block((0, shape.1), (0, a.cols()));
            product(1.0, below(start), right.t(), 0.0, MatMut::strided(into, shape, (gram.stride, 1)));
        }
        gram
    }

    /// The matrix, of which the lower half means something.
    pub fn view(&self) -> Mat<'_, f64> {
        Mat::strided(&self.data, (self.size, self.size), (self.stride, 1))
    }

    /// Its eigenvalues, smallest first.
    pub fn eigenvalues(mut self) -> Result<Vec<f64>, Unsolved> {
        let n = self.size;
        let scale = super::scale_of((0..n).flat_map(|i| &self.data[i * self.stride..][..=i]))?;
        if scale != 1.0 {
            self.data.iter_mut().for_each(|x| *x *= scale);
        }
        self.fill_blocks();
        let (mut diagonal, mut squares) = (vec![0.0; n], vec![0.0; n]);
        reduce(&mut self.data, self.stride, &mut diagonal, &mut squares);
        tridiagonal::eigenvalues(&mut diagonal, &mut squares)?;
        diagonal.iter_mut().for_each(|x| *x /= scale);
        Ok(diagonal)
    }

    /// Copies the lower halves of the blocks on the diagonal into their upper halves.
    fn fill_blocks(&mut self) {
        for i in 0..self.size {
            for j in i / LANES * LANES..i {
                self.data[j * self.stride + i] = self.data[i * self.stride + j];
            }
        }
    }
}

/// Whole vectors; a stride of many vectors would put all rows into the same few places of the cache.
pub fn stride(size: usize) -> usize {
    let stride = size.next_multiple_of(LANES);
    if stride.is_multiple_of(64) { stride + LANES } else { stride }
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
        let sums = group(rows, stride, block, factors, [v, w, u], y);
        for (y, sum) in y[start..].iter_mut().zip(sums) {
            *y += fold(sum);
        }
    }
}

/// The rows of one group: `block` vectors beside the diagonal block and the one inside. Gives the sums of A u for the rows.
#[inline(always)]
fn group(
    rows: &mut [f64],
    stride: usize,
    block: usize,
    factors: [[f64; 3]; GROUP],
    vectors: [&[f64]; 3],
    y: &mut [f64],
) -> [[f64; LANES]; GROUP] {
    let [v, w, u] = vectors.map(|x| &x.as_chunks::<LANES>().0[..=block]);
    let y = &mut y.as_chunks_mut::<LANES>().0[..block];
    let (first, rest) = rows.split_at_mut(stride);
    let (second, rest) = rest.split_at_mut(stride);
    let (third, fourth) = rest.split_at_mut(stride);
    let rows = [first, second, third, fourth].map(|row| &mut row.as_chunks_mut::<LANES>().0[..=block]);
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
