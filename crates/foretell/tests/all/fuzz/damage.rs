//! Damaged copies of every file that the library writes: the answer is that of the intact file, or an error.

use super::campaign;
use super::mutate::mutant;
use crate::support::Folder;
use foretell::architecture::Architecture;
use foretell::data::{Data, Text, Tokeniser};
use foretell::discover::{Settings, Statistics};
use foretell::error::{Error, Result};
use foretell::file;
use foretell::network::Weights;
use foretell::proxy::Score;
use foretell::score::{Cache, Options};
use foretell::seed::Seed;
use foretell::space::read_architecture;
use foretell::train::{Job, Outcome, Recipe, Run, Watch, jobs};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// All files below a folder with their bytes.
fn snapshot(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(snapshot(&path)),
            false => found.push((path.clone(), std::fs::read(&path).unwrap())),
        }
    }
    found.sort();
    found
}

/// Damages one file after the other and asks again; `ask` says whether what it got is right, or an error.
fn damage(name: &str, usual: u64, folder: &Path, mut ask: impl FnMut() -> Result<bool>) {
    let files = snapshot(folder);
    assert!(ask().unwrap_or_else(|e| panic!("{name}: {e}")), "{name}: the intact file is read");
    let of_interest: Vec<&(PathBuf, Vec<u8>)> = files.iter().filter(|(_, bytes)| bytes.len() > 8).collect();
    let (count, mut refused) = (campaign(usual), 0);
    for number in 0..count {
        std::fs::remove_dir_all(folder).unwrap();
        for (path, bytes) in &files {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
        let (path, bytes) = of_interest[number as usize % of_interest.len()];
        let mut damaged = mutant(std::slice::from_ref(bytes), number);
        if number % 2 == 0 {
            // One bit, the damage that is hardest to see.
            damaged.clone_from(bytes);
            let at = (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) as usize % bytes.len();
            damaged[at] ^= 1 << (number / 2 % 8);
        }
        std::fs::write(path, damaged).unwrap();
        match ask() {
            Ok(right) => assert!(right, "{name}: mutant {number} of {} is believed", path.display()),
            Err(_) => refused += 1,
        }
    }
    println!("{name}: {count} damaged copies, {refused} refused, none believed");
}

fn tiny(width: u32) -> Architecture {
    let value = json!({"family": "gpt2", "vocab_size": 257, "context_len": 8, "cutoffs": [], "n_layer": 1, "d_model": width,
        "n_head": 1, "d_inner": 8});
    read_architecture(&value).unwrap()
}

fn text() -> String {
    (0..60).map(|i| format!("{} sheep and {} goats\n", i * i % 97, i % 13)).collect()
}

fn recipe() -> Recipe {
    Recipe {
        steps: 4,
        batch: 2,
        part: 2,
        tokens: 8,
        validate_every: 2,
        validate_samples: 2,
        patience: 9,
        ..Recipe::default()
    }
}

/// Stops after two steps.
struct Two;

impl Watch for Two {
    fn stop(&self) -> bool {
        true
    }
}

#[test]
fn checkpoints() {
    let folder = Folder::new("fuzz-checkpoint");
    let data = Data::Text(Text::of("test", text().as_bytes(), None, Tokeniser::Bytes).unwrap());
    let run = |folder: Option<&Path>| {
        Run::new(&tiny(4), &data, &recipe()).checkpoints(folder).pause(Duration::ZERO).watched(&mut ())
    };
    let same = |a: &Outcome, b: &Outcome| {
        Outcome { seconds: 0.0, ..a.clone() } == Outcome { seconds: 0.0, ..b.clone() }
    };
    let whole = run(None).unwrap();
    let stopped = Run::new(&tiny(4), &data, &recipe())
        .checkpoints(Some(&folder.0))
        .pause(Duration::ZERO)
        .watched(&mut Two);
    assert!(matches!(stopped, Err(Error::Interrupted { .. })));
    damage("checkpoint", 40, &folder.0, || Ok(same(&run(Some(&folder.0))?, &whole)));
}

#[test]
fn finished_runs() {
    let folder = Folder::new("fuzz-runs");
    let data = Data::Text(Text::of("test", text().as_bytes(), None, Tokeniser::Bytes).unwrap());
    let list = [4, 6].map(|width| Job { architecture: tiny(width), recipe: recipe() });
    let losses = || -> Result<Vec<_>> {
        let all = jobs(&list, &data, &folder.0, &|_, _| {})?;
        Ok(all
            .into_iter()
            .map(|run| (run.valid_loss, run.valid_accuracy, run.train_loss, run.failure))
            .collect())
    };
    let whole = losses().unwrap();
    damage("finished run", 30, &folder.0, || Ok(losses()? == whole));
}

#[test]
fn caches() {
    let folder = Folder::new("fuzz-cache");
    let path = folder.0.join("scores.jsonl");
    let score = |i: u32| Score { parts: vec![f64::from(i) / 3.0], ..Score::from(1.0 / f64::from(i + 1)) };
    let cache = Cache::open(&path).unwrap();
    (0..20).for_each(|i| cache.put(format!("key {i}"), &score(i)));
    damage("score cache", 200, &folder.0, || {
        let cache = Cache::open(&path)?;
        let right = |i: u32| cache.get(&format!("key {i}")).is_none_or(|found| found == score(i));
        Ok((0..20).all(right))
    });
    let source = folder.0.join("text");
    std::fs::remove_dir_all(&folder.0).unwrap();
    let tokens = folder.0.join("tokens");
    std::fs::create_dir_all(&folder.0).unwrap();
    std::fs::write(&source, text()).unwrap();
    let digest =
        || Ok::<_, Error>(Data::open(&source, "bpe:270".parse()?, Some(&tokens), None)?.digest().to_owned());
    let whole = digest().unwrap();
    assert_eq!(std::fs::read_dir(&tokens).unwrap().count(), 1);
    damage("tokens", 60, &tokens, || Ok(digest()? == whole));
}

#[test]
fn statistics() {
    let folder = Folder::new("fuzz-statistics");
    let file = folder.0.join("kept");
    let settings = Settings { entries: 16, options: "batch=1,tokens=4".to_owned(), ..Settings::default() };
    let networks = [tiny(4), tiny(6)];
    let of = || Statistics::of(&networks, &settings, Options::default(), Some(&file), &|| {});
    let whole = of().unwrap().networks;
    damage("statistics", 30, &folder.0, || Ok(of()?.networks == whole));
}

#[test]
fn weights() {
    let folder = Folder::new("fuzz-weights");
    let (network, path) = (tiny(4), folder.0.join("model.safetensors"));
    let weights: Weights<f32> = Weights::shared(&network, Seed(1));
    let export = foretell::export::Export { architecture: &network, weights: Some(&weights), origin: &[] };
    let to = folder.0.join("export");
    foretell::export::write(&export, foretell::export::format("huggingface").unwrap(), &to, false).unwrap();
    std::fs::rename(to.join("model.safetensors"), &path).unwrap();
    std::fs::remove_dir_all(&to).unwrap();
    damage("exported weights", 200, &folder.0, || {
        Ok(Weights::<f32>::read(&network, &path)?.data == weights.data)
    });
    let sealed = file::seal_text("# found\nsum(l1(square(weight)), softmax(gradient))\n");
    std::fs::remove_file(&path).unwrap();
    std::fs::write(folder.0.join("formula"), &sealed).unwrap();
    damage("formula file", 200, &folder.0, || {
        let text = file::text(&folder.0.join("formula"))?;
        let lines = |text: &str| -> Vec<String> {
            text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
        };
        Ok(!file::is_intact(&text) || !text.contains("# digest ") || lines(&text) == lines(&sealed))
    });
}
