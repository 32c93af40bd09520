//! Tables of trained networks, as they are asked for.

use super::value::{assignment, whole};
use clap::Args;
use foretell::benchmark::{Benchmark, Column};
use foretell::error::{Error, Result};
use std::path::{Path, PathBuf};

/// Which rows of a table of trained networks, and which of its columns.
#[derive(Args)]
pub struct TableArgs {
    /// The column to rank against. Default: the first result of training.
    #[arg(long)]
    pub target: Option<String>,
    /// Only N networks, evenly spread over the table.
    #[arg(long, value_name = "N", value_parser = whole::<1, 1_000_000_000>)]
    pub limit: Option<usize>,
    /// Only rows with this value in a text column, e.g. device=arm.
    #[arg(long = "where", value_name = "COLUMN=VALUE")]
    pub filters: Vec<String>,
    /// Set a field of every architecture, e.g. mode=published.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// The folder that holds the benchmarks. Default: FORETELL_BENCHMARKS, else
    /// ../shared/benchmarks; what ships with the program is always there.
    #[arg(long, value_name = "FOLDER")]
    pub data: Option<PathBuf>,
}

impl TableArgs {
    /// The rows asked for of one table, families apart: perplexities of different vocabularies do not compare.
    pub fn parts(&self, folder: &Path, name: &str) -> Result<Vec<Benchmark>> {
        let mut table = Benchmark::load(folder, name)?;
        for filter in &self.filters {
            let (column, value) =
                filter.split_once('=').ok_or_else(|| Error::input(filter.as_str(), "is not COLUMN=VALUE"))?;
            table = table.filter(column, value)?;
        }
        for text in &self.set {
            let (key, value) = assignment(text)?;
            table = table.with(key, &value)?;
        }
        if let Some(n) = self.limit {
            table = table.limit(n);
        }
        Ok(table.by_family())
    }

    /// The column asked for.
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
    /// A folder of the benchmark folder, or folder/table. See foretell bench.
    #[arg(long, value_name = "NAME")]
    pub benchmark: Option<String>,
    #[command(flatten)]
    pub table: TableArgs,
}
