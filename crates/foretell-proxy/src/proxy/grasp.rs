//! GraSP: how much of the gradient's flow would survive without each weight.
//!
//! ```text
//! s = −Σ_ℓ Σ W_ℓ ⊙ (H g)_ℓ        g: gradient of the weight matrices    H: Hessian of the loss
//! ```
//!
//! - Paper: *Picking winning tickets before training by preserving gradient flow* (Wang et al., ICLR 2020).
//! - Direction: higher is better by default. Published rankings disagree on the sign from space to space: `flip=true`
//!   turns it. Cost: a gradient and a Hessian-vector product, by forward-mode numbers run backward.
//! - Departures from the paper: none known.
use super::prelude::*;

/// See the [module documentation](self).
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Grasp {
    flip: bool,
}

pub(super) const ABOUT: &About = &About {
    name: "grasp",
    sentence: "GraSP: how much of the gradient's flow would survive without each weight.",
    formula: "s = −Σ_ℓ Σ W_ℓ ⊙ (H g)_ℓ",
    paper: "GraSP (Wang et al., 2020)",
    cost: Cost::Hessian,
    options: &[("flip", "false", "turn the sign, as the published GPT-2 ranking does")],
    variants: &[("published-gpt2", "flip=true"), ("lpzero-flexibert", "loss=sum,layers=first")],
    published: "AutoFormer .053, -.022, -.029 (T-Razor); FlexiBERT .122/.179; GPT-2 .765/.922 (LPZero)",
    ..About::SHAPE
};

fn pass() -> Pass {
    Pass { derivative: Derivative::Hessian(Layers::Linear), ..Pass::backward(Loss::Natural) }
}

impl Proxy for Grasp {
    fn needs(&self, _: &dyn Subject) -> Vec<Pass> {
        vec![pass()]
    }
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        let input = input.pass(&pass())?;
        let term = |layer: &Layer| Ok(-layer.gradient.sum_with(&layer.weight, |hg, w| hg * w));
        let score = input.sum(ABOUT, Layers::Linear, term)?;
        Ok(if self.flip { score.turned() } else { score })
    }
}

#[cfg(test)]
mod tests {
    use super::super::toy::Toy;
    use super::*;

    /// −(1·2 − 2·1 − 3·1) = 3 and −(2·(−4)) = 8: 11, and −11 with the sign turned.
    #[test]
    fn two_layers_by_hand() {
        let pass = Pass { derivative: Derivative::Hessian(Layers::Linear), ..Pass::backward(Loss::Natural) };
        let toy = Toy::new()
            .matrix("q", Role::Query, 0, [[1.0, -2.0, 3.0]])
            .matrix("fc1", Role::FfnIn, 1, [[2.0]])
            .pass(pass, |seen| seen.gradient("q", [[2.0, 1.0, -1.0]]).gradient("fc1", [[-4.0]]));
        assert_eq!(toy.value("grasp"), 11.0);
        assert_eq!(toy.value("grasp[flip=true]"), -11.0);
    }
}
