//! Matrix views and their product.
//!
//! A view is a slice, a shape and two strides. Transposing, cutting a block and picking one attention head out of a
//! wide row cost nothing, and the product takes any of them.

use super::scalar::Scalar;

/// A matrix that is read: element (i, j) is `data[i · row_stride + j · col_stride]`.
#[derive(Clone, Copy, Debug)]
pub struct Mat<'a, S> {
    data: &'a [S],
    rows: usize,
    cols: usize,
    row_stride: usize,
    col_stride: usize,
}

/// A matrix that is written.
#[derive(Debug)]
pub struct MatMut<'a, S> {
    data: &'a mut [S],
    rows: usize,
    cols: usize,
    row_stride: usize,
    col_stride: usize,
}

/// One past the largest offset of a view, none if it overflows. The raw product relies on this check.
fn reach((rows, cols): (usize, usize), (row_stride, col_stride): (usize, usize)) -> Option<usize> {
    if rows == 0 || cols == 0 {
        return Some(0);
    }
    let (down, right) = ((rows - 1).checked_mul(row_stride)?, (cols - 1).checked_mul(col_stride)?);
    down.checked_add(right)?.checked_add(1)
}

fn check(len: usize, shape: (usize, usize), strides: (usize, usize)) {
    let inside = reach(shape, strides).is_some_and(|reach| reach <= len);
    assert!(inside, "matrix {shape:?} with strides {strides:?} leaves a slice of {len}");
}

macro_rules! view {
    ($view:ident) => {
        impl<'a, S> $view<'a, S> {
            /// Number of rows.
            pub fn rows(&self) -> usize {
                self.rows
            }
            /// Number of columns.
            pub fn cols(&self) -> usize {
                self.cols
            }
            /// Distance between two elements of a column.
            pub fn row_stride(&self) -> usize {
                self.row_stride
            }
            /// Distance between two elements of a row.
            pub fn col_stride(&self) -> usize {
                self.col_stride
            }
            /// The transpose.
            pub fn t(self) -> Self {
                let Self { data, rows, cols, row_stride, col_stride } = self;
                Self { data, rows: cols, cols: rows, row_stride: col_stride, col_stride: row_stride }
            }
            fn start(&self, (row, rows): (usize, usize), (col, cols): (usize, usize)) -> usize {
                assert!(
                    row + rows <= self.rows && col + cols <= self.cols,
                    "block: rows {row}+{rows}, columns {col}+{cols} of {} x {}",
                    self.rows,
                    self.cols
                );
                if rows == 0 || cols == 0 { 0 } else { row * self.row_stride + col * self.col_stride }
            }
        }
    };
}
view!(Mat);
view!(MatMut);

impl<'a, S> Mat<'a, S> {
    /// Row-major rows without gaps.
    pub fn new(data: &'a [S], rows: usize, cols: usize) -> Self {
        Self::strided(data, (rows, cols), (cols, 1))
    }

    /// Any strides (row, column).
    pub fn strided(data: &'a [S], shape: (usize, usize), strides: (usize, usize)) -> Self {
        check(data.len(), shape, strides);
        Self { data, rows: shape.0, cols: shape.1, row_stride: strides.0, col_stride: strides.1 }
    }

    /// The slice under the view; it starts with element (0, 0).
    pub fn data(&self) -> &'a [S] {
        self.data
    }

    /// Rows `row..row + rows`, columns `col..col + cols`.
    pub fn block(self, (row, rows): (usize, usize), (col, cols): (usize, usize)) -> Self {
        let start = self.start((row, rows), (col, cols));
        Self { data: &self.data[start..], rows, cols, ..self }
    }

    /// Columns `col..col + cols`.
    pub fn columns(self, col: usize, cols: usize) -> Self {
        let rows = self.rows;
        self.block((0, rows), (col, cols))
    }

    /// Row i of a matrix whose rows are contiguous.
    pub fn row(&self, i: usize) -> &'a [S] {
        assert!(self.col_stride == 1 && i < self.rows, "row {i} of {} x {}", self.rows, self.cols);
        &self.data[i * self.row_stride..][..self.cols]
    }
}

impl<S: Copy> Mat<'_, S> {
    /// Element (i, j).
    pub fn at(&self, i: usize, j: usize) -> S {
        self.data[i * self.row_stride + j * self.col_stride]
    }
}

impl<'a, S> MatMut<'a, S> {
    /// Row-major rows without gaps.
    pub fn new(data: &'a mut [S], rows: usize, cols: usize) -> Self {
        Self::strided(data, (rows, cols), (cols, 1))
    }

    /// Any strides (row, column).
    pub fn strided(data: &'a mut [S], shape: (usize, usize), strides: (usize, usize)) -> Self {
        check(data.len(), shape, strides);
        Self { data, rows: shape.0, cols: shape.1, row_stride: strides.0, col_stride: strides.1 }
    }

    /// The slice under the view; it starts with element (0, 0).
    pub fn data_mut(&mut self) -> &mut [S] {
        self.data
    }

    /// A shorter borrow of the same matrix.
    pub fn rb(&mut self) -> MatMut<'_, S> {
        MatMut { data: self.data, ..*self }
    }

    /// The same matrix, to be read.
    pub fn as_ref(&self) -> Mat<'_, S> {
        Mat {
            data: self.data,
            rows: self.rows,
            cols: self.cols,
            row_stride: self.row_stride,
            col_stride: self.col_stride,
        }
    }

    /// Rows `row..row + rows`, columns `col..col + cols`.
    pub fn block(self, (row, rows): (usize, usize), (col, cols): (usize, usize)) -> Self {
        let start = self.start((row, rows), (col, cols));
        Self { data: &mut self.data[start..], rows, cols, ..self }
    }

    /// Columns `col..col + cols`.
    pub fn columns(self, col: usize, cols: usize) -> Self {
        let rows = self.rows;
        self.block((0, rows), (col, cols))
    }

    /// Row i of a matrix whose rows are contiguous.
    pub fn row_mut(&mut self, i: usize) -> &mut [S] {
        assert!(self.col_stride == 1 && i < self.rows, "row {i} of {} x {}", self.rows, self.cols);
        &mut self.data[i * self.row_stride..][..self.cols]
    }

    /// Element (i, j).
    pub fn at_mut(&mut self, i: usize, j: usize) -> &mut S {
        &mut self.data[i * self.row_stride + j * self.col_stride]
    }
}

impl<S: Scalar> MatMut<'_, S> {
    /// Every element times `beta`; 0 clears whatever is there, NaN included.
    pub fn scale(&mut self, beta: f64) {
        if beta == 1.0 {
            return;
        }
        for i in 0..self.rows {
            for j in 0..self.cols {
                let x = self.at_mut(i, j);
                *x = if beta == 0.0 { S::ZERO } else { *x * S::from_f64(beta) };
            }
        }
    }

    /// Adds `row` to every row.
    pub fn add_rows(&mut self, row: &[S]) {
        assert_eq!(row.len(), self.cols, "add_rows");
        for i in 0..self.rows {
            if self.col_stride == 1 {
                S::accumulate(row, self.row_mut(i));
            } else {
                row.iter().enumerate().for_each(|(j, &x)| *self.at_mut(i, j) += x);
            }
        }
    }

    /// Every row becomes `row`.
    pub fn fill_rows(&mut self, row: &[S]) {
        assert_eq!(row.len(), self.cols, "fill_rows");
        for i in 0..self.rows {
            if self.col_stride == 1 {
                self.row_mut(i).copy_from_slice(row);
            } else {
                row.iter().enumerate().for_each(|(j, &x)| *self.at_mut(i, j) = x);
            }
        }
    }
}

/// `C = α A B + β C`, A of m x k, B of k x n.
pub fn product<S: Scalar>(alpha: f64, a: Mat<'_, S>, b: Mat<'_, S>, beta: f64, c: MatMut<'_, S>) {
    let (m, k, n) = (a.rows, a.cols, b.cols);
    assert!(
        b.rows == k && c.rows == m && c.cols == n,
        "product: {m} x {k} times {} x {n} into {} x {}",
        b.rows,
        c.rows,
        c.cols
    );
    if m > 0 && n > 0 {
        S::product(alpha, a, b, beta, c);
    }
}

/// `sums[j] += Σᵢ A[i, j]`
pub fn column_sums<S: Scalar>(a: Mat<'_, S>, sums: &mut [S]) {
    assert_eq!(sums.len(), a.cols, "column_sums");
    for i in 0..a.rows {
        if a.col_stride == 1 {
            S::accumulate(a.row(i), sums);
        } else {
            sums.iter_mut().enumerate().for_each(|(j, s)| *s += a.at(i, j));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every mix of transposes and blocks against the triple loop.
    #[test]
    fn product_of_views() {
        let data: Vec<f64> = (0..400).map(|i| ((i * 37) % 101) as f64 / 10.0 - 5.0).collect();
        let full = Mat::new(&data, 20, 20);
        for (m, k, n) in [(1, 1, 1), (3, 5, 2), (7, 1, 9), (10, 10, 10), (4, 0, 3)] {
            for (ta, tb, tc) in (0..8).map(|i| (i & 1 > 0, i & 2 > 0, i & 4 > 0)) {
                let a = if ta { full.block((2, k), (1, m)).t() } else { full.block((2, m), (1, k)) };
                let b = if tb { full.block((0, n), (5, k)).t() } else { full.block((0, k), (5, n)) };
                let mut out = vec![1.5; 144];
                let view = MatMut::strided(&mut out, (m, n), if tc { (1, 12) } else { (12, 1) });
                product(0.5, a, b, 2.0, view);
                for i in 0..m {
                    for j in 0..n {
                        let sum: f64 = (0..k).map(|l| a.at(i, l) * b.at(l, j)).sum();
                        let got = out[if tc { i + 12 * j } else { 12 * i + j }];
                        assert!((got - (0.5 * sum + 3.0)).abs() < 1e-12);
                    }
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "product: 2 x 3 times 2 x 3 into 2 x 3")]
    fn shapes_must_agree() {
        let (a, mut c) = ([0.0f32; 6], [0.0f32; 6]);
        product(1.0, Mat::new(&a, 2, 3), Mat::new(&a, 2, 3), 0.0, MatMut::new(&mut c, 2, 3));
    }

    #[test]
    #[should_panic(expected = "leaves a slice")]
    fn views_stay_inside() {
        Mat::strided(&[0.0f32; 6], (2, 3), (4, 1));
    }

    /// 2 · (2⁶³) wraps to 0 where overflow goes unnoticed.
    #[test]
    #[should_panic(expected = "leaves a slice")]
    fn strides_do_not_wrap() {
        Mat::strided(&[0.0f32; 6], (3, 1), (1 << 63, 1));
    }
}
