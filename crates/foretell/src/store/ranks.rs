//! What trials are ranked by, packed by the thousand, so that the best of a million are found without reading them.
//!
//! A chunk carries a digest of its numbers and of the digest of its last trial: numbers that are damaged, or are not
//! those of the trials beside them, are an error.

use super::anchor::Digest;
use super::open::{corrupt, wrap};
use super::{Study, Trial};
use crate::error::{Error, Result};
use rusqlite::{Connection, OptionalExtension, params};
use std::path::Path;

/// Trials of a chunk.
pub(super) const CHUNK: u64 = 1024;
/// The most objectives of a trial, and numbers of one: each count is stored in a byte.
const MOST: usize = u8::MAX as usize;

/// What trials are ranked by: for each objective one number, or the parts of a score that has a value only within a set.
#[derive(Debug, Clone, Default)]
pub struct Ranks {
    /// Numbers of each objective, and of all.
    widths: Vec<u8>,
    row: usize,
    /// All numbers of a trial, trial after trial; NaN for those that failed.
    numbers: Vec<f64>,
    count: usize,
}

impl Ranks {
    /// Those of some trials.
    pub fn of(trials: &[Trial]) -> Option<Self> {
        let mut bytes = Vec::new();
        trials.iter().for_each(|trial| record(trial, &mut bytes));
        let mut ranks = Ranks::default();
        ranks.extend(&bytes, trials.len())?;
        Some(ranks)
    }

    /// Adds those of further trials of the same objectives; nothing if they are of others.
    pub fn append(&mut self, other: &Ranks) -> Option<()> {
        if self.widths.is_empty() && !other.widths.is_empty() {
            (self.widths, self.row) = (other.widths.clone(), other.row);
            self.numbers.resize(self.count * self.row, f64::NAN);
        }
        if other.widths.is_empty() {
            self.numbers.resize(self.numbers.len() + other.count * self.row, f64::NAN);
        } else if other.widths == self.widths {
            self.numbers.extend(&other.numbers);
        } else {
            return None;
        }
        self.count += other.count;
        Some(())
    }

    /// Keeps those of the first `count` trials.
    pub fn truncate(&mut self, count: usize) {
        self.count = self.count.min(count);
        self.numbers.truncate(self.count * self.row);
    }

    /// How many trials there are, failed ones included.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The numbers of one objective, trial after trial; NaN for those that failed.
    pub fn objective(&self, place: usize) -> impl Iterator<Item = &[f64]> {
        let widths = || self.widths.iter().map(|width| usize::from(*width));
        let (from, width) = (widths().take(place).sum::<usize>(), widths().nth(place).unwrap_or(1));
        (0..self.count).map(move |trial| match self.row {
            // Everything failed so far.
            0 => &[f64::NAN][..],
            row => &self.numbers[trial * row + from..][..width],
        })
    }

    /// Whether a trial failed.
    pub fn failed(&self, trial: usize) -> bool {
        self.row == 0 || self.numbers[trial * self.row].is_nan()
    }

    /// Adds the records of `count` trials; nothing if that is not what the bytes hold.
    fn extend(&mut self, mut bytes: &[u8], count: usize) -> Option<()> {
        for _ in 0..count {
            let objectives = usize::from(*bytes.first()?);
            let head = bytes.split_off(..1 + objectives)?;
            if objectives == 0 {
                self.numbers.resize(self.numbers.len() + self.row, f64::NAN);
            } else {
                if self.widths.is_empty() {
                    self.widths = head[1..].to_vec();
                    self.row = self.widths.iter().map(|width| usize::from(*width)).sum();
                    self.numbers.resize(self.count * self.row, f64::NAN);
                }
                if head[1..] != self.widths {
                    return None;
                }
                let (numbers, _) = bytes.split_off(..8 * self.row)?.as_chunks::<8>();
                self.numbers.extend(numbers.iter().map(|number| f64::from_le_bytes(*number)));
            }
            self.count += 1;
        }
        bytes.is_empty().then_some(())
    }
}

/// One trial: how many objectives, how many numbers of each, the numbers.
fn record(trial: &Trial, bytes: &mut Vec<u8>) {
    if !trial.ok() {
        return bytes.push(0);
    }
    let mut sets = trial.scores.iter().map(|score| &score.parts[..]).filter(|parts| !parts.is_empty());
    let numbers = |value: &f64| match value.is_nan() {
        true => sets.next().unwrap_or(&[f64::NAN]).to_vec(),
        false => vec![*value],
    };
    let numbers: Vec<Vec<f64>> = trial.objectives.iter().map(numbers).collect();
    bytes.push(numbers.len() as u8);
    bytes.extend(numbers.iter().map(|numbers| numbers.len() as u8));
    bytes.extend(numbers.iter().flatten().flat_map(|number| number.to_le_bytes()));
}

/// Refuses a trial whose numbers cannot be packed.
pub(super) fn check(trial: &Trial) -> Result<()> {
    let widest = trial.scores.iter().map(|score| score.parts.len()).max().unwrap_or(0);
    if trial.objectives.len().max(widest) <= MOST {
        return Ok(());
    }
    let message = format!(
        "has {} objectives and up to {widest} numbers for one of them; a store holds up to {MOST} of each",
        trial.objectives.len()
    );
    Err(Error::data(format!("trial {}", trial.number), message))
}

fn digest(chunk: u64, numbers: &[u8], last: &[u8]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&chunk.to_le_bytes()).update(last).update(numbers);
    *hasher.finalize().as_bytes()
}

/// Packs trials that were just added; each comes with its digest.
pub(super) fn pack<'t>(
    connection: &Connection,
    study: i64,
    trials: impl Iterator<Item = (&'t Trial, [u8; 32])>,
) -> rusqlite::Result<()> {
    let mut open: Option<(u64, Vec<u8>, [u8; 32])> = None;
    let close = |(chunk, numbers, last): (u64, Vec<u8>, [u8; 32])| {
        let sql = "INSERT OR REPLACE INTO ranks VALUES (?1, ?2, ?3, ?4)";
        let digest = digest(chunk, &numbers, &last);
        connection.prepare_cached(sql)?.execute(params![study, chunk as i64, numbers, &digest[..]])
    };
    for (trial, last) in trials {
        let chunk = trial.number / CHUNK;
        if let Some(full) = open.take_if(|(other, ..)| *other != chunk) {
            close(full)?;
        }
        let (_, numbers, digest) = match &mut open {
            Some(open) => open,
            none => {
                let sql = "SELECT numbers FROM ranks WHERE study = ?1 AND chunk = ?2";
                let known = if trial.number.is_multiple_of(CHUNK) {
                    None
                } else {
                    connection.query_row(sql, params![study, chunk as i64], |row| row.get(0)).optional()?
                };
                none.insert((chunk, known.unwrap_or_default(), last))
            }
        };
        record(trial, numbers);
        *digest = last;
    }
    open.map_or(Ok(0), close)?;
    Ok(())
}

fn damaged(path: &Path, study: &Study, chunk: u64) -> Error {
    let from = chunk.saturating_mul(CHUNK);
    let reason =
        format!("numbers of study '{}' from trial {from} on are not those of its trials", study.name);
    corrupt(path, reason)
}

/// The numbers of a chunk and their digest.
fn stored(connection: &Connection, study: i64, chunk: u64) -> rusqlite::Result<Option<(Vec<u8>, Vec<u8>)>> {
    let sql = "SELECT numbers, digest FROM ranks WHERE study = ?1 AND chunk = ?2";
    let mut statement = connection.prepare_cached(sql)?;
    statement.query_row(params![study, chunk as i64], |row| Ok((row.get(0)?, row.get(1)?))).optional()
}

/// All that the trials of a study are ranked by, checked.
pub(super) fn read(path: &Path, connection: &Connection, study: &Study) -> Result<Ranks> {
    let fail = |e| wrap(path, e);
    let sql = "SELECT digest FROM trials WHERE study = ?1 AND number = ?2";
    let mut digests = connection.prepare_cached(sql).map_err(fail)?;
    let mut ranks = Ranks::default();
    for chunk in 0..study.trials.div_ceil(CHUNK) {
        let damaged = || damaged(path, study, chunk);
        let (numbers, stored) = stored(connection, study.key, chunk).map_err(fail)?.ok_or_else(damaged)?;
        let end = study.trials.min((chunk + 1) * CHUNK);
        let last: Option<Vec<u8>> = digests
            .query_row(params![study.key, end as i64 - 1], |row| row.get(0))
            .optional()
            .map_err(fail)?;
        let last = last.ok_or_else(damaged)?;
        let ends = end < study.trials || last[..] == study.anchor.trials.digest[..];
        if !ends || digest(chunk, &numbers, &last)[..] != stored[..] {
            return Err(damaged());
        }
        ranks.extend(&numbers, (end - chunk * CHUNK) as usize).ok_or_else(damaged)?;
    }
    Ok(ranks)
}

/// Compares what is packed with the trials of a study, which come one after the other.
pub(super) struct Check<'c> {
    path: &'c Path,
    connection: &'c Connection,
    study: &'c Study,
    chunk: u64,
    numbers: Vec<u8>,
    last: Option<Digest>,
}

impl<'c> Check<'c> {
    pub(super) fn new(path: &'c Path, connection: &'c Connection, study: &'c Study) -> Self {
        Check { path, connection, study, chunk: 0, numbers: Vec::new(), last: None }
    }

    /// The next trial and its digest.
    pub(super) fn add(&mut self, trial: &Trial, digest: Digest) -> Result<()> {
        if trial.number / CHUNK != self.chunk {
            self.close()?;
            self.chunk += 1;
        }
        record(trial, &mut self.numbers);
        self.last = Some(digest);
        Ok(())
    }

    fn close(&mut self) -> Result<()> {
        let Some(last) = self.last.take() else { return Ok(()) };
        let stored = stored(self.connection, self.study.key, self.chunk).map_err(|e| wrap(self.path, e))?;
        let own = digest(self.chunk, &self.numbers, &last);
        let same = stored.is_some_and(|(numbers, digest)| numbers == self.numbers && digest[..] == own[..]);
        self.numbers.clear();
        if same { Ok(()) } else { Err(damaged(self.path, self.study, self.chunk)) }
    }

    /// There are no more trials.
    pub(super) fn end(mut self) -> Result<()> {
        self.close()?;
        let sql = "SELECT count(*) FROM ranks WHERE study = ?1";
        let chunks = self.connection.query_row(sql, [self.study.key], |row| row.get::<_, i64>(0));
        let expected = self.study.trials.div_ceil(CHUNK);
        match chunks.map_err(|e| wrap(self.path, e))? {
            chunks if u64::try_from(chunks) == Ok(expected) => Ok(()),
            _ => Err(damaged(self.path, self.study, expected)),
        }
    }
}
