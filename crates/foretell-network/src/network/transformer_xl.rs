//! The forward pass of a Transformer-XL decoder on one segment; see
//! [`crate::architecture::TransformerXl`].
//!
//! In training it drops numbers of words, distances, both layers of the feed-forward and the features, but no attention
//! probability: the original's `dropatt` is 0.

use super::layer::Relation;
use super::{Input, Model, Output, Tape, Value, adaptive};
use crate::architecture::names::transformer_xl::*;
use crate::architecture::{Architecture, Family, Tensor, TransformerXl, families};
use crate::engine::activation::Activation;
use crate::engine::attention::{Attention, Mask};
use crate::engine::scalar::Scalar;

const EPS: f64 = 1e-5;
const MASKED: f64 = -1e30;

/// See the [module documentation](self).
pub struct Network;

impl Model for Network {
    fn family(&self) -> &'static dyn Family {
        &families::transformer_xl::Family
    }
    fn forward<S: Scalar>(
        &self,
        architecture: &Architecture,
        input: &Input<S>,
        tape: &mut Tape<'_, S>,
    ) -> Output {
        let v = TransformerXl(architecture);
        let Input::Tokens { ids, batch, labels, .. } = input else {
            panic!("a Transformer-XL decoder reads tokens")
        };
        let (tokens, width) = (ids.len() / batch, v.d_model() as usize);
        let x = adaptive::embed(&v.adaptive(), ids, tape);
        let mut x = tape.dropout(x);
        x = tape.embedded(x);
        let reach = tape.distances(tokens);
        let distances = tape.input(&sinusoids(reach, width), reach, width);
        let distances = tape.dropout(distances);
        for i in 0..v.n_layer() as usize {
            let at = [i, 0];
            let heads = v.n_head(i) as usize;
            let attention = Attention::new(heads, width / heads, Mask::Causal { value: MASKED });
            let qkv = tape.linear(x, QKV, at);
            let table = tape.linear(distances, RELATIVE, at);
            let [content_bias, position_bias] =
                [CONTENT_BIAS, POSITION_BIAS].map(|name| tape.param(name, at));
            let relation = Relation { table, content_bias, position_bias };
            let context = tape.xl_attention(qkv, relation, attention, *batch, i);
            let out = tape.linear(context, OUT, at);
            let out = tape.dropout(out);
            x = tape.add(x, out);
            x = tape.layer_norm(x, NORM_1, at, EPS);
            let h = tape.linear(x, FC_1, at);
            let h = tape.activation(h, Activation::Relu, i);
            let h = tape.dropout(h);
            let h = tape.linear(h, FC_2, at);
            let h = tape.dropout(h);
            x = tape.add(x, h);
            x = tape.layer_norm(x, NORM_2, at, EPS);
            x = tape.block(i, x);
        }
        let features = tape.dropout(x);
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
    fn module_name(&self, _: &Architecture, tensor: &Tensor) -> String {
        tensor.name().trim_start_matches("model.").to_owned()
    }
}

/// Scores of the first cluster from the features of a pass: its words, then one entry for each further cluster.
pub fn head_logits<S: Scalar>(architecture: &Architecture, features: Value, tape: &mut Tape<'_, S>) -> Value {
    adaptive::head_logits(&TransformerXl(architecture).adaptive(), features, tape)
}

/// R: a row per distance, farthest first; sines of all frequencies `10000^(−2k/d)`, then cosines.
fn sinusoids<S: Scalar>(tokens: usize, width: usize) -> Vec<S> {
    let sines = width.div_ceil(2);
    let angle = |distance: usize, k: usize| distance as f64 * 1e4_f64.powf(-((2 * k) as f64) / width as f64);
    let entry = |distance: usize, col: usize| {
        if col < sines { angle(distance, col).sin() } else { angle(distance, col - sines).cos() }
    };
    let rows = (0..tokens).rev();
    rows.flat_map(|distance| (0..width).map(move |col| S::from_f64(entry(distance, col)))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::*;
    use serde_json::json;

    #[test]
    fn gradients_agree_with_differences() {
        check::vocabularies(|vocabulary| {
            let mut object = json!({"family": "transformer-xl", "context_len": 6, "n_layer": 2, "d_model": 8,
                "n_head": [2, 4], "d_inner": [10, 6]});
            object.as_object_mut().unwrap().extend(vocabulary);
            crate::space::read_architecture(&object).unwrap()
        });
    }

    /// Distance 0 is last: sine 0, cosine 1. Distance 1 before it, the first frequency being 1.
    #[test]
    fn positions_count_down() {
        let rows: Vec<f64> = sinusoids(3, 4);
        assert_eq!(rows[8..], [0.0, 0.0, 1.0, 1.0]);
        assert_eq!([rows[4], rows[6], rows[0]], [1f64.sin(), 1f64.cos(), 2f64.sin()]);
        assert_eq!(rows[5], 0.01f64.sin());
    }
}
