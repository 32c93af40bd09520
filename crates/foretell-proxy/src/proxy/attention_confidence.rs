//! Attention confidence: how sharply attention picks.
//!
//! ```text
//! of=linear: s = Σ_m mean_{b,d} max_t y_m[b,t,d]        m: outputs of the query, key, value and transform maps
//! of=heads:  s = Σ_h mean_x |max Att_h(x)|        Att_h: output of head h, its largest entry over tokens and channels
//! ```
//!
//! - Paper: Serianni & Kalita (ACL 2023), after *Analyzing multi-head self-attention* (Voita et al., 2019).
//! - Direction: higher is better. Cost: one forward pass.
//! - Departures from the paper: it prints outputs of heads; the released code, whose figures are published, takes outputs of
//!   linear maps, which is the default. For decoders these are all matrices, as in LPZero. The largest attention weight is
//!   [softmax-confidence](super::softmax_confidence).
use super::heads::heads;
use super::prelude::*;

/// See the [module documentation](self).
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AttentionConfidence {
    of: Of,
}

#[derive(Debug, Default, Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Of {
    #[default]
    Linear,
    Heads,
}

pub(super) const ABOUT: &About = &About {
    name: "attention-confidence",
    version: 2,
    sentence: "Attention confidence: how sharply attention picks.",
    formula: "s = Σ_m mean_{b,d} max_t y_m[b,t,d]",
    paper: "Serianni & Kalita (2023)",
    cost: Cost::Forward,
    options: &[("of", "linear", "linear (as released) or heads (as printed)")],
    variants: &[("published", "train=true"), ("paper", "of=heads,normalise=true")],
    departures: "outputs of linear maps instead of those of heads, as released",
    published: "FlexiBERT .475/.666; GPT-2 .676/.850 (LPZero)",
    ..About::SHAPE
};

impl AttentionConfidence {
    fn pass(&self) -> Pass {
        Pass::forward().keep(if self.of == Of::Linear { Signal::Outputs } else { Signal::Inputs })
    }
}

/// Whether a map feeds attention; decoders count all of theirs.
fn counts(subject: &dyn Subject, tensor: &Tensor) -> bool {
    let decoder = subject.kind() == NetworkKind::Decoder;
    let feeds = matches!(
        tensor.role,
        Role::Query
            | Role::Key
            | Role::Value
            | Role::QueryMultiplier
            | Role::QueryKeyValue
            | Role::KeyValue
            | Role::Transform
    );
    // A map of distances has a row per distance, not per token.
    let distances = tensor.role == Role::RelativePosition;
    feeds
        || decoder
            && !distances
            && tensor.block.is_some()
            && matches!(tensor.role.part(), Part::Attention | Part::Ffn)
}

impl Proxy for AttentionConfidence {
    fn needs(&self, _: &dyn Subject) -> Vec<Pass> {
        vec![self.pass()]
    }
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        let observed = input.pass(&self.pass())?;
        let mut terms = Vec::new();
        if self.of == Of::Heads {
            let batch = observed.result.batch;
            for block in heads(input, &observed) {
                let largest = |sample, head| {
                    let entries = block.places(sample, head).map(|(t, j)| block.outputs.at(t, j));
                    entries.fold(f64::NEG_INFINITY, f64::max).abs()
                };
                for head in 0..block.count {
                    let mean = (0..batch).map(|sample| largest(sample, head)).sum::<f64>() / batch as f64;
                    terms.push(Term::of(
                        format!("{} head {head}", block.tensor.name()),
                        block.tensor.block,
                        mean,
                    ));
                }
            }
        } else {
            let chosen = |mark| match mark {
                Mark::Output(param) if counts(input.subject, observed.tensor(param)) => Some(param),
                _ => None,
            };
            for (param, y) in observed.kept(chosen) {
                let tokens = y.rows() / observed.result.batch;
                let largest = |b: usize, j: usize| {
                    (0..tokens).map(|t| y.at(b * tokens + t, j)).fold(f64::NEG_INFINITY, f64::max)
                };
                let sample = |b: usize| (0..y.cols()).map(|j| largest(b, j)).sum::<f64>();
                let mean = (0..observed.result.batch).map(sample).sum::<f64>()
                    / (observed.result.batch * y.cols()) as f64;
                let tensor = observed.tensor(param);
                terms.push(Term::of(tensor.name(), tensor.block, mean));
            }
        }
        match terms.is_empty() {
            true => input.undefined(ABOUT, "there is no attention"),
            false => Ok(Score::sum(terms)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::toy::Toy;
    use super::*;

    /// Two samples of two tokens. Queries, largest over tokens: 3, 5 and 0, 2, mean 2.5; keys: 7 and −1, mean 3: 5.5. The
    /// feed-forward layer, 100, counts for decoders alone.
    #[test]
    fn maps_by_hand() {
        let toy = |kind| {
            Toy::new()
                .kind(kind)
                .matrix("q", Role::Query, 0, [[1.0; 2]; 2])
                .matrix("k", Role::Key, 1, [[1.0; 2]])
                .matrix("fc1", Role::FfnIn, 1, [[1.0; 2]])
                .pass(Pass::forward().keep(Signal::Outputs), |seen| {
                    seen.batch(2)
                        .output("q", [[1.0, 5.0], [3.0, 2.0], [0.0, 1.0], [-1.0, 2.0]])
                        .output("k", [[7.0], [6.0], [-2.0], [-1.0]])
                        .output("fc1", [[100.0]; 4])
                })
        };
        assert_eq!(toy(NetworkKind::Encoder).value("attention-confidence"), 5.5);
        assert_eq!(toy(NetworkKind::Encoder).value("attention-confidence[normalise=true]"), 2.75);
        assert_eq!(toy(NetworkKind::Decoder).value("attention-confidence"), 105.5);
    }

    /// Two samples of two tokens, two heads of width 1. The first head's largest are 3 and −1, magnitudes 3 and 1, mean 2; the
    /// second's 4 and 2, mean 3: 5, and 2.5 for each head.
    #[test]
    fn heads_by_hand() {
        let toy = Toy::new().block(2, 2).matrix("out", Role::AttentionOut, 0, [[1.0, 1.0]]).pass(
            Pass::forward().keep(Signal::Inputs),
            |seen| {
                let out = Mark::Input(seen.param("out"));
                seen.batch(2).value(out, [[1.0, -2.0], [3.0, 4.0], [-2.0, 0.0], [-1.0, 2.0]])
            },
        );
        assert_eq!(toy.value("attention-confidence[of=heads]"), 5.0);
        assert_eq!(toy.value("attention-confidence[variant=paper]"), 2.5);
    }
}
