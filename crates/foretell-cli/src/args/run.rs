//! Arguments of the commands that train networks.

use super::value::{seconds, shard};
use super::{DataArgs, PrecisionArg, StoreArgs, TrainingArgs};
use clap::{Args, Subcommand};
use foretell::study::Shard;
use std::path::PathBuf;

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
    /// Also write the validations of the run to a table of JSON lines, which foretell predict fit reads. Other runs in it are
    /// kept.
    #[arg(long, value_name = "FILE")]
    pub curve: Option<PathBuf>,
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
    /// Turn a local clone of a public repository into tables; nothing in the clone is executed.
    Import(Import),
    /// Print the folder that benchmarks are read from.
    Path(BenchmarkPath),
}

#[derive(Args)]
pub struct Import {
    /// Source: see --list.
    #[arg(required_unless_present = "list")]
    pub source: Option<String>,
    /// Folder of the clone.
    #[arg(required_unless_present = "list", value_name = "CLONE")]
    pub clone: Option<PathBuf>,
    /// Clone of a further repository whose columns are added; --list names it.
    #[arg(long, value_name = "CLONE")]
    pub with: Option<PathBuf>,
    /// List the sources, their repositories and the tables that they give.
    #[arg(long, conflicts_with_all = ["source", "clone", "with", "to", "force", "dry_run"])]
    pub list: bool,
    /// Folder of benchmarks to write into. Default: the folder that foretell benchmark path prints.
    #[arg(long, value_name = "FOLDER")]
    pub to: Option<PathBuf>,
    /// Replace tables that are there already.
    #[arg(long)]
    pub force: bool,
    /// Read and check everything and print what would be written; change nothing.
    #[arg(long)]
    pub dry_run: bool,
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
