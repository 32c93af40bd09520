//! A family's backward pass against central differences: one entry of every tensor, in f64, in evaluation and training.

use super::{Input, Tape, Weights, forward};
use crate::architecture::Architecture;
use crate::engine::buffer::Workspace;
use crate::seed::Seed;
use rand::RngExt;

/// The projection of features, logits and loss onto fixed random directions, with the gradient of all weights if wanted.
fn loss(
    architecture: &Architecture,
    input: &Input<f64>,
    weights: &Weights<f64>,
    train: bool,
    gradients: Option<&mut Weights<f64>>,
) -> f64 {
    let mut space = Workspace::new();
    let mut tape = Tape::new(weights, &mut space, true);
    if train {
        tape.train(Seed(3).stream("dropout", 0), super::DROPOUT);
    }
    let output = forward(architecture, input, &mut tape);
    let mut rng = Seed(1).stream("projection", 0);
    let mut total = 0.0;
    let mut seeds = Vec::new();
    for value in [Some(output.features), output.logits, output.loss].into_iter().flatten() {
        let seed: Vec<f64> = tape.data(value).iter().map(|_| rng.random::<f64>() - 0.5).collect();
        total += tape.data(value).iter().zip(&seed).map(|(y, c)| y * c).sum::<f64>();
        seeds.push((value, seed));
    }
    match gradients {
        Some(gradients) => tape.backward(seeds, Some(gradients), &mut |_, _| {}),
        None => tape.close(),
    }
    total
}

/// Compares the derivative of one random entry of every tensor with its central difference, in an evaluation pass and in
/// a training pass of a fixed seed, which gives the same bits twice.
#[track_caller]
pub(super) fn gradients(architecture: &Architecture, input: &Input<f64>) {
    for train in [false, true] {
        pass(architecture, input, train);
    }
}

#[track_caller]
fn pass(architecture: &Architecture, input: &Input<f64>, train: bool) {
    let mut weights: Weights<f64> = Weights::standalone(architecture, Seed(0));
    // Away from the special points of initialisation: gains of one, biases of zero, tiny weights.
    let mut rng = Seed(0).stream("perturb", 0);
    weights.data.iter_mut().for_each(|w| *w = 5.0 * *w + 0.2 * (rng.random::<f64>() - 0.5));
    let mut found = Weights::zeros(weights.layout.clone());
    let first = loss(architecture, input, &weights, train, Some(&mut found));
    let mut again = Weights::zeros(weights.layout.clone());
    assert_eq!(first, loss(architecture, input, &weights, train, Some(&mut again)));
    assert_eq!(found.data, again.data, "the same seed, the same bits");
    let layout = weights.layout.clone();
    let scale = found.data.iter().map(|g| g.abs()).fold(0.0, f64::max);
    for (param, tensor) in layout.tensors() {
        let range = layout.range(param);
        let at = range.start + rng.random_range(0..range.len());
        let value = weights.data[at];
        let mut shifted = |by: f64| {
            weights.data[at] = value + by;
            let loss = loss(architecture, input, &weights, train, None);
            weights.data[at] = value;
            loss
        };
        // Fourth order: softmaxes of perturbed weights bend too much for a plain central difference. A kink inside the
        // step, of ReLU say, spoils it; then a shorter step decides.
        let mut slope = |step: f64| (shifted(step) - shifted(-step)) / (2.0 * step);
        let mut error = f64::INFINITY;
        let mut difference = 0.0;
        for step in [1e-5, 1e-6] {
            if error >= 1e-6 {
                difference = (4.0 * slope(step) - slope(2.0 * step)) / 3.0;
                error = (found.data[at] - difference).abs() / difference.abs().max(1e-3 * scale);
            }
        }
        assert!(
            error < 1e-6,
            "{}: {} is not {difference} (off by {error:.1e})",
            tensor.name(),
            found.data[at]
        );
    }
}

/// [`gradients`] of a language model under all kinds of adaptive vocabulary, with labels and without.
#[track_caller]
pub(super) fn vocabularies(
    architecture: impl Fn(serde_json::Map<String, serde_json::Value>) -> Architecture,
) {
    let ids: Vec<u32> = (0..10).map(|i| i * 7 % 13).collect();
    let labels: Vec<u32> = (0..10).map(|i| (i * 5 + 3) % 13).collect();
    // Cuts, the factor between widths, whether projections are tied, the width of the first cluster.
    let kinds: [(&[u32], u32, bool, u32); 9] = [
        (&[], 1, true, 8),
        (&[], 1, true, 6),
        (&[], 2, false, 8),
        (&[5], 2, true, 8),
        (&[5, 9], 2, true, 6),
        (&[5, 9], 2, false, 8),
        (&[5, 9], 1, true, 8),
        (&[5, 9], 1, true, 6),
        (&[5, 9], 1, false, 6),
    ];
    for (cutoffs, div_val, tie_projs, d_embed) in kinds {
        let vocabulary = serde_json::json!({"vocab_size": 13, "cutoffs": cutoffs, "div_val": div_val,
            "tie_projs": tie_projs, "d_embed": d_embed});
        let serde_json::Value::Object(vocabulary) = vocabulary else { unreachable!() };
        let architecture = architecture(vocabulary);
        for labels in [Vec::new(), labels.clone()] {
            gradients(
                &architecture,
                &Input::Tokens { ids: ids.clone(), types: Vec::new(), labels, batch: 2 },
            );
        }
    }
}
