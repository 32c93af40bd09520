//! Gradient norm: how hard one batch pulls on the weights.
//!
//! ```text
//! s = Σ_ℓ ‖∂L/∂W_ℓ‖_F        global: (Σ_ℓ ‖∂L/∂W_ℓ‖²)^½
//! ```
//!
//! - Paper: *Zero-Cost Proxies for Lightweight NAS* (Abdelfattah et al., ICLR 2021).
//! - Direction: higher is better. Cost: one forward, one backward.
//! - Departures from the paper: none known. The published GPT-2 figures had dropout on: `variant=published`.
use super::prelude::*;

/// See the [module documentation](self).
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GradNorm {
    global: bool,
}

pub(super) const ABOUT: &About = &About {
    name: "grad-norm",
    sentence: "Gradient norm: how hard one batch pulls on the weights.",
    formula: "s = Σ_ℓ ‖∂L/∂W_ℓ‖_F",
    paper: "Zero-Cost Proxies for Lightweight NAS (Abdelfattah et al., 2021)",
    cost: Cost::Backward,
    options: &[("global", "false", "the norm of all gradients together instead of the sum of layers")],
    variants: &[("published", "train=true"), ("lpzero-flexibert", "loss=sum,layers=first")],
    published: "AutoFormer .33/.51, .54/.72, .58/.77 (ETAS); FlexiBERT .133/.197; GPT-2 .834/.958 (LPZero), .15/.23 (ETAS)",
    ..About::SHAPE
};

impl Proxy for GradNorm {
    fn needs(&self, _: &dyn Subject) -> Vec<Pass> {
        vec![Pass::backward(Loss::Natural)]
    }
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        let input = input.pass(&Pass::backward(Loss::Natural))?;
        let mut score = input.sum(ABOUT, Layers::Linear, |layer| Ok(layer.gradient.sum(|g| g * g).sqrt()))?;
        if self.global {
            score.value = score.terms.iter().map(|term| term.value.powi(2)).sum::<f64>().sqrt();
        }
        Ok(score)
    }
}

#[cfg(test)]
mod tests {
    use super::super::toy::Toy;
    use super::*;

    /// √(1 + 4 + 4 + 0 + 0 + 16) = 5 and √(25 + 144) = 13: 18; together √(25 + 169) = √194. The table is left out.
    #[test]
    fn two_layers_by_hand() {
        let toy = Toy::new()
            .matrix("q", Role::Query, 0, [[7.0; 3]; 2])
            .matrix("fc1", Role::FfnIn, 1, [[7.0; 2]])
            .table("words", Role::Embedding, None, [[7.0]])
            .pass(Pass::backward(Loss::Natural), |seen| {
                seen.gradient("q", [[1.0, 2.0, -2.0], [0.0, 0.0, 4.0]])
                    .gradient("fc1", [[-5.0, 12.0]])
                    .gradient("words", [[100.0]])
            });
        assert_eq!(toy.value("grad-norm"), 18.0);
        assert_eq!(toy.value("grad-norm[global=true]"), 194f64.sqrt());
    }
}
