//! What an evaluator says of candidates, stored the moment it is known.

use crate::architecture::Architecture;
use crate::error::{Error, Result};
use crate::store::{self, Evaluation, Store};
use crate::study::evaluate::as_given;
use crate::study::{Evaluator, Watch};
use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Instant;

/// What an evaluator said so far, and how to ask it further.
pub(in crate::study) struct Evaluations<'s> {
    evaluator: &'s dyn Evaluator,
    store: &'s Mutex<&'s mut Store>,
    study: &'s store::Study,
    watch: &'s dyn Watch,
    /// The trial of each architecture told so far.
    pub(super) trials: HashMap<String, u64>,
    /// What was said of a trial.
    known: HashMap<u64, Evaluation>,
    digest: [u8; 32],
    /// What could not be stored.
    pub(super) failure: Option<Error>,
}

impl<'s> Evaluations<'s> {
    pub(in crate::study) fn new(
        evaluator: &'s dyn Evaluator,
        store: &'s Mutex<&'s mut Store>,
        study: &'s store::Study,
        (known, digest): (Vec<Evaluation>, [u8; 32]),
        watch: &'s dyn Watch,
    ) -> Result<Self> {
        if let Some(other) = known.iter().find(|known| known.evaluator != evaluator.label()) {
            let reason = format!("was evaluated by {}: choose another --name", other.evaluator);
            return Err(Error::input(format!("study '{}'", study.name), reason));
        }
        let known = known.into_iter().map(|known| (known.trial, known)).collect();
        Ok(Evaluations {
            evaluator,
            store,
            study,
            watch,
            trials: HashMap::new(),
            known,
            digest,
            failure: None,
        })
    }

    pub(super) fn worth(&mut self, point: &Architecture) -> f64 {
        let trial = self.trials.get(&point.id()).copied();
        let Some(trial) = trial.filter(|_| self.failure.is_none()) else { return f64::NEG_INFINITY };
        if !self.known.contains_key(&trial) {
            let start = Instant::now();
            let mut said = Evaluation { trial, evaluator: self.evaluator.label(), ..Evaluation::default() };
            match self.evaluator.evaluate(point) {
                Ok(value) => (said.status, said.value) = ("ok".to_owned(), value),
                Err(failure) => {
                    (said.status, said.message) = (failure.status.to_owned(), failure.message);
                    said.value = f64::NAN;
                }
            }
            said.seconds = start.elapsed().as_secs_f64();
            let mut store = self.store.lock().expect("no holder panics");
            match store.evaluated(self.study, self.known.len() as u64, &said, &self.digest) {
                Ok(digest) => self.digest = digest,
                Err(error) => self.failure = Some(error),
            }
            self.watch.evaluated(trial, said.value().map(|value| as_given(&said.evaluator, value)));
            self.known.insert(trial, said);
        }
        self.known[&trial].value().unwrap_or(f64::NEG_INFINITY)
    }
}
