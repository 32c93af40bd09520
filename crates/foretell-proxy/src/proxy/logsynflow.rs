//! Logarithmic SynFlow: synaptic flow with gradients tamed by a logarithm.
//!
//! ```text
//! s = Σ_ℓ Σ |W_ℓ| · |ln |∂R/∂|W_ℓ|||        form=log1p: Σ |W_ℓ| · ln(1 + |∂R/∂|W_ℓ||)
//! ```
//!
//! - Paper: *FreeREA* (Cavagnero et al., 2023) with ln(1 + g); *LPZero* eq. 16 has the form above.
//! - Direction: higher is better. Cost: one forward, one backward, in double precision.
//! - Departures from the paper: gradients of zero are skipped. As in [synflow](super::synflow) otherwise.
use super::prelude::*;
use super::synflow::{Masked, pass};

/// See the [module documentation](self).
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogSynFlow {
    mask: Masked,
    form: Form,
}

#[derive(Debug, Default, Deserialize, Clone, Copy)]
#[serde(rename_all = "kebab-case")]
enum Form {
    #[default]
    Log,
    Log1p,
}

pub(super) const ABOUT: &About = &About {
    name: "logsynflow",
    sentence: "Logarithmic SynFlow: synaptic flow with gradients tamed by a logarithm.",
    formula: "s = Σ_ℓ Σ |W_ℓ| · |ln |∂R/∂|W_ℓ|||",
    paper: "LPZero eq. 16; FreeREA (Cavagnero et al., 2023)",
    cost: Cost::Backward,
    options: &[
        ("form", "log", "log: |ln|g||, log1p: ln(1 + |g|)"),
        ("mask", "causal", "causal, or released: future positions of GPT-2 are let in"),
    ],
    variants: &[("published", "mask=released"), ("lpzero-flexibert", "feed=data,loss=sum,layers=first")],
    departures: "gradients of zero are skipped",
    published: "FlexiBERT .334/.491; GPT-2 .836/.962 (LPZero)",
    ..About::SHAPE
};

impl Proxy for LogSynFlow {
    fn needs(&self, subject: &dyn Subject) -> Vec<Pass> {
        vec![pass(subject, self.mask)]
    }
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        self.mask.check(input)?;
        let input = input.pass(&pass(input.subject, self.mask))?;
        let log = |g: f64| match self.form {
            Form::Log if g == 0.0 => 0.0,
            Form::Log => g.abs().ln().abs(),
            Form::Log1p => g.abs().ln_1p(),
        };
        input.sum(ABOUT, Layers::Linear, |layer| {
            Ok(layer.gradient.sum_with(&layer.weight, |g, w| w.abs() * log(g)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::toy::{Toy, near};
    use super::*;

    /// 1·|ln e| + 2·|ln e⁻²| + nothing for a gradient of 0 = 5, and 4·|ln e³| = 12: 17. With ln(1 + g):
    /// ln(1 + e) + 2 ln(1 + e⁻²) + 3 ln 1 + 4 ln(1 + e³).
    #[test]
    fn two_layers_by_hand() {
        let e = std::f64::consts::E;
        let toy = Toy::new()
            .matrix("q", Role::Query, 0, [[1.0, -2.0, 3.0]])
            .matrix("fc1", Role::FfnIn, 1, [[4.0]])
            .pass(Pass { double: true, ..Pass::linearised() }, |seen| {
                seen.gradient("q", [[e, e.powi(-2), 0.0]]).gradient("fc1", [[-e.powi(3)]])
            });
        near(toy.value("logsynflow"), 17.0);
        let log = |g: f64| (1.0 + g).ln();
        near(toy.value("logsynflow[form=log1p]"), log(e) + 2.0 * log(e.powi(-2)) + 4.0 * log(e.powi(3)));
    }
}
