//! Finding what is intact in a file that may be damaged anywhere.
//!
//! A trial counts as intact if its digest follows from the one stored before it. The row of a study that is not what was
//! written still names the study, but nothing else that it says is kept. Where even the first page is gone, that of a new
//! store stands in for it: the schema is known, and digests tell whether what is read through it is ours.

use super::anchor::{Anchor, End};
use super::place::beside;
use super::repair::Scratch;
use super::trial::Layout;
use super::{Evaluation, Measurement, Store, Study, Trial};
use super::{anchor, evaluation, measurement, migrate, now};
use rusqlite::{Connection, params};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// Bytes of a page.
const PAGE: usize = 4096;
/// How many numbers that cannot be read are tried one after the other.
const TRIED: u64 = 10_000;

/// A study as far as it can be read.
pub(super) struct Found {
    pub(super) study: Study,
    pub(super) kept: Vec<Trial>,
    pub(super) salvaged: Vec<Trial>,
    pub(super) evaluations: Vec<Evaluation>,
    pub(super) measurements: Vec<Measurement>,
    pub(super) answer: Option<Value>,
    pub(super) lost: u64,
}

/// A study by its row, and whether the row is what was written.
struct Named {
    study: Study,
    layout: Layout,
    trusted: bool,
}

/// Everything intact in a copy of a store that was kept aside.
pub(super) fn look(path: &Path, aside: &Path, fresh: &Scratch) -> std::io::Result<Vec<Found>> {
    // Looking at a file changes it: what is kept aside stays as it was.
    let work = Scratch(beside(path, &format!(".look-{}", std::process::id())));
    work.copy(aside)?;
    let mut found = studies(&work.0);
    if found.iter().all(|found| found.kept.is_empty() && found.salvaged.is_empty()) {
        work.copy(aside)?;
        replace_first_page(&work.0, fresh)?;
        found = studies(&work.0);
    }
    Ok(found)
}

fn studies(path: &Path) -> Vec<Found> {
    let Ok(connection) = Connection::open(path) else { return Vec::new() };
    let mut named = rows(&connection, anchor::columns(), &|row| {
        let sealed = anchor::intact(row).map(|study| (study, true));
        let (study, trusted) = sealed.or_else(|| Some((migrate::unsealed_row(row)?, false)))?;
        Some(Named { study, layout: Layout::Sealed, trusted })
    });
    if named.is_empty() {
        let columns = "SELECT id, name, config, provenance, stopped, rejected FROM studies";
        named = rows(&connection, columns, &|row| {
            let study = migrate::unsealed_row(row)?;
            Some(Named { study, layout: Layout::Unsealed, trusted: false })
        });
    }
    named.sort_by_key(|named| named.study.key);
    named.into_iter().filter_map(|named| find(&connection, named)).collect()
}

/// Rows of studies, from both ends, so that a gap does not hide what lies behind it.
fn rows(
    connection: &Connection,
    columns: &str,
    read: &dyn Fn(&rusqlite::Row) -> Option<Named>,
) -> Vec<Named> {
    let mut named: Vec<Named> = Vec::new();
    for order in ["ASC", "DESC"] {
        let Ok(mut statement) = connection.prepare(&format!("{columns} ORDER BY id {order}")) else { break };
        let Ok(mut rows) = statement.query([]) else { break };
        while let Ok(Some(row)) = rows.next() {
            if let Some(one) = read(row)
                && named
                    .iter()
                    .all(|known| known.study.key != one.study.key && known.study.name != one.study.name)
            {
                named.push(one);
            }
        }
    }
    named
}

/// What is intact of a study; nothing if not even its settings can be believed.
fn find(connection: &Connection, Named { mut study, layout, trusted }: Named) -> Option<Found> {
    let anchored = trusted.then_some(study.anchor);
    let said = anchored.map_or_else(|| count(connection, &study), |anchor| Some(anchor.trials.count));
    let (kept, salvaged, last) = trials(connection, &study, layout);
    // The first digest of the chain is that of the settings.
    if kept.is_empty() && !trusted && layout == Layout::Sealed {
        return None;
    }
    let lost = said.unwrap_or(last).saturating_sub((kept.len() + salvaged.len()) as u64);
    study.trials = kept.len() as u64;
    let (evaluations, evaluated) = evaluation::intact(connection, &study, layout);
    let (measurements, measured) = measurement::intact(connection, &study);
    let whole = |anchor: Anchor| {
        let ends = (anchor.evaluations, anchor.measurements);
        anchor.trials == end(&study, &kept) && ends == (evaluated, measured)
    };
    let complete = match layout {
        Layout::Sealed => anchored.is_some_and(whole),
        Layout::Unsealed => lost == 0 && salvaged.is_empty(),
    };
    let answer = if anchored.is_some_and(whole) { answer(connection, &study) } else { None };
    if !complete {
        study.stopped = None;
    }
    if !trusted && layout == Layout::Sealed {
        study.rejected = 0;
        study.provenance = json!({"version": env!("CARGO_PKG_VERSION"), "repaired": true, "time": now()});
    }
    Some(Found { study, kept, salvaged, evaluations, measurements, answer, lost })
}

/// Where the chain of some trials from the first on ends.
fn end(study: &Study, trials: &[Trial]) -> End {
    let digest = trials.iter().fold(study.first_digest(), |digest, trial| trial.digest(&digest));
    End { count: trials.len() as u64, digest }
}

/// How many trials the tables say that a study has.
fn count(connection: &Connection, study: &Study) -> Option<u64> {
    let one = |sql: &str| connection.query_row(sql, [study.key], |row| row.get::<_, Option<i64>>(0));
    let one = |sql: &str| one(sql).ok().flatten().and_then(|count| u64::try_from(count).ok());
    one("SELECT max(number) + 1 FROM trials WHERE study = ?1")
        .max(one("SELECT max(chunk) * 1024 + 1 FROM ranks WHERE study = ?1"))
}

/// The trials of a study from the first on without a gap, those behind a gap, and the number after the last one seen.
fn trials(connection: &Connection, study: &Study, layout: Layout) -> (Vec<Trial>, Vec<Trial>, u64) {
    let columns = Trial::columns(layout);
    let sql = format!("SELECT {columns} FROM trials WHERE study = ?1 AND number >= ?2 ORDER BY number");
    let (mut kept, mut salvaged) = (Vec::new(), Vec::new());
    // The number that comes next, and the digest that it must follow from, where that is known.
    let (mut next, mut previous) = (0_i64, Some(study.first_digest()));
    let (mut last, mut tried) = (0, 0);
    while tried < TRIED {
        let Ok(mut statement) = connection.prepare_cached(&sql) else { break };
        let Ok(mut rows) = statement.query(params![study.key, next]) else { break };
        let more = loop {
            let row = match rows.next() {
                Ok(Some(row)) => row,
                Ok(None) => break false,
                Err(_) => break true,
            };
            let Ok(number) = row.get::<_, i64>(0) else { break true };
            // Numbers ascend; one that leaves no room for another is not ours.
            if number < next || number == i64::MAX {
                break true;
            }
            if number != next {
                previous = None;
            }
            let stored = row.get::<_, Vec<u8>>(7).ok().and_then(|digest| digest.try_into().ok());
            let trial = Trial::read(row, layout).ok().and_then(|(trial, _)| trial);
            match trial.zip(previous).filter(|(trial, previous)| Some(trial.digest(previous)) == stored) {
                Some((trial, _)) if trial.number == kept.len() as u64 => kept.push(trial),
                Some((trial, _)) => salvaged.push(trial),
                None => {}
            }
            (next, previous, tried) = (number + 1, stored, 0);
            last = last.max(next);
        };
        if !more || next == i64::MAX {
            break;
        }
        // What comes next cannot be read: the trial after it cannot be checked.
        (next, previous, tried) = (next + 1, None, tried + 1);
    }
    (kept, salvaged, last.unsigned_abs())
}

/// The answer of a study of which everything is there.
fn answer(connection: &Connection, study: &Study) -> Option<Value> {
    let sql = "SELECT answer, digest FROM answers WHERE study = ?1";
    let row = |row: &rusqlite::Row| Ok((row.get::<_, String>(0)?, row.get::<_, Vec<u8>>(1)?));
    let (text, digest) = connection.query_row(sql, [study.key], row).ok()?;
    let written = study.anchor.answer == Some(Study::answer_seal(&text, &digest));
    let fits = written && study.answer_digest(&text)[..] == digest[..];
    if fits { serde_json::from_str(&text).ok() } else { None }
}

/// Gives a file the first page of a new store, with its own length.
fn replace_first_page(path: &Path, fresh: &Scratch) -> std::io::Result<()> {
    drop(Store::open(&fresh.0).map_err(std::io::Error::other)?);
    let page = fs::read(&fresh.0)?;
    fresh.remove();
    let mut bytes = fs::read(path)?;
    if page.len() < PAGE || bytes.len() < PAGE {
        return Ok(());
    }
    bytes[..PAGE].copy_from_slice(&page[..PAGE]);
    // Pages of the file, and pages that are free.
    let pages = (bytes.len() / PAGE) as u32;
    bytes[28..32].copy_from_slice(&pages.to_be_bytes());
    bytes[32..40].fill(0);
    bytes.truncate(pages as usize * PAGE);
    let _ = fs::remove_file(beside(path, "-wal"));
    fs::write(path, bytes)
}
