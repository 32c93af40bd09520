//! Remembers studies: one SQLite file, trials only ever added, one writer per study.
//!
//! Every trial carries a digest of itself and of all before it, so that what is read back is what was written or an
//! error: damage that SQLite cannot see breaks the chain. Evaluations form a chain of their own, and the last digests of
//! both make the study's hash. What a study is ranked by is packed beside it: the best of a million trials are found
//! without reading them, and a trial that is read alone is checked against the digest before it.
//!
//! A process that is killed loses only what was not yet appended. No SQL stands outside this folder.

mod delete;
mod evaluation;
mod failpoint;
mod lease;
mod measurement;
mod merge;
mod open;
mod ranks;
mod repair;
mod trial;

pub use evaluation::Evaluation;
pub use lease::Lease;
pub use measurement::Measurement;
pub use merge::Merged;
pub use ranks::Ranks;
pub use repair::{Recovered, Repaired, repair};
pub use trial::{Score, Trial};

use crate::error::{Error, Result};
use open::{corrupt, wrap};
use rusqlite::{Connection, OptionalExtension, params};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

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

impl Study {
    /// What the chain of digests starts from.
    fn first_digest(&self) -> [u8; 32] {
        *blake3::hash(self.config.to_string().as_bytes()).as_bytes()
    }
}

impl Store {
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

    /// Sees the store from now on as it is now, whatever others write.
    pub fn hold(&self) -> Result<()> {
        self.connection.execute_batch("BEGIN; SELECT 1 FROM studies").map_err(|e| self.fail(e))
    }

    /// Several reads of one moment.
    fn at_once<T>(&self, read: impl FnOnce() -> Result<T>) -> Result<T> {
        if !self.connection.is_autocommit() {
            return read();
        }
        self.hold()?;
        let found = read();
        self.connection.execute_batch("COMMIT").map_err(|e| self.fail(e))?;
        found
    }

    /// Every study, oldest first.
    pub fn studies(&self) -> Result<Vec<Study>> {
        read_studies(&self.path, &self.connection)
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
        failpoint::pass();
        let sql = "INSERT OR IGNORE INTO studies (name, config, provenance) VALUES (?1, ?2, ?3)";
        self.connection
            .execute(sql, params![name, config.to_string(), provenance.to_string()])
            .map_err(|e| self.fail(e))?;
        failpoint::pass();
        self.find(name)?
            .ok_or_else(|| corrupt(&self.path, format!("study '{name}' was written and is not there")))
    }

    /// Becomes the one writer of a study, or says who is.
    pub fn lease(&mut self, study: &Study) -> Result<Lease> {
        failpoint::pass();
        let lease = Lease::take(&self.path, &mut self.connection, study);
        failpoint::pass();
        lease
    }

    /// Adds the next trials, all or none; `rejected` is what was refused so far.
    pub fn append(
        &mut self,
        study: &Study,
        trials: &[Trial],
        rejected: u64,
        previous: &[u8; 32],
    ) -> Result<[u8; 32]> {
        let done = (|| {
            failpoint::pass();
            let transaction = self.connection.transaction()?;
            let digest = insert(&transaction, study.key, trials, previous)?;
            let sql = "UPDATE studies SET rejected = ?2 WHERE id = ?1";
            transaction.execute(sql, params![study.key, rejected as i64])?;
            failpoint::pass();
            transaction.commit()?;
            failpoint::pass();
            Ok(digest)
        })();
        done.map_err(|e| self.fail(e))
    }

    /// Notes why a study ended, or that it goes on.
    pub fn stop(&mut self, study: &Study, reason: Option<&str>) -> Result<()> {
        let sql = "UPDATE studies SET stopped = ?2 WHERE id = ?1";
        failpoint::pass();
        self.connection.execute(sql, params![study.key, reason]).map_err(|e| self.fail(e))?;
        failpoint::pass();
        Ok(())
    }

    /// All trials of a study in order, each checked against its digest, and the last digest.
    pub fn trials(&self, study: &Study) -> Result<(Vec<Trial>, [u8; 32])> {
        let mut trials = Vec::new();
        let digest = each_trial(&self.path, &self.connection, study, &mut |trial, _| trials.push(trial))?;
        Ok((trials, digest))
    }

    /// One trial, checked against its digest and the one before it.
    pub fn trial(&self, study: &Study, number: u64) -> Result<Trial> {
        let damaged = || damaged(&self.path, study, number);
        let previous = match number.checked_sub(1) {
            None => study.first_digest(),
            Some(before) => self.digest(study, before)?.ok_or_else(damaged)?,
        };
        let sql = "SELECT number, id, genes, objectives, scores, numbers, seconds, digest
                   FROM trials WHERE study = ?1 AND number = ?2";
        let mut statement = self.connection.prepare_cached(sql).map_err(|e| self.fail(e))?;
        let found = statement.query_row(params![study.key, number as i64], Trial::read).optional();
        let (trial, stored) = found.map_err(|e| self.fail(e))?.ok_or_else(damaged)?;
        trial.filter(|trial| trial.digest(&previous)[..] == stored[..]).ok_or_else(damaged)
    }

    fn digest(&self, study: &Study, number: u64) -> Result<Option<[u8; 32]>> {
        let sql = "SELECT digest FROM trials WHERE study = ?1 AND number = ?2";
        let mut statement = self.connection.prepare_cached(sql).map_err(|e| self.fail(e))?;
        let found = statement.query_row(params![study.key, number as i64], |row| row.get::<_, Vec<u8>>(0));
        let found = found.optional().map_err(|e| self.fail(e))?;
        Ok(found.and_then(|digest| digest.try_into().ok()))
    }

    /// What all trials of a study are ranked by, checked against their digests without reading them.
    pub fn ranks(&self, study: &Study) -> Result<Ranks> {
        self.at_once(|| {
            let trials = count(&self.path, &self.connection, study.key)?;
            if trials > 0 {
                // The settings say what the numbers mean, and the first trial's digest says whether they are the study's.
                self.trial(study, 0)?;
            }
            ranks::read(&self.path, &self.connection, &Study { trials, ..study.clone() })
        })
    }

    /// What evaluators said of trials, in the order asked, and the last digest.
    pub fn evaluations(&self, study: &Study) -> Result<(Vec<Evaluation>, [u8; 32])> {
        evaluation::read(&self.path, &self.connection, study)
    }

    /// Adds what an evaluator said, at once.
    pub fn evaluated(
        &mut self,
        study: &Study,
        number: u64,
        evaluation: &Evaluation,
        previous: &[u8; 32],
    ) -> Result<[u8; 32]> {
        failpoint::pass();
        let digest = evaluation::insert(&self.connection, study.key, number, evaluation, previous);
        failpoint::pass();
        digest.map_err(|e| self.fail(e))
    }

    /// Latencies measured for a study, in the order made, and the last digest.
    pub fn measurements(&self, study: &Study) -> Result<(Vec<Measurement>, [u8; 32])> {
        measurement::read(&self.path, &self.connection, study)
    }

    /// Adds a measured latency.
    pub fn measured(
        &mut self,
        study: &Study,
        number: u64,
        measurement: &Measurement,
        previous: &[u8; 32],
    ) -> Result<[u8; 32]> {
        let digest = measurement::insert(&self.connection, study.key, number, measurement, previous);
        digest.map_err(|e| self.fail(e))
    }

    /// What the study was decided to have found. None if nothing was decided, if anything was added since, or if the
    /// record is damaged: it follows from the rest and can be decided again.
    pub fn answer(&self, study: &Study) -> Result<Option<Value>> {
        self.at_once(|| {
            let sql = "SELECT answer, digest FROM answers WHERE study = ?1";
            let row = |row: &rusqlite::Row| Ok((row.get::<_, String>(0)?, row.get::<_, Vec<u8>>(1)?));
            let found = self.connection.query_row(sql, [study.key], row).optional();
            let Some((text, stored)) = found.map_err(|e| self.fail(e))? else { return Ok(None) };
            let fits = self.answer_digest(study, &text)?[..] == stored[..];
            Ok(fits.then(|| serde_json::from_str(&text).ok()).flatten())
        })
    }

    /// Stores what the study was decided to have found.
    pub fn set_answer(&mut self, study: &Study, answer: &Value) -> Result<()> {
        let text = answer.to_string();
        let digest = self.answer_digest(study, &text)?;
        failpoint::pass();
        let sql = "INSERT OR REPLACE INTO answers VALUES (?1, ?2, ?3)";
        self.connection.execute(sql, params![study.key, text, &digest[..]]).map_err(|e| self.fail(e))?;
        failpoint::pass();
        Ok(())
    }

    fn answer_digest(&self, study: &Study, text: &str) -> Result<[u8; 32]> {
        let (_, measured) = self.measurements(study)?;
        let hash = self.hash(study)?;
        let mut hasher = blake3::Hasher::new();
        Ok(*hasher.update(hash.as_bytes()).update(&measured).update(text.as_bytes()).finalize().as_bytes())
    }

    /// A hash of all trials and evaluations: equal hashes, equal studies.
    pub fn hash(&self, study: &Study) -> Result<String> {
        self.at_once(|| {
            let trials = count(&self.path, &self.connection, study.key)?;
            let last = match trials.checked_sub(1) {
                None => study.first_digest(),
                Some(last) => self.digest(study, last)?.ok_or_else(|| damaged(&self.path, study, last))?,
            };
            let (evaluations, digest) = self.evaluations(study)?;
            let mut hash = blake3::Hash::from_bytes(last);
            if !evaluations.is_empty() {
                hash = blake3::Hasher::new().update(&last).update(&digest).finalize();
            }
            Ok(hash.to_hex().to_string())
        })
    }

    /// Checks the file page by page, every trial and evaluation by its digest, and what trials are ranked by; the number
    /// of studies and trials.
    pub fn verify(&self) -> Result<(u64, u64)> {
        let sql = "PRAGMA integrity_check(1)";
        let said: String = self.connection.query_row(sql, [], |row| row.get(0)).map_err(|e| self.fail(e))?;
        if said != "ok" {
            return Err(corrupt(&self.path, said));
        }
        self.at_once(|| {
            let studies = self.studies()?;
            let mut count = 0;
            for study in &studies {
                let (trials, _) = self.trials(study)?;
                self.evaluations(study)?;
                self.measurements(study)?;
                let ranks = self.ranks(study)?;
                if !Ranks::of(&trials).is_some_and(|own| own.same(&ranks)) {
                    let reason = format!("numbers of study '{}' are not those of its trials", study.name);
                    return Err(corrupt(&self.path, reason));
                }
                count += trials.len() as u64;
            }
            Ok((studies.len() as u64, count))
        })
    }
}

/// Adds trials and what they are ranked by; the last digest.
fn insert(
    connection: &Connection,
    study: i64,
    trials: &[Trial],
    previous: &[u8; 32],
) -> rusqlite::Result<[u8; 32]> {
    let sql = "INSERT INTO trials VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    let mut insert = connection.prepare_cached(sql)?;
    let mut digests = Vec::with_capacity(trials.len());
    let mut digest = *previous;
    for trial in trials {
        let row = trial.row();
        digest = trial.digest(&digest);
        digests.push(digest);
        insert.execute(params![
            study,
            trial.number as i64,
            trial.id,
            trial.genes,
            row.objectives,
            row.scores,
            row.numbers,
            trial.seconds,
            &digest[..]
        ])?;
        failpoint::pass();
    }
    ranks::pack(connection, study, trials.iter().zip(digests))?;
    Ok(digest)
}

fn read_studies(path: &Path, connection: &Connection) -> Result<Vec<Study>> {
    let fail = |e| wrap(path, e);
    let sql = "SELECT id, name, config, provenance, stopped, rejected FROM studies ORDER BY id";
    let mut statement = connection.prepare(sql).map_err(fail)?;
    let rows = statement.query_map([], |row| {
        let texts = (row.get::<_, String>(2)?, row.get::<_, String>(3)?);
        Ok((row.get(0)?, row.get(1)?, texts, row.get(4)?, row.get::<_, i64>(5)?))
    });
    let mut studies = Vec::new();
    for row in rows.map_err(fail)? {
        let (key, name, texts, stopped, rejected) = row.map_err(fail)?;
        let json = |text: &str| {
            serde_json::from_str(text).map_err(|_| corrupt(path, format!("study '{name}' is no JSON")))
        };
        let (config, provenance) = (json(&texts.0)?, json(&texts.1)?);
        let trials = count(path, connection, key)?;
        let rejected = rejected.max(0) as u64;
        studies.push(Study { key, name, config, provenance, stopped, rejected, trials });
    }
    Ok(studies)
}

/// How many trials a study has: they are numbered without gaps.
fn count(path: &Path, connection: &Connection, study: i64) -> Result<u64> {
    let sql = "SELECT max(number) FROM trials WHERE study = ?1";
    let last: Option<i64> =
        connection.query_row(sql, [study], |row| row.get(0)).map_err(|e| wrap(path, e))?;
    Ok(last.map_or(0, |last| last.max(0) as u64 + 1))
}

/// Walks the trials of a study in order, each checked against its digest; the last digest.
fn each_trial(
    path: &Path,
    connection: &Connection,
    study: &Study,
    visit: &mut dyn FnMut(Trial, [u8; 32]),
) -> Result<[u8; 32]> {
    let fail = |e| wrap(path, e);
    let sql = "SELECT number, id, genes, objectives, scores, numbers, seconds, digest
               FROM trials WHERE study = ?1 ORDER BY number";
    let mut statement = connection.prepare(sql).map_err(fail)?;
    let mut rows = statement.query([study.key]).map_err(fail)?;
    let (mut digest, mut number) = (study.first_digest(), 0);
    while let Some(row) = rows.next().map_err(fail)? {
        let (trial, stored) = Trial::read(row).map_err(fail)?;
        let trial = trial.ok_or_else(|| damaged(path, study, number))?;
        digest = trial.digest(&digest);
        if trial.number != number || digest[..] != stored[..] {
            return Err(damaged(path, study, number));
        }
        visit(trial, digest);
        number += 1;
    }
    Ok(digest)
}

fn damaged(path: &Path, study: &Study, trial: u64) -> Error {
    corrupt(path, format!("trial {trial} of study '{}' is not what was written", study.name))
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
