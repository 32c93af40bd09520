//! The one error type of the library: every variant carries the facts, its message says what to do next.

use std::path::PathBuf;
use std::sync::Arc;

/// What every fallible function of the library returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong, each with the place and the cure.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or folder could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// What the operating system said.
        source: Arc<std::io::Error>,
    },
    /// A file or folder could not be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// What the operating system said.
        source: Arc<std::io::Error>,
    },
    /// A file or folder that is there already and would be replaced.
    #[error("{} exists: choose another name, or allow it to be replaced", path.display())]
    Exists {
        /// The file or folder.
        path: PathBuf,
    },
    /// A name that is not in a catalogue.
    #[error("unknown {what} '{given}'{}; known: {known}", did_you_mean(nearest))]
    Unknown {
        /// The kind of thing looked for: "space", "proxy", "key" …
        what: &'static str,
        /// What was asked for.
        given: String,
        /// The closest known name, if one is close.
        nearest: Option<String>,
        /// All known names, comma separated.
        known: String,
    },
    /// Text, options or data that cannot be used, with the place.
    #[error("{place}: {message}")]
    Input {
        /// What it is.
        kind: InputKind,
        /// File, line and key, as far as known.
        place: String,
        /// What is wrong and what would be right.
        message: String,
    },
    /// An architecture that no network can be built from.
    #[error("not a valid {family} architecture: {reason}")]
    Invalid {
        /// The family it was read as.
        family: String,
        /// The rule it breaks, with the values.
        reason: String,
    },
    /// Limits that nothing in the space meets.
    #[error("nothing in space '{space}' is feasible: {reason}")]
    Infeasible {
        /// The space searched.
        space: String,
        /// The binding limit and the nearest feasible value.
        reason: String,
    },
    /// A pass that would need more memory than it may have.
    #[error(
        "{needed} bytes of memory are needed and {budget} are allowed: take a smaller batch, f32, or a smaller network"
    )]
    Memory {
        /// Bytes of weights, gradients and everything held between layers at the peak.
        needed: u64,
        /// Bytes allowed.
        budget: u64,
    },
    /// A decoding step of a network that is not a decoder.
    #[error("{family} is not a decoder and has no next token: only its pass over a whole input can be run")]
    NotDecoder {
        /// The network's family.
        family: String,
    },
    /// A store that cannot be used as it is.
    #[error("store {}: {reason}", path.display())]
    Store {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A store that is damaged.
    #[error("store {} is damaged: {reason}; repair it to keep what is intact", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What was found.
        reason: String,
    },
    /// A database that another program made.
    #[error("store {}: is a database of another program", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A store written by a newer release.
    #[error("store {} has schema {found}, this release knows up to {known}: use a newer release", path.display())]
    StoreVersion {
        /// The file.
        path: PathBuf,
        /// The schema found.
        found: i64,
        /// The newest schema known.
        known: i64,
    },
    /// A study that another process is writing.
    #[error(
        "study '{study}' is being written by process {pid} on {host}: wait until it ends, or choose another name"
    )]
    Busy {
        /// The study.
        study: String,
        /// The process that holds it.
        pid: i64,
        /// The machine it runs on.
        host: String,
    },
    /// An evaluation that the machine ended; it says nothing about the network.
    #[error(
        "the candidate was not evaluated: {reason}; nothing is stored of it, and a resumed study evaluates it again"
    )]
    NotEvaluated {
        /// What happened.
        reason: String,
    },
    /// A folder that another process is writing.
    #[error("{} is being written by {}: wait until it ends, or choose another name", path.display(), process(pid))]
    Locked {
        /// The folder.
        path: PathBuf,
        /// The process that holds it, if it can be read.
        pid: Option<u32>,
    },
    /// A study that another process took over from this one.
    #[error(
        "study '{study}' was taken over by another process, so this one stops: what was stored is kept; run the same command \
         again once the other has ended"
    )]
    TakenOver {
        /// The study.
        study: String,
    },
    /// A training run whose numbers left the finite ones.
    #[error("training diverged at step {step}: {what}; lower the rate, warm up longer, or clip")]
    Diverged {
        /// The step, from 0.
        step: u64,
        /// What was found.
        what: String,
    },
    /// A training run that was asked to stop.
    #[error("training interrupted after step {step} of {steps}{}", kept_in(checkpoint))]
    Interrupted {
        /// Steps done.
        step: u64,
        /// Steps of the whole run.
        steps: u64,
        /// The folder with the checkpoint that the run resumes from, if it writes any.
        checkpoint: Option<PathBuf>,
    },
    /// Work that somebody stopped by its [`CancelToken`](crate::cancel::CancelToken).
    #[error("cancelled")]
    Cancelled,
    /// A candidate whose scoring ends every process that tries it.
    #[error("the process that scored it crashed twice: {how}")]
    Crashed {
        /// How the second one ended.
        how: String,
    },
    /// What another process found, in its words.
    #[error("{message}")]
    Remote {
        /// The kind of the error there.
        kind: &'static str,
        /// Whether the machine there or its user caused it and not the network.
        of_machine: bool,
        /// Its message.
        message: String,
    },
    /// A proxy that has no meaning for this architecture.
    #[error("{proxy} is not defined here: {reason}")]
    NotDefined {
        /// The proxy asked for.
        proxy: &'static str,
        /// Why, and for what it is defined.
        reason: String,
    },
    /// A proxy that was computed and says nothing: a gradient of exactly zero, a constant row, a singular kernel.
    #[error("{proxy} says nothing here: {reason} ({place})")]
    Degenerate {
        /// The proxy.
        proxy: &'static str,
        /// The layer or row at fault.
        place: String,
        /// The cause.
        reason: String,
    },
    /// A proxy whose value is not a finite number.
    #[error("{proxy} gave {value} ({place})")]
    NonFinite {
        /// The proxy.
        proxy: &'static str,
        /// NaN or an infinity, as text.
        value: String,
        /// The layer or term at fault.
        place: String,
    },
}

impl Error {
    /// A short stable word for scripts: the `kind` field of JSON output.
    pub fn kind(&self) -> &'static str {
        match self {
            Error::Read { .. } => "read",
            Error::Write { .. } => "write",
            Error::Exists { .. } => "exists",
            Error::Unknown { .. } => "unknown-name",
            Error::Input { kind, .. } => kind.name(),
            Error::Invalid { .. } => "invalid-architecture",
            Error::Infeasible { .. } => "infeasible",
            Error::Memory { .. } => "memory",
            Error::NotDecoder { .. } => "not-decoder",
            Error::Store { .. } => "store",
            Error::Corrupt { .. } => "store-corrupt",
            Error::StoreVersion { .. } => "store-version",
            Error::Foreign { .. } => "store-foreign",
            Error::Busy { .. } | Error::Locked { .. } => "busy",
            Error::TakenOver { .. } => "taken-over",
            Error::NotEvaluated { .. } => "not-evaluated",
            Error::Diverged { .. } => "diverged",
            Error::Interrupted { .. } => "interrupted",
            Error::Cancelled => "cancelled",
            Error::Crashed { .. } => "crashed",
            Error::Remote { kind, .. } => kind,
            Error::NotDefined { .. } => "not-defined",
            Error::Degenerate { .. } => "degenerate",
            Error::NonFinite { .. } => "non-finite",
        }
    }

    /// Whether the machine or its user caused it and not the network: files, memory, the store, a signal.
    pub fn is_of_machine(&self) -> bool {
        matches!(
            self,
            Error::Read { .. }
                | Error::Write { .. }
                | Error::Exists { .. }
                | Error::Memory { .. }
                | Error::Store { .. }
                | Error::Corrupt { .. }
                | Error::StoreVersion { .. }
                | Error::Foreign { .. }
                | Error::Busy { .. }
                | Error::TakenOver { .. }
                | Error::Locked { .. }
                | Error::NotEvaluated { .. }
                | Error::Interrupted { .. }
                | Error::Cancelled
                | Error::Remote { of_machine: true, .. }
        )
    }

    /// An [`Error::Read`]: what the operating system said about a file.
    pub fn read(path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        Error::Read { path: path.into(), source: Arc::new(source) }
    }

    /// An [`Error::Write`]: what the operating system said about a file.
    pub fn write(path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        Error::Write { path: path.into(), source: Arc::new(source) }
    }

    /// Text that cannot be read: a space, an architecture, a formula, a configuration.
    pub fn parse(place: impl Into<String>, message: impl Into<String>) -> Self {
        Error::Input { kind: InputKind::Parse, place: place.into(), message: message.into() }
    }

    /// An option or setting that cannot be honoured.
    pub fn option(place: impl Into<String>, message: impl Into<String>) -> Self {
        Error::Input { kind: InputKind::Option, place: place.into(), message: message.into() }
    }

    /// Data that is not what it should be: tables, weights, images, stored values.
    pub fn data(place: impl Into<String>, message: impl Into<String>) -> Self {
        Error::Input { kind: InputKind::Data, place: place.into(), message: message.into() }
    }

    /// The same error, said to have happened at `place`.
    pub fn at(self, place: impl std::fmt::Display) -> Self {
        let place = place.to_string();
        match self {
            Error::Input { kind, place: inner, message } if inner.is_empty() => {
                Error::Input { kind, place, message }
            }
            Error::Input { kind, .. } => Error::Input { kind, place, message: self.to_string() },
            other => Error::Input { kind: InputKind::Parse, place, message: other.to_string() },
        }
    }
}

/// What an [`Error::Input`] is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputKind {
    /// Text that cannot be read.
    Parse,
    /// An option or setting that cannot be honoured.
    Option,
    /// Data that is not what it should be.
    Data,
}

impl InputKind {
    /// The word in JSON.
    pub fn name(self) -> &'static str {
        match self {
            InputKind::Parse => "parse",
            InputKind::Option => "option",
            InputKind::Data => "data",
        }
    }
}

fn did_you_mean(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|name| format!(" (did you mean '{name}'?)")).unwrap_or_default()
}

fn process(pid: &Option<u32>) -> String {
    pid.map_or("another process".to_owned(), |pid| format!("process {pid}"))
}

fn kept_in(checkpoint: &Option<PathBuf>) -> String {
    checkpoint.as_ref().map_or(String::new(), |folder| format!("; the checkpoint is in {}", folder.display()))
}
