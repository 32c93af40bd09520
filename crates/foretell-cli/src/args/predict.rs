//! Arguments of predict.

use super::{LabelArgs, LimitArgs};
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Args)]
pub struct Predict {
    #[command(subcommand)]
    pub command: PredictCommand,
}

#[derive(Subcommand)]
pub enum PredictCommand {
    /// Fit a predictor to trained networks and write it to a file.
    Fit(FitPredictor),
    /// Show what a predictor uses and how well it predicts labels that are left out.
    Show(ShowPredictor),
    /// Predict architectures, best first, with standard deviations and 90 % intervals.
    Use(UsePredictor),
    /// Suggest networks to train: some that cover the space, or those that may beat the best trained one.
    Suggest(Suggest),
}

#[derive(Args)]
pub struct FitPredictor {
    #[command(flatten)]
    pub labels: LabelArgs,
    /// Number of labels to use, drawn at random; all other networks are a test. Default: use all labels.
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(5..=1_000_000))]
    pub count: Option<u32>,
    /// Seed of that draw.
    #[arg(long, default_value_t = 0, requires = "count")]
    pub seed: u64,
    /// Proxies to use as further features, separated by commas. Each is needed of every network that is predicted. Default:
    /// none.
    #[arg(
        long,
        value_name = "PROXIES",
        default_value = "",
        hide_default_value = true,
        allow_hyphen_values = true
    )]
    pub proxies: String,
    /// Number of tokens that the labelled networks were trained on, e.g. 300M, if the table has no column of it. Decoders are
    /// then also compared with what other tables make expect of their shape after so much training.
    #[arg(long, value_name = "N", value_parser = super::value::number)]
    pub train_tokens: Option<u64>,
    /// Predict for networks trained on N tokens (or steps, or epochs, whatever the table counts). Needs a table in which
    /// networks were trained for several budgets. Default: the largest budget of the table.
    #[arg(long, value_name = "N", value_parser = super::value::number)]
    pub at: Option<u64>,
    /// File to write the predictor to.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Args)]
pub struct ShowPredictor {
    /// File of a predictor.
    pub predictor: PathBuf,
}

#[derive(Args)]
pub struct UsePredictor {
    /// File of a predictor.
    pub predictor: PathBuf,
    /// Architectures: JSON files (one object, or one per line), Hugging Face folders or config.json files, or - for
    /// standard input.
    #[arg(required = true)]
    pub architectures: Vec<String>,
}

#[derive(Args)]
pub struct Suggest {
    /// Name of a preset, or a space file (.toml).
    #[arg(long)]
    pub space: String,
    /// Number of networks.
    #[arg(short, default_value_t = 12, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub n: u64,
    /// File of a predictor: suggest what may beat the best network it was fitted to. Default: networks that cover the space.
    #[arg(long, value_name = "FILE")]
    pub predictor: Option<PathBuf>,
    /// Seed of the networks that are chosen from.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    #[command(flatten)]
    pub limits: LimitArgs,
}
