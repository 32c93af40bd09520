//! Tables from local clones of the public repositories that published them: one file per source, one line in [`IMPORTERS`].
//!
//! An importer reads what lies in the clone, executes none of it, and gives tables in the format of
//! [`Benchmark`](super::Benchmark). Every network is counted again: a row whose parameters are not those that the source
//! states is left out, and [`Table::omitted`] says so.

mod archai;
mod archive;
mod auto_prox;
mod nas_bench_nlp;
mod pickle;
mod recipes;
mod text;
mod training_free_nas;
mod yaml;

use super::row::{self, Hints};
use super::table::Row;
use crate::catalogue;
use crate::error::{Error, Result};
use crate::file;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// Where tables come from.
#[derive(Debug, Clone, Copy)]
pub struct Source {
    /// Its name.
    pub name: &'static str,
    /// The public repository.
    pub repository: &'static str,
    /// The branch that holds the data, where it is not the default one.
    pub branch: Option<&'static str>,
    /// The tables that it gives.
    pub tables: &'static str,
    /// A further repository that published columns for these tables, and the columns.
    pub further: Option<[&'static str; 2]>,
}

/// Turns a clone of one source into tables.
pub trait Importer: Sync {
    /// What it reads.
    fn source(&self) -> &'static Source;
    /// The tables of a clone; `further` is a clone of the source's further repository, whose columns are added.
    fn import(&self, clone: &Path, further: Option<&Path>) -> Result<Imported>;
}

/// Every source that can be imported.
pub const IMPORTERS: &[&dyn Importer] = &[
    &training_free_nas::TrainingFreeNas,
    &archai::Archai,
    &auto_prox::AutoProx,
    &nas_bench_nlp::NasBenchNlp,
];

/// The importer of a source by its name.
pub fn importer(name: &str) -> Result<&'static dyn Importer> {
    catalogue::find("source", name, IMPORTERS, |importer| importer.source().name)
}

/// The tables of a clone of a source, with the columns of a clone of its further repository if there is one.
pub fn import(source: &str, clone: &Path, further: Option<&Path>) -> Result<Imported> {
    let importer = importer(source)?;
    if further.is_some() && importer.source().further.is_none() {
        let message = format!("has no effect: no other repository adds columns to the tables of {source}");
        return Err(Error::option("further clone", message));
    }
    importer.import(clone, further)
}

/// What a clone gave.
#[derive(Debug)]
pub struct Imported {
    /// The tables.
    pub tables: Vec<Table>,
    /// Files and folders of the source that this clone does not have, with what they would have given.
    pub absent: Vec<String>,
}

/// One file of a benchmark.
#[derive(Debug)]
pub struct Table {
    /// Its path inside a folder of benchmarks.
    pub name: String,
    /// How many rows it has.
    pub rows: usize,
    /// How many published counts were counted again and agree.
    pub counts: usize,
    /// Rows of the source that are not in it.
    pub omitted: Vec<Omitted>,
    /// The bytes of the file.
    pub text: String,
}

/// A row of the source that is in no table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Omitted {
    /// What the source calls it.
    pub row: String,
    /// Why.
    pub reason: String,
}

impl Imported {
    /// What was found, if it is anything.
    fn of(source: &Source, clone: &Path, tables: Vec<Table>, absent: Vec<String>) -> Result<Self> {
        if tables.is_empty() {
            let message = format!(
                "is not a clone of {}{}: it has none of {}",
                source.repository,
                source.branch.map(|branch| format!(", branch {branch}")).unwrap_or_default(),
                absent.join(", ")
            );
            return Err(Error::data(clone.display().to_string(), message));
        }
        Ok(Imported { tables, absent })
    }

    /// Writes the tables into a folder of benchmarks; the files written. What is there already is kept unless it may be
    /// replaced, and nothing is written if one table cannot be.
    pub fn write(&self, folder: &Path, replace: bool) -> Result<Vec<PathBuf>> {
        let paths: Vec<PathBuf> = self.tables.iter().map(|table| folder.join(&table.name)).collect();
        if let Some(path) = paths.iter().find(|path| !replace && path.exists()) {
            return Err(Error::Exists { path: path.clone() });
        }
        for (path, table) in paths.iter().zip(&self.tables) {
            let inside = path.parent().unwrap_or(folder);
            std::fs::create_dir_all(inside).map_err(|source| Error::write(inside, source))?;
            file::replace(path, &table.text)?;
        }
        Ok(paths)
    }
}

/// Rows that are not yet counted.
#[derive(Default)]
struct Draft {
    rows: Vec<Row>,
    omitted: Vec<Omitted>,
    /// Columns with counts of ours, which the source does not publish.
    derived: &'static [&'static str],
}

impl Draft {
    fn push(&mut self, row: impl Into<String>, values: Map<String, Value>) {
        self.rows.push(Row { place: row.into(), values });
    }

    fn omit(&mut self, row: impl Into<String>, reason: impl Into<String>) {
        self.omitted.push(Omitted { row: row.into(), reason: reason.into() });
    }

    /// Counts every network and leaves out those whose published counts are not ours; how many counts agree.
    fn check(&mut self, table: &str) -> Result<usize> {
        let benchmark = table.split('/').next().unwrap_or(table);
        let hints = Hints::of(benchmark, PathBuf::new(), &self.rows)?;
        let (mut agreed, mut kept) = (0, Vec::with_capacity(self.rows.len()));
        for row in std::mem::take(&mut self.rows) {
            match counted(&row, &hints, self.derived) {
                Ok(counts) => {
                    agreed += counts;
                    kept.push(row);
                }
                Err(reason) => self.omit(row.place, reason),
            }
        }
        self.rows = kept;
        if self.rows.is_empty() {
            let reason = self.omitted.first().map_or("it is empty", |omitted| omitted.reason.as_str());
            return Err(Error::data(table, format!("no row can be used: {reason}")));
        }
        Ok(agreed)
    }

    /// The table of these rows as JSON lines.
    fn finish(mut self, name: &str) -> Result<Table> {
        let counts = self.check(name)?;
        let text = self.rows.iter().map(|row| text::json_line(&row.values) + "\n").collect();
        Ok(Table { name: name.to_owned(), rows: self.rows.len(), counts, omitted: self.omitted, text })
    }
}

/// How many published counts of a row agree with ours; else why the row cannot be used.
fn counted(row: &Row, hints: &Hints, derived: &[&str]) -> Result<usize, String> {
    let network = row::architecture(&row.values, hints).map_err(|e| e.to_string())?;
    let mut counts = row::counts(&row.place, &row.values, &network);
    counts.retain(|count| !derived.contains(&count.column.as_str()));
    match counts.iter().find(|count| count.ours != count.published) {
        None => Ok(counts.len()),
        Some(count) => Err(format!(
            "{} is {} in the source, but the network that it describes has {}",
            count.column, count.published, count.ours
        )),
    }
}
