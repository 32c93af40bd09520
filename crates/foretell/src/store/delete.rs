//! Deletes a study with everything that belongs to it, in one transaction.

use super::open::wrap;
use super::write::commit;
use super::{Store, anchor};
use crate::error::{Error, Result};

/// The tables whose rows belong to a study. The study itself is deleted last.
const TABLES: [&str; 6] = ["trials", "ranks", "evaluations", "measurements", "answers", "leases"];

impl Store {
    /// Deletes a study with its trials, evaluations, measurements and answer. A study that another process is writing is
    /// refused. The file keeps its size; SQLite uses the space again.
    pub fn delete(&mut self, name: &str) -> Result<()> {
        let studies = self.studies()?;
        let study = studies.iter().find(|study| study.name == name).ok_or_else(|| Error::Unknown {
            what: "study",
            given: name.to_owned(),
            nearest: None,
            known: studies.iter().map(|study| study.name.as_str()).collect::<Vec<_>>().join(", "),
        })?;
        let _lease = self.lease(study)?;
        let (guard, path) = (self.guard(study), self.path.clone());
        let transaction = self.transaction()?;
        guard.check(&transaction)?;
        for table in TABLES {
            let sql = format!("DELETE FROM {table} WHERE study = ?1");
            transaction.execute(&sql, [study.key]).map_err(|e| wrap(&path, e))?;
        }
        anchor::remove(&path, &transaction, study)?;
        commit(&path, transaction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Evaluation, Measurement, Score, Trial};
    use serde_json::json;

    fn rows(store: &Store) -> Vec<i64> {
        let count = |table: &str| {
            let sql = format!("SELECT count(*) FROM {table}");
            store.connection.query_row(&sql, [], |row| row.get(0)).unwrap()
        };
        TABLES.iter().chain(&["studies"]).map(|table| count(table)).collect()
    }

    fn fill(store: &mut Store, name: &str) {
        let study = store.create(name, &json!({"name": name}), "").unwrap();
        let (_, digest) = store.trials(&study).unwrap();
        let score = Score { status: "ok".into(), value: 1.0, ..Score::default() };
        let trial = Trial {
            number: 0,
            id: "a".into(),
            genes: "{}".into(),
            objectives: vec![1.0],
            scores: vec![score],
            seconds: 0.0,
        };
        store.append(&study, &[trial], 0, &digest).unwrap();
        let (_, digest) = store.evaluations(&study).unwrap();
        let evaluation = Evaluation { evaluator: "e".into(), status: "ok".into(), ..Evaluation::default() };
        store.evaluated(&study, 0, &evaluation, &digest).unwrap();
        let (_, digest) = store.measurements(&study).unwrap();
        let (genes, phase) = ("{}".into(), "prefill".into());
        let measurement = Measurement { stage: 1, trial: Some(0), genes, phase, latency: json!({}) };
        store.measured(&study, 0, &measurement, &digest).unwrap();
        store.set_answer(&study, &json!({})).unwrap();
    }

    #[test]
    fn nothing_of_the_study_is_left_and_all_of_the_others() {
        let mut store = Store::memory().unwrap();
        fill(&mut store, "kept");
        let before = rows(&store);
        fill(&mut store, "deleted");
        store.delete("deleted").unwrap();
        assert_eq!(rows(&store), before);
        assert_eq!(store.verify().unwrap(), (1, 1));
        assert!(store.delete("deleted").unwrap_err().to_string().contains("kept"));
    }

    #[test]
    fn a_study_that_is_being_written_is_refused() {
        let path = std::env::temp_dir().join(format!("foretell-delete-{}.db", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let mut store = Store::open(&path).unwrap();
        fill(&mut store, "busy");
        let study = store.find("busy").unwrap().unwrap();
        let lease = store.lease(&study).unwrap();
        assert!(matches!(Store::open(&path).unwrap().delete("busy"), Err(Error::Busy { .. })));
        drop(lease);
        store.delete("busy").unwrap();
        assert!(store.studies().unwrap().is_empty());
        for side in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{}{side}", path.display()));
        }
    }
}
