//! Jacobian cosine: how far apart the samples' Jacobians point.
//!
//! ```text
//! s = 1 − 1/(N² − N) · ½ Σ_{i≠j} |cos(J_i, J_j)|^(1/20)
//! ```
//!
//! - Paper: *Improving zero-shot neural architecture search with parameters scoring* (Celotti et al., 2020).
//! - Direction: higher is better. Cost: one forward, one backward.
//! - Departures from the paper: the ½ is the released code's, `form=paper` leaves it out. The diagonal is exactly zero: a residue
//!   of 1e-7 would be 0.45 under the twentieth root. Passes as for [jacobian-covariance](super::jacobian_covariance).
use super::jacobian_covariance::{Rows, jacobian, pass};
use super::prelude::*;
use super::spectrum::gram;

/// See the [module documentation](self).
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct JacobianCosine {
    of: Rows,
    form: Form,
}

/// Whether pairs count by half, as the released code has it.
#[derive(Debug, Default, Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Form {
    #[default]
    Code,
    Paper,
}

pub(super) const ABOUT: &About = &About {
    name: "jacobian-cosine",
    version: 2,
    sentence: "Jacobian cosine: how far apart the samples' Jacobians point.",
    formula: "s = 1 − 1/(N² − N) · ½ Σ_{i≠j} |cos(J_i, J_j)|^(1/20)",
    paper: "Celotti et al. (2020); Serianni & Kalita (2023)",
    cost: Cost::Backward,
    options: &[
        ("of", "samples", "samples: a row each, positions: a row per channel of the position table"),
        ("form", "code", "code: with the factor ½, as released; paper: without it, as printed"),
    ],
    variants: &[
        ("published-flexibert", "of=positions,loss=sum,train=true,tokens=512"),
        ("published-gpt2", "of=positions"),
    ],
    departures: "a diagonal of exactly zero; encoders use a random projection",
    published: "FlexiBERT .116/.149; GPT-2 .227/.362 (LPZero); NAS-Bench-NLP .264/.398",
    ..About::SHAPE
};

/// The score of n rows. A row of zeros is an error.
pub(super) fn cosine(about: &'static About, rows: &[f64], n: usize) -> Result<f64> {
    let products = gram(rows, n);
    let norms: Vec<f64> = (0..n).map(|i| products[i * n + i].sqrt()).collect();
    if let Some(row) = norms.iter().position(|norm| *norm == 0.0) {
        let reason = "its gradient is exactly zero".into();
        return Err(Error::Degenerate { proxy: about.name, place: format!("row {row}"), reason });
    }
    let pairs = (0..n).flat_map(|i| (0..n).filter(move |j| *j != i).map(move |j| (i, j)));
    let root = |(i, j): (usize, usize)| (products[i * n + j] / (norms[i] * norms[j])).abs().powf(0.05);
    Ok(1.0 - pairs.map(root).sum::<f64>() / 2.0 / (n * n - n) as f64)
}

impl Proxy for JacobianCosine {
    fn needs(&self, subject: &dyn Subject) -> Vec<Pass> {
        vec![pass(subject, self.of)]
    }
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        let pass = pass(input.subject, self.of);
        let (rows, n) = jacobian(ABOUT, input, &pass, self.of)?;
        let value = cosine(ABOUT, &rows, n)?;
        let value = if self.form == Form::Paper { 2.0 * value - 1.0 } else { value };
        Ok(Score::from(value).note(input.trap(&pass)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::toy::{Toy, near};
    use super::*;

    /// (3, 4) · (8, 6) = 48 over 5 · 10 is 0.96 for both pairs: 1 − ½ · 2 · 0.96^(1/20) / (4 − 2).
    #[test]
    fn two_samples_by_hand() {
        let pass = Pass { derivative: Derivative::Values, ..Pass::backward(Loss::Natural) };
        let toy = Toy::new().pass(pass.keep(Signal::InputGradient), |seen| {
            seen.batch(2).value_gradient(Mark::Embedded, [[3.0, 4.0], [8.0, 6.0]])
        });
        near(toy.value("jacobian-cosine"), 1.0 - 0.5 * 0.96f64.powf(0.05));
        near(toy.value("jacobian-cosine[form=paper]"), 1.0 - 0.96f64.powf(0.05));
    }

    /// A row per channel of the position table, the second turned round: the magnitude of the cosine counts.
    #[test]
    fn positions_by_hand() {
        let toy = Toy::new()
            .table("positions", Role::Position, None, [[0.0; 2]; 2])
            .pass(Pass::backward(Loss::Natural), |seen| {
                seen.gradient("positions", [[3.0, -8.0], [4.0, -6.0]])
            });
        near(toy.value("jacobian-cosine[of=positions]"), 1.0 - 0.5 * 0.96f64.powf(0.05));
    }
}
