//! Attention with relative positions as in Transformer-XL, one sample.
//!
//! ```text
//! S[i, j] = scale · ( ⟨q_i + u, k_j⟩ + ⟨q_i + w, r_{j + T − 1 − i}⟩ )        j ≤ i + (T′ − T)
//! P = softmax S under the causal mask        O = P V
//! ```
//!
//! r is the projected position table of T′ rows, farthest first, so its last row is distance 0; u (`r_w_bias`) and w
//! (`r_r_bias`) are biases of heads · head_dim entries. The index of r is the relative shift.

use super::attention::{Attention, Qkv, QkvGradient};
use super::buffer::Workspace;
use super::matmul::{Mat, MatMut, column_sums, product};
use super::scalar::Scalar;

/// Parameters of the relative term.
#[derive(Clone, Copy, Debug)]
pub struct Positions<'a, S> {
    /// r, T′ x (heads · head_dim)
    pub table: Mat<'a, S>,
    /// u
    pub content_bias: &'a [S],
    /// w
    pub position_bias: &'a [S],
}

/// Gradients of [`Positions`]: the table is written, the biases are added to.
#[derive(Debug)]
pub struct PositionsGradient<'a, S> {
    /// dr
    pub table: MatMut<'a, S>,
    /// du
    pub content_bias: &'a mut [S],
    /// dw
    pub position_bias: &'a mut [S],
}

/// Rows of q plus a bias, packed.
fn shifted<S: Scalar>(q: Mat<'_, S>, bias: &[S], to: &mut [S]) {
    for (i, row) in to.chunks_exact_mut(q.cols()).enumerate() {
        row.copy_from_slice(q.row(i));
        S::accumulate(bias, row);
    }
}

fn check<S: Scalar>(layer: &Attention, x: Qkv<'_, S>, r: Positions<'_, S>) -> (usize, usize, usize) {
    let (t, s, width) = (x.q.rows(), x.k.rows(), layer.heads * layer.head_dim);
    assert!(
        layer.kv_heads == layer.heads && t <= s && r.table.rows() == s && r.table.cols() == width,
        "xl attention: {t} queries, {s} keys, positions {} x {}",
        r.table.rows(),
        r.table.cols()
    );
    assert_eq!((r.content_bias.len(), r.position_bias.len()), (width, width), "xl attention: biases");
    (t, s, layer.head_dim)
}

/// Writes the output and the probabilities (heads x T x T′). The layer's mask must be causal.
pub fn forward<S: Scalar>(
    layer: &Attention,
    x: Qkv<'_, S>,
    r: Positions<'_, S>,
    probs: &mut [S],
    mut out: MatMut<'_, S>,
    space: &mut Workspace<S>,
) {
    let (t, s, d) = check(layer, x, r);
    let (mut query, mut near) = (space.take(t * d), space.take(t * s));
    for (h, probs) in probs.chunks_exact_mut(t * s).enumerate() {
        let c = h * d;
        shifted(x.q.columns(c, d), &r.content_bias[c..][..d], &mut query);
        product(layer.scale, Mat::new(&query, t, d), x.k.columns(c, d).t(), 0.0, MatMut::new(probs, t, s));
        shifted(x.q.columns(c, d), &r.position_bias[c..][..d], &mut query);
        product(
            layer.scale,
            Mat::new(&query, t, d),
            r.table.columns(c, d).t(),
            0.0,
            MatMut::new(&mut near, t, s),
        );
        for (i, (row, near)) in probs.chunks_exact_mut(s).zip(near.chunks_exact(s)).enumerate() {
            let visible = i + 1 + s - t;
            S::accumulate(&near[t - 1 - i..], &mut row[..visible]);
            layer.mask.softmax(row, visible);
        }
        product(1.0, Mat::new(probs, t, s), x.v.columns(c, d), 0.0, out.rb().columns(c, d));
    }
    space.give_all([query, near]);
}

/// Writes dQ, dK, dV and dr, adds du and dw.
#[allow(clippy::too_many_arguments, reason = "input, state, gradients and memory of one pass")]
pub fn backward<S: Scalar>(
    layer: &Attention,
    x: Qkv<'_, S>,
    r: Positions<'_, S>,
    probs: &[S],
    dout: Mat<'_, S>,
    dx: &mut QkvGradient<'_, S>,
    dr: &mut PositionsGradient<'_, S>,
    space: &mut Workspace<S>,
) {
    let (t, s, d) = check(layer, x, r);
    let width = layer.heads * d;
    let (mut query, mut part) = (space.take(t * d), space.take(t * d));
    let (mut ds, mut near) = (space.take(t * s), space.take(t * s));
    for (h, probs) in probs.chunks_exact(t * s).enumerate() {
        let (c, dout) = (h * d, dout.columns(h * d, d));
        product(1.0, Mat::new(probs, t, s).t(), dout, 0.0, dx.v(width).columns(c, d));
        product(1.0, dout, x.v.columns(c, d).t(), 0.0, MatMut::new(&mut ds, t, s));
        near.fill(S::ZERO);
        for (i, (ds, near)) in ds.chunks_exact_mut(s).zip(near.chunks_exact_mut(s)).enumerate() {
            let visible = i + 1 + s - t;
            layer.mask.softmax_backward(&probs[i * s..][..s], ds, visible, layer.scale);
            near[t - 1 - i..].copy_from_slice(&ds[..visible]);
        }
        // The content term writes dq and dk, the position term adds to dq and writes dr.
        let terms = [(&ds, x.k, r.content_bias), (&near, r.table, r.position_bias)];
        for (term, (g, keys, bias)) in terms.into_iter().enumerate() {
            let g = Mat::new(g, t, s);
            product(1.0, g, keys.columns(c, d), 0.0, MatMut::new(&mut part, t, d));
            let dbias = if term == 0 { &mut *dr.content_bias } else { &mut *dr.position_bias };
            column_sums(Mat::new(&part, t, d), &mut dbias[c..][..d]);
            let mut dq = dx.q(width).columns(c, d);
            for (i, part) in part.chunks_exact(d).enumerate() {
                match term {
                    0 => dq.row_mut(i).copy_from_slice(part),
                    _ => S::accumulate(part, dq.row_mut(i)),
                }
            }
            shifted(x.q.columns(c, d), &bias[c..][..d], &mut query);
            let dkeys = if term == 0 { dx.k(width) } else { dr.table.rb() };
            product(1.0, g.t(), Mat::new(&query, t, d), 0.0, dkeys.columns(c, d));
        }
    }
    space.give_all([query, part, ds, near]);
}

#[cfg(test)]
mod tests {
    use super::super::attention::Mask;
    use super::super::check::{gradients, random, weighted};
    use super::*;

    #[test]
    fn gradient() {
        let layer = Attention::new(2, 3, Mask::Causal { value: -1e30 });
        for (t, s) in [(4, 4), (3, 5)] {
            let w = 6;
            let sizes = [t * w, s * w, s * w, s * w, w, w];
            let parts: Vec<_> = sizes.iter().enumerate().map(|(i, &n)| random(n, i as u64)).collect();
            let c = random(t * w, 9);
            let views = |p: &[Vec<f64>]| -> (Qkv<'static, f64>, Positions<'static, f64>) {
                // Leaked: a test may.
                let p: &'static [Vec<f64>] = p.to_vec().leak();
                let [q, k, v, r] = [(0, t), (1, s), (2, s), (3, s)].map(|(i, n)| Mat::new(&p[i], n, w));
                (Qkv { q, k, v }, Positions { table: r, content_bias: &p[4], position_bias: &p[5] })
            };
            let run = |p: &[Vec<f64>]| {
                let (mut probs, mut y) = (vec![0.0; 2 * t * s], vec![0.0; t * w]);
                let (x, r) = views(p);
                forward(&layer, x, r, &mut probs, MatMut::new(&mut y, t, w), &mut Workspace::new());
                (y, probs)
            };
            let (_, probs) = run(&parts);
            let mut d: Vec<Vec<f64>> = sizes.iter().map(|&n| vec![0.0; n]).collect();
            let [q, k, v, r, u, z] = &mut d[..] else { unreachable!() };
            let [q, k, v, r] = [(q, t), (k, s), (v, s), (r, s)].map(|(x, n)| MatMut::new(x, n, w));
            let (x, p) = views(&parts);
            let mut dr = PositionsGradient { table: r, content_bias: u, position_bias: z };
            let (dout, space) = (Mat::new(&c, t, w), &mut Workspace::new());
            backward(&layer, x, p, &probs, dout, &mut QkvGradient::Apart { q, k, v }, &mut dr, space);
            gradients(&parts, &d, |p| weighted(&run(p).0, &c));
        }
    }
}
