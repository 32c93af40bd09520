//! The forward pass of a BERT encoder; see [`crate::architecture::Bert`].

use super::{Input, Model, Output, Tape, Value};
use crate::architecture::names::bert::*;
use crate::architecture::{Architecture, Bert, Family, Tensor, families};
use crate::engine::activation::Activation;
use crate::engine::attention::{Attention, Mask};
use crate::engine::scalar::Scalar;

const EPS: f64 = 1e-12;
/// The id whose embedding is not learned.
const PADDING: u32 = 0;

/// See the [module documentation](self).
pub struct Network;

impl Model for Network {
    fn family(&self) -> &'static dyn Family {
        &families::bert::Family
    }
    fn forward<S: Scalar>(
        &self,
        architecture: &Architecture,
        input: &Input<S>,
        tape: &mut Tape<'_, S>,
    ) -> Output {
        let v = Bert(architecture);
        let (mut x, batch) = embed(input, tape);
        x = tape.embedded(x);
        for i in 0..v.num_layers() as usize {
            let (at, heads) = ([i, 0], v.num_heads(i) as usize);
            let head_dim = v.hidden_size() as usize / heads;
            let attention = Attention { dropout: tape.rate(), ..Attention::new(heads, head_dim, Mask::None) };
            let qkv = QKV.map(|names| tape.linear(x, names, at));
            let h = tape.attention(qkv, attention, batch, i);
            let h = tape.linear(h, MIXED, at);
            let h = tape.dropout(h);
            let h = tape.add(h, x);
            let mixed = tape.layer_norm(h, MIXED_NORM, at, EPS);
            let h = tape.linear(mixed, FFN_IN, at);
            let h = tape.activation(h, Activation::Gelu, i);
            let h = tape.linear(h, FFN_OUT, at);
            let h = tape.dropout(h);
            let h = tape.add(h, mixed);
            x = tape.layer_norm(h, FFN_NORM, at, EPS);
            x = tape.block(i, x);
        }
        let first = tape.mean_rows(x, batch, (0, 1));
        let pooled = tape.linear(first, POOLER, [0, 0]);
        let pooled = tape.activate(pooled, Activation::Tanh);
        Output { features: x, logits: Some(pooled), loss: None }
    }
    fn outputs<S: Scalar>(&self, _: &Architecture, output: Output, _: &mut Tape<'_, S>) -> Value {
        output.features
    }
    fn stock_names(&self, _: &Architecture, tensor: &Tensor) -> Vec<String> {
        vec![format!("bert.{}", tensor.name())]
    }
}

/// The normalised sum of word, segment and position embeddings, and the number of samples.
pub(super) fn embed<S: Scalar>(input: &Input<S>, tape: &mut Tape<'_, S>) -> (Value, usize) {
    let Input::Tokens { ids, types, batch, .. } = input else { panic!("an encoder of text reads tokens") };
    let words = tape.param(WORDS, [0, 0]);
    let segments = tape.param(SEGMENTS, [0, 0]);
    let positions = tape.param(POSITIONS, [0, 0]);
    let x = tape.words(ids, words, Some(PADDING));
    let types = if types.is_empty() { &vec![0; ids.len()] } else { types };
    let segments = tape.embedding(types, segments, None);
    let x = tape.add(x, segments);
    let x = tape.add_table(x, positions, *batch);
    let x = tape.layer_norm(x, EMBEDDING_NORM, [0, 0], EPS);
    (tape.dropout(x), *batch)
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::*;
    use serde_json::json;

    #[test]
    fn gradients_agree_with_differences() {
        let architecture = crate::space::read_architecture(&json!({"family": "bert", "vocab_size": 4,
            "context_len": 7, "hidden_size": 8, "num_layers": 2, "num_heads": [2, 4], "ffn_dim": [5, 6]}))
        .unwrap();
        let ids = [1, 2, 3, 2, 1, 1, 3, 1, 2, 2, 1, 3].to_vec();
        for types in [Vec::new(), [0, 0, 1, 1, 1, 1, 0, 1, 0, 1, 0, 1].to_vec()] {
            check::gradients(
                &architecture,
                &Input::Tokens { ids: ids.clone(), types, labels: Vec::new(), batch: 2 },
            );
        }
    }
}
