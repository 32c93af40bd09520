//! Softmax confidence: the largest attention probability.
//!
//! ```text
//! over=heads: s = Σ_l mean_{b,q,k} max_h P_l[b,h,q,k]        over=keys: s = Σ_l mean_{b,h,q} max_k P_l[b,h,q,k]
//! ```
//!
//! - Paper: Serianni & Kalita (ACL 2023).
//! - Direction: higher is better. Cost: one forward pass.
//! - Departures from the paper: it prints the maximum over keys; the released code takes it over heads, which is the
//!   default.
use super::prelude::*;

/// See the [module documentation](self).
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SoftmaxConfidence {
    over: Over,
}

#[derive(Debug, Default, Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Over {
    #[default]
    Heads,
    Keys,
}

pub(super) const ABOUT: &About = &About {
    name: "softmax-confidence",
    sentence: "Softmax confidence: the largest attention probability.",
    formula: "s = Σ_l mean_{b,q,k} max_h P_l[b,h,q,k]",
    paper: "Serianni & Kalita (2023)",
    cost: Cost::Forward,
    options: &[("over", "heads", "heads (as released) or keys (as printed)")],
    variants: &[("published", "train=true"), ("paper", "over=keys,normalise=true")],
    departures: "the maximum over heads, as released",
    published: "FlexiBERT .216/.326 (recomputed from released values)",
    ..About::SHAPE
};

fn pass() -> Pass {
    Pass::forward().keep(Signal::Attention)
}

impl Proxy for SoftmaxConfidence {
    fn needs(&self, _: &dyn Subject) -> Vec<Pass> {
        vec![pass()]
    }
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        let observed = input.pass(&pass())?;
        let mut terms = Vec::new();
        let block = |mark| match mark {
            Mark::Attention(block) => Some((block, 0)),
            Mark::Spectrum(block) => Some((block, 1)),
            _ => None,
        };
        for ((block, spectrum), map) in observed.kept(block) {
            // Rows are samples · heads · tokens.
            let batch = observed.result.batch;
            // Maps are square but where keys are pooled; a span layer attends with half its heads.
            let square = map.rows() % (batch * map.cols()) == 0 && !input.subject.pools_keys();
            let heads =
                if square && spectrum == 0 { map.rows() / (batch * map.cols()) } else { input.heads(block) };
            let tokens = map.rows() / (batch * heads);
            let value = match self.over {
                Over::Keys => {
                    let largest = |i| (0..map.cols()).map(|j| map.at(i, j)).fold(f64::NEG_INFINITY, f64::max);
                    (0..map.rows()).map(largest).sum::<f64>() / map.rows() as f64
                }
                Over::Heads => {
                    let at = |b: usize, h: usize, t: usize, j: usize| map.at((b * heads + h) * tokens + t, j);
                    let largest =
                        |b, t, j| (0..heads).map(|h| at(b, h, t, j)).fold(f64::NEG_INFINITY, f64::max);
                    let places = (0..batch)
                        .flat_map(|b| (0..tokens).flat_map(move |t| (0..map.cols()).map(move |j| (b, t, j))));
                    places.map(|(b, t, j)| largest(b, t, j)).sum::<f64>()
                        / (batch * tokens * map.cols()) as f64
                }
            };
            terms.push(Term::of(format!("block {block}"), block, value));
        }
        match terms.is_empty() {
            true => input.undefined(ABOUT, "there is no attention"),
            false => Ok(Score::sum(terms)),
        }
    }
}
