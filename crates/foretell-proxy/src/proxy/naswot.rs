//! NASWOT: how differently samples switch the activations on and off.
//!
//! ```text
//! over=samples: s = ln |det K|,  K = Σ_layers C Cᵀ + (1−C)(1−C)ᵀ        C: N x units, 1 where an activation is positive
//! over=tokens:  s = Σ_layers Σ K        K: tokens x tokens of the first sample
//! ```
//!
//! - Paper: *Neural architecture search without training* (Mellor et al., ICML 2021); activation distance of Serianni &
//!   Kalita (ACL 2023), whose FlexiBERT version is `over=tokens`, whose cells are `of=outputs`.
//! - Direction: higher is better. Cost: one forward pass.
//! - Departures from the paper: weights as initialised; the released vision code redraws linear maps and convolutions
//!   from N(0, 1), which `weights=redrawn` does.
use super::prelude::*;

/// See the [module documentation](self).
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Naswot {
    over: Over,
    of: Of,
    weights: Taken,
}

#[derive(Debug, Default, Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Over {
    #[default]
    Samples,
    Tokens,
}

#[derive(Debug, Default, Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Of {
    #[default]
    Inputs,
    Outputs,
}

#[derive(Debug, Default, Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Taken {
    #[default]
    Initial,
    Redrawn,
}

pub(super) const ABOUT: &About = &About {
    name: "naswot",
    aliases: &["activation-distance"],
    version: 2,
    sentence: "NASWOT: how differently samples switch the activations on and off.",
    formula: "s = ln |det Σ_layers C Cᵀ + (1−C)(1−C)ᵀ|",
    paper: "NASWOT (Mellor et al., 2021); activation distance of Serianni & Kalita (2023)",
    cost: Cost::Forward,
    options: &[
        (
            "over",
            "samples",
            "samples: log-determinant over the batch; tokens: sum over the tokens of the first sample",
        ),
        ("of", "inputs", "signs of what enters the activations, or of outputs"),
        ("weights", "initial", "initial; redrawn: linear maps and convolutions from N(0, 1)"),
    ],
    variants: &[
        ("published-flexibert", "over=tokens,normalise=true"),
        ("published-cells", "of=outputs"),
        ("published-vision", "weights=redrawn,batch=64"),
    ],
    departures: "weights as initialised by default",
    published: "AutoFormer .54/.71, .57/.75, .50/.71 (ETAS); GPT-2 .644/.818 (LPZero); NAS-Bench-NLP .223/.338",
    ..About::SHAPE
};

impl Naswot {
    fn pass(&self) -> Pass {
        let signal = if self.of == Of::Inputs { Signal::PreActivations } else { Signal::Activations };
        let weights =
            if self.weights == Taken::Redrawn { WeightTransform::Redrawn } else { WeightTransform::Keep };
        Pass { weights, ..Pass::forward().keep(signal) }
    }
}

impl Proxy for Naswot {
    fn needs(&self, _: &dyn Subject) -> Vec<Pass> {
        vec![self.pass()]
    }
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        let observed = input.pass(&self.pass())?;
        let values = observed.kept(|mark| match (mark, self.of) {
            (Mark::PreActivation(block), Of::Inputs) | (Mark::Activation(block), Of::Outputs) => Some(block),
            _ => None,
        });
        if values.is_empty() {
            return input.undefined(ABOUT, "there is no activation function");
        }
        let batch = observed.result.batch;
        if self.over == Over::Tokens {
            let term = |(block, z): &(u32, View)| {
                let tokens = z.rows() / batch;
                Term::of(
                    format!("activation of block {block}"),
                    *block,
                    agreement(&z.part(0, tokens), tokens, |row| row).iter().sum(),
                )
            };
            return Ok(Score::sum(values.iter().map(term).collect()));
        }
        let steps_first = input.subject.kind() == NetworkKind::Recurrent;
        let mut kernel = vec![0.0; batch * batch];
        for (_, z) in &values {
            let tokens = z.rows() / batch;
            let sample = |row: usize| if steps_first || tokens == 1 { row % batch } else { row / tokens };
            kernel.iter_mut().zip(agreement(z, batch, sample)).for_each(|(k, a)| *k += a);
        }
        let value = linalg::log_abs_det(Mat::new(&kernel, batch, batch)).unwrap_or(f64::NAN);
        if value == f64::NEG_INFINITY {
            let reason = "two samples switch every activation alike: the kernel is singular".into();
            return Err(Error::Degenerate { proxy: ABOUT.name, place: "kernel".into(), reason });
        }
        Ok(Score::from(value))
    }
}

/// Entries in which codes of two of `n` samples agree; `sample` says to which one a row belongs. Rows of one sample are
/// one code.
fn agreement(z: &View, n: usize, sample: impl Fn(usize) -> usize) -> Vec<f64> {
    let mut codes: Vec<Vec<u64>> = vec![Vec::new(); n];
    let words = z.cols().div_ceil(64);
    for row in 0..z.rows() {
        let code = &mut codes[sample(row)];
        let start = code.len();
        code.resize(start + words, 0);
        for j in 0..z.cols() {
            code[start + j / 64] |= u64::from(z.at(row, j) > 0.0) << (j % 64);
        }
    }
    let bits = (z.rows() / n * z.cols()) as f64;
    let differ = |a: &[u64], b: &[u64]| a.iter().zip(b).map(|(a, b)| (a ^ b).count_ones()).sum::<u32>();
    codes.iter().flat_map(|a| codes.iter().map(move |b| bits - f64::from(differ(a, b)))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::toy::{Toy, near};
    use super::*;

    /// Codes 101 and 110 of two samples agree in one of three places: K = [[3, 1], [1, 3]]. A second block, codes 0 and 1,
    /// agrees nowhere: K = [[4, 1], [1, 4]], ln 15.
    #[test]
    fn two_samples_by_hand() {
        let samples = |pass: Pass, mark: fn(u32) -> Mark| {
            Toy::new().pass(pass, |seen| {
                let first = [[1.0, -1.0, 2.0], [1.0, 1.0, -3.0]];
                seen.batch(2).value(mark(0), first).value(mark(1), [[0.0], [1.0]])
            })
        };
        let inputs = Pass::forward().keep(Signal::PreActivations);
        near(samples(inputs.clone(), Mark::PreActivation).value("naswot"), 15f64.ln());
        let outputs = Pass::forward().keep(Signal::Activations);
        near(samples(outputs, Mark::Activation).value("naswot[of=outputs]"), 15f64.ln());
        let redrawn = Pass { weights: WeightTransform::Redrawn, ..inputs };
        near(samples(redrawn, Mark::PreActivation).value("naswot[weights=redrawn]"), 15f64.ln());
    }

    /// Two samples of two tokens of one unit. Codes 10 and 11 agree in one of two places, K = [[2, 1], [1, 2]]: ln 3. Step
    /// after step, rows 1, 0, 1, 0 are the codes 11 and 00, which agree nowhere: ln 4; sample after sample they are 10 twice,
    /// which is singular. The tokens of a first sample 10 agree with themselves alone: 1 + 0 + 0 + 1 = 2.
    #[test]
    fn tokens_by_hand() {
        let toy = |kind, rows: [f64; 4]| {
            let toy = Toy::new().kind(kind);
            toy.pass(Pass::forward().keep(Signal::PreActivations), |seen| {
                seen.batch(2).value(Mark::PreActivation(0), rows.map(|x| [x]))
            })
        };
        let decoder = toy(NetworkKind::Decoder, [1.0, -1.0, 1.0, 1.0]);
        near(decoder.value("naswot"), 3f64.ln());
        assert_eq!(decoder.value("naswot[over=tokens]"), 2.0);
        near(toy(NetworkKind::Recurrent, [1.0, -1.0, 1.0, -1.0]).value("naswot"), 4f64.ln());
        let alike = toy(NetworkKind::Decoder, [1.0, -1.0, 1.0, -1.0]).score("naswot");
        assert_eq!(alike.unwrap_err().kind(), "degenerate");
    }
}
