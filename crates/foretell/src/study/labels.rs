//! What evaluated values a search had seen after each number of evaluations.

use super::evaluate::{LEAST, as_given};
use super::{Leaderboard, View};
use crate::error::Result;

/// Curves of evaluated values, as the evaluator gave them, from left to right; a value holds until the next one.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Labels {
    /// Who evaluated, and what.
    pub evaluator: String,
    /// Whether small values are good.
    pub lower: bool,
    /// How many evaluations there are.
    pub count: usize,
    /// The best value after so many evaluations.
    pub best: Vec<(f64, f64)>,
    /// The value of the best by score after so many candidates, where all candidates have one.
    pub leader: Vec<(f64, f64)>,
}

/// Sizes of the set at which a score within a set is ranked again.
const STOPS: usize = 80;

impl Labels {
    /// A curve with its last value repeated after all evaluations, so that it is drawn to its end.
    pub fn to_end(&self, curve: &[(f64, f64)]) -> Vec<(f64, f64)> {
        let end =
            curve.last().map(|last| (self.count as f64, last.1)).filter(|end| curve.last() != Some(end));
        curve.iter().copied().chain(end).collect()
    }
}

impl View<'_> {
    /// The curves of evaluated values; none where nothing was evaluated.
    pub fn labels(&self) -> Result<Option<Labels>> {
        let rows = self.all_evaluations()?;
        let Some(first) = rows.first() else { return Ok(None) };
        let lower = first.evaluator.ends_with(LEAST);
        let given = |value: f64| as_given(&first.evaluator, value);
        let (mut best, mut most): (Vec<(f64, f64)>, Option<f64>) = (Vec::new(), None);
        for (place, value) in rows.iter().enumerate().filter_map(|(place, row)| Some((place, row.value()?))) {
            if most.is_none_or(|most| value > most) {
                most = Some(value);
                best.push(((place + 1) as f64, given(value)));
            }
        }
        let evaluator = first.evaluator.trim_end_matches(LEAST).to_owned();
        let leader = if self.looked_up { self.leaders()? } else { Vec::new() };
        Ok(Some(Labels { evaluator, lower, count: rows.len(), best, leader }))
    }

    /// Wherever the best by score changes, its value.
    fn leaders(&self) -> Result<Vec<(f64, f64)>> {
        let mut stops: Vec<(f64, f64)> = Vec::new();
        let mut last = None;
        let mut add = |count: usize, trial: Option<usize>| {
            let value = trial.and_then(|trial| super::given_value(self.evaluation(trial)?));
            if trial != last && value.is_some() {
                last = trial;
                stops.extend(value.map(|value| (count as f64, value)));
            }
        };
        let within = self.objectives()[0].request().is_some_and(|request| request.is_set_score());
        if !within {
            let mut leader: Option<usize> = None;
            for trial in 0..self.trials {
                let first = |trial: usize| self.leaderboard.first(trial);
                let scored = self.leaderboard.values(trial).is_some();
                if scored && leader.is_none_or(|leader| first(trial) > first(leader)) {
                    leader = Some(trial);
                }
                add(trial + 1, leader);
            }
            return Ok(stops);
        }
        let all = self.ranks()?;
        for stop in 1..=STOPS.min(self.trials) {
            let count = stop * self.trials / STOPS.min(self.trials);
            let mut ranks = all.clone();
            ranks.truncate(count);
            add(count, Leaderboard::new(self.objectives(), &ranks)?.best(1).first().copied());
        }
        Ok(stops)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Settings, StudyBuilder, Table, View};
    use crate::benchmark::Benchmark;
    use crate::store::Store;
    use std::path::Path;

    /// The best label only falls where small is good; the last leader is the winner; with every network looked at the best
    /// is that of the table.
    #[test]
    fn curves_end_at_the_winner_and_at_the_best() {
        let benchmark = Benchmark::load(Path::new(""), "gpt2-pentateuch").unwrap().limit(12);
        let column = benchmark.default_target().unwrap();
        let least = column.values.iter().flatten().copied().fold(f64::INFINITY, f64::min);
        for proxy in ["nsc", "dss++[batch=1,tokens=4]"] {
            let table = Table::of(&benchmark, column, false);
            let settings = Settings::inside(table).unwrap().search("random", proxy).unwrap();
            let settings = Settings { budget: Some(12), seeds: 1, ..settings };
            let mut store = Store::memory().unwrap();
            StudyBuilder::from(settings).in_store(&mut store).name("s").run().unwrap();
            let view = View::load(&store, "s").unwrap();
            let labels = view.labels().unwrap().unwrap();
            assert!(labels.lower && labels.evaluator == "table gpt2-pentateuch:valid_ppl", "{labels:?}");
            assert!(labels.best.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 > pair[1].1));
            assert_eq!(labels.best.last().unwrap().1, least);
            let winner = super::super::given_value(view.evaluation(view.winner().unwrap()).unwrap());
            assert_eq!(labels.leader.last().map(|stop| stop.1), winner, "{proxy}");
        }
    }
}
