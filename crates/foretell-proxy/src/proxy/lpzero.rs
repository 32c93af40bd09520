//! LPZero: the formulas that an evolution over formulas found best.
//!
//! ```text
//! FlexiBERT, as executed:  s = mean_l mean(h²)        h: output of the query or transform map of layer l
//! FlexiBERT, as printed:   s = Σ_l mean(1/h²) + log softmax_l(‖A‖_F)        A: outputs of the activations of layer l
//! GPT-2:                   s = −mean_ℓ [mean(W²) + mean(softmax(g)²)]        softmax down the columns of g as stored
//! ```
//!
//! - Paper: *LPZero: Language model zero-cost proxy search from zero* (Dong et al., EMNLP 2024), eq. 2.
//! - Direction: higher is better; the GPT-2 formula is sorted upwards there and its sign is turned. Cost: one forward
//!   pass (FlexiBERT), one forward and backward (GPT-2).
//! - Departures from the paper: in the released code "revert" negates instead of inverting and the log-softmax of one
//!   number is zero, which leaves the first line; `form=paper` is the second.
use super::prelude::*;
use std::collections::BTreeMap;

/// See the [module documentation](self).
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LpZero {
    winner: Winner,
    form: Form,
}

#[derive(Debug, Default, Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Winner {
    #[default]
    Auto,
    Flexibert,
    Gpt2,
}

#[derive(Debug, Default, Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Form {
    #[default]
    Code,
    Paper,
}

pub(super) const ABOUT: &About = &About {
    name: "lpzero",
    version: 2,
    sentence: "LPZero: the formulas that an evolution over formulas found best.",
    formula: "FlexiBERT: s = mean_l mean(h²); GPT-2: s = −mean_ℓ [mean(W²) + mean(softmax(g)²)]",
    paper: "LPZero (Dong et al., 2024)",
    cost: Cost::Backward,
    flipped: true,
    options: &[
        ("winner", "auto", "flexibert or gpt2; auto: that of encoders, respectively of all others"),
        ("form", "code", "code (as executed) or paper (as printed), for the FlexiBERT winner"),
    ],
    variants: &[("published", "train=true")],
    departures: "as executed, not as printed",
    published: "FlexiBERT .511/.748; GPT-2 .886/.980",
    ..About::SHAPE
};

impl LpZero {
    fn encoder(&self, subject: &dyn Subject) -> bool {
        let encoder = subject.kind() == NetworkKind::Encoder;
        self.winner == Winner::Flexibert || self.winner == Winner::Auto && encoder
    }

    fn pass(&self, subject: &dyn Subject) -> Pass {
        if self.encoder(subject) {
            Pass::forward().keep(Signal::Outputs).keep(Signal::Activations)
        } else {
            Pass::backward(Loss::Natural)
        }
    }
}

impl Proxy for LpZero {
    fn needs(&self, subject: &dyn Subject) -> Vec<Pass> {
        vec![self.pass(subject)]
    }
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        let observed = input.pass(&self.pass(input.subject))?;
        if !self.encoder(input.subject) {
            if self.form == Form::Paper {
                return Err(input.idle("form", "the GPT-2 winner has one form"));
            }
            let score = observed.sum(ABOUT, Layers::Linear, |layer| {
                let squares = layer.weight.sum(|w| w * w) / (layer.weight.len() as f64 + 1e-9);
                Ok(squares + softened(&layer.gradient))
            })?;
            let mean = score.value / score.terms.len() as f64;
            return Ok(Score { value: mean, ..score }.turned());
        }
        let queries = observed.kept(|mark| match mark {
            Mark::Output(param) if matches!(observed.tensor(param).role, Role::Query | Role::Transform) => {
                Some(param)
            }
            _ => None,
        });
        if queries.is_empty() {
            return input.undefined(ABOUT, "there is no query or transform map");
        }
        let power = |h: f64| if self.form == Form::Paper { h.powi(-2) } else { h * h };
        let mut terms: Vec<Term> = queries
            .iter()
            .map(|(param, h)| {
                Term::of(
                    observed.tensor(*param).name(),
                    observed.tensor(*param).block,
                    h.sum(power) / h.len() as f64,
                )
            })
            .collect();
        if self.form == Form::Paper {
            let norms = activation_norms(&observed);
            let largest = norms.values().copied().fold(f64::NEG_INFINITY, f64::max);
            let log_sum = norms.values().map(|n| (n - largest).exp()).sum::<f64>().ln() + largest;
            for term in &mut terms {
                let Some(norm) = term.block.and_then(|block| norms.get(&block)) else {
                    return input.undefined(ABOUT, format!("there is no activation beside {}", term.name));
                };
                term.value += norm - log_sum;
            }
            return Ok(Score::sum(terms));
        }
        let score = Score::sum(terms);
        Ok(Score { value: score.value / score.terms.len() as f64, ..score })
    }
}

/// The Frobenius norm of all that leaves the activations of a layer, by layer.
fn activation_norms(observed: &PassView) -> BTreeMap<u32, f64> {
    let block = |mark| if let Mark::Activation(block) = mark { Some(block) } else { None };
    let mut squares: BTreeMap<u32, f64> = BTreeMap::new();
    for (block, outputs) in observed.kept(block) {
        *squares.entry(block).or_default() += outputs.sum(|x| x * x);
    }
    squares.into_iter().map(|(block, sum)| (block, sum.sqrt())).collect()
}

/// The mean square of the softmax down each stored column.
fn softened(gradient: &View) -> f64 {
    let columns = (0..gradient.cols()).map(|j| {
        let largest = (0..gradient.rows()).map(|i| gradient.at(i, j)).fold(f64::NEG_INFINITY, f64::max);
        let powers: Vec<f64> = (0..gradient.rows()).map(|i| (gradient.at(i, j) - largest).exp()).collect();
        let sum: f64 = powers.iter().sum();
        powers.iter().map(|p| (p / sum).powi(2)).sum::<f64>()
    });
    columns.sum::<f64>() / gradient.len() as f64
}

#[cfg(test)]
mod tests {
    use super::super::toy::{Toy, near};
    use super::*;

    fn encoder() -> Toy {
        let pass = Pass::forward().keep(Signal::Outputs).keep(Signal::Activations);
        Toy::new()
            .kind(NetworkKind::Encoder)
            .matrix("q", Role::Query, 0, [[1.0]])
            .matrix("k", Role::Key, 0, [[1.0]])
            .matrix("mix", Role::Transform, 1, [[1.0]])
            .pass(pass, |seen| {
                seen.output("q", [[1.0, -2.0]])
                    .output("k", [[100.0]])
                    .value(Mark::Activation(0), [[3.0, -4.0]])
                    .output("mix", [[3.0]])
                    .value(Mark::Activation(1), [[5.0, 12.0]])
            })
    }

    /// As executed: queries (1 + 4) / 2 = 2.5, transform 9, mean 5.75. As printed: (1 + ¼) / 2 and 1/9, and the logarithm of
    /// the softmax of the norms 5 and 13: 5 + 13 − 2 ln(e⁵ + e¹³).
    #[test]
    fn encoders_by_hand() {
        assert_eq!(encoder().value("lpzero"), 5.75);
        let logs = 18.0 - 2.0 * (5f64.exp() + 13f64.exp()).ln();
        near(encoder().value("lpzero[form=paper]"), 0.625 + 1.0 / 9.0 + logs);
    }

    /// A layer with two activations, as feed-forward stacks have: 5 and 12 have the norm 13 together, and belong to the queries
    /// of their own layer, wherever they stand: 0.625 + 1/9 and 18 − 2 ln(e⁵ + e¹³), as above.
    #[test]
    fn activations_belong_to_their_layer() {
        let pass = Pass::forward().keep(Signal::Outputs).keep(Signal::Activations);
        let toy = Toy::new()
            .kind(NetworkKind::Encoder)
            .matrix("q", Role::Query, 0, [[1.0]])
            .matrix("mix", Role::Transform, 1, [[1.0]])
            .pass(pass, |seen| {
                seen.output("q", [[1.0, -2.0]])
                    .value(Mark::Activation(1), [[5.0]])
                    .value(Mark::Activation(1), [[12.0]])
                    .output("mix", [[3.0]])
                    .value(Mark::Activation(0), [[3.0, -4.0]])
            });
        let score = toy.score("lpzero[form=paper]").unwrap();
        let log_sum = (5f64.exp() + 13f64.exp()).ln();
        near(score.terms[0].value, 0.625 + 5.0 - log_sum);
        near(score.terms[1].value, 1.0 / 9.0 + 13.0 - log_sum);
    }

    /// Weights: 30 / (4 + 1e-9). Softmax down the columns (ln 3, 0) and (0, 0): ¾, ¼ and ½, ½, squares 0.625 and 0.5, over 4
    /// entries 0.28125. A single weight: 4 / (1 + 1e-9) + 1. Minus the mean of both.
    #[test]
    fn decoders_by_hand() {
        let toy = Toy::new()
            .matrix("q", Role::Query, 0, [[1.0, -2.0], [3.0, 4.0]])
            .matrix("fc1", Role::FfnIn, 0, [[2.0]])
            .pass(Pass::backward(Loss::Natural), |seen| {
                seen.gradient("q", [[3f64.ln(), 0.0], [0.0, 0.0]]).gradient("fc1", [[5.0]])
            });
        let sum = 30.0 / (4.0 + 1e-9) + 0.28125 + 4.0 / (1.0 + 1e-9) + 1.0;
        near(toy.value("lpzero"), -sum / 2.0);
        near(toy.value("lpzero[winner=gpt2]"), -sum / 2.0);
    }
}
