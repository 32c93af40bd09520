//! The front door: a study from its space to its winner in one expression.

use super::plan::plan;
use super::timed::with_work;
use super::{Answer, Evaluator, Leaderboard, Objective, Plan, Progress, Settings, Shard, View, Watch, run};
use crate::architecture::{Architecture, Family, NetworkKind};
use crate::cancel::CancelToken;
use crate::error::{Error, Result};
use crate::score::{Executor, Options, Scorer};
use crate::space::{Limits, Space};
use crate::store::Store;
use std::path::PathBuf;
use std::sync::Arc;

/// A study that has ended: its winner, its front, and how all candidates compare.
///
/// ```
/// use foretell::prelude::*;
///
/// let study = Study::builder(space::preset("gpt2")?)
///     .objective(Objective::proxy("nsc")?)
///     .limits(Limits { params: Bound { min: 0, max: 20_000_000 }, ..Limits::default() })
///     .run()?;
/// let winner = study.winner.expect("something fits");
/// assert!(study.answer.proved && winner.architecture.params().total <= 20_000_000);
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Study {
    /// Its name.
    pub name: String,
    /// Why it ended.
    pub stopped: &'static str,
    /// Where it ended.
    pub progress: Progress,
    /// How many trials the store held before.
    pub resumed: u64,
    /// A hash of all trials: equal hashes, equal studies.
    pub hash: String,
    /// What it found, and why that won.
    pub answer: Answer,
    /// What it had found before it was given a larger budget, if it had ended then.
    pub previous: Option<Answer>,
    /// The winner.
    pub winner: Option<Candidate>,
    /// Candidates that no other beats in every objective, best first in the first one.
    pub front: Vec<Candidate>,
    /// How all candidates compare.
    pub leaderboard: Leaderboard,
}

/// A candidate of a study.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// The number of its trial.
    pub trial: u64,
    /// The network.
    pub architecture: Architecture,
    /// Its value in each objective: scores, and costs as they are.
    pub values: Vec<f64>,
}

impl Candidate {
    /// A trial of a stored study.
    pub fn of(view: &View, trial: usize) -> Result<Self> {
        let values = view.leaderboard.values(trial).unwrap_or_default();
        let values = values.iter().zip(view.objectives()).map(|(value, objective)| objective.shown(*value));
        let (trial, architecture) = (trial as u64, view.architecture(trial)?);
        Ok(Candidate { trial, architecture, values: values.collect() })
    }
}

impl Study {
    /// A study of a space: by default it looks for the best network by the score `nsc`, without limits, and keeps its
    /// trials in memory.
    pub fn builder(space: Arc<dyn Space>) -> StudyBuilder<'static> {
        StudyBuilder::from(Settings::new(space))
    }
}

/// Where trials are stored.
enum Place<'a> {
    Memory,
    File(PathBuf),
    Open(&'a mut Store),
}

/// What a study is to do. [`run`](Self::run) does it; a study that the store knows already is resumed.
pub struct StudyBuilder<'a> {
    settings: Settings,
    options: Options,
    executor: Option<Arc<dyn Executor>>,
    place: Place<'a>,
    name: Option<String>,
    command: String,
    watch: &'a dyn Watch,
}

impl From<Settings> for StudyBuilder<'static> {
    fn from(settings: Settings) -> Self {
        StudyBuilder {
            settings,
            options: Options::default(),
            executor: None,
            place: Place::Memory,
            name: None,
            command: String::new(),
            watch: &(),
        }
    }
}

impl<'a> StudyBuilder<'a> {
    /// What to search for. Called again it adds a further objective; the first one comes first.
    pub fn objective(mut self, objective: Objective) -> Self {
        self.settings.objectives.push(objective);
        self
    }

    /// Hard limits on parameters and multiply-adds.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.settings.limits = limits;
        self
    }

    /// The most seconds that a pass over one whole input may take on one thread of this machine.
    pub fn max_latency(mut self, seconds: f64) -> Self {
        self.settings.latency = Some(seconds);
        self
    }

    /// The most bytes that one forward and backward of one input may need.
    pub fn max_memory(mut self, bytes: u64) -> Self {
        self.settings.memory = Some(bytes);
        self
    }

    /// How to search: a name of [`search::catalogue`](crate::search::catalogue) with options in brackets.
    pub fn searcher(mut self, label: &str) -> Self {
        self.settings.algorithm = label.to_owned();
        self
    }

    /// Who says how good networks really are, and how many of the best it is asked about.
    pub fn evaluator(mut self, evaluator: Arc<dyn Evaluator>, top: usize) -> Self {
        (self.settings.evaluator, self.settings.evaluate_top) = (Some(evaluator), top);
        self
    }

    /// Who scores batches of candidates: threads of this process unless another is given.
    pub fn executor(mut self, executor: Arc<dyn Executor>) -> Self {
        self.executor = Some(executor);
        self
    }

    /// How many candidates are scored.
    pub fn budget(mut self, candidates: u64) -> Self {
        self.settings.budget = Some(candidates);
        self
    }

    /// The seed of every draw, and over how many draws of weights and inputs a score is averaged.
    pub fn seed(mut self, seed: u64, draws: u64) -> Self {
        (self.settings.seed, self.settings.seeds) = (seed, draws);
        self
    }

    /// Which part of a search that is split this study is.
    pub fn shard(mut self, shard: Shard) -> Self {
        self.settings.shard = Some(shard);
        self
    }

    /// Precision, weights, inputs, memory and cache of scoring.
    pub fn scoring(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Stops the study, from any thread: it ends with [`Error::Cancelled`], and the same
    /// study resumes.
    pub fn cancel(mut self, token: CancelToken) -> Self {
        self.options.cancel = token;
        self
    }

    /// Stores trials in this file.
    pub fn store(mut self, path: impl Into<PathBuf>) -> Self {
        self.place = Place::File(path.into());
        self
    }

    /// Stores trials in a store that is open.
    pub fn in_store<'b>(self, store: &'b mut Store) -> StudyBuilder<'b>
    where
        'a: 'b,
    {
        StudyBuilder { place: Place::Open(store), ..self }
    }

    /// The name of the study in its store; without one it follows from what the study does.
    pub fn name<'n>(mut self, name: impl Into<Option<&'n str>>) -> Self {
        self.name = name.into().map(str::to_owned);
        self
    }

    /// The command that is stored with the study, so that a reader can repeat it.
    pub fn command(mut self, command: &str) -> Self {
        self.command = command.to_owned();
        self
    }

    /// Who looks on.
    pub fn watch<'b>(self, watch: &'b dyn Watch) -> StudyBuilder<'b>
    where
        'a: 'b,
    {
        StudyBuilder { watch, ..self }
    }

    /// What it does, in full.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Checks everything and says what [`run`](Self::run) would do, without doing it.
    pub fn plan(mut self) -> Result<Plan> {
        self.complete()?;
        let opened = match &self.place {
            Place::File(path) if path.exists() => Some(Store::read(path)?),
            _ => None,
        };
        let store = match &self.place {
            Place::Open(store) => Some(&**store),
            _ => opened.as_ref(),
        };
        plan(&self.settings, self.options, store, self.name.as_deref())
    }

    /// Runs the study to its end, or resumes it.
    pub fn run(mut self) -> Result<Study> {
        self.complete()?;
        let mut opened = match &self.place {
            Place::Memory => Some(Store::memory()?),
            Place::File(path) => Some(Store::open(path)?),
            Place::Open(_) => None,
        };
        let store = match self.place {
            Place::Open(store) => store,
            _ => opened.as_mut().expect("it was just opened"),
        };
        let token = self.options.cancel.clone();
        if self.settings.time.is_some() {
            let name = self.settings.full_name(self.name.as_deref())?;
            self.settings = token.run(|| with_work(&self.settings, store, &name, self.watch))??;
            self.name = Some(name);
        }
        let mut scorer = Scorer::new(Objective::requests(&self.settings.objectives), self.options);
        if let Some(executor) = self.executor {
            scorer = scorer.executed_by(executor);
        }
        token.run(|| run(&self.settings, &scorer, store, self.name.as_deref(), &self.command, self.watch))?
    }

    fn complete(&mut self) -> Result<()> {
        // A timed search chooses by how long it trains.
        if self.settings.objectives.is_empty() && self.settings.time.is_none() {
            self.settings.objectives.push(Objective::proxy(DEFAULT_PROXY)?);
        }
        Ok(())
    }
}

/// The score that a study searches for unless another is given; it suits networks that are trained for long.
pub(super) const DEFAULT_PROXY: &str = "nsc";

/// The score that suits networks of a family which are trained on so many tokens.
pub fn score_for(family: &dyn Family, tokens: u64) -> Result<String> {
    if tokens == 0 {
        return Err(Error::option("training tokens", "must be at least 1"));
    }
    if family.card().kind != NetworkKind::Decoder {
        let message =
            format!("say what is good for decoders only, and {family} is none: name a proxy instead");
        return Err(Error::option("training tokens", message));
    }
    Ok(format!("shape-law[tokens={tokens}]"))
}
