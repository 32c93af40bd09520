//! GPT-2 decoders: features, every block, logits where there is one cluster, the loss, the gradient norm of every
//! tensor, and the parameter counts.

use super::case::{Case, Precision};
use foretell::architecture::{Architecture, Part};
use foretell::engine::buffer::Workspace;
use foretell::engine::scalar::Scalar;
use foretell::network::{Input, Layout, Mark, Tape, Weights, forward};
use serde_json::json;

pub fn check(case: &Case, precision: Precision) -> usize {
    match precision {
        Precision::F64 => run::<f64>(case, precision),
        Precision::F32 => run::<f32>(case, precision),
    }
}

pub fn architecture(case: &Case) -> Architecture {
    let keys = [
        ("vocab_size", "vocab_size"),
        ("context_len", "n_positions"),
        ("n_layer", "n_layer"),
        ("d_model", "d_model"),
        ("d_embed", "d_embed"),
        ("n_head", "n_head"),
        ("d_inner", "d_inner"),
    ];
    // Theirs end with the size of the vocabulary, and have a flag for each cluster; that of the first is never set.
    let cutoffs = case.arch["cutoffs"].as_array().unwrap().split_last().unwrap().1;
    let tied = case.arch["tie_projs"].as_array().unwrap()[1..].iter().all(|tied| tied == true);
    let div_val = case.arch.get("div_val").cloned().unwrap_or(json!(1));
    let more = json!({"cutoffs": cutoffs, "tie_projs": tied, "div_val": div_val});
    case.architecture("gpt2", &keys, more)
}

fn run<S: Scalar>(case: &Case, precision: Precision) -> usize {
    let architecture = architecture(case);
    let weights: Weights<S> = case.weights(&architecture);
    let (mut space, batch) = (Workspace::new(), case.arch["batch"].as_u64().unwrap() as usize);
    let input =
        Input::Tokens { ids: case.ids("input_ids"), types: Vec::new(), labels: case.ids("labels"), batch };
    let mut tape = Tape::new(&weights, &mut space, true);
    let output = forward(&architecture, &input, &mut tape);
    let expected = &case.expected["forward"]["f64"];
    let mut checked = precision.checksum(tape.get(output.features), &expected["hidden_ln_f"], "hidden_ln_f");
    let blocks: Vec<_> =
        tape.marks().iter().filter(|(mark, _)| matches!(mark, Mark::Block(_))).map(|m| m.1).collect();
    let records = expected["blocks"].as_array().unwrap();
    assert_eq!(blocks.len(), records.len(), "{}", case.name);
    for (block, expected) in blocks.iter().zip(records) {
        checked += precision.checksum(tape.get(*block), expected, expected["name"].as_str().unwrap());
    }
    assert_eq!(output.logits.is_some(), expected.get("logits").is_some(), "{}", case.name);
    if let Some(logits) = output.logits {
        checked += precision.checksum(tape.get(logits), &expected["logits"], "logits");
    }
    let loss = output.loss.unwrap();
    precision.near(tape.data(loss)[0].to_f64(), case.number(&["forward", "f64", "nll_mean"]), "loss");
    let mut gradients = Weights::zeros(weights.layout.clone());
    tape.backward(vec![(loss, vec![S::ONE])], Some(&mut gradients), &mut |_, _| {});
    let norms = case.expected["grad_l2"].as_array().unwrap();
    assert_eq!(norms.len(), weights.layout.tensors().count(), "{}: tensors", case.name);
    for term in norms {
        let name = term["name"].as_str().unwrap();
        let (param, _) = weights.layout.tensors().find(|(_, t)| t.name() == name).unwrap();
        let norm = gradients.get(param).iter().map(|g| g.to_f64().powi(2)).sum::<f64>().sqrt();
        precision.near(norm, term["f64"].as_f64().unwrap(), &format!("{} gradient of {name}", case.name));
        checked += 1;
    }
    checked + 1 + counts(case, &weights.layout)
}

/// Theirs count the softmax nowhere.
fn counts(case: &Case, layout: &Layout) -> usize {
    let count = |parts: &[Part]| -> u64 {
        layout.tensors().filter(|(_, t)| parts.contains(&t.role.part())).map(|(_, t)| t.len()).sum()
    };
    use Part::*;
    let expected = [
        ("embedding", count(&[Embedding])),
        ("attention", count(&[Attention])),
        ("ff", count(&[Ffn])),
        ("layer_norm", count(&[Norm])),
        ("non_embedding", count(&[Attention, Ffn, Norm])),
        ("total", count(&[Embedding, Attention, Ffn, Norm])),
    ];
    for (key, found) in expected {
        assert_eq!(case.expected["params"][key], found, "{}: {key}", case.name);
    }
    expected.len()
}
