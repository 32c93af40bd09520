//! What the user is told when a command fails: the library's message, the options that help, the exit code.

use crate::{interrupt, output, studies};
use clap::error::ErrorKind;
use foretell::error::Error;
use std::collections::HashSet;
use std::path::Path;

/// Places that library errors name, and the options that set them.
const OPTIONS: [(&str, &str); 10] = [
    ("bands", "bands"),
    ("evaluation command", "evaluate-with"),
    ("labels", "labels"),
    ("objectives", "objective"),
    ("proxies", "proxies"),
    ("sample", "sample"),
    ("sample", "labels"),
    ("scoring command", "proxy-with"),
    ("seeds", "seeds"),
    ("shard", "shard"),
];

/// The command that failed.
pub struct Failed<'a> {
    /// Long names of its options.
    pub options: &'a HashSet<String>,
    /// The store that it names.
    pub store: Option<&'a Path>,
}

impl Failed<'_> {
    /// Reports an error.
    pub fn report(&self, error: &Error) -> u8 {
        if matches!(error, Error::Cancelled) && interrupt::asked() {
            interrupt::wait_for_end();
        }
        let code = exit_code(error);
        let message = match self.advice(error) {
            Some(advice) => format!("{}; {advice}", self.message(error)),
            None => self.message(error),
        };
        output::failure(error.kind(), &message, code);
        code
    }

    /// The message of the library, with the name of the option where it is about one.
    fn message(&self, error: &Error) -> String {
        let Error::Input { place, message, .. } = error else { return error.to_string() };
        let option = OPTIONS.iter().find(|(name, option)| name == place && self.has(option));
        option.map_or_else(|| error.to_string(), |(_, option)| format!("--{option}: {message}"))
    }

    /// What the command line offers against an error.
    fn advice(&self, error: &Error) -> Option<String> {
        let store = || self.has("store").then(|| "--store names another file".to_owned());
        match error {
            Error::Busy { study, .. } => {
                let name = if self.has("name") { "--name sets the name; " } else { "" };
                let unlock = format!("if that process no longer runs, foretell studies unlock {study} frees the study");
                Some(format!("{name}{unlock}"))
            }
            Error::Corrupt { path, .. } => {
                Some(format!("foretell repair {} copies what is intact into a new store", path.display()))
            }
            Error::Exists { .. } if self.has("force") => Some("--force replaces it".to_owned()),
            Error::Memory { .. } if self.has("max-memory") => Some(
                "the candidate is not stored: --max-memory limits the candidates, and the same command resumes the search"
                    .to_owned(),
            ),
            Error::NotEvaluated { .. } => Some("the same command resumes the search".to_owned()),
            Error::Interrupted { .. } => Some("the same command resumes it".to_owned()),
            Error::Read { path, .. } if *path == studies::path(self.store) => store(),
            Error::Store { .. } | Error::Foreign { .. } | Error::StoreVersion { .. } => store(),
            Error::Unknown { what: "benchmark", .. } => Some(
                "others are read from a folder (--data FOLDER or FORETELL_BENCHMARKS; see foretell benchmark path) \
                 with one folder per benchmark, each with architectures.jsonl"
                    .to_owned(),
            ),
            _ => None,
        }
    }

    fn has(&self, option: &str) -> bool {
        self.options.contains(option)
    }
}

/// 1 failed, 2 wrong usage, 4 nothing feasible; 130 or 143 stopped by a signal.
fn exit_code(error: &Error) -> u8 {
    match error {
        Error::Interrupted { .. } => interrupt::code(),
        Error::Infeasible { .. } => 4,
        Error::Unknown { .. } | Error::Input { .. } | Error::Invalid { .. } | Error::Exists { .. } => 2,
        _ => 1,
    }
}

/// Prints the help that was asked for, or reports a wrong command line.
pub fn usage(error: &clap::Error) -> u8 {
    let code = u8::try_from(error.exit_code()).unwrap_or(2);
    if !error.use_stderr() || !output::is_json() {
        let printed = error.print();
        if !error.use_stderr() {
            output::written(printed.and_then(|()| std::io::Write::flush(&mut std::io::stdout())));
        }
        return code;
    }
    let message = match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            "a command is missing; see foretell --help".to_owned()
        }
        _ => {
            let text = error.render().to_string();
            let text = text.split("\n\nUsage:").next().unwrap_or_default();
            text.trim().trim_start_matches("error: ").to_owned()
        }
    };
    output::failure("usage", &message, code);
    code
}
