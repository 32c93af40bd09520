//! FlexiBERT encoders: the output, every hidden state, and the gradient of every parameter for two losses.

use super::case::{Case, Precision};
use foretell::architecture::Architecture;
use foretell::engine::buffer::Workspace;
use foretell::engine::scalar::Scalar;
use foretell::network::{Input, Mark, Tape, Weights, forward};
use serde_json::{Value, json};

pub fn check(case: &Case, precision: Precision) -> usize {
    match precision {
        Precision::F64 => run::<f64>(case, precision),
        Precision::F32 => run::<f32>(case, precision),
    }
}

pub fn architecture(case: &Case) -> Architecture {
    let layers = case.arch["encoder_layers"].as_array().unwrap();
    let each = |key: &str| -> Value { layers.iter().map(|layer| layer[key].clone()).collect() };
    let keys = ["vocab_size", "embedding_size", "hidden_size", "max_position_embeddings", "type_vocab_size"];
    let honoured = case.arch["per_layer_feed_forward_dimension_honoured"] == true;
    let width =
        if honoured { each("feed_forward_dimension") } else { case.arch["intermediate_size"].clone() };
    let more = json!({"num_layers": layers.len(), "operation_type": each("operation_type"),
        "operation_parameter": each("operation_parameter"), "num_heads": each("num_operation_heads"),
        "ffn_dim": width, "ffn_stack": each("num_feed_forward")});
    case.architecture("flexibert", &keys.map(|key| (key, key)), more)
}

fn run<S: Scalar>(case: &Case, precision: Precision) -> usize {
    let architecture = architecture(case);
    let weights: Weights<S> = case.weights(&architecture);
    let batch = case.arch["batch"].as_u64().unwrap() as usize;
    let input = Input::Tokens {
        ids: case.ids("input_ids"),
        types: case.ids("token_type_ids"),
        labels: Vec::new(),
        batch,
    };
    let mut space = Workspace::new();
    let mut checked = 0;
    // The norm of every parameter's gradient, in the order of the layout, for the output's gradient `seed`.
    let mut norms = |seed: Vec<S>| -> Vec<f64> {
        let mut tape = Tape::new(&weights, &mut space, true);
        let features = forward(&architecture, &input, &mut tape).features;
        let expected = &case.expected["forward"]["f64"];
        checked += precision.checksum(tape.get(features), &expected["output"], &case.name);
        let state = |mark: &Mark| matches!(mark, Mark::Embedded | Mark::Block(_));
        let states: Vec<_> = tape.marks().iter().filter(|(mark, _)| state(mark)).map(|m| m.1).collect();
        let layers = expected["layers"].as_array().unwrap();
        assert_eq!(states.len(), layers.len(), "{}", case.name);
        for (state, expected) in states.into_iter().zip(layers) {
            checked +=
                precision.checksum(tape.get(state), expected, &format!("{} {}", case.name, expected["name"]));
        }
        let mut gradients = Weights::zeros(weights.layout.clone());
        tape.backward(vec![(features, seed)], Some(&mut gradients), &mut |_, _| {});
        let norm = |param| gradients.get(param).iter().map(|g| g.to_f64().powi(2)).sum::<f64>().sqrt();
        weights.layout.tensors().map(|(param, _)| norm(param)).collect()
    };
    let cotangent: Vec<S> = case.floats("cotangent");
    let ones = norms(vec![S::ONE; cotangent.len()]);
    let cotangent = norms(cotangent);
    for (found, key) in [(&ones, "grad_l2_ones"), (&cotangent, "grad_l2_cotangent")] {
        checked += gradients(case, precision, &weights, found, key);
    }
    if precision == Precision::F64 {
        checked += confidence(case, &architecture, &input, &weights);
    }
    if case.arch["layer_norm_init"] == "init" && precision == Precision::F64 {
        // The last layer norm has gain one: the sum of its output is constant, and only its own parameters move it.
        let last = format!(
            "encoder.layer.{}.output.LayerNorm.",
            case.arch["encoder_layers"].as_array().unwrap().len() - 1
        );
        let largest = cotangent.iter().copied().fold(0.0, f64::max);
        for ((ones, cotangent), (_, tensor)) in ones.iter().zip(&cotangent).zip(weights.layout.tensors()) {
            if !tensor.name().starts_with(&last) {
                // That of a key's bias is round-off itself, see below.
                let scale = if *cotangent < ZERO * largest { largest } else { *cotangent };
                assert!(
                    *ones < 1e-6 * scale,
                    "{}: {} moves the sum of a layer norm",
                    case.name,
                    tensor.name()
                );
                checked += 1;
            }
        }
    }
    checked
}

/// softmax_confidence as published: of every softmax module, the mean of the largest entry over heads. Those are the
/// attention probabilities of SA and DSC and the otherwise unused softmax of LT; the kernels of DSC are not among them.
fn confidence<S: Scalar>(
    case: &Case,
    architecture: &Architecture,
    input: &Input<S>,
    weights: &Weights<S>,
) -> usize {
    let batch = case.arch["batch"].as_u64().unwrap() as usize;
    let tokens = case.ids("input_ids").len() / batch;
    let mut space = Workspace::new();
    let mut tape = Tape::new(weights, &mut space, false);
    tape.keep_softmax();
    forward(architecture, input, &mut tape);
    let published = |mark: &Mark| matches!(mark, Mark::Attention(_) | Mark::Spectrum(_));
    let seen: Vec<_> = tape.marks().iter().filter(|(mark, _)| published(mark)).collect();
    let metrics =
        ["serianni_ones", "serianni_cotangent"].map(|key| &case.expected[key]["softmax_confidence"]);
    let terms = metrics.iter().find_map(|metric| metric["terms"].as_array()).unwrap();
    assert_eq!(seen.len(), terms.len(), "{}", case.name);
    for ((mark, value), term) in seen.into_iter().zip(terms) {
        let (rows, cols) = tape.shape(*value);
        let (heads, data) = (rows / batch / tokens, tape.data(*value));
        let mut sum = 0.0;
        for sample in data.chunks_exact(heads * tokens * cols) {
            for place in 0..tokens * cols {
                let over_heads = sample[place..].iter().step_by(tokens * cols).map(|p| p.to_f64());
                sum += over_heads.fold(0.0, f64::max);
            }
        }
        let mean = sum / (batch * tokens * cols) as f64;
        let what = format!("{} softmax confidence of {mark:?}", case.name);
        Precision::F64.near(mean, term["f64"].as_f64().unwrap(), &what);
    }
    let kernels = tape.marks().iter().filter(|(mark, _)| matches!(mark, Mark::Kernel(_)));
    for (_, kernel) in kernels {
        let (_, taps) = tape.shape(*kernel);
        let sums =
            tape.data(*kernel).chunks_exact(taps).map(|row| row.iter().map(|k| k.to_f64()).sum::<f64>());
        sums.for_each(|sum| Precision::F64.near(sum, 1.0, "a kernel"));
    }
    terms.len()
}

/// Gradients below this part of the largest are round-off around a mathematical zero, in f64. Such is that of every
/// key's bias (softmax does not see a shift), and all before a layer norm whose outputs are summed.
const ZERO: f64 = 1e-12;

/// Compares norms with the recorded f64 ones; those that are mathematically zero, on the scale of the largest.
pub fn gradients<S: Scalar>(
    case: &Case,
    precision: Precision,
    weights: &Weights<S>,
    found: &[f64],
    key: &str,
) -> usize {
    let entries = case.expected[key].as_array().unwrap();
    assert_eq!(entries.len(), found.len(), "{} {key}", case.name);
    let expected = |name: &str| {
        let entry = entries.iter().find(|entry| entry["name"] == name);
        entry
            .and_then(|entry| entry["f64"].as_f64())
            .unwrap_or_else(|| panic!("{}: no {key} of {name}", case.name))
    };
    let largest = entries.iter().filter_map(|entry| entry["f64"].as_f64()).fold(0.0, f64::max);
    for ((_, tensor), found) in weights.layout.tensors().zip(found) {
        let (name, expected) = (tensor.name(), expected(&tensor.name()));
        let what = format!("{} {key} of {name}", case.name);
        if expected < ZERO * largest {
            assert!(*found <= precision.tolerance() * largest, "{what}: {found} is not zero ({precision:?})");
        } else {
            precision.near(*found, expected, &what);
        }
    }
    found.len()
}
