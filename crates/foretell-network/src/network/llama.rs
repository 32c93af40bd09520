//! The forward pass of a LLaMA-style decoder; see [`crate::architecture::Llama`].

use super::{Input, Model, Output, Tape};
use crate::architecture::names::llama::*;
use crate::architecture::{Architecture, Family, Llama, families};
use crate::engine::attention::{Attention, Mask};
use crate::engine::scalar::Scalar;

/// See the [module documentation](self).
pub struct Network;

impl Model for Network {
    fn family(&self) -> &'static dyn Family {
        &families::llama::Family
    }
    fn forward<S: Scalar>(
        &self,
        architecture: &Architecture,
        input: &Input<S>,
        tape: &mut Tape<'_, S>,
    ) -> Output {
        let v = Llama(architecture);
        let Input::Tokens { ids, batch, labels, .. } = input else {
            panic!("a decoder of text reads tokens")
        };
        let (batch, embedding) = (*batch, tape.param(EMBEDDING, [0, 0]));
        let (eps, base) = (v.eps(), v.rope_theta() as f64);
        let mut x = tape.words(ids, embedding, None);
        x = tape.embedded(x);
        for i in 0..v.num_layers() as usize {
            let at = [i, 0];
            let (heads, (wide, narrow)) = (v.num_heads(i) as usize, v.widths(i));
            let head_dim = wide as usize / heads;
            let causal = Mask::Causal { value: f64::NEG_INFINITY };
            let attention =
                Attention { kv_heads: narrow as usize / head_dim, ..Attention::new(heads, head_dim, causal) };
            let norm = tape.param(NORM_1, at);
            let h = tape.rms_norm(x, norm, eps);
            let [q, k, values] = [0, 1, 2].map(|n| {
                let [weight, bias] = QKV[n];
                let names = [weight, if v.attention_bias() == 1 { bias } else { "" }];
                tape.adapted_linear(h, names, QKV_ADAPTERS[n], at)
            });
            let [q, k] = [q, k].map(|value| tape.rotate(value, head_dim, base, batch));
            let context = tape.attention([q, k, values], attention, batch, i);
            let h = tape.linear(context, OUT, at);
            x = tape.add(x, h);
            let norm = tape.param(NORM_2, at);
            let h = tape.rms_norm(x, norm, eps);
            let gate = tape.adapted_linear(h, GATE, GATE_ADAPTER, at);
            let up = tape.adapted_linear(h, UP, UP_ADAPTER, at);
            let h = tape.swiglu(gate, up, i);
            let h = tape.adapted_linear(h, DOWN, DOWN_ADAPTER, at);
            x = tape.add(x, h);
            x = tape.block(i, x);
        }
        let norm = tape.param(NORM, [0, 0]);
        let features = tape.rms_norm(x, norm, eps);
        let head = if v.tie_embeddings() == 1 { embedding } else { tape.param(HEAD[0], [0, 0]) };
        tape.language_model(features, head, None, labels)
    }
    fn outputs_need_scores(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Weights, check};
    use super::*;
    use crate::engine::buffer::Workspace;
    use crate::seed::Seed;
    use serde_json::json;

    fn architecture(rank: Option<u32>, tied: bool) -> Architecture {
        crate::space::read_architecture(&json!({"family": "llama", "vocab_size": 4, "context_len": 6,
            "hidden_size": 8, "num_layers": 2, "num_heads": [4, 2], "num_kv_heads": [2, null], "ffn_dim": [5, 6],
            "head_dim": if tied { json!(6) } else { json!(null) }, "attention_bias": tied, "tie_embeddings": tied,
            "qkv_rank": rank, "up_rank": rank, "down_rank": rank.map(|rank| rank + 1)}))
        .unwrap()
    }

    fn tokens(last: u32) -> Input<f64> {
        Input::Tokens {
            ids: [1, 0, 3, 2, 1, 0, 3, 1, 2, last].to_vec(),
            types: Vec::new(),
            labels: Vec::new(),
            batch: 2,
        }
    }

    #[test]
    fn gradients_agree_with_differences() {
        for rank in [None, Some(2)] {
            for tied in [false, true] {
                check::gradients(&architecture(rank, tied), &tokens(0));
            }
        }
    }

    #[test]
    fn no_token_sees_a_later_one() {
        let architecture = architecture(None, false);
        let weights: Weights<f64> = Weights::standalone(&architecture, Seed(0));
        let [one, other] = [0, 3].map(|last| {
            let mut space = Workspace::new();
            let mut tape = Tape::new(&weights, &mut space, false);
            let logits = Network.forward(&architecture, &tokens(last), &mut tape).logits.unwrap();
            tape.data(logits).to_vec()
        });
        let earlier = 9 * 4;
        assert_eq!(one[..earlier], other[..earlier]);
        assert_ne!(one[earlier..], other[earlier..]);
    }
}
