//! Bringing what is intact of a damaged store into a new one.
//!
//! Trials from the first on without a gap stay the study, which the same command continues; those behind a gap become a
//! study of their own, `NAME-salvaged`. The damaged file is kept aside as it was. Nobody else may use the store meanwhile.

use super::merge::Content;
use super::open::{PATIENCE, is_ours};
use super::place::beside;
use super::salvage::{self, Found};
use super::{Store, lease};
use crate::error::{Error, Result};
use rusqlite::{Connection, ErrorCode};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

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

/// Puts a sound store in place of a damaged one; nothing if it is sound already. A store that a process uses is refused, and
/// so is a database of another program.
pub fn repair(path: &Path) -> Result<Option<Repaired>> {
    match Store::read(path).and_then(|store| store.verify()) {
        Ok(_) => return Ok(None),
        Err(Error::Corrupt { .. }) => {}
        // The number that says whose file it is may itself be damaged.
        Err(Error::Foreign { .. }) if is_ours(path) => {}
        Err(error) => return Err(error),
    }
    lease::refuse_living(path)?;
    let lock = Lock::take(path)?;
    let failed = |source: std::io::Error| Error::read(path, source);
    let aside = (1..).map(|n| beside(path, &format!(".damaged-{n}"))).find(|path| !path.exists());
    let aside = aside.expect("some number is free");
    lock.copy(path, &aside).map_err(failed)?;
    let fresh = Scratch(beside(path, &format!(".repaired-{}", std::process::id())));
    let done = salvage::look(path, &aside, &fresh).map_err(failed).and_then(|found| match found.is_empty() {
        true => Err(Error::Store { path: path.into(), reason: "holds nothing that is intact".into() }),
        false => write(&fresh.0, found),
    });
    let studies = match done {
        Ok(studies) => studies,
        Err(error) => {
            for side in ["", "-wal"] {
                let _ = fs::remove_file(beside(&aside, side));
            }
            return Err(error);
        }
    };
    // Windows does not replace a file that is open.
    let lock = Some(lock).filter(|_| !cfg!(windows));
    // A log of the old file must never meet the new one.
    for side in ["-wal", "-shm"] {
        let _ = fs::remove_file(beside(path, side));
    }
    fs::rename(&fresh.0, path).map_err(failed)?;
    drop(lock);
    Ok(Some(Repaired { aside, studies }))
}

/// The only use of a store, as far as it can be locked: where not even its first page can be read, nobody else can read it
/// either.
struct Lock {
    _connection: Connection,
    /// Closing a file gives up all locks that this process has on it, so it stays open as long as they are needed.
    file: File,
}

impl Lock {
    fn take(path: &Path) -> Result<Self> {
        let fail = |e| super::open::wrap(path, e);
        let file = File::open(path).map_err(|source| Error::read(path, source))?;
        let connection = Connection::open(path).map_err(fail)?;
        connection.busy_timeout(PATIENCE.min(Duration::from_secs(2))).map_err(fail)?;
        let locked = connection
            .pragma_update(None, "locking_mode", "exclusive")
            .and_then(|()| connection.execute_batch("BEGIN EXCLUSIVE"));
        match locked.as_ref().err().and_then(rusqlite::Error::sqlite_error_code) {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                let reason = "is in use by another process: end it and repair the store then";
                Err(Error::Store { path: path.into(), reason: reason.into() })
            }
            _ => Ok(Lock { _connection: connection, file }),
        }
    }

    /// Copies the file as it is, with its log.
    fn copy(&self, path: &Path, to: &Path) -> std::io::Result<()> {
        std::io::copy(&mut &self.file, &mut File::create_new(to)?)?;
        copy_log(path, to)
    }
}

fn copy_log(from: &Path, to: &Path) -> std::io::Result<()> {
    let log = beside(from, "-wal");
    let filled = log.metadata().is_ok_and(|log| log.len() > 0);
    if filled { fs::copy(log, beside(to, "-wal")).map(drop) } else { Ok(()) }
}

/// Writes what was found into a new store, and checks it.
fn write(path: &Path, found: Vec<Found>) -> Result<Vec<Recovered>> {
    let mut store = Store::open(path)?;
    let names: Vec<String> = found.iter().map(|found| found.study.name.clone()).collect();
    let mut recovered = Vec::new();
    for Found { mut study, kept, mut salvaged, evaluations, measurements, answer, lost } in found {
        let name = study.name.clone();
        recovered.push(Recovered {
            name: name.clone(),
            kept: kept.len() as u64,
            salvaged: salvaged.len() as u64,
            lost,
        });
        let content = Content {
            trials: &kept,
            evaluations: &evaluations,
            measurements: &measurements,
            answer: answer.as_ref(),
        };
        store.write(&study, None, &content)?;
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
            store.write(&study, None, &content)?;
        }
    }
    store.verify()?;
    Ok(recovered)
}

/// A file that is gone when dropped, with what SQLite puts beside it.
pub(super) struct Scratch(pub(super) PathBuf);

impl Scratch {
    pub(super) fn copy(&self, from: &Path) -> std::io::Result<()> {
        self.remove();
        fs::copy(from, &self.0)?;
        copy_log(from, &self.0)
    }

    pub(super) fn remove(&self) {
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
