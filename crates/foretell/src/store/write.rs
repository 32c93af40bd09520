//! Adding to a study. Each call is one transaction: what is added, where the chains end now, and that the writer still is
//! the one writer of the study.

use super::anchor::{Digest, End};
use super::open::wrap;
use super::place::{FileId, file_id};
use super::trial::seal;
use super::{Evaluation, Measurement, Store, Study, Trial};
use super::{anchor, evaluation, failpoint, lease, measurement, ranks};
use crate::error::{Error, Result};
use rusqlite::{Connection, Transaction, params};
use serde_json::Value;
use std::path::Path;

impl Store {
    /// Adds the next trials, all or none; `rejected` is what was refused so far.
    pub fn append(
        &mut self,
        study: &Study,
        trials: &[Trial],
        rejected: u64,
        previous: &Digest,
    ) -> Result<Digest> {
        trials.iter().try_for_each(ranks::check)?;
        let path = self.path.clone();
        self.change(study, |connection, study| {
            let first = study.anchor.trials.count;
            follows(study, &study.anchor.trials, first, previous)?;
            if trials.iter().zip(first..).any(|(trial, number)| trial.number != number) {
                let message = format!("are not numbered from {first} on");
                return Err(Error::data(format!("trials of study '{}'", study.name), message));
            }
            insert(connection, study.key, trials, &mut study.anchor.trials).map_err(|e| wrap(&path, e))?;
            study.rejected = rejected;
            Ok(study.anchor.trials.digest)
        })
    }

    /// Notes why a study ended, or that it goes on.
    pub fn stop(&mut self, study: &Study, reason: Option<&str>) -> Result<()> {
        self.change(study, |_, study| {
            study.stopped = reason.map(str::to_owned);
            Ok(())
        })
    }

    /// Adds what an evaluator said, at once.
    pub fn evaluated(
        &mut self,
        study: &Study,
        number: u64,
        evaluation: &Evaluation,
        previous: &Digest,
    ) -> Result<Digest> {
        let path = self.path.clone();
        self.change(study, |connection, study| {
            follows(study, &study.anchor.evaluations, number, previous)?;
            evaluation::insert(connection, study.key, evaluation, &mut study.anchor.evaluations)
                .map_err(|e| wrap(&path, e))?;
            Ok(study.anchor.evaluations.digest)
        })
    }

    /// Adds a measured latency.
    pub fn measured(
        &mut self,
        study: &Study,
        number: u64,
        measurement: &Measurement,
        previous: &Digest,
    ) -> Result<Digest> {
        let path = self.path.clone();
        self.change(study, |connection, study| {
            follows(study, &study.anchor.measurements, number, previous)?;
            measurement::insert(connection, study.key, measurement, &mut study.anchor.measurements)
                .map_err(|e| wrap(&path, e))?;
            Ok(study.anchor.measurements.digest)
        })
    }

    /// Stores what the study was decided to have found.
    pub fn set_answer(&mut self, study: &Study, answer: &Value) -> Result<()> {
        let path = self.path.clone();
        self.change(study, |connection, study| {
            set_answer(connection, study, answer).map_err(|e| wrap(&path, e))
        })
    }

    /// Changes a study and its row in one transaction.
    pub(super) fn change<T>(
        &mut self,
        study: &Study,
        work: impl FnOnce(&Connection, &mut Study) -> Result<T>,
    ) -> Result<T> {
        let guard = self.guard(study);
        let path = self.path.clone();
        let transaction = self.transaction()?;
        guard.check(&transaction)?;
        let mut done = None;
        anchor::update(&path, &transaction, study, |study| {
            done = Some(work(&transaction, study)?);
            Ok(())
        })?;
        commit(&path, transaction)?;
        done.ok_or_else(|| Error::TakenOver { study: study.name.clone() })
    }

    /// What must hold in every transaction that writes a study.
    pub(super) fn guard(&self, study: &Study) -> Guard {
        let token = self.leases.iter().rev().find(|(key, _)| *key == study.key);
        Guard {
            path: self.path.clone(),
            file: self.file,
            study: study.clone(),
            token: token.and_then(|(_, token)| token.upgrade()).map(|token| token.0.clone()),
        }
    }
}

/// What must hold in every transaction that writes a study.
pub(super) struct Guard {
    path: std::path::PathBuf,
    file: Option<FileId>,
    study: Study,
    token: Option<String>,
}

impl Guard {
    /// The file is the one that was opened, and its writer is this store or nobody.
    pub(super) fn check(&self, connection: &Connection) -> Result<()> {
        if self.file != file_id(&self.path) {
            let reason = "was moved, replaced or deleted while it was open: run the same command again";
            return Err(Error::Store { path: self.path.clone(), reason: reason.into() });
        }
        match &self.token {
            Some(token) => lease::still_held(&self.path, connection, &self.study, token),
            None => lease::refuse_held(&self.path, connection, &self.study),
        }
    }
}

/// Another process has written where a chain does not end as its writer left it.
fn follows(study: &Study, end: &End, number: u64, previous: &Digest) -> Result<()> {
    if end.count == number && end.digest == *previous {
        Ok(())
    } else {
        Err(Error::TakenOver { study: study.name.clone() })
    }
}

/// Commits, with a place before and after it where tests let things go wrong.
pub(super) fn commit(path: &Path, transaction: Transaction) -> Result<()> {
    let fail = |e| wrap(path, e);
    failpoint::pass(&transaction).map_err(fail)?;
    transaction.execute_batch("COMMIT").map_err(fail)?;
    failpoint::pass(&transaction).map_err(fail)
}

/// Adds trials and what they are ranked by to the end of the chain.
pub(super) fn insert(
    connection: &Connection,
    study: i64,
    trials: &[Trial],
    end: &mut End,
) -> rusqlite::Result<()> {
    let sql = "INSERT INTO trials VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
    let mut insert = connection.prepare_cached(sql)?;
    let mut digests = Vec::with_capacity(trials.len());
    for trial in trials {
        let row = trial.row();
        let digest = trial.digest(&end.digest);
        *end = End { count: end.count + 1, digest };
        digests.push(digest);
        insert.execute(params![
            study,
            trial.number as i64,
            trial.id,
            trial.genes,
            row.objectives,
            row.scores,
            row.numbers,
            trial.seconds,
            &digest[..],
            &seal(&digest, trial.seconds, "")[..]
        ])?;
        failpoint::pass(connection)?;
    }
    ranks::pack(connection, study, trials.iter().zip(digests))
}

/// Stores an answer beside what it was decided from.
pub(super) fn set_answer(connection: &Connection, study: &mut Study, answer: &Value) -> rusqlite::Result<()> {
    let text = answer.to_string();
    let digest = study.answer_digest(&text);
    failpoint::pass(connection)?;
    let sql = "INSERT OR REPLACE INTO answers VALUES (?1, ?2, ?3)";
    connection.execute(sql, params![study.key, text, &digest[..]])?;
    study.anchor.answer = Some(Study::answer_seal(&text, &digest));
    Ok(())
}
