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

#[cfg(test)]
mod tests {
    use super::super::toy::Toy;
    use super::*;

    /// √(4 + 1 + 4) = 3 and √(9 + 16 + 144) = 13: 16. The table is left out.
    #[test]
    fn two_layers_by_hand() {
        let toy = Toy::new()
            .matrix("q", Role::Query, 0, [[2.0, 0.0, 0.0], [0.0, -1.0, 2.0]])
            .matrix("fc1", Role::FfnIn, 1, [[3.0, 4.0], [0.0, 12.0]])
            .table("words", Role::Embedding, None, [[100.0, 100.0]]);
        assert_eq!(toy.value("l2-norm"), 16.0);
        assert_eq!(toy.value("l2-norm[layers=first]"), 3.0);
    }
}
