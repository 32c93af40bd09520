//! Uniting stores: studies are carried over as they are, and shards of a search become one study.
//!
//! A study that both stores hold must be the same, or the beginning of the other: the longer one stays. Shards whose
//! settings differ in `shard` alone are united into a study without it: their trials sorted by architecture, each once, in
//! a chain of their own. That study is made anew from all shards at hand whenever one is added, so it depends on which
//! shards were merged and on nothing else: the order does not matter, nor does merging twice.

use super::open::wrap;
use super::{Evaluation, Measurement, Store, Study, Trial, evaluation, failpoint, insert, measurement, now};
use crate::error::{Error, Result};
use rusqlite::{Connection, params};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// All that a study consists of beside its row.
#[derive(Default)]
pub(super) struct Content<'c> {
    pub(super) trials: &'c [Trial],
    pub(super) evaluations: &'c [Evaluation],
    pub(super) measurements: &'c [Measurement],
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
    /// united one.
    pub fn merge(&mut self, other: &Store) -> Result<Vec<Merged>> {
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
            let content = Content { trials: &theirs, evaluations: &evaluations, measurements: &measurements };
            self.write(study, None, &content).map_err(|e| wrap(&self.path, e))?;
            self.carry_answer(&name, answer)?;
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
            let content = Content { trials, evaluations: said, measurements };
            self.write(notes, Some(&own), &content).map_err(|e| wrap(&self.path, e))?;
            self.carry_answer(&name, answer.filter(|_| ahead))?;
        }
        Ok(Merged { name, trials: before.max(theirs.len() as u64), before })
    }

    /// Stores the answer of a study that was taken over whole.
    fn carry_answer(&mut self, name: &str, answer: Option<Value>) -> Result<()> {
        match (self.find(name)?, answer) {
            (Some(study), Some(answer)) => self.set_answer(&study, &answer),
            _ => Ok(()),
        }
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
        let content = Content { trials: &trials, evaluations: &evaluations, measurements: &measurements };
        self.write(&whole, own.as_ref(), &content).map_err(|e| wrap(&self.path, e))?;
        Ok(Merged { name: name.to_owned(), trials: trials.len() as u64, before })
    }

    /// Writes a whole study at once, in place of `own` if it is there.
    pub(super) fn write(
        &mut self,
        study: &Study,
        own: Option<&Study>,
        content: &Content,
    ) -> rusqlite::Result<()> {
        failpoint::pass();
        let transaction = self.connection.transaction()?;
        if let Some(own) = own {
            for table in ["trials", "ranks", "evaluations", "measurements", "answers"] {
                transaction.execute(&format!("DELETE FROM {table} WHERE study = ?1"), [own.key])?;
            }
            let sql = "UPDATE studies SET stopped = ?2, rejected = ?3, provenance = ?4 WHERE id = ?1";
            let provenance = study.provenance.to_string();
            transaction.execute(sql, params![own.key, study.stopped, study.rejected as i64, provenance])?;
        } else {
            let sql = "INSERT INTO studies (name, config, provenance, stopped, rejected) VALUES (?1, ?2, ?3, ?4, ?5)";
            let texts = (study.config.to_string(), study.provenance.to_string());
            let row = params![study.name, texts.0, texts.1, study.stopped, study.rejected as i64];
            transaction.execute(sql, row)?;
        }
        let key = own.map_or_else(|| transaction.last_insert_rowid(), |own| own.key);
        insert(&transaction, key, content.trials, &study.first_digest())?;
        chain(&transaction, key, study, content.evaluations)?;
        measurement::insert_all(&transaction, key, study, content.measurements)?;
        failpoint::pass();
        transaction.commit()
    }
}

fn chain(connection: &Connection, key: i64, study: &Study, said: &[Evaluation]) -> rusqlite::Result<()> {
    let mut digest = evaluation::first(study);
    for (number, said) in said.iter().enumerate() {
        digest = evaluation::insert(connection, key, number as u64, said, &digest)?;
    }
    Ok(())
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
