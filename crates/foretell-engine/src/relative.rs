//! Two-dimensional relative positions inside an attention, for keys and for values.
//!
//! ```text
//! R[a, b] = V[dv(a, b)] + H[dh(a, b)]        dv = clamp(row_b − row_a, ±m) + m + 1, dh alike for columns
//! S[a, b] += scale · ⟨q_a, Rᵏ[a, b]⟩          O[a] += Σ_b P[a, b] Rᵛ[a, b]
//! ```
//!
//! Index 0 serves every pair with the class token. R is never formed: q is projected onto the small tables and spread
//! over the keys of a row; probabilities are collected per table entry and then multiplied with the tables.

use super::buffer::Workspace;
use super::matmul::{Mat, MatMut, product};
use super::scalar::Scalar;

/// Tokens on a grid, row by row, after an optional class token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Rows of the grid.
    pub rows: usize,
    /// Columns of the grid.
    pub cols: usize,
    /// Whether token 0 is a class token outside the grid.
    pub class: bool,
    /// m, the distance beyond which pairs are alike.
    pub max: usize,
}

impl Grid {
    /// Number of tokens.
    pub fn tokens(&self) -> usize {
        self.rows * self.cols + self.class as usize
    }

    /// Entries of one table: 2 m + 2.
    pub fn table_len(&self) -> usize {
        2 * self.max + 2
    }

    fn index(&self, from: usize, to: usize) -> usize {
        (to + self.max + 1).saturating_sub(from).clamp(1, 2 * self.max + 1)
    }

    /// Row and column of a token, none for the class token.
    fn place(&self, token: usize) -> Option<(usize, usize)> {
        let n = token.checked_sub(self.class as usize)?;
        Some((n / self.cols, n % self.cols))
    }

    /// `row[b] += v[dv(a, b)] + h[dh(a, b)]`; `line` holds one number per grid column.
    fn spread<S: Scalar>(&self, a: usize, lines: &[S], row: &mut [S], line: &mut [S]) {
        let (v, h) = lines.split_at(self.table_len());
        let apart = v[0] + h[0];
        let Some((y, x)) = self.place(a) else { return row.iter_mut().for_each(|r| *r += apart) };
        let (class, pixels) = row.split_at_mut(self.class as usize);
        class.iter_mut().for_each(|r| *r += apart);
        line.iter_mut().enumerate().for_each(|(i, l)| *l = h[self.index(x, i)]);
        for (j, pixels) in pixels.chunks_exact_mut(self.cols).enumerate() {
            let base = v[self.index(y, j)];
            for (r, &l) in pixels.iter_mut().zip(&*line) {
                *r += base + l;
            }
        }
    }

    /// `v[dv(a, b)] += row[b]`, `h[dh(a, b)] += row[b]`; `line` holds one number per grid column.
    fn collect<S: Scalar>(&self, a: usize, row: &[S], lines: &mut [S], line: &mut [S]) {
        let (v, h) = lines.split_at_mut(self.table_len());
        let (class, pixels) =
            row.split_at(if self.place(a).is_some() { self.class as usize } else { row.len() });
        let apart = S::sum(class);
        v[0] += apart;
        h[0] += apart;
        let Some((y, x)) = self.place(a) else { return };
        line.fill(S::ZERO);
        for (j, pixels) in pixels.chunks_exact(self.cols).enumerate() {
            line.iter_mut().zip(pixels).for_each(|(l, &r)| *l += r);
            v[self.index(y, j)] += pixels.iter().fold(S::ZERO, |s, &r| s + r);
        }
        line.iter().enumerate().for_each(|(i, &l)| h[self.index(x, i)] += l);
    }
}

/// A vertical and a horizontal table.
pub type Pair<T> = (T, T);

/// Tables (vertical, horizontal), each of table_len x head_dim and shared by all heads.
#[derive(Clone, Copy, Debug)]
pub struct Relative<'a, S> {
    /// Positions of the tokens.
    pub grid: Grid,
    /// Vᵏ and Hᵏ.
    pub keys: Option<Pair<Mat<'a, S>>>,
    /// Vᵛ and Hᵛ.
    pub values: Option<Pair<Mat<'a, S>>>,
}

/// Gradients of the tables of a [`Relative`], added to.
#[derive(Debug)]
pub struct RelativeGradient<'a, S> {
    /// dVᵏ and dHᵏ.
    pub keys: Option<Pair<MatMut<'a, S>>>,
    /// dVᵛ and dHᵛ.
    pub values: Option<Pair<MatMut<'a, S>>>,
}

impl<S: Scalar> Relative<'_, S> {
    /// `row_a[b] += factor ⟨x_a, R[a, b]⟩` for all a.
    fn spread(
        &self,
        tables: Pair<Mat<'_, S>>,
        x: Mat<'_, S>,
        factor: f64,
        to: &mut [S],
        space: &mut Workspace<S>,
    ) {
        let (t, n) = (self.grid.tokens(), self.grid.table_len());
        assert_eq!((x.rows(), to.len()), (t, t * t), "relative positions: tokens of the grid");
        let (mut lines, mut line) = (space.take(t * 2 * n), space.take(self.grid.cols));
        for (i, table) in [tables.0, tables.1].into_iter().enumerate() {
            product(factor, x, table.t(), 0.0, MatMut::new(&mut lines, t, 2 * n).columns(i * n, n));
        }
        for (a, (row, lines)) in to.chunks_exact_mut(t).zip(lines.chunks_exact(2 * n)).enumerate() {
            self.grid.spread(a, lines, row, &mut line);
        }
        space.give_all([lines, line]);
    }

    /// `y_a += Σ_b row_a[b] R[a, b]`, and with `x` the tables' share: `dR[a, b] += row_a[b] x_a`.
    fn collect(
        &self,
        rows: &[S],
        output: Option<(Pair<Mat<'_, S>>, MatMut<'_, S>)>,
        gradient: Option<(Mat<'_, S>, &mut Pair<MatMut<'_, S>>)>,
        space: &mut Workspace<S>,
    ) {
        let (t, n) = (self.grid.tokens(), self.grid.table_len());
        assert_eq!(rows.len(), t * t, "relative positions: tokens of the grid");
        let (mut lines, mut line) = (space.zeros(t * 2 * n), space.take(self.grid.cols));
        for (a, (row, lines)) in rows.chunks_exact(t).zip(lines.chunks_exact_mut(2 * n)).enumerate() {
            self.grid.collect(a, row, lines, &mut line);
        }
        let lines_view = Mat::new(&lines, t, 2 * n);
        if let Some((tables, mut y)) = output {
            product(1.0, lines_view.columns(0, n), tables.0, 1.0, y.rb());
            product(1.0, lines_view.columns(n, n), tables.1, 1.0, y);
        }
        if let Some((x, (vertical, horizontal))) = gradient {
            product(1.0, lines_view.columns(0, n).t(), x, 1.0, vertical.rb());
            product(1.0, lines_view.columns(n, n).t(), x, 1.0, horizontal.rb());
        }
        space.give_all([lines, line]);
    }

    pub(super) fn add_scores(&self, q: Mat<'_, S>, scale: f64, scores: &mut [S], space: &mut Workspace<S>) {
        if let Some(tables) = self.keys {
            self.spread(tables, q, scale, scores, space);
        }
    }

    pub(super) fn add_output(&self, probs: &[S], out: MatMut<'_, S>, space: &mut Workspace<S>) {
        if let Some(tables) = self.values {
            self.collect(probs, Some((tables, out)), None, space);
        }
    }

    pub(super) fn add_output_backward(
        &self,
        probs: &[S],
        dout: Mat<'_, S>,
        dprobs: &mut [S],
        gradient: Option<&mut RelativeGradient<'_, S>>,
        space: &mut Workspace<S>,
    ) {
        let Some(tables) = self.values else { return };
        self.spread(tables, dout, 1.0, dprobs, space);
        if let Some(tables) = gradient.and_then(|g| g.values.as_mut()) {
            self.collect(probs, None, Some((dout, tables)), space);
        }
    }

    pub(super) fn add_scores_backward(
        &self,
        q: Mat<'_, S>,
        dscores: &[S],
        dq: MatMut<'_, S>,
        gradient: Option<&mut RelativeGradient<'_, S>>,
        space: &mut Workspace<S>,
    ) {
        let Some(tables) = self.keys else { return };
        let share = gradient.and_then(|g| g.keys.as_mut()).map(|tables| (q, tables));
        self.collect(dscores, Some((tables, dq)), share, space);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 x 2 grid behind a class token, m = 1: neighbours use entries 1 and 3, the token itself 2, the class token 0.
    #[test]
    fn indices() {
        let grid = Grid { rows: 1, cols: 2, class: true, max: 1 };
        let lines = [100.0, 0.0, 200.0, 0.0, 1.0, 2.0, 3.0, 4.0];
        let row = |a| {
            let mut row = [0.0; 3];
            grid.spread(a, &lines, &mut row, &mut [0.0; 2]);
            row
        };
        assert_eq!(row(0), [101.0, 101.0, 101.0]);
        assert_eq!(row(1), [101.0, 203.0, 204.0]);
        assert_eq!(row(2), [101.0, 202.0, 203.0]);
    }
}
