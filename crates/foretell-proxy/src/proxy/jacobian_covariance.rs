//! Jacobian covariance: how differently the output depends on the input from sample to sample.
//!
//! ```text
//! s = −Σ_n ln(λ_n + k) + 1/(λ_n + k),  k = 1e-5        λ: eigenvalues of the correlation of J's rows
//! ```
//!
//! J has one row per sample: the gradient of the outputs at its embedded input. `of=positions` takes the gradient of the
//! position table instead, a row per channel, as published for FlexiBERT and GPT-2. The published texts fill all 512
//! positions of FlexiBERT: shorter ones leave columns of zeros and rows that depend on one another, each of which adds −1e5.
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
    version: 3,
    sentence: "Jacobian covariance: how differently the output depends on the input from sample to sample.",
    formula: "s = −Σ_n ln(λ_n + 1e-5) + 1/(λ_n + 1e-5)",
    paper: "Mellor et al. (2020); Serianni & Kalita (2023)",
    cost: Cost::Backward,
    options: &[("of", "samples", "samples: a row each, positions: a row per channel of the position table")],
    variants: &[
        ("published-flexibert", "of=positions,loss=sum,train=true,tokens=512"),
        ("published-gpt2", "of=positions"),
    ],
    departures: "a symmetric solver; encoders use a random projection",
    published: "FlexiBERT -.042/-.067; NAS-Bench-NLP .003/.005",
    ..About::SHAPE
};

/// The pass behind every Jacobian score.
pub(super) fn pass(subject: &dyn Subject, of: Rows) -> Pass {
    let loss = match subject.kind() {
        NetworkKind::Encoder => Loss::Projection,
        NetworkKind::Decoder => Loss::Natural,
        NetworkKind::Vision | NetworkKind::Recurrent => Loss::Sum,
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
    input: &ProxyInput,
    pass: &Pass,
    of: Rows,
) -> Result<(Vec<f64>, usize)> {
    let observed = input.pass(pass)?;
    if of == Rows::Positions {
        let table = input.layout.and_then(|layout| {
            layout.tensors().find(|(_, t)| t.role == Role::Position && t.shape[1] > 0).map(|(param, _)| param)
        });
        let Some(table) = table else { return input.undefined(about, "there is no table of positions") };
        let gradient = observed.layer(table).gradient.t();
        return Ok((gradient.to_vec(), gradient.rows()));
    }
    let found = observed.kept_gradients(|mark| (mark == Mark::Embedded).then_some(()));
    let Some((_, gradient)) = found.first() else {
        return input.undefined(about, "the input has no gradient");
    };
    let (n, values) = (observed.result.batch, gradient.to_vec());
    if input.subject.kind() != NetworkKind::Recurrent {
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
    fn needs(&self, subject: &dyn Subject) -> Vec<Pass> {
        vec![pass(subject, self.of)]
    }
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        let pass = pass(input.subject, self.of);
        let (rows, n) = jacobian(ABOUT, input, &pass, self.of)?;
        Ok(Score::from(spread(ABOUT, &rows, n)?).note(input.trap(&pass)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::toy::{Toy, near};
    use super::*;

    /// Rows (1, 2, 3) and (0, 2, 1), centred (−1, 0, 1) and (−1, 1, 0), have the correlation ½: λ = ½ and 3/2, and each adds
    /// −ln(λ + k) − 1/(λ + k), k = 1e-5.
    fn half() -> f64 {
        -[0.5, 1.5].map(|value: f64| value + 1e-5).iter().map(|v| v.ln() + 1.0 / v).sum::<f64>()
    }

    fn kept(loss: Loss) -> Pass {
        Pass { derivative: Derivative::Values, ..Pass::backward(loss) }.keep(Signal::InputGradient)
    }

    /// A row per sample.
    #[test]
    fn two_samples_by_hand() {
        let rows = [[1.0, 2.0, 3.0], [0.0, 2.0, 1.0]];
        for (kind, loss) in [
            (NetworkKind::Decoder, Loss::CrossEntropy),
            (NetworkKind::Encoder, Loss::Projection),
            (NetworkKind::Vision, Loss::Sum),
        ] {
            let toy = Toy::new().kind(kind);
            let toy = toy.pass(kept(loss), |seen| seen.batch(2).value_gradient(Mark::Embedded, rows));
            near(toy.value("jacobian-covariance"), half());
        }
    }

    /// Three steps of two samples of width 1, listed step after step, are the same rows.
    #[test]
    fn steps_by_hand() {
        let rows = [[1.0], [0.0], [2.0], [2.0], [3.0], [1.0]];
        let toy = Toy::new().kind(NetworkKind::Recurrent);
        let toy = toy.pass(kept(Loss::Sum), |seen| seen.batch(2).value_gradient(Mark::Embedded, rows));
        near(toy.value("jacobian-covariance"), half());
    }

    /// Three positions of two channels: a row per channel.
    #[test]
    fn positions_by_hand() {
        let toy = Toy::new()
            .table("positions", Role::Position, None, [[0.0; 2]; 3])
            .pass(Pass::backward(Loss::Natural), |seen| {
                seen.gradient("positions", [[1.0, 0.0], [2.0, 2.0], [3.0, 1.0]])
            });
        near(toy.value("jacobian-covariance[of=positions]"), half());
    }
}
