//! ETAS with real training: the best validation perplexity after each step, with children let through by NTSR, by their
//! parameters, and by chance; small GPT-2s on the text that ships with the project.
//!
//! `cargo bench --bench etas -- [seeds]`; 3 if nothing is said.

use foretell::architecture::Architecture;
use foretell::data::{Data, Tokeniser};
use foretell::space::{self, Bound, Limits};
use foretell::store::{Evaluation, Store};
use foretell::study::{self, Settings, StudyBuilder, Trained, Watch};
use foretell::train::Recipe;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Validation losses in the order in which they became known.
#[derive(Default)]
struct Losses(Mutex<Vec<f64>>);

impl Watch for Losses {
    fn evaluated(&self, _: &Architecture, row: &Evaluation) {
        let value = study::given_value(row).unwrap_or(f64::INFINITY);
        self.0.lock().expect("no holder panics").push(value);
    }
}

fn main() {
    let seeds: u64 = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(3);
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/src/benchmark/shipped/gpt2-pentateuch/space.toml");
    let space = space::open(file).unwrap();
    let data = Data::demo(Tokeniser::Bpe(512)).unwrap();
    let recipe = Recipe {
        steps: 200,
        batch: 8,
        part: 4,
        tokens: 64,
        warmup: 20,
        validate_every: 0,
        validate_samples: 512,
        ..Recipe::default()
    };
    let evaluator = Arc::new(Trained::new(data, recipe, &*space).unwrap());
    let plan = "warmup=150,pool=50,steps=6,rate=0.3,patience=0";
    for (name, proxy, ranked) in
        [("ntsr", "ntsr[batch=4,tokens=32]", true), ("params", "params", true), ("none", "params", false)]
    {
        let mut ends = Vec::new();
        for seed in 0..seeds {
            let params = Bound { min: 0, max: 300_000 };
            let settings = Settings {
                limits: Limits { params, ..Limits::default() },
                seed,
                evaluator: Some(evaluator.clone()),
                ..Settings::new(space.clone())
                    .search(&format!("etas[{plan},ranked={ranked}]"), proxy)
                    .unwrap()
            };
            let (losses, start) = (Losses::default(), Instant::now());
            StudyBuilder::from(settings.clone())
                .in_store(&mut Store::memory().unwrap())
                .watch(&losses)
                .run()
                .unwrap();
            let losses = losses.0.into_inner().expect("no holder panics");
            let mut best = f64::INFINITY;
            let curve = losses.chunks(3).map(|step| {
                best = step.iter().copied().fold(best, f64::min);
                format!("{:.2}", best.exp())
            });
            let curve: Vec<String> = curve.collect();
            println!("| {name} | {seed} | {} |", curve.join(" | "));
            eprintln!("{} trained, {:.0} s", losses.len(), start.elapsed().as_secs_f64());
            ends.push(best);
        }
        let mean = ends.iter().sum::<f64>() / seeds as f64;
        println!("{name}: perplexity {:.2} in the mean of {seeds} seeds", mean.exp());
    }
}
