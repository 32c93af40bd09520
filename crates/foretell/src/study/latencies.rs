//! Latency in a running study: what was measured, the models fitted to it, and how far they are trusted.
//!
//! Networks drawn from the space are measured before the search begins, and a model is fitted to them. While the search
//! runs, some of its best candidates near the limit are measured whenever the number of trials has doubled. Where the
//! model is off by more than a few percent on these, it is fitted again with the networks near the limit counting most.
//! A guard band follows from its error: candidates must be predicted to stay that far below the limit. Everything measured is stored, so
//! a study that is resumed uses the same models at the same points.

use super::answer::{LatencyModel, upper};
use super::{Settings, Watch};
use crate::architecture::Architecture;
use crate::error::{Error, Result};
use crate::latency::{self, Care, ErrorSummary, Latency, Model, Phase};
use crate::space;
use crate::store::{Measurement, Store, Study};
use serde_json::{Value, json};
use std::sync::Mutex;

/// Trials after which candidates of the search are measured for the first time; from then on whenever they have doubled.
const FIRST_CHECK: u64 = 64;
/// Candidates measured each time.
const CHECKED: usize = 4;
/// Candidates predicted to take less than this share of a limit are not near it.
const NEAR: f64 = 0.8;
/// The error on nine of ten candidates beyond which a model is fitted again.
const REFIT: f64 = 0.05;

/// What is known of one phase.
pub(super) struct Timed {
    pub(super) phase: Phase,
    pub(super) limit: Option<f64>,
    /// The model that limits are checked with.
    pub(super) model: Model,
    /// The share of a limit that predictions must stay below it.
    pub(super) guard: f64,
    /// The model of the first fit: values of an objective must not change while a study runs.
    pub(super) first: Model,
}

/// The latencies of a running study.
pub(super) struct Latencies<'s> {
    store: &'s Mutex<&'s mut Store>,
    study: &'s Study,
    watch: &'s dyn Watch,
    /// Bytes that a measurement may take.
    memory: Option<u64>,
    rows: Vec<(Measurement, Architecture)>,
    digest: [u8; 32],
    pub(super) timed: Vec<Timed>,
    next_check: u64,
}

impl<'s> Latencies<'s> {
    /// Measures what the first models are fitted to, as far as the store does not hold it.
    pub(super) fn begin(
        settings: &Settings,
        store: &'s Mutex<&'s mut Store>,
        study: &'s Study,
        memory: Option<u64>,
        watch: &'s dyn Watch,
    ) -> Result<Self> {
        let (rows, digest) = store.lock().expect("no holder panics").measurements(study)?;
        let read = |row: Measurement| {
            let genes: Value = serde_json::from_str(&row.genes)
                .map_err(|e| Error::option("a stored measurement", e.to_string()))?;
            Ok((row, space::read_architecture(&genes)?))
        };
        let rows = rows.into_iter().map(read).collect::<Result<Vec<_>>>()?;
        let mut latencies = Latencies {
            store,
            study,
            watch,
            memory,
            rows,
            digest,
            timed: Vec::new(),
            next_check: FIRST_CHECK,
        };
        let phases = settings.phases();
        if phases.is_empty() {
            return Ok(latencies);
        }
        let sample = Model::sample(&*settings.space, &settings.limits, settings.seed)?;
        for (place, phase) in phases.iter().enumerate() {
            for (done, network) in sample.iter().enumerate() {
                watch.measuring((place * sample.len() + done) as u64, (phases.len() * sample.len()) as u64);
                let known = |(row, other): &(Measurement, Architecture)| {
                    row.trial.is_none() && row.phase == phase.name() && other == network
                };
                if !latencies.rows.iter().any(known) {
                    match latencies.measure(*phase, network, None, 0, None) {
                        // A network beyond memory says nothing of the others.
                        Ok(_) | Err(Error::Memory { .. }) => {}
                        Err(error) => return Err(error),
                    }
                }
            }
            let limit = settings.latency_limits().iter().find(|(limited, _)| limited == phase).map(|l| l.1);
            let model = latencies.fit(*phase, 0, None).ok_or_else(|| {
                let message = format!("too few of {} networks could be measured", sample.len());
                Error::option("latency", message)
            })?;
            let guard = model.guard(None);
            latencies.timed.push(Timed { phase: *phase, limit, first: model.clone(), model, guard });
        }
        watch.measuring(1, 1);
        Ok(latencies)
    }

    /// The model fitted to what was measured until a number of trials was reached.
    fn fit(&self, phase: Phase, stage: u64, near: Option<f64>) -> Option<Model> {
        let until = |(row, _): &&(Measurement, Architecture)| row.phase == phase.name() && row.stage <= stage;
        let seconds = |(row, network): &(Measurement, Architecture)| {
            Some((network.clone(), row.latency["seconds"].as_f64()?))
        };
        let measured: Vec<(Architecture, f64)> = self.rows.iter().filter(until).filter_map(seconds).collect();
        Model::from_measurements(phase, &measured, near)
    }

    /// Measures a network and stores the result.
    fn measure(
        &mut self,
        phase: Phase,
        network: &Architecture,
        trial: Option<u64>,
        stage: u64,
        predicted: Option<f64>,
    ) -> Result<Latency> {
        // What a model is fitted to is measured once, what may win in several sittings.
        let care = if trial.is_some() { Care::Sittings } else { Care::Once };
        let found = latency::measure(network, phase, self.memory, care)?;
        let mut value = json!(found);
        value["upper"] = json!(found.upper());
        if let Some(predicted) = predicted {
            value["predicted"] = json!(predicted);
        }
        let genes = Value::Object(space::write_architecture(network)).to_string();
        let row = Measurement { stage, trial, genes, phase: phase.name().to_owned(), latency: value };
        let mut store = self.store.lock().expect("no holder panics");
        self.digest = store.measured(self.study, self.rows.len() as u64, &row, &self.digest)?;
        self.rows.push((row, network.clone()));
        Ok(found)
    }

    /// Measures a trial in every phase that is timed and not yet measured; whether it keeps all limits.
    pub(super) fn measure_trial(&mut self, trial: u64, network: &Architecture, stage: u64) -> Result<bool> {
        let mut kept = true;
        for place in 0..self.timed.len() {
            let Timed { phase, limit, model, .. } = &self.timed[place];
            let (phase, limit, predicted) = (*phase, *limit, model.predict(network));
            let known =
                self.rows.iter().rev().find(|(row, _)| row.trial == Some(trial) && row.phase == phase.name());
            let seconds = match known {
                Some((row, _)) => upper(row).unwrap_or(f64::INFINITY),
                None => {
                    let found = self.measure(phase, network, Some(trial), stage, Some(predicted))?;
                    self.watch.measured(trial, phase, found.seconds);
                    found.upper()
                }
            };
            kept &= limit.is_none_or(|limit| seconds <= limit);
        }
        Ok(kept)
    }

    /// Whether candidates of the search are due to be measured.
    pub(super) fn due(&self, done: u64) -> bool {
        done >= self.next_check && self.timed.iter().any(|timed| timed.limit.is_some())
    }

    /// Measures some of the best candidates near a limit, best first, and mends models and guard bands.
    pub(super) fn check(&mut self, done: u64, best: &[(u64, Architecture)]) -> Result<()> {
        while self.next_check <= done {
            self.next_check *= 2;
        }
        let stored = self.rows.iter().any(|(row, _)| row.stage == done && row.trial.is_some());
        if !stored {
            let known = |trial: u64| self.rows.iter().any(|(row, _)| row.trial == Some(trial));
            let limited = self.timed.iter().filter_map(|timed| Some((&timed.model, timed.limit?)));
            let near = |network: &Architecture| {
                limited.clone().any(|(model, limit)| model.predict(network) > NEAR * limit)
            };
            let chosen: Vec<(u64, Architecture)> = best
                .iter()
                .filter(|(trial, network)| !known(*trial) && near(network))
                .take(CHECKED)
                .cloned()
                .collect();
            for (trial, network) in chosen {
                self.measure_trial(trial, &network, done)?;
            }
        }
        self.mend(done);
        Ok(())
    }

    /// Mends models and guard bands by the candidates measured until a number of trials was reached.
    pub(super) fn mend(&mut self, stage: u64) {
        for place in 0..self.timed.len() {
            let Timed { phase, limit, .. } = self.timed[place];
            let Some(errors) = self.errors(phase, stage).filter(|_| limit.is_some()) else { continue };
            let refitted = if errors.p90 > REFIT { self.fit(phase, stage, limit) } else { None };
            let guard = match &refitted {
                // What the new model says of candidates it was fitted to is the best guess of its error on further ones.
                Some(model) => model.guard(model.errors(&self.candidates(phase, stage)).as_ref()),
                None => self.timed[place].model.guard(Some(&errors)),
            };
            self.timed[place].guard = guard;
            if let Some(model) = refitted {
                self.timed[place].model = model;
            }
        }
    }

    fn rows_of(&self, phase: Phase, stage: u64) -> impl Iterator<Item = &(Measurement, Architecture)> {
        let own = move |(row, _): &&(Measurement, Architecture)| {
            row.phase == phase.name() && row.stage <= stage && row.trial.is_some()
        };
        self.rows.iter().filter(own)
    }

    /// Candidates of the search and their measured seconds.
    fn candidates(&self, phase: Phase, stage: u64) -> Vec<(Architecture, f64)> {
        let seconds = |(row, network): &(Measurement, Architecture)| {
            Some((network.clone(), row.latency["seconds"].as_f64()?))
        };
        self.rows_of(phase, stage).filter_map(seconds).collect()
    }

    /// The errors on candidates of the search, as predicted before they were measured.
    fn errors(&self, phase: Phase, stage: u64) -> Option<ErrorSummary> {
        let pair = |(row, _): &(Measurement, Architecture)| {
            Some((row.latency["predicted"].as_f64()?, row.latency["seconds"].as_f64()?))
        };
        ErrorSummary::of_pairs(self.rows_of(phase, stage).filter_map(pair))
    }

    /// How well each model predicted candidates of the search.
    pub(super) fn summaries(&self) -> Vec<LatencyModel> {
        let summary = |timed: &Timed| {
            let own = self.rows.iter().map(|(row, _)| row).filter(|row| row.phase == timed.phase.name());
            let errors = self.errors(timed.phase, u64::MAX);
            LatencyModel {
                phase: timed.phase.name().to_owned(),
                limit: timed.limit,
                measured: own.clone().count(),
                candidates: errors.map_or(0, |errors| errors.samples),
                error: errors.map_or(timed.model.error, |errors| errors.median),
                error_90: errors.map_or(timed.model.error_90, |errors| errors.p90),
                guard: timed.guard,
                quiet: own.clone().all(|row| row.latency["quiet"] != false),
            }
        };
        self.timed.iter().map(summary).collect()
    }
}
