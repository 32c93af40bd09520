//! LPZero's evolution: one child at a time from the best few, and the worst leaves.
//!
//! ```text
//! population = random points
//! repeat: pool = best share of the population; two parents from it
//!         child = crossing of both with probability C, else the first; redrawn in part with probability M
//!         population = best p of population + child        (or: the worst leaves, then the child enters)
//! ```
//!
//! - Paper: *LPZero: Language model zero-cost proxy search from zero* (Dong et al., EMNLP 2024), and its released code.
//! - Departures from the paper: no point is scored twice. Both parents may be the same point, since each is drawn from the
//!   whole pool: of a pool of 8, one crossing in eight is a copy, which then counts only if it is redrawn in part. The
//!   paper samples "two of them" and does not say whether they differ.
use super::archive::Archive;
use super::{About, Build, Operators, SearchContext, Searcher, Told, Whole, counts, shares};
use crate::seed::Rng;
use rand::RngExt;
use rand::seq::IndexedRandom;
use serde::{Deserialize, Serialize};

/// See the [module documentation](self).
pub struct SteadyState<P> {
    options: Options,
    archive: Archive<P>,
    population: Vec<usize>,
    new: Vec<usize>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    population: usize,
    generations: usize,
    pool: f64,
    crossover: f64,
    mutation: f64,
    rate: f64,
    survivors: Survivors,
}

#[derive(Debug, Serialize, Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Survivors {
    Best,
    Newest,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            population: 80,
            generations: 1000,
            pool: 0.1,
            crossover: 0.5,
            mutation: 0.5,
            rate: 0.5,
            survivors: Survivors::Best,
        }
    }
}

pub(super) const ABOUT: &About = &About {
    name: "steady-state",
    sentence: "LPZero's evolution: one child at a time from the best few, and the worst leaves.",
    steps: "pool = best share of the population; child = crossing, then redrawn in part; the worst leaves",
    paper: "LPZero (Dong et al., 2024), paper and released code",
    several: false,
    options: &[
        ("population", "80", "random points to begin with, and how many stay"),
        ("generations", "1000", "children unless a budget is given"),
        ("pool", "0.1", "share of the population that parents come from; 0.5 in the released code"),
        ("crossover", "0.5", "probability that a child has two parents"),
        ("mutation", "0.5", "probability that it is redrawn in part"),
        ("rate", "0.5", "probability that a value of it is redrawn then"),
        (
            "survivors",
            "best",
            "best of all with the child; newest: the worst leaves first, as in the released code",
        ),
    ],
    departures: "no point is scored twice; both parents may be the same point",
};

impl<P: Clone + Send + 'static> Build<P> for SteadyState<P> {
    type Options = Options;
    fn build(options: Options) -> Result<Self, String> {
        let Options { population, generations, pool, crossover, mutation, rate, .. } = options;
        counts(&[("population", population), ("generations", generations)])?;
        shares(&[("pool", pool), ("crossover", crossover), ("mutation", mutation), ("rate", rate)])?;
        Ok(SteadyState { options, archive: Archive::default(), population: Vec::new(), new: Vec::new() })
    }
}

impl<P: Clone + Send + 'static> Searcher<P> for SteadyState<P> {
    fn ask(&mut self, context: &mut dyn SearchContext<P>, rng: &mut Rng) -> Vec<P> {
        let Options { population, pool, crossover, mutation, rate, survivors, .. } = self.options;
        if self.archive.told.is_empty() {
            let random = |_| context.propose(rng, &mut |operators, rng| operators.sample(rng));
            return (0..population).map_while(random).collect();
        }
        let room = if survivors == Survivors::Newest {
            population - self.new.len().min(population)
        } else {
            population
        };
        let mut among = std::mem::take(&mut self.population);
        if survivors == Survivors::Best || among.is_empty() {
            among.append(&mut self.new);
        }
        let stay = self.archive.best(context, among, if self.new.is_empty() { population } else { room });
        self.population = stay.into_iter().chain(self.new.drain(..)).collect();
        let pool = ((pool * self.population.len() as f64).ceil() as usize).max(2);
        let parents = self.archive.best(context, self.population.clone(), pool);
        let parents: Vec<&P> = parents.iter().map(|index| self.archive.point(*index)).collect();
        let child = |operators: &dyn Operators<P>, rng: &mut Rng| {
            let (Some(a), Some(b)) = (parents.choose(rng), parents.choose(rng)) else {
                return operators.sample(rng);
            };
            let born = if rng.random_bool(crossover) { operators.cross(a, b, rng) } else { (*a).clone() };
            match rng.random_bool(mutation) {
                true => operators.redraw(&born, Whole::Each(rate), &|_| rate, rng),
                false => born,
            }
        };
        context.propose(rng, &mut |operators, rng| child(operators, rng)).into_iter().collect()
    }
    fn tell(&mut self, generation: Vec<Told<P>>) {
        self.new = self.archive.add(generation);
    }
    fn planned(&self) -> u64 {
        (self.options.population + self.options.generations) as u64
    }
}
