//! Every searcher on cases whose best network is known.

use crate::cases::{Case, scores};
use foretell::space::PRESETS;
use rayon::prelude::*;
use std::time::Instant;

/// Candidates of a search.
const BUDGET: u64 = 8200;
/// A search within this share of the optimum has found it for all purposes.
const NEAR: f64 = 0.005;
/// Limits, in percent of the way from the least to the most parameters.
const SHARES: [u64; 3] = [20, 50, 80];
/// What stands beside memetic, each with this budget.
const OTHERS: [&str; 5] = ["block-wise", "etas[patience=0]", "evolution", "steady-state", "random"];

/// What memetic reaches in a case.
struct Reached {
    median: f64,
    worst: f64,
    near: usize,
    above_uniform: bool,
}

fn reached(case: &Case, seeds: u64) -> Reached {
    let values = sorted(case, "memetic", seeds);
    Reached {
        median: values[values.len() / 2],
        worst: values[0],
        near: values.iter().filter(|value| case.gap(**value) <= NEAR).count(),
        above_uniform: case.uniform.is_none_or(|uniform| values[0] >= uniform),
    }
}

/// What an algorithm finds, worst first.
fn sorted(case: &Case, algorithm: &str, seeds: u64) -> Vec<f64> {
    let mut values: Vec<f64> =
        (0..seeds).into_par_iter().map(|seed| case.run(algorithm, seed, BUDGET)).collect();
    values.sort_by(f64::total_cmp);
    values
}

fn head() {
    let others: Vec<&str> = OTHERS.iter().map(|other| other.split('[').next().unwrap_or(other)).collect();
    println!(
        "| preset | limit | score | optimum | uniform | memetic | worst | near | {} |",
        others.join(" | ")
    );
    println!("|---|---|---|---|---|---|---|---|{}", "---|".repeat(others.len()));
}

/// Prints a case; whether memetic keeps the bar in it.
fn row(case: &Case, seeds: u64, others: u64) -> bool {
    let found = reached(case, seeds);
    let mut row =
        format!("| {} | {} % | {} | {:.6}", case.space.name(), case.share, case.score, case.optimum);
    row += if case.proof == "walk" { " (walk)" } else { "" };
    row += &case.uniform.map_or(" | –".to_owned(), |uniform| format!(" | {}", percent(case.gap(uniform))));
    row += &format!(" | {} | {}", percent(case.gap(found.median)), percent(case.gap(found.worst)));
    row += &format!(" | {} of {seeds}", found.near);
    for other in OTHERS.iter().filter(|_| others > 0) {
        let values = sorted(case, other, others);
        row += &format!(" | {}", percent(case.gap(values[values.len() / 2])));
    }
    let kept = 10 * found.near as u64 >= 9 * seeds && found.above_uniform;
    println!("{row} |{}", if kept { "" } else { " **below the bar**" });
    kept
}

/// How far a value falls short.
fn percent(gap: f64) -> String {
    if gap.abs() < 5e-7 { "=".to_owned() } else { format!("−{:.4} %", 100.0 * gap) }
}

/// A few presets and scores.
pub fn short() {
    let cases = [
        ("autoformer-tiny", 50, "nsc"),
        ("bert", 20, "zerolm"),
        ("gpt2", 50, "nsc"),
        ("lonas-llama", 80, "nsc"),
    ];
    let start = Instant::now();
    head();
    let kept = cases.iter().filter_map(|(preset, share, score)| {
        let case =
            Case::new(preset, *share, score).map_err(|error| println!("{preset} {score}: {error}")).ok()?;
        Some(row(&case, 3, 1))
    });
    let kept: Vec<bool> = kept.collect();
    println!(
        "\n{} of {} cases keep the bar, {:.0} s",
        kept.iter().filter(|kept| **kept).count(),
        kept.len(),
        start.elapsed().as_secs_f64()
    );
}

/// Every preset, limit and score, or those of some presets; the published algorithms with so many seeds.
pub fn full(presets: &[&str], others: u64) {
    let start = Instant::now();
    let (mut kept, mut all, mut unknown) = (0, 0, Vec::new());
    head();
    for (preset, _) in PRESETS.iter().filter(|(name, _)| presets.is_empty() || presets.contains(name)) {
        for share in SHARES {
            for score in scores() {
                match Case::new(preset, share, score) {
                    Ok(case) => {
                        all += 1;
                        kept += usize::from(row(&case, 10, others));
                    }
                    Err(reason) => unknown.push(format!("{preset} {share} % {score}: {reason}")),
                }
            }
        }
    }
    println!("\n{kept} of {all} cases keep the bar, {:.0} s. Not known:\n", start.elapsed().as_secs_f64());
    unknown.iter().for_each(|line| println!("- {line}"));
}
