//! LTS: evolution from a Pareto front, members that were parents less often first.
//!
//! ```text
//! population = random points
//! repeat: front = points of all so far that no other beats in every objective
//!         parents = draws from the front with weight 1 / (1 + scaled number of times in a population)
//!         population = parents + mutants of parents + crossings of two parents
//! ```
//!
//! - Paper: *LiteTransformerSearch* (Javaheripi et al., NeurIPS 2022), released code.
//! - Departures from the paper: `dominance=usual` takes the common definition, better in one and worse in none.
use super::evolution::pair;
use super::{About, Build, SearchContext, Searcher, Told, Whole, counts, shares};
use crate::rank;
use crate::seed::Rng;
use rand::RngExt;
use rand::seq::IndexedRandom;
use serde::{Deserialize, Serialize};

/// See the [module documentation](self).
pub struct Pareto<P> {
    options: Options,
    told: Vec<Told<P>>,
    /// How often each point was in a population.
    times: Vec<f64>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    population: usize,
    parents: usize,
    mutants: usize,
    crossovers: usize,
    rate: f64,
    steps: usize,
    dominance: Dominance,
}

#[derive(Debug, Serialize, Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Dominance {
    Strict,
    Usual,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            population: 100,
            parents: 20,
            mutants: 40,
            crossovers: 40,
            rate: 0.3,
            steps: 10,
            dominance: Dominance::Strict,
        }
    }
}

pub(super) const ABOUT: &About = &About {
    name: "pareto",
    sentence: "LTS: evolution from a Pareto front, members that were parents less often first.",
    steps: "front of all so far; parents = draws from it, rare ones first; mutants and crossings of parents",
    paper: "LiteTransformerSearch (Javaheripi et al., 2022), released code",
    several: true,
    options: &[
        ("population", "100", "random points to begin with"),
        ("parents", "20", "draws from the front"),
        ("mutants", "40", "children by mutation"),
        ("crossovers", "40", "children by crossing"),
        ("rate", "0.3", "probability that a value is redrawn"),
        ("steps", "10", "steps unless a budget is given"),
        (
            "dominance",
            "strict",
            "strict: beaten only by what is better in all objectives; usual: better in one, worse in none",
        ),
    ],
    departures: "none known",
};

impl<P: Clone + Send + 'static> Build<P> for Pareto<P> {
    type Options = Options;
    fn build(options: Options) -> Result<Self, String> {
        let Options { population, parents, mutants, crossovers, rate, steps, .. } = options;
        let asked = [
            ("population", population),
            ("parents", parents),
            ("steps", steps),
            ("mutants + crossovers", mutants.saturating_add(crossovers)),
        ];
        counts(&asked)?;
        shares(&[("rate", rate)])?;
        Ok(Pareto { options, told: Vec::new(), times: Vec::new() })
    }
}

impl<P: Clone + Send + 'static> Pareto<P> {
    fn front(&self, context: &dyn SearchContext<P>) -> Vec<usize> {
        let sound: Vec<usize> =
            (0..self.told.len()).filter(|index| self.told[*index].outcome.is_some()).collect();
        let Some(first) = sound.first() else { return Vec::new() };
        let count = self.told[*first].outcome.as_ref().map_or(0, |outcome| outcome.objectives.len());
        let columns: Vec<Vec<f64>> =
            (0..count).map(|objective| context.fitness(objective, &self.told, &sound)).collect();
        let points: Vec<Vec<f64>> =
            (0..sound.len()).map(|row| columns.iter().map(|column| column[row]).collect()).collect();
        let front = match self.options.dominance {
            Dominance::Usual => rank::pareto_front(&points),
            Dominance::Strict => unbeaten(&points),
        };
        front.into_iter().map(|row| sound[row]).collect()
    }
}

/// Rows that no other row exceeds in every objective.
fn unbeaten(points: &[Vec<f64>]) -> Vec<usize> {
    let beats = |a: usize, b: usize| points[a].iter().zip(&points[b]).all(|(a, b)| a > b);
    let mut front: Vec<usize> = Vec::new();
    for row in 0..points.len() {
        if !front.iter().any(|rival| beats(*rival, row)) {
            front.retain(|rival| !beats(row, *rival));
            front.push(row);
        }
    }
    front
}

/// Rare members weigh most: 1 / (1 + times scaled to 0..1).
fn weights(times: &[f64]) -> Vec<f64> {
    let least = times.iter().copied().fold(f64::INFINITY, f64::min);
    let most = times.iter().copied().fold(0.0, f64::max);
    let unit = if most > least { most - least } else { most.max(1.0) };
    times.iter().map(|times| 1.0 / (1.0 + (times - least) / unit)).collect()
}

fn draw(weights: &[f64], rng: &mut Rng) -> usize {
    let mut left = rng.random::<f64>() * weights.iter().sum::<f64>();
    let place = weights.iter().position(|weight| {
        left -= weight;
        left < 0.0
    });
    place.unwrap_or(weights.len() - 1)
}

impl<P: Clone + Send + 'static> Searcher<P> for Pareto<P> {
    fn ask(&mut self, context: &mut dyn SearchContext<P>, rng: &mut Rng) -> Vec<P> {
        let front = self.front(context);
        let Options { population, parents, mutants, crossovers, rate, .. } = self.options;
        if front.is_empty() {
            return (0..population)
                .map_while(|_| context.propose(rng, &mut |operators, rng| operators.sample(rng)))
                .collect();
        }
        let weights = weights(&front.iter().map(|index| self.times[*index]).collect::<Vec<_>>());
        let parents: Vec<usize> = (0..parents).map(|_| front[draw(&weights, rng)]).collect();
        for index in &parents {
            self.times[*index] += 1.0;
        }
        let parents: Vec<&P> = parents.iter().map(|index| &self.told[*index].point).collect();
        let children = (0..mutants + crossovers).map_while(|nth| {
            context.propose(rng, &mut |operators, rng| {
                if nth < mutants {
                    let parent = parents.choose(rng).expect("a front has members");
                    return operators.redraw(parent, Whole::Each(rate), &|_| rate, rng);
                }
                let (a, b) = pair(&parents, rng, &|_, _| true);
                operators.cross(a, b, rng)
            })
        });
        children.collect()
    }
    fn tell(&mut self, generation: Vec<Told<P>>) {
        self.told.extend(generation);
        self.times.resize(self.told.len(), 1.0);
    }
    fn planned(&self) -> u64 {
        let Options { population, mutants, crossovers, steps, .. } = self.options;
        (population + steps * (mutants + crossovers)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (3, 1) and (3, 2) beat nothing of each other strictly; (2, 0) is under (3, 1), (1, 3) stands alone.
    #[test]
    fn only_what_is_worse_everywhere_is_beaten() {
        let points = [[3.0, 1.0], [2.0, 0.0], [3.0, 2.0], [1.0, 3.0]].map(|point| point.to_vec());
        assert_eq!(unbeaten(&points), [0, 2, 3]);
        assert_eq!(rank::pareto_front(&points), [2, 3]);
    }

    /// Times 1, 2, 3: scaled 0, 1/2, 1; weights 1, 2/3, 1/2.
    #[test]
    fn rare_members_weigh_most() {
        assert_eq!(weights(&[1.0, 2.0, 3.0]), [1.0, 1.0 / 1.5, 0.5]);
        assert_eq!(weights(&[4.0, 4.0]), [1.0, 1.0]);
    }
}
