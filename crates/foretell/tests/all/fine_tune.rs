//! Fine-tuning: pairs of passages, weights to start from, rates that fall from block to block, and ELECTRA's generator.

use crate::support::Folder;
use foretell::architecture::Architecture;
use foretell::data::{Data, Text, Tokeniser};
use foretell::network::{Input, Weights};
use foretell::space::read_architecture;
use foretell::train::{Generator, Recipe, Run, Schedule, Task, Trainer, run, weights};
use serde_json::json;
use std::time::Duration;

/// Lines that count: the digits of a line follow from those of the line before.
fn text() -> Data {
    let all: String = (0..1500).map(|i| format!("{:04} {:04}\n", i, i * 7 % 1000)).collect();
    Data::Text(Text::of("test", all.as_bytes(), None, Tokeniser::Bytes).unwrap())
}

fn bert() -> Architecture {
    let value = json!({"family": "bert", "vocab_size": 257, "context_len": 16, "hidden_size": 16, "num_layers": 3,
        "num_heads": 2, "ffn_dim": 32});
    read_architecture(&value).unwrap()
}

fn recipe(task: Task) -> Recipe {
    Recipe {
        task: Some(task),
        steps: 4,
        batch: 8,
        part: 4,
        tokens: 16,
        warmup: 0,
        validate_samples: 16,
        ..Recipe::default()
    }
}

/// Half of the pairs go on where the first passage ends; the second passage has types of its own.
#[test]
fn pairs_are_two_passages() {
    let data = text();
    let Data::Text(text) = &data else { unreachable!() };
    let trainer = Trainer::<f32>::new(&bert(), &data, &Recipe { batch: 400, ..recipe(Task::Pairs) }).unwrap();
    let Input::Tokens { ids, types, .. } = trainer.batch(0) else { unreachable!() };
    assert_eq!(types[..16], [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1]);
    let train = text.ids(foretell::data::Part::Train);
    let follows = ids.chunks_exact(16).filter(|pair| train.windows(16).any(|window| window == *pair)).count();
    assert!((160..240).contains(&follows), "{follows} of 400 pairs follow");
    let outcome = run(&bert(), &data, &recipe(Task::Pairs)).unwrap();
    assert!(outcome.valid.accuracy.is_some());
}

/// A pre-trained network is where its fine-tuning starts, whatever the task was; heads are new.
#[test]
fn a_run_starts_from_another() {
    let (data, folder) = (text(), Folder::new("fine-tune"));
    let pre = folder.0.join("pre");
    let trained = Recipe { generator: Generator::Quarter, ..recipe(Task::Replaced) };
    Run::new(&bert(), &data, &trained)
        .checkpoints(Some(&pre))
        .pause(Duration::ZERO)
        .watched(&mut ())
        .unwrap();
    let kept: Weights<f32> = Weights::read(&bert(), &weights(&pre).unwrap()).unwrap();
    for start in [pre.clone(), weights(&pre).unwrap()] {
        let fine = Recipe { start: Some(start), ..recipe(Task::Pairs) };
        let trainer = Trainer::<f32>::new(&bert(), &data, &fine).unwrap();
        assert_eq!(trainer.weights().data[..kept.data.len()], kept.data);
        assert!(trainer.weights().data.len() > kept.data.len());
    }
    let wrong = Recipe { start: Some(folder.0.join("none")), ..recipe(Task::Pairs) };
    assert!(Trainer::<f32>::new(&bert(), &data, &wrong).is_err());
    let empty = Recipe { start: Some(folder.0.clone()), ..recipe(Task::Pairs) };
    let error = Trainer::<f32>::new(&bert(), &data, &empty).err().unwrap().to_string();
    assert!(error.contains("holds no checkpoint to start from"), "{error}");
}

/// The first step of Adam moves every weight that has a gradient by the rate: 0.01 for the head, a half of that for each block down.
#[test]
fn lower_blocks_move_less() {
    let data = text();
    let recipe = Recipe {
        rate: 0.01,
        decay: 0.0,
        eps: 1e-30,
        schedule: Schedule::Constant,
        layer_decay: 0.5,
        ..recipe(Task::Pairs)
    };
    let mut trainer = Trainer::<f64>::new(&bert(), &data, &recipe).unwrap();
    let before = trainer.weights().clone();
    trainer.step().unwrap();
    let after = trainer.weights();
    for (param, tensor) in after.layout.tensors() {
        let moved =
            after.get(param).iter().zip(before.get(param)).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        let below = match tensor.block {
            Some(block) => 3 - block as i32,
            None if tensor.name().starts_with("head.") => 0,
            None => 4,
        };
        let expected = 0.01 * 0.5_f64.powi(below);
        // A pooler that the head does not read has no gradient.
        assert!(moved == 0.0 || (moved / expected - 1.0).abs() < 1e-3, "{tensor}: {moved} is not {expected}");
    }
}

#[test]
fn what_has_no_effect_is_refused_and_usual_recipes_are_written_as_before() {
    let data = text();
    let refused = |recipe: Recipe| Trainer::<f32>::new(&bert(), &data, &recipe).err().unwrap().to_string();
    assert!(refused(Recipe { generator: Generator::Quarter, ..recipe(Task::Masked) }).contains("generator"));
    assert!(refused(Recipe { layer_decay: 0.0, ..recipe(Task::Pairs) }).contains("layer_decay"));
    let written = serde_json::to_value(Recipe::default()).unwrap();
    for key in ["generator", "start", "layer_decay"] {
        assert!(written.get(key).is_none(), "{key}");
    }
    let read =
        Recipe::parse("task = 'replaced'\ngenerator = 'quarter'\nlayer_decay = 0.8\nstart = 'pre'").unwrap();
    assert_eq!((read.generator, read.layer_decay), (Generator::Quarter, 0.8));
}
