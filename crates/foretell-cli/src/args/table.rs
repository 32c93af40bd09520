//! Tables of trained networks, as they are requested.

use super::value::{assignment, whole};
use crate::places;
use clap::Args;
use foretell::benchmark::{Benchmark, Column};
use foretell::error::{Error, Result};
use std::path::{Path, PathBuf};

/// The folder of benchmarks.
#[derive(Args)]
pub struct DataArgs {
    /// Folder of benchmarks. Default: FORETELL_BENCHMARKS, else foretell/benchmarks in the user's data folder; the
    /// benchmarks that are included in the program need no folder.
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
}

impl DataArgs {
    /// The folder of benchmarks; only a default one may be missing.
    pub fn folder(&self) -> Result<PathBuf> {
        places::benchmarks(self.data.as_deref())
    }
}

/// Rows and columns of a table of trained networks.
#[derive(Args)]
pub struct TableArgs {
    /// Column to rank against. Default: the first result of training.
    #[arg(long)]
    pub target: Option<String>,
    /// Use only N networks, evenly spread over the table.
    #[arg(long, value_name = "N", value_parser = whole::<1, 1_000_000_000>)]
    pub limit: Option<usize>,
    /// Use only rows with this value in a column, e.g. device=arm or epochs=50.
    #[arg(long = "where", value_name = "COLUMN=VALUE")]
    pub filters: Vec<String>,
    /// Set a field of every architecture, e.g. mode=published.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    #[command(flatten)]
    pub data: DataArgs,
}

impl TableArgs {
    /// The requested rows of a table, one part per family: perplexities of different vocabularies cannot be compared.
    pub fn parts(&self, folder: &Path, name: &str) -> Result<Vec<Benchmark>> {
        let table = self.rows(folder, name)?;
        if let Some((column, values)) = table.budgets().iter().next() {
            let columns = table.budgets().into_keys().collect::<Vec<_>>().join(", ");
            let message = format!(
                "is needed: {name} has several rows per network, which differ in {columns}; e.g. --where {column}={}",
                values[0]
            );
            return Err(Error::option("--where", message));
        }
        Ok(table.by_family())
    }

    /// The requested rows of a table, which may hold several budgets of one network.
    pub fn rows(&self, folder: &Path, name: &str) -> Result<Benchmark> {
        let mut table = Benchmark::load(folder, name)?;
        for filter in &self.filters {
            let (column, value) = filter
                .split_once('=')
                .ok_or_else(|| Error::option(filter.as_str(), "is not COLUMN=VALUE"))?;
            table = table.filter(column, value)?;
        }
        for text in &self.set {
            let (key, value) = assignment(text)?;
            table = table.with(key, &value)?;
        }
        Ok(match self.limit {
            Some(n) => table.limit(n),
            None => table,
        })
    }

    /// The requested column.
    pub fn target<'b>(&self, part: &'b Benchmark) -> Result<&'b Column> {
        match &self.target {
            Some(name) => part.column(name),
            None => part.default_target(),
        }
    }
}

/// Trained networks with their labels.
#[derive(Args)]
pub struct LabelArgs {
    /// Benchmark: a folder in the benchmark folder, or FOLDER/TABLE. See foretell bench.
    #[arg(long, value_name = "NAME")]
    pub benchmark: Option<String>,
    #[command(flatten)]
    pub table: TableArgs,
}
