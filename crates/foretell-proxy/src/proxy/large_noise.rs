//! Large noise: how much a Jacobian score changes when the embedded input is disturbed.
//!
//! ```text
//! of=covariance: s = 1 − |S(x) − S(x + a·v·ε)|        a = 10    v: variance over the batch    ε ~ N(0, 1)
//! of=cosine:     s = |S(x) − S(x + a·v·ε)| − 1        S: a Jacobian score
//! ```
//!
//! - Paper: Serianni & Kalita (ACL 2023), after Celotti et al. (2020).
//! - Direction: both published columns fall as the network gets better (tau −.259 and −.273 on NAS-Bench-NLP). The column
//!   of the cosine form is 1 − |ΔS|, so its sign is turned. The column of the covariance form is positive throughout, in the
//!   ten thousands: it holds |1 − |ΔS||, which is |ΔS| − 1 there, so turning it gives 1 − |ΔS|, the printed formula.
//!   Cost: two forward and backward passes.
//! - Departures from the paper: none known. `amplitude=0.1` is their small noise. Up to version 1 the covariance form had
//!   the opposite sign.
use super::jacobian_cosine::cosine;
use super::jacobian_covariance::{Rows, jacobian, pass};
use super::prelude::*;
use super::spectrum::spread;

/// See the [module documentation](self).
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LargeNoise {
    of: Of,
    amplitude: f64,
}

/// Which Jacobian score is compared.
#[derive(Debug, Default, Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Of {
    #[default]
    Covariance,
    Cosine,
}

impl Default for LargeNoise {
    fn default() -> Self {
        LargeNoise { of: Of::Covariance, amplitude: 10.0 }
    }
}

pub(super) const ABOUT: &About = &About {
    name: "large-noise",
    sentence: "Large noise: how much a Jacobian score changes when the embedded input is disturbed.",
    version: 3,
    formula: "s = ±(1 − |S(x) − S(x + 10·v·ε)|), plus for covariance, minus for cosine",
    paper: "Serianni & Kalita (2023)",
    cost: Cost::Passes,
    flipped: true,
    options: &[
        ("of", "covariance", "which Jacobian score: covariance or cosine (sign turned)"),
        ("amplitude", "10", "of the noise, in tenths: 0.1, 10, 100"),
    ],
    ranges: &[Range::real("amplitude", 0.1, 1e6)],
    departures: "the published covariance column is |1 − |ΔS||, which falls where 1 − |ΔS| grows; higher is better here",
    published: "NAS-Bench-NLP -.259/-.396, cosine -.273/-.410, with their sign",
    ..About::SHAPE
};

/// The Jacobian pass with noise of this amplitude.
pub(super) fn noisy(subject: &dyn Subject, amplitude: f64) -> Pass {
    Pass { noise: (10.0 * amplitude).round() as u32, ..pass(subject, Rows::Samples) }
}

/// The Jacobian score under noise of this amplitude.
pub(super) fn disturbed(about: &'static About, input: &ProxyInput, of: Of, amplitude: f64) -> Result<f64> {
    let (rows, n) = jacobian(about, input, &noisy(input.subject, amplitude), Rows::Samples)?;
    match of {
        Of::Covariance => spread(about, &rows, n),
        Of::Cosine => cosine(about, &rows, n),
    }
}

impl Proxy for LargeNoise {
    fn needs(&self, subject: &dyn Subject) -> Vec<Pass> {
        vec![noisy(subject, 0.0), noisy(subject, self.amplitude)]
    }
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        if (10.0 * self.amplitude).fract().abs() > 1e-6 {
            return Err(Error::option("amplitude", format!("{} is not a multiple of 0.1", self.amplitude)));
        }
        let [still, moved] =
            [0.0, self.amplitude].map(|amplitude| disturbed(ABOUT, input, self.of, amplitude));
        let steadiness = 1.0 - (still? - moved?).abs();
        Ok(Score::from(if self.of == Of::Covariance { steadiness } else { -steadiness }))
    }
}

/// Jacobians of two samples under noise, by hand: what the tests of noisy scores share.
#[cfg(test)]
pub(super) mod by_hand {
    use super::super::toy::Toy;
    use super::*;

    /// Rows (1, 2, 3) and (a, b, c): their correlation is that of (−1, 0, 1) and the centred second.
    pub(in super::super) fn toy(second: &[(u32, [f64; 3])]) -> Toy {
        second.iter().fold(Toy::new(), |toy, (noise, row)| {
            let pass =
                Pass { derivative: Derivative::Values, noise: *noise, ..Pass::backward(Loss::Natural) };
            toy.pass(pass.keep(Signal::InputGradient), |seen| {
                seen.batch(2).value_gradient(Mark::Embedded, [[1.0, 2.0, 3.0], *row])
            })
        })
    }

    /// The covariance score of two rows of correlation c: λ = 1 ± c.
    pub(in super::super) fn covariance(c: f64) -> f64 {
        -[1.0 - c, 1.0 + c].map(|value| value + 1e-5).iter().map(|v| v.ln() + 1.0 / v).sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::super::toy::near;
    use super::by_hand::{covariance, toy};

    /// Without noise (0, 2, 1) has the correlation ½; with ten times the variance (1, −2, 1) has 0, with a tenth (−2, 1, 1)
    /// has 3/√12: s = 1 − |S − S'|.
    #[test]
    fn covariances_by_hand() {
        let toy = toy(&[(0, [0.0, 2.0, 1.0]), (100, [1.0, -2.0, 1.0]), (1, [-2.0, 1.0, 1.0])]);
        near(toy.value("large-noise"), 1.0 - (covariance(0.5) - covariance(0.0)).abs());
        let small = 1.0 - (covariance(0.5) - covariance(3.0 / 12f64.sqrt())).abs();
        near(toy.value("large-noise[amplitude=0.1]"), small);
    }

    /// (1, 2, 3) · (0, 2, 1) = 7 over √14 √5, and · (1, 0, 0) = 1 over √14: cosine scores 1 − ½ |cos|^(1/20), s = |S − S'| − 1.
    #[test]
    fn cosines_by_hand() {
        let toy = toy(&[(0, [0.0, 2.0, 1.0]), (100, [1.0, 0.0, 0.0])]);
        let score = |cos: f64| 1.0 - 0.5 * cos.powf(0.05);
        let difference = score(7.0 / 70f64.sqrt()) - score(1.0 / 14f64.sqrt());
        near(toy.value("large-noise[of=cosine]"), difference.abs() - 1.0);
    }
}
