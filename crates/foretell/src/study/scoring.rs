//! Scoring a generation, and storing its candidates in their order as they come.

use super::{Objective, Settings, Watch, objective};
use crate::architecture::Architecture;
use crate::error::{Error, Result};
use crate::latency::{Model, Phase};
use crate::proxy::Request;
use crate::score::{Cell, Scorer};
use crate::space;
use crate::store::{self, Store, Trial};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How long scored candidates wait to be stored together.
const PAUSE: Duration = Duration::from_millis(500);

/// What scoring any generation of a study takes.
pub(super) struct Scoring<'s> {
    pub(super) settings: &'s Settings,
    pub(super) scorer: &'s Scorer,
    pub(super) store: &'s Mutex<&'s mut Store>,
    pub(super) study: &'s store::Study,
    pub(super) watch: &'s dyn Watch,
    /// The models that values of latency objectives come from.
    pub(super) models: Vec<(Phase, Model)>,
    /// The digest of the last trial stored.
    pub(super) digest: [u8; 32],
}

/// Candidates of a generation on their way into the store.
struct Queue {
    /// Scored, while an earlier one is not.
    early: BTreeMap<usize, Trial>,
    /// Scored, in order.
    trials: Vec<Trial>,
    /// How many of them are stored.
    stored: usize,
    digest: [u8; 32],
    last: Instant,
    /// Why candidates could not be stored.
    failure: Option<Error>,
    /// Why a candidate could not be scored on this machine.
    fault: Option<Error>,
}

/// The first failure that the machine caused.
fn fault_of_machine(cells: &[Cell]) -> Option<Error> {
    let mut errors = cells.iter().flat_map(|cell| &cell.scores).filter_map(|score| score.as_ref().err());
    errors.find(|error| error.is_of_machine()).cloned()
}

impl Scoring<'_> {
    /// Scores and stores candidates, numbered from `from` on; `rejected` is what was refused so far.
    pub(super) fn run(&mut self, points: &[Architecture], from: u64, rejected: u64) -> Result<Vec<Trial>> {
        let queue = Mutex::new(Queue {
            early: BTreeMap::new(),
            trials: Vec::with_capacity(points.len()),
            stored: 0,
            digest: self.digest,
            last: Instant::now(),
            failure: None,
            fault: None,
        });
        let seeds = self.settings.seed_list();
        let scored = self.scorer.in_order(points, &seeds, &|index, row| {
            let mut queue = queue.lock().expect("no holder panics");
            let queue = &mut *queue;
            // What the machine could not do says nothing about the candidate: it stays open.
            if let Some(fault) = fault_of_machine(&row.cells) {
                queue.fault.get_or_insert(fault);
                return false;
            }
            let trial = self.trial(&points[index], &row.cells, from + index as u64);
            self.watch.scored();
            // An executor may score a candidate more than once.
            if index >= queue.trials.len() {
                queue.early.entry(index).or_insert(trial);
            }
            while let Some(next) = queue.early.remove(&queue.trials.len()) {
                queue.trials.push(next);
            }
            let due = queue.last.elapsed() >= PAUSE || queue.trials.len() == points.len();
            if due && queue.stored < queue.trials.len() && queue.failure.is_none() {
                let mut store = self.store.lock().expect("no holder panics");
                match store.append(self.study, &queue.trials[queue.stored..], rejected, &queue.digest) {
                    Ok(digest) => queue.digest = digest,
                    Err(error) => queue.failure = Some(error),
                }
                queue.stored = queue.trials.len();
                queue.last = Instant::now();
            }
            queue.failure.is_none()
        });
        let queue = queue.into_inner().expect("no holder panics");
        if let Some(failure) = queue.failure {
            return Err(failure);
        }
        if (scored.is_err() || queue.fault.is_some()) && queue.stored < queue.trials.len() {
            let mut store = self.store.lock().expect("no holder panics");
            store.append(self.study, &queue.trials[queue.stored..], rejected, &queue.digest)?;
        }
        scored?;
        if let Some(fault) = queue.fault {
            return Err(fault);
        }
        self.digest = queue.digest;
        Ok(queue.trials)
    }

    /// One candidate as it is stored.
    fn trial(&self, point: &Architecture, cells: &[Cell], number: u64) -> Trial {
        let score = |(request, cell): (&Arc<Request>, &Cell)| {
            let mut score = store::Score {
                proxy: request.label().to_owned(),
                version: request.about().version,
                seed: self.settings.seed,
                value: f64::NAN,
                ..store::Score::default()
            };
            match cell.mean() {
                Ok(found) => {
                    score.status = "ok".to_owned();
                    score.blocks = objective::blocks(point, request, &found);
                    (score.value, score.parts) = (found.value, found.parts);
                }
                Err(error) => {
                    score.status = error.kind().to_owned();
                    score.message = error.to_string();
                }
            }
            score
        };
        let scores: Vec<store::Score> = self.scorer.requests().iter().zip(cells).map(score).collect();
        let mut said = scores.iter();
        let value = |objective: &Objective| match objective.cost(point, &self.models) {
            Some(cost) => -(cost as f64),
            None => said
                .next()
                .map_or(f64::NAN, |score| if score.parts.is_empty() { score.value } else { f64::NAN }),
        };
        let objectives = self.settings.objectives.iter().map(value).collect();
        let genes = Value::Object(space::write_architecture(point)).to_string();
        let seconds = cells.iter().map(|cell| cell.seconds).sum();
        Trial { number, id: point.id(), genes, objectives, scores, seconds }
    }
}
