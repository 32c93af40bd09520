//! Jacobian covariance: how differently the output depends on the input from sample to sample.
//!
//! ```text
//! s = −Σ_n ln(λ_n + k) + 1/(λ_n + k),  k = 1e-5        λ: eigenvalues of the correlation of J's rows
//! ```
//!
//! J has one row per sample: the gradient of the outputs at its embedded input. `of=positions` takes the gradient of the
//! position table instead, a row per channel, as published for FlexiBERT and GPT-2.
//!
//! - Paper: *Neural architecture search without training*, first version (Mellor et al., 2020); Serianni & Kalita (2023).
//! - Direction: higher is better. Cost: one forward, one backward.
//! - Departures from the paper: a symmetric eigenvalue solver, tiny negatives raised to 0. Decoders differentiate their
//!   loss, encoders a random projection.
use super::prelude::*;
use super::spectrum::spread;

/// See the [module documentation](self).
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct JacobianCovariance {
    of: Rows,
}

/// Which rows the Jacobian has.
#[derive(Debug, Default, Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Rows {
    #[default]
    Samples,
    Positions,
}

pub(super) const ABOUT: &About = &About {
    name: "jacobian-covariance",
    sentence: "Jacobian covariance: how differently the output depends on the input from sample to sample.",
    formula: "s = −Σ_n ln(λ_n + 1e-5) + 1/(λ_n + 1e-5)",
    paper: "Mellor et al. (2020); Serianni & Kalita (2023)",
    cost: Cost::Backward,
    options: &[("of", "samples", "samples: a row each, positions: a row per channel of the position table")],
    variants: &[
        ("published-flexibert", "of=positions,loss=sum,train=true"),
        ("published-gpt2", "of=positions"),
    ],
    departures: "a symmetric solver; encoders use a random projection",
    published: "FlexiBERT -.042/-.067; NAS-Bench-NLP .003/.005",
    ..About::SHAPE
};

/// The pass behind every Jacobian score.
pub(super) fn pass(architecture: &Architecture, of: Rows) -> Pass {
    let loss = match architecture.family().name() {
        "bert" | "flexibert" => Loss::Projection,
        "gpt2" | "transformer-xl" | "llama" => Loss::Natural,
        _ => Loss::Sum,
    };
    match of {
        Rows::Samples => {
            Pass { derivative: Derivative::Values, ..Pass::backward(loss) }.keep(Signal::InputGradient)
        }
        Rows::Positions => Pass::backward(loss),
    }
}

/// The rows of J, and how many there are.
pub(super) fn jacobian(
    about: &'static About,
    seen: &ProxyInput,
    pass: &Pass,
    of: Rows,
) -> Result<(Vec<f64>, usize)> {
    let observed = seen.pass(pass)?;
    if of == Rows::Positions {
        let table = seen.layout.and_then(|layout| {
            layout.tensors().find(|(_, t)| t.role == Role::Position && t.shape[1] > 0).map(|(param, _)| param)
        });
        let Some(table) = table else { return seen.undefined(about, "there is no table of positions") };
        let gradient = observed.layer(table).gradient.t();
        return Ok((gradient.to_vec(), gradient.rows()));
    }
    let found = observed.kept_gradients(|mark| (mark == Mark::Embedded).then_some(()));
    let Some((_, gradient)) = found.first() else {
        return seen.undefined(about, "the input has no gradient");
    };
    let (n, values) = (observed.seen.batch, gradient.to_vec());
    if seen.architecture.family().name() != "recurrent" {
        return Ok((values, n));
    }
    // Rows are listed step after step.
    let width = gradient.cols();
    let steps = values.len() / (n * width);
    let place = |sample: usize, t: usize| (t * n + sample) * width;
    let rows =
        (0..n).flat_map(|sample| (0..steps).flat_map(move |t| place(sample, t)..place(sample, t) + width));
    Ok((rows.map(|i| values[i]).collect(), n))
}

impl Proxy for JacobianCovariance {
    fn needs(&self, architecture: &Architecture) -> Vec<Pass> {
        vec![pass(architecture, self.of)]
    }
    fn score(&self, seen: &ProxyInput) -> Result<Score> {
        let pass = pass(seen.architecture, self.of);
        let (rows, n) = jacobian(ABOUT, seen, &pass, self.of)?;
        Ok(Score::from(spread(ABOUT, &rows, n)?).note(seen.trap(&pass)))
    }
}
