//! The trainer against PyTorch and against itself.

use foretell::architecture::Architecture;
use foretell::benchmark::{Benchmark, Plan, SHIPPED, Settings, Shipped, evaluate};
use foretell::data::{Data, Part, Text, Tokeniser};
use foretell::engine::scalar::Scalar;
use foretell::error::Error;
use foretell::network::{Input, Weights};
use foretell::proxy::Request;
use foretell::score::{Options, Scorer};
use foretell::space::read_architecture;
use foretell::train::{self, Optimiser, Recipe, Run, Schedule, Task, Trainer, fit, run};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Duration;

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/train").join(name)
}

/// Some 12,000 bytes that are no noise.
fn text() -> Data {
    let line = |i: usize| {
        format!("{} sheep, and {} goats of {}\n", i * i % 97, i % 13, ["Ur", "Edom", "Nod"][i % 3])
    };
    let all: String = (0..500).map(line).collect();
    Data::Text(Text::of("test", all.as_bytes(), None, Tokeniser::Bytes).unwrap())
}

fn gpt2() -> Architecture {
    read_architecture(
        &json!({"family": "gpt2", "vocab_size": 257, "context_len": 16, "cutoffs": [], "n_layer": 2,
        "d_model": 16, "n_head": [2, 4], "d_inner": [24, 40]}),
    )
    .unwrap()
}

fn recipe(optimiser: Optimiser) -> Recipe {
    let common = Recipe {
        steps: 50,
        batch: 4,
        part: 2,
        tokens: 16,
        floor: 0.1,
        smoothing: 0.1,
        optimiser,
        ..Recipe::default()
    };
    match optimiser {
        Optimiser::AdamW => Recipe { rate: 5e-3, warmup: 10, decay: 0.1, ..common },
        Optimiser::Lamb => Recipe { rate: 4e-2, warmup: 5, schedule: Schedule::Linear, ..common },
    }
}

#[test]
#[ignore = "writes the input of reference.py"]
fn writes_the_batches() {
    let (data, recipe) = (text(), recipe(Optimiser::AdamW));
    let trainer = Trainer::<f64>::new(&gpt2(), &data, &recipe).unwrap();
    let windows = |step: u64| -> Vec<Vec<u32>> {
        let Input::Tokens { ids, labels, .. } = trainer.batch(step) else { unreachable!() };
        let window = |i: usize| [&ids[16 * i..16 * (i + 1)], &labels[16 * i + 15..16 * (i + 1)]].concat();
        (0..4).map(window).collect()
    };
    let all: Vec<_> = (0..50).map(windows).collect();
    std::fs::write(fixture("batches.json"), serde_json::to_string(&all).unwrap() + "\n").unwrap();
}

/// Number i of tensor t, in the order of names, is 0.1 sin(12.9898 (i+1) + 78.233 (t+1)); gains are 1 more.
fn set_weights<S: Scalar>(trainer: &mut Trainer<'_, S>) {
    let mut weights: Weights<S> = trainer.weights().clone();
    let layout = weights.layout.clone();
    let mut names: Vec<_> = layout.tensors().map(|(param, tensor)| (tensor.name(), param)).collect();
    names.sort();
    for (t, (name, param)) in names.into_iter().enumerate() {
        let gain = f64::from(u8::from(name.contains("ln_") && name.ends_with("weight")));
        for (i, w) in weights.get_mut(param).iter_mut().enumerate() {
            *w = S::from_f64(gain + 0.1 * (12.9898 * (i + 1) as f64 + 78.233 * (t + 1) as f64).sin());
        }
    }
    trainer.set_weights(&weights);
}

fn follows<S: Scalar>(bits: &str, tolerance: f64) {
    let (data, text) = (text(), std::fs::read_to_string(fixture("expected.json")).unwrap());
    let expected: Value = serde_json::from_str(&text).unwrap();
    for (name, optimiser) in [("adamw", Optimiser::AdamW), ("lamb", Optimiser::Lamb)] {
        let mut trainer = Trainer::<S>::new(&gpt2(), &data, &recipe(optimiser)).unwrap();
        set_weights(&mut trainer);
        let losses = expected[format!("{name}-{bits}")].as_array().unwrap();
        assert_eq!(losses.len(), 50);
        let mut worst: f64 = 0.0;
        for (step, theirs) in losses.iter().enumerate() {
            let (ours, theirs) = (trainer.step().unwrap(), theirs.as_f64().unwrap());
            worst = worst.max((ours - theirs).abs());
            assert!((ours - theirs).abs() < tolerance, "{name} {bits}, step {step}: {ours} is not {theirs}");
        }
        let fall = losses[0].as_f64().unwrap() - losses[49].as_f64().unwrap();
        assert!(fall > 1.0, "{name}: the loss fell by {fall} only, nothing is shown");
        eprintln!("{name} {bits}: off by at most {worst:.1e}, fell by {fall:.2}");
    }
}

#[test]
fn fifty_steps_follow_pytorch() {
    follows::<f64>("f64", 1e-8);
    follows::<f32>("f32", 1e-4);
}

/// One batch again and again: the text is as long as a sample, so there is only one.
#[test]
fn one_batch_is_learned_by_heart() {
    let window = "In the beginning";
    let data = Text::of(
        "test",
        format!("{window}.").as_bytes(),
        Some(format!("{window}.").as_bytes()),
        Tokeniser::Bytes,
    );
    let data = Data::Text(data.unwrap());
    let recipe =
        Recipe { steps: 300, batch: 2, part: 1, tokens: 16, rate: 2e-2, warmup: 5, ..Recipe::default() };
    let outcome = run(&gpt2(), &data, &recipe).unwrap();
    assert!(outcome.valid.loss < 0.02, "{}", outcome.valid.loss);
    assert!(outcome.valid.perplexity() < 1.02);
}

/// All weights zero: every id is equally likely, 257 of them.
#[test]
fn a_uniform_model_has_the_perplexity_of_its_vocabulary() {
    let data = text();
    let mut trainer =
        Trainer::<f64>::new(&gpt2(), &data, &Recipe { tokens: 16, ..Recipe::default() }).unwrap();
    let zeros = Weights::zeros(trainer.weights().layout.clone());
    trainer.set_weights(&zeros);
    assert!((trainer.validate().unwrap().perplexity() - 257.0).abs() < 1e-9);
}

fn networks() -> Vec<(Architecture, Option<Task>)> {
    let read = |value: Value| read_architecture(&value).unwrap();
    let node = |name: &str, op: &str, inputs: &[&str]| json!({"name": name, "op": op, "inputs": inputs});
    let bert = read(
        json!({"family": "bert", "vocab_size": 257, "context_len": 16, "hidden_size": 16, "num_layers": 1,
        "num_heads": 2, "ffn_dim": 32}),
    );
    let flexibert = read(
        json!({"family": "flexibert", "vocab_size": 257, "context_len": 16, "embedding_size": 12,
        "hidden_size": 16, "num_layers": 5, "operation_type": ["SA", "SA", "LT", "LT", "DSC"],
        "operation_parameter": ["SDP", "WMA", "DFT", "DCT", "5"], "num_heads": 2, "ffn_dim": 32, "ffn_stack": 1}),
    );
    vec![
        (gpt2(), None),
        (
            read(
                json!({"family": "transformer-xl", "vocab_size": 257, "context_len": 16, "cutoffs": [100, 200],
                "n_layer": 2, "d_model": 16, "n_head": 2, "d_inner": 32}),
            ),
            None,
        ),
        (
            read(
                json!({"family": "llama", "vocab_size": 257, "context_len": 16, "hidden_size": 16, "num_layers": 2,
                "num_heads": 2, "ffn_dim": 32}),
            ),
            None,
        ),
        (
            read(
                json!({"family": "recurrent", "vocab_size": 257, "embed_dim": 16, "hidden_size": 16, "num_layers": 1,
                "context_len": 16, "nodes": [node("i", "linear", &["x", "h_prev_0"]),
                node("h_new_0", "activation_tanh", &["i"])]}),
            ),
            None,
        ),
        (bert.clone(), None),
        (bert, Some(Task::Replaced)),
        (flexibert.clone(), None),
        (flexibert, Some(Task::Replaced)),
    ]
}

/// Sixty steps lower the validation loss of every kind of network; with dropout, smoothing and both optimisers.
#[test]
fn every_family_learns_its_task() {
    let data = text();
    for (number, (network, task)) in networks().into_iter().enumerate() {
        let optimiser = if number % 2 == 0 { Optimiser::AdamW } else { Optimiser::Lamb };
        let recipe = Recipe {
            task,
            steps: 60,
            batch: 8,
            tokens: 16,
            rate: 1e-2,
            warmup: 5,
            validate_every: 1,
            validate_samples: 16,
            dropout: 0.1,
            smoothing: 0.05,
            optimiser,
            ..Recipe::default()
        };
        let outcome = run(&network, &data, &recipe).unwrap();
        let (first, last) = (outcome.curve[0].valid.loss, outcome.valid.loss);
        assert!(last < first - 0.02, "{}, {task:?}: {first} became {last}", network.family().name());
        assert_eq!((outcome.steps, outcome.seen, outcome.curve.len()), (60, 60 * 8 * 16, 60));
    }
}

/// Dark noise and light noise.
fn images() -> PathBuf {
    let folder = std::env::temp_dir().join(format!("foretell-images-{}", std::process::id()));
    let image = |i: usize| -> Vec<u8> {
        (0..256).map(|p| ((p * 31 + i * 17) % 61) as u8 + if i.is_multiple_of(2) { 120 } else { 0 }).collect()
    };
    std::fs::create_dir_all(&folder).unwrap();
    for (part, n) in [("train", 60_u32), ("t10k", 20)] {
        let mut pixels =
            [&[0, 0, 8, 3][..], &n.to_be_bytes(), &16_u32.to_be_bytes(), &16_u32.to_be_bytes()].concat();
        let mut labels = [&[0, 0, 8, 1][..], &n.to_be_bytes()].concat();
        for i in 0..n as usize {
            pixels.extend(image(i));
            labels.push((i % 2) as u8);
        }
        std::fs::write(folder.join(format!("{part}-images-idx3-ubyte")), pixels).unwrap();
        std::fs::write(folder.join(format!("{part}-labels-idx1-ubyte")), labels).unwrap();
    }
    folder
}

#[test]
fn image_networks_tell_light_from_dark() {
    let folder = images();
    let data = Data::open(&folder, Tokeniser::Bytes, None, None).unwrap();
    std::fs::remove_dir_all(folder).unwrap();
    for network in [
        json!({"family": "vit", "patch_size": 4, "embed_dim": 16, "depth": 2, "num_heads": 2, "mlp_ratio": 2}),
        json!({"family": "pit", "patch_size": 4, "stride": 2, "base_dim": 8, "num_heads": [1, 2, 4], "mlp_ratio": 2,
            "depth": [1, 1, 1]}),
    ] {
        let network = fit(&read_architecture(&network).unwrap(), &data).unwrap();
        let recipe = Recipe { steps: 40, batch: 8, rate: 5e-3, warmup: 5, ..Recipe::default() };
        let outcome = run(&network, &data, &recipe).unwrap();
        assert_eq!(outcome.valid.accuracy, Some(1.0), "{}: {:?}", network.family().name(), outcome.valid);
    }
}

fn in_pool<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

/// One, two and five threads; whole, and interrupted after any number of checkpoints: the same bits.
#[test]
fn same_bits_on_any_number_of_threads_and_after_a_stop() {
    let data = text();
    for (network, task) in networks() {
        let recipe = Recipe {
            task,
            steps: 6,
            batch: 6,
            part: 1,
            tokens: 16,
            dropout: 0.1,
            validate_every: 2,
            ..Recipe::default()
        };
        let whole = |threads: usize| {
            in_pool(threads, || {
                let mut trainer = Trainer::<f32>::new(&network, &data, &recipe).unwrap();
                let losses: Vec<u64> = (0..6).map(|_| trainer.step().unwrap().to_bits()).collect();
                (losses, trainer.weights().data.clone())
            })
        };
        let one = whole(1);
        assert_eq!(one, whole(2));
        assert_eq!(one, whole(5));
    }
    let (network, folder) =
        (gpt2(), std::env::temp_dir().join(format!("foretell-train-{}", std::process::id())));
    let recipe = Recipe { steps: 8, batch: 4, tokens: 16, validate_every: 3, ..Recipe::default() };
    let whole = run(&network, &data, &recipe).unwrap();
    /// Panics in the middle of a run.
    struct Stop(u64);
    impl train::Watch for Stop {
        fn step(&mut self, step: u64, _: f64) {
            assert!(step < self.0, "stop");
        }
    }
    for stop in [3, 5, 7] {
        let stopped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            Run::new(&network, &data, &recipe)
                .checkpoints(Some(&folder))
                .pause(Duration::ZERO)
                .watched(&mut Stop(stop))
        }));
        assert!(stopped.is_err());
    }
    let resumed = Run::new(&network, &data, &recipe)
        .checkpoints(Some(&folder))
        .pause(Duration::ZERO)
        .watched(&mut ())
        .unwrap();
    assert_eq!((whole.curve, whole.kept), (resumed.curve, resumed.kept));
    let other = Recipe { seed: 1, ..recipe };
    let refused = Run::new(&network, &data, &other)
        .checkpoints(Some(&folder))
        .pause(Duration::ZERO)
        .watched(&mut ())
        .unwrap_err();
    assert!(refused.to_string().contains("another run (recipe differ)"), "{refused}");
    let file = train::weights(&folder).unwrap();
    assert!(Weights::<f32>::read(&network, &file).is_ok(), "score --weights reads a checkpoint");
    std::fs::remove_dir_all(folder).unwrap();
}

/// Part size is not batch size: the same samples in other parts give the same loss but for rounding.
#[test]
fn accumulation_changes_nothing_but_rounding() {
    let data = text();
    let losses = |part: usize| {
        let recipe = Recipe { steps: 5, batch: 6, part, tokens: 16, ..Recipe::default() };
        let mut trainer = Trainer::<f64>::new(&gpt2(), &data, &recipe).unwrap();
        (0..5).map(|_| trainer.step().unwrap()).collect::<Vec<_>>()
    };
    for (a, b) in losses(6).into_iter().zip(losses(1)) {
        assert!((a - b).abs() < 1e-9, "{a} is not {b}");
    }
}

/// A rate that spoils what it learned first: it stops three validations after the best, and keeps the best, to the bit.
#[test]
fn stops_when_validation_no_longer_improves_and_keeps_the_best() {
    let data = text();
    let recipe = Recipe {
        steps: 300,
        batch: 4,
        tokens: 16,
        rate: 0.3,
        warmup: 100,
        validate_every: 1,
        patience: 3,
        ..Recipe::default()
    };
    let folder = std::env::temp_dir().join(format!("foretell-best-{}", std::process::id()));
    let pause = std::time::Duration::from_secs(1000);
    let outcome = train::Run::new(&gpt2(), &data, &recipe)
        .checkpoints(Some(&folder))
        .pause(pause)
        .watched(&mut ())
        .unwrap();
    assert!(outcome.early && outcome.kept > 1 && outcome.steps == outcome.kept + 3, "{outcome:?}");
    let best = outcome.curve.iter().map(|point| point.valid.loss).fold(f64::INFINITY, f64::min);
    assert_eq!(outcome.valid.loss, best);
    let mut trainer = Trainer::<f32>::new(&gpt2(), &data, &recipe).unwrap();
    (0..outcome.kept).for_each(|_| {
        trainer.step().unwrap();
    });
    assert_eq!(trainer.validate().unwrap(), outcome.valid);
    let file = train::weights(&folder).unwrap();
    let weights = Weights::<f32>::read(&gpt2(), &file).unwrap();
    assert_eq!(weights.data, trainer.weights().data);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn nonsense_is_refused_by_name() {
    let data = text();
    let refused = |recipe: Recipe| run(&gpt2(), &data, &recipe).unwrap_err().to_string();
    assert!(refused(Recipe { part: 3, ..Recipe::default() }).contains("part"));
    assert!(refused(Recipe { rate: f64::NAN, ..Recipe::default() }).contains("rate"));
    assert!(refused(Recipe { task: Some(Task::Classify), ..Recipe::default() }).contains("task"));
    let hot = Recipe { rate: 1e30, clip: 0.0, warmup: 0, tokens: 16, ..Recipe::default() };
    assert!(matches!(run(&gpt2(), &data, &hot), Err(Error::Diverged { .. })));
    let other = gpt2().with("vocab_size", &300.into()).unwrap();
    assert!(run(&other, &data, &Recipe::default()).unwrap_err().to_string().contains("vocabulary"));
    assert_eq!(fit(&other, &data).unwrap(), gpt2());
    assert!(data.digest().len() == 20 && matches!(&data, Data::Text(t) if t.ids(Part::Train).len() > 9000));
}

/// The benchmarks that ship: what their configurations draw, as many networks as promised, of all sizes, every operator
/// among them, each with its label and counted as it says.
#[test]
fn shipped_benchmarks_are_sound() {
    let shipped = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/benchmark/shipped");
    assert_eq!(SHIPPED.len(), 3);
    for (Shipped { name, .. }, (networks, [low, high])) in
        SHIPPED.iter().zip([(150, [50_000, 2_000_000]), (100, [80_000, 1_000_000])])
    {
        let plan = Plan::read(&shipped.join(name).join("config.toml")).unwrap();
        let table = Benchmark::load(&shipped.join("nowhere"), name).unwrap();
        let count = plan.networks().len();
        assert!(count >= networks, "{name}: {count}");
        assert_eq!(plan.jobs().len(), count + count / 10, "{name}: two seeds on a tenth");
        let ids = |networks: &[Architecture]| networks.iter().map(Architecture::id).collect::<Vec<_>>();
        assert_eq!(ids(plan.networks()), ids(&table.architectures), "{name}");
        assert!(table.counts.iter().all(|count| count.published == count.ours), "{name}");
        let target = table.default_target().unwrap();
        assert!(target.lower_is_better && target.values.iter().all(Option::is_some), "{name}");
        let sizes: Vec<u64> = plan.networks().iter().map(|network| network.params().total).collect();
        let (least, most) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
        assert!(
            low <= *least && *least < low * 2 && high * 4 / 5 < *most && *most <= high,
            "{least} to {most}"
        );
        let scorer = Scorer::new(vec![Request::parse("params").unwrap()], Options::default());
        let report = evaluate(&table, target, &scorer, &Settings::default(), &|| ()).unwrap();
        let noise = report.noise.unwrap();
        assert_eq!(noise.networks, count / 10);
        let (tau, ceiling) = (report.proxies[0].kendall.unwrap(), noise.ceiling.unwrap());
        assert!(noise.deviation > 0.0 && ceiling < 1.0 && ceiling > tau, "{name}: {noise:?}, params {tau}");
        let text: String = plan.networks().iter().map(|network| format!("{network:?}")).collect();
        for operator in ["SDP", "WMA", "DFT", "DCT", "\"5\"", "\"9\""] {
            let enough = text.matches(operator).count() > 20;
            assert!(*name != "flexibert-pentateuch" || enough, "{operator} hardly occurs");
        }
    }
}

/// The table of budgets: every network of its configuration after every budget, with more training always better on average,
/// and two seeds on every twelfth.
#[test]
fn the_table_of_budgets_is_sound() {
    let shipped = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/benchmark/shipped");
    let plan = Plan::read(&shipped.join("gpt2-regimes/config.toml")).unwrap();
    let table = Benchmark::load(&shipped.join("nowhere"), "gpt2-regimes").unwrap();
    let ids = |networks: &[Architecture]| networks.iter().map(Architecture::id).collect::<Vec<_>>();
    let budgets = ["8", "20", "40", "60", "100", "180", "350", "600", "1800"];
    assert_eq!(plan.jobs().len(), budgets.len() * (36 + 3));
    assert_eq!(table.budget().unwrap().name, "tokens");
    let mut before = f64::INFINITY;
    for steps in budgets {
        let part = table.filter("steps", steps).unwrap();
        assert_eq!(ids(plan.networks()), ids(&part.architectures), "{steps}");
        let loss = part.column("valid_loss").unwrap();
        let mean = loss.values.iter().map(|loss| loss.unwrap()).sum::<f64>() / loss.values.len() as f64;
        assert!(mean < before, "{steps}: {mean}, after {before}");
        before = mean;
        let tokens = part.column("tokens").unwrap().values[0].unwrap();
        assert_eq!(tokens, steps.parse::<f64>().unwrap() * 1024.0);
        let scorer = Scorer::new(vec![Request::parse("params").unwrap()], Options::default());
        let report =
            evaluate(&part, part.default_target().unwrap(), &scorer, &Settings::default(), &|| ()).unwrap();
        assert_eq!(report.noise.unwrap().networks, 3, "{steps}: repeats of this budget alone");
    }
}
