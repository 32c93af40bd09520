//! What a timed search does next, as a function of the runs that are finished.

use super::log::Log;
use super::proposals::first_uniform;
use super::runs::{Runs, TimedRun};
use super::{RUNGS, RUNS, SHARES, Work};
use crate::architecture::Architecture;
use crate::error::{Error, Result};
use crate::predict::{Predictor, design};
use crate::search::SearchContext;
use crate::store::Trial;
use crate::study::context::StudyContext;
use crate::study::scoring::Scoring;
use crate::study::{Settings, Watch};
use std::cell::RefCell;
use std::rc::Rc;
use std::vec::IntoIter;

/// The best networks by the prior score that a search begins with.
const OPTIMA: usize = 3;
/// One in so many short runs is one of a uniform network.
const UNIFORM: usize = 3;
/// Networks that go on to middle and full runs since they are the best, and since they differ most from each other.
const BEST: [usize; 2] = [4, 2];
const UNLIKE: usize = 2;
/// Networks that are proposed at once: of short, middle and full runs.
const AT_ONCE: [usize; 3] = [6, 3, 2];
/// Draws with which the winner and the best uniform network are trained.
const DRAWS: u64 = 3;

/// A timed search on its way.
pub(super) struct Search<'r, 'c, 's, 'e> {
    pub(super) settings: &'r Settings,
    pub(super) context: &'c mut StudyContext<'s, 'e>,
    pub(super) work: Work,
    pub(super) rungs: [u64; 3],
    scoring: Scoring<'r>,
    known: IntoIter<Trial>,
    pub(super) runs: Runs<'r>,
    /// The networks, by trial.
    pub(super) networks: Vec<Architecture>,
    failed: u64,
    /// Uniform networks that the search began with, about as large as limits allow and of all depths.
    starts: Vec<usize>,
    pub(super) log: Log<'r>,
    /// The predictor that was fitted to so many runs.
    pub(super) fitted: RefCell<(usize, Option<Rc<Predictor>>)>,
    /// Proposals so far, each with a generator of its own.
    pub(super) round: u64,
}

impl<'r, 'c, 's, 'e> Search<'r, 'c, 's, 'e> {
    pub(super) fn new(
        settings: &'r Settings,
        context: &'c mut StudyContext<'s, 'e>,
        scoring: Scoring<'r>,
        known: Vec<Trial>,
        runs: Runs<'r>,
        watch: &'r dyn Watch,
    ) -> Self {
        let work = settings.work.expect("it was measured");
        Search {
            settings,
            context,
            work,
            rungs: work.rungs(),
            scoring,
            known: known.into_iter(),
            runs,
            networks: Vec::new(),
            failed: 0,
            starts: Vec::new(),
            log: Log::new(watch, work.budget),
            fitted: RefCell::default(),
            round: 0,
        }
    }

    /// Trials, and how many of them could not be scored.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.networks.len() as u64, self.failed)
    }

    pub(super) fn run(&mut self) -> Result<()> {
        self.cover()?;
        self.lengthen(1)?;
        self.lengthen(2)?;
        self.finish()
    }

    /// Short runs: what is good by a prior score, uniform networks, and networks that cover the space.
    fn cover(&mut self) -> Result<()> {
        let (steps, limit) = (self.rungs[0], self.work.budget * SHARES[0]);
        let all = (RUNS * SHARES[0] * RUNGS[0] as f64) as usize;
        let optima = self.context.optimum(OPTIMA);
        // A score that takes passes has no exact optimum, which is no reason to stop.
        self.context.refusal = None;
        let uniform = self.some_uniform(all / UNIFORM);
        let uniform = self.accepted(uniform, steps, limit);
        self.log.begin("short runs of the best by the prior score and of uniform networks");
        self.train_new([optima, uniform].concat(), steps, limit)?;
        self.starts = (0..self.networks.len()).filter(|trial| is_uniform(&self.networks[*trial])).collect();
        let pool = self.pool(false);
        let places = design(&pool, all.saturating_sub(self.networks.len()));
        let cover = places.into_iter().map(|place| pool[place].clone()).collect();
        let cover = self.accepted(cover, steps, limit);
        self.log.begin("short runs of networks that cover the space");
        self.train_new(cover, steps, limit)?;
        self.log.begin("short runs of networks with the largest expected improvement");
        self.improve(0, limit)
    }

    /// Longer runs: the best so far and some that differ most, then what promises most after full ones. Full runs begin with
    /// uniform networks of all depths, whatever shorter ones say: only they show whether curves cross.
    fn lengthen(&mut self, rung: usize) -> Result<()> {
        let (steps, limit) = (self.rungs[rung], self.work.budget * SHARES[rung]);
        let ranked = self.ranked(self.rungs[rung - 1]);
        let good: Vec<usize> = ranked[..ranked.len().div_ceil(2)].to_vec();
        let networks: Vec<Architecture> = good.iter().map(|trial| self.networks[*trial].clone()).collect();
        let unlike = design(&networks, UNLIKE).into_iter().map(|place| good[place]);
        let first = if rung == 2 { self.starts.clone() } else { Vec::new() };
        let best = ranked.iter().copied().take(BEST[rung - 1]);
        let all = first.into_iter().chain(best).chain(first_uniform(&self.networks, &ranked)).chain(unlike);
        let mut chosen: Vec<usize> = Vec::new();
        all.for_each(|trial| {
            if !chosen.contains(&trial) {
                chosen.push(trial);
            }
        });
        self.log.begin(match rung {
            1 => "middle runs of the best so far and of some that differ most",
            _ => "full runs of uniform networks of all depths and of the best so far",
        });
        self.train(&chosen, steps, 0, limit)?;
        self.log.begin(match rung {
            1 => "middle runs of networks with the largest expected improvement",
            _ => "full runs of networks with the largest expected improvement",
        });
        self.improve(rung, limit)
    }

    /// Runs of what promises most, new networks and trials that were not trained so long, until the limit.
    fn improve(&mut self, rung: usize, limit: f64) -> Result<()> {
        let n = AT_ONCE[rung];
        while self.train_mixed(rung, n, n.div_ceil(3), limit)? == n {}
        Ok(())
    }

    /// Trains `n` networks that promise most, `sure` of them by what is expected alone; how many the limit allowed.
    fn train_mixed(&mut self, rung: usize, n: usize, sure: usize, limit: f64) -> Result<usize> {
        let steps = self.rungs[rung];
        let known = self.open(steps);
        let next = self.mixed(&known, n, sure);
        let (old, new): (Vec<_>, Vec<_>) = next.into_iter().partition(|point| self.trial_of(point).is_some());
        let old: Vec<usize> = old.iter().filter_map(|point| self.trial_of(point)).collect();
        let trained = self.train(&old, steps, 0, limit)?;
        let new = self.accepted(new, steps, limit);
        Ok(trained + self.train_new(new, steps, limit)?)
    }

    /// Full runs of what is expected to be the best; then the winner and the best uniform network with further draws.
    fn finish(&mut self) -> Result<()> {
        let (steps, limit) = (self.rungs[2], self.work.budget);
        let full = || self.log.done.iter().filter(|run| run.steps == steps);
        let dearest = full().map(|run| self.work.cost(&self.networks[run.trial], steps)).fold(0.0, f64::max);
        let reserve = 2.0 * (DRAWS - 1) as f64 * dearest;
        self.log.begin("full runs of the finalists");
        while self.train_mixed(2, 1, 1, limit - reserve)? == 1 {}
        self.log.begin("full runs of the winner and the best uniform network with other draws");
        let pair = self.pair(steps);
        for draw in 1..DRAWS {
            self.train(&pair, steps, draw, f64::INFINITY)?;
        }
        Ok(())
    }

    /// The best after full runs, and the best uniform network beside it; the next best where there is none.
    fn pair(&self, steps: u64) -> Vec<usize> {
        let mut full: Vec<&TimedRun> =
            self.log.done.iter().filter(|run| run.steps == steps && run.value.is_some()).collect();
        full.sort_by(|a, b| b.value.unwrap_or_default().total_cmp(&a.value.unwrap_or_default()));
        let trials: Vec<usize> = full.into_iter().map(|run| run.trial).collect();
        let Some(winner) = trials.first().copied() else { return Vec::new() };
        let mut others = trials.iter().copied().skip(1);
        let uniform = others.clone().find(|trial| is_uniform(&self.networks[*trial]));
        std::iter::once(winner).chain(uniform.or(others.next())).collect()
    }

    /// How many of some networks, from the first on, can be trained inside a limit.
    pub(super) fn affordable<'n>(
        &self,
        networks: impl Iterator<Item = &'n Architecture>,
        steps: u64,
        limit: f64,
    ) -> usize {
        let mut spent = self.log.spent;
        networks
            .take_while(|network| {
                spent += self.work.cost(network, steps);
                spent <= limit * (1.0 + 1e-9)
            })
            .count()
    }

    /// Makes new networks trials and trains them as far as the limit allows; how many were.
    fn train_new(&mut self, mut points: Vec<Architecture>, steps: u64, limit: f64) -> Result<usize> {
        points.truncate(self.affordable(points.iter(), steps, limit));
        let from = self.networks.len();
        let mut trials: Vec<Trial> = self.known.by_ref().take(points.len()).collect();
        if trials.iter().zip(&points).any(|(trial, point)| trial.id != point.id()) {
            let reason = "was begun by a release that searches differently: use another name";
            return Err(Error::option(format!("study '{}'", self.scoring.study.name), reason));
        }
        let open = &points[trials.len()..];
        trials.extend(self.scoring.run(open, (from + trials.len()) as u64, self.context.rejected)?);
        self.failed += trials.iter().filter(|trial| !trial.ok()).count() as u64;
        self.networks.extend(points);
        let new: Vec<usize> = (from..self.networks.len()).collect();
        self.train(&new, steps, 0, limit)
    }

    /// Trains trials as far as the limit allows; how many were.
    fn train(&mut self, trials: &[usize], steps: u64, draw: u64, limit: f64) -> Result<usize> {
        let count = self.affordable(trials.iter().map(|trial| &self.networks[*trial]), steps, limit);
        let asked: Vec<(usize, &Architecture, u64)> =
            trials[..count].iter().map(|trial| (*trial, &self.networks[*trial], draw)).collect();
        self.runs.train(&asked, steps, &mut |run, new| {
            let cost = self.work.cost(&self.networks[run.trial], steps);
            self.log.add(run, cost, new);
        })?;
        Ok(count)
    }
}

/// Whether every layer has the same choices.
pub(super) fn is_uniform(architecture: &Architecture) -> bool {
    (1..architecture.positions()).all(|position| architecture.row(position) == architecture.row(0))
}
