//! Arguments of reproduce.

use super::DataArgs;
use clap::Args;
use foretell::reproduce::Size;
use std::path::PathBuf;

#[derive(Args)]
pub struct Reproduce {
    /// Table or figure of a paper, e.g. etas/table-3, a paper (etas) for all of its tables and figures, or all. Default: list all.
    pub entry: Option<String>,
    /// List all tables and figures, or those of a paper, with what each needs.
    #[arg(long, conflicts_with_all = ["size", "to", "markdown", "dry_run"])]
    pub list: bool,
    /// Run in minutes: some networks, few seeds, small batches. This is the default.
    #[arg(long, group = "size", requires = "entry")]
    pub quick: bool,
    /// Run as published, as far as a machine without accelerators allows; may take hours.
    #[arg(long, group = "size", requires = "entry")]
    pub full: bool,
    /// Run in seconds, on tables that are included in the program where possible. The figures mean nothing.
    #[arg(long, group = "size", requires = "entry")]
    pub smallest: bool,
    /// Folder of the results: ENTRY/SIZE/result.json, result.csv and charts (SVG). Finished parts in it are not repeated.
    #[arg(long, value_name = "DIR", default_value = "reproduced", requires = "entry")]
    pub to: PathBuf,
    /// Print the figures as Markdown.
    #[arg(long, conflicts_with = "json", requires = "entry")]
    pub markdown: bool,
    /// Check everything and print what would be done; change nothing.
    #[arg(long, requires = "entry")]
    pub dry_run: bool,
    #[command(flatten)]
    pub data: DataArgs,
}

impl Reproduce {
    /// The requested size.
    pub fn size(&self) -> Size {
        match (self.smallest, self.full) {
            (true, _) => Size::Smallest,
            (_, true) => Size::Full,
            _ => Size::Quick,
        }
    }
}
