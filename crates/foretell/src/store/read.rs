//! Reading a study. What is read as a whole must end where the study's row says.

use super::anchor::{Digest, End};
use super::open::{corrupt, wrap};
use super::trial::Layout;
use super::{Evaluation, Measurement, Ranks, Store, Study, Trial};
use super::{anchor, evaluation, failpoint, measurement, ranks};
use crate::error::{Error, Result};
use rusqlite::{Connection, OptionalExtension, params};
use serde_json::Value;
use std::path::Path;

impl Store {
    /// Reads a study as it is now, all of one moment.
    fn of<T>(&self, study: &Study, read: impl FnOnce(&Study) -> Result<T>) -> Result<T> {
        self.at_once(|| {
            failpoint::pass(&self.connection).map_err(|e| self.fail(e))?;
            read(&anchor::read(&self.path, &self.connection, study)?)
        })
    }

    /// All trials of a study in order, each checked against its digest, and the last digest.
    pub fn trials(&self, study: &Study) -> Result<(Vec<Trial>, Digest)> {
        let mut trials = Vec::new();
        let digest = self.each_trial(study, &mut |trial| {
            trials.push(trial);
            Ok(())
        })?;
        Ok((trials, digest))
    }

    /// Walks all trials of a study in order, each checked against its digest, without keeping them; the last digest. What
    /// was visited may only be believed once this has returned without an error.
    pub fn each_trial(&self, study: &Study, visit: &mut dyn FnMut(Trial) -> Result<()>) -> Result<Digest> {
        self.of(study, |study| {
            walk_all(&self.path, &self.connection, study, &mut |trial, _| visit(trial))?;
            Ok(study.anchor.trials.digest)
        })
    }

    /// One trial, checked against its digest and the one before it.
    pub fn trial(&self, study: &Study, number: u64) -> Result<Trial> {
        self.of(study, |study| self.one(study, number))
    }

    fn one(&self, study: &Study, number: u64) -> Result<Trial> {
        let fail = |e| self.fail(e);
        let damaged = || damaged(&self.path, study, number);
        if number >= study.trials {
            let message = format!("there is none: the study has {} trials", study.trials);
            return Err(Error::data(format!("trial {number} of study '{}'", study.name), message));
        }
        let previous = match number.checked_sub(1) {
            None => study.first_digest(),
            Some(before) => self.digest(study, before)?.ok_or_else(damaged)?,
        };
        let columns = Trial::columns(Layout::Sealed);
        let sql = format!("SELECT {columns} FROM trials WHERE study = ?1 AND number = ?2");
        let mut statement = self.connection.prepare_cached(&sql).map_err(fail)?;
        let read = |row: &rusqlite::Row| Trial::read(row, Layout::Sealed);
        let found = statement.query_row(params![study.key, number as i64], read).optional();
        let (trial, stored) = found.map_err(fail)?.ok_or_else(damaged)?;
        let trial = trial.ok_or_else(damaged)?;
        let digest = trial.digest(&previous);
        let last = number + 1 == study.trials && digest != study.anchor.trials.digest;
        if trial.number != number || digest[..] != stored[..] || last {
            return Err(damaged());
        }
        Ok(trial)
    }

    fn digest(&self, study: &Study, number: u64) -> Result<Option<Digest>> {
        let sql = "SELECT digest FROM trials WHERE study = ?1 AND number = ?2";
        let mut statement = self.connection.prepare_cached(sql).map_err(|e| self.fail(e))?;
        let found = statement.query_row(params![study.key, number as i64], |row| row.get::<_, Vec<u8>>(0));
        let found = found.optional().map_err(|e| self.fail(e))?;
        Ok(found.and_then(|digest| digest.try_into().ok()))
    }

    /// What all trials of a study are ranked by, checked against their digests without reading them.
    pub fn ranks(&self, study: &Study) -> Result<Ranks> {
        self.of(study, |study| {
            if study.trials > 0 {
                // The settings say what the numbers mean, and the first trial's digest says whether they are the study's.
                self.one(study, 0)?;
            }
            ranks::read(&self.path, &self.connection, study)
        })
    }

    /// What evaluators said of trials, in the order asked, and the last digest.
    pub fn evaluations(&self, study: &Study) -> Result<(Vec<Evaluation>, Digest)> {
        self.of(study, |study| {
            let (rows, end) = evaluation::read(&self.path, &self.connection, study, Layout::Sealed)?;
            ends(&self.path, study, "evaluations", end, study.anchor.evaluations)?;
            Ok((rows, end.digest))
        })
    }

    /// Latencies measured for a study, in the order made, and the last digest.
    pub fn measurements(&self, study: &Study) -> Result<(Vec<Measurement>, Digest)> {
        self.of(study, |study| {
            let (rows, end) = measurement::read(&self.path, &self.connection, study)?;
            ends(&self.path, study, "measurements", end, study.anchor.measurements)?;
            Ok((rows, end.digest))
        })
    }

    /// What the study was decided to have found; nothing if nothing was decided, or if anything was added since.
    pub fn answer(&self, study: &Study) -> Result<Option<Value>> {
        self.of(study, |study| {
            let sql = "SELECT answer, digest FROM answers WHERE study = ?1";
            let row = |row: &rusqlite::Row| Ok((row.get::<_, String>(0)?, row.get::<_, Vec<u8>>(1)?));
            let found = self.connection.query_row(sql, [study.key], row).optional();
            let found = found.map_err(|e| self.fail(e))?;
            let seal = found.as_ref().map(|(text, digest)| Study::answer_seal(text, digest));
            if seal != study.anchor.answer {
                let reason = format!("the answer of study '{}' is not what was written", study.name);
                return Err(corrupt(&self.path, reason));
            }
            let fits = |(text, digest): &(String, Vec<u8>)| study.answer_digest(text)[..] == digest[..];
            Ok(found.filter(fits).and_then(|(text, _)| serde_json::from_str(&text).ok()))
        })
    }

    /// A hash of all trials and evaluations: equal hashes, equal studies.
    pub fn hash(&self, study: &Study) -> Result<String> {
        self.of(study, |study| Ok(study.hash()))
    }
}

impl Study {
    /// A hash of all trials and evaluations, as its row says that they end.
    fn hash(&self) -> String {
        let (trials, evaluations) = (&self.anchor.trials, &self.anchor.evaluations);
        let hash = match evaluations.count {
            0 => blake3::Hash::from_bytes(trials.digest),
            _ => blake3::Hasher::new().update(&trials.digest).update(&evaluations.digest).finalize(),
        };
        hash.to_hex().to_string()
    }

    /// A hash of an answer and of all that it was decided from.
    pub(super) fn answer_digest(&self, text: &str) -> Digest {
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.hash().as_bytes()).update(&self.anchor.measurements.digest);
        *hasher.update(text.as_bytes()).finalize().as_bytes()
    }

    /// A hash of the row of an answer.
    pub(super) fn answer_seal(text: &str, digest: &[u8]) -> Digest {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&(digest.len() as u64).to_le_bytes()).update(digest);
        *hasher.update(text.as_bytes()).finalize().as_bytes()
    }
}

/// Refuses a chain that does not end where the study's row says.
pub(super) fn ends(path: &Path, study: &Study, what: &str, found: End, anchored: End) -> Result<()> {
    if found == anchored {
        return Ok(());
    }
    let reason = format!(
        "study '{}' has {} {what} and was written with {}",
        study.name,
        if found.count == anchored.count { "other".to_owned() } else { found.count.to_string() },
        anchored.count
    );
    Err(corrupt(path, reason))
}

/// What is done with each trial of a walk, and with its digest.
pub(super) type Visit<'v> = dyn FnMut(Trial, Digest) -> Result<()> + 'v;

/// Walks the trials of a study to the end that its row names.
pub(super) fn walk_all(path: &Path, connection: &Connection, study: &Study, visit: &mut Visit) -> Result<()> {
    let end = walk(path, connection, study, Layout::Sealed, visit)?;
    ends(path, study, "trials", end, study.anchor.trials)
}

/// Walks the trials of a study in order, each checked against its digest; where the chain ends.
pub(super) fn walk(
    path: &Path,
    connection: &Connection,
    study: &Study,
    layout: Layout,
    visit: &mut Visit,
) -> Result<End> {
    let fail = |e| wrap(path, e);
    let sql = format!("SELECT {} FROM trials WHERE study = ?1 ORDER BY number", Trial::columns(layout));
    let mut statement = connection.prepare(&sql).map_err(fail)?;
    let mut rows = statement.query([study.key]).map_err(fail)?;
    let mut end = End { count: 0, digest: study.first_digest() };
    while let Some(row) = rows.next().map_err(fail)? {
        let damaged = || damaged(path, study, end.count);
        let (trial, stored) = Trial::read(row, layout).map_err(fail)?;
        let trial = trial.ok_or_else(damaged)?;
        let digest = trial.digest(&end.digest);
        if trial.number != end.count || digest[..] != stored[..] {
            return Err(damaged());
        }
        visit(trial, digest)?;
        end = End { count: end.count + 1, digest };
    }
    Ok(end)
}

fn damaged(path: &Path, study: &Study, trial: u64) -> Error {
    corrupt(path, format!("trial {trial} of study '{}' is not what was written", study.name))
}
