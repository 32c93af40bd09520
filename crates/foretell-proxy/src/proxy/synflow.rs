//! SynFlow: what flows through all paths of the network with every weight made positive.
//!
//! ```text
//! s = Σ_ℓ Σ |∂R/∂|W_ℓ| ⊙ W_ℓ|        R: sum of the outputs for an input of ones, all weights replaced by magnitudes
//! ```
//!
//! - Paper: *Pruning neural networks without any data by iteratively conserving synaptic flow* (Tanaka et al., 2020).
//! - Direction: higher is better. Cost: one forward, one backward, in double precision.
//! - Departures from the paper: norms, softmax and GELU are kept, so flow is not conserved through them. Encoders end in
//!   a layer norm, where the sum says nothing: random signs instead. `mask=released` lets GPT-2 see future positions, as
//!   the released program does by taking the magnitude of its mask.
use super::prelude::*;

/// See the [module documentation](self).
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SynFlow {
    mask: Masked,
}

/// How the causal mask is treated.
#[derive(Debug, Default, Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Masked {
    #[default]
    Causal,
    Released,
}

impl Masked {
    /// Only GPT-2 has the mask that the released program turns round.
    pub(super) fn check(self, input: &ProxyInput) -> Result<()> {
        match self == Masked::Released && !input.subject.has_finite_mask() {
            true => Err(input.idle("mask", "only GPT-2 has a mask that can be released")),
            false => Ok(()),
        }
    }
}

pub(super) const ABOUT: &About = &About {
    name: "synflow",
    sentence: "SynFlow: what flows through all paths of the network with every weight made positive.",
    formula: "s = Σ_ℓ Σ |∂R/∂|W_ℓ| ⊙ W_ℓ|",
    paper: "SynFlow (Tanaka et al., 2020)",
    cost: Cost::Backward,
    options: &[("mask", "causal", "causal, or released: future positions of GPT-2 are let in")],
    variants: &[("published", "mask=released"), ("lpzero-flexibert", "feed=data,loss=sum,layers=first")],
    departures: "norms, softmax and GELU are kept; encoders use random signs instead of the sum",
    published: "FlexiBERT .322/.471; GPT-2 .632/.730 (LPZero)",
    ..About::SHAPE
};

/// The pass of both synaptic flows.
pub(super) fn pass(subject: &dyn Subject, mask: Masked) -> Pass {
    Pass { double: true, leaking: mask == Masked::Released, ..linearised(subject) }
}

impl Proxy for SynFlow {
    fn needs(&self, subject: &dyn Subject) -> Vec<Pass> {
        vec![pass(subject, self.mask)]
    }
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        self.mask.check(input)?;
        let input = input.pass(&pass(input.subject, self.mask))?;
        input.sum(ABOUT, Layers::Linear, |layer| Ok(layer.saliency()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::toy::Toy;
    use super::*;

    /// |1·2| + |−2·1| + |3·(−1)| = 7 and |−1·3| + |4·½| = 5: 12. With the released mask |1·1| = 1 and |−1·(−2)| = 2: 3.
    #[test]
    fn two_layers_by_hand() {
        let pass = Pass { double: true, ..Pass::linearised() };
        let toy = Toy::new()
            .matrix("q", Role::Query, 0, [[1.0, -2.0, 3.0]])
            .matrix("fc1", Role::FfnIn, 1, [[-1.0, 4.0]])
            .pass(pass.clone(), |seen| seen.gradient("q", [[2.0, 1.0, -1.0]]).gradient("fc1", [[3.0, 0.5]]))
            .pass(Pass { leaking: true, ..pass }, |seen| {
                seen.gradient("q", [[1.0, 0.0, 0.0]]).gradient("fc1", [[-2.0, 0.0]])
            });
        assert_eq!(toy.value("synflow"), 12.0);
        let error = toy.score("synflow[mask=released]").unwrap_err().to_string();
        assert!(error.contains("mask"), "{error}");
        assert_eq!(toy.finite_mask().value("synflow[mask=released]"), 3.0);
    }

    /// Encoders project on signs, where the sum says nothing: |1·5| = 5.
    #[test]
    fn encoders_project() {
        let pass = Pass { double: true, loss: Loss::Projection, ..Pass::linearised() };
        let toy = Toy::new().kind(NetworkKind::Encoder).matrix("q", Role::Query, 0, [[1.0]]);
        assert_eq!(toy.pass(pass, |seen| seen.gradient("q", [[5.0]])).value("synflow"), 5.0);
    }
}
