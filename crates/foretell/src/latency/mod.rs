//! How long a network takes on this machine: measured, or foretold by a model that was fitted to measurements.
//!
//! A measurement is a forward pass of one input on one thread of our own engine. It is no promise for another runtime, but
//! it orders networks by what their shape costs here. A search asks thousands of times, so it asks a [`Model`], whose error
//! on networks it was not fitted to is stated, and measures its winners again.

mod model;

pub use model::Model;

use crate::architecture::Architecture;
use crate::error::Result;
use crate::network::Weights;
use crate::probe::{self, Pass, Setting, Worker};
use crate::seed::Seed;
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// Runs before anything is timed: memory is found, caches and the clock warm up.
const WARM_UP: usize = 2;
/// Runs that are timed: nine, so that the second smallest and second largest enclose the median 96 times in 100.
const RUNS: usize = 9;

/// Seconds of one forward pass.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// The median.
    pub seconds: f64,
    /// The ends of an interval that holds the true median in 96 of 100 cases.
    pub interval: (f64, f64),
    /// Timed runs.
    pub runs: usize,
    /// Threads that worked on it.
    pub threads: usize,
}

/// Measures one input of a network; `memory` is what it may take, in bytes.
pub fn measure(architecture: &Architecture, _phase: Phase, memory: Option<u64>) -> Result<Latency> {
    let pass = Pass { batch: 1, ..Pass::forward() };
    let setting = Setting::new(architecture, Seed(0));
    if let Some(budget) = memory {
        probe::within::<f32>(&setting, &pass, budget)?;
    }
    let weights: Weights<f32> = Weights::shared(architecture, Seed(0));
    let mut worker = Worker::default();
    let mut times = Vec::with_capacity(RUNS);
    for run in 0..WARM_UP + RUNS {
        let start = Instant::now();
        let seen = worker.run(&setting, &weights, &pass)?;
        if run >= WARM_UP {
            times.push(start.elapsed().as_secs_f64());
        }
        worker.give(seen);
    }
    Ok(summary(times))
}

/// The median and its interval by order.
fn summary(mut times: Vec<f64>) -> Latency {
    times.sort_by(f64::total_cmp);
    let n = times.len();
    Latency { seconds: times[n / 2], interval: (times[1], times[n - 2]), runs: n, threads: 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space;

    #[test]
    fn median_and_interval_by_order() {
        let latency = summary([9.0, 1.0, 8.0, 2.0, 7.0, 3.0, 6.0, 4.0, 5.0].to_vec());
        assert_eq!((latency.seconds, latency.interval, latency.runs), (5.0, (2.0, 8.0), 9));
    }

    /// Four times the layers cannot be faster; a budget of nothing is refused before anything is drawn.
    #[test]
    fn more_layers_take_longer() {
        let network = |layers: u32| {
            let value = serde_json::json!({"space": "gpt2", "n_layer": layers, "d_model": 128, "n_head": 2, "d_inner": 512,
                "vocab_size": 200});
            space::read_architecture(&value).unwrap()
        };
        let [one, four] = [2, 8].map(|layers| measure(&network(layers), None).unwrap());
        assert!(four.seconds > 1.5 * one.seconds, "{one:?} {four:?}");
        assert_eq!(measure(&network(2), Some(1)).unwrap_err().kind(), "memory");
    }
}
// STUB
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Phase {
    Prefill,
    Decode,
}
#[allow(missing_docs)]
impl Phase {
    pub fn name(self) -> &'static str {
        match self {
            Phase::Prefill => "prefill",
            Phase::Decode => "decode",
        }
    }
}
