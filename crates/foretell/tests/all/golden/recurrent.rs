//! Recurrent cells: every layer's output, the gradient at the embedding, at the hidden states and at the weights.

use super::case::{Case, Precision};
use foretell::architecture::{Architecture, Recipe};
use foretell::engine::buffer::Workspace;
use foretell::engine::scalar::Scalar;
use foretell::network::{Input, Mark, Tape, Weights, forward};
use serde_json::json;
use std::collections::HashMap;

pub fn check(case: &Case, precision: Precision) -> usize {
    match precision {
        Precision::F64 => run::<f64>(case, precision),
        Precision::F32 => run::<f32>(case, precision),
    }
}

pub fn architecture(case: &Case) -> Architecture {
    let keys = [
        ("vocab_size", "ntoken"),
        ("embed_dim", "emb"),
        ("hidden_size", "hid"),
        ("num_layers", "nlayers"),
        ("context_len", "bptt"),
        ("recipe", "recipe"),
    ];
    case.architecture("recurrent", &keys, json!({}))
}

fn run<S: Scalar>(case: &Case, precision: Precision) -> usize {
    let architecture = architecture(case);
    let names = Recipe::names_from_json(&case.arch["recipe"]).unwrap();
    let theirs = |name: &str| rename(name, &names);
    let weights: Weights<S> = case.weights_named(&architecture, &theirs);
    let input = Input::tokens(case.ids("tokens"), case.arch["batch"].as_u64().unwrap() as usize);
    let mut space = Workspace::new();

    let mut tape = Tape::new(&weights, &mut space, true);
    let features = forward(&architecture, &input, &mut tape).features;
    let expected = &case.expected["forward"]["f64"];
    let layers: Vec<_> =
        tape.marks().iter().filter(|(mark, _)| matches!(mark, Mark::Block(_))).map(|m| m.1).collect();
    let mut checked = 0;
    let records = expected["raw_outputs"].as_array().unwrap();
    assert_eq!(layers.len(), records.len(), "{}", case.name);
    for (layer, expected) in layers.iter().zip(records) {
        checked += precision.checksum(tape.get(*layer), expected, "raw output");
    }
    let ones = vec![S::ONE; tape.data(features).len()];
    let mut jacobian = None;
    tape.backward(vec![(features, ones)], None, &mut |mark, gradient| {
        if mark == Mark::Embedded {
            jacobian = Some(gradient.data().iter().map(|g| g.to_f64().powi(2)).sum::<f64>().sqrt());
        }
    });
    precision.near(jacobian.unwrap(), case.number(&["forward", "f64", "jacobian_l2"]), "jacobian");
    checked += 1;

    // The pass of both saliencies: half the squared output.
    let mut tape = Tape::new(&weights, &mut space, true);
    let features = forward(&architecture, &input, &mut tape).features;
    let states = tape.marks().iter().filter(|(mark, _)| matches!(mark, Mark::Hidden(..)));
    let states: HashMap<Mark, Vec<S>> =
        states.map(|(mark, value)| (*mark, tape.data(*value).to_vec())).collect();
    let mut hidden = vec![0.0; layers.len()];
    let seed = tape.data(features).to_vec();
    let mut gradients = Weights::zeros(weights.layout.clone());
    tape.backward(vec![(features, seed)], Some(&mut gradients), &mut |mark, gradient| {
        if let Mark::Hidden(layer, _) = mark {
            hidden[layer as usize] += saliency(&states[&mark], gradient.data());
        }
    });
    let metrics = &case.expected["metrics"];
    let terms = metrics["hidden_saliency_saliency_pass"]["terms"].as_array().unwrap();
    assert_eq!(hidden.len(), terms.len(), "{}", case.name);
    for (found, term) in hidden.into_iter().zip(terms) {
        precision.near(found, term["f64"].as_f64().unwrap(), &format!("hidden saliency of {}", term["name"]));
        checked += 1;
    }
    let synaptic = &metrics["synaptic_saliency"];
    let lists = ["terms", "skipped_by_reference"].map(|key| synaptic[key].as_array().unwrap());
    for term in lists.into_iter().flatten() {
        let name = term["name"].as_str().unwrap();
        let tied = name.starts_with("decoder.weight");
        let name = if tied { "encoder.weight" } else { name };
        let (param, _) = weights.layout.tensors().find(|(_, tensor)| theirs(&tensor.name()) == name).unwrap();
        let found = saliency(weights.get(param), gradients.get(param));
        precision.near(found, term["f64"].as_f64().unwrap(), &format!("{} saliency of {name}", case.name));
        checked += 1;
    }
    checked
}

/// `Σ |x dx|`
fn saliency<S: Scalar>(x: &[S], dx: &[S]) -> f64 {
    x.iter().zip(dx).map(|(x, dx)| (x.to_f64() * dx.to_f64()).abs()).sum()
}

/// A tensor's name with the recipe's own name of the node instead of `node_{}`.
pub fn rename(ours: &str, names: &[String]) -> String {
    let parts = ours.split('.').map(|part| match part.strip_prefix("node_") {
        Some(node) => names[node.parse::<usize>().unwrap()].as_str(),
        None => part,
    });
    parts.collect::<Vec<_>>().join(".")
}
