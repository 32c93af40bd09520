//! A time as work: how many seconds a training takes, measured once.

use super::{RUNGS, RUNS, SHARES};
use crate::architecture::{Architecture, Counter};
use crate::cancel::CancelToken;
use crate::error::{Error, Result};
use crate::study::evaluations::ask;
use crate::study::{Evaluator, Settings};
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// How long a search by training may take.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Time {
    /// About so many seconds on this machine.
    Seconds(f64),
    /// As long as so many steps of training of the largest network take: the same search on every machine.
    Steps(u64),
}

/// The fewest steps of a run that says anything.
const LEAST: u64 = 8;
/// The share of a time that is left to everything but training.
const REST: f64 = 0.05;
/// A measurement takes at least this share of the time, and so many seconds at most.
const MEASURED: (f64, f64) = (0.01, 5.0);

impl Time {
    /// Refuses what a search by training cannot do.
    pub(in crate::study) fn check(self, settings: &Settings) -> Result<()> {
        let wrong = |place: &str, message: &str| Err(Error::option(place, message));
        match self {
            Time::Seconds(seconds) if !(seconds > 0.0 && seconds.is_finite()) => {
                return Err(Error::option("time", format!("{seconds} s are no time")));
            }
            _ => {}
        }
        // A study that is only read has no evaluator.
        if settings.evaluator.as_ref().is_some_and(|evaluator| evaluator.trained_for(1, 0).is_none()) {
            let message = "needs an evaluation that can be made shorter: train networks, or give a command";
            return wrong("time", message);
        }
        if settings.objectives.len() > 1 {
            return wrong(
                "objectives",
                "there are several; a search by training looks for the least loss alone",
            );
        }
        if !settings.phases().is_empty() {
            return wrong(
                "latency",
                "cannot be limited in a search by training: limit multiply-adds instead",
            );
        }
        if settings.shard.is_some() || settings.pool.is_some() || settings.budget.is_some() {
            let message =
                "is not counted in candidates, cannot be split into shards and needs a space, not a table";
            return wrong("a search by training", message);
        }
        Ok(())
    }
}

/// What a time amounts to. The cost of a run is `fixed + step · steps · (multiply-adds / reference)`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// What may be spent in all.
    pub budget: f64,
    /// What every run costs.
    pub fixed: f64,
    /// What a step of the largest network costs.
    pub step: f64,
    /// The multiply-adds of the largest network.
    pub reference: u64,
    /// Tokens or images of a step.
    pub seen: u64,
}

impl Work {
    /// The work of a time; trains the largest network for a few steps where the time is in seconds.
    pub(super) fn measure(time: Time, evaluator: &dyn Evaluator, largest: &Architecture) -> Result<Self> {
        let (reference, seen) = (size(largest), evaluator.seen_per_step());
        let work = match time {
            Time::Steps(steps) => Work { budget: steps as f64, fixed: 0.0, step: 1.0, reference, seen },
            Time::Seconds(seconds) => {
                let workers = workers(evaluator);
                let budget = seconds * workers as f64 * (1.0 - REST);
                let [fixed, step] = rate(evaluator, largest, workers, seconds)?;
                Work { budget, fixed, step, reference, seen }
            }
        };
        work.check(time)?;
        Ok(work)
    }

    fn check(&self, time: Time) -> Result<()> {
        if self.rungs()[0] >= LEAST {
            return Ok(());
        }
        let parts = [SHARES[0], SHARES[1] - SHARES[0], 1.0 - SHARES[1]];
        let runs: f64 = RUNGS.iter().zip(parts).map(|(part, share)| RUNS * share * *part as f64).sum();
        let full = self.fixed + self.step * (LEAST * RUNGS[0]) as f64;
        let short: f64 = RUNS * full / self.budget;
        let (given, needed) = match time {
            Time::Steps(steps) => (format!("{steps} steps"), format!("{:.0} steps", steps as f64 * short)),
            Time::Seconds(s) => (format!("{s} s"), format!("{:.0} s on this machine", (s * short).ceil())),
        };
        let message = format!(
            "{given} are too short for {runs:.0} runs of at least {LEAST} steps: give {needed}, or limit networks to fewer \
             parameters"
        );
        Err(Error::option("time", message))
    }

    /// Steps of short, middle and full runs.
    pub(super) fn rungs(&self) -> [u64; 3] {
        let full = ((self.budget / RUNS - self.fixed) / self.step).max(0.0) as u64;
        RUNGS.map(|part| full / part)
    }

    /// Tokens or images after so many steps.
    pub(super) fn tokens(&self, steps: u64) -> f64 {
        (steps * self.seen) as f64
    }

    /// What a run costs.
    pub(super) fn cost(&self, network: &Architecture, steps: u64) -> f64 {
        self.fixed + self.step * steps as f64 * size(network) as f64 / self.reference.max(1) as f64
    }
}

/// What training time goes with: multiply-adds, or parameters where these are not counted.
pub(super) fn size(network: &Architecture) -> u64 {
    network.flops(Counter::Exact).unwrap_or_else(|| network.params().total)
}

/// How many networks are trained side by side.
pub(super) fn workers(evaluator: &dyn Evaluator) -> usize {
    if evaluator.side_by_side() { rayon::current_num_threads().max(1) } else { 1 }
}

/// Seconds of a run, and of each of its steps, while all workers are busy.
fn rate(evaluator: &dyn Evaluator, network: &Architecture, workers: usize, seconds: f64) -> Result<[f64; 2]> {
    let enough = (MEASURED.0 * seconds).min(MEASURED.1);
    let (mut steps, mut before) = (LEAST, None);
    loop {
        let asked = evaluator.trained_for(steps, 0).expect("it was checked");
        let start = Instant::now();
        let rows = side_by_side(&vec![network; workers], |network| ask(&*asked, 0, network))?;
        let took = start.elapsed().as_secs_f64();
        if let Some(row) = rows.iter().find(|row| row.value().is_none()) {
            let message = format!("the largest network could not be trained: {}", row.message);
            return Err(Error::option("time", message));
        }
        // The first run also pays for what all share.
        if let Some(before) = before.filter(|_| took >= enough) {
            let slope: f64 = (took - before) / (steps / 2) as f64;
            let step = slope.max(0.3 * took / steps as f64).min(took / steps as f64);
            return Ok([(took - step * steps as f64).max(0.0), step]);
        }
        (steps, before) = (2 * steps, Some(took));
    }
}

/// Does something with each item, every one on a thread of its own with a pool of its own: threads of a common pool would
/// begin one item in the middle of another.
pub(super) fn side_by_side<I: Copy + Send + Sync, O: Send>(
    items: &[I],
    each: impl Fn(I) -> Result<O> + Sync,
) -> Result<Vec<O>> {
    if let [item] = items {
        return Ok(vec![each(*item)?]);
    }
    let token = CancelToken::current().unwrap_or_default();
    let one = |item: I| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread can be started");
        pool.install(|| token.run(|| each(item)))?
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = items.iter().map(|item| scope.spawn(|| one(*item))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no run panics")).collect()
    })
}
