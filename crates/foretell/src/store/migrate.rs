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
    let row =
        |row: &rusqlite::Row| Ok(Study::answer_seal(&row.get::<_, String>(0)?, &row.get::<_, Vec<u8>>(1)?));
    connection.query_row(sql, [study.key], row).optional()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::store::{Evaluation, Measurement, Score, Store};
    use serde_json::json;

    /// What the fourth schema added, taken away again.
    const BACK: &str = "
        ALTER TABLE studies DROP COLUMN trials; ALTER TABLE studies DROP COLUMN last_trial;
        ALTER TABLE studies DROP COLUMN evaluations; ALTER TABLE studies DROP COLUMN last_evaluation;
        ALTER TABLE studies DROP COLUMN measurements; ALTER TABLE studies DROP COLUMN last_measurement;
        ALTER TABLE studies DROP COLUMN answer; ALTER TABLE studies DROP COLUMN seal;
        ALTER TABLE trials DROP COLUMN seal; ALTER TABLE evaluations DROP COLUMN seal;
        ALTER TABLE leases DROP COLUMN token; ALTER TABLE leases DROP COLUMN boot;
        ALTER TABLE leases DROP COLUMN namespace; DROP TABLE contents; PRAGMA user_version = 3;";

    fn fill(store: &mut Store) -> Study {
        let study = store.create("a", &json!({"seed": 1}), "").unwrap();
        let score = Score { status: "ok".into(), value: 1.0, ..Score::default() };
        let trial = |number: u64| Trial {
            number,
            id: number.to_string(),
            genes: "{}".into(),
            objectives: vec![number as f64],
            scores: vec![score.clone()],
            seconds: 0.25,
        };
        let digest = store.trials(&study).unwrap().1;
        store.append(&study, &(0..5).map(trial).collect::<Vec<_>>(), 2, &digest).unwrap();
        let said =
            Evaluation { evaluator: "e".into(), status: "exit".into(), seconds: 2.0, ..Default::default() };
        let digest = store.evaluations(&study).unwrap().1;
        store.evaluated(&study, 0, &Evaluation { message: "no".into(), ..said }, &digest).unwrap();
        let (genes, phase) = ("{}".into(), "prefill".into());
        let measured =
            Measurement { stage: 5, trial: Some(1), genes, phase, latency: json!({"seconds": 0.1}) };
        let digest = store.measurements(&study).unwrap().1;
        store.measured(&study, 0, &measured, &digest).unwrap();
        store.set_answer(&study, &json!({"winner": 4})).unwrap();
        study
    }

    /// A store of the third schema keeps its hash and its answer; one from which trials are missing is refused.
    #[test]
    fn the_third_schema_is_brought_up_to_date() {
        let path = std::env::temp_dir().join(format!("foretell-third-{}.db", std::process::id()));
        let remove = || {
            for side in ["", "-wal", "-shm"] {
                let _ = std::fs::remove_file(format!("{}{side}", path.display()));
            }
        };
        for damage in ["", "DELETE FROM trials", "DELETE FROM ranks", "UPDATE evaluations SET trial = 3"] {
            remove();
            let mut store = Store::open(&path).unwrap();
            let study = fill(&mut store);
            let hash = store.hash(&study).unwrap();
            store.connection.execute_batch(BACK).unwrap();
            store.connection.execute_batch(damage).unwrap();
            drop(store);
            let opened = Store::open(&path);
            if !damage.is_empty() {
                assert!(matches!(opened, Err(Error::Corrupt { .. })), "{damage}");
                continue;
            }
            let store = opened.unwrap();
            assert_eq!(store.verify().unwrap(), (1, 5));
            let study = store.find("a").unwrap().unwrap();
            assert_eq!((store.hash(&study).unwrap(), study.rejected), (hash, 2));
            assert_eq!(store.answer(&study).unwrap(), Some(json!({"winner": 4})));
            assert_eq!(store.evaluations(&study).unwrap().0[0].message, "no");
        }
        remove();
    }

    /// A search of an earlier release that is still running goes on; its store is brought up to date when it has ended.
    #[test]
    fn a_store_that_an_earlier_release_writes_is_left_alone() {
        let path = std::env::temp_dir().join(format!("foretell-earlier-{}.db", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let mut store = Store::open(&path).unwrap();
        fill(&mut store);
        store.connection.execute_batch(BACK).unwrap();
        let lease = "INSERT INTO leases VALUES (1, 7, '1', 'another', ?1)";
        store.connection.execute(lease, [crate::store::now()]).unwrap();
        drop(store);
        assert!(matches!(Store::open(&path), Err(Error::Busy { pid: 7, .. })));
        Connection::open(&path).unwrap().execute("UPDATE leases SET beat = 1", []).unwrap();
        assert_eq!(Store::open(&path).unwrap().verify().unwrap(), (1, 5));
        std::fs::remove_file(&path).unwrap();
    }
}
