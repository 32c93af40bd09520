//! Arguments of the commands that read a study.

use super::value::duration;
use clap::{Args, Subcommand};
use std::path::PathBuf;

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
    /// Free a study whose search no longer runs but still counts as running.
    ///
    /// A search on this machine that was killed is noticed by itself. Use this where a machine or container is gone and the
    /// study is still reported as being written. A search that runs after all stops at its next write; what it stored is
    /// kept.
    Unlock(UnlockStudy),
}

#[derive(Args)]
pub struct UnlockStudy {
    /// Name of a study; see foretell studies.
    pub name: String,
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
pub struct WatchArgs {
    /// Name of a study; see foretell studies.
    pub study: String,
    /// Time between two looks, e.g. 500ms or 10s; longer where a look takes long.
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = duration)]
    pub every: f64,
    /// Look once.
    #[arg(long)]
    pub once: bool,
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
pub struct Compare {
    /// Names of studies; those that differ only in their seed become one curve with a band.
    #[arg(required = true, num_args = 2..)]
    pub studies: Vec<String>,
    /// Page to write.
    #[arg(short, long, value_name = "FILE.html", default_value = "compare.html")]
    pub output: PathBuf,
    /// Folder to also write the charts to: best-label.svg, leader-label.svg, best-score.svg.
    #[arg(long, value_name = "FOLDER")]
    pub svg: Option<PathBuf>,
    /// Folder to also write the figures to: winners.csv, curves.csv.
    #[arg(long, value_name = "FOLDER")]
    pub csv: Option<PathBuf>,
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
    pub to: Option<PathBuf>,
    /// Write the best candidates of the study into this file instead: a journal of Optuna, which optuna-dashboard opens.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["to", "target", "trial", "seed", "no_weights"])]
    pub to_optuna: Option<PathBuf>,
    /// Number of candidates in the journal.
    #[arg(long, value_name = "N", default_value_t = 200, requires = "to_optuna")]
    pub top: usize,
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
