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
