//! Remembers studies: one SQLite file, trials only ever added, one writer per study.
//!
//! Every trial carries a digest of itself and of all before it, so that what is read back is what was written or an
//! error: damage that SQLite cannot see breaks the chain. The last digest is the study's hash. Trials of a generation are
//! added in one transaction; whoever is killed loses at most that.
//!
//! No SQL stands outside this folder.

mod lease;
mod trial;

pub use lease::Lease;
pub use trial::{Score, Trial};

use crate::error::{Error, Result};
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, params};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Each step of the schema, oldest first: a file, numbered, never edited once released.
const SCHEMA: &[&str] = &[include_str!("schema/001.sql")];
/// "fore" in ASCII: says that a SQLite file is ours.
const APPLICATION: i64 = 0x666f_7265;
/// How long one process waits for another's transaction.
const PATIENCE: Duration = Duration::from_secs(10);

/// A file of studies.
pub struct Store {
    connection: Connection,
    path: PathBuf,
}

/// A study as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Study {
    pub(crate) key: i64,
    /// Its name.
    pub name: String,
    /// All that decides which trials there are.
    pub config: Value,
    /// Who made it, when, with what.
    pub provenance: Value,
    /// Why it ended; nothing while it has not.
    pub stopped: Option<String>,
    /// Candidates refused before scoring.
    pub rejected: u64,
    /// How many trials it has.
    pub trials: u64,
}

impl Store {
    /// Opens a store to write; it is made if it is not there.
    pub fn open(path: &Path) -> Result<Self> {
        let fail = |e| wrap(path, e);
        let mut connection = Connection::open(path).map_err(fail)?;
        connection.busy_timeout(PATIENCE).map_err(fail)?;
        let fresh = version(path, &connection)?;
        connection.pragma_update(None, "journal_mode", "wal").map_err(fail)?;
        connection.pragma_update(None, "synchronous", "full").map_err(fail)?;
        connection.pragma_update(None, "foreign_keys", true).map_err(fail)?;
        migrate(&mut connection, fresh).map_err(fail)?;
        Ok(Store { connection, path: path.to_owned() })
    }

    /// Opens a store to read; nothing is changed, and a writer is not disturbed.
    pub fn read(path: &Path) -> Result<Self> {
        if !path.exists() {
            let source = std::io::Error::from(std::io::ErrorKind::NotFound);
            return Err(Error::Read { path: path.into(), source });
        }
        let fail = |e| wrap(path, e);
        let connection = Connection::open_with_flags(
            path,
            OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
        )
        .map_err(fail)?;
        connection.busy_timeout(PATIENCE).map_err(fail)?;
        if version(path, &connection)? < SCHEMA.len() {
            return Err(corrupt(path, "it holds no studies"));
        }
        connection.pragma_update(None, "query_only", true).map_err(fail)?;
        Ok(Store { connection, path: path.to_owned() })
    }

    /// A store that is gone with the process.
    pub fn memory() -> Result<Self> {
        Self::open(Path::new(":memory:"))
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn fail(&self, error: rusqlite::Error) -> Error {
        wrap(&self.path, error)
    }

    /// Every study, oldest first.
    pub fn studies(&self) -> Result<Vec<Study>> {
        let sql = "SELECT id, name, config, provenance, stopped, rejected,
                          (SELECT count(*) FROM trials WHERE study = studies.id) FROM studies ORDER BY id";
        let mut statement = self.connection.prepare(sql).map_err(|e| self.fail(e))?;
        let rows = statement.query_map([], |row| {
            let texts = (row.get::<_, String>(2)?, row.get::<_, String>(3)?);
            Ok((row.get(0)?, row.get(1)?, texts, row.get(4)?, row.get::<_, i64>(5)?, row.get::<_, i64>(6)?))
        });
        let mut studies = Vec::new();
        for row in rows.map_err(|e| self.fail(e))? {
            let (key, name, texts, stopped, rejected, trials) = row.map_err(|e| self.fail(e))?;
            let json = |text: &str| {
                serde_json::from_str(text)
                    .map_err(|_| corrupt(&self.path, format!("study '{name}' is no JSON")))
            };
            let (config, provenance) = (json(&texts.0)?, json(&texts.1)?);
            let (rejected, trials) = (rejected.max(0) as u64, trials.max(0) as u64);
            studies.push(Study { key, name, config, provenance, stopped, rejected, trials });
        }
        Ok(studies)
    }

    /// The study of this name, if there is one.
    pub fn find(&self, name: &str) -> Result<Option<Study>> {
        Ok(self.studies()?.into_iter().find(|study| study.name == name))
    }

    /// The study of this name, made if it is not there.
    pub fn create(&mut self, name: &str, config: &Value, command: &str) -> Result<Study> {
        if let Some(study) = self.find(name)? {
            return Ok(study);
        }
        let provenance = json!({
            "version": env!("CARGO_PKG_VERSION"), "command": command, "processor": processor(), "host": lease::host(),
            "time": now(),
        });
        let sql = "INSERT OR IGNORE INTO studies (name, config, provenance) VALUES (?1, ?2, ?3)";
        self.connection
            .execute(sql, params![name, config.to_string(), provenance.to_string()])
            .map_err(|e| self.fail(e))?;
        self.find(name)?
            .ok_or_else(|| corrupt(&self.path, format!("study '{name}' was written and is not there")))
    }

    /// Becomes the one writer of a study, or says who is.
    pub fn lease(&mut self, study: &Study) -> Result<Lease> {
        Lease::take(&self.path, &mut self.connection, study)
    }

    /// Adds the trials of a generation, all or none; `rejected` is what was refused so far.
    pub fn append(
        &mut self,
        study: &Study,
        trials: &[Trial],
        rejected: u64,
        previous: &[u8; 32],
    ) -> Result<[u8; 32]> {
        let mut digest = *previous;
        let done = (|| {
            let transaction = self.connection.transaction()?;
            {
                let sql = "INSERT INTO trials VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
                let mut insert = transaction.prepare_cached(sql)?;
                for trial in trials {
                    let row = trial.row();
                    digest = trial.digest(&digest);
                    let number = trial.number as i64;
                    insert.execute(params![
                        study.key,
                        number,
                        trial.id,
                        trial.genes,
                        row.objectives,
                        row.scores,
                        row.numbers,
                        trial.seconds,
                        &digest[..]
                    ])?;
                }
            }
            let sql = "UPDATE studies SET rejected = ?2 WHERE id = ?1";
            transaction.execute(sql, params![study.key, rejected as i64])?;
            transaction.commit()
        })();
        done.map_err(|e| self.fail(e))?;
        Ok(digest)
    }

    /// Notes why a study ended, or that it goes on.
    pub fn stop(&mut self, study: &Study, reason: Option<&str>) -> Result<()> {
        let sql = "UPDATE studies SET stopped = ?2 WHERE id = ?1";
        self.connection.execute(sql, params![study.key, reason]).map_err(|e| self.fail(e))?;
        Ok(())
    }

    /// All trials of a study in order, each checked against its digest, and the study's hash.
    pub fn trials(&self, study: &Study) -> Result<(Vec<Trial>, [u8; 32])> {
        let sql = "SELECT number, id, genes, objectives, scores, numbers, seconds, digest
                   FROM trials WHERE study = ?1 ORDER BY number";
        let mut statement = self.connection.prepare(sql).map_err(|e| self.fail(e))?;
        let mut rows = statement.query([study.key]).map_err(|e| self.fail(e))?;
        let mut trials = Vec::new();
        let mut digest = first_digest(&study.config);
        while let Some(row) = rows.next().map_err(|e| self.fail(e))? {
            let (trial, stored) = Trial::read(row).map_err(|e| self.fail(e))?;
            let damaged = || {
                let name = &study.name;
                corrupt(
                    &self.path,
                    format!("trial {} of study '{name}' is not what was written", trials.len()),
                )
            };
            let trial = trial.ok_or_else(damaged)?;
            digest = trial.digest(&digest);
            if trial.number != trials.len() as u64 || digest[..] != stored[..] {
                return Err(damaged());
            }
            trials.push(trial);
        }
        Ok((trials, digest))
    }

    /// Checks the file page by page and every trial by its digest; the number of studies and trials.
    pub fn verify(&self) -> Result<(u64, u64)> {
        let sql = "PRAGMA integrity_check(1)";
        let said: String = self.connection.query_row(sql, [], |row| row.get(0)).map_err(|e| self.fail(e))?;
        if said != "ok" {
            return Err(corrupt(&self.path, said));
        }
        let studies = self.studies()?;
        let mut count = 0;
        for study in &studies {
            count += self.trials(study)?.0.len() as u64;
        }
        Ok((studies.len() as u64, count))
    }
}

/// What the chain of digests starts from.
pub(crate) fn first_digest(config: &Value) -> [u8; 32] {
    *blake3::hash(config.to_string().as_bytes()).as_bytes()
}

/// The vector instructions that scores were computed with.
pub fn processor() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx512f") {
            return "AVX-512";
        }
        if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
            return "AVX2 + FMA";
        }
    }
    "baseline"
}

fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs() as i64)
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

fn migrate(connection: &mut Connection, from: usize) -> rusqlite::Result<()> {
    for (step, sql) in SCHEMA.iter().enumerate().skip(from) {
        let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        // Another process may have been faster.
        let found: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if found == step as i64 {
            transaction.execute_batch(sql)?;
            transaction.pragma_update(None, "application_id", APPLICATION)?;
            transaction.pragma_update(None, "user_version", step as i64 + 1)?;
        }
        transaction.commit()?;
    }
    Ok(())
}

fn corrupt(path: &Path, reason: impl Into<String>) -> Error {
    Error::Corrupt { path: path.into(), reason: reason.into() }
}

/// What SQLite said, as one of ours.
fn wrap(path: &Path, error: rusqlite::Error) -> Error {
    use rusqlite::Error as Sql;
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
        corrupt(path, error.to_string())
    } else {
        Error::Store { path: path.into(), reason: error.to_string() }
    }
}
