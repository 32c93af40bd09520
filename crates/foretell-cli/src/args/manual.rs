//! Arguments of completions and man.

use clap::Args;
use std::path::PathBuf;

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
