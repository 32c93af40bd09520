//! Formulas: every branch once, LPZero's thousand generations, and every formula of one and of two operators a branch, on 50
//! small networks: `cargo bench --bench discover`.

use divan::Bencher;
use foretell::architecture::Architecture;
use foretell::discover::{
    Bank, Evolution, Measure, Network, Settings, Statistics, Yardstick, evolve, exhaust,
};
use foretell::score::Options;
use foretell::space;
use serde_json::json;
use std::sync::LazyLock;

fn main() {
    divan::main();
}

/// Statistics of 50 GPT-2 networks of one to five layers.
static NETWORKS: LazyLock<Vec<Network>> = LazyLock::new(|| {
    let one = |i: u64| -> Architecture {
        let (layers, width) = (1 + i as usize % 5, 64 * (1 + i / 5));
        let genes = json!({"space": "gpt2", "d_model": width, "d_embed": 64, "div_val": 1,
            "n_head": vec![2; layers], "d_inner": vec![2 * width; layers]});
        space::read_architecture(&genes).expect("a valid network")
    };
    let networks: Vec<Architecture> = (0..50).map(one).collect();
    let settings = Settings { options: "batch=2,tokens=8".to_owned(), ..Settings::default() };
    Statistics::of(&networks, &settings, Options::default(), None, &|| {}).expect("all can be run").networks
});

fn truth() -> (Vec<usize>, Vec<f64>) {
    let value = |i: usize| ((i * 37) % 50) as f64;
    ((0..50).collect(), (0..50).map(value).collect())
}

/// Every branch of two operators: 2,646 on every tensor of 50 networks.
#[divan::bench(sample_count = 3)]
fn branches(bencher: Bencher) {
    bencher.with_inputs(|| Bank::new(NETWORKS.clone())).bench_values(|bank| bank.fill(2));
}

/// 80 formulas and 1,000 generations, branches known.
#[divan::bench(sample_count = 5)]
fn evolution(bencher: Bencher) {
    let bank = Bank::new(NETWORKS.clone());
    (0..=2).for_each(|unaries| bank.fill(unaries));
    let (rows, truth) = truth();
    bencher.bench(|| evolve(&bank, &rows, &truth, &Evolution::default()));
}

/// All formulas, branches known.
#[divan::bench(args = [1, 2], sample_count = 1)]
fn exhaustive(bencher: Bencher, unaries: usize) {
    let bank = Bank::new(NETWORKS.clone());
    bank.fill(unaries);
    let (rows, truth) = truth();
    let yardstick = Yardstick::new(&truth, Measure::Spearman);
    bencher.bench(|| exhaust(&bank, &rows, &yardstick, unaries, 100, &[], &|| {}));
}
