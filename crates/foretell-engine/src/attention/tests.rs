use super::super::check::{distance, gradients, random, weighted};
use super::super::relative::Grid;
use super::*;

struct Case {
    layer: Attention,
    t: usize,
    s: usize,
    grid: Option<Grid>,
}

/// Factors of dropout: a fifth of all probabilities vanish, where the layer drops any.
fn factors(case: &Case) -> Option<Vec<f64>> {
    let count = case.layer.heads * case.t * case.s;
    let drawn = |i: usize| if (i * 7).is_multiple_of(5) { 0.0 } else { 1.25 };
    (case.layer.dropout > 0.0).then(|| (0..count).map(drawn).collect())
}

impl Case {
    fn parts(&self) -> Vec<Vec<f64>> {
        let (d, l) = (self.layer.head_dim, &self.layer);
        let mut parts = vec![
            random(self.t * l.heads * d, 1),
            random(self.s * l.kv_heads * d, 2),
            random(self.s * l.kv_heads * d, 3),
        ];
        if let Some(grid) = self.grid {
            parts.extend((0..4).map(|i| random(grid.table_len() * d, 10 + i)));
        }
        parts
    }

    fn qkv<'a>(&self, p: &'a [Vec<f64>]) -> Qkv<'a, f64> {
        let (w, kw) = (self.layer.heads * self.layer.head_dim, self.layer.kv_heads * self.layer.head_dim);
        Qkv { q: Mat::new(&p[0], self.t, w), k: Mat::new(&p[1], self.s, kw), v: Mat::new(&p[2], self.s, kw) }
    }

    fn relative<'a>(&self, p: &'a [Vec<f64>]) -> Option<Relative<'a, f64>> {
        self.grid.map(|grid| {
            let table = |i: usize| Mat::new(&p[i], grid.table_len(), self.layer.head_dim);
            Relative { grid, keys: Some((table(3), table(4))), values: Some((table(5), table(6))) }
        })
    }

    fn forward(&self, p: &[Vec<f64>]) -> (Vec<f64>, Vec<f64>) {
        let width = self.layer.heads * self.layer.head_dim;
        let mut probs = vec![f64::NAN; self.layer.heads * self.t * self.s];
        let mut out = vec![f64::NAN; self.t * width];
        let view = MatMut::new(&mut out, self.t, width);
        let relative = self.relative(p);
        let factors = factors(self);
        let probs_to = (&mut probs[..], factors.as_deref());
        self.layer.forward(self.qkv(p), relative.as_ref(), probs_to, view, &mut Workspace::new());
        (out, probs)
    }

    fn check(&self) {
        let parts = self.parts();
        let (w, kw) = (self.layer.heads * self.layer.head_dim, self.layer.kv_heads * self.layer.head_dim);
        let c = random(self.t * w, 4);
        let (_, probs) = self.forward(&parts);
        let mut d: Vec<Vec<f64>> = parts.iter().map(|p| vec![0.0; p.len()]).collect();
        d[..3].iter_mut().for_each(|d| d.fill(f64::NAN));
        let (qkv, tables) = d.split_at_mut(3);
        let [q, k, v] = qkv else { unreachable!() };
        let mut dx = QkvGradient::Apart {
            q: MatMut::new(q, self.t, w),
            k: MatMut::new(k, self.s, kw),
            v: MatMut::new(v, self.s, kw),
        };
        let mut drelative = self.grid.map(|grid| {
            let mut views = tables.iter_mut().map(|t| MatMut::new(t, grid.table_len(), self.layer.head_dim));
            let mut pair = || Some((views.next().unwrap(), views.next().unwrap()));
            RelativeGradient { keys: pair(), values: pair() }
        });
        let relative = self.relative(&parts);
        let (dout, space) = (Mat::new(&c, self.t, w), &mut Workspace::new());
        let (relative, drelative) = (relative.as_ref(), drelative.as_mut());
        let factors = factors(self);
        let seen = Seen { probs: &probs, dropout: factors.as_deref() };
        self.layer.backward(self.qkv(&parts), relative, seen, dout, &mut dx, drelative, space);
        gradients(&parts, &d, |p| weighted(&self.forward(p).0, &c));
    }
}

#[test]
fn gradient() {
    let layer = Attention::new(2, 3, Mask::None);
    Case { layer, t: 4, s: 5, grid: None }.check();
}

#[test]
fn dropout_gradient() {
    let layer = Attention { dropout: 0.2, ..Attention::new(2, 3, Mask::None) };
    Case { layer, t: 4, s: 5, grid: None }.check();
    let grid = Grid { rows: 2, cols: 2, class: true, max: 1 };
    Case { layer, t: 5, s: 5, grid: Some(grid) }.check();
    let layer = Attention { kv_heads: 2, dropout: 0.2, ..Attention::new(4, 3, Mask::Causal { value: -1e4 }) };
    Case { layer, t: 70, s: 70, grid: None }.check();
}

#[test]
fn gradient_of_grouped_queries() {
    for mask in [Mask::None, Mask::Causal { value: -1e4 }] {
        let layer = Attention { kv_heads: 2, ..Attention::new(4, 2, mask) };
        Case { layer, t: 4, s: 4, grid: None }.check();
    }
}

/// Several row blocks, also with keys from before the first query.
#[test]
fn gradient_of_causal_blocks() {
    let layer = Attention::new(1, 2, Mask::Causal { value: -1e4 });
    Case { layer, t: 70, s: 70, grid: None }.check();
    Case { layer, t: 66, s: 69, grid: None }.check();
}

/// A mask that hides little: masked scores keep weight, and receive no gradient.
#[test]
fn gradient_under_a_weak_mask() {
    let layer = Attention::new(1, 3, Mask::Causal { value: 0.3 });
    Case { layer, t: 66, s: 66, grid: None }.check();
}

#[test]
fn gradient_of_relative_positions() {
    for (class, max) in [(true, 1), (false, 4)] {
        let grid = Grid { rows: 2, cols: 3, class, max };
        let layer = Attention::new(2, 3, Mask::None);
        Case { layer, t: grid.tokens(), s: grid.tokens(), grid: Some(grid) }.check();
    }
}

/// The block form equals a masked fill of the whole square.
#[test]
fn causal_probabilities() {
    let case = Case { layer: Attention::new(1, 2, Mask::Causal { value: -1e4 }), t: 130, s: 130, grid: None };
    let (parts, t) = (case.parts(), 130);
    let (_, probs) = case.forward(&parts);
    for i in 0..t {
        let score = |j: usize| {
            let s = (0..2).map(|c| parts[0][2 * i + c] * parts[1][2 * j + c]).sum::<f64>() / 2f64.sqrt();
            if j > i { -1e4 } else { s }
        };
        let e: Vec<f64> = (0..t).map(|j| score(j).exp()).collect();
        let total: f64 = e.iter().sum();
        let expected: Vec<f64> = e.iter().map(|e| e / total).collect();
        assert!(distance(&expected, &probs[i * t..][..t]) < 1e-14);
    }
}

/// A positive mask, as the absolute-value network of SynFlow sees it, gives all weight to the future.
#[test]
fn positive_mask_looks_ahead() {
    let case = Case { layer: Attention::new(1, 2, Mask::Causal { value: 1e4 }), t: 3, s: 3, grid: None };
    let (_, probs) = case.forward(&case.parts());
    assert_eq!(probs[..6], [0.0, 0.5, 0.5, 0.0, 0.0, 1.0]);
}
