//! Does a search that spends its time on training find better networks than others with as many steps of training?
//!
//! ```text
//! cargo bench --bench timed                        three small spaces, five seeds: about half an hour of one core
//! cargo bench --bench timed -- SPACE [SEEDS]       one of them
//! ```
//!
//! Every search may spend as many training steps as 21 full runs of the largest network take: the timed search, random search
//! (21 networks, fully trained), ETAS (ranks pools by NTKT and trains 21), T-Razor (block-wise evolution by DSS++, then the best
//! 21 trained) and uniform networks (the largest of every depth). Passes of scores are not counted. Each winner is then trained
//! again with three draws that no search has seen. Printed: the mean loss of the winners, and how much worse than the timed
//! search's each is, with a 95 % interval over seeds of the search.

use foretell::architecture::Architecture;
use foretell::data::{Data, Tokeniser};
use foretell::space::{self, Bound, Limits, Space};
use foretell::store::Store;
use foretell::study::{Settings, StudyBuilder, Time, Trained, View};
use foretell::train::{self, Recipe};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

/// Full runs of the largest network that every search may spend.
const RUNS: usize = 21;
const METHODS: [&str; 5] = ["timed", "random", "etas", "t-razor", "uniform"];
/// Draws that no search has seen.
const FINAL: std::ops::Range<u64> = 1000..1003;

struct Case {
    name: &'static str,
    space: &'static str,
    params: u64,
    steps: u64,
    recipe: Recipe,
    data: Data,
}

fn cases() -> Vec<Case> {
    let text = || Data::demo(Tokeniser::Bytes).expect("it ships");
    let recipe = |batch, tokens, rate| Recipe {
        batch,
        part: batch,
        tokens,
        rate,
        warmup: 20,
        validate_every: 0,
        validate_samples: 256,
        ..Recipe::default()
    };
    vec![
        Case {
            name: "decoder",
            space: "name = 'decoder'\nfamily = 'gpt2'\n[fixed]\nvocab_size = 257\ncontext_len = 64\ncutoffs = []\ntie_projs = true\n\
                    div_val = 1\n[choices]\nn_layer = { from = 1, to = 6 }\nd_model = { from = 8, to = 40, step = 4 }\n\
                    n_head = [1, 2, 4]\nd_inner = { from = 8, to = 128, step = 8 }",
            params: 16_000,
            steps: 400,
            recipe: recipe(8, 64, 6e-3),
            data: text(),
        },
        Case {
            name: "encoder",
            space: "name = 'encoder'\nfamily = 'bert'\n[fixed]\nvocab_size = 257\ncontext_len = 32\ntype_vocab_size = 2\n[choices]\n\
                    hidden_size = { from = 8, to = 40, step = 4 }\nnum_layers = [1, 2, 3, 4, 5, 6]\nnum_heads = [1, 2, 4]\n\
                    ffn_dim = { from = 8, to = 128, step = 8 }",
            params: 16_000,
            steps: 400,
            recipe: Recipe { masked: 0.2, ..recipe(16, 32, 4e-3) },
            data: text(),
        },
        Case {
            name: "vision",
            space: "name = 'vision'\nfamily = 'vit'\n[fixed]\nimage_size = 16\npatch_size = 4\nchannels = 1\nnum_classes = 8\n\
                    [choices]\nembed_dim = { from = 8, to = 40, step = 4 }\ndepth = [1, 2, 3, 4, 5, 6]\nnum_heads = [1, 2, 4]\n\
                    mlp_ratio = [0.5, 1.0, 2.0, 3.0, 4.0]",
            params: 16_000,
            steps: 400,
            recipe: Recipe { augment: false, ..recipe(24, 64, 3e-3) },
            data: Data::pictures(0).expect("it is drawn"),
        },
    ]
}

impl Case {
    fn space(&self) -> Arc<dyn Space> {
        space::parse(self.name, self.space).expect("a space")
    }

    fn limits(&self) -> Limits {
        Limits { params: Bound { min: 0, max: self.params }, ..Limits::default() }
    }

    fn settings(&self, seed: u64) -> Settings {
        let recipe = Recipe { seed: 100 * seed, ..self.recipe.for_steps(self.steps) };
        let trained =
            Trained::new(self.data.clone(), recipe, &*self.space()).expect("networks that read this");
        let base = Settings::new(self.space());
        Settings { limits: self.limits(), evaluator: Some(Arc::new(trained)), seed, seeds: 1, ..base }
    }

    fn winner(&self, settings: Settings) -> Architecture {
        let mut store = Store::memory().expect("memory");
        let name = StudyBuilder::from(settings).in_store(&mut store).run().expect("a search").name;
        let view = View::load(&store, &name).expect("it was stored");
        view.architecture(view.winner().expect("something won")).expect("a network")
    }

    /// The network that a method finds.
    fn found(&self, method: &str, seed: u64) -> Architecture {
        let settings = self.settings(seed);
        let searched = |algorithm: &str, proxy: &str, budget: u64, top: usize| {
            let base = settings.clone().search(algorithm, proxy).expect("an algorithm");
            Settings { budget: Some(budget), evaluate_top: top, ..base }
        };
        match method {
            "timed" => self.winner(settings.timed(Time::Steps(RUNS as u64 * self.steps))),
            "random" => self.winner(searched("random", "params", RUNS as u64, RUNS)),
            // Three parents, then six times three.
            "etas" => {
                let label = "etas[warmup=60,pool=30,steps=6,patience=0]";
                self.winner(searched(label, "ntkt", 60 + 6 * 30, 0))
            }
            "t-razor" => {
                let label = "block-wise[population=20,steps=10]";
                self.winner(searched(label, "dss++[batch=4]", 240, RUNS))
            }
            _ => self.best_uniform(&settings),
        }
    }

    /// The best of the largest uniform networks of every depth, as one training each says.
    fn best_uniform(&self, settings: &Settings) -> Architecture {
        let space = self.space();
        let all = space.as_grid().expect("a grid").largest_uniform(&self.limits(), &|_| true);
        let trainer = settings.evaluator.as_ref().expect("it trains");
        let worth = |network: &Architecture| trainer.evaluate(network).unwrap_or(f64::NEG_INFINITY);
        let rated = all.into_iter().take(RUNS).map(|network| (worth(&network), network));
        rated.max_by(|a, b| a.0.total_cmp(&b.0)).expect("a uniform network").1
    }

    /// The mean loss of a network over draws that no search has seen.
    fn loss(&self, network: &Architecture) -> f64 {
        let run = |seed: u64| {
            let recipe = Recipe { seed, ..self.recipe.for_steps(self.steps) };
            train::run(network, &self.data, &recipe).map_or(f64::INFINITY, |outcome| outcome.valid.loss)
        };
        FINAL.map(run).sum::<f64>() / FINAL.count() as f64
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let seeds: u64 = words.get(1).map_or(5, |text| text.parse().expect("a number of seeds"));
    println!(
        "| space | search | loss of its winner | worse than the timed search by, nats (95 %) |\n|---|---|---|---|"
    );
    for case in cases().iter().filter(|case| words.first().is_none_or(|name| name == case.name)) {
        let mut losses: HashMap<&str, Vec<f64>> = HashMap::new();
        for seed in 0..seeds {
            for method in METHODS {
                let start = Instant::now();
                let network = case.found(method, seed);
                let seconds = start.elapsed().as_secs_f64();
                let loss = case.loss(&network);
                eprintln!("{} {seed} {method}: {loss:.4}, {seconds:.0} s, {}", case.name, report(&network));
                losses.entry(method).or_default().push(loss);
            }
        }
        for method in METHODS {
            let of = &losses[method];
            let gaps: Vec<f64> = of.iter().zip(&losses["timed"]).map(|(a, b)| a - b).collect();
            let (gap, half) = interval(&gaps);
            let gap = if method == "timed" {
                String::new()
            } else {
                format!("{gap:.4} ({:.4} to {:.4})", gap - half, gap + half)
            };
            println!("| {} | {method} | {:.4} | {gap} |", case.name, interval(of).0);
        }
    }
}

fn report(network: &Architecture) -> String {
    serde_json::Value::Object(network.to_json()).to_string()
}

/// A mean and half the width of its 95 % interval, by Student's t.
fn interval(values: &[f64]) -> (f64, f64) {
    const POINTS: [f64; 6] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447];
    let n = values.len();
    let mean = values.iter().sum::<f64>() / n as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let point = n.checked_sub(2).and_then(|place| POINTS.get(place)).copied().unwrap_or(f64::NAN);
    (mean, point * (squares / (n.max(2) - 1) as f64 / n as f64).sqrt())
}
