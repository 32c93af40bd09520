//! `foretell completions` and `foretell man`: made from the same declarations as the help.

use crate::args::{Arguments, Completions, Man};
use crate::output;
use clap::{Command, CommandFactory};
use foretell::error::{Error, Result};
use serde_json::json;
use std::path::{Path, PathBuf};

pub fn completions(args: &Completions) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Arguments::command(), "foretell", &mut script);
    output::bytes(&script);
    Ok(())
}

pub fn man(args: &Man, json: bool) -> Result<()> {
    let mut command = Arguments::command().disable_help_subcommand(true);
    command.build();
    let Some(folder) = &args.out else {
        let mut page = Vec::new();
        let printed = clap_mangen::Man::new(command).render(&mut page);
        printed.map_err(|source| Error::write("-", source))?;
        output::bytes(&page);
        return Ok(());
    };
    let mut pages = Vec::new();
    let written = std::fs::create_dir_all(folder).and_then(|()| write(&command, folder, &mut pages));
    written.map_err(|source| Error::write(folder.clone(), source))?;
    for page in &pages {
        if json {
            output::line(json!({"page": page}));
        } else {
            output::line(page.display());
        }
    }
    Ok(())
}

/// Writes the page of a command and those of its sub-commands.
fn write(command: &Command, folder: &Path, pages: &mut Vec<PathBuf>) -> std::io::Result<()> {
    pages.push(clap_mangen::Man::new(command.clone()).generate_to(folder)?);
    command.get_subcommands().try_for_each(|inner| write(inner, folder, pages))
}
