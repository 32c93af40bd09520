//! Evaluation by a command of the user's.

use super::command::{number, write_network};
use super::evaluate::{Evaluator, Failure, LEAST};
use super::rungs;
use crate::architecture::Architecture;
use crate::error::{Error, Result};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

/// A command that is given a folder with `architecture.json` and `counts.json` and prints a number as its last line.
///
/// It is run by `sh`, with `{dir}` for the folder: the path is handed over in a variable and never read as part
/// of the command. What exceeds its time is ended with all it started. Where a search says how long to train, the variable
/// `FORETELL_STEPS` has the number of steps and `FORETELL_SEED` the draw, from 0 on.
#[derive(Clone)]
pub struct External {
    command: String,
    limit: Duration,
    retries: u32,
    least: bool,
    /// Steps and draw, where a search says them.
    length: Option<(u64, u64)>,
}

impl External {
    /// A command with `{dir}` in it, how long it may take, how often it is tried again, and whether small is good.
    pub fn new(command: &str, limit: Duration, retries: u32, lower: bool) -> Result<Self> {
        if !command.contains("{dir}") {
            let message = "lacks {dir}, which stands for the folder with the network: './train.sh {dir}'";
            return Err(Error::option("evaluation command", message));
        }
        Ok(External { command: command.to_owned(), limit, retries, least: lower, length: None })
    }

    fn attempt(&self, architecture: &Architecture) -> Result<f64, Failure> {
        // Nothing of an attempt is left to the next one.
        let folder = write_network(architecture)?;
        let command = self.command.replace("{dir}", "\"$FORETELL_DIR\"");
        let length = self.length.iter().flat_map(|(steps, draw)| [("STEPS", *steps), ("SEED", *draw)]);
        let variables: Vec<(String, String)> =
            length.map(|(name, value)| (format!("FORETELL_{name}"), value.to_string())).collect();
        let value = number(&command, folder.path(), Stdio::null(), &variables, self.limit)?;
        Ok(if self.least { -value } else { value })
    }
}

impl Evaluator for External {
    fn label(&self) -> String {
        let length = self.length.map_or(String::new(), |(steps, draw)| rungs::said(steps, draw));
        format!("command {}{length}{}", self.command, if self.least { LEAST } else { "" })
    }

    fn trained_for(&self, steps: u64, draw: u64) -> Option<Arc<dyn Evaluator>> {
        Some(Arc::new(External { length: Some((steps, draw)), ..self.clone() }))
    }

    fn evaluate(&self, architecture: &Architecture) -> Result<f64, Failure> {
        let mut tries = 0..=self.retries;
        loop {
            tries.next();
            match self.attempt(architecture) {
                Err(Failure::Verdict { .. }) if !tries.is_empty() => {}
                result => return result,
            }
        }
    }
}
