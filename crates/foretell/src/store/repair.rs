//! Bringing what is intact of a damaged store into a new one.
//!
//! A trial counts as intact if its digest follows from the one stored before it. Those from the first on without a gap
//! stay the study, which the same command continues; those behind a gap become a study of their own, `NAME-salvaged`. The
//! damaged file is kept aside as it was. Where even the first page is gone, that of a new store stands in for it: the
//! schema is known, and digests tell whether what is read through it is ours.

use super::merge::Content;
use super::open::{beside, wrap};
use super::{Evaluation, Measurement, Store, Study, Trial};
use crate::error::{Error, Result};
use rusqlite::{Connection, params};
use std::fs;
use std::path::{Path, PathBuf};

/// What was saved of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repaired {
    /// Where the damaged file is kept.
    pub aside: PathBuf,
    /// What became of each study.
    pub studies: Vec<Recovered>,
}

/// What was saved of a study.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovered {
    /// The study.
    pub name: String,
    /// Trials from the first on without a gap.
    pub kept: u64,
    /// Intact trials behind a gap.
    pub salvaged: u64,
    /// Trials that are gone, as far as their number is known.
    pub lost: u64,
}

/// Bytes of a page.
const PAGE: usize = 4096;
/// Numbers looked for behind the last trial found, where the file does not say how many there are.
const BEYOND: i64 = 10_000;

/// A study as far as it can be read.
struct Found {
    study: Study,
    kept: Vec<Trial>,
    salvaged: Vec<Trial>,
    evaluations: Vec<Evaluation>,
    measurements: Vec<Measurement>,
    lost: u64,
}

/// Puts a sound store in place of a damaged one; nothing if it is sound already.
pub fn repair(path: &Path) -> Result<Option<Repaired>> {
    match Store::read(path).and_then(|store| store.verify()) {
        Ok(_) => return Ok(None),
        Err(error @ (Error::Read { .. } | Error::StoreVersion { .. })) => return Err(error),
        Err(_) => {}
    }
    let failed = |source: std::io::Error| Error::read(path, source);
    let aside = (1..).map(|n| beside(path, &format!(".damaged-{n}"))).find(|path| !path.exists());
    let aside = aside.expect("some number is free");
    let log = beside(path, "-wal");
    fs::copy(path, &aside).map_err(failed)?;
    if log.exists() {
        fs::copy(&log, beside(&aside, "-wal")).map_err(failed)?;
    }
    // Looking at a file changes it: what is kept aside stays as it was.
    let work = Scratch(beside(path, &format!(".look-{}", std::process::id())));
    let fresh = Scratch(beside(path, &format!(".repaired-{}", std::process::id())));
    work.copy(&aside).map_err(failed)?;
    let mut found = look(&work.0);
    if found.iter().all(|found| found.kept.is_empty() && found.salvaged.is_empty()) {
        work.copy(&aside).map_err(failed)?;
        replace_first_page(&work.0, &fresh).map_err(failed)?;
        found = look(&work.0);
    }
    if found.is_empty() {
        for side in ["", "-wal"] {
            let _ = fs::remove_file(beside(&aside, side));
        }
        return Err(Error::Store { path: path.into(), reason: "holds nothing that is intact".into() });
    }
    let studies = write(&fresh.0, found)?;
    // A log of the old file must never meet the new one.
    for side in ["-wal", "-shm"] {
        let _ = fs::remove_file(beside(path, side));
    }
    fs::rename(&fresh.0, path).map_err(failed)?;
    Ok(Some(Repaired { aside, studies }))
}

/// Writes what was found into a new store, and checks it.
fn write(path: &Path, found: Vec<Found>) -> Result<Vec<Recovered>> {
    let mut store = Store::open(path)?;
    let fail = |e| wrap(path, e);
    let names: Vec<String> = found.iter().map(|found| found.study.name.clone()).collect();
    let mut recovered = Vec::new();
    for Found { mut study, kept, mut salvaged, evaluations, measurements, lost } in found {
        let name = study.name.clone();
        recovered.push(Recovered {
            name: name.clone(),
            kept: kept.len() as u64,
            salvaged: salvaged.len() as u64,
            lost,
        });
        if lost > 0 || !salvaged.is_empty() {
            study.stopped = None;
        }
        let content = Content { trials: &kept, evaluations: &evaluations, measurements: &measurements };
        store.write(&study, None, &content).map_err(fail)?;
        if !salvaged.is_empty() {
            study.config["salvaged"] = true.into();
            study.stopped = Some("salvaged".to_owned());
            let free = |name: &String| !names.contains(name);
            let others = (2..).map(|n| format!("{name}-salvaged-{n}"));
            let names = std::iter::once(format!("{name}-salvaged")).chain(others);
            study.name = names.into_iter().find(free).expect("some name is free");
            for (number, trial) in salvaged.iter_mut().enumerate() {
                trial.number = number as u64;
            }
            let content = Content { trials: &salvaged, ..Content::default() };
            store.write(&study, None, &content).map_err(fail)?;
        }
    }
    store.verify()?;
    Ok(recovered)
}

/// Everything intact in a file that may be damaged anywhere.
fn look(path: &Path) -> Vec<Found> {
    let Ok(connection) = Connection::open(path) else { return Vec::new() };
    let mut found = Vec::new();
    // From both ends, so that a gap does not hide what lies behind it.
    for order in ["ASC", "DESC"] {
        let sql = format!(
            "SELECT id, name, config, provenance, stopped, rejected FROM studies ORDER BY id {order}"
        );
        let Ok(mut statement) = connection.prepare(&sql) else { return Vec::new() };
        let Ok(mut rows) = statement.query([]) else { return Vec::new() };
        while let Ok(Some(row)) = rows.next() {
            if let Some(study) = study(row)
                && found.iter().all(|known: &Study| known.key != study.key && known.name != study.name)
            {
                found.push(study);
            }
        }
    }
    found.sort_by_key(|study| study.key);
    found.into_iter().map(|study| trials(&connection, study)).collect()
}

fn study(row: &rusqlite::Row) -> Option<Study> {
    let json = |column: usize| serde_json::from_str(&row.get::<_, String>(column).ok()?).ok();
    Some(Study {
        key: row.get(0).ok()?,
        name: row.get(1).ok()?,
        config: json(2)?,
        provenance: json(3).unwrap_or_default(),
        stopped: row.get(4).ok().flatten(),
        rejected: row.get::<_, i64>(5).map_or(0, |n| n.max(0) as u64),
        trials: 0,
    })
}

fn trials(connection: &Connection, study: Study) -> Found {
    let one =
        |sql: &str| connection.query_row(sql, [study.key], |row| row.get::<_, Option<i64>>(0)).ok().flatten();
    let said = one("SELECT max(number) + 1 FROM trials WHERE study = ?1")
        .max(one("SELECT max(chunk) * 1024 + 1 FROM ranks WHERE study = ?1"));
    let (mut kept, mut salvaged) = (Vec::new(), Vec::new());
    // The number that comes next, and the digest that it must follow from, where that is known.
    let (mut next, mut previous) = (0_i64, Some(study.first_digest()));
    let mut last = -1;
    while next < said.unwrap_or(last + 1 + BEYOND) {
        let sql = "SELECT number, id, genes, objectives, scores, numbers, seconds, digest
                   FROM trials WHERE study = ?1 AND number >= ?2 ORDER BY number";
        let Ok(mut statement) = connection.prepare_cached(sql) else { break };
        let Ok(mut rows) = statement.query(params![study.key, next]) else { break };
        while let Ok(Some(row)) = rows.next() {
            let Ok(number) = row.get::<_, i64>(0) else { break };
            if number < next {
                break;
            }
            if number != next {
                previous = None;
            }
            let stored = row.get::<_, Vec<u8>>(7).ok().and_then(|digest| <[u8; 32]>::try_from(digest).ok());
            let trial = Trial::read(row).ok().and_then(|(trial, _)| trial);
            match trial.zip(previous).filter(|(trial, previous)| Some(trial.digest(previous)) == stored) {
                Some((trial, _)) if trial.number == kept.len() as u64 => kept.push(trial),
                Some((trial, _)) => salvaged.push(trial),
                None => {}
            }
            (next, previous, last) = (number + 1, stored, number);
        }
        // What comes next cannot be read: the trial after it cannot be checked.
        (next, previous) = (next + 1, None);
    }
    let total = said.unwrap_or(last + 1).max(0) as u64;
    let lost = total.saturating_sub((kept.len() + salvaged.len()) as u64);
    let whole = Study { trials: kept.len() as u64, ..study };
    let evaluations = super::evaluation::intact(connection, &whole);
    let measurements = super::measurement::intact(connection, &whole);
    Found { study: whole, kept, salvaged, evaluations, measurements, lost }
}

/// Gives a file the first page of a new store, with its own length.
fn replace_first_page(path: &Path, fresh: &Scratch) -> std::io::Result<()> {
    drop(Store::open(&fresh.0).map_err(std::io::Error::other)?);
    let page = fs::read(&fresh.0)?;
    fresh.remove();
    let mut bytes = fs::read(path)?;
    if page.len() < PAGE || bytes.len() < PAGE {
        return Ok(());
    }
    bytes[..PAGE].copy_from_slice(&page[..PAGE]);
    // Pages of the file, and pages that are free.
    let pages = (bytes.len() / PAGE) as u32;
    bytes[28..32].copy_from_slice(&pages.to_be_bytes());
    bytes[32..40].fill(0);
    bytes.truncate(pages as usize * PAGE);
    let _ = fs::remove_file(beside(path, "-wal"));
    fs::write(path, bytes)
}

/// A file that is gone when dropped, with what SQLite puts beside it.
struct Scratch(PathBuf);

impl Scratch {
    fn copy(&self, from: &Path) -> std::io::Result<()> {
        self.remove();
        fs::copy(from, &self.0)?;
        let log = beside(from, "-wal");
        if log.exists() {
            fs::copy(log, beside(&self.0, "-wal"))?;
        }
        Ok(())
    }

    fn remove(&self) {
        for side in ["", "-wal", "-shm"] {
            let _ = fs::remove_file(beside(&self.0, side));
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.remove();
    }
}
