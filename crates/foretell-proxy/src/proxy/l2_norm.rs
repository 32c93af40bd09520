//! Weight norm: how large the initial matrices are.
//!
//! ```text
//! s = Σ_ℓ ‖W_ℓ‖_F
//! ```
//!
//! - Paper: *Zero-Cost Proxies for Lightweight NAS* (Abdelfattah et al., ICLR 2021).
//! - Direction: higher is better. Cost: the initial weights.
//! - Departures from the paper: none known.
use super::prelude::*;

/// See the [module documentation](self).
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct L2Norm {}

pub(super) const ABOUT: &About = &About {
    name: "l2-norm",
    sentence: "Weight norm: how large the initial matrices are.",
    formula: "s = Σ_ℓ ‖W_ℓ‖_F",
    paper: "Zero-Cost Proxies for Lightweight NAS (Abdelfattah et al., 2021)",
    cost: Cost::Weights,
    ..About::SHAPE
};

impl Proxy for L2Norm {
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        let term = |(tensor, weight): (&Tensor, View)| {
            Term::of(tensor.name(), tensor.block, weight.sum(|w| w * w).sqrt())
        };
        Ok(Score::sum(input.matrices(Layers::Linear).map(term).collect()))
    }
}
