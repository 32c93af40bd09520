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
//! - Departures from the paper: none by default. As released (`form=halves`, a backward pass per sample) the first and second
//!   25 entries of the first eleven tensors with 50 or more are centred and multiplied: `mean_it (a_it · b_it) / 2500`.
use super::prelude::*;

/// See the [module documentation](self).
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Mgm {
    form: Form,
}

#[derive(Debug, Default, Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Form {
    #[default]
    Gram,
    Halves,
}

pub(super) const ABOUT: &About = &About {
    name: "mgm",
    aliases: &["knas"],
    sentence: "MGM: the mean of the Gram matrix of per-sample gradients.",
    formula: "s = ‖mean_i g_i‖²",
    paper: "KNAS (Xu et al., 2021)",
    cost: Cost::Backward,
    options: &[(
        "form",
        "gram",
        "gram: the mean of all inner products; halves: as released, leading entries of eleven tensors",
    )],
    variants: &[("released", "form=halves")],
    published: "AutoFormer .402, .429, .245 (T-Razor)",
    ..About::SHAPE
};

impl Mgm {
    fn pass(&self) -> Pass {
        let derivative = match self.form {
            Form::Gram => Derivative::Weights,
            Form::Halves => Derivative::Samples(Fold::Halves, Layers::Linear),
        };
        Pass { derivative, ..Pass::backward(Loss::Natural) }
    }
}

impl Proxy for Mgm {
    fn needs(&self, _: &dyn Subject) -> Vec<Pass> {
        vec![self.pass()]
    }
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        let input = input.pass(&self.pass())?;
        if self.form == Form::Halves {
            let products = &input.result.numbers;
            return Ok(Score::from(products.iter().sum::<f64>() / products.len() as f64 / 2500.0));
        }
        input.sum(ABOUT, Layers::Linear, |layer| Ok(layer.gradient.sum(|g| g * g)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::toy::Toy;
    use super::*;

    /// 1 + 4 + 9 = 14 and 4: 18; the table is left out. As released, products of 5000 and 10000 have the mean 7500, over
    /// 2500: 3.
    #[test]
    fn two_layers_by_hand() {
        let halves = Derivative::Samples(Fold::Halves, Layers::Linear);
        let toy = Toy::new()
            .matrix("q", Role::Query, 0, [[7.0; 3]])
            .matrix("fc1", Role::FfnIn, 1, [[7.0]])
            .table("words", Role::Embedding, None, [[7.0]])
            .pass(Pass::backward(Loss::Natural), |seen| {
                seen.gradient("q", [[1.0, -2.0, 3.0]]).gradient("fc1", [[-2.0]]).gradient("words", [[100.0]])
            })
            .pass(Pass { derivative: halves, ..Pass::backward(Loss::Natural) }, |seen| {
                seen.numbers([5000.0, 10_000.0])
            });
        assert_eq!(toy.value("mgm"), 18.0);
        assert_eq!(toy.value("mgm[form=halves]"), 3.0);
    }
}
