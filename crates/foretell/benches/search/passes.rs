//! A score that takes passes: memetic against ten times as many random draws.
//!
//! DSS++ ranks within a set, so the candidates of both searches are ranked together.

use foretell::space::{self, Bound, Limits};
use foretell::store::{Ranks, Store, Trial};
use foretell::study::{Leaderboard, Settings, StudyBuilder};
use std::time::Instant;

/// Candidates of memetic; random search gets ten times as many.
const BUDGET: u64 = 150;
const SEEDS: u64 = 5;
/// Draws of weights and inputs per candidate.
const DRAWS: u64 = 1;

/// A preset, the limit on parameters in percent of the way from the least to the most, and the score.
const CASES: [(&str, u64, &str); 2] =
    [("flexibert", 50, "dss++[batch=2,tokens=16]"), ("gpt2", 2, "dss++[batch=1,tokens=16]")];

fn trials(preset: &str, share: u64, score: &str, algorithm: &str, seed: u64, budget: u64) -> Vec<Trial> {
    let space = space::preset(preset).expect("a preset");
    let [(least, most), _] = space.extremes().expect("a grid");
    let bound = Bound { min: 0, max: least + (most - least) / 100 * share };
    let settings = Settings {
        limits: Limits { params: bound, ..Limits::default() },
        seed,
        seeds: DRAWS,
        budget: Some(budget),
        ..Settings::new(space).search(algorithm, score).unwrap()
    };
    let mut store = Store::memory().expect("memory holds a store");
    let run = StudyBuilder::from(settings.clone()).in_store(&mut store).name("bench").run();
    run.unwrap_or_else(|error| panic!("{preset} by {algorithm}: {error}"));
    let study = store.find("bench").expect("it is readable").expect("it was just made");
    store.trials(&study).expect("it is readable").0
}

/// The places of both winners among all candidates of two searches, from 1.
fn places(settings: &Settings, first: &[Trial], second: &[Trial]) -> (usize, usize) {
    let all: Vec<Trial> = first.iter().chain(second).cloned().collect();
    let ranks = Ranks::of(&all).expect("the trials are those of one study");
    let leaderboard = Leaderboard::new(&settings.objectives, &ranks).expect("the score is known");
    let order = leaderboard.best(all.len());
    let place = |of_first: bool| order.iter().position(|trial| (*trial < first.len()) == of_first);
    (place(true).map_or(0, |place| place + 1), place(false).map_or(0, |place| place + 1))
}

/// Prints the cases of a preset, or all.
pub fn run(asked: Option<&str>) {
    println!("| preset | limit | score | seed | memetic, {BUDGET} | random, {} | seconds |", 10 * BUDGET);
    println!("|---|---|---|---|---|---|---|");
    for (preset, share, score) in CASES.into_iter().filter(|case| asked.is_none_or(|asked| asked == case.0)) {
        for seed in 0..SEEDS {
            let start = Instant::now();
            let memetic = trials(preset, share, score, "memetic", seed, BUDGET);
            let random = trials(preset, share, score, "random", seed, 10 * BUDGET);
            let settings =
                Settings::new(space::preset(preset).expect("a preset")).search("random", score).unwrap();
            let (ours, theirs) = places(&settings, &memetic, &random);
            let seconds = start.elapsed().as_secs_f64();
            println!(
                "| {preset} | {share} % | {score} | {seed} | place {ours} | place {theirs} | {seconds:.0} |"
            );
        }
    }
}
