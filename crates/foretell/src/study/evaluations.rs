//! What an evaluator said of trials so far, and how to ask it further.

use super::command::leaving;
use super::evaluate::{Evaluator, Failure, as_given};
use super::{Settings, Watch};
use crate::architecture::Architecture;
use crate::error::{Error, Result};
use crate::store::{Evaluation, Store, Study, Trial};
use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Instant;

/// The evaluations of a running study: each is stored the moment it is known.
pub(super) struct Evaluations<'s> {
    evaluator: &'s dyn Evaluator,
    store: &'s Mutex<&'s mut Store>,
    study: &'s Study,
    watch: &'s dyn Watch,
    /// The trial of each architecture told so far.
    trials: HashMap<String, u64>,
    /// The last evaluation of each trial; failed ones are left out where they are made again.
    known: HashMap<u64, Evaluation>,
    /// How many are stored, and the digest of the last.
    stored: u64,
    digest: [u8; 32],
    /// Why one could not be made or stored.
    failure: Option<Error>,
}

impl<'s> Evaluations<'s> {
    pub(super) fn new(
        settings: &Settings,
        evaluator: &'s dyn Evaluator,
        store: &'s Mutex<&'s mut Store>,
        study: &'s Study,
        watch: &'s dyn Watch,
    ) -> Result<Self> {
        let (rows, digest) = store.lock().expect("no holder panics").evaluations(study)?;
        if let Some(other) = rows.iter().find(|row| row.evaluator != evaluator.label()) {
            let reason = format!("was evaluated by {}: use another name", other.evaluator);
            return Err(Error::option(format!("study '{}'", study.name), reason));
        }
        let stored = rows.len() as u64;
        let mut known = latest(rows);
        known.retain(|_, row| !settings.retry_failed || row.value().is_some());
        Ok(Evaluations {
            evaluator,
            store,
            study,
            // A label that is looked up is no event.
            watch: if settings.looks_up()? { &() } else { watch },
            trials: HashMap::new(),
            known,
            stored,
            digest,
            failure: None,
        })
    }

    /// Notes which trials some architectures became.
    pub(super) fn number(&mut self, trials: &[Trial]) {
        self.trials.extend(trials.iter().map(|trial| (trial.id.clone(), trial.number)));
    }

    /// Why an evaluation could not be made or stored, once.
    pub(super) fn failure(&mut self) -> Option<Error> {
        self.failure.take()
    }

    /// The value of a trial, larger is better; minus infinity if it has none.
    pub(super) fn evaluate(&mut self, point: &Architecture) -> f64 {
        let trial = self.trials.get(&point.id()).copied();
        let Some(trial) = trial.filter(|_| self.failure.is_none()) else { return f64::NEG_INFINITY };
        if !self.known.contains_key(&trial)
            && let Err(error) = ask(self.evaluator, trial, point).and_then(|row| self.keep(point, row))
        {
            self.failure = Some(error);
            return f64::NEG_INFINITY;
        }
        self.known[&trial].value().unwrap_or(f64::NEG_INFINITY)
    }

    fn keep(&mut self, point: &Architecture, row: Evaluation) -> Result<()> {
        if leaving() {
            return Err(Error::Cancelled);
        }
        let mut store = self.store.lock().expect("no holder panics");
        self.digest = store.evaluated(self.study, self.stored, &row, &self.digest)?;
        drop(store);
        self.stored += 1;
        self.watch.evaluated(point, &row);
        self.known.insert(row.trial, row);
        Ok(())
    }
}

/// What an evaluator says of a trial; an error is what the machine did.
pub(super) fn ask(evaluator: &dyn Evaluator, trial: u64, point: &Architecture) -> Result<Evaluation> {
    let start = Instant::now();
    let mut row = Evaluation { trial, evaluator: evaluator.label(), ..Evaluation::default() };
    match evaluator.evaluate(point) {
        Ok(value) => (row.status, row.value) = ("ok".to_owned(), value),
        Err(Failure::Verdict { status, message }) => {
            (row.status, row.message, row.value) = (status.to_owned(), message, f64::NAN);
        }
        Err(Failure::Machine(error)) => return Err(error),
    }
    row.seconds = start.elapsed().as_secs_f64();
    Ok(row)
}

/// The last evaluation of each trial.
fn latest(rows: Vec<Evaluation>) -> HashMap<u64, Evaluation> {
    rows.into_iter().map(|row| (row.trial, row)).collect()
}

/// The value of an evaluation as the evaluator gave it.
pub fn given_value(row: &Evaluation) -> Option<f64> {
    Some(as_given(&row.evaluator, row.value()?))
}
