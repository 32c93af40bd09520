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

#[cfg(test)]
mod tests {
    use super::super::toy::Toy;
    use super::*;

    /// 1·1 − 2·1 − 3·1 + 0·5 − 1·2 − 1·2 = −8 and 2·3 − 1·4 = 2: −6. The table is left out.
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
        assert_eq!(toy.value("plain"), -6.0);
    }
}
