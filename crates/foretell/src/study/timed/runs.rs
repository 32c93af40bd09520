//! The trainings of a timed search: each is stored the moment it and all before it are done.

use super::work::{side_by_side, workers};
use crate::architecture::Architecture;
use crate::error::{Error, Result};
use crate::store::{Evaluation, Store, Study};
use crate::study::Evaluator;
use crate::study::command::leaving;
use crate::study::evaluations::ask;
use crate::study::rungs::{Standing, draw, unsaid};
use serde::Serialize;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// A finished training.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimedRun {
    /// The trial.
    pub trial: usize,
    /// Steps trained.
    pub steps: u64,
    /// Which draw of weights and samples, from 0 on.
    pub draw: u64,
    /// How good the network is, larger is better; absent where training failed.
    pub value: Option<f64>,
    /// The seconds it took.
    pub seconds: f64,
}

impl TimedRun {
    pub(super) fn of(row: &Evaluation) -> Self {
        let steps = Standing::of(&row.evaluator).steps;
        let trial = row.trial as usize;
        TimedRun { trial, steps, draw: draw(&row.evaluator), value: row.value(), seconds: row.seconds }
    }
}

/// What was trained so far, and how to train further.
pub(super) struct Runs<'s> {
    evaluator: Arc<dyn Evaluator>,
    store: &'s Mutex<&'s mut Store>,
    study: &'s Study,
    /// By trial, steps and draw.
    known: HashMap<(usize, u64, u64), TimedRun>,
    /// How many are stored, and the digest of the last.
    stored: u64,
    digest: [u8; 32],
}

impl<'s> Runs<'s> {
    pub(super) fn new(
        evaluator: Arc<dyn Evaluator>,
        store: &'s Mutex<&'s mut Store>,
        study: &'s Study,
    ) -> Result<Self> {
        let (rows, digest) = store.lock().expect("no holder panics").evaluations(study)?;
        let label = unsaid(&evaluator.label());
        if let Some(other) = rows.iter().find(|row| unsaid(&row.evaluator) != label) {
            let reason = format!("was evaluated by {}: use another name", unsaid(&other.evaluator));
            return Err(Error::option(format!("study '{}'", study.name), reason));
        }
        let stored = rows.len() as u64;
        let runs = rows.iter().map(TimedRun::of);
        let known = runs.map(|run| ((run.trial, run.steps, run.draw), run)).collect();
        Ok(Runs { evaluator, store, study, known, stored, digest })
    }

    /// Trains some trials, each with its network and draw, and tells of each in this order; what is known is only told.
    pub(super) fn train(
        &mut self,
        asked: &[(usize, &Architecture, u64)],
        steps: u64,
        told: &mut dyn FnMut(TimedRun, bool),
    ) -> Result<()> {
        for some in asked.chunks(workers(&*self.evaluator)) {
            let open: Vec<(usize, &Architecture, u64)> = some
                .iter()
                .copied()
                .filter(|(trial, _, draw)| !self.known.contains_key(&(*trial, steps, *draw)))
                .collect();
            let evaluator = &self.evaluator;
            let rows = side_by_side(&open, |(trial, network, draw)| {
                let length = evaluator.trained_for(steps, draw).expect("it was checked");
                ask(&*length, trial as u64, network)
            })?;
            rows.into_iter().try_for_each(|row| self.keep(&row))?;
            for (trial, _, draw) in some {
                let new = open.iter().any(|(other, _, second)| (other, second) == (trial, draw));
                told(self.known[&(*trial, steps, *draw)].clone(), new);
            }
        }
        Ok(())
    }

    fn keep(&mut self, row: &Evaluation) -> Result<()> {
        if leaving() {
            return Err(Error::Cancelled);
        }
        let mut store = self.store.lock().expect("no holder panics");
        self.digest = store.evaluated(self.study, self.stored, row, &self.digest)?;
        self.stored += 1;
        let run = TimedRun::of(row);
        self.known.insert((run.trial, run.steps, run.draw), run);
        Ok(())
    }
}
