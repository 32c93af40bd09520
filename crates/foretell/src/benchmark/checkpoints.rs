//! Results of the same networks after more and more training: when does the ranking settle, and what agrees with it when?
//!
//! A benchmark has them in a file `pretraining_checkpoints.csv` beside its table: `id`, `pretrain_steps`, and the results of the
//! network after so many steps.

use super::agreement::own_scores;
use super::{Benchmark, COLUMN};
use crate::error::{Error, Result};
use crate::rank::kendall_tau_b;
use crate::score::{Cell, Scorer};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// The file of a benchmark's checkpoints.
pub(super) const FILE: &str = "pretraining_checkpoints.csv";
const STEPS: &str = "pretrain_steps";

/// A benchmark's networks at every checkpoint.
#[derive(Debug, Serialize)]
pub struct Checkpoints {
    /// The benchmark.
    pub benchmark: String,
    /// The result.
    pub target: String,
    /// The networks' names in the table.
    pub networks: Vec<String>,
    /// The proxies that are compared.
    pub proxies: Vec<String>,
    /// Every checkpoint, in the order of its steps.
    pub checkpoints: Vec<Checkpoint>,
}

/// The networks after so many steps.
#[derive(Debug, Serialize)]
pub struct Checkpoint {
    /// Steps of training.
    pub steps: u64,
    /// The result of each network.
    pub values: Vec<Option<f64>>,
    /// Their mean; none where one is missing.
    pub mean: Option<f64>,
    /// Tau-b with the order at the last checkpoint.
    pub kendall_last: Option<f64>,
    /// A later checkpoint with exactly these results. No training gives the same twice, so one of the two is a copy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copy_of: Option<u64>,
    /// Tau-b of each proxy with the results.
    pub kendall: Vec<Option<f64>>,
}

/// Compares proxies, and columns of the table, with a result at every checkpoint; `done` is told after each network.
pub fn checkpoints(
    benchmark: &Benchmark,
    target: &str,
    scorer: &Scorer,
    (seeds, columns): (&[u64], &[String]),
    done: &(dyn Fn() + Sync),
) -> Result<Checkpoints> {
    let results = benchmark.results_by_step(target)?;
    let known = |row: &usize| {
        benchmark.name_of(*row).is_some_and(|name| results.values().any(|step| step.contains_key(&name)))
    };
    let rows: Vec<usize> = (0..benchmark.architectures.len()).filter(known).collect();
    let networks: Vec<_> = rows.iter().map(|row| benchmark.architectures[*row].clone()).collect();
    let names: Vec<String> = rows.iter().filter_map(|row| benchmark.name_of(*row)).collect();
    let given = columns.iter().map(|column| own_scores(benchmark, column, &rows));
    let given = given.collect::<Result<Vec<_>>>()?;
    let table = scorer.table(&networks, seeds, done)?;
    let order = |request: usize| {
        scorer.order(request, &table.iter().map(|row| &row.cells[request]).collect::<Vec<&Cell>>())
    };
    let scores = (0..scorer.requests().len()).map(order).chain(given);
    let scores: Vec<Vec<Option<f64>>> =
        scores.map(|column| column.into_iter().map(Result::ok).collect()).collect();
    let lower = super::table::lower_is_better(target);
    let values = |step: &BTreeMap<String, f64>| -> Vec<Option<f64>> {
        names.iter().map(|name| step.get(name).copied()).collect()
    };
    let all: Vec<(u64, Vec<Option<f64>>)> =
        results.iter().map(|(steps, step)| (*steps, values(step))).collect();
    let last = all.last().map(|(_, values)| values.clone()).unwrap_or_default();
    let one = |(place, (steps, values)): (usize, &(u64, Vec<Option<f64>>))| {
        let better: Vec<Option<f64>> =
            values.iter().map(|value| value.map(|value| if lower { -value } else { value })).collect();
        let complete: Option<Vec<f64>> = values.iter().copied().collect();
        Checkpoint {
            steps: *steps,
            mean: complete.map(|values| values.iter().sum::<f64>() / values.len() as f64),
            kendall_last: tau(values, &last),
            copy_of: all[place + 1..].iter().find(|(_, later)| later == values).map(|(later, _)| *later),
            kendall: scores.iter().map(|column| tau(column, &better)).collect(),
            values: values.clone(),
        }
    };
    Ok(Checkpoints {
        benchmark: benchmark.name.clone(),
        target: target.to_owned(),
        proxies: scorer
            .requests()
            .iter()
            .map(|request| request.label().to_owned())
            .chain(columns.iter().map(|column| format!("{COLUMN}{column}")))
            .collect(),
        checkpoints: all.iter().enumerate().map(one).collect(),
        networks: names,
    })
}

/// Tau-b over what both have.
fn tau(a: &[Option<f64>], b: &[Option<f64>]) -> Option<f64> {
    let both = a.iter().zip(b).filter_map(|(a, b)| Some(((*a)?, (*b)?)));
    let (a, b): (Vec<f64>, Vec<f64>) = both.unzip();
    kendall_tau_b(&a, &b)
}

impl Benchmark {
    /// A result of every network by its name, by steps.
    fn results_by_step(&self, target: &str) -> Result<BTreeMap<u64, BTreeMap<String, f64>>> {
        let mut found: BTreeMap<u64, BTreeMap<String, f64>> = BTreeMap::new();
        for row in &self.checkpoints {
            let value = |key: &str| row.values.get(key);
            let (Some(id), Some(steps)) = (value("id"), value(STEPS).and_then(Value::as_u64)) else {
                return Err(Error::data(row.place.as_str(), format!("has no id or no {STEPS}")));
            };
            if let Some(result) = value(target).and_then(Value::as_f64) {
                found.entry(steps).or_default().insert(super::plain(id), result);
            }
        }
        if found.is_empty() {
            let message = match self.checkpoints.first() {
                None => format!("has no {FILE}"),
                Some(_) => format!("{FILE} has no result {target}"),
            };
            return Err(Error::data(self.name.as_str(), message));
        }
        Ok(found)
    }
}
