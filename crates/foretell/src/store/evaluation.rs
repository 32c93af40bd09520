//! What an evaluator said of a trial, as it is stored.

use super::anchor::{Digest, End};
use super::open::{corrupt, wrap};
use super::trial::{Layout, seal};
use super::{Study, failpoint};
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
    pub(super) fn content(&self) -> Digest {
        self.digest(0, &[0; 32])
    }

    /// A hash of all but words and seconds, which differ from run to run, and of `previous`.
    fn digest(&self, number: u64, previous: &Digest) -> Digest {
        let mut hasher = blake3::Hasher::new();
        hasher.update(previous).update(&number.to_le_bytes()).update(&self.trial.to_le_bytes());
        for text in [self.evaluator.as_bytes(), self.status.as_bytes(), &self.value.to_le_bytes()] {
            hasher.update(&(text.len() as u64).to_le_bytes()).update(text);
        }
        *hasher.finalize().as_bytes()
    }
}

/// What the chain of evaluations starts from.
pub(super) fn first(study: &Study) -> Digest {
    *blake3::Hasher::new().update(b"evaluations").update(&study.first_digest()).finalize().as_bytes()
}

/// Adds an evaluation to the end of the chain.
pub(super) fn insert(
    connection: &Connection,
    study: i64,
    evaluation: &Evaluation,
    end: &mut End,
) -> rusqlite::Result<()> {
    let digest = evaluation.digest(end.count, &end.digest);
    let Evaluation { trial, evaluator, status, message, value, seconds } = evaluation;
    let seal = seal(&digest, *seconds, message);
    failpoint::pass(connection)?;
    connection.execute(
        "INSERT INTO evaluations VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        params![
            study,
            end.count as i64,
            *trial as i64,
            evaluator,
            status,
            message,
            &value.to_le_bytes()[..],
            seconds,
            &digest[..],
            &seal[..]
        ],
    )?;
    *end = End { count: end.count + 1, digest };
    Ok(())
}

fn select(layout: Layout) -> String {
    let seal = if layout == Layout::Sealed { ", seal" } else { "" };
    format!(
        "SELECT number, trial, evaluator, status, message, value, seconds, digest{seal}
         FROM evaluations WHERE study = ?1 ORDER BY number"
    )
}

/// All evaluations of a study, each checked against its digest, and where the chain ends.
pub(super) fn read(
    path: &Path,
    connection: &Connection,
    study: &Study,
    layout: Layout,
) -> Result<(Vec<Evaluation>, End)> {
    let fail = |e| wrap(path, e);
    let mut statement = connection.prepare(&select(layout)).map_err(fail)?;
    let mut rows = statement.query([study.key]).map_err(fail)?;
    let (mut evaluations, mut end) = (Vec::new(), End { count: 0, digest: first(study) });
    while let Some(row) = rows.next().map_err(fail)? {
        let evaluation = follow(row, layout, &mut end).map_err(fail)?.ok_or_else(|| {
            let reason =
                format!("evaluation {} of study '{}' is not what was written", end.count, study.name);
            corrupt(path, reason)
        })?;
        evaluations.push(evaluation);
    }
    Ok((evaluations, end))
}

/// The evaluation of a row if it follows from the end of the chain, which moves on.
fn follow(row: &rusqlite::Row, layout: Layout, end: &mut End) -> rusqlite::Result<Option<Evaluation>> {
    let number = u64::try_from(row.get::<_, i64>(0)?).ok();
    let trial = u64::try_from(row.get::<_, i64>(1)?).ok();
    let value = row.get::<_, Vec<u8>>(5)?.try_into().ok().map(f64::from_le_bytes);
    let Some((trial, value)) = trial.zip(value).filter(|_| number == Some(end.count)) else {
        return Ok(None);
    };
    let (evaluator, status, message) = (row.get(2)?, row.get(3)?, row.get(4)?);
    let evaluation = Evaluation { trial, evaluator, status, message, value, seconds: row.get(6)? };
    let digest = evaluation.digest(end.count, &end.digest);
    let sealed = match layout {
        Layout::Sealed => row.get::<_, Vec<u8>>(8)? == seal(&digest, evaluation.seconds, &evaluation.message),
        Layout::Unsealed => true,
    };
    if row.get::<_, Vec<u8>>(7)? != digest || !sealed {
        return Ok(None);
    }
    *end = End { count: end.count + 1, digest };
    Ok(Some(evaluation))
}

/// Gives every evaluation of a study from before there were seals its own; the chain is intact.
pub(super) fn seal_all(connection: &Connection, study: i64, rows: &[Evaluation]) -> rusqlite::Result<()> {
    let sql = "SELECT digest FROM evaluations WHERE study = ?1 AND number = ?2";
    for (number, row) in rows.iter().enumerate() {
        let digest: Vec<u8> = connection.query_row(sql, params![study, number as i64], |row| row.get(0))?;
        let seal = seal(&digest, row.seconds, &row.message);
        let sql = "UPDATE evaluations SET seal = ?3 WHERE study = ?1 AND number = ?2";
        connection.execute(sql, params![study, number as i64, &seal[..]])?;
    }
    Ok(())
}

/// Evaluations of a study's trials from the first on, as far as they are intact, and where they end.
pub(super) fn intact(connection: &Connection, study: &Study, layout: Layout) -> (Vec<Evaluation>, End) {
    let (mut found, mut end) = (Vec::new(), End { count: 0, digest: first(study) });
    let Ok(mut statement) = connection.prepare(&select(layout)) else { return (found, end) };
    let Ok(mut rows) = statement.query([study.key]) else { return (found, end) };
    while let Ok(Some(row)) = rows.next() {
        let before = end;
        match follow(row, layout, &mut end) {
            Ok(Some(evaluation)) if evaluation.trial < study.trials => found.push(evaluation),
            _ => return (found, before),
        }
    }
    (found, end)
}
