//! Which networks are worth a run.

use super::Work;
use super::runs::TimedRun;
use super::stages::{Search, is_uniform};
use crate::architecture::Architecture;
use crate::predict::{Labels, Predictor, design, improvements, propose};
use crate::search::{SearchContext, Step};
use crate::seed::{Rng, Seed};
use crate::space::{Bound, Limits};
use rand::RngExt;
use std::collections::HashSet;
use std::rc::Rc;

/// Random networks that proposals begin with, and uniform ones.
const POOL: usize = 600;
const UNIFORM: usize = 200;
/// How often the most promising networks are varied, how many of them, and how often each.
const GENERATIONS: usize = 4;
const PARENTS: usize = 40;
const CHILDREN: usize = 8;
/// Networks of which the proposals are chosen, so that they differ.
const CHOSEN_FROM: usize = 60;
/// The least part of a limit on parameters that random networks use: what is good is seldom small.
const LEAST_SIZE: f64 = 0.6;
/// How a network is varied.
const STEPS: [Step; 5] = [Step::Value, Step::Exchange, Step::Together, Step::Swap, Step::Whole];

impl Search<'_, '_, '_, '_> {
    /// Uniform networks, at most so many: the best by the prior score, and of the others those that differ most.
    pub(super) fn some_uniform(&self, most: usize) -> Vec<Architecture> {
        let all = self.context.uniform();
        match all.len() > most {
            true => {
                let places = design(&all[1..], most.saturating_sub(1));
                std::iter::once(0)
                    .chain(places.into_iter().map(|place| place + 1))
                    .map(|at| all[at].clone())
                    .collect()
            }
            false => all,
        }
    }

    /// Those of some networks, from the first on, that can be trained inside a limit, are inside all others and new; they are
    /// not new again. What cannot be trained now may be proposed later.
    pub(super) fn accepted(
        &mut self,
        networks: Vec<Architecture>,
        steps: u64,
        limit: f64,
    ) -> Vec<Architecture> {
        let count = self.affordable(networks.iter(), steps, limit);
        networks.into_iter().take(count).filter(|network| self.context.accept(network)).collect()
    }

    /// A generator for the next proposals.
    fn rng(&mut self) -> Rng {
        self.round += 1;
        Seed(self.settings.seed).stream("timed", self.round)
    }

    /// Random networks inside all limits, most of the size that is allowed, without those that are trials; uniform ones or any.
    pub(super) fn pool(&mut self, uniform: bool) -> Vec<Architecture> {
        let mut rng = self.rng();
        let Limits { params: Bound { min, max }, .. } = self.settings.limits;
        let least = if max < u64::MAX { (max as f64 * LEAST_SIZE) as u64 } else { 0 };
        let params = Bound { min: min.max(least), max };
        let limits = Limits { params, ..self.settings.limits };
        let inside = self
            .settings
            .space
            .within(&limits)
            .or_else(|_| self.settings.space.within(&self.settings.limits));
        let count = if uniform { UNIFORM } else { POOL };
        let draw = |rng: &mut Rng| match &inside {
            Ok(inside) => inside.sample(uniform, rng).ok(),
            Err(_) => None,
        };
        let drawn: Vec<Architecture> = (0..count)
            .map(|_| draw(&mut rng).unwrap_or_else(|| self.context.operators().sample(&mut rng)))
            .collect();
        let mut seen = self.ids();
        drawn.into_iter().filter(|network| self.context.keeps(network) && seen.insert(network.id())).collect()
    }

    fn ids(&self) -> HashSet<String> {
        self.networks.iter().map(Architecture::id).collect()
    }

    /// The trial of a network.
    pub(super) fn trial_of(&self, network: &Architecture) -> Option<usize> {
        self.networks.iter().position(|other| other == network)
    }

    /// The predictor of all runs so far, fitted once.
    fn predictor(&self) -> Option<Rc<Predictor>> {
        let mut fitted = self.fitted.borrow_mut();
        if fitted.0 != self.log.done.len() {
            let found = predictor(&self.log.done, &self.networks, &self.work);
            *fitted = (self.log.done.len(), found.map(Rc::new));
        }
        fitted.1.clone()
    }

    /// Trials that were trained for so many steps or more, the best first: as the predictor expects them after full training.
    pub(super) fn ranked(&self, steps: u64) -> Vec<usize> {
        let predictor = self.predictor();
        let mut seen = HashSet::new();
        let sound = self.log.done.iter().filter(|run| run.value.is_some() && run.steps >= steps);
        let trials: Vec<usize> = sound.map(|run| run.trial).filter(|trial| seen.insert(*trial)).collect();
        let worth = |trial: usize| match &predictor {
            Some(predictor) => (0, predictor.expect(&self.networks[trial], &[])),
            None => {
                let longest = self.log.done.iter().filter(|run| run.trial == trial && run.value.is_some());
                let longest = longest.max_by_key(|run| run.steps);
                longest
                    .map_or((0, f64::NEG_INFINITY), |run| (run.steps, run.value.unwrap_or(f64::NEG_INFINITY)))
            }
        };
        let mut ranked: Vec<((u64, f64), usize)> =
            trials.into_iter().map(|trial| (worth(trial), trial)).collect();
        ranked.sort_by(|(a, _), (b, _)| b.0.cmp(&a.0).then(b.1.total_cmp(&a.1)));
        ranked.into_iter().map(|(_, trial)| trial).collect()
    }

    /// Trials that were trained, but not for so many steps, the best first.
    pub(super) fn open(&self, steps: u64) -> Vec<usize> {
        let long: HashSet<usize> =
            self.log.done.iter().filter(|run| run.steps >= steps).map(|run| run.trial).collect();
        self.ranked(0).into_iter().filter(|trial| !long.contains(trial)).collect()
    }

    /// Of new networks and some trials those with the largest expected improvement, the first `sure` by what is expected
    /// alone: improvement also looks for what is merely uncertain. The first that come where nothing can be expected.
    pub(super) fn mixed(&mut self, trials: &[usize], n: usize, sure: usize) -> Vec<Architecture> {
        let predictor = self.predictor();
        let pool = self.pool(false);
        let Some(predictor) = predictor else {
            let known = trials.iter().map(|trial| self.networks[*trial].clone());
            return known.chain(pool).take(n).collect();
        };
        let mut all = self.promising(&predictor, pool);
        all.extend(trials.iter().take(CHOSEN_FROM).map(|trial| self.networks[*trial].clone()));
        let expected: Vec<f64> = all.iter().map(|network| predictor.expect(network, &[])).collect();
        let mut best: Vec<usize> = (0..all.len()).collect();
        best.sort_by(|a, b| expected[*b].total_cmp(&expected[*a]));
        best.truncate(sure);
        let others = propose(&predictor, &all, n).unwrap_or_default();
        let others = others.into_iter().filter(|place| !best.contains(place));
        let places: Vec<usize> = best.iter().copied().chain(others).take(n).collect();
        places.into_iter().map(|place| all[place].clone()).collect()
    }

    /// The most promising networks of a pool, of uniform ones and of what comes from them by small changes, none of them a
    /// trial.
    fn promising(&mut self, predictor: &Predictor, pool: Vec<Architecture>) -> Vec<Architecture> {
        let mut seen = self.ids();
        let start: Vec<Architecture> = [pool, self.pool(true)].concat();
        let best: Vec<Architecture> =
            self.ranked(0).into_iter().take(PARENTS).map(|trial| self.networks[trial].clone()).collect();
        let mut rng = self.rng();
        let mut fresh: Vec<Architecture> =
            start.into_iter().filter(|network| seen.insert(network.id())).collect();
        fresh.extend(self.varied(&best, &mut seen, &mut rng));
        let mut all: Vec<(f64, Architecture)> = Vec::new();
        for _ in 0..GENERATIONS {
            let gains = improvements(predictor, &fresh).unwrap_or_default();
            all.extend(gains.into_iter().zip(fresh));
            all.sort_by(|a, b| b.0.total_cmp(&a.0));
            let parents: Vec<Architecture> =
                all.iter().take(PARENTS).map(|(_, network)| network.clone()).collect();
            fresh = self.varied(&parents, &mut seen, &mut rng);
        }
        all.truncate(CHOSEN_FROM);
        all.into_iter().map(|(_, network)| network).collect()
    }

    /// Small changes of networks, inside all limits and not seen before.
    fn varied(
        &self,
        parents: &[Architecture],
        seen: &mut HashSet<String>,
        rng: &mut Rng,
    ) -> Vec<Architecture> {
        let operators = self.context.operators();
        let mut children = Vec::new();
        for parent in parents {
            for _ in 0..CHILDREN {
                let mut child = parent.clone();
                for _ in 0..rng.random_range(1..=2) {
                    child = operators.step(&child, STEPS[rng.random_range(0..STEPS.len())], rng);
                }
                if self.context.keeps(&child) && seen.insert(child.id()) {
                    children.push(child);
                }
            }
        }
        children
    }
}

/// The best uniform trial of a list in order.
pub(super) fn first_uniform(networks: &[Architecture], ranked: &[usize]) -> Option<usize> {
    ranked.iter().copied().find(|trial| is_uniform(&networks[*trial]))
}

/// What runs of networks, by trial, tell of full training; nothing where they are too few or all alike.
pub(super) fn predictor(runs: &[TimedRun], networks: &[Architecture], work: &Work) -> Option<Predictor> {
    let sound: Vec<(&TimedRun, f64)> = runs.iter().filter_map(|run| Some((run, run.value?))).collect();
    let networks: Vec<Architecture> = sound.iter().map(|(run, _)| networks[run.trial].clone()).collect();
    let values: Vec<f64> = sound.iter().map(|(_, value)| *value).collect();
    let tokens: Vec<f64> = sound.iter().map(|(run, _)| work.tokens(run.steps)).collect();
    let labels = Labels::at_budgets(&networks, &values, &tokens).ok()?;
    Predictor::fit(&labels).ok()?.at(work.tokens(work.rungs()[2])).ok()
}
