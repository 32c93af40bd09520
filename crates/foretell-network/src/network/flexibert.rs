//! The forward pass of a FlexiBERT encoder; see [`crate::architecture::FlexiBert`].

use super::bert::embed;
use super::{Input, Model, Output, Tape, Value};
use crate::architecture::names::flexibert::*;
use crate::architecture::{Architecture, Family, FlexiBert, Mixer, families};
use crate::engine::activation::Activation;
use crate::engine::attention::{Attention, Mask};
use crate::engine::dynamic_conv::DynamicConv;
use crate::engine::fourier::Transform;
use crate::engine::scalar::Scalar;

const EPS: f64 = 1e-12;

/// See the [module documentation](self).
pub struct Network;

impl Model for Network {
    fn family(&self) -> &'static dyn Family {
        &families::flexibert::Family
    }
    fn forward<S: Scalar>(
        &self,
        architecture: &Architecture,
        input: &Input<S>,
        tape: &mut Tape<'_, S>,
    ) -> Output {
        let v = FlexiBert(architecture);
        let (mut x, batch) = embed(input, tape);
        if v.embedding_size() != v.h() {
            x = tape.linear(x, PROJECT, [0, 0]);
        }
        x = tape.embedded(x);
        for i in 0..v.num_layers() as usize {
            let at = [i, 0];
            let mixed = mix(&v, i, x, batch, tape);
            let mut h = tape.linear(mixed, FFN_IN, at);
            h = tape.activation(h, Activation::Gelu, i);
            for n in 1..v.ffn(i).count() {
                h = tape.linear(h, FFN_MID, [i, n - 1]);
                h = tape.activation(h, Activation::Gelu, i);
            }
            h = tape.linear(h, FFN_OUT, at);
            h = tape.dropout(h);
            h = tape.add(h, mixed);
            x = tape.layer_norm(h, FFN_NORM, at, EPS);
            x = tape.block(i, x);
        }
        Output { features: x, logits: None, loss: None }
    }
}

/// The operation of layer i. A transform is passed on as it is, any other mixer through a dense residual.
fn mix<S: Scalar>(v: &FlexiBert<'_>, i: usize, x: Value, batch: usize, tape: &mut Tape<'_, S>) -> Value {
    let (at, heads) = ([i, 0], v.num_heads(i) as usize);
    let head_dim = v.h() as usize / heads;
    let dropout = tape.rate();
    let attention = |heads| Attention { dropout, ..Attention::new(heads, head_dim, Mask::None) };
    let mixed = match v.mixer(i) {
        mixer @ (Mixer::Attention | Mixer::Multiplicative) => {
            let [mut query, key, value] = QKV.map(|names| tape.linear(x, names, at));
            if mixer == Mixer::Multiplicative {
                query = tape.linear(query, MULTIPLIER, at);
            }
            tape.attention([query, key, value], attention(heads), batch, i)
        }
        mixer @ (Mixer::Fourier | Mixer::Cosine) => {
            let kind = if mixer == Mixer::Fourier { Transform::Fourier } else { Transform::Cosine };
            let h = tape.linear(x, TRANSFORM, at);
            return tape.transform(h, kind, heads, batch, i);
        }
        Mixer::Span { kernel } => {
            let heads = v.span_heads(i).0 as usize;
            let [query, key, value] = QKV.map(|names| tape.linear(x, names, at));
            let depthwise = tape.param(DEPTHWISE, at);
            let spans = tape.depthwise(x, depthwise, batch);
            let spans = tape.linear(spans, POINTWISE, at);
            let spans = tape.multiply(spans, query);
            let kernels = tape.linear(spans, KERNELS, at);
            let local = tape.linear(x, SPANS, at);
            let layer = DynamicConv { heads, kernel: kernel as usize };
            let local = tape.dynamic_convolution(local, kernels, layer, batch, i);
            let global = tape.attention([query, key, value], attention(heads), batch, i);
            tape.beside(global, local)
        }
    };
    let h = tape.linear(mixed, MIXED, at);
    let h = tape.dropout(h);
    let h = tape.add(h, x);
    tape.layer_norm(h, MIXED_NORM, at, EPS)
}

#[cfg(test)]
mod tests {
    use super::super::{Weights, check};
    use super::*;
    use crate::engine::buffer::Workspace;
    use crate::seed::Seed;
    use serde_json::json;

    fn architecture(mode: &str, operations: &[(&str, serde_json::Value)]) -> Architecture {
        let (kinds, parameters): (Vec<_>, Vec<_>) = operations.iter().cloned().unzip();
        let stacks: Vec<_> = (0..kinds.len()).map(|i| if i % 2 == 0 { 3 } else { 1 }).collect();
        crate::space::read_architecture(&json!({"family": "flexibert", "mode": mode, "vocab_size": 4,
            "context_len": 7, "embedding_size": if mode == "spec" { 6 } else { 8 }, "hidden_size": 8,
            "num_layers": kinds.len(), "operation_type": kinds, "operation_parameter": parameters,
            "num_heads": 2, "ffn_dim": 5, "ffn_stack": stacks}))
        .unwrap()
    }

    /// Two samples shorter than the table of positions.
    fn tokens(first: u32) -> Input<f64> {
        let ids = [first, 2, 3, 2, 1, 1, 3, 1, 2, 2, 1, 3].to_vec();
        Input::Tokens {
            ids,
            types: [0, 0, 1, 1, 1, 1, 0, 1, 0, 1, 0, 1].to_vec(),
            labels: Vec::new(),
            batch: 2,
        }
    }

    #[test]
    fn gradients_agree_with_differences() {
        let all = [
            ("SA", json!("SDP")),
            ("SA", json!("WMA")),
            ("DSC", json!(3)),
            ("LT", json!("DCT")),
            ("DSC", json!(9)),
            ("LT", json!("DFT")),
        ];
        // In pairs: errors of central differences grow with depth.
        for pair in all.chunks(2).chain([&all[2..3], &all[3..4], &all[5..6]]) {
            for mode in ["spec", "as-trained"] {
                check::gradients(&architecture(mode, pair), &tokens(1));
            }
        }
        for one in all.chunks(1) {
            check::gradients(&architecture("published", one), &tokens(1));
        }
    }

    #[test]
    fn padding_is_read_but_not_learned() {
        let architecture = architecture("spec", &[("SA", json!("SDP"))]);
        let weights: Weights<f64> = Weights::standalone(&architecture, Seed(0));
        let run = |input: &Input<f64>, gradients: &mut Weights<f64>| {
            let mut space = Workspace::new();
            let mut tape = Tape::new(&weights, &mut space, true);
            let features = Network.forward(&architecture, input, &mut tape).features;
            let output = tape.data(features).to_vec();
            let seed = output.iter().map(|y| y * y).collect();
            tape.backward(vec![(features, seed)], Some(gradients), &mut |_, _| {});
            output
        };
        let mut gradients = Weights::zeros(weights.layout.clone());
        let padded = run(&tokens(0), &mut gradients);
        let words = weights.layout.find("embeddings.word_embeddings.weight", [0, 0]).unwrap();
        let (row, rest) = gradients.get(words).split_at(6);
        assert!(row.iter().all(|g| *g == 0.0) && rest.iter().all(|g| *g != 0.0));
        assert_ne!(padded, run(&tokens(1), &mut gradients));
    }
}
