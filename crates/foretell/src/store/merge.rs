//! Uniting stores: studies are carried over as they are, and shards of a search become one study.
//!
//! A study that both stores hold must be the same, or the beginning of the other: the longer one stays. Shards whose
//! settings differ in `shard` alone are united into a study without it: their trials sorted by architecture, each once, in
//! a chain of their own. That study is made again from all shards at hand whenever one is added, so it depends on which
//! shards were merged and on nothing else: the order does not matter, nor does merging twice.

use super::anchor::{self, Anchor};
use super::open::wrap;
use super::write::{commit, insert, set_answer};
use super::{Evaluation, Measurement, Store, Study, Trial, evaluation, measurement, now};
use crate::error::{Error, Result};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// All that a study consists of beside its row.
#[derive(Default)]
pub(super) struct Content<'c> {
    pub(super) trials: &'c [Trial],
    pub(super) evaluations: &'c [Evaluation],
    pub(super) measurements: &'c [Measurement],
    pub(super) answer: Option<&'c Value>,
}

/// What became of a study that was merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// The study.
    pub name: String,
    /// Trials that it has now.
    pub trials: u64,
    /// Trials that it had before.
    pub before: u64,
}

impl Store {
    /// Takes over every study of another store, and unites shards; what became of each study of the other, and of each
    /// united one. Everything is checked as it is read: nothing that is damaged or missing is taken over.
    pub fn merge(&mut self, other: &Store) -> Result<Vec<Merged>> {
        match self.file.is_some() && self.file == other.file {
            true => self.merge_now(other),
            false => other.at_once(|| self.merge_now(other)),
        }
    }

    fn merge_now(&mut self, other: &Store) -> Result<Vec<Merged>> {
        let mut done = Vec::new();
        for study in other.studies()? {
            // What shards were united into is made from them.
            if !is_united(&study.config) {
                done.push(self.take_over(other, &study)?);
            }
        }
        let mut united: BTreeMap<String, Vec<Study>> = BTreeMap::new();
        for study in self.studies()? {
            if let Some(name) = united_name(&study) {
                united.entry(name).or_default().push(study);
            }
        }
        for (name, shards) in united {
            done.push(self.unite(&name, &shards)?);
        }
        Ok(done)
    }

    fn take_over(&mut self, other: &Store, study: &Study) -> Result<Merged> {
        let name = study.name.clone();
        let (theirs, _) = other.trials(study)?;
        let (evaluations, _) = other.evaluations(study)?;
        let (measurements, _) = other.measurements(study)?;
        let answer = other.answer(study)?;
        let Some(own) = self.find(&name)? else {
            let content = Content {
                trials: &theirs,
                evaluations: &evaluations,
                measurements: &measurements,
                answer: answer.as_ref(),
            };
            self.write(study, None, &content)?;
            return Ok(Merged { name, trials: theirs.len() as u64, before: 0 });
        };
        let _lease = self.lease(&own)?;
        let differ = |what: &str| {
            Error::data(
                format!("study '{name}'"),
                format!("differs in {what} from that of {}", other.path.display()),
            )
        };
        if own.config != study.config {
            return Err(differ("its settings"));
        }
        let (ours, _) = self.trials(&own)?;
        let (said, _) = self.evaluations(&own)?;
        let before = ours.len() as u64;
        if !ours.iter().zip(&theirs).all(|(a, b)| a.content() == b.content()) {
            return Err(differ("a trial"));
        }
        if !said.iter().zip(&evaluations).all(|(a, b)| a.content() == b.content()) {
            return Err(differ("an evaluation"));
        }
        let (longer, further) = (theirs.len() > ours.len(), evaluations.len() > said.len());
        let state = |study: &Study, trials: usize, said: usize| (trials, said, study.stopped.is_some());
        let ahead = state(study, theirs.len(), evaluations.len()) > state(&own, ours.len(), said.len());
        if longer || further || ahead {
            let trials = if longer { &theirs } else { &ours };
            let said = if further { &evaluations } else { &said };
            let notes = if ahead { study } else { &own };
            let own_measurements = self.measurements(&own)?.0;
            let measurements = if ahead { &measurements } else { &own_measurements };
            let answer = answer.as_ref().filter(|_| ahead);
            let content = Content { trials, evaluations: said, measurements, answer };
            self.write(notes, Some(&own), &content)?;
        }
        Ok(Merged { name, trials: before.max(theirs.len() as u64), before })
    }

    /// Makes one study of all shards of a search.
    fn unite(&mut self, name: &str, shards: &[Study]) -> Result<Merged> {
        let whole = |shard: &Study| {
            let mut config = shard.config.clone();
            config.as_object_mut().and_then(|config| config.shift_remove("shard"));
            config
        };
        let config = whole(&shards[0]);
        if let Some(other) = shards.iter().find(|shard| whole(shard) != config) {
            let reason =
                format!("differs in more than its part from '{}': choose another name", shards[0].name);
            return Err(Error::data(format!("study '{}'", other.name), reason));
        }
        let mut by_id: BTreeMap<String, (Trial, Option<Evaluation>)> = BTreeMap::new();
        let mut measured: BTreeMap<String, (String, Measurement)> = BTreeMap::new();
        for shard in shards {
            // Of several measurements of one network and phase the one that sorts first stays, whatever the order.
            for row in self.measurements(shard)?.0.into_iter().filter(|row| row.trial.is_some()) {
                let (key, text) = (format!("{} {}", row.phase, row.genes), row.latency.to_string());
                if measured.get(&key).is_none_or(|(known, _)| text < *known) {
                    measured.insert(key, (text, row));
                }
            }
            let (trials, _) = self.trials(shard)?;
            let (evaluations, _) = self.evaluations(shard)?;
            let mut said: BTreeMap<u64, Evaluation> =
                evaluations.into_iter().map(|said| (said.trial, said)).collect();
            for mut trial in trials {
                let said = said.remove(&trial.number).map(|said| Evaluation { trial: 0, ..said });
                trial.number = 0;
                match by_id.get_mut(&trial.id) {
                    None => {
                        by_id.insert(trial.id.clone(), (trial, said));
                    }
                    // Machines may differ in the last bits of a score: which one stays must not depend on the order.
                    Some(known) => {
                        if trial.content() < known.0.content() {
                            known.0 = trial;
                        }
                        known.1 =
                            [known.1.take(), said].into_iter().flatten().min_by_key(Evaluation::content);
                    }
                }
            }
        }
        let (mut trials, mut evaluations) = (Vec::new(), Vec::new());
        for (number, (_, (mut trial, said))) in by_id.into_iter().enumerate() {
            trial.number = number as u64;
            evaluations.extend(said.map(|said| Evaluation { trial: trial.number, ..said }));
            trials.push(trial);
        }
        if evaluations.windows(2).any(|pair| pair[0].evaluator != pair[1].evaluator) {
            let reason = "has shards that were evaluated by different evaluators";
            return Err(Error::data(format!("study '{name}'"), reason));
        }
        let own = self.find(name)?;
        if own.as_ref().is_some_and(|own| own.config != config) {
            let reason = "is there with other settings: merge into another store";
            return Err(Error::data(format!("study '{name}'"), reason));
        }
        let finished = shards.iter().filter(|shard| shard.stopped.is_some()).count();
        let of = config["shards"].as_u64().unwrap_or_default();
        let before = own.as_ref().map_or(0, |own| own.trials);
        let names: Vec<&str> = shards.iter().map(|shard| shard.name.as_str()).collect();
        let whole = Study {
            key: 0,
            name: name.to_owned(),
            config,
            provenance: json!({"version": env!("CARGO_PKG_VERSION"), "shards": names, "time": now()}),
            stopped: Some(format!("merged, {finished} of {of} shards finished")),
            rejected: shards.iter().map(|shard| shard.rejected).sum(),
            trials: 0,
            anchor: Anchor::default(),
        };
        let number: BTreeMap<&str, u64> =
            trials.iter().map(|trial| (trial.genes.as_str(), trial.number)).collect();
        let renumbered = |(_, row): (String, Measurement)| {
            Some(Measurement {
                stage: trials.len() as u64,
                trial: Some(*number.get(row.genes.as_str())?),
                ..row
            })
        };
        let measurements: Vec<Measurement> = measured.into_values().filter_map(renumbered).collect();
        let content =
            Content { trials: &trials, evaluations: &evaluations, measurements: &measurements, answer: None };
        let _lease = own.as_ref().map(|own| self.lease(own)).transpose()?;
        self.write(&whole, own.as_ref(), &content)?;
        Ok(Merged { name: name.to_owned(), trials: trials.len() as u64, before })
    }

    /// Writes a whole study at once, in place of `own` if it is there.
    pub(super) fn write(&mut self, study: &Study, own: Option<&Study>, content: &Content) -> Result<()> {
        let (guard, path) = (own.map(|own| self.guard(own)), self.path.clone());
        let fail = |e| wrap(&path, e);
        let transaction = self.transaction()?;
        let stored = match own {
            Some(own) => own.clone(),
            None => anchor::insert(&path, &transaction, study)?,
        };
        if let Some(guard) = guard {
            guard.check(&transaction)?;
            for table in ["trials", "ranks", "evaluations", "measurements", "answers"] {
                let sql = format!("DELETE FROM {table} WHERE study = ?1");
                transaction.execute(&sql, [stored.key]).map_err(fail)?;
            }
        }
        anchor::update(&path, &transaction, &stored, |row| {
            row.stopped.clone_from(&study.stopped);
            row.provenance.clone_from(&study.provenance);
            row.rejected = study.rejected;
            row.anchor = Anchor::start(row);
            let ends = &mut row.anchor;
            insert(&transaction, row.key, content.trials, &mut ends.trials).map_err(fail)?;
            for said in content.evaluations {
                evaluation::insert(&transaction, row.key, said, &mut ends.evaluations).map_err(fail)?;
            }
            for measured in content.measurements {
                measurement::insert(&transaction, row.key, measured, &mut ends.measurements).map_err(fail)?;
            }
            content.answer.map_or(Ok(()), |answer| set_answer(&transaction, row, answer)).map_err(fail)
        })?;
        commit(&path, transaction)
    }
}

/// Whether a study was united from shards.
fn is_united(config: &Value) -> bool {
    config.get("shards").is_some() && config.get("shard").is_none()
}

/// The name of the study that a shard is united into.
fn united_name(study: &Study) -> Option<String> {
    let (shard, of) = (study.config.get("shard")?.as_u64()?, study.config.get("shards")?.as_u64()?);
    study.name.strip_suffix(&format!("-{shard}of{of}")).map(str::to_owned)
}
