//! The conductor, owner of the only loop: ask, refuse what breaks a limit, score in parallel, tell, remember.
//!
//! A study is decided by its [`Settings`] alone. Trials that the store holds already are told instead of scored, so
//! the same call continues a study that was killed, and ends with the same trials, the same leaderboard and the same hash.
//! Candidates are stored in their order as they are scored: a process that is killed loses the one that each thread is at, and
//! half a second of others. A candidate that fails is recorded with its kind and never ends a study.

mod answer;
mod baseline;
mod builder;
mod command;
mod context;
mod cross;
mod evaluate;
mod evaluations;
mod external;
#[cfg(all(test, debug_assertions))]
mod faults;
mod finish;
mod journal;
mod labels;
mod latencies;
mod leaderboard;
mod merge;
mod objective;
mod plan;
mod pool;
mod reference;
mod rungs;
mod scoring;
mod settings;
mod shard;
mod timed;
#[cfg(feature = "train")]
mod trained;
#[cfg(feature = "train")]
mod verify;
mod view;

pub use answer::{Answer, LatencyModel, Reason, Reference, ReferenceKind};
pub use baseline::{Baseline, Draws};
pub use builder::{Candidate, Study, StudyBuilder, score_for};
pub use command::{Program, abandon};
pub use cross::{Cross, cross};
pub use evaluate::{Evaluator, Failure, LEAST, Table, as_given};
pub use evaluations::given_value;
pub use external::External;
pub use journal::journal;
pub use labels::Labels;
pub use leaderboard::Leaderboard;
pub use merge::merge;
pub use objective::Objective;
pub use plan::Plan;
pub use pool::Pool;
pub use settings::{AUTO, SEEDS, Settings};
pub use shard::Shard;
pub use timed::{Against, Doing, Time, Timed, TimedRun, Work};
#[cfg(feature = "train")]
pub use trained::Trained;
#[cfg(feature = "train")]
pub use verify::{Trials, Verification, Verify};
pub use view::View;

use crate::architecture::Architecture;
use crate::error::{Error, Result};
use crate::latency::Phase;
use crate::score::Scorer;
use crate::search::{self, Told};
use crate::seed::Seed;
use crate::store::{Evaluation, Store, Trial};
use context::StudyContext;
use evaluations::Evaluations;
use finish::Finish;
use latencies::Latencies;
use scoring::Scoring;
use serde_json::Value;
use std::sync::Mutex;
use std::time::Instant;

/// Who looks on.
pub trait Watch: Sync {
    /// A candidate was scored; called from any thread.
    fn scored(&self) {}
    /// A generation is stored.
    fn generation(&self, _progress: &Progress) {}
    /// A trial was evaluated, and this is stored.
    fn evaluated(&self, _network: &Architecture, _evaluation: &Evaluation) {}
    /// An exact search has come this far, from 0 to 1.
    fn solving(&self, _share: f64) {}
    /// So many of all networks that a latency model is fitted to were measured.
    fn measuring(&self, _done: u64, _total: u64) {}
    /// A candidate of the search was measured, in seconds.
    fn measured(&self, _trial: u64, _phase: Phase, _seconds: f64) {}
    /// A timed search goes on to something else, or a network was trained.
    fn trained(&self, _run: Option<&TimedRun>, _doing: &Doing) {}
    /// Scoring is about to begin and will take this long.
    fn estimated(&self, _estimate: &Estimate) {}
}

/// How long the rest of a study will take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Candidates left to score.
    pub candidates: u64,
    /// Seconds of one thread for each, with all its draws.
    pub seconds_each: f64,
    /// Threads that score.
    pub threads: usize,
}

impl Estimate {
    /// Seconds that all candidates take together.
    pub fn seconds(&self) -> f64 {
        self.candidates as f64 * self.seconds_each / self.threads.max(1) as f64
    }
}

/// Nobody looks on.
impl Watch for () {}

/// How far a study is.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// Candidates stored, failed ones included.
    pub done: u64,
    /// Candidates that will be.
    pub total: u64,
    /// Candidates refused before scoring, since they break a limit.
    pub rejected: u64,
    /// Candidates that failed.
    pub failed: u64,
    /// The best so far: its trial, and its score or, for scores within a set, its place value.
    pub best: Option<(u64, f64)>,
}

/// Networks that are timed before a search whose scores take passes.
const TIMED: u64 = 2;
/// The best networks that an exact search gives.
const EXACT: usize = 10;

impl Settings {
    /// How many candidates a study has in the end: the budget or what is planned, the size of the space at most.
    fn candidates(&self, planned: u64, size: u64) -> u64 {
        let total = self.budget.unwrap_or(planned).min(size);
        self.shard.map_or(total, |shard| shard.share(total))
    }

    /// The same with the algorithm that [`AUTO`] stands for, and the best networks where they are known exactly.
    fn resolved(&self, watch: &dyn Watch) -> (Self, Option<Vec<Architecture>>) {
        let with = |algorithm: &str| Settings { algorithm: algorithm.to_owned(), ..self.clone() };
        if self.algorithm != AUTO {
            return (self.clone(), None);
        }
        if self.objectives.len() > 1 {
            return (with("pareto"), None);
        }
        // Predictions of latency are corrected while a search runs, which an exact one cannot follow.
        if !self.phases().is_empty() {
            return (with("memetic"), None);
        }
        let keeps = |best: &Architecture| {
            self.memory.is_none_or(|most| best.memory().total() <= most)
                && self.cache.is_none_or(|most| best.cache_bytes().is_some_and(|bytes| bytes <= most))
        };
        match context::exact(self, EXACT, &[], watch) {
            Ok(points) if points.first().is_some_and(keeps) => (with("dp"), Some(points)),
            _ => (with("memetic"), None),
        }
    }
}

/// Runs a study to its end, or resumes it.
fn run(
    settings: &Settings,
    scorer: &Scorer,
    store: &mut Store,
    name: Option<&str>,
    command: &str,
    watch: &dyn Watch,
) -> Result<Study> {
    if settings.time.is_some() {
        return timed::run(settings, scorer, store, name, command, watch);
    }
    settings.check()?;
    let (settings, solution) = settings.resolved(watch);
    let settings = &settings;
    let mut searcher = search::parse::<Architecture>(&settings.algorithm)?;
    let config = settings.config()?;
    let context = StudyContext::new(settings, solution, watch)?;
    let name = settings.full_name(name)?;
    let study = store.create(&name, &config, command)?;
    if study.config != config {
        return Err(conflict(&name, &study.config, &config));
    }
    let _lease = store.lease(&study)?;
    let (known, digest) = store.trials(&study)?;
    let resumed = known.len() as u64;
    let previous = store.answer(&study)?.and_then(|answer| serde_json::from_value(answer).ok());
    store.stop(&study, None)?;
    let store = Mutex::new(store);
    let evaluator = settings.evaluator.as_deref();
    let evaluations = evaluator.map(|asked| Evaluations::new(settings, asked, &store, &study, watch));
    let timed = !settings.phases().is_empty();
    let latencies = timed.then(|| Latencies::begin(settings, &store, &study, scorer.memory(), watch));
    let mut context = context.with(evaluations.transpose()?, latencies.transpose()?)?;
    let mut scoring =
        Scoring { settings, scorer, store: &store, study: &study, watch, models: context.models(), digest };
    let total = settings.candidates(searcher.planned(), context.size());
    let looks_up = settings.looks_up()?;
    let purpose = settings.shard.map_or("search".to_owned(), |shard| format!("search {shard}"));
    if let Some(estimate) = estimate(settings, scorer, &context, &known, total) {
        watch.estimated(&estimate);
    }
    let mut progress = Progress { done: 0, total, rejected: 0, failed: 0, best: None };
    let mut known = known.into_iter();
    let mut told: Vec<Told<Architecture>> = Vec::new();
    let mut generation = 0;
    let stopped = loop {
        let mut rng = Seed(settings.seed).stream(&purpose, generation);
        if progress.done >= total {
            searcher.end(&mut context, &mut rng);
            context.check_failure()?;
            break "budget";
        }
        context.check_latencies(progress.done, &told)?;
        let mut asked = searcher.ask(&mut context, &mut rng);
        context.check_failure()?;
        generation += 1;
        if asked.is_empty() {
            break if context.exhausted { "exhausted" } else { "converged" };
        }
        scorer.cancel().check()?;
        asked.truncate(usize::try_from(total - progress.done).unwrap_or(usize::MAX));
        let mut trials: Vec<Trial> = known.by_ref().take(asked.len()).collect();
        for (trial, point) in trials.iter().zip(&asked) {
            if trial.id != point.id() {
                let reason = "was begun by a release that searches differently: use another name";
                return Err(Error::option(format!("study '{name}'"), reason));
            }
        }
        let from = progress.done + trials.len() as u64;
        trials.extend(scoring.run(&asked[trials.len()..], from, context.rejected)?);
        progress.done += trials.len() as u64;
        progress.rejected = context.rejected;
        progress.failed += trials.iter().filter(|trial| !trial.ok()).count() as u64;
        let batch: Vec<Told<Architecture>> = asked
            .into_iter()
            .zip(&trials)
            .map(|(point, trial)| Told { outcome: objective::outcome(&settings.objectives, trial), point })
            .collect();
        context.number(&trials);
        if looks_up {
            for told in &batch {
                search::SearchContext::evaluate(&mut context, &told.point);
            }
            context.check_failure()?;
        }
        let from = told.len();
        told.extend(batch.iter().cloned());
        progress.best = context.leader(&told, from, progress.best);
        if known.len() == 0 {
            watch.generation(&progress);
        }
        searcher.tell(batch);
    };
    let last = evaluator.is_some() && !searcher.evaluates() && !looks_up;
    let evaluate = if last { settings.evaluate_top } else { 0 };
    let ended = Conclusion { name, stopped, progress, resumed, previous };
    conclude(settings, scorer, &store, &study, &mut context, evaluate, ended)
}

/// How a study ended.
struct Conclusion {
    name: String,
    stopped: &'static str,
    progress: Progress,
    resumed: u64,
    previous: Option<Answer>,
}

/// Decides the answer of a study whose search ended, and stores it.
fn conclude<'e>(
    settings: &Settings,
    scorer: &Scorer,
    store: &Mutex<&'e mut Store>,
    study: &crate::store::Study,
    context: &mut StudyContext<'_, 'e>,
    evaluate: usize,
    ended: Conclusion,
) -> Result<Study> {
    let Conclusion { name, stopped, progress, resumed, previous } = ended;
    let answer = Finish { settings, scorer, store, study, context, evaluate }.run()?;
    let mut store = store.lock().expect("no holder panics");
    store.stop(study, Some(stopped))?;
    let hash = store.hash(study)?;
    let view = View::load(&store, &name)?;
    let front = if settings.objectives.len() > 1 {
        view.leaderboard.front.clone()
    } else {
        view.winner().into_iter().collect()
    };
    let front = front.into_iter().map(|trial| Candidate::of(&view, trial)).collect::<Result<_>>()?;
    let winner = view.winner().map(|trial| Candidate::of(&view, trial)).transpose()?;
    let leaderboard = view.leaderboard;
    Ok(Study { name, stopped, progress, resumed, hash, answer, previous, winner, front, leaderboard })
}

/// How long scoring will take, where it takes passes: by candidates known from before, else by two that are timed.
fn estimate(
    settings: &Settings,
    scorer: &Scorer,
    context: &StudyContext,
    known: &[Trial],
    total: u64,
) -> Option<Estimate> {
    let left = total.saturating_sub(known.len() as u64);
    if left <= TIMED || !scorer.requests().iter().any(|request| request.about().drawn()) {
        return None;
    }
    let seconds_each = match known {
        [] => {
            // The first network pays for weights that all share, so the quicker one counts.
            let timed = (0..TIMED).map(|index| {
                let mut rng = Seed(settings.seed).stream("estimate", index);
                let point = search::SearchContext::operators(context).sample(&mut rng);
                let start = Instant::now();
                // The executor is timed; what becomes of the candidate does not matter.
                let _ = scorer.in_order(&[point], &settings.seed_list(), &|_, _| true);
                start.elapsed().as_secs_f64()
            });
            timed.fold(f64::INFINITY, f64::min)
        }
        known => {
            let sum = known.iter().map(|trial| trial.seconds).sum::<f64>();
            sum / known.len() as f64 * settings.draws() as f64
        }
    };
    Some(Estimate { candidates: left, seconds_each, threads: scorer.width() })
}

/// Characters of a setting beyond which only its name is said.
const MOST_SAID: usize = 400;

fn conflict(name: &str, stored: &Value, wanted: &Value) -> Error {
    let differs = |(key, value): (&String, &Value)| {
        let before = stored.get(key).unwrap_or(&Value::Null);
        let text = format!("{key} was {before} and is {value}");
        (before != value).then(|| if text.len() > MOST_SAID { format!("{key} differs") } else { text })
    };
    let wanted = wanted.as_object().into_iter().flatten();
    let differences: Vec<String> = wanted.filter_map(differs).collect();
    let message = format!("exists with other settings ({}): use another name", differences.join(", "));
    Error::option(format!("study '{name}'"), message)
}
