//! What was typed.

mod limits;
mod table;
mod training;
mod value;

use clap::{Args, Parser, Subcommand, ValueEnum};
use foretell::study::Shard;
pub use limits::LimitArgs;
use std::path::PathBuf;
pub use table::{LabelArgs, TableArgs};
pub use training::{EvaluateArgs, TrainingArgs};
pub use value::assignment;
use value::{duration, number, seconds, whole};

const EXAMPLES: &str = "\
Examples:
  foretell search                                     a ViT of at most 6M parameters, in a minute, and what to do next
  foretell spaces autoformer-tiny --max-params 6M     what a space holds, and how much of it fits a budget
  foretell sample gpt2 -n 3 --max-params 20M --json | foretell rank -   architectures inside a budget, best first
  foretell bench gpt2-wikitext103                     which proxies rank trained networks, compared with plain counts

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 most candidates or all evaluations failed or no score succeeded,
4 nothing feasible or nothing keeps a limit as measured, 130 interrupted, 143 terminated.";

/// Ranks Transformer and recurrent architectures before training them.
#[derive(Parser)]
#[command(name = "foretell", version, after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
    /// Machine output: one JSON object, or one a line where there are many.
    #[arg(long, global = true)]
    pub json: bool,
    /// Worker threads; results do not depend on it. Default: all cores.
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
}

#[derive(Subcommand)]
pub enum Command {
    /// Searches a space for the best architecture inside limits. The same command again resumes an unfinished study.
    Search(Search),
    /// The studies of a store.
    Studies(StoreArgs),
    /// A study: settings, provenance, candidates best first.
    Show(Shown),
    /// The winner of a study; with --json as `score`, `count` and `rank` read it.
    Best(Best),
    /// The Pareto front of a study, with its volume and its winner.
    Front(Front),
    /// A study as one self-contained page: front, history, winner drawn to scale, agreement, table, how to reproduce it.
    Report(Report),
    /// The winner of a study, a candidate or an architecture as something that trains today.
    Export(Export),
    /// Checks a store page by page and every candidate by its digest.
    VerifyStore(StoreArgs),
    /// Brings what is intact of a damaged store into a new one; the damaged file is kept aside.
    Repair(Repair),
    /// Unites the studies of several stores, and shards of a search into one study, in any order and as often as you like.
    Merge(Merge),
    /// The search algorithms: the list, or one with its paper and options.
    Algorithms(Algorithms),
    /// Search spaces: the list, or one with its size, ranges and choices.
    Spaces(Spaces),
    /// Random architectures of a space, inside limits if given.
    Sample(Sample),
    /// Exact parameters with parts, multiply-adds and memory of architectures.
    Count(Count),
    /// Scores architectures at initialisation, or with weights from a file.
    Score(Score),
    /// Ranks architectures by their scores, best first.
    Rank(Rank),
    /// The proxies: the list, or one with its formula, paper and options.
    Proxies(Proxies),
    /// How well proxies rank trained networks, compared with the trivial baselines.
    Bench(Bench),
    /// Makes a table of trained networks of one's own, for `bench`.
    Benchmark(BenchmarkArgs),
    /// Trains a network: loss curve, final metrics, checkpoint. An interrupted run resumes with the same command.
    Train(Train),
    /// Trains the best of a study and random networks of their size: does the search beat chance?
    Verify(Verify),
    /// Searches the proxy itself: formulas over six statistics, found on some trained networks and judged by others.
    Discover(Discover),
    /// Turns a handful of labels into the simplest proxy that they cannot tell from a better one.
    Calibrate(Calibrate),
    /// This machine and the paths in use: cores, memory, cache, store, benchmarks.
    Doctor,
}

impl Command {
    /// What is kept of the work done so far if the command is interrupted.
    pub fn keeps(&self) -> Option<&'static str> {
        let cached = |scoring: &ScoringArgs| {
            scoring.cached().then_some("scores computed so far are cached, the same command uses them")
        };
        match self {
            Command::Search(_) => Some("scored candidates are stored, the same command resumes the search"),
            Command::Score(args) if args.terms => None,
            Command::Score(args) => cached(&args.scoring),
            Command::Rank(args) => cached(&args.scoring),
            Command::Bench(args) => cached(&args.scoring),
            Command::Calibrate(args) => cached(&args.scoring),
            Command::Benchmark(_) | Command::Verify(_) => {
                Some("finished runs and checkpoints are kept, the same command resumes them")
            }
            Command::Discover(args) if args.method == "alpha" => None,
            Command::Discover(_) => Some("statistics of networks are kept, the same command uses them"),
            _ => None,
        }
    }
}

#[derive(Args)]
pub struct Search {
    /// Space to search: a preset's name or a space file (.toml). Default: autoformer-tiny, with at most 6M parameters
    /// unless --max-params or --min-params is given.
    #[arg(long)]
    pub space: Option<String>,
    /// The proxy to search by, options in brackets. nsc reads the shape alone and takes microseconds; --proxy dss++ is the
    /// score of T-Razor, a forward and backward pass per candidate; @FILE: the one that a file holds. See foretell proxies
    /// and docs/benchmarks.md.
    #[arg(long, default_value = "nsc", allow_hyphen_values = true)]
    pub proxy: String,
    /// Algorithm, with options in brackets: block-wise[population=50,steps=160]. Default: auto, which is dp (the exact
    /// optimum) where the score is a sum over layers, pareto with several objectives, and memetic otherwise. See foretell
    /// algorithms.
    #[arg(long)]
    pub algorithm: Option<String>,
    /// Objective; repeat for several. `proxy` and further proxies are maximised; params, flops, memory, cache, latency and
    /// token-latency are minimised.
    #[arg(long = "objective", value_name = "OBJECTIVE")]
    pub objectives: Vec<String>,
    /// How many candidates are scored. Default: as many as the algorithm plans.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub budget: Option<u64>,
    /// Seed of every draw.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Draws of weights and inputs that a score is averaged over, where it depends on them.
    #[arg(long, default_value_t = foretell::study::SEEDS, value_name = "K", value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub seeds: u64,
    /// Study database (SQLite). Default: FORETELL_STORE, else foretell.db.
    #[arg(long, value_name = "FILE")]
    pub store: Option<PathBuf>,
    /// The name of the study. Default: one that the same settings always get.
    #[arg(long, value_name = "STUDY")]
    pub name: Option<String>,
    /// Maximum memory of a forward and backward pass of one input in f32, e.g. 200M.
    #[arg(long, value_name = "BYTES", value_parser = number)]
    pub max_memory: Option<u64>,
    /// Maximum memory of the keys and values of a whole context in f32, e.g. 20M; decoders only.
    #[arg(long, value_name = "BYTES", value_parser = number)]
    pub max_cache: Option<u64>,
    /// Maximum time of a pass over one whole input on one thread of this machine, e.g. 20ms. Predicted by a model that is
    /// fitted to measurements; candidates are measured before they may win.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub max_latency: Option<f64>,
    /// Maximum time of one further token, with the keys and values of the context kept, on one thread of this machine, e.g.
    /// 2ms; decoders only.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub max_token_latency: Option<f64>,
    #[command(flatten)]
    pub limits: LimitArgs,
    /// One part of the search, as a study of its own, for job arrays: 3/16 is the third of sixteen. See foretell merge.
    #[arg(long, value_name = "I/N", value_parser = |text: &str| Shard::parse(text).map_err(|e| e.to_string()))]
    pub shard: Option<Shard>,
    #[command(flatten)]
    pub evaluator: EvaluateArgs,
}

#[derive(Args)]
pub struct Train {
    /// A network: a JSON file, or - for standard input. Vocabulary and classes are set to the data's.
    #[arg(required_unless_present = "demo")]
    pub architecture: Option<String>,
    /// Train a small GPT-2 on the text that ships with the program.
    #[arg(long, conflicts_with_all = ["architecture", "on"])]
    pub demo: bool,
    /// Checkpoint folder; a run there is resumed. Default: trained-ID-SEED, here.
    #[arg(short, long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
    /// Seconds between checkpoints; one is also written when the run is interrupted.
    #[arg(long, value_name = "SECONDS", default_value_t = 20.0, value_parser = seconds)]
    pub save_every: f64,
    /// Numbers to compute with.
    #[arg(long, value_enum, default_value_t = PrecisionArg::F32)]
    pub precision: PrecisionArg,
    #[command(flatten)]
    pub training: TrainingArgs,
}

#[derive(Args)]
pub struct Verify {
    /// The name of a study; see foretell studies.
    pub study: String,
    /// How many of the best, and how many random ones.
    #[arg(short, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub k: u64,
    /// Seeds that each is trained with.
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub seeds: u64,
    /// Folder of finished runs and checkpoints. Default: STUDY.verified, here.
    #[arg(short, long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
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
    /// Draws networks of a space, spread over sizes, and trains each; the same command again continues.
    Build(Build),
}

#[derive(Args)]
pub struct Build {
    /// What to build (.toml): space, networks, parameters, recipe. See docs/train.md.
    pub config: PathBuf,
    /// The benchmark's folder; runs are stored in its folder runs. Default: that of the configuration.
    #[arg(short, long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
    /// One share of the runs, for job arrays: 3/16 is the third of sixteen. Copy the runs folders together in the end.
    #[arg(long, value_name = "I/N", value_parser = |text: &str| Shard::parse(text).map_err(|e| e.to_string()))]
    pub shard: Option<Shard>,
}

#[derive(Args)]
pub struct Repair {
    /// The damaged store.
    pub file: PathBuf,
}

#[derive(Args)]
pub struct Merge {
    /// The store that gets everything; it is made if it is not there.
    pub into: PathBuf,
    /// The stores to take from; they are not changed.
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
    /// Number of members, best in the first objective first. Default: 20 as a table, all as JSON.
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
    /// The name of a study; see foretell studies.
    pub study: String,
    /// The page to write. Default: the study's name with .html, here.
    #[arg(short, long, value_name = "FILE.html")]
    pub output: Option<PathBuf>,
    /// Write the charts as drawings into this folder, too: front.svg, history.svg, agreement.svg, network.svg.
    #[arg(long, value_name = "FOLDER")]
    pub svg: Option<PathBuf>,
    /// What foretell verify found, as a section with a chart: FOLDER/verification.json.
    #[arg(long, value_name = "FILE")]
    pub verification: Option<PathBuf>,
    /// Overwrite files that are no reports.
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Args)]
pub struct Export {
    /// The name of a study, an architecture's JSON file, a Hugging Face folder, or - for standard input.
    #[arg(value_name = "STUDY|ARCH.json")]
    pub source: String,
    /// The folder to write. It appears whole or not at all.
    #[arg(long, value_name = "DIR")]
    pub to: PathBuf,
    /// huggingface: a folder for AutoModel.from_pretrained; pytorch: one plain file; timm: a registered vision
    /// transformer; json: the architecture alone.
    #[arg(long, default_value = "huggingface", value_name = "FORMAT")]
    pub target: String,
    /// This candidate of the study instead of its best.
    #[arg(long, value_name = "N")]
    pub trial: Option<u64>,
    /// Seed of the weights: those that foretell score draws with it.
    #[arg(long, default_value_t = 0, conflicts_with = "no_weights")]
    pub seed: u64,
    /// Write code and configuration only.
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
    /// An algorithm's name. Without one: the list.
    pub algorithm: Option<String>,
}

#[derive(Args)]
pub struct Spaces {
    /// A preset's name or a space file (.toml). Without one: the list.
    pub space: Option<String>,
    /// Print the space's file.
    #[arg(long, requires = "space")]
    pub toml: bool,
    #[command(flatten)]
    pub limits: LimitArgs,
}

#[derive(Args)]
pub struct Sample {
    /// A preset's name or a space file (.toml).
    pub space: String,
    /// How many.
    #[arg(short, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub n: u64,
    /// Seed of the draw.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Draw uniformly over all feasible architectures, instead of depth and width first as the papers do.
    #[arg(long)]
    pub uniform: bool,
    #[command(flatten)]
    pub limits: LimitArgs,
}

#[derive(Args)]
pub struct Count {
    /// Architectures: JSON files (one object, or one a line), Hugging Face folders or config.json files, or - for
    /// standard input.
    #[arg(required = true)]
    pub architectures: Vec<String>,
    /// Set a field of every architecture, e.g. mode=published.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// List every weight tensor with role, block and shape.
    #[arg(long)]
    pub tensors: bool,
    /// Measure a pass over one whole input and, for decoders, one further token, on one thread of this machine.
    #[arg(long, conflicts_with = "tensors")]
    pub latency: bool,
}

#[derive(Args)]
pub struct Score {
    /// Architectures: JSON files (one object, or one a line), Hugging Face folders or config.json files, or - for
    /// standard input.
    #[arg(required = true)]
    pub architectures: Vec<String>,
    /// Show the addends of every score.
    #[arg(long)]
    pub terms: bool,
    #[command(flatten)]
    pub scoring: ScoringArgs,
}

#[derive(Args)]
pub struct Rank {
    /// Architectures: JSON files (one object, or one a line), Hugging Face folders or config.json files, or - for
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
    /// With --method alpha: what the rules without labels say of 500 random networks of a space.
    #[arg(long, value_name = "SPACE", conflicts_with = "benchmark")]
    pub space: Option<String>,
    /// evolution (LPZero's), random, exhaustive (all formulas, with evolution beside), ablations (LPZero's searches side by
    /// side), or alpha (ZeroLM's balance).
    #[arg(long, default_value = "evolution")]
    pub method: String,
    /// Which formulas and which parent pool: paper or released.
    #[arg(long, default_value = "paper")]
    pub preset: String,
    /// Operators in a branch; exhaustive takes 1 or 2.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=5))]
    pub unaries: u8,
    /// Formulas to begin with, and how many stay.
    #[arg(long, default_value_t = 80, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub population: u64,
    /// Children, one a generation.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(0..=100_000_000))]
    pub generations: u64,
    /// Evaluate every formula that is drawn, without rules.
    #[arg(long)]
    pub no_pruning: bool,
    /// What fitness is: spearman or kendall.
    #[arg(long, default_value = "spearman")]
    pub fitness: String,
    /// Networks that fitness is measured on.
    #[arg(long, default_value_t = 50, value_name = "N", value_parser = whole::<2, 1_000_000>)]
    pub sample: usize,
    /// Networks that choose among the hundred fittest; the others are the test.
    #[arg(long, default_value_t = 50, value_name = "N", value_parser = whole::<2, 1_000_000>)]
    pub validation: usize,
    /// Splits of the networks, each with the next seed.
    #[arg(long, default_value_t = 5, value_name = "K", value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub splits: u64,
    /// Seed of splits and draws.
    #[arg(long, default_value_t = 42)]
    pub seed: u64,
    /// Where statistics are kept. Default: BENCHMARK-FAMILY.statistics, here.
    #[arg(long, value_name = "FILE")]
    pub statistics: Option<PathBuf>,
    /// Entries kept of each tensor.
    #[arg(long, default_value_t = 4096, value_name = "N", value_parser = clap::value_parser!(u32).range(16..=16_777_216))]
    pub entries: u32,
    /// Options of the passes, as behind a proxy: batch=4,tokens=64.
    #[arg(long, default_value = "", value_name = "KEY=VALUE,…")]
    pub options: String,
    /// Write the formula that validation chose in the first split.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Args)]
pub struct Calibrate {
    #[command(flatten)]
    pub labels: LabelArgs,
    /// How many labels are used; the other networks are the test.
    #[arg(long = "labels", default_value_t = 30, value_name = "K", value_parser = clap::value_parser!(u32).range(5..=1_000_000))]
    pub count: u32,
    /// Write the proxy, for --proxy @FILE.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub scoring: ScoringArgs,
}

/// How networks are scored, whatever is done with the scores.
#[derive(Args)]
pub struct ScoringArgs {
    /// Proxies, comma separated, options in brackets: snip,ntkt[probes=32]. all, or all of a cost: shape, weights,
    /// forward, backward, passes, samples, hessian. Formulas such as 'sum(square(head), norm(weight))'. @FILE stands for the
    /// proxies in a file, one a line: snip,@my.proxy,dss. See foretell proxies.
    #[arg(long, allow_hyphen_values = true)]
    pub proxies: Option<String>,
    /// Weights: shared (slices of one super-network), standalone (a draw per network), or a safetensors file or a model's
    /// folder, tensors named by foretell, by an export or by transformers. Only for proxies that look at weights.
    #[arg(long, default_value = "shared", value_name = "SOURCE")]
    pub weights: String,
    /// Inputs from a safetensors file: images and targets, or input_ids and labels. Only for proxies that run the network.
    #[arg(long, value_name = "FILE")]
    pub inputs: Option<PathBuf>,
    /// Precision of the computation. Proxies that require f64 always use it.
    #[arg(long, value_enum, default_value_t = PrecisionArg::F32)]
    pub precision: PrecisionArg,
    /// The first seed of weights and inputs.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// How many seeds, for scores that depend on a draw.
    #[arg(long, default_value_t = 3, value_name = "K", value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub seeds: u64,
    /// Neither read nor write the cache of scores.
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
    /// A proxy's name. Without one: the list.
    pub proxy: Option<String>,
}

#[derive(Args)]
pub struct Bench {
    /// A folder of the benchmark folder, folder/table, or all. Without one: the list.
    pub benchmark: Option<String>,
    /// Print the tables as Markdown.
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,
    #[command(flatten)]
    pub table: TableArgs,
    /// Bootstrap resamples behind each interval; 0 for none.
    #[arg(long, default_value_t = 1000, value_parser = whole::<0, 1_000_000>)]
    pub resamples: usize,
    #[command(flatten)]
    pub scoring: ScoringArgs,
}
