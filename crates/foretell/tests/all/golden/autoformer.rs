//! AutoFormer sub-networks: logits, features, every block, the loss, and each layer's gradient through SNIP.

use super::case::{Case, Precision};
use foretell::architecture::Architecture;
use foretell::engine::buffer::Workspace;
use foretell::engine::cross_entropy::cross_entropy;
use foretell::engine::matmul::MatMut;
use foretell::engine::scalar::Scalar;
use foretell::network::{Input, Mark, Tape, Weights, forward};
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
        ("channels", "in_chans"),
        ("embed_dim", "embed_dim"),
        ("depth", "depth"),
        ("num_heads", "num_heads"),
        ("mlp_ratio", "mlp_ratio"),
        ("head_dim", "head_dim"),
        ("num_classes", "num_classes"),
        ("relative_position", "relative_position"),
        ("abs_pos", "abs_pos"),
        ("max_relative_position", "max_relative_position"),
    ];
    let pooling = if case.arch["global_pool"] == true { "mean" } else { "class" };
    case.architecture("vit", &keys, json!({"pooling": pooling}))
}

fn run<S: Scalar>(case: &Case, precision: Precision) -> usize {
    let architecture = architecture(case);
    let weights: Weights<S> = case.weights(&architecture);
    let (mut space, batch) = (Workspace::new(), case.arch["batch"].as_u64().unwrap() as usize);
    let input = Input::images(case.floats("images"), batch);
    let mut tape = Tape::new(&weights, &mut space, true);
    let output = forward(&architecture, &input, &mut tape);
    // Both records were made with the f64 values as the truth.
    let expected = &case.expected["forward"]["f64"];
    let logits = output.logits.unwrap();
    let mut checked = precision.checksum(tape.get(logits), &expected["logits_images"], "logits");
    let blocks: Vec<_> =
        tape.marks().iter().filter(|(mark, _)| matches!(mark, Mark::Block(_))).map(|m| m.1).collect();
    let records = expected["blocks_images"].as_array().unwrap();
    assert_eq!(blocks.len(), records.len(), "{}", case.name);
    for (block, expected) in blocks.iter().zip(records) {
        checked += precision.checksum(tape.get(*block), expected, expected["name"].as_str().unwrap());
    }
    let (rows, classes) = tape.shape(logits);
    let mut seed = tape.space.take(rows * classes);
    let loss = cross_entropy(
        tape.get(logits),
        &case.ids("targets"),
        0.0,
        Some(MatMut::new(&mut seed, rows, classes)),
    );
    precision.near(loss.to_f64(), expected["ce_loss_images"].as_f64().unwrap(), "loss");
    let mut gradients = Weights::zeros(weights.layout.clone());
    tape.backward(vec![(logits, seed)], Some(&mut gradients), &mut |_, _| {});
    for term in case.expected["metrics"]["snip"]["terms"].as_array().unwrap() {
        let name = term["name"].as_str().unwrap().replace("patch_embed_super", "patch_embed");
        let (param, _) =
            weights.layout.tensors().find(|(_, t)| t.name() == format!("{name}.weight")).unwrap();
        let pairs = weights.get(param).iter().zip(gradients.get(param));
        let snip: f64 = pairs.map(|(w, g)| (w.to_f64() * g.to_f64()).abs()).sum();
        precision.near(snip, term["f64"].as_f64().unwrap(), &format!("{} snip of {name}", case.name));
        checked += 1;
    }
    checked + 1
}
