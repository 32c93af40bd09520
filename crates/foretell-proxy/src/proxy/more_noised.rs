//! More noised: the product of a Jacobian score over growing noise.
//!
//! ```text
//! s = ± S(x) · S(x + 0.1·v·ε) · S(x + 10·v·ε) · S(x + 100·v·ε)        S: a Jacobian score
//! ```
//!
//! - Paper: Serianni & Kalita (ACL 2023), after Celotti et al. (2020).
//! - Direction: with the cosine score higher is better; with the covariance score the original was found to be
//!   lower-is-better and its sign is turned. Cost: four forward and backward passes.
//! - Departures from the paper: none known.
use super::large_noise::{Of, disturbed, noisy};
use super::prelude::*;

/// See the [module documentation](self).
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MoreNoised {
    of: Of,
}

pub(super) const ABOUT: &About = &About {
    name: "more-noised",
    version: 2,
    sentence: "More noised: the product of a Jacobian score over growing noise.",
    formula: "s = ± Π_a S(x + a·v·ε), a = 0, 0.1, 10, 100",
    paper: "Serianni & Kalita (2023)",
    cost: Cost::Passes,
    flipped: true,
    options: &[("of", "covariance", "which Jacobian score: covariance (sign turned) or cosine")],
    published: "NAS-Bench-NLP -.273/-.412, cosine .280/.417, with their sign",
    ..About::SHAPE
};

const AMPLITUDES: [f64; 4] = [0.0, 0.1, 10.0, 100.0];

impl Proxy for MoreNoised {
    fn needs(&self, subject: &dyn Subject) -> Vec<Pass> {
        AMPLITUDES.map(|amplitude| noisy(subject, amplitude)).into()
    }
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        let scores = AMPLITUDES.iter().map(|amplitude| disturbed(ABOUT, input, self.of, *amplitude));
        let product = scores.product::<Result<f64>>()?;
        Ok(Score::from(if self.of == Of::Covariance { -product } else { product }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::large_noise::by_hand::{covariance, toy};
    use super::super::toy::near;

    /// Noise of 0, 0.1, 10 and 100 times the variance with correlations ½, 0, 3/√12 and 5/√28: minus the product of the
    /// four covariance scores. Cosine scores are multiplied as they are.
    #[test]
    fn products_by_hand() {
        let rows = [[0.0, 2.0, 1.0], [1.0, -2.0, 1.0], [-2.0, 1.0, 1.0], [-3.0, 1.0, 2.0]];
        let toy = toy(&[(0, rows[0]), (1, rows[1]), (100, rows[2]), (1000, rows[3])]);
        let correlations = [0.5, 0.0, 3.0 / 12f64.sqrt(), 5.0 / 28f64.sqrt()];
        near(toy.value("more-noised"), -correlations.map(covariance).iter().product::<f64>());
        // (1, 2, 3) · row: 7, 0, 3, 5; squared lengths 14 and 5, 6, 6, 14.
        let cosines = [7.0 / 70f64.sqrt(), 0.0, 3.0 / 84f64.sqrt(), 5.0 / 14.0];
        let product: f64 = cosines.iter().map(|cos| 1.0 - 0.5 * cos.powf(0.05)).product();
        near(toy.value("more-noised[of=cosine]"), product);
    }
}
