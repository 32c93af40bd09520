//! Bringing a file of an earlier schema up to date. Everything in it is checked on the way: what is damaged is refused and
//! never gets a valid seal.

use super::anchor::{Anchor, Digest, End};
use super::open::{corrupt, wrap};
use super::trial::{Layout, seal};
use super::{Study, Trial, anchor, evaluation, failpoint, lease, measurement, ranks, read};
use crate::error::Result;
use rusqlite::{Connection, TransactionBehavior, params};
use std::path::Path;

/// Each step of the schema, oldest first: a file, numbered, never edited once released.
pub(super) const SCHEMA: &[&str] = &[
    include_str!("schema/001.sql"),
    include_str!("schema/002.sql"),
    include_str!("schema/003.sql"),
    include_str!("schema/004.sql"),
];
/// The step that packs what trials are ranked by.
const PACKED: usize = 1;
/// The step that anchors the chains of studies.
const ANCHORED: usize = 3;
/// "fore" in ASCII: says that a SQLite file is ours.
pub(super) const APPLICATION: i64 = 0x666f_7265;

/// Brings a file of an earlier schema up to date.
pub(super) fn migrate(path: &Path, connection: &mut Connection, from: usize) -> Result<()> {
    let fail = |e| wrap(path, e);
    for (step, sql) in SCHEMA.iter().enumerate().skip(from) {
        failpoint::pass(connection).map_err(fail)?;
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(fail)?;
        // Another process may have been faster.
        let found: i64 =
            transaction.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(fail)?;
        if found == step as i64 {
            if step == ANCHORED {
                lease::refuse_writers(path, &transaction)?;
            }
            transaction.execute_batch(sql).map_err(fail)?;
            match step {
                PACKED => pack_all(path, &transaction)?,
                ANCHORED => anchor_all(path, &transaction)?,
                _ => {}
            }
            transaction.pragma_update(None, "application_id", APPLICATION).map_err(fail)?;
            transaction.pragma_update(None, "user_version", step as i64 + 1).map_err(fail)?;
        }
        super::write::commit(path, transaction)?;
    }
    Ok(())
}

/// Studies from before their rows had seals.
pub(super) fn unsealed(path: &Path, connection: &Connection) -> Result<Vec<Study>> {
    let fail = |e| wrap(path, e);
    let sql = "SELECT id, name, config, provenance, stopped, rejected FROM studies ORDER BY id";
    let mut statement = connection.prepare(sql).map_err(fail)?;
    let rows = statement.query_map([], |row| Ok(unsealed_row(row))).map_err(fail)?;
    let read = |row: rusqlite::Result<Option<Study>>| {
        row.map_err(fail)?.ok_or_else(|| corrupt(path, "the row of a study cannot be read"))
    };
    rows.map(read).collect()
}

/// The study of a row from before there were seals.
pub(super) fn unsealed_row(row: &rusqlite::Row) -> Option<Study> {
    let json = |at: usize| serde_json::from_str(&row.get::<_, String>(at).ok()?).ok();
    let mut study = Study {
        key: row.get(0).ok()?,
        name: row.get(1).ok()?,
        config: json(2)?,
        provenance: json(3)?,
        stopped: row.get(4).ok()?,
        rejected: u64::try_from(row.get::<_, i64>(5).ok()?).ok()?,
        trials: 0,
        anchor: Anchor::default(),
    };
    study.anchor = Anchor::start(&study);
    Some(study)
}

/// Packs every study of a store from before there were packs.
fn pack_all(path: &Path, connection: &Connection) -> Result<()> {
    let fail = |e| wrap(path, e);
    for study in unsealed(path, connection)? {
        let mut batch: Vec<(Trial, Digest)> = Vec::new();
        let pack = |batch: &mut Vec<(Trial, Digest)>| {
            let trials = batch.iter().map(|(trial, digest)| (trial, *digest));
            let packed = ranks::pack(connection, study.key, trials);
            batch.clear();
            packed.map_err(fail)
        };
        read::walk(path, connection, &study, Layout::Unsealed, &mut |trial, digest| {
            batch.push((trial, digest));
            if batch.len() == ranks::CHUNK as usize { pack(&mut batch) } else { Ok(()) }
        })?;
        pack(&mut batch)?;
    }
    Ok(())
}

/// Seals every row of a store from before there were seals.
fn anchor_all(path: &Path, connection: &Connection) -> Result<()> {
    let fail = |e| wrap(path, e);
    for study in unsealed(path, connection)? {
        let mut seals = Vec::new();
        let trials = read::walk(path, connection, &study, Layout::Unsealed, &mut |trial, digest| {
            seals.push(seal(&digest, trial.seconds, ""));
            Ok(())
        })?;
        let sql = "UPDATE trials SET seal = ?3 WHERE study = ?1 AND number = ?2";
        let mut update = connection.prepare_cached(sql).map_err(fail)?;
        for (number, seal) in seals.iter().enumerate() {
            update.execute(params![study.key, number as i64, &seal[..]]).map_err(fail)?;
        }
        let (rows, evaluations) = evaluation::read(path, connection, &study, Layout::Unsealed)?;
        evaluation::seal_all(connection, study.key, &rows).map_err(fail)?;
        let (_, measurements) = measurement::read(path, connection, &study)?;
        let answer = answer_seal(connection, &study).map_err(fail)?;
        let study = Study { anchor: Anchor { trials, evaluations, measurements, answer }, ..study };
        refuse_beyond(path, connection, &study, trials)?;
        anchor::adopt(path, connection, &study)?;
    }
    Ok(())
}

/// Refuses numbers to rank by that belong to trials behind the last: trials are missing.
fn refuse_beyond(path: &Path, connection: &Connection, study: &Study, trials: End) -> Result<()> {
    let sql = "SELECT count(*) FROM ranks WHERE study = ?1";
    let chunks: i64 = connection.query_row(sql, [study.key], |row| row.get(0)).map_err(|e| wrap(path, e))?;
    if chunks as u64 == trials.count.div_ceil(ranks::CHUNK) {
        return Ok(());
    }
    Err(corrupt(path, format!("trials of study '{}' are missing", study.name)))
}

fn answer_seal(connection: &Connection, study: &Study) -> rusqlite::Result<Option<Digest>> {
    use rusqlite::OptionalExtension;
    let sql = "SELECT answer, digest FROM answers WHERE study = ?1";
    let row = |row: &rusqlite::Row| {
        Ok(Study::answer_seal(&row.get::<_, String>(0)?, &row.get::<_, Vec<u8>>(1)?))
    };
    connection.query_row(sql, [study.key], row).optional()
}
