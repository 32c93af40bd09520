//! Evolution with local search: small steps from the best points, budget exchanged between blocks, restarts when stuck.
//!
//! ```text
//! first generation = points whose blocks are all alike + random points scaled to the limits
//! repeat: population = best so far, few of the same depth and width, no two of equal fitness
//!         child = step from a member: one value, an exchange between blocks, several blocks alike, two blocks swapped, a
//!                 value of the whole with all blocks scaled to the limits; or a crossing of two members
//!         a step is drawn by how often it led to a better point; more steps at once while nothing improves
//!         after `patience` generations without a better point: a new population from random points; the next time,
//!         back to the best of all
//! ```
//!
//! - Paper: none of its own. Memetic algorithms (Moscato, 1989), adaptive choice of operators (Davis, 1989) and variable
//!   neighbourhoods (Mladenović & Hansen, 1997), put together for networks under hard limits.
//! - Departures from the paper: none, since there is none.
use super::archive::Archive;
use super::{About, Build, Operators, SearchContext, Searcher, Step, Told, counts, shares};
use crate::seed::Rng;
use rand::RngExt;
use serde::{Deserialize, Serialize};

/// How children are made: the steps, and crossing last.
const STEPS: [Step; 5] = [Step::Value, Step::Exchange, Step::Together, Step::Swap, Step::Whole];
const WAYS: usize = STEPS.len() + 1;
/// What each way is given before anything is known, as children and as better ones among them.
const PRIOR: [f64; 2] = [10.0, 3.0];
/// The least chance of a way relative to one whose children are always better.
const LEAST: f64 = 0.03;
/// What is kept of the counts of better children from one generation to the next.
const MEMORY: f64 = 0.9;
/// Attempts at a new child before it is a random point scaled to the limits.
const ATTEMPTS: usize = 60;
/// The most steps at once.
const MOST_STEPS: usize = 8;

/// See the [module documentation](self).
pub struct Memetic<P> {
    options: Options,
    archive: Archive<P>,
    /// Members that children come from, fittest first.
    population: Vec<usize>,
    /// Indices told last that did not fail.
    new: Vec<usize>,
    /// How each point asked for last was made and from which one.
    asked: Vec<Option<Origin>>,
    /// For each way, children and better ones among them.
    credit: [[f64; 2]; WAYS],
    /// Generations since the population was led by another point.
    stuck: usize,
    restarts: usize,
}

#[derive(Debug, Clone, Copy)]
struct Origin {
    way: usize,
    parent: usize,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    generation: usize,
    generations: usize,
    population: usize,
    crowd: usize,
    random: f64,
    patience: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options { generation: 50, generations: 164, population: 24, crowd: 6, random: 0.05, patience: 12 }
    }
}

pub(super) const ABOUT: &About = &About {
    name: "memetic",
    sentence: "Evolution with local search: small steps from the best points, restarts when stuck.",
    steps: "start from uniform and random points; step along one value, exchange between blocks, scale all blocks after a \
            change of depth or width, cross; prefer steps that led to better points; restart when nothing improves",
    paper: "none of its own: memetic algorithms (Moscato, 1989) with adaptive operators and variable neighbourhoods",
    several: false,
    options: &[
        ("generation", "50", "points asked for at a time"),
        ("generations", "164", "generations unless a budget is given"),
        ("population", "24", "members that children come from"),
        ("crowd", "6", "members of the same depth and width at most"),
        ("random", "0.05", "share of a generation that is drawn at random"),
        ("patience", "12", "generations without a better point before a restart"),
    ],
    departures: "none",
};

impl<P: Clone + Send + 'static> Build<P> for Memetic<P> {
    type Options = Options;
    fn build(options: Options) -> Result<Self, String> {
        let Options { generation, generations, population, crowd, random, patience } = options;
        counts(&[
            ("generation", generation),
            ("generations", generations),
            ("population", population),
            ("crowd", crowd),
            ("patience", patience),
        ])?;
        shares(&[("random", random)])?;
        let (population, new, asked) = Default::default();
        let (archive, credit) = (Archive::default(), [PRIOR; WAYS]);
        Ok(Memetic { options, archive, population, new, asked, credit, stuck: 0, restarts: 0 })
    }
}

impl<P: Clone + Send + 'static> Memetic<P> {
    /// Counts which ways led from a point to a better one.
    fn learn(&mut self, context: &dyn SearchContext<P>) {
        let from = self.archive.told.len() - self.asked.len();
        let made = self.asked.iter().enumerate().filter_map(|(at, origin)| Some((from + at, (*origin)?)));
        let pairs: Vec<(usize, Origin)> = made.collect();
        let both: Vec<usize> = pairs.iter().flat_map(|(child, origin)| [*child, origin.parent]).collect();
        let fitness = context.fitness(0, &self.archive.told, &both);
        for (way, credit) in self.credit.iter_mut().enumerate() {
            for (known, prior) in credit.iter_mut().zip(PRIOR) {
                *known = prior + MEMORY * (*known - prior);
            }
            for ((_, origin), values) in pairs.iter().zip(fitness.chunks_exact(2)) {
                if origin.way == way {
                    credit[0] += 1.0;
                    credit[1] += f64::from(values[0] > values[1]);
                }
            }
        }
    }

    /// The fittest of some members: no two equally fit, few of the same depth and width.
    fn select(&self, context: &dyn SearchContext<P>, mut among: Vec<usize>) -> Vec<usize> {
        among.sort_unstable();
        let fitness = context.fitness(0, &self.archive.told, &among);
        let mut order: Vec<usize> = (0..among.len()).filter(|at| fitness[*at] > f64::NEG_INFINITY).collect();
        order.sort_by(|a, b| fitness[*b].total_cmp(&fitness[*a]));
        order.dedup_by(|a, b| fitness[*a] == fitness[*b]);
        let operators = context.operators();
        let mut chosen: Vec<usize> = Vec::new();
        for index in order.into_iter().map(|at| among[at]) {
            let point = self.archive.point(index);
            let same = |other: &&usize| {
                let other = self.archive.point(**other);
                operators.blocks(point) == operators.blocks(other) && operators.alike(point, other)
            };
            if chosen.iter().filter(same).count() < self.options.crowd {
                chosen.push(index);
            }
            if chosen.len() == self.options.population {
                break;
            }
        }
        chosen
    }

    /// The next population, or none where the search is to restart.
    fn settle(&mut self, context: &dyn SearchContext<P>) {
        let leader = self.population.first().copied();
        let among = self.population.drain(..).chain(self.new.drain(..)).collect();
        self.population = self.select(context, among);
        self.stuck = if self.population.first().copied() == leader { self.stuck + 1 } else { 0 };
        if self.stuck > self.options.patience {
            self.stuck = 0;
            self.restarts += 1;
            self.population.clear();
            if self.restarts.is_multiple_of(2) {
                self.population = self.select(context, (0..self.archive.told.len()).collect());
            }
        }
    }

    /// A way, by how often it led to a better point.
    fn way(&self, rng: &mut Rng) -> usize {
        let weight = |[children, better]: [f64; 2]| LEAST + better / children;
        let mut left = rng.random::<f64>() * self.credit.iter().copied().map(weight).sum::<f64>();
        let chosen = self.credit.iter().position(|credit| {
            left -= weight(*credit);
            left < 0.0
        });
        chosen.unwrap_or(0)
    }

    /// A child of the population, and how it was made.
    fn child(&self, operators: &dyn Operators<P>, rng: &mut Rng) -> (P, Origin) {
        let members = self.population.len();
        // The fitter half has seven tenths of the children.
        let parent = self.population[(rng.random::<f64>().powi(2) * members as f64) as usize];
        let origin = Origin { way: self.way(rng), parent };
        let from = self.archive.point(parent);
        let mut point = match STEPS.get(origin.way) {
            Some(step) => operators.step(from, *step, rng),
            None => {
                let other = self.archive.point(self.population[rng.random_range(0..members)]);
                let fill = rng.random_bool(0.5);
                operators.fit(operators.cross(from, other, rng), fill, rng)
            }
        };
        let more = 0.15 + 0.6 * self.stuck as f64 / self.options.patience as f64;
        for _ in 1..MOST_STEPS {
            if !rng.random_bool(more.min(0.75)) {
                break;
            }
            let step = STEPS.get(self.way(rng)).copied().unwrap_or(Step::Exchange);
            point = operators.step(&point, step, rng);
        }
        (point, origin)
    }

    /// A random point, every second time scaled so that it uses what the limits allow.
    fn restarted(operators: &dyn Operators<P>, rng: &mut Rng) -> P {
        let point = operators.sample(rng);
        if rng.random_bool(0.5) { operators.fit(point, true, rng) } else { point }
    }
}

impl<P: Clone + Send + 'static> Searcher<P> for Memetic<P> {
    fn ask(&mut self, context: &mut dyn SearchContext<P>, rng: &mut Rng) -> Vec<P> {
        let Options { generation, random, .. } = self.options;
        let mut points = Vec::new();
        if self.archive.told.is_empty() {
            points = context.starts();
            points.truncate(generation);
        } else {
            self.learn(context);
            self.settle(context);
        }
        self.asked = vec![None; points.len()];
        let drawn = (random * generation as f64).ceil() as usize;
        while points.len() < generation {
            let children = !self.population.is_empty() && points.len() + drawn < generation;
            let (mut origin, mut attempts) = (None, 0);
            let point = context.propose(rng, &mut |operators, rng| {
                attempts += 1;
                if !children || attempts > ATTEMPTS {
                    origin = None;
                    return Self::restarted(operators, rng);
                }
                let (point, made) = self.child(operators, rng);
                origin = Some(made);
                point
            });
            let Some(point) = point else { break };
            points.push(point);
            self.asked.push(origin);
        }
        points
    }
    fn tell(&mut self, generation: Vec<Told<P>>) {
        self.asked.truncate(generation.len());
        self.new = self.archive.add(generation);
    }
    fn planned(&self) -> u64 {
        (self.options.generation * self.options.generations) as u64
    }
}
