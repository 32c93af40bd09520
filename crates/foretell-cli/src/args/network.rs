//! Arguments of the commands that draw, count, score and rank architectures.

use super::LimitArgs;
use super::value::seconds;
use clap::{Args, ValueEnum};
use foretell::score::Precision;
use std::path::PathBuf;

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
    /// Shell command that scores an architecture: reads it as JSON from standard input and prints a number as its last
    /// line, higher for better. Without --proxies nothing else is computed.
    #[arg(long, value_name = "COMMAND")]
    pub proxy_with: Option<String>,
    /// Seconds that the command may take for one architecture.
    #[arg(long, default_value_t = 60.0, requires = "proxy_with", value_parser = seconds)]
    pub proxy_timeout: f64,
    #[command(flatten)]
    pub scoring: ScoringArgs,
}

#[derive(Args)]
pub struct Rank {
    /// Architectures: JSON files (one object, or one per line), Hugging Face folders or config.json files, or - for
    /// standard input.
    #[arg(required = true)]
    pub architectures: Vec<String>,
    /// Number of tokens that the networks will be trained on, e.g. 300M; decoders only. Ranks by shape-law, which weighs
    /// depth and width by it.
    #[arg(long, value_name = "N", value_parser = super::value::number, conflicts_with = "proxies")]
    pub train_tokens: Option<u64>,
    #[command(flatten)]
    pub scoring: ScoringArgs,
}

#[derive(Args)]
pub struct Proxies {
    /// Name of a proxy. Default: list all.
    pub proxy: Option<String>,
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

impl From<PrecisionArg> for Precision {
    fn from(given: PrecisionArg) -> Self {
        match given {
            PrecisionArg::F32 => Precision::F32,
            PrecisionArg::F64 => Precision::F64,
        }
    }
}
