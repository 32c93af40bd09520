//! What a timed search has done.

use super::runs::TimedRun;
use crate::study::Watch;

/// What a timed search does at the moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Doing<'d> {
    /// What, and why.
    pub why: &'d str,
    /// The share of the work that is spent.
    pub spent: f64,
    /// The best of the longest runs so far.
    pub best: Option<&'d TimedRun>,
}

/// Finished runs, and who looks on.
pub(super) struct Log<'w> {
    watch: &'w dyn Watch,
    budget: f64,
    /// Finished runs, in order.
    pub(super) done: Vec<TimedRun>,
    pub(super) spent: f64,
    why: &'static str,
}

impl<'w> Log<'w> {
    pub(super) fn new(watch: &'w dyn Watch, budget: f64) -> Self {
        Log { watch, budget, done: Vec::new(), spent: 0.0, why: "" }
    }

    /// Something else begins.
    pub(super) fn begin(&mut self, why: &'static str) {
        self.why = why;
        self.tell(None);
    }

    /// Adds a run and what it cost; one that is new is shown.
    pub(super) fn add(&mut self, run: TimedRun, cost: f64, new: bool) {
        self.spent += cost;
        self.done.push(run);
        if new {
            self.tell(self.done.last());
        }
    }

    fn tell(&self, run: Option<&TimedRun>) {
        let doing = Doing { why: self.why, spent: self.spent / self.budget, best: best(&self.done) };
        self.watch.trained(run, &doing);
    }
}

/// The best of the longest runs; of equals the first.
pub(super) fn best(runs: &[TimedRun]) -> Option<&TimedRun> {
    let better = |run: &TimedRun, best: &TimedRun| (run.steps, run.value) > (best.steps, best.value);
    let sound = runs.iter().filter(|run| run.value.is_some());
    sound.reduce(|best, run| if better(run, best) { run } else { best })
}
