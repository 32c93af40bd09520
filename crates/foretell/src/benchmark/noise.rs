//! What chance leaves of a ranking: networks that were trained more than once say how far one run is from another.
//!
//! ```text
//! deviation of one run: s² = mean over repeated networks of the variance of their runs (n - 1 in the denominator)
//! ceiling: mean over draws of tau-b(labels, labels + s · normal): what the labels themselves would score against runs
//!          with other seeds; no proxy can be expected to have more
//! ```
//!
//! The labels stand for the truth in it. They have noise of their own, which spreads them, so that the ceiling is a little
//! too high; the retest, which has few networks, is not.

use super::{Benchmark, Column};
use crate::rank;
use crate::seed::Seed;
use rand_distr::{Distribution, StandardNormal};
use serde::Serialize;

/// How much of a ranking is chance.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Noise {
    /// Networks trained more than once.
    pub networks: usize,
    /// Standard deviation of one run.
    pub deviation: f64,
    /// Tau-b of their first with their second runs.
    pub retest: Option<f64>,
    /// Tau-b that the labels would have with another run of every network.
    pub ceiling: Option<f64>,
}

/// Draws of further runs.
const DRAWS: u64 = 200;

impl Noise {
    /// The noise of a column; `None` if no network of the benchmark was trained more than once.
    pub(super) fn of(benchmark: &Benchmark, target: &Column, seed: u64) -> Option<Self> {
        let runs: Vec<Vec<f64>> = benchmark.runs(&target.name).filter(|runs| runs.len() > 1).collect();
        if runs.is_empty() {
            return None;
        }
        let variance = |runs: &Vec<f64>| {
            let mean = runs.iter().sum::<f64>() / runs.len() as f64;
            runs.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (runs.len() - 1) as f64
        };
        let deviation = (runs.iter().map(variance).sum::<f64>() / runs.len() as f64).sqrt();
        let [first, second] = [0, 1].map(|i| runs.iter().map(|runs| runs[i]).collect::<Vec<f64>>());
        let labels: Vec<f64> = target.values.iter().flatten().copied().collect();
        let again = |draw: u64| {
            let mut rng = Seed(seed).stream("noise", draw);
            let normal = |rng: &mut _| -> f64 { StandardNormal.sample(rng) };
            let other: Vec<f64> = labels.iter().map(|x| x + deviation * normal(&mut rng)).collect();
            rank::kendall_tau_b(&labels, &other)
        };
        let taus: Option<Vec<f64>> = (0..DRAWS).map(again).collect();
        Some(Noise {
            networks: runs.len(),
            deviation,
            retest: rank::kendall_tau_b(&first, &second),
            ceiling: taus.map(|taus| taus.iter().sum::<f64>() / DRAWS as f64),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::Row;
    use super::*;
    use serde_json::{Map, json};

    fn object(value: serde_json::Value) -> Map<String, serde_json::Value> {
        value.as_object().unwrap().clone()
    }

    /// Two networks whose labels differ by 2, each with two runs `apart`: with the deviation s = apart / √2 of a run, another
    /// run of both keeps their order with probability Φ(2 / (s √2)).
    fn noise(apart: f64) -> Noise {
        let run = |id: &str, loss: f64| Row {
            place: String::new(),
            values: object(json!({"id": id, "valid_loss": loss})),
        };
        let target =
            Column { name: "valid_loss".into(), lower_is_better: true, values: vec![Some(1.0), Some(3.0)] };
        let benchmark = Benchmark {
            name: "test".into(),
            architectures: Vec::new(),
            columns: vec![target.clone()],
            counts: Vec::new(),
            notes: Vec::new(),
            labels: vec![object(json!({"id": "a"})), object(json!({"id": "b"}))],
            checkpoints: Vec::new(),
            repeats: vec![
                run("a", 1.0),
                run("a", 1.0 + apart),
                run("b", 3.0),
                run("b", 3.0 + apart),
                run("c", 9.0),
            ],
        };
        Noise::of(&benchmark, &target, 0).unwrap()
    }

    #[test]
    fn the_ceiling_falls_with_the_distance_of_runs() {
        let none = noise(0.0);
        assert_eq!(
            (none.networks, none.deviation, none.retest, none.ceiling),
            (2, 0.0, Some(1.0), Some(1.0))
        );
        let some = noise(2.0);
        assert!((some.deviation - 2_f64.sqrt()).abs() < 1e-12);
        let exact = 2.0 * 0.841_344_746 - 1.0;
        assert!((some.ceiling.unwrap() - exact).abs() < 0.15, "{some:?}, not {exact}");
    }
}
