//! Latencies measured for a study, as they are stored: a chain of digests like that of trials.

use super::anchor::{Digest, End};
use super::open::{corrupt, wrap};
use super::{Study, failpoint};
use crate::error::Result;
use rusqlite::{Connection, params};
use serde_json::Value;
use std::path::Path;

/// One measured latency.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurement {
    /// How many trials the study had when the measurement was made.
    pub stage: u64,
    /// The trial measured; none for networks that were drawn to fit the latency model.
    pub trial: Option<u64>,
    /// The architecture as JSON.
    pub genes: String,
    /// What was timed.
    pub phase: String,
    /// The result as JSON.
    pub latency: Value,
}

const COLUMNS: &str = "SELECT number, stage, trial, genes, phase, latency, digest
                       FROM measurements WHERE study = ?1 ORDER BY number";

impl Measurement {
    fn digest(&self, number: u64, previous: &Digest) -> Digest {
        let mut hasher = blake3::Hasher::new();
        hasher.update(previous).update(&number.to_le_bytes()).update(&self.stage.to_le_bytes());
        // A number that no trial has stands for none.
        hasher.update(&self.trial.unwrap_or(u64::MAX).to_le_bytes());
        let latency = self.latency.to_string();
        for text in [&self.genes, &self.phase, &latency] {
            hasher.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
        }
        *hasher.finalize().as_bytes()
    }

    /// The measurement of a row if it follows from the end of the chain, which moves on.
    fn follow(row: &rusqlite::Row, end: &mut End) -> rusqlite::Result<Option<Self>> {
        let number = u64::try_from(row.get::<_, i64>(0)?).ok();
        let stage = u64::try_from(row.get::<_, i64>(1)?).ok();
        let trial = row.get::<_, Option<i64>>(2)?.map(|trial| u64::try_from(trial).ok());
        let latency = serde_json::from_str(&row.get::<_, String>(5)?).ok();
        let known = stage.zip(latency).filter(|_| number == Some(end.count) && trial != Some(None));
        let Some((stage, latency)) = known else { return Ok(None) };
        let (trial, genes, phase) = (trial.flatten(), row.get(3)?, row.get(4)?);
        let measurement = Measurement { stage, trial, genes, phase, latency };
        let digest = measurement.digest(end.count, &end.digest);
        if row.get::<_, Vec<u8>>(6)? != digest {
            return Ok(None);
        }
        *end = End { count: end.count + 1, digest };
        Ok(Some(measurement))
    }
}

/// What the chain of measurements starts from.
pub(super) fn first(study: &Study) -> Digest {
    *blake3::Hasher::new().update(b"measurements").update(&study.first_digest()).finalize().as_bytes()
}

/// Adds a measurement to the end of the chain.
pub(super) fn insert(
    connection: &Connection,
    study: i64,
    measurement: &Measurement,
    end: &mut End,
) -> rusqlite::Result<()> {
    let digest = measurement.digest(end.count, &end.digest);
    let Measurement { stage, trial, genes, phase, latency } = measurement;
    let trial = trial.map(|trial| trial as i64);
    let latency = latency.to_string();
    let row = params![study, end.count as i64, *stage as i64, trial, genes, phase, latency, &digest[..]];
    failpoint::pass(connection)?;
    connection.execute("INSERT INTO measurements VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)", row)?;
    *end = End { count: end.count + 1, digest };
    Ok(())
}

/// All measurements of a study, each checked against its digest, and where the chain ends.
pub(super) fn read(path: &Path, connection: &Connection, study: &Study) -> Result<(Vec<Measurement>, End)> {
    let fail = |e| wrap(path, e);
    let mut statement = connection.prepare(COLUMNS).map_err(fail)?;
    let mut rows = statement.query([study.key]).map_err(fail)?;
    let (mut measurements, mut end) = (Vec::new(), End { count: 0, digest: first(study) });
    while let Some(row) = rows.next().map_err(fail)? {
        let measurement = Measurement::follow(row, &mut end).map_err(fail)?.ok_or_else(|| {
            let reason =
                format!("measurement {} of study '{}' is not what was written", end.count, study.name);
            corrupt(path, reason)
        })?;
        measurements.push(measurement);
    }
    Ok((measurements, end))
}

/// The measurements of a damaged study from the first on, as far as they are intact, and where they end.
pub(super) fn intact(connection: &Connection, study: &Study) -> (Vec<Measurement>, End) {
    let (mut found, mut end) = (Vec::new(), End { count: 0, digest: first(study) });
    let Ok(mut statement) = connection.prepare(COLUMNS) else { return (found, end) };
    let Ok(mut rows) = statement.query([study.key]) else { return (found, end) };
    while let Ok(Some(row)) = rows.next() {
        let before = end;
        match Measurement::follow(row, &mut end) {
            Ok(Some(measurement)) if measurement.stage <= study.trials => found.push(measurement),
            _ => return (found, before),
        }
    }
    (found, end)
}
