//! What trials are ranked by, packed by the thousand, so that the best of a million are found without reading them.
//!
//! A chunk carries a digest of its numbers and of the digest of its last trial: numbers that are damaged, or are not
//! those of the trials beside them, are an error.

use super::open::{corrupt, wrap};
use super::{Study, Trial, each_trial, read_studies};
use crate::error::Result;
use rusqlite::{Connection, OptionalExtension, params};
use std::path::Path;

/// Trials of a chunk.
const CHUNK: u64 = 1024;

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

    /// Whether two are equal to the bit.
    pub(super) fn same(&self, other: &Self) -> bool {
        let bits = |ranks: &Self| ranks.numbers.iter().map(|number| number.to_bits()).collect::<Vec<_>>();
        self.count == other.count && self.widths == other.widths && bits(self) == bits(other)
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

/// Packs every study of a store from before there were packs.
pub(super) fn pack_all(path: &Path, connection: &Connection) -> Result<()> {
    for study in read_studies(path, connection)? {
        let mut trials = Vec::new();
        each_trial(path, connection, &study, &mut |trial, digest| trials.push((trial, digest)))?;
        pack(connection, study.key, trials.iter().map(|(trial, digest)| (trial, *digest)))
            .map_err(|e| wrap(path, e))?;
    }
    Ok(())
}

/// All that the trials of a study are ranked by, checked.
pub(super) fn read(path: &Path, connection: &Connection, study: &Study) -> Result<Ranks> {
    let fail = |e| wrap(path, e);
    let damaged = |chunk: u64| {
        corrupt(
            path,
            format!(
                "numbers of study '{}' from trial {} on are not what was written",
                study.name,
                chunk * CHUNK
            ),
        )
    };
    let sql = "SELECT numbers, digest FROM ranks WHERE study = ?1 AND chunk = ?2";
    let mut chunks = connection.prepare(sql).map_err(fail)?;
    let sql = "SELECT digest FROM trials WHERE study = ?1 AND number = ?2";
    let mut digests = connection.prepare(sql).map_err(fail)?;
    let mut ranks = Ranks::default();
    for chunk in 0..study.trials.div_ceil(CHUNK) {
        let row = |row: &rusqlite::Row| Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, Vec<u8>>(1)?));
        let found = chunks.query_row(params![study.key, chunk as i64], row).optional().map_err(fail)?;
        let (numbers, stored) = found.ok_or_else(|| damaged(chunk))?;
        let end = study.trials.min((chunk + 1) * CHUNK);
        let last: Option<Vec<u8>> = digests
            .query_row(params![study.key, end as i64 - 1], |row| row.get(0))
            .optional()
            .map_err(fail)?;
        let last = last.ok_or_else(|| damaged(chunk))?;
        if digest(chunk, &numbers, &last)[..] != stored[..] {
            return Err(damaged(chunk));
        }
        ranks.extend(&numbers, (end - chunk * CHUNK) as usize).ok_or_else(|| damaged(chunk))?;
    }
    Ok(ranks)
}
