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

#[cfg(test)]
mod tests {
    use super::super::toy::Toy;
    use super::*;

    /// |1·1| + |−2·1| + |3·(−1)| + |0·5| + |1·(−2)| + |−1·2| = 10 and |2·3| + |−1·4| = 10: 20. The table is left out.
    #[test]
    fn two_layers_by_hand() {
        let toy = Toy::new()
            .matrix("q", Role::Query, 0, [[1.0, -2.0, 3.0], [0.0, 1.0, -1.0]])
            .matrix("fc1", Role::FfnIn, 1, [[2.0, -1.0]])
            .table("words", Role::Embedding, None, [[100.0]])
            .pass(Pass::backward(Loss::Natural), |seen| {
                seen.gradient("q", [[1.0, 1.0, -1.0], [5.0, -2.0, 2.0]])
                    .gradient("fc1", [[3.0, 4.0]])
                    .gradient("words", [[100.0]])
            });
        assert_eq!(toy.value("snip"), 20.0);
        assert_eq!(toy.value("snip[normalise=true]"), 10.0);
    }
}
