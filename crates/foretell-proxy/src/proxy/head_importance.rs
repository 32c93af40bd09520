//! Head importance: how much the loss depends on the attention heads.
//!
//! ```text
//! of=weights: s = Σ_ℓ Σ |W_ℓ ⊙ ∂L/∂W_ℓ|        ℓ: operator matrices with at least 128 rows
//! of=heads:   s = Σ_h mean_x |Att_h(x) · ∂L/∂Att_h(x)|        Att_h: output of head h
//! ```
//!
//! - Paper: *Are sixteen heads really better than one?* (Michel et al., 2019) through Serianni & Kalita (ACL 2023).
//! - Direction: higher is better. Cost: one forward, one backward.
//! - Departures from the paper: the released code looks at weights, the paper at heads; both are here, weights by
//!   default. It also drops matrices of fewer than 128 stored rows; `rows=0` keeps all.
use super::heads::{enters_output, heads};
use super::prelude::*;

/// See the [module documentation](self).
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HeadImportance {
    of: Of,
    rows: Option<usize>,
}

#[derive(Debug, Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Of {
    Weights,
    Heads,
}

impl Default for HeadImportance {
    fn default() -> Self {
        HeadImportance { of: Of::Weights, rows: None }
    }
}

/// Rows below which a matrix is left out where nothing else is said.
const ROWS: usize = 128;

pub(super) const ABOUT: &About = &About {
    name: "head-importance",
    sentence: "Head importance: how much the loss depends on the attention heads.",
    formula: "s = Σ_ℓ Σ |W_ℓ ⊙ ∂L/∂W_ℓ|, ℓ: operator matrices of at least 128 rows",
    paper: "Michel et al. (2019); Serianni & Kalita (2023)",
    cost: Cost::Backward,
    options: &[
        ("of", "weights", "weights (as released) or heads (as printed)"),
        ("rows", "128", "matrices with fewer stored rows are left out"),
    ],
    ranges: &[Range::whole("rows", 0, 1_000_000)],
    variants: &[("published", "loss=sum,train=true"), ("paper", "of=heads")],
    departures: "weights instead of head outputs by default, as released",
    published: "FlexiBERT .050/.171; GPT-2 .861/.971 (LPZero)",
    ..About::SHAPE
};

impl HeadImportance {
    fn pass(&self) -> Pass {
        let pass = Pass::backward(Loss::Natural);
        match self.of {
            Of::Weights => pass,
            Of::Heads => pass.keep(Signal::Inputs).keep(Signal::InputGradients),
        }
    }
}

impl Proxy for HeadImportance {
    fn needs(&self, _: &dyn Subject) -> Vec<Pass> {
        vec![self.pass()]
    }
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        let observed = input.pass(&self.pass())?;
        if self.of == Of::Heads {
            if self.rows.is_some() {
                return Err(Error::option("rows", "has no effect together with of=heads"));
            }
            return of_heads(input, &observed);
        }
        // A decoder's fused matrices are no operator of their own: all its matrices are looked at.
        let decoder = input.subject.kind() == NetworkKind::Decoder;
        let usual = if decoder { Layers::Linear } else { Layers::Operator };
        let score = observed.sum(ABOUT, usual, |layer| {
            Ok(if layer.weight.rows() >= self.rows.unwrap_or(ROWS) { layer.saliency() } else { f64::NAN })
        })?;
        let kept: Vec<Term> = score.terms.into_iter().filter(|term| !term.value.is_nan()).collect();
        let rows = self.rows.unwrap_or(ROWS);
        let empty = kept.is_empty();
        let note = empty.then(|| {
            format!("no matrix has {rows} rows, so nothing is summed: set rows to a smaller number")
        });
        Ok(Score { notes: score.notes, ..Score::sum(kept) }.note(note))
    }
}

/// What leaves the heads enters the output map: one inner product per sample and head.
fn of_heads(input: &ProxyInput, observed: &PassView) -> Result<Score> {
    let gradients = observed.kept_gradients(|mark| enters_output(observed, mark));
    let mut terms = Vec::new();
    for block in heads(input, observed) {
        let Some((_, g)) = gradients.iter().find(|(param, _)| *param == block.param) else { continue };
        let inner = |sample: usize, head: usize| -> f64 {
            let product = |(t, j)| block.outputs.at(t, j) * g.at(t, j);
            block.places(sample, head).map(product).sum::<f64>().abs()
        };
        let pairs =
            (0..observed.result.batch).flat_map(|sample| (0..block.count).map(move |head| (sample, head)));
        let sum: f64 = pairs.map(|(sample, head)| inner(sample, head)).sum();
        terms.push(Term::of(block.tensor.name(), block.tensor.block, sum / observed.result.batch as f64));
    }
    match terms.is_empty() {
        true => input.undefined(ABOUT, "there is no attention head"),
        false => Ok(Score::sum(terms)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::toy::Toy;
    use super::*;

    /// Queries of 128 rows: 128 · |1·(−2)| = 256. Keys of 127 rows, the output map and the feed-forward layer are left
    /// out; `rows=0` takes the keys' 127 · |1·1| = 127 as well, and a decoder everything: 128 · |1·3| = 384 and 5.
    #[test]
    fn weights_by_hand() {
        let toy = |kind| {
            Toy::new()
                .kind(kind)
                .matrix("q", Role::Query, 0, [[1.0]; 128])
                .matrix("k", Role::Key, 0, [[1.0]; 127])
                .matrix("out", Role::AttentionOut, 0, [[1.0]; 128])
                .matrix("fc1", Role::FfnIn, 0, [[1.0]])
                .pass(Pass::backward(Loss::Natural), |seen| {
                    seen.gradient("q", [[-2.0]; 128])
                        .gradient("k", [[1.0]; 127])
                        .gradient("out", [[3.0]; 128])
                        .gradient("fc1", [[5.0]])
                })
        };
        assert_eq!(toy(NetworkKind::Encoder).value("head-importance"), 256.0);
        assert_eq!(toy(NetworkKind::Encoder).value("head-importance[rows=0]"), 383.0);
        assert_eq!(toy(NetworkKind::Decoder).value("head-importance[rows=0]"), 772.0);
    }

    /// Two samples of two tokens, two heads of width 1, one inner product over tokens each: |1·1 − 3·2| = 5 and
    /// |−2·1 + 4·½| = 0; |2·1 + 1·1| = 3 and |0·7 + 1·3| = 3. The mean over samples: (5 + 6) / 2 = 5.5.
    #[test]
    fn heads_by_hand() {
        let pass = Pass::backward(Loss::Natural).keep(Signal::Inputs).keep(Signal::InputGradients);
        let toy = Toy::new()
            .block(2, 2)
            .matrix("out", Role::AttentionOut, 0, [[1.0, 1.0]])
            .matrix("fc1", Role::FfnIn, 0, [[1.0]])
            .pass(pass, |seen| {
                let [out, fc1] = ["out", "fc1"].map(|name| Mark::Input(seen.param(name)));
                seen.batch(2)
                    .value(out, [[1.0, -2.0], [3.0, 4.0], [2.0, 0.0], [1.0, 1.0]])
                    .value_gradient(out, [[1.0, 1.0], [-2.0, 0.5], [1.0, 7.0], [1.0, 3.0]])
                    .value(fc1, [[9.0]; 4])
                    .value_gradient(fc1, [[9.0]; 4])
            });
        assert_eq!(toy.value("head-importance[of=heads]"), 5.5);
    }
}
