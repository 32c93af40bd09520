//! AutoFormer's evolution: mutants and crossings of the best few, topped up with random points.
//!
//! ```text
//! population = random points
//! repeat: top = best k of all so far
//!         population = mutants of top + crossings of two of top, of equal depth + random points
//! ```
//!
//! - Paper: *AutoFormer: Searching Transformers for Visual Recognition* (Chen et al., ICCV 2021), released code.
//! - Departures from the paper: no point is scored twice. A child is retried until it is new and inside the limits, and
//!   then replaced by a random point, where the original gives up after ten tries per wanted child.
use super::archive::Archive;
use super::{About, Build, Operators, SearchContext, Searcher, Told, Whole, counts, shares};
use crate::seed::Rng;
use rand::seq::IndexedRandom;
use serde::{Deserialize, Serialize};

/// See the [module documentation](self).
pub struct Evolution<P> {
    options: Options,
    archive: Archive<P>,
    top: Vec<usize>,
    new: Vec<usize>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    population: usize,
    generations: usize,
    parents: usize,
    mutants: usize,
    crossovers: usize,
    whole_rate: f64,
    block_rate: f64,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            population: 50,
            generations: 20,
            parents: 10,
            mutants: 25,
            crossovers: 25,
            whole_rate: 0.4,
            block_rate: 0.2,
        }
    }
}

pub(super) const ABOUT: &About = &About {
    name: "evolution",
    sentence: "AutoFormer's evolution: mutants and crossings of the best few, topped up with random points.",
    steps: "top = best k of all so far; population = mutants + crossings of two of equal depth + random points",
    paper: "AutoFormer (Chen et al., 2021), released code",
    several: false,
    options: &[
        ("population", "50", "points of a generation"),
        ("generations", "20", "generations unless a budget is given"),
        ("parents", "10", "the best so far, from which children come"),
        ("mutants", "25", "children by mutation"),
        ("crossovers", "25", "children by crossing"),
        ("whole_rate", "0.4", "probability that depth, width and their like are redrawn"),
        ("block_rate", "0.2", "probability that a value of a layer is redrawn"),
    ],
    departures: "no point is scored twice; children are retried, then replaced by random points",
};

impl<P: Clone + Send + 'static> Build<P> for Evolution<P> {
    type Options = Options;
    fn build(options: Options) -> Result<Self, String> {
        let Options { population, generations, parents, whole_rate, block_rate, .. } = options;
        counts(&[("population", population), ("generations", generations), ("parents", parents)])?;
        shares(&[("whole_rate", whole_rate), ("block_rate", block_rate)])?;
        Ok(Evolution { options, archive: Archive::default(), top: Vec::new(), new: Vec::new() })
    }
}

impl<P: Clone + Send + 'static> Searcher<P> for Evolution<P> {
    fn ask(&mut self, context: &mut dyn SearchContext<P>, rng: &mut Rng) -> Vec<P> {
        let among = self.top.drain(..).chain(self.new.drain(..)).collect();
        self.top = self.archive.best(context, among, self.options.parents);
        let Options { population, mutants, crossovers, whole_rate, block_rate, .. } = self.options;
        let parents: Vec<&P> = self.top.iter().map(|index| self.archive.point(*index)).collect();
        let child = |operators: &dyn Operators<P>, rng: &mut Rng, nth: usize| {
            if parents.is_empty() || nth >= mutants + crossovers {
                return operators.sample(rng);
            }
            if nth < mutants {
                let parent = parents.choose(rng).expect("there are parents");
                return operators.redraw(parent, Whole::Each(whole_rate), &|_| block_rate, rng);
            }
            let (a, b) = pair(&parents, rng, &|a, b| operators.blocks(a) == operators.blocks(b));
            operators.cross(a, b, rng)
        };
        (0..population)
            .map_while(|nth| context.propose(rng, &mut |operators, rng| child(operators, rng, nth)))
            .collect()
    }
    fn tell(&mut self, generation: Vec<Told<P>>) {
        self.new = self.archive.add(generation);
    }
    fn planned(&self) -> u64 {
        (self.options.population * self.options.generations) as u64
    }
}

/// How often a pair that fits is looked for before any will do.
const REDRAWS: usize = 50;

/// Two random members that fit each other, or after many draws any two.
pub(super) fn pair<'p, P>(members: &[&'p P], rng: &mut Rng, fit: &dyn Fn(&P, &P) -> bool) -> (&'p P, &'p P) {
    let mut draw = || {
        let [a, b] = [(); 2].map(|()| *members.choose(rng).expect("there are members"));
        (a, b)
    };
    let mut drawn = draw();
    for _ in 0..REDRAWS {
        if !std::ptr::eq(drawn.0, drawn.1) && fit(drawn.0, drawn.1) {
            break;
        }
        drawn = draw();
    }
    drawn
}
