//! Synaptic diversity: how far attention weights are from collapsing to rank one, and how much the output cares.
//!
//! ```text
//! s = Σ_ℓ ‖∂L/∂W_ℓ‖_* · ‖W_ℓ‖_*        ℓ: Q, K, V, O of every block    ‖·‖_*: nuclear norm
//! ```
//!
//! - Paper: *Training-free Transformer Architecture Search* (Zhou et al., CVPR 2022), T-Razor eq. 8.
//! - Direction: higher is better. Cost: one forward, one backward, and the singular values of small matrices.
//! - Departures from the paper: vision transformers run on magnitudes, ones and the sum of logits, as printed. Encoders
//!   follow Serianni & Kalita (every linear map of the operator, real weights, a batch), decoders LPZero (every matrix,
//!   cross-entropy). `qkv=fused` treats a joint projection as one matrix, as the released code does. `norms=gradient` and
//!   `norms=weight` take one factor alone, as T-Razor's ablation does.
use super::prelude::*;

/// See the [module documentation](self).
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SynapticDiversity {
    qkv: Option<Qkv>,
    norms: Norms,
}

/// Which nuclear norms are multiplied.
#[derive(Debug, Default, Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Norms {
    #[default]
    Both,
    Gradient,
    Weight,
}

/// The option of [`Norms`], for every proxy that has it.
pub(super) const NORMS: (&str, &str, &str) =
    ("norms", "both", "both: ‖g‖_* ‖W‖_*; gradient or weight: this nuclear norm alone");

/// How joint projections of queries, keys and values are treated.
#[derive(Debug, Default, Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Qkv {
    #[default]
    Split,
    Fused,
    None,
}

/// The option of [`Qkv`], for every proxy that has it.
pub(super) const QKV: (&str, &str, &str) =
    ("qkv", "split", "split: Q, K, V apart; fused: one matrix, as decoders have it; none: left out");

pub(super) const ABOUT: &About = &About {
    name: "synaptic-diversity",
    version: 2,
    sentence: "Synaptic diversity: how far attention weights are from rank one, and how much the output cares.",
    formula: "s = Σ_ℓ ‖∂L/∂W_ℓ‖_* · ‖W_ℓ‖_*",
    paper: "TF-TAS (Zhou et al., 2022); T-Razor eq. 8",
    cost: Cost::Backward,
    options: &[QKV, NORMS],
    variants: &[("published", "loss=sum,train=true")],
    published: "FlexiBERT .021/.175; GPT-2 .841/.957 (LPZero)",
    ..About::SHAPE
};

/// How joint projections are treated. It is an error to ask for `fused` or `none` where there is no joint projection.
pub(super) fn joint(observed: &PassView, qkv: Option<Qkv>, input: &ProxyInput) -> Result<Qkv> {
    let fused = |layer: Layer| is_fused(layer.tensor);
    match qkv.unwrap_or_default() {
        Qkv::Fused | Qkv::None if !observed.layers(Layers::Linear).any(fused) => {
            Err(input.idle("qkv", "queries, keys and values are matrices of their own"))
        }
        qkv => Ok(qkv),
    }
}

/// `‖g‖_* ‖W‖_*` of a matrix, or of its queries, keys and values; or one of these norms alone.
pub(super) fn diversity(
    about: &'static About,
    input: &PassView,
    layer: &Layer,
    (qkv, norms): (Qkv, Norms),
) -> Result<f64> {
    let parts = match (is_fused(layer.tensor), qkv) {
        (true, Qkv::None) => return Ok(0.0),
        (true, Qkv::Split) => 3,
        _ => 1,
    };
    let weight = |part| input.weight_nuclear(about, layer, (part, parts));
    let gradient = |part| input.gradient_nuclear(about, layer, (part, parts));
    let term = |part| match norms {
        Norms::Both => Ok(weight(part)? * gradient(part)?),
        Norms::Gradient => gradient(part),
        Norms::Weight => weight(part),
    };
    (0..parts).map(term).sum()
}

impl SynapticDiversity {
    fn pass(&self, subject: &dyn Subject) -> Pass {
        match subject.kind() {
            NetworkKind::Vision => linearised(subject),
            _ => Pass::backward(Loss::Natural),
        }
    }
}

impl Proxy for SynapticDiversity {
    fn needs(&self, subject: &dyn Subject) -> Vec<Pass> {
        vec![self.pass(subject)]
    }
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        let observed = input.pass(&self.pass(input.subject))?;
        let (layers, qkv) = match input.subject.kind() {
            // Published on fused matrices, every one of them.
            NetworkKind::Decoder | NetworkKind::Recurrent => {
                if self.qkv.is_some_and(|qkv| qkv != Qkv::Fused) {
                    return Err(input.idle("qkv", "its matrices are taken as they are stored (qkv=fused)"));
                }
                (Layers::Linear, Qkv::Fused)
            }
            NetworkKind::Vision | NetworkKind::Encoder => {
                (Layers::Attention, joint(&observed, self.qkv, input)?)
            }
        };
        observed.sum(ABOUT, layers, |layer| diversity(ABOUT, &observed, layer, (qkv, self.norms)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::toy::{Toy, near};
    use super::*;

    /// Encoders: queries ‖diag(1, −2)‖_* · ‖diag(3, 4)‖_* = 3 · 7 = 21, output map 2 · 5 = 10: 31. The feed-forward layer
    /// is left out; decoders add its 1 · 6 = 6. Gradients alone have 3 + 2 = 5, weights 7 + 5 = 12.
    #[test]
    fn two_layers_by_hand() {
        let toy = |kind| {
            Toy::new()
                .kind(kind)
                .matrix("q", Role::Query, 0, [[3.0, 0.0], [0.0, 4.0]])
                .matrix("out", Role::AttentionOut, 1, [[0.0, 3.0, 4.0]])
                .matrix("fc1", Role::FfnIn, 1, [[6.0]])
                .pass(Pass::backward(Loss::Natural), |seen| {
                    seen.gradient("q", [[1.0, 0.0], [0.0, -2.0]])
                        .gradient("out", [[0.0, 2.0, 0.0]])
                        .gradient("fc1", [[-1.0]])
                })
        };
        near(toy(NetworkKind::Encoder).value("synaptic-diversity"), 31.0);
        near(toy(NetworkKind::Decoder).value("synaptic-diversity"), 37.0);
        near(toy(NetworkKind::Encoder).value("synaptic-diversity[norms=gradient]"), 5.0);
        near(toy(NetworkKind::Encoder).value("synaptic-diversity[norms=weight]"), 12.0);
    }

    /// Vision transformers look at magnitudes: [[1, 1], [1, 1]] has norm 2 where the signed one has 2√2; times 2 is 4.
    /// Queries, keys and values are diag(1, 2), diag(3, 0), diag(0, 1) with gradients diag(1, 1), diag(2, 0), diag(0, 3):
    /// 3·2 + 3·2 + 1·3 = 15. As one matrix, columns of lengths √10 and √5 with gradients √5 and √10: (√10 + √5)².
    #[test]
    fn joint_projections_by_hand() {
        let joint = [[1.0, 0.0], [0.0, 2.0], [3.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 1.0]];
        let gradient = [[1.0, 0.0], [0.0, 1.0], [2.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 3.0]];
        let toy = Toy::new()
            .kind(NetworkKind::Vision)
            .matrix("out", Role::AttentionOut, 0, [[1.0, 1.0], [1.0, -1.0]])
            .matrix("qkv", Role::QueryKeyValue, 0, joint)
            .pass(Pass::linearised(), |seen| {
                seen.gradient("out", [[1.0, 0.0], [0.0, 1.0]]).gradient("qkv", gradient)
            });
        near(toy.value("synaptic-diversity"), 19.0);
        near(toy.value("synaptic-diversity[qkv=none]"), 4.0);
        let fused = (10f64.sqrt() + 5f64.sqrt()).powi(2);
        near(toy.value("synaptic-diversity[qkv=fused]"), 4.0 + fused);
    }
}
