//! Finding a formula and judging it, over several splits of the networks.

use super::select::{Facts, Judged, Split, choose, judge};
use super::{Bank, Evolution, Yardstick, evolve, exhaust};
use crate::architecture::Architecture;
use crate::error::Result;
use crate::proxy::{CATALOGUE, Formula, Request};
use crate::rank;
use serde::Serialize;
use std::time::Instant;

/// LPZero's published winners: of FlexiBERT and of GPT-2, the second sorted upwards.
pub const PUBLISHED: [&str; 2] = [
    "sum(square(negate(head)), log-softmax(norm(activation)))",
    "-sum(l1(square(weight)), square(softmax(gradient)))",
];
/// Formulas among which validation networks choose.
const CHOICE: usize = 100;
/// Operators up to which all branches are computed in advance.
const FILLED: usize = 2;

/// How a formula is looked for.
#[derive(Debug, Clone)]
pub enum Method {
    /// By a searcher.
    Search,
    /// By ranking all of them.
    Exhaustive,
}

/// What to find, and how it is judged.
#[derive(Debug, Clone)]
pub struct Plan {
    /// How formulas are looked for.
    pub method: Method,
    /// The search, or what the exhaustive ranking is compared with.
    pub evolution: Evolution,
    /// Networks that fitness is measured on.
    pub sample: usize,
    /// Networks that the winner is chosen by.
    pub validation: usize,
    /// Splits of the networks, each with a seed of its own.
    pub splits: u64,
}

/// How a formula that was not found by this method stands on a sample.
#[derive(Debug, Clone, Serialize)]
pub struct Leaderboard {
    /// The formula.
    pub formula: String,
    /// Its fitness on the sample, in the better direction.
    pub fitness: Option<f64>,
    /// Formulas of the exhaustive ranking that are fitter.
    pub better: Option<u64>,
    /// It on the test networks.
    pub judged: Judged,
}

/// What one split came to.
#[derive(Debug, Clone, Serialize)]
pub struct Part {
    /// Its seed.
    pub seed: u64,
    /// The fittest on the sample.
    pub fittest: Judged,
    /// Of the hundred fittest the one that validation chose.
    pub chosen: Judged,
    /// Formulas evaluated.
    pub evaluated: u64,
    /// Of these, formulas without a ranking, where all were looked at.
    pub undefined: Option<u64>,
    /// The best fitness after 1, 2, 5, 10, … evaluations.
    pub curve: Vec<(u64, f64)>,
    /// Share of children fitter than their parents.
    pub winning_rate: Option<f64>,
    /// What each pruning rule decided.
    pub census: Vec<(&'static str, u64)>,
    /// The winner of evolution beside an exhaustive ranking, and the published winners.
    pub others: Vec<Leaderboard>,
    /// Trivial counts on the same test networks: name, tau, rho.
    pub baselines: Vec<(&'static str, Option<f64>, Option<f64>)>,
    /// Wall time of the search.
    pub seconds: f64,
}

/// What all splits came to.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Networks.
    pub networks: usize,
    /// Wall time of the branches that all formulas are made of.
    pub filled: f64,
    /// One entry per split.
    pub parts: Vec<Part>,
    /// Tau on test networks of the fittest: mean and deviation over splits.
    pub fittest: Spread,
    /// The same of what validation chose.
    pub chosen: Spread,
    /// The same of the best trivial count in the mean.
    pub baseline: (&'static str, Spread),
}

/// Mean and deviation.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Spread {
    /// The mean.
    pub mean: f64,
    /// The standard deviation with n − 1, 0 for one value.
    pub deviation: f64,
}

impl Spread {
    /// That of some values.
    pub fn of(values: &[f64]) -> Self {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>();
        Spread { mean, deviation: if n > 1.0 { (squares / (n - 1.0)).sqrt() } else { 0.0 } }
    }
}

/// Finds formulas on every split and judges them; `done` is told of every piece of work.
pub fn run(
    bank: &Bank,
    architectures: &[Architecture],
    truth: &[f64],
    plan: &Plan,
    done: &(dyn Fn() + Sync),
) -> Result<Report> {
    let facts = Facts {
        truth: truth.to_vec(),
        depth: architectures.iter().map(|architecture| architecture.depth() as f64).collect(),
        params: architectures.iter().map(|architecture| architecture.params().total as f64).collect(),
    };
    let counts = counts(architectures)?;
    let start = Instant::now();
    // Longer chains are too many to have all of them; they are computed as they are asked for.
    (0..=plan.evolution.unaries.min(FILLED)).for_each(|unaries| bank.fill(unaries));
    let filled = start.elapsed().as_secs_f64();
    let parts = (0..plan.splits)
        .map(|nth| one(bank, &facts, &counts, plan, plan.evolution.seed.wrapping_add(nth), done))
        .collect::<Result<Vec<_>>>()?;
    let taus = |of: &dyn Fn(&Part) -> Option<f64>| {
        Spread::of(&parts.iter().map(|part| of(part).unwrap_or(0.0)).collect::<Vec<_>>())
    };
    let baseline = (0..counts.len())
        .map(|place| (counts[place].0, taus(&|part: &Part| part.baselines[place].1)))
        .max_by(|a, b| a.1.mean.total_cmp(&b.1.mean))
        .expect("there are counts");
    Ok(Report {
        networks: bank.len(),
        filled,
        fittest: taus(&|part| part.fittest.tau),
        chosen: taus(&|part| part.chosen.tau),
        baseline,
        parts,
    })
}

/// Every trivial count of every network.
fn counts(architectures: &[Architecture]) -> Result<Vec<(&'static str, Vec<f64>)>> {
    let mut counts = Vec::new();
    for about in CATALOGUE.iter().map(|entry| entry.about).filter(|about| about.trivial) {
        let request = Request::parse(about.name)?;
        let column = architectures.iter().map(|architecture| request.of_shape(architecture));
        // A count that a family does not have is none of its baselines.
        if let Ok(column) = column.collect::<Result<Vec<_>>>() {
            counts.push((about.name, column));
        }
    }
    Ok(counts)
}

fn one(
    bank: &Bank,
    facts: &Facts,
    counts: &[(&'static str, Vec<f64>)],
    plan: &Plan,
    seed: u64,
    done: &(dyn Fn() + Sync),
) -> Result<Part> {
    let split = Split::draw(bank.len(), plan.sample, plan.validation, seed)?;
    let truth: Vec<f64> = split.sample.iter().map(|row| facts.truth[*row]).collect();
    let how = Evolution { seed, ..plan.evolution.clone() };
    let start = Instant::now();
    let found = match how.unaries <= FILLED {
        true => evolve(bank, &split.sample, &truth, &how)?,
        false => {
            let rows: Vec<usize> = (0..split.sample.len()).collect();
            evolve(&bank.part(&split.sample), &rows, &truth, &how)?
        }
    };
    let (mut top, mut seconds) = (found.top.clone(), start.elapsed().as_secs_f64());
    let yardstick = Yardstick::new(&truth, how.measure);
    let fitness = |formula: &Formula| {
        let scores = bank.scores(formula);
        let scores: Vec<f64> = split.sample.iter().map(|row| scores[*row]).collect();
        yardstick.agreement(&scores, &mut Vec::new()).map(f64::abs)
    };
    let mut others: Vec<Formula> = PUBLISHED.iter().map(|text| text.parse()).collect::<Result<_>>()?;
    let (mut evaluated, mut undefined, mut better) = (found.evaluated, None, None);
    if matches!(plan.method, Method::Exhaustive) {
        others.extend(found.best.iter().map(|(formula, _)| formula.clone()));
        let thresholds: Vec<f64> = others.iter().map(|formula| fitness(formula).unwrap_or(0.0)).collect();
        let start = Instant::now();
        let all = exhaust(bank, &split.sample, &yardstick, how.unaries, CHOICE, &thresholds, done);
        seconds = start.elapsed().as_secs_f64();
        (top, evaluated, undefined, better) = (all.top, all.formulas, Some(all.undefined), Some(all.better));
    } else {
        done();
    }
    let none = || crate::error::Error::option("discover", "no formula ranks the sample: take more networks");
    let (fittest, reached) = top.first().cloned().ok_or_else(none)?;
    let (chosen, sample) = choose(bank, &top, &split.validation, &facts.truth, how.measure)
        .unwrap_or((fittest.clone(), reached));
    let leaderboard = |(place, formula): (usize, &Formula)| {
        let fitness = fitness(formula);
        Leaderboard {
            formula: formula.to_string(),
            fitness,
            better: better.as_ref().map(|better| better[place]),
            judged: judge(bank, formula, fitness.unwrap_or(0.0), &split.test, facts),
        }
    };
    let pick = |column: &[f64]| split.test.iter().map(|row| column[*row]).collect::<Vec<f64>>();
    let tested = pick(&facts.truth);
    let baseline = |(name, column): &(&'static str, Vec<f64>)| {
        let column = pick(column);
        (*name, rank::kendall_tau_b(&column, &tested), rank::spearman(&column, &tested))
    };
    Ok(Part {
        seed,
        fittest: judge(bank, &fittest, reached, &split.test, facts),
        chosen: judge(bank, &chosen, sample, &split.test, facts),
        evaluated,
        undefined,
        curve: steps(&found.curve),
        winning_rate: found.winning_rate,
        census: found.census.iter().map(|(rule, count)| (rule.name(), *count)).collect(),
        others: others.iter().enumerate().map(leaderboard).collect(),
        baselines: counts.iter().map(baseline).collect(),
        seconds,
    })
}

/// A curve at 1, 2, 5, 10, 20, … and at its end.
fn steps(curve: &[f64]) -> Vec<(u64, f64)> {
    let marks = (0..9).flat_map(|power| [1, 2, 5].map(|digit| digit * 10_u64.pow(power)));
    let marks = marks.take_while(|mark| *mark < curve.len() as u64).chain([curve.len() as u64]);
    marks.filter_map(|mark| Some((mark, *curve.get(mark.checked_sub(1)? as usize)?))).collect()
}
