//! Who writes a study: a row with a heartbeat, so that a second writer is refused at once and a dead one is replaced.
//!
//! Each lease has a random token. Its holder beats, writes and leaves only while the row still has this token, so a holder
//! that was taken for dead changes nothing of its successor's. Where the holder cannot be seen, its row is watched, because
//! clocks differ: a row that does not change while its holder should have beaten twice belongs to nobody.

use super::holder::{self, AHEAD, Holder, RECENT, State, started};
use super::open::{PATIENCE, wrap};
use super::{Study, failpoint, now};
use crate::cancel::checkpoint;
use crate::error::{Error, Result};
use rusqlite::{Connection, OpenFlags, TransactionBehavior, params};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often a writer says that it lives.
const BEAT: Duration = Duration::from_secs(5);
/// How long a row is watched before its holder is taken for dead.
const WATCH: Duration = Duration::from_secs(12);

/// The right to write a study; given back when dropped.
pub struct Lease {
    _held: Option<Held>,
}

/// A row that is given back when dropped.
struct Held {
    path: PathBuf,
    study: i64,
    token: Arc<Token>,
    beating: Option<(Sender<()>, JoinHandle<()>)>,
}

/// What tells one lease from all others.
pub(super) struct Token(pub(super) String);

impl Lease {
    pub(super) fn take(
        path: &Path,
        connection: &mut Connection,
        study: &Study,
    ) -> Result<(Self, Weak<Token>)> {
        Self::take_watching(path, connection, study, WATCH)
    }

    fn take_watching(
        path: &Path,
        connection: &mut Connection,
        study: &Study,
        watch: Duration,
    ) -> Result<(Self, Weak<Token>)> {
        let fail = |e| wrap(path, e);
        failpoint::pass(connection).map_err(fail)?;
        // A store without a file has no second writer.
        if path == Path::new(":memory:") {
            return Ok((Lease { _held: None }, Weak::new()));
        }
        let silent = watched(path, connection, study, watch)?;
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(fail)?;
        // Another process may have been faster.
        let found = Holder::find(&transaction, study.key).map_err(fail)?;
        if let Some(holder) = found.filter(|holder| Some(holder) != silent.as_ref())
            && holder.state() != State::Dead
        {
            return Err(holder.busy(study));
        }
        let own = Holder::this(String::new());
        let sql = "INSERT OR REPLACE INTO leases (study, pid, started, host, beat, boot, namespace, token)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, lower(hex(randomblob(16)))) RETURNING token";
        let row = params![study.key, own.pid, own.started, own.host, own.beat, own.boot, own.namespace];
        let token: String = transaction.query_row(sql, row, |row| row.get(0)).map_err(fail)?;
        let token = Arc::new(Token(token));
        let known = Arc::downgrade(&token);
        // From here on the row is given back, even where it is not known whether the commit succeeded.
        let mut held = Held { path: path.to_owned(), study: study.key, token, beating: None };
        super::write::commit(path, transaction)?;
        held.beating = Some(beat(path.to_owned(), study.key, held.token.0.clone()));
        Ok((Lease { _held: Some(held) }, known))
    }
}

/// Watches the row of a holder that may be dead; the holder if its row did not change.
fn watched(path: &Path, connection: &Connection, study: &Study, watch: Duration) -> Result<Option<Holder>> {
    let find = || Holder::find(connection, study.key).map_err(|e| wrap(path, e));
    let Some(first) = find()?.filter(|holder| holder.state() == State::Silent) else { return Ok(None) };
    let start = Instant::now();
    while start.elapsed() < watch {
        checkpoint();
        std::thread::sleep(Duration::from_millis(100).min(watch));
        match find()? {
            None => return Ok(None),
            Some(holder) if holder != first => return Err(holder.busy(study)),
            Some(_) => {}
        }
    }
    Ok(Some(first))
}

/// Refuses a study that any process holds, unless that process is known to be dead.
pub(super) fn refuse_held(path: &Path, connection: &Connection, study: &Study) -> Result<()> {
    match Holder::find(connection, study.key).map_err(|e| wrap(path, e))? {
        Some(holder) if holder.state() != State::Dead => Err(holder.busy(study)),
        _ => Ok(()),
    }
}

/// Refuses to write a study whose lease was taken over.
pub(super) fn still_held(path: &Path, connection: &Connection, study: &Study, token: &str) -> Result<()> {
    match Holder::find(connection, study.key).map_err(|e| wrap(path, e))? {
        Some(holder) if holder.token == token => Ok(()),
        _ => Err(Error::TakenOver { study: study.name.clone() }),
    }
}

/// Refuses a store in which any living process writes a study; leases of others are dropped. For stores from before leases
/// had tokens.
pub(super) fn refuse_writers(path: &Path, connection: &Connection) -> Result<()> {
    let fail = |e| wrap(path, e);
    let sql = "SELECT l.pid, l.host, l.beat, s.name FROM leases l JOIN studies s ON s.id = l.study";
    let mut statement = connection.prepare(sql).map_err(fail)?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)));
    for row in rows.map_err(fail)? {
        let (pid, host, beat, study): (i64, String, i64, String) = row.map_err(fail)?;
        let seen = host != holder::host() || started(pid).is_some();
        if seen && (-AHEAD..RECENT).contains(&now().saturating_sub(beat)) {
            return Err(Error::Busy { study, pid, host });
        }
    }
    connection.execute("DELETE FROM leases", []).map_err(fail)?;
    Ok(())
}

/// Refuses a store in which a process holds a study and is not known to be dead. The store may be damaged, so that its
/// leases cannot be read.
pub(super) fn refuse_living(path: &Path) -> Result<()> {
    let holders = || -> rusqlite::Result<Vec<(Holder, Option<String>)>> {
        let connection = Connection::open_with_flags(path, flags())?;
        connection.busy_timeout(PATIENCE)?;
        let sql = "SELECT l.pid, l.started, l.host, l.beat, l.token, l.boot, l.namespace, s.name
                   FROM leases l LEFT JOIN studies s ON s.id = l.study";
        let mut statement = connection.prepare(sql)?;
        let rows = statement.query_map([], |row| Ok((Holder::read(row)?, row.get(7)?)))?;
        Ok(rows.filter_map(rusqlite::Result::ok).collect())
    };
    let before = holders().unwrap_or_default();
    let busy = |(holder, study): &(Holder, Option<String>)| Error::Busy {
        study: study.clone().unwrap_or_default(),
        pid: holder.pid,
        host: holder.host.clone(),
    };
    if let Some(living) = before.iter().find(|(holder, _)| holder.state() == State::Lives) {
        return Err(busy(living));
    }
    let silent: Vec<_> = before.into_iter().filter(|(holder, _)| holder.state() == State::Silent).collect();
    if silent.is_empty() {
        return Ok(());
    }
    std::thread::sleep(WATCH);
    match holders().unwrap_or_default().iter().find(|after| !silent.contains(after)) {
        Some(living) if living.0.state() != State::Dead => Err(busy(living)),
        _ => Ok(()),
    }
}

/// Removes the lease of a study, no matter which process holds it.
pub(super) fn release(path: &Path, connection: &Connection, study: &Study) -> Result<Option<Holder>> {
    let fail = |e| wrap(path, e);
    let holder = Holder::find(connection, study.key).map_err(fail)?;
    connection.execute("DELETE FROM leases WHERE study = ?1", [study.key]).map_err(fail)?;
    Ok(holder)
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.beating.take() {
            drop(stop);
            let _ = thread.join();
        }
        // A later process takes over the row of one that has ended: nothing depends on this.
        on_row(&self.path, "DELETE FROM leases WHERE study = ?1 AND token = ?2", self.study, &self.token.0);
    }
}

fn beat(path: PathBuf, study: i64, token: String) -> (Sender<()>, JoinHandle<()>) {
    let (stop, stopped) = channel();
    let thread = std::thread::spawn(move || {
        while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(BEAT) {
            // The row must change with every beat, even where the clock stands still or goes back.
            let sql =
                format!("UPDATE leases SET beat = max({}, beat + 1) WHERE study = ?1 AND token = ?2", now());
            on_row(&path, &sql, study, &token);
        }
    });
    (stop, thread)
}

/// Changes the row of a lease that is still the holder's own.
fn on_row(path: &Path, sql: &str, study: i64, token: &str) {
    if let Ok(connection) = Connection::open_with_flags(path, flags()) {
        let _ = connection.busy_timeout(PATIENCE);
        let _ = connection.execute(sql, params![study, token]);
    }
}

/// How a file is opened that must be there.
fn flags() -> OpenFlags {
    OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Score, Store, Trial};
    use serde_json::json;

    /// A file of its own, gone with the test.
    struct File(PathBuf);

    impl File {
        fn new(name: &str) -> (Self, Store, Study) {
            let path = std::env::temp_dir().join(format!("foretell-lease-{name}-{}.db", std::process::id()));
            let file = File(path);
            file.remove();
            let mut store = Store::open(&file.0).unwrap();
            let study = store.create("a", &json!({}), "").unwrap();
            (file, store, study)
        }

        fn remove(&self) {
            for side in ["", "-wal", "-shm"] {
                let _ = std::fs::remove_file(format!("{}{side}", self.0.display()));
            }
        }
    }

    impl Drop for File {
        fn drop(&mut self) {
            self.remove();
        }
    }

    fn trial(number: u64) -> Trial {
        let score = Score { status: "ok".into(), value: 1.0, ..Score::default() };
        let (id, genes) = (number.to_string(), "{}".to_owned());
        Trial { number, id, genes, objectives: vec![1.0], scores: vec![score], seconds: 0.5 }
    }

    /// The clock of another machine is wrong by more than a minute, in either direction.
    #[test]
    fn a_holder_that_beats_is_left_alone_and_a_silent_one_is_replaced() {
        let (file, store, study) = File::new("watched");
        for ahead in [-70, 100_000] {
            let insert =
                "INSERT OR REPLACE INTO leases VALUES (1, 7, '1', 'another', ?1, 'x', 'another', '')";
            store.connection.execute(insert, [now() + ahead]).unwrap();
            let (stop, stopped) = channel::<()>();
            let path = file.0.clone();
            let beating = std::thread::spawn(move || {
                while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(Duration::from_millis(50)) {
                    on_row(
                        &path,
                        "UPDATE leases SET beat = beat + 1 WHERE study = ?1 AND token = ?2",
                        1,
                        "x",
                    );
                }
            });
            let mut other = Store::open(&file.0).unwrap();
            let watch = Duration::from_secs(3);
            let refused = Lease::take_watching(&file.0, &mut other.connection, &study, watch).err().unwrap();
            assert!(matches!(refused, Error::Busy { pid: 7, .. }), "{refused}");
            drop(stop);
            beating.join().unwrap();
            let watch = Duration::from_millis(300);
            let (lease, _) = Lease::take_watching(&file.0, &mut other.connection, &study, watch).unwrap();
            drop(lease);
            assert!(Holder::find(&store.connection, study.key).unwrap().is_none());
        }
    }

    #[test]
    fn a_process_that_lost_the_lease_writes_nothing_and_takes_nothing_away() {
        let (file, mut first, study) = File::new("lost");
        let start = first.trials(&study).unwrap().1;
        let lost = first.lease(&study).unwrap();
        let digest = first.append(&study, &[trial(0)], 0, &start).unwrap();
        let mut second = Store::open(&file.0).unwrap();
        // Without the lease nobody writes.
        let refused = second.append(&study, &[trial(1)], 0, &digest).unwrap_err();
        assert!(matches!(refused, Error::Busy { .. }), "{refused}");
        assert_eq!(second.unlock(&study).unwrap().unwrap().pid, i64::from(std::process::id()));
        assert_eq!(second.unlock(&study).unwrap(), None);
        let lease = second.lease(&study).unwrap();
        let refused = first.append(&study, &[trial(1)], 0, &digest).unwrap_err();
        assert!(matches!(refused, Error::TakenOver { .. }), "{refused}");
        assert!(matches!(first.stop(&study, Some("budget")), Err(Error::TakenOver { .. })));
        assert!(matches!(first.set_answer(&study, &json!({})), Err(Error::TakenOver { .. })));
        drop(lost);
        second.append(&study, &[trial(1)], 0, &digest).unwrap();
        drop(lease);
        assert_eq!(first.verify().unwrap(), (1, 2));
        // A chain that another process has continued is not continued from its old end.
        let refused = first.append(&study, &[trial(1)], 0, &digest).unwrap_err();
        assert!(matches!(refused, Error::TakenOver { .. }), "{refused}");
    }
}
