//! MGM: the mean of the Gram matrix of per-sample gradients.
//!
//! ```text
//! s = (1/N²) Σ_ij g_i · g_j = ‖(1/N) Σ_i g_i‖²
//! ```
//!
//! The mean of the samples' gradients is the gradient of the mean loss: no sample is looked at apart.
//!
//! - Paper: *KNAS: Green neural architecture search* (Xu et al., ICML 2021).
//! - Direction: higher is better. Cost: one forward, one backward.
//! - Departures from the paper: all entries of all matrices. The released code takes the first entries of eleven tensors.
use super::prelude::*;

/// See the [module documentation](self).
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Mgm {}

pub(super) const ABOUT: &About = &About {
    name: "mgm",
    aliases: &["knas"],
    sentence: "MGM: the mean of the Gram matrix of per-sample gradients.",
    formula: "s = ‖mean_i g_i‖²",
    paper: "KNAS (Xu et al., 2021)",
    cost: Cost::Backward,
    departures: "all entries of all matrices, not the first of eleven tensors",
    published: "AutoFormer .402, .429, .245 (T-Razor)",
    ..About::SHAPE
};

impl Proxy for Mgm {
    fn needs(&self, _: &Architecture) -> Vec<Pass> {
        vec![Pass::backward(Loss::Natural)]
    }
    fn score(&self, seen: &Signals) -> Result<Score> {
        let seen = seen.pass(&Pass::backward(Loss::Natural))?;
        seen.sum(ABOUT, Layers::Linear, |layer| Ok(layer.gradient.sum(|g| g * g)))
    }
}
