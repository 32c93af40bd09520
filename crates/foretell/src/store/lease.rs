//! Who writes a study: a row with a heartbeat, so that a second writer is refused at once and a dead one is replaced.

use super::open::{PATIENCE, wrap};
use super::{Study, now};
use crate::error::{Error, Result};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};

/// How often a writer says that it lives.
const BEAT: Duration = Duration::from_secs(5);
/// Silence after which a writer on another machine is taken for dead.
const SILENCE: i64 = 60;

/// The right to write a study; given back when dropped.
pub struct Lease {
    path: PathBuf,
    study: i64,
    beating: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Lease {
    pub(super) fn take(path: &Path, connection: &mut Connection, study: &Study) -> Result<Self> {
        // A store without a file has no second writer.
        if path == Path::new(":memory:") {
            return Ok(Lease { path: path.to_owned(), study: study.key, beating: None });
        }
        let fail = |e| wrap(path, e);
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(fail)?;
        refuse_busy(path, &transaction, study)?;
        let pid = i64::from(std::process::id());
        let started = started(pid).unwrap_or_default();
        let sql = "INSERT OR REPLACE INTO leases VALUES (?1, ?2, ?3, ?4, ?5)";
        transaction.execute(sql, params![study.key, pid, started, host(), now()]).map_err(fail)?;
        transaction.commit().map_err(fail)?;
        let beating = Some(beat(path.to_owned(), study.key));
        Ok(Lease { path: path.to_owned(), study: study.key, beating })
    }
}

/// Refuses a study that a living process writes.
pub(super) fn refuse_busy(path: &Path, connection: &Connection, study: &Study) -> Result<()> {
    let sql = "SELECT pid, started, host, beat FROM leases WHERE study = ?1";
    let row = |row: &rusqlite::Row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
    let holder: Option<(i64, String, String, i64)> =
        connection.query_row(sql, [study.key], row).optional().map_err(|e| wrap(path, e))?;
    let Some((pid, started, host, beat)) = holder else { return Ok(()) };
    let lives = match host == self::host() {
        true => self::started(pid).is_some_and(|now| now == started),
        false => now() - beat < SILENCE,
    };
    if lives { Err(Error::Busy { study: study.name.clone(), pid, host }) } else { Ok(()) }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some((stop, thread)) = self.beating.take() else { return };
        drop(stop);
        let _ = thread.join();
        // A later process takes over the row of one that has ended: nothing depends on this.
        if let Ok(connection) = Connection::open(&self.path) {
            let _ = connection.busy_timeout(PATIENCE);
            let _ = connection.execute("DELETE FROM leases WHERE study = ?1", [self.study]);
        }
    }
}

fn beat(path: PathBuf, study: i64) -> (Sender<()>, JoinHandle<()>) {
    let (stop, stopped) = channel();
    let thread = std::thread::spawn(move || {
        while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(BEAT) {
            if let Ok(connection) = Connection::open(&path) {
                let _ = connection.busy_timeout(PATIENCE);
                let sql = "UPDATE leases SET beat = ?2 WHERE study = ?1";
                let _ = connection.execute(sql, params![study, now()]);
            }
        }
    });
    (stop, thread)
}

/// The name of this machine.
pub(super) fn host() -> String {
    System::host_name().unwrap_or_else(|_| "this machine".to_owned())
}

/// When a process of this machine began, in seconds since 1970, if it lives.
fn started(pid: i64) -> Option<String> {
    let pid = Pid::from_u32(u32::try_from(pid).ok()?);
    let mut system = System::new().ok()?;
    system.refresh_processes_specifics(ProcessesToUpdate::Some(&[pid]), true, ProcessRefreshKind::nothing());
    system.process(pid).map(|process| process.start_time().to_string())
}
