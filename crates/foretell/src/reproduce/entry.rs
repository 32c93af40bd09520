//! What a table or figure of a paper claims, and the nearest experiment: data, read from one file per paper.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A paper with all its numbered tables and figures.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// The first part of the names of its entries.
    #[serde(skip)]
    pub name: &'static str,
    /// Its title.
    pub title: String,
    /// Who wrote it, and when.
    pub authors: String,
    /// What should be known of all entries.
    #[serde(default)]
    pub remark: String,
    /// One entry per table and figure, in the order of the paper.
    #[serde(rename = "entry")]
    pub entries: Vec<Entry>,
}

/// A table or figure of a paper.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Its name within the paper: `table-3`.
    pub name: String,
    /// The paper's name and its own: `etas/table-3`.
    #[serde(skip)]
    pub id: String,
    /// What it shows.
    pub title: String,
    /// What the paper claims by it.
    pub claim: String,
    /// What stands in for what the original needs; empty if the original is run.
    #[serde(default)]
    pub stand_in: String,
    /// What agrees and what does not.
    #[serde(default)]
    pub verdict: String,
    /// The columns of the figures that the paper prints.
    #[serde(default)]
    pub columns: Vec<String>,
    /// The figures that the paper prints, and what they are compared with.
    #[serde(default)]
    pub rows: Vec<Published>,
    /// What is run.
    pub experiment: Experiment,
    #[serde(default)]
    smallest: Scale,
    #[serde(default)]
    quick: Scale,
    #[serde(default)]
    full: Scale,
}

impl Entry {
    /// How much is run at a size.
    pub fn scale(&self, size: Size) -> &Scale {
        match size {
            Size::Smallest => &self.smallest,
            Size::Quick => &self.quick,
            Size::Full => &self.full,
        }
    }

    /// The tables that are read at a size.
    pub fn tables(&self, size: Size) -> Vec<&str> {
        let own = match &self.experiment {
            Experiment::Agreement { targets, .. } => {
                let some = self.scale(size).tables.unwrap_or(usize::MAX);
                targets.iter().take(some).map(|target| target.table.as_str()).collect()
            }
            Experiment::Search { target }
            | Experiment::Stability { target, .. }
            | Experiment::Discover { target } => vec![target.table.as_str()],
            Experiment::Checkpoints { table, .. } => vec![table.as_str()],
            _ => Vec::new(),
        };
        let mut tables = match self.scale(size).table.as_str() {
            "" => own,
            other => vec![other],
        };
        tables.dedup();
        tables
    }
}

/// A row of a published table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Its name in the paper.
    pub name: String,
    /// What stands for it here: a proxy, a searcher, a network or a setting, by the kind of experiment; empty if nothing does.
    #[serde(default)]
    pub ours: String,
    /// Whether the proxy feeds no batch, so that a batch among the options of the run's size is not passed on.
    #[serde(default)]
    pub no_batch: bool,
    /// A figure per column, `nan` where the paper has none.
    #[serde(default)]
    pub paper: Vec<f64>,
}

/// How large a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Size {
    /// Seconds: shows that everything works, and nothing else.
    Smallest,
    /// Minutes.
    Quick,
    /// As published, as far as a machine without accelerators goes.
    Full,
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Size::Smallest => "smallest",
            Size::Quick => "quick",
            Size::Full => "full",
        })
    }
}

/// How much of an experiment is run.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scale {
    /// Networks of a table that are used; all if absent.
    pub networks: Option<usize>,
    /// Tables that are used, from the first on; all if absent.
    pub tables: Option<usize>,
    /// Seeds.
    pub seeds: Option<u64>,
    /// Candidates of a search, or formulas.
    pub budget: Option<u64>,
    /// Steps of a training.
    pub steps: Option<u64>,
    /// Options of every proxy that runs a network: `batch=4,tokens=64`.
    pub options: String,
    /// A table that takes the place of all others.
    pub table: String,
}

/// A column of a table of trained networks.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// The table: a folder of the benchmark folder, or one that ships.
    pub table: String,
    /// The column; the first result of training if empty.
    #[serde(default)]
    pub column: String,
    /// Only rows with this value: `backbone=gpt2`.
    #[serde(default, rename = "where")]
    pub rows: String,
    /// A field of every network that is set: `mode=published`.
    #[serde(default)]
    pub set: String,
    /// What its figures are called.
    #[serde(default)]
    pub label: String,
}

impl Target {
    /// What its figures are called.
    pub fn label(&self) -> &str {
        if self.label.is_empty() { &self.table } else { &self.label }
    }
}

/// What is drawn of an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Draw {
    /// Bars of agreement with intervals.
    #[default]
    Bars,
    /// A scatter plot of each score against the truth.
    Scatter,
}

/// The kinds of experiments. An entry is data plus one of these.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Experiment {
    /// How well proxies, those that rows name, rank tables of trained networks.
    Agreement {
        /// Tables and columns.
        targets: Vec<Target>,
        /// Cuts of parameters between bands in which tau is given, too.
        #[serde(default)]
        bands: Vec<u64>,
        /// What is drawn.
        #[serde(default)]
        draw: Draw,
    },
    /// Searches inside a table, those that rows name as `searcher proxy`: the label of the best by score.
    Search {
        /// The table and its column.
        target: Target,
    },
    /// How far scores move with the seed, and with it their agreement.
    Stability {
        /// The table and its column.
        target: Target,
        /// Settings of the scores, each as options of a proxy; none: the seed alone.
        #[serde(default)]
        settings: Vec<String>,
    },
    /// Parameters and multiply-adds of networks that rows name as JSON.
    Counts,
    /// Sizes of spaces that rows name.
    Spaces,
    /// Searches for formulas as LPZero makes them, those that rows name.
    Discover {
        /// The table and its column.
        target: Target,
    },
    /// Searches of a space by `searcher proxy`, as rows name them, whose best networks are really trained.
    Training {
        /// The space: a preset.
        space: String,
        /// The most parameters of a network.
        max_params: u64,
        /// What is trained on: `text`, which ships, or `shapes`, pictures that are drawn on the spot.
        data: String,
        /// Networks of a search that are trained in the end, unless it evaluates itself.
        top: usize,
    },
    /// Results after each of several lengths of training, read from a table of checkpoints.
    Checkpoints {
        /// The table.
        table: String,
        /// Its file of checkpoints.
        file: String,
        /// The column that holds the length.
        length: String,
        /// The column that holds the result.
        result: String,
    },
    /// A diagram: a command shows the same here.
    Illustration {
        /// The command.
        command: String,
    },
    /// Nothing can be run here.
    Impossible {
        /// Why.
        why: String,
    },
}

impl Experiment {
    /// Its kind, as the files call it.
    pub fn kind(&self) -> &'static str {
        match self {
            Experiment::Agreement { .. } => "agreement",
            Experiment::Search { .. } => "search",
            Experiment::Stability { .. } => "stability",
            Experiment::Counts => "counts",
            Experiment::Spaces => "spaces",
            Experiment::Discover { .. } => "discover",
            Experiment::Training { .. } => "training",
            Experiment::Checkpoints { .. } => "checkpoints",
            Experiment::Illustration { .. } => "illustration",
            Experiment::Impossible { .. } => "impossible",
        }
    }
}
