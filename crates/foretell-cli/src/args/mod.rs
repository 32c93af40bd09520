//! The command line as typed.

mod labels;
mod limits;
mod manual;
mod network;
mod predict;
mod reproduce;
mod run;
mod search;
mod study;
mod table;
mod training;
mod value;

use crate::{config, output};
use clap::{Parser, Subcommand};
use foretell::error::{Error, Result};
pub use labels::{Bench, BenchFormat, Calibrate, Discover};
pub use limits::LimitArgs;
pub use manual::{Completions, Man};
pub use network::{Count, PrecisionArg, Proxies, Rank, Sample, Score, ScoringArgs, Spaces};
pub use predict::{FitPredictor, Predict, PredictCommand, ShowPredictor, Suggest, UsePredictor};
pub use reproduce::Reproduce;
pub use run::{BenchmarkArgs, BenchmarkCommand, BenchmarkPath, Build, Import, Train, Verify};
pub use search::{Algorithms, Search};
use std::path::Path;
pub use study::{
    Best, Compare, DeleteStudy, Export, Front, Merge, Repair, Report, Shown, StoreArgs, Studies,
    StudiesCommand, UnlockStudy, WatchArgs,
};
pub use table::{DataArgs, LabelArgs, TableArgs};
pub use training::{EvaluateArgs, TrainingArgs};
pub use value::assignment;

const EXAMPLES: &str = "\
Examples:
  foretell search                                     find a ViT of at most 6M parameters, in a minute
  foretell spaces autoformer-tiny --max-params 6M     show a space, and how much of it is within a limit
  foretell sample gpt2 -n 3 --max-params 20M --json | foretell rank -   rank random architectures, best first
  foretell bench gpt2-pentateuch                      compare proxies with trained networks and plain counts

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 most candidates or all evaluations failed or no score succeeded,
4 nothing feasible or no candidate is within a limit as measured, 130 interrupted, 143 terminated.

Options can be set in foretell.toml in the current folder and in foretell/config.toml in the user's config folder: a table
per command such as [search], or [all]; keys are the long option names. The command line has priority.";

/// Rank and search Transformer and recurrent architectures before training them.
#[derive(Parser)]
#[command(name = "foretell", version, after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
    /// Print JSON: one object, or one per line. Errors are JSON on stderr.
    #[arg(long, global = true)]
    pub json: bool,
    /// Number of worker threads; results do not depend on it. Default: all cores.
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Print results and errors only: no progress, no notes.
    #[arg(long, global = true)]
    pub quiet: bool,
    /// Also print what is read, cached, skipped and decided, on stderr.
    #[arg(long, global = true, conflicts_with = "quiet")]
    pub verbose: bool,
    /// Do not read config files.
    #[arg(long, global = true)]
    pub no_config: bool,
}

#[derive(Subcommand)]
pub enum Command {
    /// Search a space for the best architecture within limits. The same command resumes an unfinished study.
    Search(Box<Search>),
    /// List the studies of a store, or delete one.
    Studies(Studies),
    /// Show a study: settings, provenance and candidates, best first.
    Show(Shown),
    /// Follow a study that another process writes: candidates, the best so far, the time left. Ends when the study ends.
    Watch(WatchArgs),
    /// Print the winner of a study; with --json in the form that score, count and rank read.
    Best(Best),
    /// Print the Pareto front of a study, with its volume and its winner.
    Front(Front),
    /// Write a study as one self-contained HTML page: front, history, winner, agreement, table, how to reproduce it.
    Report(Report),
    /// Compare studies: curves of the best so far with bands over seeds, and winners scored by each other's proxies.
    Compare(Compare),
    /// Export the winner of a study, another candidate or an architecture as a model that can be trained.
    Export(Export),
    /// Check a store page by page and every candidate by its digest.
    VerifyStore(StoreArgs),
    /// Copy what is intact in a damaged store into a new one; the damaged file is kept under another name.
    Repair(Repair),
    /// Merge the studies of several stores, and the shards of a search into one study.
    Merge(Merge),
    /// List the search algorithms, or show one with its paper and options.
    Algorithms(Algorithms),
    /// List the search spaces, or show one with its size, ranges and choices.
    Spaces(Spaces),
    /// Draw random architectures from a space, within limits if given.
    Sample(Sample),
    /// Count the parameters (by part), multiply-adds and memory of architectures exactly.
    Count(Count),
    /// Score architectures at initialisation, or with weights from a file.
    Score(Score),
    /// Rank architectures by their scores, best first.
    Rank(Rank),
    /// List the proxies, or show one with its formula, paper and options.
    Proxies(Proxies),
    /// Measure how well proxies rank trained networks, compared with trivial baselines.
    Bench(Bench),
    /// Build a table of trained networks for bench, or print the benchmark folder.
    Benchmark(BenchmarkArgs),
    /// Train a network: loss curve, final metrics, checkpoint. The same command resumes an interrupted run.
    Train(Train),
    /// Train the best networks of a study and random ones of the same size, to test whether the search beats chance.
    Verify(Verify),
    /// Search for a proxy: formulas over six statistics, found on some trained networks and tested on others.
    Discover(Discover),
    /// Predict how good networks will be after training, from a few trained ones.
    Predict(Predict),
    /// Fit a proxy to a few labelled networks; prefers the simplest one that is not significantly worse.
    Calibrate(Calibrate),
    /// Run the experiments behind the tables and figures of the papers, and compare the figures with those printed.
    Reproduce(Reproduce),
    /// Show this machine and the paths in use: cores, memory, config files, cache, store, benchmarks.
    Doctor,
    /// Print a completion script for a shell.
    Completions(Completions),
    /// Print the manual page, or write one page per command.
    Man(Man),
}

/// Refuses an option of the command line that has no effect. One that a config file sets is ignored.
pub fn no_effect(option: &'static str, message: &str) -> Result<()> {
    if config::sets(option) {
        output::detail(format!("{option} of the config file {message}"));
        return Ok(());
    }
    Err(Error::option(option, message))
}

impl Command {
    /// The store that is named, if any.
    pub fn store(&self) -> Option<&Path> {
        match self {
            Command::Search(args) => args.store.as_deref(),
            Command::Studies(args) => args.store.as_deref(),
            Command::Show(args) => args.store.store.as_deref(),
            Command::Best(args) => args.store.store.as_deref(),
            Command::Watch(args) => args.store.store.as_deref(),
            Command::Front(args) => args.store.store.as_deref(),
            Command::Report(args) => args.store.store.as_deref(),
            Command::Compare(args) => args.store.store.as_deref(),
            Command::Export(args) => args.store.store.as_deref(),
            Command::Verify(args) => args.store.store.as_deref(),
            Command::VerifyStore(args) => args.store.as_deref(),
            _ => None,
        }
    }

    /// What is stored of the work done so far if the command is interrupted.
    pub fn keeps(&self) -> Option<&'static str> {
        let cached = |scoring: &ScoringArgs| {
            scoring.cached().then_some("the scores computed so far are cached; the same command uses them")
        };
        match self {
            Command::Search(_) => Some("scored candidates are stored; the same command resumes the search"),
            Command::Score(args) if args.terms => None,
            Command::Score(args) => cached(&args.scoring),
            Command::Rank(args) => cached(&args.scoring),
            Command::Bench(args) => cached(&args.scoring),
            Command::Calibrate(args) => cached(&args.scoring),
            Command::Benchmark(BenchmarkArgs { command: BenchmarkCommand::Build(_) })
            | Command::Verify(_) => {
                Some("finished runs and checkpoints are stored; the same command resumes them")
            }
            Command::Reproduce(args) if args.list || args.entry.is_none() => None,
            Command::Reproduce(_) => Some(
                "finished parts are stored in the folder of the results; the same command resumes the run",
            ),
            Command::Discover(args) if args.method == "alpha" => None,
            Command::Discover(_) => Some("the statistics of networks are stored; the same command uses them"),
            _ => None,
        }
    }
}
