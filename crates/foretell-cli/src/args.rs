//! The command line as typed.

mod limits;
mod table;
mod training;
mod value;

use crate::{config, output};
use clap::{Args, Parser, Subcommand, ValueEnum};
use foretell::error::{Error, Result};
use foretell::study::Shard;
pub use limits::LimitArgs;
use std::path::{Path, PathBuf};
pub use table::{DataArgs, LabelArgs, TableArgs};
pub use training::{EvaluateArgs, TrainingArgs};
pub use value::assignment;
use value::{duration, number, seconds, shard, whole};

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
    Search(Search),
    /// List the studies of a store, or delete one.
    Studies(Studies),
    /// Show a study: settings, provenance and candidates, best first.
    Show(Shown),
    /// Print the winner of a study; with --json in the form that score, count and rank read.
    Best(Best),
    /// Print the Pareto front of a study, with its volume and its winner.
    Front(Front),
    /// Write a study as one self-contained HTML page: front, history, winner, agreement, table, how to reproduce it.
    Report(Report),
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
    /// Fit a proxy to a few labelled networks; prefers the simplest one that is not significantly worse.
    Calibrate(Calibrate),
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
            Command::Front(args) => args.store.store.as_deref(),
            Command::Report(args) => args.store.store.as_deref(),
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
            Command::Discover(args) if args.method == "alpha" => None,
            Command::Discover(_) => Some("the statistics of networks are stored; the same command uses them"),
            _ => None,
        }
    }
}

#[derive(Args)]
pub struct Search {
    /// Space to search: name of a preset, or a space file (.toml). Default: autoformer-tiny with at most 6M parameters,
    /// unless --max-params or --min-params is given.
    #[arg(long)]
    pub space: Option<String>,
    /// Proxy to maximise, with options in brackets, or @FILE to read it from a file. nsc uses only the shape and takes
    /// microseconds; dss++ is the score of T-Razor and takes a forward and a backward pass per candidate. See foretell
    /// proxies and docs/benchmarks.md.
    #[arg(long, default_value = "nsc", allow_hyphen_values = true)]
    pub proxy: String,
    /// Search algorithm, with options in brackets, e.g. block-wise[population=50,steps=160]. Default: auto, which is dp
    /// (the exact optimum) if the score is a sum over layers, pareto for several objectives, and memetic otherwise. See
    /// foretell algorithms.
    #[arg(long)]
    pub algorithm: Option<String>,
    /// Objective; repeat the option for several. proxy and the names of other proxies are maximised; params, flops,
    /// memory, cache, latency and token-latency are minimised. Default: proxy.
    #[arg(long = "objective", value_name = "OBJECTIVE")]
    pub objectives: Vec<String>,
    /// Number of candidates to score. Default: as many as the algorithm plans.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub budget: Option<u64>,
    /// Seed of all random draws.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Number of draws of weights and inputs that a score is averaged over, if it depends on them.
    #[arg(long, default_value_t = foretell::study::SEEDS, value_name = "K", value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub seeds: u64,
    /// Study database (SQLite). Default: FORETELL_STORE, else foretell.db.
    #[arg(long, value_name = "FILE")]
    pub store: Option<PathBuf>,
    /// Name of the study. Default: derived from the settings; the same settings get the same name.
    #[arg(long, value_name = "STUDY")]
    pub name: Option<String>,
    /// Maximum memory of a forward and backward pass of one input in f32, e.g. 200M.
    #[arg(long, value_name = "BYTES", value_parser = number)]
    pub max_memory: Option<u64>,
    /// Maximum memory of the keys and values of a whole context in f32, e.g. 20M; decoders only.
    #[arg(long, value_name = "BYTES", value_parser = number)]
    pub max_cache: Option<u64>,
    /// Maximum time of a pass over one whole input on one thread of this machine, e.g. 20ms. Predicted by a model that is
    /// fitted to measurements; a candidate is measured before it can win.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub max_latency: Option<f64>,
    /// Maximum time of one further token after a whole context, with cached keys and values, on one thread of this
    /// machine, e.g. 2ms; decoders only.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub max_token_latency: Option<f64>,
    #[command(flatten)]
    pub limits: LimitArgs,
    /// Run one shard of the search as a separate study, for job arrays: 3/16 is the third of sixteen. See foretell merge.
    #[arg(long, value_name = "I/N", value_parser = shard)]
    pub shard: Option<Shard>,
    /// Check everything and print what would be done; change nothing.
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub evaluator: EvaluateArgs,
}

#[derive(Args)]
pub struct Train {
    /// Network to train: a JSON file, or - for standard input. The vocabulary or the classes are set to those of the data.
    #[arg(required_unless_present = "demo")]
    pub architecture: Option<String>,
    /// Train a small GPT-2 on the text that is included in the program.
    #[arg(long, conflicts_with_all = ["architecture", "on"])]
    pub demo: bool,
    /// Checkpoint folder; an existing run there is resumed. Default: trained-ID-SEED in the current folder.
    #[arg(short, long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
    /// Seconds between checkpoints; a checkpoint is also written when the run is interrupted.
    #[arg(long, value_name = "SECONDS", default_value_t = 20.0, value_parser = seconds)]
    pub save_every: f64,
    /// Precision of the computation.
    #[arg(long, value_enum, default_value_t = PrecisionArg::F32)]
    pub precision: PrecisionArg,
    /// Check everything and print what would be done; change nothing.
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub training: TrainingArgs,
}

#[derive(Args)]
pub struct Verify {
    /// Name of a study; see foretell studies.
    pub study: String,
    /// Number of pairs: one of the best candidates and a random network of the same size each.
    #[arg(short, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub k: u64,
    /// Number of seeds that each network is trained with.
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub seeds: u64,
    /// Folder of finished runs and checkpoints. Default: STUDY.verified in the current folder.
    #[arg(short, long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
    /// Check everything and print what would be done; change nothing.
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub store: StoreArgs,
    #[command(flatten)]
    pub training: TrainingArgs,
}

#[derive(Args)]
pub struct BenchmarkArgs {
    #[command(subcommand)]
    pub command: BenchmarkCommand,
}

#[derive(Subcommand)]
pub enum BenchmarkCommand {
    /// Draw networks of all sizes from a space and train each; the same command resumes an interrupted build.
    Build(Build),
    /// Print the folder that benchmarks are read from.
    Path(BenchmarkPath),
}

#[derive(Args)]
pub struct BenchmarkPath {
    #[command(flatten)]
    pub data: DataArgs,
}

#[derive(Args)]
pub struct Build {
    /// Build configuration (.toml): space, networks, parameters, recipe. See docs/train.md.
    pub config: PathBuf,
    /// Folder of the benchmark; runs are stored in its subfolder runs. Default: the folder of the configuration.
    #[arg(short, long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
    /// Run one shard of the runs, for job arrays: 3/16 is the third of sixteen. Copy the runs folders together afterwards.
    #[arg(long, value_name = "I/N", value_parser = shard)]
    pub shard: Option<Shard>,
    /// Check everything and print what would be done; change nothing.
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Args)]
pub struct Repair {
    /// Damaged store.
    pub file: PathBuf,
}

#[derive(Args)]
pub struct Merge {
    /// Store to merge into; it is created if it does not exist.
    pub into: PathBuf,
    /// Stores to read from; they are not changed.
    #[arg(required = true)]
    pub from: Vec<PathBuf>,
}

#[derive(Args)]
pub struct StoreArgs {
    /// Study database (SQLite). Default: FORETELL_STORE, else foretell.db.
    #[arg(long, value_name = "FILE")]
    pub store: Option<PathBuf>,
}

#[derive(Args)]
pub struct Studies {
    #[command(subcommand)]
    pub command: Option<StudiesCommand>,
    /// Study database (SQLite). Default: FORETELL_STORE, else foretell.db.
    #[arg(long, value_name = "FILE", global = true)]
    pub store: Option<PathBuf>,
}

#[derive(Subcommand)]
pub enum StudiesCommand {
    /// Delete a study with its trials, evaluations, measurements and answer.
    Delete(DeleteStudy),
}

#[derive(Args)]
pub struct DeleteStudy {
    /// Name of a study; see foretell studies.
    pub name: String,
    /// Delete without asking; required if stdin is not a terminal.
    #[arg(long)]
    pub yes: bool,
}

#[derive(Args)]
pub struct Completions {
    /// Shell to complete for.
    pub shell: clap_complete::Shell,
}

#[derive(Args)]
pub struct Man {
    /// Folder to write one page per command to; it is created if it does not exist. Default: print the main page.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

#[derive(Args)]
pub struct Best {
    /// Name of a study; see foretell studies.
    pub study: String,
    /// Number of candidates, the winner first.
    #[arg(short, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub n: u64,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Args)]
pub struct Front {
    /// Name of a study; see foretell studies.
    pub study: String,
    /// Number of candidates, best in the first objective first. Default: 20 as a table, all as JSON.
    #[arg(short, value_parser = clap::value_parser!(u64).range(1..))]
    pub n: Option<u64>,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Args)]
pub struct Shown {
    /// Name of a study; see foretell studies.
    pub study: String,
    /// Number of candidates, best first.
    #[arg(short, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    pub n: u64,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Args)]
pub struct Report {
    /// Name of a study; see foretell studies.
    pub study: String,
    /// Page to write. Default: STUDY.html in the current folder.
    #[arg(short, long, value_name = "FILE.html")]
    pub output: Option<PathBuf>,
    /// Folder to also write the charts to: front.svg, history.svg, agreement.svg, network.svg.
    #[arg(long, value_name = "FOLDER")]
    pub svg: Option<PathBuf>,
    /// Result of foretell verify (FOLDER/verification.json), to add as a section with a chart.
    #[arg(long, value_name = "FILE")]
    pub verification: Option<PathBuf>,
    /// Overwrite files that are not reports.
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Args)]
pub struct Export {
    /// Name of a study, JSON file of an architecture, Hugging Face folder, or - for standard input.
    #[arg(value_name = "STUDY|ARCH.json")]
    pub source: String,
    /// Folder to write. It is written completely or not at all.
    #[arg(long, value_name = "DIR")]
    pub to: PathBuf,
    /// Format: huggingface (a folder for AutoModel.from_pretrained), pytorch (one plain file), timm (a registered vision
    /// transformer) or json (only the architecture).
    #[arg(long, default_value = "huggingface", value_name = "FORMAT")]
    pub target: String,
    /// Number of the trial to export. Default: the winner.
    #[arg(long, value_name = "N")]
    pub trial: Option<u64>,
    /// Seed of the weights; foretell score draws the same weights with this seed.
    #[arg(long, default_value_t = 0, conflicts_with = "no_weights")]
    pub seed: u64,
    /// Write only code and configuration.
    #[arg(long)]
    pub no_weights: bool,
    /// Replace an earlier export.
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Args)]
pub struct Algorithms {
    /// Name of an algorithm. Default: list all.
    pub algorithm: Option<String>,
}

#[derive(Args)]
pub struct Spaces {
    /// Name of a preset, or a space file (.toml). Default: list all presets.
    pub space: Option<String>,
    /// Print the space file.
    #[arg(long, requires = "space")]
    pub toml: bool,
    #[command(flatten)]
    pub limits: LimitArgs,
}

#[derive(Args)]
pub struct Sample {
    /// Name of a preset, or a space file (.toml).
    pub space: String,
    /// Number of architectures.
    #[arg(short, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub n: u64,
    /// Seed of the random draws.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Draw uniformly from all feasible architectures. Default: draw depth and width first, as in the papers.
    #[arg(long)]
    pub uniform: bool,
    #[command(flatten)]
    pub limits: LimitArgs,
}

#[derive(Args)]
pub struct Count {
    /// Architectures: JSON files (one object, or one per line), Hugging Face folders or config.json files, or - for
    /// standard input.
    #[arg(required = true)]
    pub architectures: Vec<String>,
    /// Set a field of every architecture, e.g. mode=published.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// List all weight tensors with role, block and shape.
    #[arg(long)]
    pub tensors: bool,
    /// Measure the time of a pass over one whole input and, for decoders, of one further token, on one thread.
    #[arg(long, conflicts_with = "tensors")]
    pub latency: bool,
}

#[derive(Args)]
pub struct Score {
    /// Architectures: JSON files (one object, or one per line), Hugging Face folders or config.json files, or - for
    /// standard input.
    #[arg(required = true)]
    pub architectures: Vec<String>,
    /// Show the terms that each score is the sum of.
    #[arg(long)]
    pub terms: bool,
    #[command(flatten)]
    pub scoring: ScoringArgs,
}

#[derive(Args)]
pub struct Rank {
    /// Architectures: JSON files (one object, or one per line), Hugging Face folders or config.json files, or - for
    /// standard input.
    #[arg(required = true)]
    pub architectures: Vec<String>,
    #[command(flatten)]
    pub scoring: ScoringArgs,
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
    /// Number of labels to use; all other networks are the test.
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

/// How networks are scored.
#[derive(Args)]
pub struct ScoringArgs {
    /// Proxies, separated by commas, with options in brackets, e.g. snip,ntkt[probes=32]. all, or all of one cost: shape,
    /// weights, forward, backward, passes, samples, hessian. Formulas such as 'sum(square(head), norm(weight))'. @FILE reads
    /// proxies from a file, one per line. See foretell proxies.
    #[arg(long, allow_hyphen_values = true)]
    pub proxies: Option<String>,
    /// Weights: shared (slices of one super-network), standalone (one draw per network), or a safetensors file or model
    /// folder with tensor names of foretell, of an export or of transformers. Only for proxies that use weights.
    #[arg(long, default_value = "shared", value_name = "SOURCE")]
    pub weights: String,
    /// Inputs from a safetensors file: images and targets, or input_ids and labels. Only for proxies that run the network.
    #[arg(long, value_name = "FILE")]
    pub inputs: Option<PathBuf>,
    /// Precision of the computation. Proxies that require f64 always use it.
    #[arg(long, value_enum, default_value_t = PrecisionArg::F32)]
    pub precision: PrecisionArg,
    /// First seed of weights and inputs.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Number of seeds, for scores that depend on a random draw.
    #[arg(long, default_value_t = 3, value_name = "K", value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub seeds: u64,
    /// Do not read or write the cache of scores.
    #[arg(long)]
    pub no_cache: bool,
    /// Cache folder of scores. Default: FORETELL_CACHE, else the user's cache folder.
    #[arg(long, value_name = "FOLDER", conflicts_with = "no_cache")]
    pub cache: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum PrecisionArg {
    /// Single precision.
    F32,
    /// Double precision.
    F64,
}

#[derive(Args)]
pub struct Proxies {
    /// Name of a proxy. Default: list all.
    pub proxy: Option<String>,
}

#[derive(Args)]
pub struct Bench {
    /// Benchmark: a folder in the benchmark folder, FOLDER/TABLE, or all. Default: list all.
    pub benchmark: Option<String>,
    /// Print the tables as Markdown.
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,
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
