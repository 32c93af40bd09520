//! The end of a study: finalists are measured and evaluated, references are found, and the answer is decided and stored.

use super::answer::{Answer, Reason};
use super::context::StudyContext;
use super::latencies::{Latencies, Timed};
use super::reference::References;
use super::{Settings, View};
use crate::architecture::Architecture;
use crate::error::{Error, Result};
use crate::score::Scorer;
use crate::search::SearchContext;
use crate::store::{Store, Study};
use serde_json::json;
use std::sync::Mutex;

/// Finalists that are measured at most.
const MOST_MEASURED: usize = 40;
/// Members of a Pareto front that are measured.
const FRONT_MEASURED: usize = 20;
/// Candidates looked through for one that may keep the limits.
const LOOKED_AT: usize = 10_000;

/// What the end of a study needs.
pub(super) struct Finish<'f, 's, 'e> {
    pub(super) settings: &'f Settings,
    pub(super) scorer: &'f Scorer,
    pub(super) store: &'f Mutex<&'e mut Store>,
    pub(super) study: &'f Study,
    pub(super) context: &'f mut StudyContext<'s, 'e>,
    /// How many of the best are evaluated; none where the algorithm did that itself.
    pub(super) evaluate: usize,
}

impl Finish<'_, '_, '_> {
    /// Measures, evaluates, decides and stores.
    pub(super) fn run(mut self) -> Result<Answer> {
        self.measure()?;
        self.evaluate()?;
        let answer = {
            let mut store = self.store.lock().expect("no holder panics");
            let view = View::of(&store, self.study)?;
            let mut answer = view.decide();
            answer.latency = self.context.latencies().map(Latencies::summaries).unwrap_or_default();
            // The first point of an exact search is the optimum if it kept every limit.
            let first = answer.winner == Some(0) && answer.reason == Reason::Objective;
            answer.proved = self.context.proved && first;
            match self.settings.time {
                // Training says which uniform network is the best, and whether the winner is better.
                Some(_) => answer.trained(&view)?,
                None => {
                    let models = self.context.models();
                    let ceilings = self.context.ceilings();
                    References { scorer: self.scorer, ceilings, models: &models }.add(&view, &mut answer)?;
                }
            }
            drop(view);
            store.set_answer(self.study, &json!(answer))?;
            answer
        };
        Ok(answer)
    }

    /// Runs something on the study as it is stored now.
    fn look<T>(&self, look: impl FnOnce(&View) -> Result<T>) -> Result<T> {
        let store = self.store.lock().expect("no holder panics");
        look(&View::of(&store, self.study)?)
    }

    /// Measures the best until enough of them keep the limits, or the members of the front.
    fn measure(&mut self) -> Result<()> {
        let limited = |latencies: &Latencies| latencies.timed.iter().any(|timed| timed.limit.is_some());
        let Some(limited) = self.context.latencies().map(limited) else { return Ok(()) };
        let several = self.settings.objectives.len() > 1;
        let wanted = if several { FRONT_MEASURED } else { self.evaluate.max(1) };
        let mut tried: Vec<usize> = Vec::new();
        let mut kept = 0;
        while kept < wanted && tried.len() < MOST_MEASURED {
            let next = self.look(|view| self.next_finalist(view, &tried, limited))?;
            let Some((trial, network, stage)) = next else { break };
            tried.push(trial);
            let found = self.context.with_latencies(|latencies| {
                let kept = latencies.measure_trial(trial as u64, &network, stage)?;
                if !kept {
                    latencies.mend(stage);
                }
                Ok(kept)
            });
            match found {
                Ok(found) => kept += usize::from(found == Some(true)),
                // What cannot be measured cannot win, and is no reason to lose the study.
                Err(Error::Memory { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The best candidate that was not tried and is predicted to keep the limits by the models as they are now.
    fn next_finalist(
        &self,
        view: &View,
        tried: &[usize],
        limited: bool,
    ) -> Result<Option<(usize, Architecture, u64)>> {
        let Some(latencies) = self.context.latencies() else { return Ok(None) };
        let several = self.settings.objectives.len() > 1;
        let mut order =
            if several { view.leaderboard.front.clone() } else { view.winner().into_iter().collect() };
        order.extend(view.best(LOOKED_AT));
        for trial in order.into_iter().filter(|trial| !tried.contains(trial)) {
            let network = view.architecture(trial)?;
            let keeps =
                |timed: &Timed| timed.limit.is_none_or(|limit| timed.model.predict(&network) <= limit);
            if !limited || tried.is_empty() || latencies.timed.iter().all(keeps) {
                return Ok(Some((trial, network, view.trials as u64)));
            }
        }
        Ok(None)
    }

    /// Evaluates the best that keep the limits.
    fn evaluate(&mut self) -> Result<()> {
        if self.evaluate == 0 {
            return Ok(());
        }
        let finalists = self.look(|view| {
            let shares = view.limit_shares();
            let eligible =
                |trial: &usize| shares.is_empty() || shares.get(trial).is_some_and(|share| *share <= 1.0);
            let mut order = view.winner().into_iter().collect::<Vec<_>>();
            if self.settings.objectives.len() > 1 {
                order.extend(&view.leaderboard.front);
            }
            order.extend(view.leaderboard.best(self.evaluate + shares.len()));
            let mut seen = Vec::new();
            order.retain(|trial| {
                eligible(trial) && !seen.contains(trial) && {
                    seen.push(*trial);
                    true
                }
            });
            order.truncate(self.evaluate);
            order.into_iter().map(|trial| view.architecture(trial)).collect::<Result<Vec<_>>>()
        })?;
        for network in finalists {
            self.context.evaluate(&network);
            self.context.check_failure()?;
        }
        Ok(())
    }
}
