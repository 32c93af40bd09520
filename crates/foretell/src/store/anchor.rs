//! The row of a study: what it says of itself and where its chains end, under one seal.
//!
//! A chain of digests shows that nothing in it was altered, not that its end is there. The number of rows and the last digest
//! of each chain are therefore kept in the study's row and change in the transaction that adds to the chain. A seal covers
//! the row, and the exclusive or of all seals shows that every row is there. A row is checked before it is changed, so that
//! a change never gives damage a valid seal.

use super::open::{corrupt, wrap};
use super::{Study, evaluation, measurement};
use crate::error::{Error, Result};
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::path::Path;

/// A hash.
pub(super) type Digest = [u8; 32];

/// Where a chain ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct End {
    /// How many rows it has.
    pub(super) count: u64,
    /// The digest of the last, or what the chain starts from.
    pub(super) digest: Digest,
}

/// Where the chains of a study end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Anchor {
    pub(super) trials: End,
    pub(super) evaluations: End,
    pub(super) measurements: End,
    /// The hash of the stored answer.
    pub(super) answer: Option<Digest>,
}

impl Anchor {
    /// That of a study in which nothing has happened.
    pub(super) fn start(study: &Study) -> Self {
        let end = |digest| End { count: 0, digest };
        Anchor {
            trials: end(study.first_digest()),
            evaluations: end(evaluation::first(study)),
            measurements: end(measurement::first(study)),
            answer: None,
        }
    }
}

/// A row as it is stored.
struct Stored {
    study: Study,
    config: String,
    provenance: String,
}

const COLUMNS: &str =
    "SELECT id, name, config, provenance, stopped, rejected, trials, last_trial, evaluations,
    last_evaluation, measurements, last_measurement, answer, seal FROM studies";

impl Stored {
    fn seal(&self) -> Digest {
        let Study { key, name, stopped, rejected, anchor, .. } = &self.study;
        let mut hasher = blake3::Hasher::new();
        hasher.update(&key.to_le_bytes()).update(&rejected.to_le_bytes());
        hasher.update(&[u8::from(stopped.is_some()), u8::from(anchor.answer.is_some())]);
        for text in [name, &self.config, &self.provenance, stopped.as_deref().unwrap_or_default()] {
            hasher.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
        }
        for end in [anchor.trials, anchor.evaluations, anchor.measurements] {
            hasher.update(&end.count.to_le_bytes()).update(&end.digest);
        }
        *hasher.update(&anchor.answer.unwrap_or_default()).finalize().as_bytes()
    }

    /// The row, and whether its seal is its own.
    fn read(row: &Row) -> rusqlite::Result<Option<(Self, Digest)>> {
        let count = |at: usize| Ok::<_, rusqlite::Error>(u64::try_from(row.get::<_, i64>(at)?).ok());
        let digest = |at: usize| Ok::<_, rusqlite::Error>(Digest::try_from(row.get::<_, Vec<u8>>(at)?).ok());
        let end = |at: usize| {
            let end = count(at)?.zip(digest(at + 1)?);
            Ok::<_, rusqlite::Error>(end.map(|(count, digest)| End { count, digest }))
        };
        let (config, provenance) = (row.get::<_, String>(2)?, row.get::<_, String>(3)?);
        let answer = row.get::<_, Option<Vec<u8>>>(12)?.map(|answer| Digest::try_from(answer).ok());
        let texts = serde_json::from_str(&config).ok().zip(serde_json::from_str(&provenance).ok());
        let ends = end(6)?.zip(end(8)?).zip(end(10)?);
        let known = texts.zip(ends).zip(count(5)?).zip(digest(13)?).filter(|_| answer != Some(None));
        let Some((((texts, ((trials, evaluations), measurements)), rejected), seal)) = known else {
            return Ok(None);
        };
        let study = Study {
            key: row.get(0)?,
            name: row.get(1)?,
            config: texts.0,
            provenance: texts.1,
            stopped: row.get(4)?,
            rejected,
            trials: trials.count,
            anchor: Anchor { trials, evaluations, measurements, answer: answer.flatten() },
        };
        let stored = Stored { study, config, provenance };
        Ok((stored.seal() == seal).then_some((stored, seal)))
    }
}

fn altered(path: &Path) -> Error {
    corrupt(path, "the row of a study is not what was written")
}

/// Every study, oldest first. All rows are checked, and that none is missing.
pub(super) fn read_all(path: &Path, connection: &Connection) -> Result<Vec<Study>> {
    let fail = |e| wrap(path, e);
    let mut statement = connection.prepare_cached(&format!("{COLUMNS} ORDER BY id")).map_err(fail)?;
    let rows = statement.query_map([], Stored::read).map_err(fail)?;
    let (mut studies, mut seals) = (Vec::new(), Digest::default());
    for row in rows {
        let (stored, seal) = row.map_err(fail)?.ok_or_else(|| altered(path))?;
        toggle(&mut seals, &seal);
        studies.push(stored.study);
    }
    if contents(path, connection)? != (studies.len() as u64, seals) {
        return Err(corrupt(path, "a study is missing, or one is there that was not written"));
    }
    Ok(studies)
}

/// The study as it is stored now, if its row is what was written; nothing otherwise.
pub(super) fn intact(row: &Row) -> Option<Study> {
    Stored::read(row).ok().flatten().map(|(stored, _)| stored.study)
}

/// The columns that [`intact`] reads.
pub(super) fn columns() -> &'static str {
    COLUMNS
}

fn read_stored(path: &Path, connection: &Connection, study: &Study) -> Result<(Stored, Digest)> {
    let sql = format!("{COLUMNS} WHERE id = ?1");
    let mut statement = connection.prepare_cached(&sql).map_err(|e| wrap(path, e))?;
    let found = statement.query_row([study.key], Stored::read).optional().map_err(|e| wrap(path, e))?;
    let Some(row) = found else {
        let reason =
            format!("study '{}' is no longer there; another process may have deleted it", study.name);
        return Err(Error::Store { path: path.into(), reason });
    };
    row.filter(|(stored, _)| stored.study.name == study.name).ok_or_else(|| altered(path))
}

/// A study as it is stored now.
pub(super) fn read(path: &Path, connection: &Connection, study: &Study) -> Result<Study> {
    Ok(read_stored(path, connection, study)?.0.study)
}

/// Adds the row of a study; the study as it is stored, with nothing in its chains.
pub(super) fn insert(path: &Path, connection: &Connection, study: &Study) -> Result<Study> {
    let fail = |e| wrap(path, e);
    let sql = "INSERT INTO studies (name, config, provenance) VALUES (?1, ?2, ?3)";
    let (config, provenance) = (study.config.to_string(), study.provenance.to_string());
    connection.execute(sql, params![study.name, config, provenance]).map_err(fail)?;
    let key = connection.last_insert_rowid();
    let mut study = Study { key, trials: 0, ..study.clone() };
    study.anchor = Anchor::start(&study);
    let stored = Stored { study, config, provenance };
    write(path, connection, &stored, None)?;
    Ok(stored.study)
}

/// Seals the row of a study from before there were seals.
pub(super) fn adopt(path: &Path, connection: &Connection, study: &Study) -> Result<()> {
    let sql = "SELECT config, provenance FROM studies WHERE id = ?1";
    let texts = connection.query_row(sql, [study.key], |row| Ok((row.get(0)?, row.get(1)?)));
    let (config, provenance) = texts.map_err(|e| wrap(path, e))?;
    write(path, connection, &Stored { study: study.clone(), config, provenance }, None)
}

/// Changes the row of a study, which must be what was written.
pub(super) fn update(
    path: &Path,
    connection: &Connection,
    study: &Study,
    change: impl FnOnce(&mut Study) -> Result<()>,
) -> Result<Study> {
    let (mut stored, seal) = read_stored(path, connection, study)?;
    let provenance = stored.study.provenance.clone();
    change(&mut stored.study)?;
    if stored.study.provenance != provenance {
        stored.provenance = stored.study.provenance.to_string();
    }
    stored.study.trials = stored.study.anchor.trials.count;
    write(path, connection, &stored, Some(&seal))?;
    Ok(stored.study)
}

fn write(path: &Path, connection: &Connection, stored: &Stored, before: Option<&Digest>) -> Result<()> {
    let Study { key, stopped, rejected, anchor, .. } = &stored.study;
    let seal = stored.seal();
    let sql = "UPDATE studies SET provenance = ?2, stopped = ?3, rejected = ?4, trials = ?5, last_trial = ?6,
               evaluations = ?7, last_evaluation = ?8, measurements = ?9, last_measurement = ?10, answer = ?11, seal = ?12
               WHERE id = ?1";
    let Anchor { trials, evaluations, measurements, answer } = anchor;
    let row = params![
        key,
        stored.provenance,
        stopped,
        *rejected as i64,
        trials.count as i64,
        &trials.digest[..],
        evaluations.count as i64,
        &evaluations.digest[..],
        measurements.count as i64,
        &measurements.digest[..],
        answer.as_ref().map(|answer| &answer[..]),
        &seal[..]
    ];
    let changed = connection.prepare_cached(sql).and_then(|mut statement| statement.execute(row));
    changed.map_err(|e| wrap(path, e))?;
    change_contents(path, connection, i64::from(before.is_none()), before.into_iter().chain([&seal]))
}

/// Removes the row of a study. What belongs to it must be gone.
pub(super) fn remove(path: &Path, connection: &Connection, study: &Study) -> Result<()> {
    let (_, seal) = read_stored(path, connection, study)?;
    connection.execute("DELETE FROM studies WHERE id = ?1", [study.key]).map_err(|e| wrap(path, e))?;
    change_contents(path, connection, -1, [&seal].into_iter())
}

fn toggle(seals: &mut Digest, seal: &Digest) {
    seals.iter_mut().zip(seal).for_each(|(all, one)| *all ^= one);
}

/// How many studies there are, and the exclusive or of their seals.
fn contents(path: &Path, connection: &Connection) -> Result<(u64, Digest)> {
    let sql = "SELECT studies, seals FROM contents WHERE id = 1";
    let row = |row: &Row| Ok((row.get::<_, i64>(0)?, row.get::<_, Vec<u8>>(1)?));
    let found = connection.query_row(sql, [], row).optional().map_err(|e| wrap(path, e))?;
    let known = found.and_then(|(count, seals)| Some((u64::try_from(count).ok()?, seals.try_into().ok()?)));
    known.ok_or_else(|| corrupt(path, "the number of studies is not what was written"))
}

/// Changes in place and never recomputes it: a study that was lost stays noticed.
fn change_contents<'s>(
    path: &Path,
    connection: &Connection,
    more: i64,
    changed: impl Iterator<Item = &'s Digest>,
) -> Result<()> {
    let (count, mut seals) = contents(path, connection)?;
    changed.for_each(|seal| toggle(&mut seals, seal));
    let count = i64::try_from(count).unwrap_or(i64::MAX).saturating_add(more);
    let sql = "UPDATE contents SET studies = ?1, seals = ?2 WHERE id = 1";
    connection.execute(sql, params![count, &seals[..]]).map_err(|e| wrap(path, e))?;
    Ok(())
}
