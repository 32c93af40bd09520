//! Passes over real networks: memory known in advance, the layer-norm trap, second derivatives, the same bits anywhere.

use foretell::architecture::Architecture;
use foretell::engine::buffer::Workspace;
use foretell::network::{Input, Tape, Weights, forward};
use foretell::probe::{self, Feed, Inputs, Loss, Pass, Setting, Signal};
use foretell::seed::Seed;
use rayon::prelude::*;
use serde_json::json;

fn setting(architecture: &Architecture) -> Setting<'_> {
    Setting::new(architecture, Seed(0))
}

/// One small network per family, with the feed and the loss that suit it.
fn networks() -> Vec<(Architecture, Pass)> {
    let read = |value| foretell::space::read_architecture(&value).unwrap();
    let images = |batch| Pass { batch, ..Pass::backward(Loss::CrossEntropy) };
    let tokens = |loss| Pass { batch: 3, ..Pass::backward(loss) };
    let lstm = json!([
        {"name": "i", "op": "linear", "inputs": ["x", "h_prev_0"]}, {"name": "ia", "op": "activation_tanh", "inputs": ["i"]},
        {"name": "f", "op": "linear", "inputs": ["x", "h_prev_0"]}, {"name": "fa", "op": "activation_sigm", "inputs": ["f"]},
        {"name": "h_new_1", "op": "blend", "inputs": ["fa", "h_prev_1", "ia"]},
        {"name": "h_new_0", "op": "activation_leaky_relu", "inputs": ["h_new_1"]},
    ]);
    vec![
        (
            read(
                json!({"family": "vit", "image_size": 16, "patch_size": 4, "num_classes": 7, "embed_dim": 16, "depth": 2,
                "num_heads": [2, 4], "mlp_ratio": 2, "head_dim": 8, "relative_position": true}),
            ),
            images(2),
        ),
        (
            read(
                json!({"family": "pit", "image_size": 32, "patch_size": 8, "stride": 4, "num_classes": 7, "base_dim": 4,
                "mlp_ratio": 2, "num_heads": [1, 2, 4], "depth": [1, 2, 1]}),
            ),
            images(2),
        ),
        (
            read(json!({"family": "shunted", "image_size": 32, "num_classes": 7, "base_dim": 8, "depth": 1,
                "num_heads": [2, 2, 2, 4], "mlp_ratio": 2, "sr_ratio": [8, 4, 2, 1]})),
            images(2),
        ),
        (
            read(
                json!({"family": "bert", "vocab_size": 50, "context_len": 9, "hidden_size": 16, "num_layers": 2,
                "num_heads": 2, "ffn_dim": 24}),
            ),
            tokens(Loss::Projection),
        ),
        (
            read(
                json!({"family": "flexibert", "vocab_size": 50, "context_len": 12, "embedding_size": 8, "hidden_size": 16,
                "operation_type": ["SA", "SA", "LT", "LT", "DSC"], "operation_parameter": ["SDP", "WMA", "DFT", "DCT", "5"],
                "num_heads": 2, "ffn_dim": 24, "ffn_stack": [1, 3, 1, 1, 1]}),
            ),
            tokens(Loss::Projection),
        ),
        (
            read(
                json!({"family": "gpt2", "vocab_size": 60, "context_len": 10, "d_model": 16, "d_embed": 8, "div_val": 2,
                "cutoffs": [20, 40], "n_head": [2, 4], "d_inner": [24, 40]}),
            ),
            tokens(Loss::CrossEntropy),
        ),
        (
            read(
                json!({"family": "transformer-xl", "vocab_size": 60, "context_len": 10, "d_model": 16, "d_embed": 8,
                "div_val": 2, "cutoffs": [20, 40], "n_head": [2, 4], "d_inner": [24, 40]}),
            ),
            tokens(Loss::CrossEntropy),
        ),
        (
            read(
                json!({"family": "recurrent", "vocab_size": 30, "embed_dim": 6, "hidden_size": 8, "context_len": 5,
                "nodes": lstm}),
            ),
            tokens(Loss::HalfSquare),
        ),
        (
            read(
                json!({"family": "llama", "vocab_size": 60, "context_len": 10, "hidden_size": 16, "num_layers": 2,
                "num_heads": 4, "num_kv_heads": 2, "ffn_dim": 24, "qkv_rank": 2}),
            ),
            tokens(Loss::Projection),
        ),
    ]
}

/// A pass over numbers without content asks for what a real one takes, images besides; where buffers of one length have
/// room for different numbers, it may take one for the other.
#[test]
fn the_peak_is_known_before_anything_is_allocated() {
    for (architecture, pass) in networks() {
        let weights: Weights<f32> = Weights::shared(&architecture, Seed(0));
        let mut space = Workspace::new();
        probe::run(&setting(&architecture), &weights, &pass, &mut space).unwrap();
        let estimate = probe::peak_bytes::<f32>(&setting(&architecture), &pass).unwrap();
        let pixels = match probe::input::<f32>(&setting(&architecture), &pass).unwrap() {
            Input::Images { pixels, .. } => pixels.len(),
            Input::Tokens { .. } => 0,
        };
        let measured = (space.peak_bytes() + 4 * (pixels + weights.data.len())) as f64;
        assert!((estimate as f64 / measured - 1.0).abs() < 0.02, "{}", architecture.family().name());
        assert!(probe::within::<f32>(&setting(&architecture), &pass, estimate).is_ok());
        let refused = probe::within::<f32>(&setting(&architecture), &pass, estimate - 1).err().unwrap();
        assert_eq!(refused.kind(), "memory");
    }
}

/// Samples apart add up to the batch for a loss that is a sum over samples.
#[test]
fn per_sample_gradients_add_up() {
    for (architecture, pass) in networks().into_iter().filter(|(a, _)| a.family().name() != "shunted") {
        let pass = Pass { loss: Loss::HalfSquare, ..pass };
        let weights: Weights<f64> = Weights::shared(&architecture, Seed(0));
        let mut space = Workspace::new();
        let whole = probe::run(&setting(&architecture), &weights, &pass, &mut space).unwrap();
        let mut sum = vec![0.0; weights.data.len()];
        let mut add =
            |_, gradients: &Weights<f64>| sum.iter_mut().zip(&gradients.data).for_each(|(s, g)| *s += g);
        probe::per_sample(&setting(&architecture), &weights, &pass, &mut space, &mut add).unwrap();
        let whole = whole.weight_gradients.unwrap().data;
        let scale = whole.iter().map(|g| g.abs()).fold(0.0, f64::max);
        for (a, b) in sum.iter().zip(&whole) {
            assert!((a - b).abs() <= 1e-12 * scale, "{}: {a} is not {b}", architecture.family().name());
        }
    }
}

/// The tangent of the features along a direction in the weights, against central differences of the features.
#[test]
fn jacobian_vector_products_agree_with_differences() {
    for (architecture, pass) in networks() {
        let weights: Weights<f64> = Weights::shared(&architecture, Seed(0));
        let direction: Weights<f64> = Weights::standalone(&architecture, Seed(1));
        let input = probe::input::<f64>(&setting(&architecture), &pass).unwrap();
        let still =
            if let Input::Images { pixels, .. } = &input { vec![0.0; pixels.len()] } else { Vec::new() };
        let moves = (&weights, &direction);
        let found = probe::jacobian_vector_product(
            &setting(&architecture),
            moves,
            (&input, &still),
            &mut Workspace::new(),
        );
        let features = |step: f64| {
            let mut moved = weights.clone();
            moved.data.iter_mut().zip(&direction.data).for_each(|(w, d)| *w += step * d);
            let mut space = Workspace::new();
            let mut tape = Tape::new(&moved, &mut space, false);
            let output = forward(&architecture, &input, &mut tape);
            tape.data(output.features).to_vec()
        };
        let scale = found.iter().map(|x| x.abs()).fold(0.0, f64::max);
        for ((found, up), down) in found.iter().zip(features(1e-6)).zip(features(-1e-6)) {
            assert!((found - (up - down) / 2e-6).abs() < 1e-6 * scale, "{}", architecture.family().name());
        }
    }
}

/// Training drops the same numbers for the same seed and others for another; evaluation drops none.
#[test]
fn dropout_is_seeded_and_off_in_evaluation() {
    for (architecture, pass) in networks() {
        let weights: Weights<f64> = Weights::shared(&architecture, Seed(0));
        let loss = |train, seed| {
            let (pass, setting) = (Pass { train, ..pass.clone() }, Setting::new(&architecture, Seed(seed)));
            probe::run(&setting, &weights, &pass, &mut Workspace::new())
                .unwrap()
                .weight_gradients
                .unwrap()
                .data
        };
        let drops = !["recurrent", "llama"].contains(&architecture.family().name());
        assert_eq!(loss(true, 1), loss(true, 1));
        assert_eq!(loss(true, 0) != loss(false, 0), drops, "{}", architecture.family().name());
    }
}

/// Ones in place of word embeddings leave the table without gradient; text becomes bytes and the bytes that follow.
#[test]
fn ones_and_text_can_be_fed() {
    let reads_words = |architecture: &Architecture| architecture.family().knows("vocab_size");
    for (architecture, pass) in networks().into_iter().filter(|(a, _)| reads_words(a)) {
        let weights: Weights<f64> = Weights::shared(&architecture, Seed(0));
        let ones = Pass { feed: Feed::Ones, loss: Loss::HalfSquare, ..pass.clone() };
        let run = |seed| {
            let setting = Setting::new(&architecture, Seed(seed));
            probe::run(&setting, &weights, &ones, &mut Workspace::new()).unwrap().loss.unwrap()
        };
        assert_eq!(run(0), run(1), "{} still looks at its tokens", architecture.family().name());
    }
    let value = json!({"family": "gpt2", "vocab_size": 256, "context_len": 5, "d_model": 8, "n_head": [2], "d_inner": [8]});
    let architecture = foretell::space::read_architecture(&value).unwrap();
    let text = Inputs::text(&setting(&architecture), b"to be or not to be", 2).unwrap();
    assert_eq!((text.ids[1..5].to_vec(), text.ids.len()), (text.labels[..4].to_vec(), 10));
    assert!(Inputs::text(&setting(&architecture), b"no", 2).is_err());
}

/// The second pass finds every buffer waiting and gives the same bits.
#[test]
fn a_second_pass_takes_no_new_memory_and_repeats_every_bit() {
    for (architecture, pass) in networks() {
        let weights: Weights<f32> = Weights::shared(&architecture, Seed(0));
        let mut space = Workspace::new();
        let mut run = || probe::run(&setting(&architecture), &weights, &pass, &mut space).unwrap();
        let (first, second) = (run(), run());
        let bits = |s: &probe::TypedResult<f32>| {
            s.weight_gradients.as_ref().unwrap().data.iter().map(|x| x.to_bits()).collect::<Vec<_>>()
        };
        assert_eq!(bits(&first), bits(&second), "{}", architecture.family().name());
        let idle = space.idle_bytes();
        probe::run(&setting(&architecture), &weights, &pass, &mut space).unwrap();
        assert_eq!(space.idle_bytes(), idle, "{}", architecture.family().name());
    }
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let networks = networks();
    let gradients = |threads: usize| -> Vec<Vec<u32>> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let one = |(architecture, pass): &(Architecture, Pass)| {
            let weights: Weights<f32> = Weights::shared(architecture, Seed(0));
            let signals = probe::run(&setting(architecture), &weights, pass, &mut Workspace::new()).unwrap();
            signals.weight_gradients.unwrap().data.iter().map(|x| x.to_bits()).collect()
        };
        pool.install(|| networks.par_iter().map(one).collect())
    };
    let one = gradients(1);
    assert!(one == gradients(2) && one == gradients(8));
}

/// A network that ends in a layer norm of gain one: each output vector sums to zero, so the sum has no gradient.
#[test]
fn the_sum_says_nothing_after_a_layer_norm() {
    for (architecture, pass) in networks().into_iter().filter(|(a, _)| a.family().name() == "flexibert") {
        let weights: Weights<f64> = Weights::shared(&architecture, Seed(0));
        let norm = |loss| {
            let pass = Pass { loss, ..pass.clone() };
            let signals =
                probe::run(&setting(&architecture), &weights, &pass, &mut Workspace::new()).unwrap();
            signals.weight_gradients.unwrap().data.iter().map(|g| g * g).sum::<f64>().sqrt()
        };
        let blocks = architecture.depth() as u32 - 1;
        let last =
            weights.layout.find("encoder.layer.{}.output.LayerNorm.bias", [blocks as usize, 0]).unwrap();
        // The last bias itself does have one: it is added after the norm.
        let without_bias = |loss| {
            let pass = Pass { loss, ..pass.clone() };
            let signals =
                probe::run(&setting(&architecture), &weights, &pass, &mut Workspace::new()).unwrap();
            let mut gradients = signals.weight_gradients.unwrap();
            gradients.get_mut(last).fill(0.0);
            let gain = weights
                .layout
                .find("encoder.layer.{}.output.LayerNorm.weight", [blocks as usize, 0])
                .unwrap();
            gradients.get_mut(gain).fill(0.0);
            gradients.data.iter().map(|g| g * g).sum::<f64>().sqrt()
        };
        assert!(norm(Loss::Sum) > 0.0);
        assert!(without_bias(Loss::Sum) < 1e-9 * without_bias(Loss::Projection));
    }
}

/// The tangent of the gradient along a direction, against central differences of the gradient.
#[test]
fn hessian_vector_products_agree_with_differences() {
    for (architecture, pass) in networks() {
        let weights: Weights<f64> = Weights::shared(&architecture, Seed(0));
        let direction: Weights<f64> = Weights::standalone(&architecture, Seed(1));
        let product = probe::hessian_vector_product(
            &setting(&architecture),
            &weights,
            &direction,
            &pass,
            &mut Workspace::new(),
        )
        .unwrap();
        let gradient = |step: f64| {
            let mut moved = weights.clone();
            moved.data.iter_mut().zip(&direction.data).for_each(|(w, d)| *w += step * d);
            let signals = probe::run(&setting(&architecture), &moved, &pass, &mut Workspace::new()).unwrap();
            signals.weight_gradients.unwrap().data
        };
        let step = 1e-5;
        let scale = product.data.iter().map(|x| x.abs()).fold(0.0, f64::max);
        for ((found, up), down) in product.data.iter().zip(gradient(step)).zip(gradient(-step)) {
            let difference = (up - down) / (2.0 * step);
            let error = (found - difference).abs() / scale;
            assert!(error < 1e-6, "{}: {found} is not {difference}", architecture.family().name());
        }
    }
}

/// Inputs and output gradients are the factors of a linear map's weight gradient.
#[test]
fn weight_gradients_are_products_of_their_factors() {
    let (architecture, pass) = networks().swap_remove(0);
    let pass = pass.keep(Signal::Inputs).keep(Signal::OutputGradients);
    let weights: Weights<f64> = Weights::shared(&architecture, Seed(0));
    let signals = probe::run(&setting(&architecture), &weights, &pass, &mut Workspace::new()).unwrap();
    let fc1 = weights.layout.find("blocks.{}.fc1.weight", [1, 0]).unwrap();
    let input =
        &signals.kept.iter().find(|(mark, _)| *mark == foretell::network::Mark::Input(fc1)).unwrap().1;
    let output =
        &signals.gradients.iter().find(|(mark, _)| *mark == foretell::network::Mark::Output(fc1)).unwrap().1;
    let gradient = signals.weight_gradients.as_ref().unwrap().matrix(fc1);
    for i in 0..gradient.rows() {
        for j in 0..gradient.cols() {
            let sum: f64 =
                (0..input.view().rows()).map(|t| output.view().at(t, i) * input.view().at(t, j)).sum();
            assert!((sum - gradient.at(i, j)).abs() < 1e-12);
        }
    }
}
