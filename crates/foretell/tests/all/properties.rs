//! Identities, invariances and conservation laws that proxies must obey whatever the network.

use foretell::architecture::Architecture;
use foretell::network::Weights;
use foretell::probe::{Inputs, Layers, Loss, Pass, Setting, per_sample, run};
use foretell::proxy::{Request, Score};
use foretell::rank::spearman;
use foretell::score::{Options, Precision, Scorer, Source, Workers};
use foretell::seed::Seed;
use proptest::prelude::*;
use serde_json::{Value, json};

fn read(value: Value) -> Architecture {
    foretell::space::read_architecture(&value).unwrap()
}

fn vit() -> Architecture {
    read(
        json!({"family": "vit", "image_size": 16, "patch_size": 4, "num_classes": 7, "embed_dim": 16, "depth": 2,
        "num_heads": [2, 4], "mlp_ratio": 2, "head_dim": 8, "relative_position": true}),
    )
}

fn gpt2(layers: usize, width: u32, ffn: &[u32]) -> Architecture {
    read(
        json!({"family": "gpt2", "vocab_size": 40, "context_len": 7, "d_model": width, "n_head": vec![2; layers],
        "d_inner": &ffn[..layers]}),
    )
}

fn flexibert() -> Architecture {
    read(
        json!({"family": "flexibert", "vocab_size": 50, "context_len": 12, "embedding_size": 8, "hidden_size": 16,
        "operation_type": ["SA", "DSC", "LT"], "operation_parameter": ["SDP", "5", "DCT"], "num_heads": 2, "ffn_dim": 24, "ffn_stack": 1}),
    )
}

/// A score in double precision with weights and inputs of one's own.
fn score(
    architecture: &Architecture,
    request: &str,
    weights: &Weights<f64>,
    inputs: Option<Inputs>,
) -> Score {
    let (precision, weights) = (Precision::F64, Source::Given(weights.clone()));
    let options = Options { precision, weights, inputs, ..Options::default() };
    let scorer = Scorer::new(vec![Request::parse(request).unwrap()], options);
    scorer.score(architecture, 0, &mut Workers::default()).scores.remove(0).unwrap()
}

fn tokens(architecture: &Architecture, batch: usize) -> Inputs {
    let count = batch * architecture.tokens() as usize;
    let ids = |shift: usize| (0..count).map(|i| ((7 * i + shift * i * i) % 37) as u32 + 1).collect();
    Inputs { ids: ids(3), labels: ids(5), batch, ..Inputs::default() }
}

#[track_caller]
fn near(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance * expected.abs(), "{found} is not {expected}");
}

/// `Σ g ⊙ W` is the derivative of the loss when all matrices grow together.
#[test]
fn plain_is_the_derivative_along_the_weights() {
    for architecture in [vit(), gpt2(2, 16, &[24, 40]), flexibert()] {
        let weights: Weights<f64> = Weights::shared(&architecture, Seed(3));
        let loss = |factor: f64| {
            let mut grown = weights.clone();
            for param in Layers::Linear.select(&weights.layout) {
                grown.get_mut(param).iter_mut().for_each(|w| *w *= factor);
            }
            let setting = Setting::new(&architecture, Seed(0));
            run(&setting, &grown, &Pass::backward(Loss::Natural), &mut Default::default())
                .unwrap()
                .loss
                .unwrap()
        };
        let slope = (loss(1.0 + 1e-5) - loss(1.0 - 1e-5)) / 2e-5;
        // A loss near 4 has its own rounding, which the step divides.
        let found = score(&architecture, "plain", &weights, None).value;
        assert!((found - slope).abs() < 1e-6 * slope.abs() + 1e-9, "{found} is not {slope}");
    }
}

/// The mean of the Gram matrix of per-sample gradients is the squared norm of their mean.
#[test]
fn mgm_is_the_mean_of_the_gram_matrix() {
    let architecture = gpt2(2, 16, &[24, 40]);
    let weights: Weights<f64> = Weights::shared(&architecture, Seed(3));
    let (layers, mut each) = (Layers::Linear.select(&weights.layout), Vec::new());
    let setting = Setting::new(&architecture, Seed(0));
    let pass = Pass { batch: 5, ..Pass::backward(Loss::Natural) };
    per_sample(&setting, &weights, &pass, &mut Default::default(), &mut |_, g| {
        each.push(layers.iter().flat_map(|p| g.get(*p).to_vec()).collect::<Vec<f64>>());
    })
    .unwrap();
    let products =
        each.iter().flat_map(|a| each.iter().map(move |b| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>()));
    near(score(&architecture, "mgm[batch=5]", &weights, None).value, products.sum::<f64>() / 25.0, 1e-9);
}

/// Random signs find the exact trace within three standard errors, in both readings of it.
#[test]
fn estimated_traces_are_the_exact_ones() {
    for architecture in [gpt2(2, 8, &[12, 16]), flexibert()] {
        let weights: Weights<f64> = Weights::shared(&architecture, Seed(3));
        for eq in [12, 13] {
            let exact = score(&architecture, &format!("ntkt[eq={eq},exact=true,batch=2]"), &weights, None);
            let found = score(&architecture, &format!("ntkt[eq={eq},probes=200,batch=2]"), &weights, None);
            let error = found.error.unwrap();
            assert!(
                (found.value - exact.value).abs() < 3.0 * error,
                "{} ± {error} is not {}",
                found.value,
                exact.value
            );
            assert!(error < 0.1 * exact.value);
        }
    }
}

/// z → s z multiplies the trace by s²; M copies of an input by M.
#[test]
fn traces_scale_as_they_must() {
    let architecture = gpt2(2, 8, &[12, 16]);
    let weights: Weights<f64> = Weights::shared(&architecture, Seed(3));
    let mut grown = weights.clone();
    for name in ["model.transformer.ln_f.weight", "model.transformer.ln_f.bias"] {
        let param = weights.layout.find(name, [0, 0]).unwrap();
        grown.get_mut(param).iter_mut().for_each(|w| *w *= 3.0);
    }
    let one = tokens(&architecture, 1);
    let copies =
        Inputs { ids: one.ids.repeat(4), labels: one.labels.repeat(4), batch: 4, ..Inputs::default() };
    for request in ["ntkt[exact=true]", "ntkt[exact=true,eq=13]"] {
        let value = |weights: &Weights<f64>, inputs: &Inputs| {
            score(&architecture, request, weights, Some(inputs.clone())).value
        };
        let base = value(&weights, &one);
        near(value(&grown, &one), 9.0 * base, 1e-9);
        near(value(&weights, &copies), 4.0 * base, 1e-9);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// Networks of magnitudes cannot know the sign of a weight.
    #[test]
    fn synflow_and_dss_do_not_see_signs(seed in 0u64..1000) {
        let architecture = vit();
        let weights: Weights<f64> = Weights::shared(&architecture, Seed(seed));
        let mut flipped = weights.clone();
        let flip = |i: usize| (i as u64).wrapping_mul(seed | 1).is_multiple_of(3);
        flipped.data.iter_mut().enumerate().filter(|(i, _)| flip(*i)).for_each(|(_, w)| *w = -*w);
        for request in ["synflow", "logsynflow", "dss", "synaptic-diversity"] {
            let [a, b] = [&weights, &flipped].map(|weights| score(&architecture, request, weights, None).value);
            prop_assert_eq!(a.to_bits(), b.to_bits(), "{}", request);
        }
    }

    /// First-order scores grow with the loss, grad-norm's square with its square, sign scores not at all.
    #[test]
    fn scores_scale_with_the_loss(factor in 0.1f64..20.0) {
        let architecture = flexibert();
        let weights: Weights<f64> = Weights::shared(&architecture, Seed(1));
        let mut inputs = tokens(&architecture, 2);
        let cotangent = |factor: f64| (0..2 * 12 * 16).map(|i| factor * ((i * i % 11) as f64 - 5.0)).collect::<Vec<f64>>();
        let mut value = |request: &str, factor: f64| {
            inputs.cotangent = cotangent(factor);
            score(&architecture, request, &weights, Some(inputs.clone())).value
        };
        for (request, power) in [("snip", 1), ("plain", 1), ("grad-norm", 1), ("synaptic-diversity", 1), ("mgm", 2), ("fisher", 2)] {
            near(value(request, factor), factor.powi(power) * value(request, 1.0), 1e-9);
        }
        prop_assert_eq!(value("gradsign", factor), value("gradsign", 1.0));
    }
}

/// Positive factors before the last activation change no code.
#[test]
fn naswot_does_not_see_the_size_of_pre_activations() {
    let architecture =
        read(json!({"family": "vit", "image_size": 16, "patch_size": 4, "num_classes": 7, "embed_dim": 16,
        "depth": 1, "num_heads": 2, "mlp_ratio": 2}));
    let weights: Weights<f64> = Weights::shared(&architecture, Seed(3));
    let mut grown = weights.clone();
    for name in ["blocks.{}.fc1.weight", "blocks.{}.fc1.bias"] {
        grown.get_mut(weights.layout.find(name, [0, 0]).unwrap()).iter_mut().for_each(|w| *w *= 7.5);
    }
    let [a, b] = [&weights, &grown].map(|weights| score(&architecture, "naswot", weights, None).value);
    assert_eq!(a, b);
}

/// A cell without bias over one step is a chain of linear maps and ReLUs: every layer of it carries the whole flow.
#[test]
fn synaptic_flow_is_conserved_along_a_chain() {
    let architecture =
        read(json!({"family": "recurrent", "vocab_size": 30, "embed_dim": 5, "hidden_size": 6,
        "num_layers": 3, "context_len": 1, "nodes": [
            {"name": "a", "op": "linear", "inputs": ["x", "h_prev_0"]},
            {"name": "h_new_0", "op": "activation_leaky_relu", "inputs": ["a"]}]}));
    let mut weights: Weights<f64> = Weights::shared(&architecture, Seed(3));
    let layout = weights.layout.clone();
    for (param, _) in layout.tensors().filter(|(_, tensor)| tensor.pattern.ends_with("bias")) {
        weights.get_mut(param).fill(0.0);
    }
    let flow = score(&architecture, "synflow", &weights, None);
    let inputs: Vec<f64> =
        flow.terms.iter().filter(|t| t.name.ends_with("weights.0")).map(|t| t.value).collect();
    assert_eq!(inputs.len(), 3);
    inputs.iter().for_each(|term| near(*term, inputs[0], 1e-12));
    // Ones in, so the output is the product of all magnitudes: it is what every layer carries.
    let mut x = vec![1.0; 5];
    for layer in 0..3 {
        let param = layout.find("rnns.{}.cell.components.node_{}.weights.0", [layer, 0]).unwrap();
        let w = weights.matrix(param);
        x = (0..w.rows()).map(|i| (0..w.cols()).map(|j| w.at(i, j).abs() * x[j]).sum()).collect();
    }
    near(inputs[0], x.iter().sum(), 1e-12);
}

/// The network version of LPZero's GPT-2 winner orders as its closed form does.
#[test]
fn lpzero_agrees_with_its_closed_form() {
    let networks: Vec<Architecture> =
        (0..24u32).map(|i| gpt2(1 + i as usize % 3, 16 * (1 + i / 8), &[20 + 7 * i, 64, 30 + i])).collect();
    let scorer = Scorer::new(Request::parse_list("lpzero,lpzero-closed").unwrap(), Options::default());
    let table = scorer.table(&networks, &[0], &|| {}).unwrap();
    let column = |index: usize| -> Vec<f64> {
        scorer
            .order(index, &table.iter().map(|row| &row.cells[index]).collect::<Vec<_>>())
            .into_iter()
            .map(Result::unwrap)
            .collect()
    };
    assert!(spearman(&column(0), &column(1)).unwrap() > 0.99);
}

/// What the sum of outputs says after a layer norm is noise: it is given, with a warning, and signs are not.
#[test]
fn a_published_variant_that_is_noise_says_so() {
    let architecture = flexibert();
    let weights: Weights<f64> = Weights::shared(&architecture, Seed(0));
    let published = score(&architecture, "synaptic-saliency[loss=sum]", &weights, None);
    assert!(published.notes.iter().any(|note| note.contains("rounding noise")), "{:?}", published.notes);
    let own = score(&architecture, "synaptic-saliency", &weights, None);
    assert!(own.notes.is_empty() && published.value < 1e-9 * own.value);
}

/// Set scores rank within the set they are given, and change with it.
#[test]
fn set_scores_rank_within_their_set() {
    let networks: Vec<Architecture> = (1..5).map(|i| gpt2(2, 8 * i, &[16 * i, 24])).collect();
    let scorer = Scorer::new(Request::parse_list("dss++,ntsr").unwrap(), Options::default());
    let table = scorer.table(&networks, &[0], &|| {}).unwrap();
    for index in 0..2 {
        let whole = scorer.order(index, &table.iter().map(|row| &row.cells[index]).collect::<Vec<_>>());
        let sum: f64 = whole.into_iter().map(Result::unwrap).sum();
        // Two sets of ranks from 1 to 4 add up to 20, their mean to 10.
        assert_eq!(sum, [20.0, 10.0][index]);
        let alone = scorer.order(index, &[&table[2].cells[index]]).remove(0).unwrap();
        assert_eq!(alone, [2.0, 1.0][index]);
    }
}
