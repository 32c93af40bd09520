//! Square matrices laid out for vectors: rows start at a cache line and are padded with zeros.

use super::super::matmul::{Mat, MatMut};
use super::lanes::LANES;

/// Rows that go through memory together.
pub const GROUP: usize = 4;
/// Bytes of a cache line, and of the widest vector.
const LINE: usize = 64;

/// A square matrix with padded rows, some of zeros behind the last.
pub struct Padded {
    data: Vec<f64>,
    start: usize,
    /// Rows and columns.
    pub size: usize,
    /// Numbers from one row to the next.
    pub stride: usize,
}

impl Padded {
    /// A matrix of zeros.
    pub fn zeros(size: usize) -> Self {
        let whole = size.next_multiple_of(LANES);
        // Rows that are a multiple of many lines apart share few places of the cache.
        let stride = if whole.is_multiple_of(64) { whole + LANES } else { whole };
        let data = vec![0.0f64; whole * stride + LANES];
        // A pure gain in speed: vectors that cross a line cost twice.
        let start = data.as_ptr().align_offset(LINE).min(LANES);
        Padded { data, start, size, stride }
    }

    /// All numbers, row by row.
    pub fn numbers(&mut self) -> &mut [f64] {
        &mut self.data[self.start..]
    }

    /// Row i without its padding.
    pub fn row(&self, i: usize) -> &[f64] {
        &self.data[self.start + i * self.stride..][..self.size]
    }

    /// Row i without its padding, to be written.
    pub fn row_mut(&mut self, i: usize) -> &mut [f64] {
        &mut self.data[self.start + i * self.stride..][..self.size]
    }

    /// The matrix without padding.
    pub fn view(&self) -> Mat<'_, f64> {
        Mat::strided(&self.data[self.start..], (self.size, self.size), (self.stride, 1))
    }

    /// The matrix without padding, to be written.
    pub fn view_mut(&mut self) -> MatMut<'_, f64> {
        MatMut::strided(&mut self.data[self.start..], (self.size, self.size), (self.stride, 1))
    }
}

/// The first blocks of [`GROUP`] rows, from the first number on.
#[inline(always)]
pub fn group(numbers: &mut [f64], stride: usize, blocks: usize) -> [&mut [[f64; LANES]]; GROUP] {
    let (first, rest) = numbers.split_at_mut(stride);
    let (second, rest) = rest.split_at_mut(stride);
    let (third, fourth) = rest.split_at_mut(stride);
    [first, second, third, fourth].map(|row| &mut row.as_chunks_mut::<LANES>().0[..blocks])
}
