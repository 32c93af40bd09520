//! Plain: the signed product of weights and gradients.
//!
//! ```text
//! s = Σ_ℓ Σ ∂L/∂W_ℓ ⊙ W_ℓ
//! ```
//!
//! - Paper: *Zero-Cost Proxies for Lightweight NAS* (Abdelfattah et al., ICLR 2021).
//! - Direction: higher is better. Cost: one forward, one backward.
//! - Departures from the paper: none known.
use super::prelude::*;

/// See the [module documentation](self).
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Plain {}

pub(super) const ABOUT: &About = &About {
    name: "plain",
    sentence: "Plain: the signed product of weights and gradients.",
    formula: "s = Σ_ℓ Σ ∂L/∂W_ℓ ⊙ W_ℓ",
    paper: "Zero-Cost Proxies for Lightweight NAS (Abdelfattah et al., 2021)",
    cost: Cost::Backward,
    ..About::SHAPE
};

impl Proxy for Plain {
    fn needs(&self, _: &dyn Subject) -> Vec<Pass> {
        vec![Pass::backward(Loss::Natural)]
    }
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        let input = input.pass(&Pass::backward(Loss::Natural))?;
        input.sum(ABOUT, Layers::Linear, |layer| Ok(layer.gradient.sum_with(&layer.weight, |g, w| g * w)))
    }
}
