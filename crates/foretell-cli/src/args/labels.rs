//! Arguments of the commands that read labelled networks.

use super::value::{number, whole};
use super::{LabelArgs, ScoringArgs, TableArgs};
use clap::{Args, ValueEnum};
use foretell::benchmark::Bands;
use foretell::error::Result;
use std::path::PathBuf;

#[derive(Args)]
pub struct Bench {
    /// Benchmark: a folder in the benchmark folder, FOLDER/TABLE, or all. Default: list all.
    pub benchmark: Option<String>,
    /// How to print the figures: table, markdown, csv (one line per proxy) or latex (package booktabs).
    #[arg(long, value_enum, default_value_t = BenchFormat::Table, conflicts_with = "json")]
    pub format: BenchFormat,
    /// File to write the scores of every network to: .json or .csv.
    #[arg(long, value_name = "FILE")]
    pub scores: Option<PathBuf>,
    /// Folder to write a scatter plot (SVG) of every proxy to.
    #[arg(long, value_name = "FOLDER")]
    pub plots: Option<PathBuf>,
    /// Parameter counts that cut the networks into bands, e.g. 1M,5M,20M; agreement is printed within each band.
    #[arg(long, value_name = "COUNTS", value_delimiter = ',', value_parser = number)]
    pub bands: Vec<u64>,
    /// Print instead how much the ranking depends on what is drawn: weights, inputs, init (initialisations), feed (kinds of
    /// input) or batch. --seeds is the number of draws of weights and inputs.
    #[arg(long, value_name = "SOURCE", conflicts_with_all = ["scores", "plots", "bands", "resamples", "dry_run"])]
    pub stability: Option<String>,
    /// Print instead the agreement with the target after more and more training, for tables with such checkpoints.
    #[arg(long, conflicts_with_all = ["stability", "scores", "plots", "bands", "resamples", "dry_run"])]
    pub checkpoints: bool,
    #[command(flatten)]
    pub table: TableArgs,
    /// Number of bootstrap resamples for each interval; 0 for no intervals.
    #[arg(long, default_value_t = 1000, value_parser = whole::<0, 1_000_000>)]
    pub resamples: usize,
    /// Check everything and print what would be done; change nothing.
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub scoring: ScoringArgs,
}

impl Bench {
    /// The requested bands; none if none were requested.
    pub fn bands(&self) -> Result<Option<Bands>> {
        if self.bands.is_empty() { Ok(None) } else { Bands::at(&self.bands).map(Some) }
    }
}

/// How figures are printed.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub enum BenchFormat {
    /// Columns of text.
    Table,
    /// A Markdown table.
    Markdown,
    /// Comma-separated values.
    Csv,
    /// A LaTeX table.
    Latex,
}

#[derive(Args)]
pub struct Discover {
    #[command(flatten)]
    pub labels: LabelArgs,
    /// Space to draw 500 random networks from, for the rules of --method alpha that need no labels.
    #[arg(long, value_name = "SPACE", conflicts_with = "benchmark")]
    pub space: Option<String>,
    /// Method: evolution (as in LPZero), random, exhaustive (all formulas, compared with evolution), ablations (compares the
    /// searches of LPZero) or alpha (the balance of ZeroLM).
    #[arg(long, default_value = "evolution")]
    pub method: String,
    /// Formulas and parent pool: paper (as published) or released (as in the released code).
    #[arg(long, default_value = "paper")]
    pub preset: String,
    /// Number of operators in a branch; 1 or 2 for exhaustive.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=5))]
    pub unaries: u8,
    /// Size of the population.
    #[arg(long, default_value_t = 80, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub population: u64,
    /// Number of generations, with one child each.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(0..=100_000_000))]
    pub generations: u64,
    /// Evaluate every formula that is drawn, without pruning rules.
    #[arg(long)]
    pub no_pruning: bool,
    /// Fitness: spearman or kendall.
    #[arg(long, default_value = "spearman")]
    pub fitness: String,
    /// Number of networks that fitness is measured on.
    #[arg(long, default_value_t = 50, value_name = "N", value_parser = whole::<2, 1_000_000>)]
    pub sample: usize,
    /// Number of networks that choose among the hundred fittest formulas; all other networks are the test.
    #[arg(long, default_value_t = 50, value_name = "N", value_parser = whole::<2, 1_000_000>)]
    pub validation: usize,
    /// Number of splits of the networks, each with the next seed.
    #[arg(long, default_value_t = 5, value_name = "K", value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub splits: u64,
    /// Seed of the splits and of all random draws.
    #[arg(long, default_value_t = 42)]
    pub seed: u64,
    /// File of statistics; existing ones are used. Default: BENCHMARK-FAMILY.statistics in the current folder.
    #[arg(long, value_name = "FILE")]
    pub statistics: Option<PathBuf>,
    /// Number of entries stored of each tensor.
    #[arg(long, default_value_t = 4096, value_name = "N", value_parser = clap::value_parser!(u32).range(16..=16_777_216))]
    pub entries: u32,
    /// Options of the passes, as for a proxy, e.g. batch=4,tokens=64.
    #[arg(long, default_value = "", value_name = "KEY=VALUE,…")]
    pub options: String,
    /// File to write the formula to that validation chose in the first split.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Check everything and print what would be done; change nothing.
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Args)]
pub struct Calibrate {
    #[command(flatten)]
    pub labels: LabelArgs,
    /// Number of labels to use, or all there are; all other networks are the test.
    #[arg(long = "labels", default_value_t = 30, value_name = "K", value_parser = clap::value_parser!(u32).range(5..=1_000_000))]
    pub count: u32,
    /// File to write the proxy to, for --proxy @FILE.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Check everything and print what would be done; change nothing.
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub scoring: ScoringArgs,
}
