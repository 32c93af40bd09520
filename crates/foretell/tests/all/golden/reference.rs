//! Families without an original to run, against `transformers` and plain PyTorch (`reference.py`): the output, the states
//! between blocks, and the gradient of every parameter.

use super::case::{Case, Precision};
use super::flexibert::gradients;
use foretell::engine::buffer::Workspace;
use foretell::engine::scalar::Scalar;
use foretell::network::{Input, Mark, Tape, Weights, forward};

pub fn check(case: &Case, precision: Precision) -> usize {
    match precision {
        Precision::F64 => run::<f64>(case, precision),
        Precision::F32 => run::<f32>(case, precision),
    }
}

fn run<S: Scalar>(case: &Case, precision: Precision) -> usize {
    // The description is in our own words already.
    let keys: Vec<_> =
        case.arch.keys().filter(|key| *key != "batch").map(|key| (&key[..], &key[..])).collect();
    let architecture = case.architecture(case.family(), &keys, serde_json::json!({}));
    let weights: Weights<S> = case.weights(&architecture);
    let batch = case.arch["batch"].as_u64().unwrap() as usize;
    let images = case.family() == "shunted";
    let input = if images {
        Input::images(case.floats("images"), batch)
    } else {
        let types = if case.family() == "bert" { case.ids("token_type_ids") } else { Vec::new() };
        Input::Tokens { ids: case.ids("input_ids"), types, labels: Vec::new(), batch }
    };
    let mut space = Workspace::new();
    let mut tape = Tape::new(&weights, &mut space, true);
    let output = forward(&architecture, &input, &mut tape).logits.unwrap();
    let expected = &case.expected["forward"]["f64"];
    let mut checked = 0;
    let state = |mark: &Mark| matches!(mark, Mark::Block(_)) || *mark == Mark::Embedded && !images;
    let states = tape.marks().iter().filter(|(mark, _)| state(mark));
    let records = expected["layers"].as_array().unwrap();
    // The original shows the last state of LLaMA behind its final norm alone, where the output is compared.
    let hidden = usize::from(case.family() == "llama");
    assert_eq!(states.clone().count(), records.len() + hidden, "{}", case.name);
    for ((_, state), expected) in states.zip(records) {
        checked +=
            precision.checksum(tape.get(*state), expected, &format!("{} {}", case.name, expected["name"]));
    }
    checked += precision.checksum(tape.get(output), &expected["output"], &case.name);
    let mut found = Weights::zeros(weights.layout.clone());
    tape.backward(vec![(output, case.floats("cotangent"))], Some(&mut found), &mut |_, _| {});
    let norm = |param| found.get(param).iter().map(|g| g.to_f64().powi(2)).sum::<f64>().sqrt();
    let norms: Vec<_> = weights.layout.tensors().map(|(param, _)| norm(param)).collect();
    checked + gradients(case, precision, &weights, &norms, "grad_l2_cotangent")
}
