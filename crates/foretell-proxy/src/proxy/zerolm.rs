//! ZeroLM: what attention and feed-forward weights can carry, balanced by alpha.
//!
//! ```text
//! cap(W) = ‖W‖_F² / min(m, n)
//! s = α Σ_attention cap(W) + (1 − α) Σ_ffn cap(W)
//! ```
//!
//! The expected form, the default, replaces each capacity by its mean at initialisation, `max(m, n) · σ²`: no weight is
//! drawn, and equal shapes tie exactly. σ is that of the space's own initialisation. [`zerolm-weights`](super::zerolm_weights)
//! looks at real weights.
//!
//! - Paper: *ZeroLM* (Chen et al., 2025). Its full text was not at hand: the formula follows an independent
//!   re-implementation that agrees with the abstract and its numbers.
//! - Direction: higher is better. Cost: the architecture alone.
//! - Departures from the paper: the expectation, as said. Linear maps only: convolutions of an operator are left out.
use super::{About, Proxy, ProxyInput, Range, Score, ordered_sum};
use crate::architecture::{Form, Part};
use crate::error::{Error, Result};
use serde::Deserialize;

/// See the [module documentation](self).
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ZeroLm {
    alpha: f64,
}

impl Default for ZeroLm {
    fn default() -> Self {
        ZeroLm { alpha: 0.5 }
    }
}

pub(super) const ABOUT: &About = &About {
    name: "zerolm",
    sentence: "ZeroLM: what attention and feed-forward weights can carry, balanced by alpha.",
    formula: "s = α Σ_attention cap + (1 − α) Σ_ffn cap,  cap = max(m,n) σ²",
    paper: "ZeroLM (Chen et al., 2025)",
    options: &[("alpha", "0.5", "weight of attention; feed-forward has 1 − alpha")],
    ranges: &[Range::real("alpha", -2.0, 2.0)],
    departures: "the expectation over initial weights instead of one draw",
    published: "FlexiBERT .53/.76 (tau/rho)",
    ..About::SHAPE
};

impl Proxy for ZeroLm {
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        let (mut attention, mut ffn) = (Vec::new(), Vec::new());
        input.subject.tensors(&mut |tensor| {
            let Some((m, n)) = tensor.matrix().filter(|_| tensor.form != Form::Convolution) else { return };
            let capacity = m.max(n) as f64 * tensor.init.variance();
            match tensor.role.part() {
                Part::Attention => attention.push(capacity),
                Part::Ffn => ffn.push(capacity),
                _ => {}
            }
        });
        if attention.is_empty() && ffn.is_empty() {
            let reason = "there is neither attention nor a feed-forward layer".to_owned();
            return Err(Error::NotDefined { proxy: ABOUT.name, reason });
        }
        Ok(Score::from(self.alpha * ordered_sum(attention) + (1.0 - self.alpha) * ordered_sum(ffn)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::toy::Toy;
    use super::*;
    use crate::architecture::{Init, Role, Tensor};
    use crate::space::read_architecture;
    use serde_json::json;

    /// One GPT-2 layer, width 128, feed-forward 512, σ² = 4e-4, output maps 4e-4 / 2.
    /// Attention: 384·4e-4 + 128·2e-4 = 0.1792. Feed-forward: 512·4e-4 + 512·2e-4 = 0.3072.
    #[test]
    fn one_layer_by_hand() {
        let architecture =
            read_architecture(&json!({"space": "gpt2", "d_model": 128, "d_embed": 128, "div_val": 1,
            "n_head": [2], "d_inner": [512]}))
            .unwrap();
        for (alpha, expected) in [(0.0, 0.3072), (1.0, 0.1792), (0.25, 0.2752)] {
            let score = ZeroLm { alpha }.score(&ProxyInput::of(&architecture)).unwrap();
            assert!((score.value - expected).abs() < 1e-12);
        }
    }

    /// Variance 4 each. Attention 2 x 3: 3 · 4 = 12; feed-forward 1 x 5: 5 · 4 = 20; halves of both: 16. With α = 0.25:
    /// 3 + 15 = 18. The head and the convolution are left out.
    #[test]
    fn two_layers_by_hand() {
        let drawn = |name, role, form, shape: &[u64]| Tensor::new(name, role, form, shape, Init::Normal(2.0));
        let toy = Toy::new()
            .tensor(drawn("q", Role::Query, Form::Linear, &[2, 3]), &[0.0; 6])
            .tensor(drawn("fc1", Role::FfnIn, Form::LinearTransposed, &[5, 1]), &[0.0; 5])
            .tensor(drawn("conv", Role::SpanConvolution, Form::Convolution, &[7, 1, 1]), &[0.0; 7])
            .tensor(drawn("head", Role::Head, Form::Linear, &[9, 1]), &[0.0; 9]);
        assert_eq!(toy.value("zerolm"), 16.0);
        assert_eq!(toy.value("zerolm[alpha=0.25]"), 18.0);
    }
}
