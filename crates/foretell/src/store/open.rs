//! Opening a file of studies: new, old, newer, damaged, read-only or another program's.

use super::migrate::{APPLICATION, SCHEMA, migrate};
use super::place::{beside, file_id, filesystem, refuse_devices, refuse_foreign, remote, writable};
use super::{Store, failpoint};
use crate::error::{Error, Result};
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long one process waits for another's transaction.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

impl Store {
    /// Opens a store to write; it is made if it is not there. On network disks, where machines do not share the memory that
    /// SQLite's write-ahead log needs, changes go through a rollback journal.
    pub fn open(path: &Path) -> Result<Self> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let remote = filesystem(folder.unwrap_or(Path::new("."))).is_some_and(remote);
        Self::open_as(path, if remote { "truncate" } else { "wal" })
    }

    fn open_as(path: &Path, journal: &str) -> Result<Self> {
        let fail = |e| wrap(path, e);
        refuse_devices(path)?;
        let mut connection = Connection::open(path).map_err(fail)?;
        failpoint::pass(&connection).map_err(fail)?;
        connection.busy_timeout(PATIENCE).map_err(fail)?;
        let found = version(path, &connection)?;
        set_journal(&connection, journal).map_err(fail)?;
        connection.pragma_update(None, "synchronous", "full").map_err(fail)?;
        connection.pragma_update(None, "foreign_keys", true).map_err(fail)?;
        // What is deleted is overwritten, so that no page of it can turn up again.
        connection.pragma_update(None, "secure_delete", true).map_err(fail)?;
        failpoint::pass(&connection).map_err(fail)?;
        migrate(path, &mut connection, found)?;
        Ok(Store::over(connection, path))
    }

    fn over(connection: Connection, path: &Path) -> Self {
        Store { connection, path: path.to_owned(), file: file_id(path), leases: Vec::new() }
    }

    /// Opens a store to read; a writer is not disturbed, and nothing is changed but an old schema, which is brought up to
    /// date. On read-only media a store is read as it lies there.
    pub fn read(path: &Path) -> Result<Self> {
        if !path.exists() {
            let cure = "there is no store here; a search creates one";
            let source = std::io::Error::new(std::io::ErrorKind::NotFound, cure);
            return Err(Error::read(path, source));
        }
        refuse_devices(path)?;
        match Self::reader(path, &path.to_string_lossy(), OpenFlags::SQLITE_OPEN_READ_WRITE) {
            Err(Error::Store { reason, .. }) if !writable(path) => Self::immutable(path, reason),
            other => other,
        }
    }

    fn reader(path: &Path, name: &str, flags: OpenFlags) -> Result<Self> {
        let fail = |e| wrap(path, e);
        let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(name, flags).map_err(fail)?;
        failpoint::pass(&connection).map_err(fail)?;
        connection.busy_timeout(PATIENCE).map_err(fail)?;
        match version(path, &connection)? {
            0 => return Err(corrupt(path, "it holds no studies")),
            found => migrate(path, &mut connection, found)?,
        }
        connection.pragma_update(None, "query_only", true).map_err(fail)?;
        Ok(Store::over(connection, path))
    }

    /// Without a place for the files that readers share SQLite reads the main file alone, which is all there is unless
    /// a writer was killed.
    fn immutable(path: &Path, reason: String) -> Result<Self> {
        let log = beside(path, "-wal");
        if std::fs::metadata(&log).is_ok_and(|log| log.len() > 0) {
            let reason = format!(
                "{} holds changes that cannot be read where nothing can be written ({reason}): copy both files elsewhere",
                log.display()
            );
            return Err(Error::Store { path: path.into(), reason });
        }
        let mut name = String::from("file:");
        for byte in path.to_string_lossy().bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => {
                    name.push(byte.into());
                }
                other => name += &format!("%{other:02x}"),
            }
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        Self::reader(path, &(name + "?immutable=1"), flags)
    }
}

/// Sets how changes are made safe, which waits for others only where it has to change anything.
fn set_journal(connection: &Connection, journal: &str) -> rusqlite::Result<()> {
    let mode = || connection.pragma_query_value(None, "journal_mode", |row| row.get::<_, String>(0));
    patiently(|| match mode()? == journal || connection.path().is_none_or(str::is_empty) {
        true => Ok(()),
        false => connection.pragma_update(None, "journal_mode", journal),
    })
}

/// Tries again while another process is in the way. SQLite waits by itself, but not where it would change the journal, and
/// not where two processes would wait for each other.
fn patiently<T>(work: impl Fn() -> rusqlite::Result<T>) -> rusqlite::Result<T> {
    let start = Instant::now();
    loop {
        let done = work();
        let code = done.as_ref().err().and_then(rusqlite::Error::sqlite_error_code);
        let busy = matches!(
            code,
            Some(
                ErrorCode::DatabaseBusy
                    | ErrorCode::DatabaseLocked
                    | ErrorCode::FileLockingProtocolFailed
                    | ErrorCode::SchemaChanged
            )
        );
        if !busy || start.elapsed() > PATIENCE {
            return done;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The schema version of a file that is ours or empty.
fn version(path: &Path, connection: &Connection) -> Result<usize> {
    // All of one moment: another process may be creating the store.
    let read = || {
        let transaction = connection.unchecked_transaction()?;
        let pragma = |name| transaction.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let (application, version) = (pragma("application_id")?, pragma("user_version")?);
        let sql = "SELECT 1 FROM sqlite_schema LIMIT 1";
        let empty = transaction.query_row(sql, [], |_| Ok(())).optional()?.is_none();
        Ok((application, version, empty))
    };
    let (application, version, empty) = patiently(read).map_err(|error| {
        let error = wrap(path, error);
        match error {
            Error::Corrupt { .. } => refuse_foreign(path).err().unwrap_or(error),
            other => other,
        }
    })?;
    if application != APPLICATION && !(empty && application == 0 && version == 0) {
        return Err(Error::Foreign { path: path.into() });
    }
    match usize::try_from(version) {
        Ok(found) if found <= SCHEMA.len() => Ok(found),
        _ => Err(Error::StoreVersion { path: path.into(), found: version, known: SCHEMA.len() as i64 }),
    }
}

/// Whether a database has the tables of a store, whatever its header says.
pub(super) fn is_ours(path: &Path) -> bool {
    let Ok(connection) = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY) else {
        return false;
    };
    let known = |sql: &str| connection.prepare(sql).is_ok();
    known("SELECT config, provenance, stopped, rejected FROM studies")
        && known("SELECT genes, objectives, scores, numbers, digest FROM trials")
}

pub(super) fn corrupt(path: &Path, reason: impl Into<String>) -> Error {
    Error::Corrupt { path: path.into(), reason: reason.into() }
}

/// What SQLite said, as one of ours.
pub(super) fn wrap(path: &Path, error: rusqlite::Error) -> Error {
    use rusqlite::Error as Sql;
    let said = error.to_string();
    let damaged = match &error {
        Sql::SqliteFailure(code, text) => {
            // A schema that no longer parses, lost a table or has one that its version does not know was ours once: it is
            // damaged, not misused.
            let signs = ["no such", "malformed", "already exists", "duplicate column", "columns but"];
            matches!(
                code.code,
                ErrorCode::DatabaseCorrupt
                    | ErrorCode::NotADatabase
                    | ErrorCode::TypeMismatch
                    | ErrorCode::TooBig
                    | ErrorCode::ConstraintViolation
            ) || text.as_ref().is_some_and(|text| signs.iter().any(|sign| text.contains(sign)))
        }
        Sql::SqlInputError { .. }
        | Sql::FromSqlConversionFailure(..)
        | Sql::InvalidColumnType(..)
        | Sql::Utf8Error(..)
        | Sql::InvalidColumnIndex(_)
        | Sql::IntegralValueOutOfRange(..) => true,
        _ => false,
    };
    if damaged {
        return corrupt(path, said);
    }
    let cure = match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => {
            "make room there and run the same command again; what was stored is kept"
        }
        Some(ErrorCode::ReadOnly) => "it cannot be written there: copy it elsewhere, or use another store",
        Some(ErrorCode::CannotOpen) => "see that its folder exists and can be written, or use another store",
        Some(ErrorCode::SystemIoFailure) => {
            "the file system failed: see its space and state, and run the same command again"
        }
        _ => return Error::Store { path: path.into(), reason: said },
    };
    Error::Store { path: path.into(), reason: format!("{said}: {cure}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Score, Trial};

    fn trials(from: u64, count: u64) -> Vec<Trial> {
        let score = |value| Score { status: "ok".into(), value, ..Score::default() };
        let trial = |number: u64| Trial {
            number,
            id: format!("{number:020}"),
            genes: "x".repeat(500),
            objectives: vec![number as f64],
            scores: vec![score(number as f64)],
            seconds: 0.0,
        };
        (from..from + count).map(trial).collect()
    }

    /// A file of the first schema is brought up to date when it is read, with nothing changed.
    #[test]
    fn the_first_schema_is_brought_up_to_date() {
        let path = std::env::temp_dir().join(format!("foretell-schema-{}.db", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let old = Connection::open(&path).unwrap();
        old.execute_batch(SCHEMA[0]).unwrap();
        old.execute("INSERT INTO studies (name, config, provenance) VALUES ('a', '{\"seed\":0}', '{}')", [])
            .unwrap();
        let mut digest = read_first(&path, &old);
        old.execute_batch("BEGIN").unwrap();
        for trial in trials(0, 1500) {
            let row = trial.row();
            digest = trial.digest(&digest);
            let (objectives, scores, numbers) = (row.objectives, row.scores, row.numbers);
            let values = rusqlite::params![
                1,
                trial.number as i64,
                trial.id,
                trial.genes,
                objectives,
                scores,
                numbers,
                0.0,
                &digest[..]
            ];
            old.execute("INSERT INTO trials VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)", values).unwrap();
        }
        old.execute_batch("COMMIT").unwrap();
        old.pragma_update(None, "application_id", APPLICATION).unwrap();
        old.pragma_update(None, "user_version", 1).unwrap();
        drop(old);
        let store = Store::read(&path).unwrap();
        assert_eq!(store.verify().unwrap(), (1, 1500));
        let study = store.find("a").unwrap().unwrap();
        assert_eq!(store.ranks(&study).unwrap().objective(0).nth(1499), Some(&[1499.0][..]));
        assert_eq!(store.trials(&study).unwrap().1, digest);
        drop(store);
        for side in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(beside(&path, side));
        }
    }

    #[test]
    fn other_files_are_named_and_damage_is_not_taken_for_them() {
        let path = std::env::temp_dir().join(format!("foretell-foreign-{}.db", std::process::id()));
        let said = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            [Store::read(&path).err(), Store::open(&path).err()].map(|e| e.unwrap().to_string())
        };
        for (bytes, kind) in [
            (&b"{\"a\": 1}"[..], "a JSON file"),
            (b"name = 1\n", "a text file"),
            (b"PK\x03\x04rest", "a ZIP archive"),
            (&[7, 0, 255, 1], "an unknown kind"),
        ] {
            for error in said(bytes) {
                assert!(error.contains("not a foretell store") && error.contains(kind), "{error}");
                assert!(!error.contains("repair"), "{error}");
            }
        }
        for error in said(&[0; 8192]) {
            assert!(error.contains("is damaged") && error.contains("repair"), "{error}");
        }
        std::fs::remove_file(&path).unwrap();
        let error = Store::open(Path::new("/dev/zero")).err().unwrap().to_string();
        assert!(error.contains("not a regular file"), "{error}");
    }

    /// The journal that network disks get, and back to the log that local ones get.
    #[test]
    fn a_store_moves_between_kinds_of_disks() {
        let path = std::env::temp_dir().join(format!("foretell-journal-{}.db", std::process::id()));
        let mut digest = [0; 32];
        for (round, journal) in ["truncate", "wal", "truncate"].into_iter().enumerate() {
            let mut store = Store::open_as(&path, journal).unwrap();
            let mode: String =
                store.connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
            assert_eq!(mode, journal);
            if round == 0 {
                let study = store.create("a", &serde_json::json!({}), "").unwrap();
                digest = store.trials(&study).unwrap().1;
            }
            let study = store.find("a").unwrap().unwrap();
            digest = store.append(&study, &trials(10 * round as u64, 10), 0, &digest).unwrap();
        }
        assert_eq!(Store::read(&path).unwrap().verify().unwrap(), (1, 30));
        assert!(remote(0x6969) && !remote(0xef53), "NFS is remote, ext4 is not");
        assert!(filesystem(&std::env::temp_dir()).is_none_or(|kind| kind != 0));
        std::fs::remove_file(&path).unwrap();
    }

    fn read_first(path: &Path, connection: &Connection) -> [u8; 32] {
        crate::store::migrate::unsealed(path, connection).unwrap()[0].first_digest()
    }

    /// A store that may not grow is full: nothing stored is lost, and it goes on once there is room.
    #[test]
    fn a_full_disk_is_named_and_loses_nothing() {
        let mut store = Store::memory().unwrap();
        let study = store.create("a", &serde_json::json!({}), "").unwrap();
        store.connection.pragma_update(None, "max_page_count", 30).unwrap();
        let mut digest = store.trials(&study).unwrap().1;
        let error = loop {
            let count = store.find("a").unwrap().unwrap().trials;
            match store.append(&study, &trials(count, 10), 0, &digest) {
                Ok(next) => digest = next,
                Err(error) => break error.to_string(),
            }
        };
        assert!(error.contains("full") && error.contains("make room"), "{error}");
        let (_, stored) = store.verify().unwrap();
        assert!(stored >= 50 && stored.is_multiple_of(10), "{stored}");
        store.connection.pragma_update(None, "max_page_count", 3000).unwrap();
        store.append(&study, &trials(stored, 10), 0, &digest).unwrap();
        assert_eq!(store.verify().unwrap(), (1, stored + 10));
    }
}
