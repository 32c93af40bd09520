//! Latencies measured for a study, as they are stored: a chain of digests like that of trials.

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
    fn digest(&self, number: u64, previous: &[u8; 32]) -> [u8; 32] {
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

    fn parse(row: &rusqlite::Row) -> rusqlite::Result<(i64, Option<Self>, Vec<u8>)> {
        let latency = serde_json::from_str(&row.get::<_, String>(5)?).ok();
        let stage = row.get::<_, i64>(1)?.max(0) as u64;
        let trial = row.get::<_, Option<i64>>(2)?.map(|trial| trial.max(0) as u64);
        let (genes, phase) = (row.get(3)?, row.get(4)?);
        let measurement = latency.map(|latency| Measurement { stage, trial, genes, phase, latency });
        Ok((row.get(0)?, measurement, row.get(6)?))
    }
}

/// What the chain of measurements starts from.
fn first(study: &Study) -> [u8; 32] {
    *blake3::Hasher::new().update(b"measurements").update(&study.first_digest()).finalize().as_bytes()
}

pub(super) fn insert(
    connection: &Connection,
    study: i64,
    number: u64,
    measurement: &Measurement,
    previous: &[u8; 32],
) -> rusqlite::Result<[u8; 32]> {
    let digest = measurement.digest(number, previous);
    let Measurement { stage, trial, genes, phase, latency } = measurement;
    let trial = trial.map(|trial| trial as i64);
    let row =
        params![study, number as i64, *stage as i64, trial, genes, phase, latency.to_string(), &digest[..]];
    failpoint::pass();
    connection.execute("INSERT INTO measurements VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)", row)?;
    failpoint::pass();
    Ok(digest)
}

/// Writes the measurements of a study that has none.
pub(super) fn insert_all(
    connection: &Connection,
    key: i64,
    study: &Study,
    measurements: &[Measurement],
) -> rusqlite::Result<()> {
    let mut digest = first(study);
    for (number, measurement) in measurements.iter().enumerate() {
        digest = insert(connection, key, number as u64, measurement, &digest)?;
    }
    Ok(())
}

/// All measurements of a study, each checked against its digest, and the last digest.
pub(super) fn read(
    path: &Path,
    connection: &Connection,
    study: &Study,
) -> Result<(Vec<Measurement>, [u8; 32])> {
    let fail = |e| wrap(path, e);
    let mut statement = connection.prepare(COLUMNS).map_err(fail)?;
    let mut rows = statement.query([study.key]).map_err(fail)?;
    let (mut measurements, mut digest) = (Vec::new(), first(study));
    while let Some(row) = rows.next().map_err(fail)? {
        let (number, measurement, stored) = Measurement::parse(row).map_err(fail)?;
        let expected = measurements.len() as u64;
        let damaged = || {
            let reason = format!("measurement {expected} of study '{}' is not what was written", study.name);
            corrupt(path, reason)
        };
        let measurement = measurement.ok_or_else(damaged)?;
        digest = measurement.digest(expected, &digest);
        if number != expected as i64 || digest[..] != stored[..] {
            return Err(damaged());
        }
        measurements.push(measurement);
    }
    Ok((measurements, digest))
}

/// The measurements of a damaged study from the first on, as far as they are intact.
pub(super) fn intact(connection: &Connection, study: &Study) -> Vec<Measurement> {
    let mut found = Vec::new();
    let mut digest = first(study);
    let Ok(mut statement) = connection.prepare(COLUMNS) else { return found };
    let Ok(mut rows) = statement.query([study.key]) else { return found };
    while let Ok(Some(row)) = rows.next() {
        let Ok((number, Some(measurement), stored)) = Measurement::parse(row) else { break };
        digest = measurement.digest(found.len() as u64, &digest);
        let known = measurement.stage <= study.trials;
        if number != found.len() as i64 || digest[..] != stored[..] || !known {
            break;
        }
        found.push(measurement);
    }
    found
}
