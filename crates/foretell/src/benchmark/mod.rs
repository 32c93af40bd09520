//! Published accuracy tables: load, look up, and how well proxies rank what was really trained.
//!
//! A benchmark is a folder of tables; its name is the folder's, or `folder/file` for a further table in it. Tables are
//! understood by their columns, so a new file of a known kind works without code: see [`Benchmark::load`].

mod agreement;
mod bands;
#[cfg(feature = "train")]
mod build;
pub mod checkpoints;
mod evidence;
mod export;
#[cfg(feature = "import")]
pub mod import;
mod noise;
mod row;
pub mod stability;
mod table;

pub use agreement::{Agreement, COLUMN, Report, Scored, Settings, baselines, evaluate};
pub use bands::Bands;
#[cfg(feature = "train")]
pub use build::{Config, Plan};
pub use evidence::{Evidence, evidence};
pub use export::{figures, scores_csv, scores_json};
pub use noise::Noise;
pub use row::Count;

use crate::architecture::{Architecture, families};
use crate::catalogue;
use crate::error::{Error, Result};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use table::Row;

/// Trained networks and what became of them.
pub struct Benchmark {
    /// Its name, as asked for.
    pub name: String,
    /// One architecture per labelled network.
    pub architectures: Vec<Architecture>,
    /// The columns of the table, one value per architecture, missing ones `None`.
    pub columns: Vec<Column>,
    /// Counts that the table publishes, beside ours, for every row.
    pub counts: Vec<Count>,
    /// What should be known before its networks are trusted: that their family is a guess.
    pub notes: Vec<String>,
    /// Texts and numbers of each row, for picking rows.
    labels: Vec<Map<String, Value>>,
    /// Every run of networks trained more than once, each with its network's `id`.
    repeats: Vec<Row>,
    /// Results after more and more training, each with its network's `id`.
    checkpoints: Vec<Row>,
}

/// One numeric column that is no gene.
#[derive(Clone)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Whether smaller is better.
    pub lower_is_better: bool,
    /// One value per architecture.
    pub values: Vec<Option<f64>>,
}

impl Column {
    /// Whether it is a result of training, as opposed to a count, a time or another program's metric.
    pub fn is_label(&self) -> bool {
        let name = self.name.as_str();
        let other = [
            "ref_",
            "params",
            "num_params",
            "trained_group",
            "recipe_",
            "num_",
            "experiment_",
            "run",
            "id",
            "seed",
        ];
        let cost = ["_seconds", "_ms", "_mb", "flops"];
        !other.iter().any(|start| name.starts_with(start))
            && !cost.iter().any(|end| name.ends_with(end))
            && !is_budget(name)
    }
}

/// A benchmark that ships with the library: a folder under `shipped/`, made by [`Plan`].
#[derive(Debug)]
pub struct Shipped {
    /// The folder's name.
    pub name: &'static str,
    table: &'static str,
    repeats: &'static str,
    /// Close-pair agreement of every proxy of the catalogue, as `foretell bench` measured it.
    agreement: &'static str,
}

macro_rules! shipped {
    ($($name:literal)*) => {
        &[$(Shipped {
            name: $name,
            table: include_str!(concat!("shipped/", $name, "/architectures.jsonl")),
            repeats: include_str!(concat!("shipped/", $name, "/repeats.csv")),
            agreement: include_str!(concat!("shipped/", $name, "/agreement.csv")),
        }),*]
    };
}

/// The benchmarks that ship with the library.
pub const SHIPPED: &[Shipped] = shipped!["gpt2-pentateuch" "flexibert-pentateuch" "gpt2-regimes"];

const LAYOUT: &str = "It holds one folder per benchmark, each with architectures.jsonl (one network a line: its genes and its \
    results)";

/// The environment variable that names the folder of benchmarks.
pub const FOLDER_VARIABLE: &str = "FORETELL_BENCHMARKS";

/// The folder that holds the benchmarks: `given`, else `FORETELL_BENCHMARKS`, which must be there, else an empty path, in
/// which no benchmark is found. What is in the folder comes before what ships with the library.
pub fn folder(given: Option<&Path>) -> Result<PathBuf> {
    let set = std::env::var_os(FOLDER_VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
    let Some(folder) = given.map(Path::to_owned).or(set) else { return Ok(PathBuf::new()) };
    if folder.is_dir() {
        return Ok(folder);
    }
    let message = format!("no benchmark folder is here. {LAYOUT}; {FOLDER_VARIABLE} names another");
    Err(Error::data(folder.display().to_string(), message))
}

/// The names of all benchmarks in a folder, further tables as `folder/file`, and of those that ship with the library.
pub fn names(folder: &Path) -> Result<Vec<String>> {
    let read = |path: &Path| -> Result<Vec<PathBuf>> {
        let entries = std::fs::read_dir(path).map_err(|source| Error::read(path, source))?;
        let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        paths.sort();
        Ok(paths)
    };
    let mut names = Vec::new();
    let inside = if folder.is_dir() { read(folder)? } else { Vec::new() };
    for inside in inside.into_iter().filter(|path| path.is_dir()) {
        let name = inside.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let tables = read(&inside)?.into_iter().filter(|path| path.extension().is_some_and(|e| e == "jsonl"));
        for table in tables {
            match table.file_stem().and_then(|stem| stem.to_str()) {
                Some("architectures" | "recipes") => names.push(name.clone()),
                Some(stem) => names.push(format!("{name}/{stem}")),
                None => {}
            }
        }
    }
    let shipped = SHIPPED.iter().map(|shipped| shipped.name.to_owned());
    let shipped: Vec<String> = shipped.filter(|name| !names.contains(name)).collect();
    names.extend(shipped);
    Ok(names)
}

/// Words of columns that say how long a network was trained.
const BUDGETS: [&str; 9] =
    ["budget", "budgets", "epoch", "epochs", "fidelity", "iterations", "step", "steps", "tokens"];

/// Whether a column says how long a network was trained.
fn is_budget(name: &str) -> bool {
    name.split('_').any(|word| BUDGETS.contains(&word))
}

/// Values of a column that an error lists.
const SHOWN: usize = 20;

/// A cell as it is written in a filter.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// What is said of rows whose family is a guess.
fn guess(rows: &[Row], read: &[Architecture]) -> Vec<String> {
    let guessed = rows.iter().zip(read).filter(|(row, _)| !row::says(&row.values));
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    guessed.for_each(|(_, architecture)| *counts.entry(architecture.family().to_string()).or_default() += 1);
    let note = |(family, n)| {
        format!("{n} rows say neither 'family' nor 'space' and are read as {family} by their columns")
    };
    counts.iter().map(note).collect()
}

/// Whether the name of a table is that of a file.
fn is_file(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == "jsonl" || extension == "csv")
}

impl Benchmark {
    /// Loads a benchmark by name from a folder of benchmarks, else from those that ship with the library; a name that ends in
    /// `.jsonl` or `.csv` is a file.
    ///
    /// A row is of the `family` that it says, or of its `space`: a preset, or a file (.toml) next to the table. Else its
    /// columns are guessed by, which [`Benchmark::notes`] says: the family that knows most of them, and of several the one
    /// that the column `backbone`, else the table's name, names. A table `recipes` is joined with `runs.csv` by `recipe_group`; rows of one
    /// `recipe_group` are one network, its results averaged.
    pub fn load(folder: &Path, name: &str) -> Result<Self> {
        if is_file(name) {
            let rows = table::file(Path::new(name))?;
            return Self::of_rows(name, Path::new("").to_path_buf(), rows, [Vec::new(), Vec::new()]);
        }
        let known = names(folder)?;
        if !known.iter().any(|known| known == name) {
            return Err(catalogue::unknown("benchmark", name, known.iter().map(String::as_str)));
        }
        let there = folder.is_dir() && folder.join(name).is_dir();
        let shipped = SHIPPED.iter().find(|shipped| shipped.name == name && !there);
        let (rows, further) = match shipped {
            Some(Shipped { table, repeats, .. }) => {
                let repeats = table::csv(&format!("{name}/repeats.csv"), repeats)?;
                (table::parse(name, table)?, [repeats, Vec::new()])
            }
            None => {
                let further = |file: &str| table::beside(folder, name, file);
                (table::read(folder, name)?, [further("repeats.csv")?, further(checkpoints::FILE)?])
            }
        };
        Self::of_rows(name, folder.join(name.split('/').next().unwrap_or(name)), rows, further)
    }

    /// A table of these rows, with repeated runs and checkpoints; what they name is looked for in `inside`.
    fn of_rows(
        name: &str,
        inside: PathBuf,
        rows: Vec<Row>,
        [repeats, checkpoints]: [Vec<Row>; 2],
    ) -> Result<Self> {
        let mut counts = Vec::new();
        let mut read = Vec::with_capacity(rows.len());
        let hints = row::Hints::of(name, inside, &rows)?;
        for Row { place, values } in &rows {
            let architecture = row::architecture(values, &hints).map_err(|e| e.at(place))?;
            counts.extend(row::counts(place, values, &architecture));
            read.push(architecture);
        }
        let groups = table::groups(&rows);
        // A field of whatever family is never a result, even if this table's networks are of another.
        let genes = |key: &str| families().iter().any(|family| family.knows(key));
        let columns =
            table::numeric(&rows, &groups).into_iter().filter(|column| !genes(&column.name)).collect();
        let firsts: Vec<usize> = groups.iter().map(|group| group[0]).collect();
        let texts = |i: &usize| {
            let plain = |(_, v): &(&String, &Value)| v.is_string() || v.is_number();
            rows[*i].values.iter().filter(plain).map(|(k, v)| (k.clone(), v.clone()))
        };
        Ok(Benchmark {
            name: name.to_owned(),
            labels: firsts.iter().map(|i| texts(i).collect()).collect(),
            architectures: firsts.iter().map(|i| read[*i].clone()).collect(),
            columns,
            counts,
            notes: guess(&rows, &read),
            repeats,
            checkpoints,
        })
    }

    /// The columns in which several rows of one network differ in how long it was trained, each with its values. Which
    /// result is meant must then be said, by [`Benchmark::filter`].
    pub fn budgets(&self) -> BTreeMap<String, Vec<String>> {
        let mut rows: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (row, architecture) in self.architectures.iter().enumerate() {
            rows.entry(architecture.id()).or_default().push(row);
        }
        let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for same in rows.values().filter(|same| same.len() > 1) {
            for key in self.labels[same[0]].keys().filter(|key| is_budget(key)) {
                let values = same.iter().filter_map(|row| self.labels[*row].get(key)).map(plain);
                let mut values: Vec<String> = values.collect();
                values.sort();
                values.dedup();
                if values.len() > 1 {
                    found.entry(key.clone()).or_insert(values);
                }
            }
        }
        found
    }

    /// The column that says how long each network was trained, if rows of one network differ in it: tokens before others.
    pub fn budget(&self) -> Option<&Column> {
        let found = self.budgets();
        let tokens = found.keys().find(|key| key.split('_').any(|word| word == "tokens"));
        self.column(tokens.or(found.keys().next_back())?).ok()
    }

    /// Refuses a table that holds several results of one network, one for each of several budgets.
    pub fn one_budget(&self) -> Result<()> {
        let found = self.budgets();
        if found.is_empty() {
            return Ok(());
        }
        let named = found.iter().map(|(key, values)| format!("{key} ({})", values.join(", ")));
        let message = format!(
            "has several rows per network, which differ in {}: pick the rows of one budget",
            named.collect::<Vec<_>>().join(" and ")
        );
        Err(Error::data(self.name.as_str(), message))
    }

    /// The column of this name.
    pub fn column(&self, name: &str) -> Result<&Column> {
        self.columns.iter().find(|column| column.name == name).ok_or_else(|| {
            catalogue::unknown("target", name, self.columns.iter().map(|column| column.name.as_str()))
        })
    }

    /// The first column that is a result of training.
    pub fn default_target(&self) -> Result<&Column> {
        self.columns.iter().find(|column| column.is_label()).ok_or_else(|| {
            Error::data(self.name.as_str(), "has no column with a result of training: name the target column")
        })
    }

    /// The name that the table gives a network.
    fn name_of(&self, row: usize) -> Option<String> {
        self.labels[row].get("id").map(plain)
    }

    /// The values of a column in every run of each of its networks that was trained more than once.
    fn runs(&self, column: &str) -> impl Iterator<Item = Vec<f64>> {
        let ids = self.labels.iter().filter_map(|label| label.get("id"));
        ids.map(move |id| {
            let own = self.repeats.iter().filter(move |row| row.values.get("id") == Some(id));
            own.filter_map(|row| row.values.get(column)?.as_f64()).collect()
        })
    }

    /// The rows whose column `key` is `value`, a text or a number.
    pub fn filter(&self, key: &str, value: &str) -> Result<Self> {
        let wanted = value.parse::<f64>().ok();
        let fits = |found: &Value| match found.as_f64() {
            Some(number) => Some(number) == wanted,
            None => found.as_str() == Some(value),
        };
        let keep: Vec<usize> =
            (0..self.labels.len()).filter(|i| self.labels[*i].get(key).is_some_and(fits)).collect();
        if keep.is_empty() {
            let mut seen: Vec<String> = self
                .labels
                .iter()
                .filter_map(|label| Some(format!("{key}={}", plain(label.get(key)?))))
                .collect();
            seen.sort();
            seen.dedup();
            seen.truncate(SHOWN);
            let message = format!(
                "no row has {key}={value}; there is {}",
                if seen.is_empty() { "no such column".into() } else { seen.join(", ") }
            );
            return Err(Error::data(self.name.as_str(), message));
        }
        let mut rows = self.select(&keep);
        rows.repeats.retain(|row| row.values.get(key).is_none_or(fits));
        Ok(rows)
    }

    /// The same under another name.
    pub fn named(self, name: String) -> Self {
        Benchmark { name, ..self }
    }

    /// The benchmark split by family, for rankings that compare like with like.
    pub fn by_family(&self) -> Vec<Self> {
        let mut parts: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (row, architecture) in self.architectures.iter().enumerate() {
            parts.entry(architecture.family().to_string()).or_default().push(row);
        }
        parts.values().map(|rows| self.select(rows)).collect()
    }

    /// `n` rows, evenly spread: tables are often sorted.
    pub fn limit(&self, n: usize) -> Self {
        let all = self.architectures.len();
        let n = n.min(all);
        self.select(&(0..n).map(|i| i * all / n).collect::<Vec<_>>())
    }

    /// The same table with a field of every architecture set.
    pub fn with(mut self, key: &str, value: &Value) -> Result<Self> {
        for architecture in &mut self.architectures {
            *architecture = architecture.with(key, value)?;
        }
        Ok(self)
    }

    fn select(&self, rows: &[usize]) -> Self {
        let column = |column: &Column| Column {
            values: rows.iter().map(|i| column.values[*i]).collect(),
            ..column.clone()
        };
        Benchmark {
            name: self.name.clone(),
            architectures: rows.iter().map(|i| self.architectures[*i].clone()).collect(),
            columns: self.columns.iter().map(column).collect(),
            counts: Vec::new(),
            notes: self.notes.clone(),
            labels: rows.iter().map(|i| self.labels[*i].clone()).collect(),
            repeats: self.repeats.clone(),
            checkpoints: self.checkpoints.clone(),
        }
    }
}
