//! Arguments of search and algorithms.

use super::value::{duration, number, shard, time};
use super::{EvaluateArgs, LimitArgs};
use clap::Args;
use foretell::study::{Shard, Time};
use std::path::PathBuf;

#[derive(Args)]
pub struct Search {
    /// Space to search: name of a preset, or a space file (.toml). Default: autoformer-tiny with at most 6M parameters,
    /// unless --max-params or --min-params is given; with --time on text, gpt2-text with at most 2M.
    #[arg(long)]
    pub space: Option<String>,
    /// Search only among the labelled networks of a benchmark (NAME or NAME:COLUMN): a child becomes the nearest network that
    /// was not asked for yet. Labels are stored and shown; they decide nothing, except for the algorithm etas.
    #[arg(long = "in", value_name = "TABLE[:COLUMN]", conflicts_with_all = ["space", "judge"])]
    pub inside: Option<String>,
    /// Proxy to maximise, with options in brackets, or @FILE to read it from a file. nsc uses only the shape and takes
    /// microseconds; dss++ is the score of T-Razor and takes a forward and a backward pass per candidate. See foretell
    /// proxies and docs/benchmarks.md. Default: nsc; with --time, shape-law for decoders.
    #[arg(long, allow_hyphen_values = true)]
    pub proxy: Option<String>,
    /// Number of tokens that the winner will be trained on, e.g. 300M; decoders only. Short training wants width, long
    /// training depth: the proxy is then shape-law, which weighs them by tokens per weight. Default: long training, and the
    /// proxy decides.
    #[arg(long, value_name = "N", value_parser = number, conflicts_with = "proxy")]
    pub train_tokens: Option<u64>,
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
    /// Spend this time on training networks, e.g. 30m, 2h or 90s, and find the best by what training gives: first short runs of
    /// promising networks and of some that cover the space, then longer runs of those that a predictor fitted to all runs
    /// expects most of. Or a number of training steps of the largest network, e.g. 5000steps, which gives the same search on
    /// every machine. Networks are trained on the data of --on, or by --evaluate-with, which gets FORETELL_STEPS and
    /// FORETELL_SEED. The proxy only chooses the first networks. A search that was stopped resumes with the same command.
    #[arg(long, value_name = "TIME", value_parser = time, conflicts_with_all = ["algorithm", "budget", "shard", "inside", "objectives", "max_latency", "max_token_latency", "evaluate", "evaluate_top", "retry_failed"])]
    pub time: Option<Time>,
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
    /// Score candidates on a Ray cluster: HOST:PORT, ray://HOST:PORT, auto for the cluster that this machine belongs to, or
    /// local. The study and its hash are the same as on this machine alone. Needs the Python package of the same release with
    /// its extra for Ray; see docs/scale.md.
    #[arg(long, value_name = "ADDRESS", conflicts_with = "dry_run")]
    pub on_ray: Option<String>,
    /// Check everything and print what would be done; change nothing.
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub evaluator: EvaluateArgs,
}

#[derive(Args)]
pub struct Algorithms {
    /// Name of an algorithm. Default: list all.
    pub algorithm: Option<String>,
}
