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
    version: 2,
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
        let maps = observed.kept(block);
        for &((block, spectrum), map) in &maps {
            // Rows are samples · heads · tokens.
            let batch = observed.result.batch;
            // Maps are square but where keys are pooled; a span layer attends with half its heads.
            let square = map.rows() % (batch * map.cols()) == 0 && !input.subject.pools_keys();
            let heads = if square && spectrum == 0 {
                map.rows() / (batch * map.cols())
            } else {
                // Keys that are pooled in several ways are several maps, which share the heads of the block.
                input.heads(block) / maps.iter().filter(|(place, _)| *place == (block, spectrum)).count()
            };
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

#[cfg(test)]
mod tests {
    use super::super::toy::{Toy, near};
    use super::*;

    /// Two heads of two tokens: over heads 0.9, 0.2, 0.3, 0.9, mean 0.575; over keys 0.9, 0.9, 0.8, 0.7, mean 0.825. A second
    /// block of one head is its own largest: mean 0.5, over keys 1.
    #[test]
    fn two_heads_by_hand() {
        let toy = Toy::new().pass(Pass::forward().keep(Signal::Attention), |seen| {
            seen.value(Mark::Attention(0), [[0.9, 0.1], [0.1, 0.9], [0.8, 0.2], [0.3, 0.7]])
                .value(Mark::Attention(1), [[1.0, 0.0], [0.0, 1.0]])
        });
        near(toy.value("softmax-confidence"), 1.075);
        near(toy.value("softmax-confidence[over=keys]"), 1.825);
    }

    /// Pooled keys: the block says how many heads there are. Two heads, two tokens, one key: 0.5 and 0.75 of 0.5, 0.25 and
    /// 0.25, 0.75, mean 0.625. Two samples of one head: the mean of all, 0.4375.
    #[test]
    fn pooled_keys_by_hand() {
        let map = [[0.5], [0.25], [0.25], [0.75]];
        let pass = || Pass::forward().keep(Signal::Attention);
        let heads = Toy::new().block(2, 2).pooled_keys();
        near(
            heads.pass(pass(), |seen| seen.value(Mark::Attention(0), map)).value("softmax-confidence"),
            0.625,
        );
        let samples = Toy::new().block(2, 1).pooled_keys();
        let samples = samples.pass(pass(), |seen| seen.batch(2).value(Mark::Attention(0), map));
        near(samples.value("softmax-confidence"), 0.4375);
    }

    /// Two maps of one block with two heads are of one head each: every entry is its own largest, mean 0.4375 each.
    #[test]
    fn maps_of_a_block_share_its_heads() {
        let map = [[0.5], [0.25], [0.25], [0.75]];
        let toy =
            Toy::new().block(2, 2).pooled_keys().pass(Pass::forward().keep(Signal::Attention), |seen| {
                seen.value(Mark::Attention(0), map).value(Mark::Attention(0), map)
            });
        near(toy.value("softmax-confidence"), 0.875);
    }
}
