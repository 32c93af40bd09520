//! ETAS: large pools of children of a few parents, of which the proxy lets only the best through.
//!
//! ```text
//! chosen = best of a pool of random points, ranked inside the pool
//! repeat: observed += chosen;  parents = best few of observed
//!         pool = mutants of parents;  chosen = best few of the pool, ranked inside it
//! until the best observed point has not changed for some steps
//! ```
//!
//! - Paper: *ETAS*, algorithm 1. GPT-2: `etas[warmup=300,rate=0.3]`.
//! - Departures from the paper: without an evaluator the chosen few are compared by the same score, ranked among all
//!   chosen ones, where the paper trains them. `age` gives real regularised evolution, which the paper names and does
//!   not use.
use super::archive::fittest;
use super::{About, Build, SearchContext, Searcher, Told, Whole, counts, shares};
use crate::seed::Rng;
use rand::seq::{IndexedRandom, SliceRandom};
use serde::{Deserialize, Serialize};

/// See the [module documentation](self).
pub struct Etas<P> {
    options: Options,
    pool: Vec<Told<P>>,
    observed: Vec<Told<P>>,
    /// How good each observed point really is, where that is asked.
    worth: Vec<Option<f64>>,
    /// The step in which each observed point was chosen.
    born: Vec<usize>,
    step: usize,
    best: Option<usize>,
    unchanged: usize,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    warmup: usize,
    parents: usize,
    pool: usize,
    chosen: usize,
    rate: f64,
    steps: usize,
    patience: usize,
    age: usize,
    ranked: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            warmup: 500,
            parents: 3,
            pool: 100,
            chosen: 3,
            rate: 0.4,
            steps: 10,
            patience: 5,
            age: 0,
            ranked: true,
        }
    }
}

pub(super) const ABOUT: &About = &About {
    name: "etas",
    sentence: "ETAS: large pools of children of a few parents, of which the proxy lets only the best through.",
    steps: "pool = mutants of parents; observed += best few of the pool; parents = best few of observed",
    paper: "ETAS, algorithm 1",
    several: false,
    options: &[
        ("warmup", "500", "random points of the first pool"),
        ("parents", "3", "the best observed, from which children come"),
        ("pool", "100", "children of a step"),
        ("chosen", "3", "children of a step that are let through"),
        ("rate", "0.4", "probability that a value is redrawn"),
        ("steps", "10", "steps unless a budget is given"),
        ("patience", "5", "stops when the best has not changed for so many steps; 0: never"),
        ("age", "0", "only points chosen in so many last steps are parents; 0: all"),
        ("ranked", "true", "false: children are let through at random, the paper's ablation"),
    ],
    departures: "without an evaluator the chosen few are compared by the same score instead of by training",
};

impl<P: Clone + Send + 'static> Build<P> for Etas<P> {
    type Options = Options;
    fn build(options: Options) -> Result<Self, String> {
        let Options { warmup, parents, pool, chosen, rate, steps, .. } = options;
        let asked =
            [("warmup", warmup), ("parents", parents), ("pool", pool), ("chosen", chosen), ("steps", steps)];
        counts(&asked)?;
        shares(&[("rate", rate)])?;
        let (pool, observed, worth, born) = Default::default();
        Ok(Etas { options, pool, observed, worth, born, step: 0, best: None, unchanged: 0 })
    }
}

impl<P: Clone + Send + 'static> Etas<P> {
    /// Lets the best of the last pool through.
    fn choose(&mut self, context: &mut dyn SearchContext<P>, rng: &mut Rng) {
        let wanted = if self.step == 1 { self.options.parents } else { self.options.chosen };
        let mut sound: Vec<usize> =
            (0..self.pool.len()).filter(|index| self.pool[*index].outcome.is_some()).collect();
        let chosen = if self.options.ranked {
            fittest(context, &self.pool, &sound, wanted)
        } else {
            sound.partial_shuffle(rng, wanted).0.to_vec()
        };
        for index in chosen {
            self.worth.push(context.evaluate(&self.pool[index].point));
            self.observed.push(self.pool[index].clone());
        }
        self.born.resize(self.observed.len(), self.step);
        let all: Vec<usize> = (0..self.observed.len()).collect();
        let best = self.best_of(context, &all, 1).first().copied();
        self.unchanged = if best == self.best { self.unchanged + 1 } else { 0 };
        self.best = best;
    }

    /// The best of some observed points: by what they are really worth, else by their score.
    fn best_of(&self, context: &dyn SearchContext<P>, among: &[usize], k: usize) -> Vec<usize> {
        if self.worth.iter().all(Option::is_none) {
            return fittest(context, &self.observed, among, k);
        }
        let mut among = among.to_vec();
        let worth = |index: &usize| self.worth[*index].unwrap_or(f64::NEG_INFINITY);
        among.sort_by(|a, b| worth(b).total_cmp(&worth(a)));
        among.truncate(k);
        among
    }

    fn parents(&self, context: &dyn SearchContext<P>) -> Vec<&P> {
        let oldest = if self.options.age == 0 { 0 } else { (self.step + 1).saturating_sub(self.options.age) };
        let young: Vec<usize> =
            (0..self.observed.len()).filter(|index| self.born[*index] >= oldest).collect();
        let best = self.best_of(context, &young, self.options.parents);
        best.into_iter().map(|index| &self.observed[index].point).collect()
    }
}

impl<P: Clone + Send + 'static> Searcher<P> for Etas<P> {
    fn ask(&mut self, context: &mut dyn SearchContext<P>, rng: &mut Rng) -> Vec<P> {
        if self.step > 0 {
            self.choose(context, rng);
        }
        let Options { warmup, pool, rate, patience, .. } = self.options;
        if patience > 0 && self.unchanged >= patience {
            return Vec::new();
        }
        let parents = self.parents(context);
        let size = if parents.is_empty() { warmup } else { pool };
        let children = (0..size).map_while(|_| {
            context.propose(rng, &mut |operators, rng| match parents.choose(rng) {
                Some(parent) => operators.redraw(parent, Whole::Each(rate), &|_| rate, rng),
                None => operators.sample(rng),
            })
        });
        children.collect()
    }
    fn tell(&mut self, generation: Vec<Told<P>>) {
        self.pool = generation;
        self.step += 1;
    }
    fn planned(&self) -> u64 {
        (self.options.warmup + self.options.steps * self.options.pool) as u64
    }
    fn evaluates(&self) -> bool {
        true
    }
    fn end(&mut self, context: &mut dyn SearchContext<P>, rng: &mut Rng) {
        if self.step > 0 {
            self.choose(context, rng);
        }
    }
}
