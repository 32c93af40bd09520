//! What a study found: the winner, why it won, and what it is compared with.
//!
//! One rule decides, once, when the study ends; everything that names a winner reads what it decided:
//!
//! 1. A candidate that breaks a limit on latency as measured cannot win, and under such a limit only measured candidates
//!    can. If no candidate keeps the limits there is no winner, and the nearest one is named.
//! 2. If candidates were evaluated, the best value wins; where they were trained for different lengths, that of the longest
//!    training, and of those the most often trained. Equal values fall back to the next rule. Labels that are only looked
//!    up, those of a search inside a table, decide nothing.
//! 3. With one objective the best value wins, with several the knee of the Pareto front. Of equals the earliest wins.

use super::rungs::Standing;
use super::{Leaderboard, Objective, Timed, View};
use crate::error::Result;
use crate::store::{Evaluation, Measurement};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// What a study found.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Answer {
    /// The trial that won.
    pub winner: Option<u64>,
    /// Why it won, or why nothing did.
    pub reason: Reason,
    /// Whether no other network inside the limits has a better score.
    #[serde(default)]
    pub proved: bool,
    /// Where nothing keeps the limits as measured: the trial that comes nearest to keeping them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nearest: Option<u64>,
    /// Uniform networks to compare the winner with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<Reference>,
    /// The first objective of the winner as the references are compared with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// Whether the winner beats the best uniform network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beats_uniform: Option<bool>,
    /// How well the latency models predict what the search drew.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latency: Vec<LatencyModel>,
}

impl Answer {
    /// Adds what a timed search knows of its winner.
    pub(super) fn trained(&mut self, view: &View) -> Result<()> {
        let Some(winner) = self.winner.map(|trial| trial as usize) else { return Ok(()) };
        self.value = view.value(winner, 0);
        let against = Timed::of(view)?.and_then(|timed| timed.against);
        self.beats_uniform = against.map(|against| against.gain > 0.0);
        Ok(())
    }
}

/// Why a trial won, or why none did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// It has the best evaluated value.
    Evaluated,
    /// It has the best value of the objective.
    #[default]
    Objective,
    /// It is the knee of the Pareto front.
    Knee,
    /// No candidate keeps the limits as measured.
    NothingKeepsTheLimits,
    /// No candidate was scored without failing.
    NothingSucceeded,
}

impl Reason {
    /// The reason in words.
    pub fn text(self) -> &'static str {
        match self {
            Reason::Evaluated => "best evaluated value",
            Reason::Objective => "best value of the objective",
            Reason::Knee => "knee of the Pareto front",
            Reason::NothingKeepsTheLimits => "no candidate keeps the limits as measured",
            Reason::NothingSucceeded => "no candidate was scored",
        }
    }
}

/// A uniform network, which has the same choices at every layer, inside the limits of the study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reference {
    /// Which one it is.
    pub kind: ReferenceKind,
    /// The architecture.
    pub architecture: Map<String, Value>,
    /// Its first objective as people know it; absent where that would take more than a few passes.
    pub value: Option<f64>,
    /// Its parameters.
    pub params: u64,
    /// Its multiply-adds.
    pub flops: u64,
    /// Bytes of a forward and backward of one input.
    pub memory: u64,
}

/// Which uniform network a reference is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReferenceKind {
    /// The best by the first objective.
    Best,
    /// The one nearest to the winner in parameters.
    Nearest,
}

impl ReferenceKind {
    /// The name of the row that shows it.
    pub fn text(self) -> &'static str {
        match self {
            ReferenceKind::Best => "best uniform network",
            ReferenceKind::Nearest => "uniform, nearest in size",
        }
    }
}

/// How well a latency model predicts candidates that the search drew.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LatencyModel {
    /// What is timed.
    pub phase: String,
    /// The limit in seconds, if there is one.
    pub limit: Option<f64>,
    /// Networks that were measured, those drawn to fit the first model included.
    pub measured: usize,
    /// Candidates of the search among them, which the errors below are of.
    pub candidates: usize,
    /// Median relative error.
    pub error: f64,
    /// Relative error that nine of ten candidates stay below.
    pub error_90: f64,
    /// Share of the limit that candidates must stay below it, as predicted.
    pub guard: f64,
    /// Whether every measurement saw enough undisturbed repeats.
    pub quiet: bool,
}

/// What the rule looks at.
pub(super) struct Facts<'e> {
    pub(super) objectives: &'e [Objective],
    pub(super) leaderboard: &'e Leaderboard,
    pub(super) evaluations: &'e [Evaluation],
    pub(super) measurements: &'e [Measurement],
    /// Limits on time, by the name of what is timed.
    pub(super) limits: &'e [(String, f64)],
    /// Whether evaluations are only looked at.
    pub(super) looked_up: bool,
}

impl Facts<'_> {
    /// Applies the rule.
    pub(super) fn decide(&self) -> Answer {
        let leaderboard = self.leaderboard;
        let ratios = self.ratios();
        let eligible: Vec<usize> = match ratios.is_empty() {
            true => leaderboard.succeeded().to_vec(),
            false => ratios.iter().filter(|(_, ratio)| **ratio <= 1.0).map(|(trial, _)| *trial).collect(),
        };
        if eligible.is_empty() {
            let nearest = ratios.iter().min_by(|a, b| a.1.total_cmp(b.1)).map(|(trial, _)| *trial as u64);
            let reason =
                if nearest.is_some() { Reason::NothingKeepsTheLimits } else { Reason::NothingSucceeded };
            return Answer { nearest, reason, ..Answer::default() };
        }
        let several = self.objectives.len() > 1;
        let (winner, reason) = match self.best_evaluated(&eligible) {
            Some(trial) => (Some(trial), Reason::Evaluated),
            None if several => (leaderboard.knee_of(&leaderboard.front_of(&eligible)), Reason::Knee),
            // The usual case must not look at a million trials one by one.
            None if ratios.is_empty() => (leaderboard.best(1).first().copied(), Reason::Objective),
            None => {
                let first = |a: &usize, b: &usize| {
                    leaderboard.first(*a).total_cmp(&leaderboard.first(*b)).then(b.cmp(a))
                };
                (eligible.into_iter().max_by(first), Reason::Objective)
            }
        };
        Answer { winner: winner.map(|trial| trial as u64), reason, ..Answer::default() }
    }

    /// The best evaluated of some trials, which are ascending; of equal values the one with the better first objective.
    fn best_evaluated(&self, eligible: &[usize]) -> Option<usize> {
        let value = |row: &Evaluation| Some((Standing::of(&row.evaluator), row.value()?, row.trial as usize));
        let values = self.evaluations.iter().filter(|_| !self.looked_up).filter_map(value);
        let order = |a: &(Standing, f64, usize), b: &(Standing, f64, usize)| {
            let first = |trial: usize| self.leaderboard.first(trial);
            let values = a.0.cmp(&b.0).then(a.1.total_cmp(&b.1));
            values.then(first(a.2).total_cmp(&first(b.2))).then(b.2.cmp(&a.2))
        };
        values
            .filter(|(.., trial)| eligible.binary_search(trial).is_ok())
            .max_by(order)
            .map(|(.., trial)| trial)
    }

    /// For each trial that was measured in every limited phase, the largest share of a limit that it takes.
    pub(super) fn ratios(&self) -> BTreeMap<usize, f64> {
        let mut found: BTreeMap<usize, BTreeMap<&str, f64>> = BTreeMap::new();
        for row in self.measurements {
            let limit = self.limits.iter().find(|(phase, _)| *phase == row.phase);
            let seconds = upper(row);
            if let (Some(trial), Some((phase, limit)), Some(seconds)) = (row.trial, limit, seconds)
                && self.leaderboard.values(trial as usize).is_some()
            {
                found.entry(trial as usize).or_default().insert(phase, seconds / limit);
            }
        }
        found.retain(|_, phases| phases.len() == self.limits.len());
        found.into_iter().map(|(trial, of)| (trial, of.into_values().fold(0.0, f64::max))).collect()
    }
}

/// The seconds of a stored measurement that a limit must allow.
pub(super) fn upper(row: &Measurement) -> Option<f64> {
    row.latency["upper"].as_f64().or(row.latency["seconds"].as_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Ranks, Score, Trial};
    use serde_json::json;

    fn leaderboard(values: &[(f64, f64)]) -> Leaderboard {
        let trial = |(number, (score, params)): (usize, &(f64, f64))| {
            let value = Score { status: "ok".into(), value: *score, ..Score::default() };
            Trial {
                number: number as u64,
                objectives: vec![*score, -params],
                scores: vec![value],
                ..Trial::default()
            }
        };
        let trials: Vec<Trial> = values.iter().enumerate().map(trial).collect();
        let objectives = [Objective::proxy("nsc").unwrap(), Objective::Params];
        Leaderboard::new(&objectives, &Ranks::of(&trials).unwrap()).unwrap()
    }

    fn measured(trial: u64, seconds: f64) -> Measurement {
        Measurement {
            stage: 4,
            trial: Some(trial),
            genes: String::new(),
            phase: "prefill".into(),
            latency: json!({"seconds": seconds}),
        }
    }

    fn evaluated(trial: u64, value: f64) -> Evaluation {
        Evaluation { trial, value, status: "ok".into(), ..Evaluation::default() }
    }

    /// Scores 5, 4, 3 and 3: the best wins; a measured break of the limit by the first hands it to the second; an
    /// evaluation hands it to the third, and of two equal evaluations the better score wins.
    #[test]
    fn limits_come_first_then_evaluations_then_the_objective() {
        let leaderboard = leaderboard(&[(5.0, 1.0), (4.0, 1.0), (3.0, 1.0), (3.0, 1.0)]);
        let objectives = [Objective::proxy("nsc").unwrap()];
        let limits = [("prefill".to_owned(), 0.02)];
        let decide = |evaluations: &[Evaluation], measurements: &[Measurement]| {
            let facts = Facts {
                objectives: &objectives,
                leaderboard: &leaderboard,
                evaluations,
                measurements,
                limits: &limits,
                looked_up: false,
            };
            facts.decide()
        };
        assert_eq!(decide(&[], &[]).winner, Some(0));
        let broken = [measured(0, 0.03), measured(1, 0.02)];
        assert_eq!(decide(&[], &broken).winner, Some(1));
        assert_eq!(
            decide(&[evaluated(0, 9.0)], &broken).winner,
            Some(1),
            "an evaluation does not heal a limit"
        );
        let both = [evaluated(2, 7.0), evaluated(1, 6.0)];
        assert_eq!((decide(&both, &[]).winner, decide(&both, &[]).reason), (Some(2), Reason::Evaluated));
        assert_eq!(decide(&[evaluated(2, 7.0), evaluated(1, 7.0)], &[]).winner, Some(1), "ties");
        let nothing = decide(&both, &[measured(0, 0.05), measured(3, 0.04)]);
        assert_eq!((nothing.winner, nothing.nearest), (None, Some(3)));
        assert_eq!(nothing.reason, Reason::NothingKeepsTheLimits);
    }

    /// (score, size): the front is (1, 1) (3, 2) (4, 4), its knee the middle one.
    #[test]
    fn several_objectives_are_won_by_the_knee() {
        let leaderboard = leaderboard(&[(1.0, 1.0), (3.0, 2.0), (4.0, 4.0), (2.0, 3.0)]);
        let objectives = [Objective::proxy("nsc").unwrap(), Objective::Params];
        let facts = Facts {
            objectives: &objectives,
            leaderboard: &leaderboard,
            evaluations: &[],
            measurements: &[],
            limits: &[],
            looked_up: false,
        };
        assert_eq!((facts.decide().winner, facts.decide().reason), (Some(1), Reason::Knee));
    }
}
