//! What an evaluator said of a trial, as it is stored.

use super::Study;
use super::open::{corrupt, wrap};
use crate::error::Result;
use rusqlite::{Connection, params};
use std::path::Path;

/// What an evaluator said of a trial.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Evaluation {
    /// The trial.
    pub trial: u64,
    /// Who evaluated.
    pub evaluator: String,
    /// `ok`, or the kind of failure.
    pub status: String,
    /// The failure in words.
    pub message: String,
    /// The value, larger is better; NaN if it failed.
    pub value: f64,
    /// Seconds that it took.
    pub seconds: f64,
}

impl Evaluation {
    /// The value, if there is one.
    pub fn value(&self) -> Option<f64> {
        (self.status == "ok").then_some(self.value)
    }

    /// What makes two evaluations the same, whenever they were made.
    pub(super) fn content(&self) -> [u8; 32] {
        self.digest(0, &[0; 32])
    }

    /// A hash of all but words and seconds, which differ from run to run, and of `previous`.
    fn digest(&self, number: u64, previous: &[u8; 32]) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        hasher.update(previous).update(&number.to_le_bytes()).update(&self.trial.to_le_bytes());
        for text in [self.evaluator.as_bytes(), self.status.as_bytes(), &self.value.to_le_bytes()] {
            hasher.update(&(text.len() as u64).to_le_bytes()).update(text);
        }
        *hasher.finalize().as_bytes()
    }
}

/// What the chain of evaluations starts from.
pub(super) fn first(study: &Study) -> [u8; 32] {
    *blake3::Hasher::new().update(b"evaluations").update(&study.first_digest()).finalize().as_bytes()
}

pub(super) fn insert(
    connection: &Connection,
    study: i64,
    number: u64,
    evaluation: &Evaluation,
    previous: &[u8; 32],
) -> rusqlite::Result<[u8; 32]> {
    let digest = evaluation.digest(number, previous);
    let Evaluation { trial, evaluator, status, message, value, seconds } = evaluation;
    let value = &value.to_le_bytes()[..];
    let row =
        params![study, number as i64, *trial as i64, evaluator, status, message, value, seconds, &digest[..]];
    connection.execute("INSERT INTO evaluations VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)", row)?;
    Ok(digest)
}

pub(super) fn read(
    path: &Path,
    connection: &Connection,
    study: &Study,
) -> Result<(Vec<Evaluation>, [u8; 32])> {
    let fail = |e| wrap(path, e);
    let sql = "SELECT number, trial, evaluator, status, message, value, seconds, digest
               FROM evaluations WHERE study = ?1 ORDER BY number";
    let mut statement = connection.prepare(sql).map_err(fail)?;
    let mut rows = statement.query([study.key]).map_err(fail)?;
    let (mut evaluations, mut digest) = (Vec::new(), first(study));
    while let Some(row) = rows.next().map_err(fail)? {
        let (number, evaluation, stored) = parse(row).map_err(fail)?;
        let expected = evaluations.len() as u64;
        digest = evaluation.digest(expected, &digest);
        if number != expected as i64 || digest[..] != stored[..] {
            let reason = format!("evaluation {expected} of study '{}' is not what was written", study.name);
            return Err(corrupt(path, reason));
        }
        evaluations.push(evaluation);
    }
    Ok((evaluations, digest))
}

fn parse(row: &rusqlite::Row) -> rusqlite::Result<(i64, Evaluation, Vec<u8>)> {
    let bytes: Vec<u8> = row.get(5)?;
    let value = bytes.try_into().map_or(f64::NAN, f64::from_le_bytes);
    let evaluation = Evaluation {
        trial: row.get::<_, i64>(1)?.max(0) as u64,
        evaluator: row.get(2)?,
        status: row.get(3)?,
        message: row.get(4)?,
        value,
        seconds: row.get(6)?,
    };
    Ok((row.get(0)?, evaluation, row.get(7)?))
}

/// Evaluations of a study's trials from the first on, as far as they are intact.
pub(super) fn intact(connection: &Connection, study: &Study) -> Vec<Evaluation> {
    let mut found = Vec::new();
    let mut digest = first(study);
    let sql = "SELECT number, trial, evaluator, status, message, value, seconds, digest
               FROM evaluations WHERE study = ?1 ORDER BY number";
    let Ok(mut statement) = connection.prepare(sql) else { return found };
    let Ok(mut rows) = statement.query([study.key]) else { return found };
    while let Ok(Some(row)) = rows.next() {
        let Ok((number, evaluation, stored)) = parse(row) else { break };
        digest = evaluation.digest(found.len() as u64, &digest);
        if number != found.len() as i64 || digest[..] != stored[..] || evaluation.trial >= study.trials {
            break;
        }
        found.push(evaluation);
    }
    found
}
