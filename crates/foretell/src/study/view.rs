//! A stored study as everything that shows it reads it: one order, one winner.

use super::answer::{Answer, Facts};
use super::rungs::{self, Standing};
use super::{Leaderboard, Objective, Settings};
use crate::architecture::Architecture;
use crate::catalogue;
use crate::error::{Error, Result};
use crate::space;
use crate::store::{Evaluation, Measurement, Ranks, Store, Study, Trial};
use std::collections::{BTreeMap, HashSet};

/// A stored study, its leaderboard and its answer. Trials are read one by one as they are asked for.
pub struct View<'s> {
    store: &'s Store,
    /// The study.
    pub study: Study,
    /// Its settings.
    pub settings: Settings,
    /// Its trials against each other.
    pub leaderboard: Leaderboard,
    /// How many trials there are, failed ones included.
    pub trials: usize,
    /// The evaluation that counts of each trial that was evaluated, by trial: of the longest training, as the mean of its
    /// draws.
    pub evaluations: Vec<Evaluation>,
    /// Latencies measured, in the order made.
    pub measurements: Vec<Measurement>,
    /// What the study found.
    pub answer: Answer,
    /// Whether labels were only looked up and decide nothing.
    pub looked_up: bool,
    /// Whether the study decided the answer when it ended; otherwise it is what the rule says of the trials so far.
    pub decided: bool,
}

impl<'s> View<'s> {
    /// The study of this name.
    pub fn load(store: &'s Store, name: &str) -> Result<Self> {
        Self::of(store, &Self::named(store, name)?)
    }

    /// The row of the study of this name, which takes no time to read.
    pub fn named(store: &Store, name: &str) -> Result<Study> {
        let studies = store.studies()?;
        let found = studies.iter().find(|study| study.name == name).cloned();
        let names = studies.iter().map(|study| study.name.as_str());
        found.ok_or_else(|| catalogue::unknown("study", name, names))
    }

    /// A study of the store.
    pub fn of(store: &'s Store, study: &Study) -> Result<Self> {
        let settings = Settings::of(&study.config)?;
        let looked_up = settings.looks_up()?;
        let ranks = store.ranks(study)?;
        let leaderboard = Leaderboard::new(&settings.objectives, &ranks)?;
        let evaluations = rungs::latest(store.evaluations(study)?.0);
        let (measurements, _) = store.measurements(study)?;
        let stored = store.answer(study)?.and_then(|answer| serde_json::from_value(answer).ok());
        let mut view = View {
            store,
            study: study.clone(),
            settings,
            leaderboard,
            trials: ranks.len(),
            evaluations,
            measurements,
            answer: Answer::default(),
            looked_up,
            decided: stored.is_some(),
        };
        view.answer = stored.unwrap_or_else(|| view.decide());
        Ok(view)
    }

    /// What the rule says of the trials so far.
    pub(super) fn decide(&self) -> Answer {
        let limits: Vec<(String, f64)> = self.limits();
        self.facts(&limits).decide()
    }

    fn limits(&self) -> Vec<(String, f64)> {
        let limit = |(phase, seconds): (crate::latency::Phase, f64)| (phase.name().to_owned(), seconds);
        self.settings.latency_limits().into_iter().map(limit).collect()
    }

    fn facts<'f>(&'f self, limits: &'f [(String, f64)]) -> Facts<'f> {
        Facts {
            objectives: &self.settings.objectives,
            leaderboard: &self.leaderboard,
            evaluations: &self.evaluations,
            measurements: &self.measurements,
            limits,
            looked_up: self.looked_up,
        }
    }

    /// For each trial that was measured in every limited phase, the largest share of a limit that it takes.
    pub fn limit_shares(&self) -> BTreeMap<usize, f64> {
        self.facts(&self.limits()).ratios()
    }

    /// Where the study is stored.
    pub fn store_path(&self) -> &std::path::Path {
        self.store.path()
    }

    /// The objectives.
    pub fn objectives(&self) -> &[Objective] {
        &self.settings.objectives
    }

    /// The trial that won.
    pub fn winner(&self) -> Option<usize> {
        self.answer.winner.map(|trial| trial as usize)
    }

    /// The best `n` trials: the winner, then those with the best evaluated values, those of longer training first, then the
    /// others in the first objective; those that break a limit as measured come last.
    pub fn best(&self, n: usize) -> Vec<usize> {
        let shares = self.limit_shares();
        let broken = |trial: &usize| shares.get(trial).is_some_and(|share| *share > 1.0);
        let evaluated = self.evaluations.iter().filter(|_| !self.looked_up);
        let standing = |row: &Evaluation| Standing::of(&row.evaluator);
        let mut evaluated: Vec<(Standing, f64, usize)> =
            evaluated.filter_map(|row| Some((standing(row), row.value()?, row.trial as usize))).collect();
        let first = |trial: usize| self.leaderboard.first(trial);
        evaluated.sort_by(|a, b| {
            let values = b.0.cmp(&a.0).then(b.1.total_cmp(&a.1));
            values.then(first(b.2).total_cmp(&first(a.2))).then(a.2.cmp(&b.2))
        });
        let others = self.leaderboard.best(n.saturating_add(shares.len()));
        let order =
            self.winner().into_iter().chain(evaluated.into_iter().map(|(.., trial)| trial)).chain(others);
        let (mut best, mut last, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
        for trial in order {
            if seen.insert(trial) {
                if broken(&trial) { last.push(trial) } else { best.push(trial) }
            }
            if best.len() >= n {
                break;
            }
        }
        best.extend(last);
        best.truncate(n);
        best
    }

    /// Walks all trials in order without keeping them.
    pub fn each_trial(&self, visit: &mut dyn FnMut(Trial) -> Result<()>) -> Result<()> {
        self.store.each_trial(&self.study, visit).map(drop)
    }

    /// What all trials are ranked by.
    pub fn ranks(&self) -> Result<Ranks> {
        self.store.ranks(&self.study)
    }

    /// A trial.
    pub fn trial(&self, trial: usize) -> Result<Trial> {
        self.store.trial(&self.study, trial as u64)
    }

    /// The architecture of a trial.
    pub fn architecture(&self, trial: usize) -> Result<Architecture> {
        let genes = serde_json::from_str(&self.trial(trial)?.genes)
            .map_err(|e| Error::option(format!("trial {trial}"), e.to_string()))?;
        space::read_architecture(&genes)
    }

    /// All evaluations in the order made, those that were made again included.
    pub fn all_evaluations(&self) -> Result<Vec<Evaluation>> {
        Ok(self.store.evaluations(&self.study)?.0)
    }

    /// The evaluation of a trial.
    pub fn evaluation(&self, trial: usize) -> Option<&Evaluation> {
        self.evaluations.iter().find(|row| row.trial == trial as u64)
    }

    /// The value of an objective as people know it; none if the trial failed.
    pub fn value(&self, trial: usize, objective: usize) -> Option<f64> {
        let value = self.leaderboard.values(trial)?[objective];
        Some(self.settings.objectives[objective].shown(value))
    }

    /// The measurements of a trial.
    pub fn measured(&self, trial: usize) -> impl Iterator<Item = &Measurement> {
        self.measurements.iter().filter(move |row| row.trial == Some(trial as u64))
    }

    /// How many trials failed in which way, in words.
    pub fn failures_in_words(&self) -> Result<String> {
        let kinds = self.failures()?;
        let words: Vec<String> = kinds.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        Ok(if words.is_empty() { "none".to_owned() } else { words.join(", ") })
    }

    /// Why there is no winner, in words.
    pub fn why_no_winner(&self) -> Result<String> {
        let reason = self.answer.reason.text();
        Ok(match (self.trials, self.answer.nearest) {
            (0, _) => "no candidate is scored yet".to_owned(),
            (_, Some(nearest)) => format!("{reason}; trial {nearest} is nearest"),
            _ => format!("{reason}; failures: {}", self.failures_in_words()?),
        })
    }

    /// How many trials failed in which way.
    pub fn failures(&self) -> Result<BTreeMap<String, u64>> {
        let mut kinds = BTreeMap::new();
        for trial in (0..self.trials).filter(|trial| self.leaderboard.values(*trial).is_none()) {
            for score in self.trial(trial)?.scores.into_iter().filter(|score| score.status != "ok") {
                *kinds.entry(score.status).or_default() += 1;
            }
        }
        Ok(kinds)
    }
}
