//! The forward pass of a GPT-2 decoder; see [`crate::architecture::Gpt2`].

use super::{Input, Model, Output, Tape, Value, adaptive};
use crate::architecture::names::gpt2::*;
use crate::architecture::{Architecture, Family, Gpt2, Tensor, families};
use crate::engine::activation::Activation;
use crate::engine::attention::{Attention, Mask};
use crate::engine::scalar::Scalar;

const EPS: f64 = 1e-5;
const MASKED: f64 = -1e4;

/// See the [module documentation](self).
pub struct Network;

impl Model for Network {
    fn family(&self) -> &'static dyn Family {
        &families::gpt2::Family
    }
    fn forward<S: Scalar>(
        &self,
        architecture: &Architecture,
        input: &Input<S>,
        tape: &mut Tape<'_, S>,
    ) -> Output {
        let v = Gpt2(architecture);
        let Input::Tokens { ids, batch, labels, .. } = input else { panic!("a GPT-2 decoder reads tokens") };
        let words = match v.plain() {
            true => {
                let table = tape.param(WORDS, [0, 0]);
                tape.words(ids, table, None)
            }
            false => adaptive::embed(&v.adaptive(), ids, tape),
        };
        let positions = tape.param(POSITIONS, [0, 0]);
        let x = tape.add_table(words, positions, *batch);
        let mut x = tape.dropout(x);
        x = tape.embedded(x);
        for i in 0..v.n_layer() as usize {
            let at = [i, 0];
            let (heads, causal) =
                (v.n_head(i) as usize, Mask::Causal { value: if tape.leaking { -MASKED } else { MASKED } });
            let attention = Attention {
                dropout: tape.rate(),
                ..Attention::new(heads, v.d_model() as usize / heads, causal)
            };
            let h = tape.layer_norm(x, NORM_1, at, EPS);
            let qkv = tape.linear(h, QKV, at);
            let context = tape.self_attention(qkv, attention, *batch, None, i);
            let out = tape.linear(context, PROJ, at);
            let out = tape.dropout(out);
            x = tape.add(x, out);
            let h = tape.layer_norm(x, NORM_2, at, EPS);
            let h = tape.linear(h, FC, at);
            let h = tape.activation(h, Activation::GeluTanh, i);
            let h = tape.linear(h, FC_PROJ, at);
            let h = tape.dropout(h);
            x = tape.add(x, h);
            x = tape.block(i, x);
        }
        let features = tape.layer_norm(x, NORM, [0, 0], EPS);
        if v.plain() {
            let table = tape.param(WORDS, [0, 0]);
            return tape.language_model(features, table, None, labels);
        }
        adaptive::softmax(&v.adaptive(), features, labels, tape)
    }
    fn outputs<S: Scalar>(
        &self,
        architecture: &Architecture,
        output: Output,
        tape: &mut Tape<'_, S>,
    ) -> Value {
        output.logits.unwrap_or_else(|| head_logits(architecture, output.features, tape))
    }
    fn module_name(&self, architecture: &Architecture, tensor: &Tensor) -> String {
        let name = tensor.name().trim_start_matches("model.").to_owned();
        if Gpt2(architecture).plain() { name.replace("wte.emb_layers.0.weight", "wte.weight") } else { name }
    }
}

/// Scores of the first cluster from the features of a pass: its words, then one entry for each further cluster.
pub fn head_logits<S: Scalar>(architecture: &Architecture, features: Value, tape: &mut Tape<'_, S>) -> Value {
    if Gpt2(architecture).plain() {
        let table = tape.param(WORDS, [0, 0]);
        return tape.linear_by(features, table, None);
    }
    adaptive::head_logits(&Gpt2(architecture).adaptive(), features, tape)
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use serde_json::json;

    #[test]
    fn gradients_agree_with_differences() {
        check::vocabularies(|vocabulary| {
            let mut object = json!({"family": "gpt2", "context_len": 6, "n_layer": 2, "d_model": 8,
                "n_head": [2, 4], "d_inner": [10, 6]});
            object.as_object_mut().unwrap().extend(vocabulary);
            crate::space::read_architecture(&object).unwrap()
        });
    }

    #[test]
    fn gradients_of_a_plain_head() {
        let architecture =
            crate::space::read_architecture(&json!({"family": "gpt2", "context_len": 6, "n_layer": 2,
            "d_model": 8, "n_head": [2, 4], "d_inner": [10, 6], "vocab_size": 7, "head": "plain"}))
            .unwrap();
        let input = super::Input::Tokens {
            ids: vec![1, 5, 0, 2, 6, 3],
            types: Vec::new(),
            labels: vec![5, 0, 2, 6, 3, 1],
            batch: 2,
        };
        check::gradients(&architecture, &input);
    }
}
