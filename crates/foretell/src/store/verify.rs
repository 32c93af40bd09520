//! Checking a whole store. Memory does not grow with the number of trials.

use super::open::corrupt;
use super::{Store, Study, ranks, read};
use crate::error::Result;

impl Store {
    /// Checks the file page by page, every trial, evaluation and measurement by its digest, where they end, what trials are
    /// ranked by and the answers; the number of studies and trials.
    pub fn verify(&self) -> Result<(u64, u64)> {
        self.at_once(|| {
            let sql = "PRAGMA integrity_check(1)";
            let said: String =
                self.connection.query_row(sql, [], |row| row.get(0)).map_err(|e| self.fail(e))?;
            if said != "ok" {
                return Err(corrupt(&self.path, said));
            }
            self.check_references()?;
            let studies = self.studies()?;
            studies.iter().try_for_each(|study| self.verify_study(study))?;
            Ok((studies.len() as u64, studies.iter().map(|study| study.trials).sum()))
        })
    }

    /// Refuses rows that belong to no study.
    fn check_references(&self) -> Result<()> {
        let fail = |e| self.fail(e);
        let mut statement = self.connection.prepare("PRAGMA foreign_key_check").map_err(fail)?;
        let mut rows = statement.query([]).map_err(fail)?;
        match rows.next().map_err(fail)? {
            None => Ok(()),
            Some(row) => {
                let table: String = row.get(0).map_err(fail)?;
                Err(corrupt(&self.path, format!("a row of {table} belongs to no study")))
            }
        }
    }

    fn verify_study(&self, study: &Study) -> Result<()> {
        let mut packed = ranks::Check::new(&self.path, &self.connection, study);
        read::walk_all(&self.path, &self.connection, study, &mut |trial, digest| packed.add(&trial, digest))?;
        packed.end()?;
        self.evaluations(study)?;
        self.measurements(study)?;
        self.answer(study)?;
        Ok(())
    }
}
