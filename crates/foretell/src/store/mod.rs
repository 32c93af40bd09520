//! Remembers studies: one SQLite file, trials only ever added, one writer per study.
//!
//! Every trial carries a digest of itself and of all before it, so that what is read back is what was written or an
//! error: damage that SQLite cannot see breaks the chain. Evaluations and measurements form chains of their own. The row of
//! a study holds where its chains end, so that nothing can be missing, and the last digests of trials and evaluations make
//! the study's hash. What a study is ranked by is packed beside it: the best of a million trials are found without reading
//! them, and a trial that is read alone is checked against the digest before it.
//!
//! A process that is killed loses only what was not yet appended. No SQL stands outside this folder.

mod anchor;
mod delete;
mod evaluation;
pub(crate) mod failpoint;
mod holder;
mod lease;
mod measurement;
mod merge;
mod migrate;
mod open;
mod place;
mod ranks;
mod read;
mod repair;
mod salvage;
mod trial;
mod verify;
mod write;

pub use evaluation::Evaluation;
pub use holder::Holder;
pub use lease::Lease;
pub use measurement::Measurement;
pub use merge::Merged;
pub use ranks::Ranks;
pub use repair::{Recovered, Repaired, repair};
pub use trial::{Score, Trial};

use crate::error::{Error, Result};
use anchor::{Anchor, Digest};
use lease::Token;
use open::wrap;
use place::FileId;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Weak;
use std::time::{SystemTime, UNIX_EPOCH};

/// A file of studies.
pub struct Store {
    connection: Connection,
    path: PathBuf,
    /// Which file was opened, where the system tells.
    file: Option<FileId>,
    /// The leases of this store's studies that are held through it.
    leases: Vec<(i64, Weak<Token>)>,
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
    pub(crate) anchor: Anchor,
}

impl Study {
    /// What the chain of digests starts from.
    fn first_digest(&self) -> Digest {
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

    /// A transaction that writes; it begins once no other process writes.
    fn transaction(&mut self) -> Result<Transaction<'_>> {
        let fail = |e| wrap(&self.path, e);
        failpoint::pass(&self.connection).map_err(fail)?;
        self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(fail)
    }

    /// Every study, oldest first.
    pub fn studies(&self) -> Result<Vec<Study>> {
        self.at_once(|| {
            failpoint::pass(&self.connection).map_err(|e| self.fail(e))?;
            anchor::read_all(&self.path, &self.connection)
        })
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
            "version": env!("CARGO_PKG_VERSION"), "command": command, "processor": processor(), "host": holder::host(),
            "time": now(),
        });
        let path = self.path.clone();
        let transaction = self.transaction()?;
        // Another process may have been faster.
        let studies = anchor::read_all(&path, &transaction)?;
        if let Some(study) = studies.into_iter().find(|study| study.name == name) {
            return Ok(study);
        }
        let study = Study {
            key: 0,
            name: name.to_owned(),
            config: config.clone(),
            provenance,
            stopped: None,
            rejected: 0,
            trials: 0,
            anchor: Anchor::default(),
        };
        let study = anchor::insert(&path, &transaction, &study)?;
        write::commit(&path, transaction)?;
        Ok(study)
    }

    /// Becomes the one writer of a study, or says who is. Where it takes a while to find out whether the last writer still
    /// lives, this waits for it.
    pub fn lease(&mut self, study: &Study) -> Result<Lease> {
        let (lease, token) = Lease::take(&self.path, &mut self.connection, study)?;
        self.leases.retain(|(_, token)| token.strong_count() > 0);
        self.leases.push((study.key, token));
        Ok(lease)
    }

    /// Frees a study whose writer is gone without a trace; who held it. A writer that lives after all stops at its next
    /// write, and nothing that it stored is lost.
    pub fn unlock(&mut self, study: &Study) -> Result<Option<Holder>> {
        let path = self.path.clone();
        let transaction = self.transaction()?;
        let holder = lease::release(&path, &transaction, study)?;
        write::commit(&path, transaction)?;
        Ok(holder)
    }
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
