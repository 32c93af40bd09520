//! Opening a file of studies: new, old, newer, damaged, read-only or another program's.

use super::{Store, failpoint, ranks};
use crate::error::{Error, Result};
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension};
use std::path::Path;
use std::time::Duration;

/// Each step of the schema, oldest first: a file, numbered, never edited once released.
const SCHEMA: &[&str] = &[include_str!("schema/001.sql"), include_str!("schema/002.sql")];
/// The step that packs what trials are ranked by.
const PACKED: usize = 1;
/// "fore" in ASCII: says that a SQLite file is ours.
const APPLICATION: i64 = 0x666f_7265;
/// How long one process waits for another's transaction.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

impl Store {
    /// Opens a store to write; it is made if it is not there.
    pub fn open(path: &Path) -> Result<Self> {
        let fail = |e| wrap(path, e);
        failpoint::pass();
        let mut connection = Connection::open(path).map_err(fail)?;
        connection.busy_timeout(PATIENCE).map_err(fail)?;
        let found = version(path, &connection)?;
        connection.pragma_update(None, "journal_mode", "wal").map_err(fail)?;
        connection.pragma_update(None, "synchronous", "full").map_err(fail)?;
        connection.pragma_update(None, "foreign_keys", true).map_err(fail)?;
        failpoint::pass();
        migrate(path, &mut connection, found)?;
        failpoint::pass();
        Ok(Store { connection, path: path.to_owned() })
    }

    /// Opens a store to read; a writer is not disturbed, and nothing is changed but an old schema, which is brought up to
    /// date. On read-only media a store is read as it lies there.
    pub fn read(path: &Path) -> Result<Self> {
        if !path.exists() {
            let source = std::io::Error::from(std::io::ErrorKind::NotFound);
            return Err(Error::Read { path: path.into(), source });
        }
        match Self::reader(path, &path.to_string_lossy(), OpenFlags::SQLITE_OPEN_READ_WRITE) {
            Err(Error::Store { reason, .. }) if !writable(path) => Self::immutable(path, reason),
            other => other,
        }
    }

    fn reader(path: &Path, name: &str, flags: OpenFlags) -> Result<Self> {
        let fail = |e| wrap(path, e);
        let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(name, flags).map_err(fail)?;
        connection.busy_timeout(PATIENCE).map_err(fail)?;
        match version(path, &connection)? {
            0 => return Err(corrupt(path, "it holds no studies")),
            found => migrate(path, &mut connection, found)?,
        }
        connection.pragma_update(None, "query_only", true).map_err(fail)?;
        Ok(Store { connection, path: path.to_owned() })
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

/// Whether both the file and its folder can be written, tried out since permissions do not say it all.
fn writable(path: &Path) -> bool {
    let trial = beside(path, &format!("-try-{}", std::process::id()));
    let made = std::fs::File::create_new(&trial).is_ok();
    if made {
        let _ = std::fs::remove_file(&trial);
    }
    made && std::fs::File::options().append(true).open(path).is_ok()
}

/// The file of the same name with something added.
pub(super) fn beside(path: &Path, ending: &str) -> std::path::PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// The schema version of a file that is ours or empty.
fn version(path: &Path, connection: &Connection) -> Result<usize> {
    let fail = |e| wrap(path, e);
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).map_err(fail);
    let (application, version) = (pragma("application_id")?, pragma("user_version")?);
    let sql = "SELECT 1 FROM sqlite_schema LIMIT 1";
    let empty = connection.query_row(sql, [], |_| Ok(())).optional().map_err(fail)?.is_none();
    if application != APPLICATION && !(empty && application == 0 && version == 0) {
        return Err(Error::Store { path: path.into(), reason: "is a database of another program".into() });
    }
    match usize::try_from(version) {
        Ok(found) if found <= SCHEMA.len() => Ok(found),
        _ => Err(Error::StoreVersion { path: path.into(), found: version, known: SCHEMA.len() as i64 }),
    }
}

fn migrate(path: &Path, connection: &mut Connection, from: usize) -> Result<()> {
    let fail = |e| wrap(path, e);
    for (step, sql) in SCHEMA.iter().enumerate().skip(from) {
        let transaction =
            connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).map_err(fail)?;
        // Another process may have been faster.
        let found: i64 =
            transaction.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(fail)?;
        if found == step as i64 {
            transaction.execute_batch(sql).map_err(fail)?;
            if step == PACKED {
                ranks::pack_all(path, &transaction)?;
            }
            transaction.pragma_update(None, "application_id", APPLICATION).map_err(fail)?;
            transaction.pragma_update(None, "user_version", step as i64 + 1).map_err(fail)?;
        }
        failpoint::pass();
        transaction.commit().map_err(fail)?;
    }
    Ok(())
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
            matches!(code.code, ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
                // A schema that no longer parses or lost a table was ours once: it is damaged, not misused.
                || text.as_ref().is_some_and(|text| text.contains("no such") || text.contains("malformed"))
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
        Some(ErrorCode::ReadOnly) => {
            "it cannot be written there: copy it elsewhere, or name another with --store"
        }
        Some(ErrorCode::CannotOpen) => {
            "see that its folder exists and can be written, or name another with --store"
        }
        Some(ErrorCode::SystemIoFailure) => {
            "the file system failed: see its space and state, and run the same command again"
        }
        _ => return Error::Store { path: path.into(), reason: said },
    };
    Error::Store { path: path.into(), reason: format!("{said}: {cure}") }
}
