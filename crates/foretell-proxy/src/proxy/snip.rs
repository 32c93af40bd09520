//! SNIP: how much the loss would feel the loss of each connection.
//!
//! ```text
//! s = Σ_ℓ Σ |∂L/∂W_ℓ ⊙ W_ℓ|        ℓ: weight matrices    L: the family's loss on one batch
//! ```
//!
//! - Paper: *SNIP* (Lee et al., ICLR 2019), as a score in *Zero-Cost Proxies for Lightweight NAS* (Abdelfattah et al., 2021).
//! - Direction: higher is better. Cost: one forward, one backward.
//! - Departures from the paper: the gradient of a mask of ones is taken as g ⊙ W, which it equals. The published GPT-2
//!   figures had dropout on: `variant=published`. LPZero's FlexiBERT row looks at the first matrix alone.
use super::prelude::*;

/// See the [module documentation](self).
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Snip {}

pub(super) const ABOUT: &About = &About {
    name: "snip",
    sentence: "SNIP: how much the loss would feel the loss of each connection.",
    formula: "s = Σ_ℓ Σ |∂L/∂W_ℓ ⊙ W_ℓ|",
    paper: "SNIP (Lee et al., 2019)",
    cost: Cost::Backward,
    variants: &[("published", "train=true"), ("lpzero-flexibert", "loss=sum,layers=first")],
    published: "AutoFormer .56/.74, .59/.76, .58/.79 (ETAS); FlexiBERT .119/.173; GPT-2 .858/.970 (LPZero), .40/.57 (ETAS)",
    ..About::SHAPE
};

impl Proxy for Snip {
    fn needs(&self, _: &dyn Subject) -> Vec<Pass> {
        vec![Pass::backward(Loss::Natural)]
    }
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        input.pass(&Pass::backward(Loss::Natural))?.sum(ABOUT, Layers::Linear, |layer| Ok(layer.saliency()))
    }
}
