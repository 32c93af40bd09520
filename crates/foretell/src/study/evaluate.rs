//! Who says how good a network really is: a table of trained networks, or a command of the user's.
//!
//! A value is stored the moment it is known, and so is a failure: what was evaluated once is never evaluated again.

use super::command::{Folder, number};
use crate::architecture::Architecture;
use crate::benchmark::{self, Benchmark};
use crate::error::{Error, Result};
use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

/// Says how good a network really is.
pub trait Evaluator: Send + Sync {
    /// What is asked, in words that stay the same; stored with every value.
    fn label(&self) -> String;
    /// The value of a network, larger is better.
    fn evaluate(&self, architecture: &Architecture) -> Result<f64, Failure>;
}

/// Why there is no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// A short stable word.
    pub status: &'static str,
    /// The cause.
    pub message: String,
}

pub(super) fn failure(status: &'static str, message: impl ToString) -> Failure {
    Failure { status, message: message.to_string() }
}

/// The end of a label where small values are good; these are stored with their sign turned.
pub(super) const LEAST: &str = ", least";

/// A stored value as the evaluator gave it.
pub fn as_given(label: &str, value: f64) -> f64 {
    if label.ends_with(LEAST) { -value } else { value }
}

/// A column of a benchmark: exactly the networks that were trained, no others. A candidate is looked up with the classes
/// and the vocabulary of the table's data, which are no choice of a search.
pub struct Table {
    label: String,
    values: HashMap<String, f64>,
    data: Vec<(&'static str, Value)>,
}

/// What the data decides.
const DATA: [&str; 2] = ["num_classes", "vocab_size"];

impl Table {
    /// Opens `benchmark` or `benchmark:column` in a folder of benchmarks; by default its first result of training.
    pub fn open(folder: &Path, text: &str, lower: bool) -> Result<Self> {
        let (name, column) = text.split_once(':').map_or((text, None), |(name, column)| (name, Some(column)));
        let benchmark = Benchmark::load(folder, name)?;
        benchmark.one_budget()?;
        let column = column.map_or_else(|| benchmark.default_target(), |column| benchmark.column(column))?;
        let least = lower || column.lower_is_better;
        let mut rows: HashMap<String, Vec<f64>> = HashMap::new();
        for (architecture, value) in benchmark.architectures.iter().zip(&column.values) {
            rows.entry(architecture.id()).or_default().extend(value.filter(|value| value.is_finite()));
        }
        // Networks that were trained several times have the mean of their results.
        let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
        let values = rows.into_iter().filter(|(_, values)| !values.is_empty());
        let values = values.map(|(id, values)| (id, if least { -mean(values) } else { mean(values) }));
        let label = format!("table {name}:{}{}", column.name, if least { LEAST } else { "" });
        let first = benchmark.architectures.first().map(Architecture::to_json).unwrap_or_default();
        let data = DATA.into_iter().filter_map(|key| Some((key, first.get(key)?.clone()))).collect();
        Ok(Table { label, values: values.collect(), data })
    }

    /// Opens a table of the usual folder: see [`benchmark::folder`].
    pub fn find(given: Option<&Path>, text: &str, lower: bool) -> Result<Self> {
        Self::open(&benchmark::folder(given)?, text, lower)
    }
}

impl Evaluator for Table {
    fn label(&self) -> String {
        self.label.clone()
    }

    fn evaluate(&self, architecture: &Architecture) -> Result<f64, Failure> {
        let with =
            |network: Architecture, (key, value): &(&str, Value)| network.with(key, value).unwrap_or(network);
        let id = self.data.iter().fold(architecture.clone(), with).id();
        let missing = || failure("not-in-table", format!("{id} was not trained for {}", self.label));
        self.values.get(&id).copied().ok_or_else(missing)
    }
}

/// A command that is given a folder with `architecture.json` and `counts.json` and prints a number as its last line.
///
/// It is run by `sh`, with `{dir}` standing for the folder: the path is handed over in a variable and never read as part
/// of the command. What exceeds its time is ended with all it started.
pub struct External {
    command: String,
    limit: Duration,
    retries: u32,
    least: bool,
}

impl External {
    /// A command with `{dir}` in it, how long it may take, how often it is tried again, and whether small is good.
    pub fn new(command: &str, limit: Duration, retries: u32, lower: bool) -> Result<Self> {
        if !command.contains("{dir}") {
            let message = "lacks {dir}, which stands for the folder with the network: './train.sh {dir}'";
            return Err(Error::option("evaluation command", message));
        }
        Ok(External { command: command.to_owned(), limit, retries, least: lower })
    }

    fn attempt(&self, folder: &Folder) -> Result<f64, Failure> {
        let command = self.command.replace("{dir}", "\"$FORETELL_DIR\"");
        let value = number(&command, folder, Stdio::null(), self.limit)?;
        Ok(if self.least { -value } else { value })
    }
}

impl Evaluator for External {
    fn label(&self) -> String {
        format!("command {}{}", self.command, if self.least { LEAST } else { "" })
    }

    fn evaluate(&self, architecture: &Architecture) -> Result<f64, Failure> {
        let mut last = failure("not-started", "");
        for _ in 0..=self.retries {
            // Nothing of an attempt is left to the next one.
            let folder = Folder::new(architecture).map_err(|e| failure("not-started", e))?;
            match self.attempt(&folder) {
                Ok(value) => return Ok(value),
                Err(failure) => last = failure,
            }
        }
        Err(last)
    }
}
