//! A search that spends a budget of time on training.
//!
//! ```text
//! work  = what the time amounts to, from the measured rate of training; stored, and never measured again
//! full  = as many steps as 21 runs of the largest network leave each
//! 1. 2/21 of the work, full/9 steps each: the optimum of a prior score, uniform networks, networks that cover the space
//! 2. 3/21, full/3 steps: the best of these, some that differ most, then what a predictor fitted to all runs so far expects to
//!    improve after full training, by small changes of what promises most
//! 3. 9/21, full steps: uniform networks of all depths first, then the same
//! 4. the last third, full steps: what is expected to be the best; then the winner and the best uniform network twice more,
//!    with other draws
//! ```
//!
//! What is done next is a function of the runs that are finished, in their order; the clock decides nothing after the rate
//! was measured. A search that was killed repeats its decisions from the store, and continues with the run it was at.

mod log;
mod proposals;
mod runs;
mod stages;
mod summary;
mod work;

#[cfg(test)]
mod tests;

pub use log::Doing;
pub use runs::TimedRun;
pub use summary::{Against, Timed};
pub use work::{Time, Work};

use super::builder::{DEFAULT_PROXY, score_for};
use super::context::StudyContext;
use super::scoring::Scoring;
use super::{Conclusion, Objective, Progress, Settings, Study, Watch, conclude, conflict};
use crate::architecture::Architecture;
use crate::error::{Error, Result};
use crate::score::Scorer;
use crate::search::SearchContext;
use crate::seed::Seed;
use crate::store::Store;
use runs::Runs;
use stages::Search;
use std::sync::Mutex;

/// Full runs of the largest network that the work holds.
const RUNS: f64 = 21.0;
/// What part of a full run short, middle and full runs are.
const RUNGS: [u64; 3] = [9, 3, 1];
/// What part of the work is spent after short, middle and full runs, without the last third. Most of it goes to full runs: on
/// tables with several budgets short runs say little of long ones, since curves cross.
const SHARES: [f64; 3] = [2.0 / 21.0, 5.0 / 21.0, 14.0 / 21.0];
/// Networks among which the largest is looked for where no uniform network is known.
const DRAWN: u64 = 200;

/// Runs a timed study to its end, or resumes it.
pub(super) fn run(
    settings: &Settings,
    scorer: &Scorer,
    store: &mut Store,
    name: Option<&str>,
    command: &str,
    watch: &dyn Watch,
) -> Result<Study> {
    settings.check()?;
    let name = settings.full_name(name)?;
    let evaluator = settings.evaluator.clone().ok_or_else(nobody_trains)?;
    let config = settings.config()?;
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
    let mut context = StudyContext::new(settings, None, watch)?.with(None, None)?;
    let scoring =
        Scoring { settings, scorer, store: &store, study: &study, watch, models: Vec::new(), digest };
    let runs = Runs::new(evaluator, &store, &study)?;
    let mut search = Search::new(settings, &mut context, scoring, known, runs, watch);
    search.run()?;
    let (done, failed) = search.counts();
    let progress = Progress { done, total: done, rejected: context.rejected, failed, best: None };
    let ended = Conclusion { name, stopped: "time", progress, resumed, previous };
    conclude(settings, scorer, &store, &study, &mut context, 0, ended)
}

fn nobody_trains() -> Error {
    Error::option("time", "needs somebody who trains networks: data to train on, or a command")
}

/// The settings with the work that the time is, as the study of this name stores it, else measured; and with the prior score
/// that suits it.
pub(super) fn with_work(
    settings: &Settings,
    store: &Store,
    name: &str,
    watch: &dyn Watch,
) -> Result<Settings> {
    let known = store
        .find(name)?
        .map(|study| Settings::of(&study.config))
        .transpose()?
        .and_then(|stored| stored.work);
    let work = match settings.work.or(known) {
        Some(work) => work,
        None => {
            let prior = settings.with_prior(None)?;
            prior.check()?;
            let evaluator = settings.evaluator.as_deref().ok_or_else(nobody_trains)?;
            Work::measure(settings.time.expect("a timed search"), evaluator, &largest(&prior, watch)?)?
        }
    };
    Ok(Settings { work: Some(work), ..settings.with_prior(Some(work))? })
}

impl Settings {
    /// The same with a prior score, where none was given: for decoders the one that suits how long networks are trained.
    pub(super) fn with_prior(&self, work: Option<Work>) -> Result<Self> {
        if !self.objectives.is_empty() {
            return Ok(self.clone());
        }
        // A command does not say what a step of its is.
        let known = work.filter(|work| work.seen > 1);
        let tokens = known.map_or(0, |work| work.tokens(work.rungs()[RUNGS.len() - 1]) as u64);
        let score = score_for(self.space.definition().family, tokens);
        let prior = Objective::proxy(score.as_deref().unwrap_or(DEFAULT_PROXY))?;
        Ok(Settings { objectives: vec![prior], ..self.clone() })
    }
}

/// The network that takes the longest to train, of uniform and random ones.
fn largest(settings: &Settings, watch: &dyn Watch) -> Result<Architecture> {
    let context = StudyContext::new(settings, None, watch)?;
    let drawn = (0..DRAWN).map(|draw| {
        let mut rng = Seed(settings.seed).stream("largest", draw);
        context.operators().sample(&mut rng)
    });
    let all = context.uniform().into_iter().chain(drawn);
    let largest = all.filter(|network| context.keeps(network)).max_by_key(work::size);
    largest.ok_or_else(|| Error::Infeasible {
        space: settings.space.name().to_owned(),
        reason: "no random network keeps all limits".to_owned(),
    })
}
