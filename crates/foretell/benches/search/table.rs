//! Every searcher on cases whose best network is known.

use crate::cases::{Case, scores};
use foretell::space::PRESETS;
use rayon::prelude::*;
use std::time::Instant;

/// Candidates of a search unless another number is given.
const BUDGET: u64 = 8200;
/// A search within this share of the optimum counts as near.
const NEAR: f64 = 0.005;
/// Limits, in percent of the way from the least to the most parameters.
const SHARES: [u64; 3] = [20, 50, 80];
/// Algorithms that are compared with memetic, each with the same budget.
const OTHERS: [&str; 5] = ["block-wise", "etas[patience=0]", "evolution", "steady-state", "random"];

/// What a case shows; gaps are shares of the optimum.
struct Row {
    uniform: Option<f64>,
    /// The gap of every seed of memetic, smallest first.
    memetic: Vec<f64>,
    /// The median gap of each other algorithm.
    others: Vec<f64>,
}

impl Row {
    fn new(case: &Case, budget: u64, seeds: u64, others: u64) -> Self {
        let median = |algorithm: &&str| middle(&gaps(case, algorithm, budget, others));
        Row {
            uniform: case.uniform.map(|uniform| case.gap(uniform)),
            memetic: gaps(case, "memetic", budget, seeds),
            others: OTHERS.iter().filter(|_| others > 0).map(median).collect(),
        }
    }

    fn worst(&self) -> f64 {
        self.memetic.last().copied().unwrap_or(f64::INFINITY)
    }

    fn near(&self) -> usize {
        self.memetic.iter().filter(|gap| **gap <= NEAR).count()
    }

    /// Near the optimum with nine of ten seeds, and never below the best network whose layers are all alike.
    fn passes(&self) -> bool {
        10 * self.near() >= 9 * self.memetic.len()
            && self.uniform.is_none_or(|gap| self.worst() <= gap + 1e-12)
    }

    fn print(&self, case: &Case) {
        let mut cells =
            vec![case.space.name().to_owned(), format!("{} %", case.share), case.score.to_owned()];
        cells.push(format!("{:.6}{}", case.optimum, if case.proof == "walk" { " (walk)" } else { "" }));
        cells.push(self.uniform.map_or("–".to_owned(), percent));
        cells.extend([percent(middle(&self.memetic)), percent(self.worst())]);
        cells.push(format!("{} of {}", self.near(), self.memetic.len()));
        cells.extend(self.others.iter().map(|gap| percent(*gap)));
        println!("| {} |{}", cells.join(" | "), if self.passes() { "" } else { " **fails**" });
    }
}

/// How far an algorithm falls short with each seed, least first.
fn gaps(case: &Case, algorithm: &str, budget: u64, seeds: u64) -> Vec<f64> {
    let run = |seed| case.gap(case.run(algorithm, seed, budget));
    let mut gaps: Vec<f64> = (0..seeds).into_par_iter().map(run).collect();
    gaps.sort_by(f64::total_cmp);
    gaps
}

fn middle(sorted: &[f64]) -> f64 {
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// How far a value falls short.
fn percent(gap: f64) -> String {
    if gap.abs() < 5e-7 { "=".to_owned() } else { format!("−{:.4} %", 100.0 * gap) }
}

fn names(others: u64) -> String {
    let names = OTHERS.iter().filter(|_| others > 0);
    names.map(|other| format!(" {} |", other.split('[').next().unwrap_or(other))).collect()
}

fn head(others: u64) {
    let names = names(others);
    println!("| preset | limit | score | optimum | uniform | memetic | worst | near |{names}");
    println!("|---|---|---|---|---|---|---|---|{}", "---|".repeat(names.matches('|').count()));
}

/// Prints the worst case of each preset.
fn summary(rows: &[(String, Row)], others: u64) {
    let names = names(others);
    println!("\n| preset | cases | uniform | memetic | near |{names}");
    println!("|---|---|---|---|---|{}", "---|".repeat(names.matches('|').count()));
    for rows in rows.chunk_by(|a, b| a.0 == b.0) {
        let worst = |gap: &dyn Fn(&Row) -> Option<f64>| {
            let worst = rows.iter().filter_map(|(_, row)| gap(row)).reduce(f64::max);
            worst.map_or("–".to_owned(), percent)
        };
        let mut cells = vec![rows[0].0.clone(), rows.len().to_string(), worst(&|row| row.uniform)];
        cells.push(worst(&|row| Some(row.worst())));
        let seeds: usize = rows.iter().map(|(_, row)| row.memetic.len()).sum();
        let near: usize = rows.iter().map(|(_, row)| row.near()).sum();
        cells.push(format!("{near} of {seeds}"));
        cells.extend((0..rows[0].1.others.len()).map(|at| worst(&|row| row.others.get(at).copied())));
        println!("| {} |", cells.join(" | "));
    }
}

/// Runs cases, prints a row for each and what they come to; cases without a known optimum are listed.
fn run(cases: impl Iterator<Item = (&'static str, u64, &'static str)>, budget: u64, seeds: u64, others: u64) {
    let start = Instant::now();
    let (mut rows, mut unknown) = (Vec::new(), Vec::new());
    head(others);
    for (preset, share, score) in cases {
        match Case::new(preset, share, score) {
            Ok(case) => {
                let row = Row::new(&case, budget, seeds, others);
                row.print(&case);
                rows.push((preset.to_owned(), row));
            }
            Err(reason) => unknown.push(format!("{preset} {share} % {score}: {reason}")),
        }
    }
    summary(&rows, others);
    let passed = rows.iter().filter(|(_, row)| row.passes()).count();
    println!("\n{passed} of {} cases pass, {:.0} s", rows.len(), start.elapsed().as_secs_f64());
    unknown.iter().for_each(|line| println!("- no optimum is known: {line}"));
}

/// A few presets and scores.
pub fn short() {
    let cases = [("autoformer-tiny", 50, "nsc"), ("bert", 20, "zerolm"), ("gpt2", 50, "nsc")];
    run(cases.into_iter(), BUDGET, 3, 1);
}

/// Every preset, limit and score, or those that are named; the published algorithms with so many seeds. A number among
/// the names is the budget.
pub fn full(named: &[&str], others: u64) {
    let some =
        |name: &str, all: &[&str]| named.contains(&name) || !named.iter().any(|named| all.contains(named));
    let presets: Vec<&'static str> = PRESETS.iter().map(|(name, _)| *name).collect();
    let scores: Vec<&'static str> = scores().collect();
    let cases = presets.iter().filter(|name| some(name, &presets)).flat_map(|preset| {
        let scores = scores.iter().filter(|name| some(name, &scores));
        scores.flat_map(move |score| SHARES.map(|share| (*preset, share, *score)))
    });
    let budget = named.iter().find_map(|word| word.parse().ok()).unwrap_or(BUDGET);
    run(cases, budget, 10, others);
}
