//! LPZero's GPT-2 winner in closed form: what it measures once softmax of tiny gradients is input to be uniform.
//!
//! ```text
//! s = −(1/4L) Σ_l [2σ²(1 + 1/(2L)) + 3/d² + 1/f_l²]        σ = 0.02    d: width    f_l: feed-forward width
//! ```
//!
//! Per matrix the winner is mean(W²) + mean(softmax(g)²): the variance of the initialisation plus one over the squared
//! number of inputs.
//!
//! - Paper: *LPZero* (Dong et al., EMNLP 2024), GPT-2 winner, which sorts ascending: the sign is turned here.
//! - Direction: higher is better. Cost: the architecture alone.
//! - Departures from the paper: the closed form itself. Defined for GPT-2 only.
use super::{About, Proxy, ProxyInput, Score, ordered_sum};
use crate::architecture::Gpt2;
use crate::error::{Error, Result};
use serde::Deserialize;

/// See the [module documentation](self).
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LpZeroClosed {}

pub(super) const ABOUT: &About = &About {
    name: "lpzero-closed",
    sentence: "LPZero's GPT-2 winner in closed form: no gradient, the same ranking.",
    formula: "s = −(1/4L) Σ_l [2σ²(1 + 1/(2L)) + 3/d² + 1/f_l²],  σ = 0.02",
    paper: "LPZero (Dong et al., EMNLP 2024)",
    departures: "closed form of the released winner; GPT-2 only",
    published: "GPT-2 WikiText-103 .886/.980 with gradients (tau/rho)",
    ..About::SHAPE
};

impl Proxy for LpZeroClosed {
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        let Some(v) = input.subject.architecture().and_then(Gpt2::of) else {
            let reason = format!("the closed form holds for gpt2, not for {}", input.subject.name());
            return Err(Error::NotDefined { proxy: ABOUT.name, reason });
        };
        let (l, d) = (v.n_layer() as f64, v.d_model() as f64);
        let variance = 0.02 * 0.02;
        let layers = (0..v.0.positions()).map(|i| {
            let f = v.d_inner(i) as f64;
            2.0 * variance * (1.0 + 1.0 / (2.0 * l)) + 3.0 / (d * d) + 1.0 / (f * f)
        });
        Ok(Score::from(-ordered_sum(layers.collect()) / (4.0 * l)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::toy::Toy;
    use super::*;
    use crate::space::read_architecture;
    use serde_json::json;

    /// Two layers, d = 128, f = 512 and 1024: each 2 · 0.0004 · (1 + 1/4) = 0.001 and 3/2¹⁴, and 1/2¹⁸, 1/2²⁰ of f;
    /// over 4 · 2, negative.
    #[test]
    fn two_layers_by_hand() {
        let architecture =
            read_architecture(&json!({"space": "gpt2", "d_model": 128, "d_embed": 128, "div_val": 1,
            "n_head": [2, 2], "d_inner": [512, 1024]}))
            .unwrap();
        let score = LpZeroClosed {}.score(&ProxyInput::of(&architecture)).unwrap();
        let sum = 2.0 * 0.001 + 6.0 / 16_384.0 + 1.0 / 262_144.0 + 1.0 / 1_048_576.0;
        assert!((score.value + sum / 8.0).abs() < 1e-18);
        assert_eq!(Toy::new().score("lpzero-closed").unwrap_err().kind(), "not-defined");
    }
}
