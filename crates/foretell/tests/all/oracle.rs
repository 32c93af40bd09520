//! Exported networks in real PyTorch and transformers, against the engine.
//!
//! Runs where `FORETELL_PYTHON` names a Python with torch and transformers; `./check` installs one. `FORETELL_ORACLE=full`
//! takes 100 random networks per family instead of a few, `FORETELL_ORACLE_FAMILY` those of one. `FORETELL_PYTHON_PATH`
//! is put before that Python's own packages, for a second version of transformers.

use crate::support::Folder;
use foretell::architecture::{Architecture, Form, Role};
use foretell::engine::buffer::Workspace;
use foretell::engine::scalar::Scalar;
use foretell::export::{self, Export};
use foretell::network::{Input, Tape, Weights, forward};
use foretell::probe::Inputs;
use foretell::proxy::Request;
use foretell::score::{Options, Precision, Scorer, Source};
use foretell::seed::{Rng, Seed};
use foretell::space;
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use safetensors::Dtype;
use safetensors::tensor::TensorView;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

fn python() -> Option<PathBuf> {
    let given = std::env::var_os("FORETELL_PYTHON").filter(|value| value != "skip" && !value.is_empty());
    if given.is_none() {
        assert!(
            std::env::var_os("CI").is_none(),
            "FORETELL_PYTHON must name a Python with torch and transformers"
        );
        eprintln!("!!! SKIPPED: FORETELL_PYTHON names no Python, so exported networks are not run");
    }
    given.map(PathBuf::from)
}

fn full() -> bool {
    std::env::var("FORETELL_ORACLE").is_ok_and(|value| value == "full")
}

fn one_of<'a, T>(choices: &'a [T], rng: &mut Rng) -> &'a T {
    &choices[rng.random_range(0..choices.len())]
}

/// A random network of a family, small enough to run by the hundred.
fn random(family: &str, i: usize, rng: &mut Rng) -> Architecture {
    let many =
        |rng: &mut Rng, choices: &[u64], n: u64| (0..n).map(|_| *one_of(choices, rng)).collect::<Vec<_>>();
    let layers = rng.random_range(1..=4_u64);
    let value = match family {
        "vit" => {
            let relative = rng.random::<bool>();
            json!({"image_size": one_of(&[32, 48], rng), "patch_size": one_of(&[8, 16], rng), "num_classes": 7,
                "embed_dim": one_of(&[24, 36, 48], rng), "depth": layers, "head_dim": if relative { json!(one_of(&[8, 16], rng)) } else { json!(null) },
                "relative_position": relative, "max_relative_position": one_of(&[1, 2, 14], rng), "abs_pos": rng.random_range(0..4) > 0,
                "pooling": one_of(&["mean", "class"], rng), "num_heads": many(rng, &[2, 3, 4], layers),
                "mlp_ratio": many(rng, &[1, 2, 3], layers)})
        }
        "pit" => {
            json!({"image_size": 32, "patch_size": 8, "stride": one_of(&[4, 6], rng), "num_classes": 5, "base_dim": one_of(&[4, 8], rng),
            "mlp_ratio": one_of(&[1.5, 2.0, 4.0], rng), "num_heads": one_of(&[[1, 2, 4], [2, 2, 4], [2, 4, 4], [3, 3, 6]], rng),
            "depth": many(rng, &[1, 2], 3)})
        }
        "shunted" => {
            json!({"image_size": 32, "num_classes": 5, "base_dim": one_of(&[8, 16], rng), "stem_convs": rng.random_range(0..3),
            "sr_ratio": one_of(&[[8, 4, 2, 1], [4, 2, 2, 1], [1, 2, 1, 1]], rng), "depth": many(rng, &[1, 2], 4),
            "num_heads": many(rng, &[2, 4], 4), "mlp_ratio": many(rng, &[1, 2, 4], 4)})
        }
        "bert" => {
            json!({"vocab_size": 200, "context_len": 24, "hidden_size": one_of(&[24, 48], rng), "num_layers": layers,
            "num_heads": many(rng, &[2, 3, 4], layers), "ffn_dim": many(rng, &[16, 40, 64], layers)})
        }
        "flexibert" => {
            let operators = (0..layers).map(|_| {
                *one_of(
                    &[("SA", "SDP"), ("SA", "WMA"), ("LT", "DFT"), ("LT", "DCT"), ("DSC", "5"), ("DSC", "9")],
                    rng,
                )
            });
            let (kinds, parameters): (Vec<_>, Vec<_>) = operators.unzip();
            json!({"mode": one_of(&["spec", "spec", "as-trained"], rng), "vocab_size": 200, "context_len": 24, "embedding_size": one_of(&[16, 32], rng),
                "hidden_size": one_of(&[16, 32], rng), "num_layers": layers, "operation_type": kinds, "operation_parameter": parameters,
                "num_heads": many(rng, &[2, 4], layers), "ffn_dim": many(rng, &[24, 40], layers), "ffn_stack": many(rng, &[1, 3], layers)})
        }
        "gpt2" | "transformer-xl" => {
            let mut value = json!({"vocab_size": 300, "context_len": 20, "n_layer": layers, "d_model": one_of(&[24, 48], rng),
                "n_head": many(rng, &[2, 3, 4], layers), "d_inner": many(rng, &[16, 40, 64], layers)});
            match rng.random_range(0..4) {
                0 if family == "gpt2" => value["head"] = json!("plain"),
                0 | 1 => value["cutoffs"] = json!([]),
                _ => value["cutoffs"] = json!(one_of(&[vec![50], vec![50, 120, 200]], rng)),
            }
            if value.get("head").is_none() {
                value["d_embed"] = one_of(&[json!(null), json!(32)], rng).clone();
                value["div_val"] = json!(one_of(&[1, 2], rng));
                value["tie_projs"] = json!(rng.random::<bool>());
            }
            value
        }
        "recurrent" => {
            let space = space::preset("nasbench-nlp").unwrap();
            let mut value = Value::Object(space.sample(rng).to_json());
            for (key, size) in
                [("vocab_size", 300), ("embed_dim", 12), ("hidden_size", 20), ("context_len", 12)]
            {
                value[key] = json!(size);
            }
            value
        }
        "llama" => {
            let adapters = rng.random_range(0..3) == 0;
            let ranks = if adapters {
                many(rng, &[2, 4], layers).into_iter().map(Value::from).collect()
            } else {
                vec![json!(null); layers as usize]
            };
            json!({"vocab_size": 300, "context_len": 20, "hidden_size": one_of(&[32, 48], rng), "num_layers": layers,
                "head_dim": one_of(&[json!(null), json!(12)], rng), "attention_bias": rng.random::<bool>(), "tie_embeddings": rng.random::<bool>(),
                "num_heads": many(rng, &[2, 4, 8], layers), "num_kv_heads": many(rng, &[1, 2], layers), "ffn_dim": many(rng, &[20, 64], layers),
                "qkv_rank": ranks, "up_rank": ranks, "down_rank": if adapters { json!(3) } else { json!(null) },
                "rope_theta": one_of(&[10_000, 1_000_000], rng), "norm_eps": one_of(&["1e-6", "1e-5"], rng)})
        }
        other => panic!("no random {other}"),
    };
    let mut value = value;
    value["family"] = family.into();
    // Every third is homogeneous, so that stock classes get their share.
    if i.is_multiple_of(3) && !["pit", "shunted", "recurrent"].contains(&family) {
        for list in value
            .as_object_mut()
            .unwrap()
            .iter_mut()
            .filter(|(key, _)| *key != "cutoffs")
            .filter_map(|(_, v)| v.as_array_mut())
        {
            let first = list[0].clone();
            list.fill(first);
        }
        match family {
            "vit" => {
                for (key, set) in [
                    ("relative_position", json!(false)),
                    ("head_dim", json!(null)),
                    ("pooling", json!("class")),
                    ("abs_pos", json!(true)),
                ] {
                    value[key] = set;
                }
            }
            "gpt2" => {
                for (key, set) in [
                    ("head", json!("plain")),
                    ("d_embed", json!(null)),
                    ("div_val", json!(1)),
                    ("cutoffs", json!([])),
                ] {
                    value[key] = set;
                }
            }
            "llama" => {
                for key in ["qkv_rank", "up_rank", "down_rank"] {
                    value[key] = json!(null);
                }
            }
            _ => {}
        }
    }
    space::read_architecture(&value).unwrap_or_else(|e| panic!("{value}: {e}"))
}

/// Away from the special points of initialisation: gains of one, biases of zero.
fn weights(architecture: &Architecture, rng: &mut Rng) -> Weights<f32> {
    let mut weights: Weights<f32> = Weights::shared(architecture, Seed(1));
    let scale =
        if ["pit", "shunted", "recurrent"].contains(&architecture.family().name()) { 1.0 } else { 4.0 };
    let layout = weights.layout.clone();
    for (param, tensor) in layout.tensors() {
        // Updates of adapters are scaled up by 64 over their rank.
        let (scale, noise) = if tensor.role == Role::Adapter { (1.0, 0.01) } else { (scale, 0.1) };
        let moved = |w: &mut f32| *w = scale * *w + noise * (rng.random::<f32>() - 0.5);
        weights.get_mut(param).iter_mut().for_each(moved);
    }
    weights
}

const BATCH: usize = 3;

/// Pixels or ids of a batch, sample after sample, and labels.
struct Fed {
    pixels: Vec<f32>,
    ids: Vec<u32>,
    labels: Vec<u32>,
    tokens: usize,
}

fn number(architecture: &Architecture, key: &str) -> usize {
    architecture.to_json()[key].as_u64().unwrap() as usize
}

fn feed(architecture: &Architecture, rng: &mut Rng) -> Fed {
    if architecture.family().name() == "vit" || architecture.to_json().contains_key("image_size") {
        let side = number(architecture, "image_size");
        let pixels = (0..BATCH * 3 * side * side)
            .map(|_| {
                let x: f64 = StandardNormal.sample(rng);
                x as f32
            })
            .collect();
        let classes = number(architecture, "num_classes") as u32;
        let labels = (0..BATCH).map(|_| rng.random_range(0..classes)).collect();
        return Fed { pixels, ids: Vec::new(), labels, tokens: 0 };
    }
    let (words, tokens) =
        (number(architecture, "vocab_size") as u32, number(architecture, "context_len") - 3);
    let mut draw = || (0..BATCH * tokens).map(|_| rng.random_range(0..words)).collect::<Vec<u32>>();
    Fed { pixels: Vec::new(), ids: draw(), labels: draw(), tokens }
}

/// Features, and logits and the loss where there are any, sample after sample.
fn engine<S: Scalar>(
    architecture: &Architecture,
    weights: &Weights<S>,
    fed: &Fed,
) -> [(Vec<f64>, Vec<usize>); 3] {
    let recurrent = architecture.family().name() == "recurrent";
    let order = |ids: &[u32]| -> Vec<u32> {
        if !recurrent {
            return ids.to_vec();
        }
        let places = (0..fed.tokens).flat_map(|t| (0..BATCH).map(move |b| b * fed.tokens + t));
        places.map(|place| ids[place]).collect()
    };
    let input = if fed.ids.is_empty() {
        Input::images(fed.pixels.iter().map(|x| S::from_f64(f64::from(*x))).collect(), BATCH)
    } else {
        Input::Tokens { ids: order(&fed.ids), types: Vec::new(), labels: order(&fed.labels), batch: BATCH }
    };
    let mut space = Workspace::new();
    let mut tape = Tape::new(weights, &mut space, false);
    let output = forward(architecture, &input, &mut tape);
    let take = |value| {
        let (rows, cols) = tape.shape(value);
        let data: Vec<f64> = tape.data(value).iter().map(|x| x.to_f64()).collect();
        if !recurrent {
            return (data, vec![BATCH, rows / BATCH, cols]);
        }
        let order = (0..BATCH).flat_map(|b| (0..rows / BATCH).map(move |t| t * BATCH + b));
        (order.flat_map(|row| data[row * cols..][..cols].to_vec()).collect(), vec![BATCH, rows / BATCH, cols])
    };
    let loss = output.loss.map_or((Vec::new(), vec![0]), |loss| (vec![tape.data(loss)[0].to_f64()], vec![1]));
    let [features, logits] =
        [Some(output.features), output.logits].map(|value| value.map_or((Vec::new(), vec![0]), take));
    [features, logits, loss]
}

fn save(path: &Path, entries: Vec<(&str, Dtype, Vec<usize>, Vec<u8>)>) {
    let views = entries
        .iter()
        .map(|(name, dtype, shape, bytes)| (*name, TensorView::new(*dtype, shape.clone(), bytes).unwrap()));
    std::fs::write(path, safetensors::serialize(views, None).unwrap()).unwrap();
}

fn doubles(data: &[f64]) -> Vec<u8> {
    data.iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn longs(data: &[u32]) -> Vec<u8> {
    data.iter().flat_map(|x| i64::from(*x).to_le_bytes()).collect()
}

/// Writes a network in all formats that take it, what it is fed, and what the engine says; false if that is no number.
fn case(folder: &Path, architecture: &Architecture, rng: &mut Rng) -> bool {
    let (weights, fed) = (weights(architecture, rng), feed(architecture, rng));
    let single = engine(architecture, &weights, &fed);
    let double = engine(architecture, &weights.cast::<f64>(), &fed);
    if single.iter().chain(&double).any(|(data, _)| data.iter().any(|x| x.abs() > 1e6 || x.is_nan())) {
        return false;
    }
    std::fs::create_dir_all(folder).unwrap();
    let request = Export { architecture, weights: Some(&weights), origin: &[] };
    for format in export::FORMATS {
        match export::write(&request, *format, &folder.join(format.name()), false) {
            Ok(_) => {}
            Err(error) => assert!(format.name() == "timm", "{}: {error}", format.name()),
        }
    }
    let mut entries = Vec::new();
    for (said, names) in [
        (single, ["features_f32", "logits_f32", "loss_f32"]),
        (double, ["features_f64", "logits_f64", "loss_f64"]),
    ] {
        let said = said.into_iter().zip(names);
        entries.extend(said.map(|((data, shape), name)| (name, Dtype::F64, shape, doubles(&data))));
    }
    if fed.ids.is_empty() {
        let side = number(architecture, "image_size");
        let bytes = fed.pixels.iter().flat_map(|x| x.to_le_bytes()).collect();
        entries.push(("input", Dtype::F32, vec![BATCH, 3, side, side], bytes));
        entries.push(("labels", Dtype::I64, vec![BATCH], longs(&fed.labels)));
    } else {
        entries.push(("input", Dtype::I64, vec![BATCH, fed.tokens], longs(&fed.ids)));
        entries.push(("labels", Dtype::I64, vec![BATCH, fed.tokens], longs(&fed.labels)));
    }
    save(&folder.join("expected.safetensors"), entries);
    let facts = json!({"family": architecture.family().name(), "tensors": weights.data.len(), "params": architecture.params().total,
        "stock": export::Stock::of(architecture).is_some(), "architecture": architecture.to_json()});
    std::fs::write(folder.join("facts.json"), facts.to_string()).unwrap();
    true
}

fn run(python: &Path, script: &str, folder: &Path, more: &[&str]) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python").join(script);
    let mut command = Command::new(python);
    if let Some(path) = std::env::var_os("FORETELL_PYTHON_PATH").filter(|path| !path.is_empty()) {
        command.env("PYTHONPATH", path);
    }
    let status = command
        .arg(script)
        .arg(folder)
        .args(more)
        .env("HF_HOME", folder.join("cache"))
        .env("HF_HUB_OFFLINE", "1")
        .env("TOKENIZERS_PARALLELISM", "false")
        .status()
        .unwrap_or_else(|e| panic!("{}: {e}", python.display()));
    assert!(status.success(), "{}: {status}", folder.display());
}

const FAMILIES: [&str; 9] =
    ["vit", "pit", "shunted", "bert", "flexibert", "gpt2", "transformer-xl", "recurrent", "llama"];

#[test]
fn exported_networks_are_the_engines() {
    let Some(python) = python() else { return };
    let folder = Folder::new("oracle-networks");
    let count = if full() { 100 } else { 4 };
    let chosen = std::env::var("FORETELL_ORACLE_FAMILY").unwrap_or_default();
    for family in FAMILIES.into_iter().filter(|family| chosen.is_empty() || *family == chosen) {
        let mut rng = Seed(8).stream(family, 0);
        let place = folder.0.join(family);
        for i in 0..count {
            // Some recurrent cells multiply until they overflow.
            let mut sound = || case(&place.join(i.to_string()), &random(family, i, &mut rng), &mut rng);
            assert!((0..20).any(|_| sound()), "twenty networks of {family} overflow");
        }
    }
    run(&python, "networks.py", &folder.0, &[]);
}

/// The second oracle: four proxies by their definitions in PyTorch, on networks of every family.
#[test]
fn proxies_of_exported_networks_agree() {
    let Some(python) = python() else { return };
    let folder = Folder::new("oracle-proxies");
    for i in 0..20 {
        let family = FAMILIES[i % FAMILIES.len()];
        let mut rng = Seed(9).stream(family, i as u64);
        let mut architecture = random(family, i, &mut rng);
        if ["gpt2", "transformer-xl"].contains(&family) {
            // One cluster: the outputs of a network with several are its logits of the first.
            architecture = architecture.with("cutoffs", &json!([])).unwrap();
        }
        let place = folder.0.join(i.to_string());
        proxies(&place, &architecture, &mut rng);
    }
    run(&python, "proxies.py", &folder.0, &[]);
}

fn proxies(folder: &Path, architecture: &Architecture, rng: &mut Rng) {
    std::fs::create_dir_all(folder).unwrap();
    let weights = weights(architecture, rng);
    let request = Export { architecture, weights: Some(&weights), origin: &[] };
    export::write(&request, export::format("pytorch").unwrap(), &folder.join("pytorch"), false).unwrap();
    let mut fed = feed(architecture, rng);
    // One sample, so that one direction serves both passes of an encoder.
    for part in [&mut fed.ids, &mut fed.labels] {
        part.truncate(part.len() / BATCH);
    }
    fed.pixels.truncate(fed.pixels.len() / BATCH);
    let json = architecture.to_json();
    let width = json.get("hidden_size").and_then(Value::as_u64).unwrap_or(1) as usize;
    let signs: Vec<f64> =
        (0..fed.tokens * width).map(|_| if rng.random::<bool>() { 1.0 } else { -1.0 }).collect();
    let encoder = ["bert", "flexibert"].contains(&architecture.family().name());
    let inputs = Inputs {
        pixels: fed.pixels.iter().map(|x| f64::from(*x)).collect(),
        ids: fed.ids.clone(),
        labels: fed.labels.clone(),
        batch: 1,
        cotangent: if encoder { signs.clone() } else { Vec::new() },
        ..Default::default()
    };
    let names = ["snip", "grad-norm", "synflow", "dss"];
    let options = Options {
        precision: Precision::F64,
        weights: Source::Given(weights.cast()),
        inputs: Some(inputs),
        ..Default::default()
    };
    let scorer = Scorer::new(names.map(|name| Request::parse(name).unwrap()), options);
    let scored = scorer.score(architecture, 0, &mut Default::default());
    let scores: serde_json::Map<String, Value> = names
        .iter()
        .zip(scored.scores)
        .filter_map(|(name, score)| Some(((*name).to_owned(), json!(score.ok()?.value))))
        .collect();
    assert!(scores.len() >= 3, "{architecture:?}: {scores:?}");
    let layers = foretell::probe::Layers::Linear.select(&weights.layout).into_iter().map(|param| {
        let tensor = weights.layout.tensor(param);
        json!({"name": foretell::network::Naming::Module.parts(architecture, tensor)[0], "part": tensor.role.part().name(),
            "fused": tensor.role == Role::QueryKeyValue,
            "transposed": tensor.form == Form::LinearTransposed,
            "convolution": tensor.form == Form::Convolution})
    });
    let facts = json!({"family": architecture.family().name(), "layers": layers.collect::<Vec<_>>(), "scores": scores});
    std::fs::write(folder.join("facts.json"), facts.to_string()).unwrap();
    let mut entries = vec![];
    if fed.ids.is_empty() {
        let side = number(architecture, "image_size");
        entries.push((
            "input",
            Dtype::F32,
            vec![1, 3, side, side],
            fed.pixels.iter().flat_map(|x| x.to_le_bytes()).collect(),
        ));
    } else {
        entries.push(("input", Dtype::I64, vec![1, fed.tokens], longs(&fed.ids)));
    }
    entries.push(("labels", Dtype::I64, vec![fed.labels.len()], longs(&fed.labels)));
    if encoder {
        entries.push(("cotangent", Dtype::F64, vec![1, fed.tokens, width], doubles(&signs)));
    }
    save(&folder.join("expected.safetensors"), entries);
}
