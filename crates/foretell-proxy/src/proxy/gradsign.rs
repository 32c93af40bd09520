//! GradSign: how much samples agree on the direction of each weight.
//!
//! ```text
//! s = Σ_k |Σ_i sign(∂ℓ_i/∂w_k)|        sign(0) = 0
//! ```
//!
//! - Paper: *GradSign: Model performance inference with theoretical insights* (Zhang & Jia, ICLR 2022).
//! - Direction: higher is better. Cost: a backward pass per sample.
//! - Departures from the paper: none known.
use super::prelude::*;

/// See the [module documentation](self).
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GradSign {}

pub(super) const ABOUT: &About = &About {
    name: "gradsign",
    sentence: "GradSign: how much samples agree on the direction of each weight.",
    formula: "s = Σ_k |Σ_i sign(∂ℓ_i/∂w_k)|",
    paper: "GradSign (Zhang & Jia, 2022)",
    cost: Cost::Samples,
    published: "AutoFormer .232, .176, .128 (T-Razor)",
    ..About::SHAPE
};

fn pass() -> Pass {
    Pass { derivative: Derivative::Samples(Fold::Signs, Layers::Linear), ..Pass::backward(Loss::Natural) }
}

impl Proxy for GradSign {
    fn needs(&self, _: &dyn Subject) -> Vec<Pass> {
        vec![pass()]
    }
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        Ok(Score::from(input.pass(&pass())?.result.numbers[0]))
    }
}

#[cfg(test)]
mod tests {
    use super::super::toy::Toy;
    use super::*;

    /// Three samples, two weights with signs +, +, − and −, −, −: |1| + |−3| = 4, which the pass folds.
    #[test]
    fn two_weights_by_hand() {
        let derivative = Derivative::Samples(Fold::Signs, Layers::Linear);
        let toy = Toy::new().matrix("q", Role::Query, 0, [[1.0, 1.0]]);
        let toy = toy
            .pass(Pass { derivative, ..Pass::backward(Loss::Natural) }, |seen| seen.batch(3).numbers([4.0]));
        assert_eq!(toy.value("gradsign"), 4.0);
    }
}
