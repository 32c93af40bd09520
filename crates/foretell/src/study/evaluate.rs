//! Evaluators say how good a network really is: a table of trained networks, a training, or a command of the user's.
//!
//! A value is stored the moment it is known, and so is what the evaluator says against a network: what was evaluated once is
//! not evaluated again. What the machine did is not stored: the run ends, and the candidate stays open.

use super::Pool;
use crate::architecture::Architecture;
use crate::benchmark::{self, Benchmark, Column};
use crate::error::{Error, Result};
use serde_json::Value;
use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// Says how good a network really is.
pub trait Evaluator: Send + Sync {
    /// What is asked, in words that stay the same; stored with every value.
    fn label(&self) -> String;
    /// The value of a network, larger is better.
    fn evaluate(&self, architecture: &Architecture) -> Result<f64, Failure>;
    /// The same after so many steps of training, with this draw of whatever is drawn; nothing where nobody can say how long
    /// to train. Labels say both: see [`rungs`](super::rungs).
    fn trained_for(&self, _steps: u64, _draw: u64) -> Option<Arc<dyn Evaluator>> {
        None
    }
    /// Tokens or images of a step, where that is known.
    fn seen_per_step(&self) -> u64 {
        1
    }
    /// Whether networks may be evaluated side by side, each by one thread.
    fn side_by_side(&self) -> bool {
        false
    }
}

/// Why there is no value.
#[derive(Debug, Clone)]
pub enum Failure {
    /// What the evaluator says against the network. It is stored as the result of the candidate.
    Verdict {
        /// A short stable word.
        status: &'static str,
        /// The cause.
        message: String,
    },
    /// What the machine did: no space, no memory, a signal. Nothing is stored, the run ends, and the next one evaluates the
    /// candidate again.
    Machine(Error),
}

impl Failure {
    /// A [`Failure::Verdict`].
    pub fn verdict(status: &'static str, message: impl ToString) -> Self {
        Failure::Verdict { status, message: message.to_string() }
    }

    /// A short stable word.
    pub fn kind(&self) -> &'static str {
        match self {
            Failure::Verdict { status, .. } => status,
            Failure::Machine(error) => error.kind(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Verdict { message, .. } => f.write_str(message),
            Failure::Machine(error) => error.fmt(f),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error.is_of_machine() {
            true => Failure::Machine(error),
            false => Failure::verdict(error.kind(), error),
        }
    }
}

/// The end of a label where small values are good; these are stored with their sign turned.
pub const LEAST: &str = ", least";

/// A stored value as the evaluator gave it.
pub fn as_given(label: &str, value: f64) -> f64 {
    if label.ends_with(LEAST) { -value } else { value }
}

/// A column of a benchmark: exactly the networks that were trained, no others. A candidate is looked up with the classes
/// and the vocabulary of the table's data, which are no choice of a search.
pub struct Table {
    name: String,
    label: String,
    /// The networks that have a value, each once, in the order of the table.
    networks: Vec<Architecture>,
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
        Ok(Self::of(&benchmark, column, lower))
    }

    /// A column of a table that was loaded.
    pub fn of(benchmark: &Benchmark, column: &Column, lower: bool) -> Self {
        let least = lower || column.lower_is_better;
        let mut rows: HashMap<String, Vec<f64>> = HashMap::new();
        let mut networks = Vec::new();
        for (architecture, value) in benchmark.architectures.iter().zip(&column.values) {
            let Some(value) = value.filter(|value| value.is_finite()) else { continue };
            let values = rows.entry(architecture.id()).or_default();
            if values.is_empty() {
                networks.push(architecture.clone());
            }
            values.push(value);
        }
        // Networks that were trained several times have the mean of their results.
        let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
        let values = rows.into_iter();
        let values = values.map(|(id, values)| (id, if least { -mean(values) } else { mean(values) }));
        let name = benchmark.name.clone();
        let label = format!("table {name}:{}{}", column.name, if least { LEAST } else { "" });
        let first = benchmark.architectures.first().map(Architecture::to_json).unwrap_or_default();
        let data = DATA.into_iter().filter_map(|key| Some((key, first.get(key)?.clone()))).collect();
        Table { name, label, networks, values: values.collect(), data }
    }

    /// Its networks as a space of their own.
    pub fn pool(&self) -> Result<Pool> {
        Pool::new(&self.name, self.networks.clone())
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
        let missing = || Failure::verdict("not-in-table", format!("{id} was not trained for {}", self.label));
        self.values.get(&id).copied().ok_or_else(missing)
    }
}
