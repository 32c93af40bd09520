//! Softmax attention of several heads, one sample.
//!
//! ```text
//! S = scale · Q Kᵀ (+ relative positions, + mask)        P = softmax S        O = P V
//! dP = dO Vᵀ     dV = Pᵀ dO     dS = scale · P (dP − Σ P dP)     dQ = dS K     dK = dSᵀ Q
//! ```
//!
//! Dropout multiplies P by given factors M on its way to V: `O = (M P) V`, `dP = M dO Vᵀ`, `dV = (M P)ᵀ dO`.
//!
//! Heads are columns of q, k and v, read in place. With fewer key heads than query heads, neighbouring query heads
//! share one (grouped queries). Under a causal mask the rows are worked off in blocks that stop at the diagonal.

use super::buffer::Workspace;
use super::matmul::{Mat, MatMut, product};
use super::relative::{Relative, RelativeGradient};
use super::scalar::{Scalar, Store};

/// Which keys a query sees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mask {
    /// All.
    None,
    /// Those at or before it; the score of any other is replaced by `value` (GPT-2: −10⁴).
    Causal {
        /// The score that replaces a masked one.
        value: f64,
    },
}

impl Mask {
    /// How many keys query i of `queries` sees.
    fn visible(self, i: usize, queries: usize, keys: usize) -> usize {
        if self == Mask::None { keys } else { i + 1 + keys - queries }
    }

    /// Softmax of one row of scores of which the first `visible` are set. Masked entries that vanish are never computed.
    pub(super) fn softmax<S: Scalar>(self, row: &mut [S], visible: usize) {
        let Mask::Causal { value } = self else { return S::softmax(row) };
        let (seen, hidden) = row.split_at_mut(visible);
        if value - S::largest(seen) < UNDERFLOW {
            S::softmax(seen);
            hidden.fill(S::ZERO);
        } else {
            hidden.fill(S::from_f64(value));
            S::softmax(row);
        }
    }

    /// Gradient at the scores of one row, in place of that at the probabilities; a masked score is a constant.
    pub(super) fn softmax_backward<S: Scalar>(self, p: &[S], dp: &mut [S], visible: usize, scale: f64) {
        S::softmax_backward(p, dp, S::from_f64(scale));
        dp[visible.min(p.len())..].fill(S::ZERO);
    }

    /// Blocks of query rows `(first, count, keys)`, last first; beyond `keys` every probability is zero.
    pub(super) fn blocks(self, queries: usize, keys: usize) -> impl Iterator<Item = (usize, usize, usize)> {
        let size = if self == Mask::None { queries.max(1) } else { BLOCK };
        (0..queries.div_ceil(size)).rev().map(move |b| {
            let (first, end) = (b * size, ((b + 1) * size).min(queries));
            (first, end - first, self.visible(end - 1, queries, keys))
        })
    }
}

/// e to this power is zero in every number type.
const UNDERFLOW: f64 = -750.0;
/// Rows of a causal block.
const BLOCK: usize = 64;

/// Shape and scale of an attention.
#[derive(Clone, Copy, Debug)]
pub struct Attention {
    /// Query heads.
    pub heads: usize,
    /// Key and value heads, a divisor of `heads`.
    pub kv_heads: usize,
    /// Columns of one head.
    pub head_dim: usize,
    /// Factor of the scores, usually 1/√head_dim.
    pub scale: f64,
    /// Which keys are seen.
    pub mask: Mask,
    /// The share of probabilities to be dropped in training; the trainer draws the factors.
    pub dropout: f64,
}

/// Queries of T x (heads · head_dim), keys and values of T′ x (kv_heads · head_dim).
#[derive(Clone, Copy, Debug)]
pub struct Qkv<'a, S> {
    /// Q
    pub q: Mat<'a, S>,
    /// K
    pub k: Mat<'a, S>,
    /// V
    pub v: Mat<'a, S>,
}

/// The probabilities of a forward pass, heads x T x T′, and what dropout multiplied them by, if it did.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a, S> {
    /// P
    pub probs: &'a [S],
    /// M
    pub dropout: Option<&'a [S]>,
}

/// Where the gradients of [`Qkv`] are written.
#[derive(Debug)]
pub enum QkvGradient<'a, S> {
    /// Three matrices.
    Apart {
        /// dQ
        q: MatMut<'a, S>,
        /// dK
        k: MatMut<'a, S>,
        /// dV
        v: MatMut<'a, S>,
    },
    /// dQ, dK and dV side by side in the columns of one matrix, as the gradient of a joint projection.
    Joint(MatMut<'a, S>),
}

impl<S> QkvGradient<'_, S> {
    pub(super) fn q(&mut self, width: usize) -> MatMut<'_, S> {
        match self {
            Self::Apart { q, .. } => q.rb(),
            Self::Joint(all) => all.rb().columns(0, width),
        }
    }

    pub(super) fn k(&mut self, width: usize) -> MatMut<'_, S> {
        match self {
            Self::Apart { k, .. } => k.rb(),
            Self::Joint(all) => {
                let end = all.cols();
                all.rb().columns(end - 2 * width, width)
            }
        }
    }

    pub(super) fn v(&mut self, width: usize) -> MatMut<'_, S> {
        match self {
            Self::Apart { v, .. } => v.rb(),
            Self::Joint(all) => {
                let end = all.cols();
                all.rb().columns(end - width, width)
            }
        }
    }
}

impl Attention {
    /// As many key heads as query heads, scale 1/√head_dim, no dropout.
    pub fn new(heads: usize, head_dim: usize, mask: Mask) -> Self {
        let scale = (head_dim as f64).sqrt().recip();
        Self { heads, kv_heads: heads, head_dim, scale, mask, dropout: 0.0 }
    }

    fn check<S: Scalar>(&self, x: Qkv<'_, S>, probs: usize, out: (usize, usize)) -> (usize, usize) {
        let (t, s, d) = (x.q.rows(), x.k.rows(), self.head_dim);
        let shapes = [(x.q, t, self.heads), (x.k, s, self.kv_heads), (x.v, s, self.kv_heads)];
        for (m, rows, heads) in shapes {
            assert!(m.rows() == rows && m.cols() == heads * d, "attention: {} x {}", m.rows(), m.cols());
        }
        assert!(
            self.heads.is_multiple_of(self.kv_heads),
            "attention: {} over {} heads",
            self.heads,
            self.kv_heads
        );
        assert!(out == (t, self.heads * d) && probs == self.heads * t * s, "attention: output {out:?}");
        assert!(self.mask == Mask::None || t <= s, "attention: {t} causal queries of {s} keys");
        (t, s)
    }

    /// Column where head h begins in q, and in k and v.
    fn columns(&self, h: usize) -> (usize, usize) {
        (h * self.head_dim, h * self.kv_heads / self.heads * self.head_dim)
    }

    /// Writes the output and the probabilities (heads x T x T′), which dropout leaves as they are.
    pub fn forward<S: Scalar>(
        &self,
        x: Qkv<'_, S>,
        relative: Option<&Relative<'_, S>>,
        (probs, dropout): (&mut [S], Option<&[S]>),
        mut out: MatMut<'_, S>,
        space: &mut Workspace<S>,
    ) {
        let (t, s) = self.check(x, probs.len(), (out.rows(), out.cols()));
        let (d, mut scratch) = (self.head_dim, space.take(if dropout.is_some() { t * s } else { 0 }));
        for (h, probs) in probs.chunks_exact_mut((t * s).max(1)).enumerate() {
            let (qc, kc) = self.columns(h);
            let (q, k, v) = (x.q.columns(qc, d), x.k.columns(kc, d), x.v.columns(kc, d));
            for (first, count, reach) in self.mask.blocks(t, s) {
                let q = q.block((first, count), (0, d));
                let rows = &mut probs[first * s..][..count * s];
                let scores = MatMut::new(rows, count, s).columns(0, reach);
                product(self.scale, q, k.block((0, reach), (0, d)).t(), 0.0, scores);
                if let Some(relative) = relative {
                    relative.add_scores(q, self.scale, rows, space);
                }
                for (i, row) in rows.chunks_exact_mut(s).enumerate() {
                    self.mask.softmax(row, self.mask.visible(first + i, t, s));
                }
                let reach = self.reach(rows, first, reach, (t, s));
                let rows = dropped(rows, dropout.map(|m| &m[(h * t + first) * s..]), &mut scratch);
                let p = Mat::new(rows, count, s).columns(0, reach);
                let mut out = out.rb().block((first, count), (qc, d));
                product(1.0, p, v.block((0, reach), (0, d)), 0.0, out.rb());
                if let Some(relative) = relative {
                    relative.add_output(rows, out, space);
                }
            }
        }
        space.give(scratch);
    }

    /// Keys that some row of a block gives weight: all of them once a masked score outweighs the rest.
    fn reach<S: Scalar>(&self, p: &[S], first: usize, reach: usize, (t, s): (usize, usize)) -> usize {
        let beyond = |(i, row): (usize, &[S])| {
            let visible = self.mask.visible(first + i, t, s);
            visible < s && row[visible].to_f64() != 0.0
        };
        if p.chunks_exact(s).enumerate().any(beyond) { s } else { reach }
    }

    /// Writes dQ, dK, dV and adds to the gradients of the relative tables.
    #[allow(clippy::too_many_arguments, reason = "input, state, gradients and memory of one pass")]
    pub fn backward<S: Scalar>(
        &self,
        x: Qkv<'_, S>,
        relative: Option<&Relative<'_, S>>,
        Seen { probs, dropout }: Seen<'_, S>,
        dout: Mat<'_, S>,
        dx: &mut QkvGradient<'_, S>,
        mut drelative: Option<&mut RelativeGradient<'_, S>>,
        space: &mut Workspace<S>,
    ) {
        let (t, s) = self.check(x, probs.len(), (dout.rows(), dout.cols()));
        let (d, mut scratch) = (self.head_dim, space.take(t * s));
        let mut weighted = space.take(if dropout.is_some() { t * s } else { 0 });
        let (wide, narrow) = (self.heads * d, self.kv_heads * d);
        for (h, probs) in probs.chunks_exact((t * s).max(1)).enumerate() {
            let (qc, kc) = self.columns(h);
            let (q, k, v) = (x.q.columns(qc, d), x.k.columns(kc, d), x.v.columns(kc, d));
            // The first block of a shared key head reaches every key it will ever touch.
            let mut store = if h % (self.heads / self.kv_heads) == 0 { Store::Write } else { Store::Add };
            for (first, count, reach) in self.mask.blocks(t, s) {
                let rows = &probs[first * s..][..count * s];
                let reach = self.reach(rows, first, reach, (t, s));
                let (k, v) = (k.block((0, reach), (0, d)), v.block((0, reach), (0, d)));
                let (q, dout) = (q.block((first, count), (0, d)), dout.block((first, count), (qc, d)));
                let p = Mat::new(rows, count, s).columns(0, reach);
                let factors = dropout.map(|m| &m[(h * t + first) * s..]);
                let used = dropped(rows, factors, &mut weighted);
                let shown = Mat::new(used, count, s).columns(0, reach);
                product(1.0, shown.t(), dout, store.beta(), dx.v(narrow).block((0, reach), (kc, d)));
                let ds = &mut scratch[..count * reach];
                product(1.0, dout, v.t(), 0.0, MatMut::new(ds, count, reach));
                if let Some(relative) = relative {
                    relative.add_output_backward(used, dout, ds, drelative.as_deref_mut(), space);
                }
                for (i, ds) in ds.chunks_exact_mut(reach).enumerate() {
                    if let Some(factors) = factors {
                        S::hadamard(&factors[i * s..][..reach], ds);
                    }
                    self.mask.softmax_backward(p.row(i), ds, self.mask.visible(first + i, t, s), self.scale);
                }
                let scores = Mat::new(ds, count, reach);
                product(1.0, scores.t(), q, store.beta(), dx.k(narrow).block((0, reach), (kc, d)));
                let mut dq = dx.q(wide).block((first, count), (qc, d));
                product(1.0, scores, k, 0.0, dq.rb());
                if let Some(relative) = relative {
                    relative.add_scores_backward(q, ds, dq, drelative.as_deref_mut(), space);
                }
                store = Store::Add;
            }
        }
        space.give_all([scratch, weighted]);
    }
}

/// Probabilities times the factors of dropout, in `scratch`; without factors the probabilities themselves.
fn dropped<'a, S: Scalar>(p: &'a [S], factors: Option<&[S]>, scratch: &'a mut [S]) -> &'a [S] {
    let Some(factors) = factors else { return p };
    let used = &mut scratch[..p.len()];
    used.copy_from_slice(p);
    S::hadamard(&factors[..p.len()], used);
    used
}

#[cfg(test)]
mod tests;
