//! Synaptic saliency: how much the loss would feel the loss of feed-forward connections.
//!
//! ```text
//! s = Σ_ℓ Σ |∂L/∂W_ℓ ⊙ W_ℓ|        ℓ: feed-forward matrices; all matrices of decoders; cells with their word table
//! ```
//!
//! - Paper: *Training-free Neural Architecture Search for RNNs and Transformers* (Serianni & Kalita, ACL 2023), T-Razor eq. 9.
//! - Direction: higher is better (on NAS-Bench-NLP it was found to be lower). Cost: one forward, one backward.
//! - Departures from the paper: `skip-first=true` leaves out the first matrix of every cell node, as the released code
//!   does by counting from one. Encoders under the sum of outputs have no gradient: random signs instead.
use super::prelude::*;

/// See the [module documentation](self).
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct SynapticSaliency {
    skip_first: bool,
}

pub(super) const ABOUT: &About = &About {
    name: "synaptic-saliency",
    sentence: "Synaptic saliency: how much the loss would feel the loss of feed-forward connections.",
    formula: "s = Σ_ℓ Σ |∂L/∂W_ℓ ⊙ W_ℓ|",
    paper: "Serianni & Kalita (2023); T-Razor eq. 9",
    cost: Cost::Backward,
    options: &[("skip-first", "false", "leave out the first matrix of every cell node, as released")],
    variants: &[("published", "loss=sum,train=true"), ("published-cells", "skip-first=true")],
    departures: "encoders use random signs instead of the sum, which has no gradient",
    published: "FlexiBERT .157/.266; GPT-2 .855/.970 (LPZero); NAS-Bench-NLP -.122/-.183",
    ..About::SHAPE
};

/// Feed-forward matrices of encoders and vision transformers, every matrix of a decoder, cells with their word table.
fn layers(subject: &dyn Subject) -> Layers {
    match subject.kind() {
        NetworkKind::Decoder => Layers::Linear,
        NetworkKind::Recurrent => Layers::Embedded,
        NetworkKind::Vision | NetworkKind::Encoder => Layers::Ffn,
    }
}

impl Proxy for SynapticSaliency {
    fn needs(&self, _: &dyn Subject) -> Vec<Pass> {
        vec![Pass::backward(Loss::Natural)]
    }
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        let observed = input.pass(&Pass::backward(Loss::Natural))?;
        let mut score = observed.sum(ABOUT, layers(input.subject), |layer| Ok(layer.saliency()))?;
        if self.skip_first {
            let all = score.terms.len();
            score.terms.retain(|term| !term.name.ends_with("weights.0"));
            if score.terms.len() == all {
                return Err(input.idle("skip-first", "it has no cell nodes"));
            }
            score.value = score.terms.iter().map(|term| term.value).sum();
        }
        Ok(score)
    }
}

#[cfg(test)]
mod tests {
    use super::super::toy::Toy;
    use super::*;

    fn toy(kind: NetworkKind) -> Toy {
        Toy::new()
            .kind(kind)
            .table("words", Role::Embedding, None, [[10.0]])
            .matrix("q", Role::Query, 0, [[-5.0]])
            .matrix("fc1", Role::FfnIn, 0, [[1.0, -2.0, 3.0]])
            .matrix("fc2", Role::FfnOut, 1, [[2.0]])
            .pass(Pass::backward(Loss::Natural), |seen| {
                seen.gradient("words", [[-1.0]])
                    .gradient("q", [[4.0]])
                    .gradient("fc1", [[2.0, 1.0, -1.0]])
                    .gradient("fc2", [[-4.0]])
            })
    }

    /// Feed-forward: |1·2| + |−2·1| + |3·(−1)| = 7 and |2·(−4)| = 8: 15. Decoders add the queries' |−5·4| = 20, cells also
    /// the word table's |10·(−1)| = 10.
    #[test]
    fn two_layers_by_hand() {
        assert_eq!(toy(NetworkKind::Encoder).value("synaptic-saliency"), 15.0);
        assert_eq!(toy(NetworkKind::Vision).value("synaptic-saliency"), 15.0);
        assert_eq!(toy(NetworkKind::Decoder).value("synaptic-saliency"), 35.0);
        assert_eq!(toy(NetworkKind::Recurrent).value("synaptic-saliency"), 45.0);
    }

    /// Without the first matrix of a node, |1·2| = 2, its second is left: |3·(−1)| = 3.
    #[test]
    fn first_matrices_are_skipped_where_asked() {
        let cell = Toy::new()
            .kind(NetworkKind::Recurrent)
            .matrix("a.weights.0", Role::CellLinear, 0, [[1.0]])
            .matrix("a.weights.1", Role::CellLinear, 0, [[3.0]])
            .pass(Pass::backward(Loss::Natural), |seen| {
                seen.gradient("a.weights.0", [[2.0]]).gradient("a.weights.1", [[-1.0]])
            });
        assert_eq!(cell.value("synaptic-saliency"), 5.0);
        assert_eq!(cell.value("synaptic-saliency[skip-first=true]"), 3.0);
    }
}
