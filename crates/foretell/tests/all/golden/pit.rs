//! Pooling vision transformers: logits, the loss, and each layer's gradient through SNIP and its norm.

use super::case::{Case, Precision};
use foretell::architecture::Architecture;
use foretell::engine::buffer::Workspace;
use foretell::engine::cross_entropy::cross_entropy;
use foretell::engine::matmul::MatMut;
use foretell::engine::scalar::Scalar;
use foretell::network::{Input, Tape, Weights, forward};
use serde_json::json;

pub fn check(case: &Case, precision: Precision) -> usize {
    match precision {
        Precision::F64 => run::<f64>(case, precision),
        Precision::F32 => run::<f32>(case, precision),
    }
}

pub fn architecture(case: &Case) -> Architecture {
    let keys = [
        ("image_size", "img_size"),
        ("patch_size", "patch_size"),
        ("stride", "stride"),
        ("depth", "depth"),
        ("num_heads", "num_heads"),
        ("mlp_ratio", "mlp_ratio"),
        ("num_classes", "num_classes"),
    ];
    case.architecture("pit", &keys, json!({"base_dim": case.arch["base_dims"][0]}))
}

fn run<S: Scalar>(case: &Case, precision: Precision) -> usize {
    let architecture = architecture(case);
    let weights: Weights<S> = case.weights(&architecture);
    let targets = case.ids("targets");
    let input = Input::images(case.floats("images"), targets.len());
    let mut space = Workspace::new();
    let mut tape = Tape::new(&weights, &mut space, true);
    let logits = forward(&architecture, &input, &mut tape).logits.unwrap();
    let expected = &case.expected["forward"]["f64"];
    let mut checked = precision.checksum(tape.get(logits), &expected["logits_images"], "logits");
    let (rows, classes) = tape.shape(logits);
    let mut seed = tape.space.take(rows * classes);
    let loss = cross_entropy(tape.get(logits), &targets, 0.0, Some(MatMut::new(&mut seed, rows, classes)));
    precision.near(loss.to_f64(), case.number(&["forward", "f64", "ce_loss_images"]), "loss");
    let mut gradients = Weights::zeros(weights.layout.clone());
    tape.backward(vec![(logits, seed)], Some(&mut gradients), &mut |_, _| {});
    for metric in ["snip", "grad_norm"] {
        for term in case.expected["metrics"][metric]["terms"].as_array().unwrap() {
            let name = format!("{}.weight", term["name"].as_str().unwrap());
            let (param, _) = weights.layout.tensors().find(|(_, tensor)| tensor.name() == name).unwrap();
            let pairs = weights.get(param).iter().zip(gradients.get(param));
            let pairs = pairs.map(|(w, g)| (w.to_f64(), g.to_f64()));
            let found = match metric {
                "snip" => pairs.map(|(w, g)| (w * g).abs()).sum::<f64>(),
                _ => pairs.map(|(_, g)| g * g).sum::<f64>().sqrt(),
            };
            precision.near(
                found,
                term["f64"].as_f64().unwrap(),
                &format!("{} {metric} of {name}", case.name),
            );
            checked += 1;
        }
    }
    checked + 1
}
