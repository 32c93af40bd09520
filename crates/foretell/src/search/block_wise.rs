//! T-Razor: evolution that works on the worst blocks of a network.
//!
//! ```text
//! b(A, l) = mean over kinds of (rank of A's block l among the population's blocks l) / (how many there are)
//! population = best of random points
//! repeat: mutants: a member's blocks with the smallest b redrawn
//!         crossings: of two members of equal width, worse blocks of the first replaced by the second's
//!         population = best of population and children
//! ```
//!
//! - Paper: *T-Razor*, algorithm 1; `pick=pso` for equations 12 and 13.
//! - Departures from the paper: it gives no formula for b, no proportions and no way from a velocity back to a block; b,
//!   `share`, `whole`, `graft`, and the velocity taken as a priority are ours. A child inherits its parent's velocity
//!   and best block scores. Scores that are not made of blocks leave the choice of blocks to chance.
use super::archive::Archive;
use super::evolution::pair;
use super::{About, Build, Outcome, SearchContext, Searcher, Told, Whole, counts, shares};
use crate::rank;
use crate::seed::Rng;
use rand::RngExt;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

/// See the [module documentation](self).
pub struct BlockWise<P> {
    options: Options,
    archive: Archive<P>,
    population: Vec<usize>,
    new: Vec<usize>,
    /// What each archived point inherited.
    particles: Vec<Particle>,
    /// What the points just asked for inherit.
    asked: Vec<Particle>,
}

/// The swarm's view of a point: velocity, and the block scores of the best of its line.
#[derive(Debug, Clone, Default)]
struct Particle {
    velocity: Vec<f64>,
    best: Vec<f64>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    population: usize,
    oversample: usize,
    steps: usize,
    mutants: usize,
    crossovers: usize,
    share: f64,
    whole: f64,
    graft: f64,
    pick: Pick,
    inertia: f64,
    personal: f64,
    global: f64,
}

#[derive(Debug, Serialize, Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Pick {
    LowestBlock,
    Pso,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            population: 50,
            oversample: 4,
            steps: 160,
            mutants: 25,
            crossovers: 25,
            share: 0.25,
            whole: 0.1,
            graft: 0.5,
            pick: Pick::LowestBlock,
            inertia: 0.7,
            personal: 1.5,
            global: 1.5,
        }
    }
}

pub(super) const ABOUT: &About = &About {
    name: "block-wise",
    sentence: "T-Razor: evolution that works on the worst blocks of a network.",
    steps: "mutants: the worst blocks redrawn; crossings: worse blocks replaced by a better member's; keep the best",
    paper: "T-Razor, algorithm 1, equations 12 and 13",
    several: false,
    options: &[
        ("population", "50", "members that survive a step"),
        ("oversample", "4", "so many times the population is drawn to begin with"),
        ("steps", "160", "steps unless a budget is given"),
        ("mutants", "25", "children by mutation"),
        ("crossovers", "25", "children by crossing"),
        ("share", "0.25", "share of the blocks that a mutation redraws"),
        ("whole", "0.1", "probability that a mutation redraws depth, width or their like"),
        ("graft", "0.5", "largest share of the blocks that a crossing replaces"),
        ("pick", "lowest-block", "lowest-block: the worst blocks first; pso: those furthest behind the best"),
        ("inertia", "0.7", "pso: what is kept of a velocity"),
        ("personal", "1.5", "pso: pull towards the best of the line"),
        ("global", "1.5", "pso: pull towards the best of the population"),
    ],
    departures: "block scores, proportions and the map from velocity to blocks are ours: the paper gives none",
};

impl<P: Clone + Send + 'static> Build<P> for BlockWise<P> {
    type Options = Options;
    fn build(options: Options) -> Result<Self, String> {
        let Options { population, oversample, steps, mutants, crossovers, share, whole, graft, .. } = options;
        let asked = [
            ("population", population),
            ("oversample", oversample),
            ("steps", steps),
            ("mutants + crossovers", mutants.saturating_add(crossovers)),
        ];
        counts(&asked)?;
        shares(&[("share", share), ("whole", whole), ("graft", graft)])?;
        let (population, new, particles, asked) = Default::default();
        Ok(BlockWise { options, archive: Archive::default(), population, new, particles, asked })
    }
}

/// For every member and block its rank among the population's blocks at that place, between 0 and 1.
fn block_scores(members: &[&Outcome]) -> Vec<Vec<f64>> {
    let mut scores: Vec<Vec<f64>> = members.iter().map(|member| vec![0.0; member.blocks.len()]).collect();
    let deepest = members.iter().map(|member| member.blocks.len()).max().unwrap_or(0);
    (0..deepest).for_each(|place| {
        let there: Vec<usize> = (0..members.len()).filter(|i| members[*i].blocks.len() > place).collect();
        let kinds = there.iter().map(|i| members[*i].blocks[place].len()).max().unwrap_or(0);
        for kind in 0..kinds {
            let of = |i: &usize| members[*i].blocks[place].get(kind).copied().unwrap_or(0.0);
            let ranks = rank::average_ranks(&there.iter().map(of).collect::<Vec<_>>());
            let share = |rank: f64| rank / (there.len() * kinds) as f64;
            there.iter().zip(ranks).for_each(|(i, rank)| scores[*i][place] += share(rank));
        }
    });
    scores
}

/// The `count` first of some blocks by falling urgency; equals in random order.
fn urgent(urgency: &[f64], mut blocks: Vec<usize>, count: usize, rng: &mut Rng) -> Vec<usize> {
    blocks.shuffle(rng);
    blocks.sort_by(|a, b| urgency[*b].total_cmp(&urgency[*a]));
    blocks.truncate(count);
    blocks
}

impl<P: Clone + Send + 'static> BlockWise<P> {
    /// How urgently each block of each member wants a change, and what the member's children inherit.
    fn urgencies(&self, context: &dyn SearchContext<P>) -> (Vec<Vec<f64>>, Vec<Particle>) {
        let members: Vec<&Outcome> = self
            .population
            .iter()
            .map(|index| self.archive.told[*index].outcome.as_ref().expect("failures are no members"))
            .collect();
        let mut scores = block_scores(&members);
        for (scores, index) in scores.iter_mut().zip(&self.population) {
            scores.resize(context.operators().blocks(self.archive.point(*index)), 0.0);
        }
        if self.options.pick == Pick::LowestBlock {
            let urgencies = scores.iter().map(|scores| scores.iter().map(|score| -score).collect()).collect();
            return (urgencies, vec![Particle::default(); scores.len()]);
        }
        let Options { inertia, personal, global, .. } = self.options;
        // The population is kept in order of fitness: the first is the global best.
        let leader = scores[0].clone();
        let mut particles = Vec::new();
        for (scores, index) in scores.iter().zip(&self.population) {
            let Particle { velocity, best } = &self.particles[*index];
            let at = |vector: &[f64], l: usize, else_: f64| vector.get(l).copied().unwrap_or(else_);
            let pulled = |(l, x): (usize, &f64)| {
                inertia * at(velocity, l, 0.0)
                    + personal * (at(best, l, *x) - x)
                    + global * (at(&leader, l, *x) - x)
            };
            let velocity = scores.iter().enumerate().map(pulled).collect();
            // A member has survived its parent, so its line is at its best where it stands higher.
            let best = scores.iter().enumerate().map(|(l, x)| x.max(at(best, l, *x))).collect();
            particles.push(Particle { velocity, best });
        }
        (particles.iter().map(|particle| particle.velocity.clone()).collect(), particles)
    }
}

impl<P: Clone + Send + 'static> Searcher<P> for BlockWise<P> {
    fn ask(&mut self, context: &mut dyn SearchContext<P>, rng: &mut Rng) -> Vec<P> {
        let Options { population, oversample, mutants, crossovers, share, whole, graft, .. } = self.options;
        let among = self.population.drain(..).chain(self.new.drain(..)).collect();
        self.population = self.archive.best(context, among, population);
        self.asked.clear();
        if self.population.is_empty() {
            let draws = (0..population * oversample)
                .map_while(|_| context.propose(rng, &mut |operators, rng| operators.sample(rng)));
            return draws.collect();
        }
        let (urgencies, particles) = self.urgencies(context);
        let members: Vec<(usize, &P)> =
            self.population.iter().map(|index| self.archive.point(*index)).enumerate().collect();
        let handles: Vec<&(usize, &P)> = members.iter().collect();
        let mut children = Vec::new();
        for nth in 0..mutants + crossovers {
            let mut line = 0;
            let child = context.propose(rng, &mut |operators, rng| {
                if nth < mutants {
                    line = rng.random_range(0..members.len());
                    let (urgency, parent) = (&urgencies[line], members[line].1);
                    let count = (share * urgency.len() as f64).ceil() as usize;
                    let worst = urgent(urgency, (0..urgency.len()).collect(), count, rng);
                    let whole = if rng.random_bool(whole) { Whole::One } else { Whole::Keep };
                    return operators.redraw(parent, whole, &|l| f64::from(worst.contains(&l)), rng);
                }
                let (a, b) = pair(&handles, rng, &|a, b| operators.alike(a.1, b.1));
                line = a.0;
                let (mine, theirs) = (&urgencies[a.0], &urgencies[b.0]);
                let behind = (0..mine.len().min(theirs.len())).filter(|l| mine[*l] > theirs[*l]).collect();
                let taken = urgent(mine, behind, (graft * mine.len() as f64).ceil() as usize, rng);
                operators.graft(a.1, b.1, &taken, rng)
            });
            let Some(child) = child else { break };
            children.push(child);
            self.asked.push(particles[line].clone());
        }
        children
    }
    fn tell(&mut self, generation: Vec<Told<P>>) {
        self.new = self.archive.add(generation);
        self.particles.append(&mut self.asked);
        self.particles.resize(self.archive.told.len(), Particle::default());
    }
    fn planned(&self) -> u64 {
        let Options { population, oversample, steps, mutants, crossovers, .. } = self.options;
        (population * oversample + steps * (mutants + crossovers)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;

    fn member(blocks: &[&[f64]]) -> Outcome {
        Outcome { objectives: vec![], blocks: blocks.iter().map(|block| block.to_vec()).collect() }
    }

    /// Two kinds. Place 0: diversity 1, 2, 3 has ranks 1/3, 2/3, 1; saliency 5, 5, 1 has 2.5/3, 2.5/3, 1/3; means 7/12,
    /// 9/12, 8/12. Place 1 exists twice: ranks 1/2 and 1 of both kinds.
    #[test]
    fn blocks_are_ranked_among_those_at_their_place() {
        let [a, b, c] = [
            member(&[&[1.0, 5.0], &[7.0, 7.0]]),
            member(&[&[2.0, 5.0]]),
            member(&[&[3.0, 1.0], &[8.0, 9.0]]),
        ];
        let scores = block_scores(&[&a, &b, &c]);
        let near = |found: &[f64], expected: &[f64]| {
            found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12)
        };
        assert!(near(&scores[0], &[7.0 / 12.0, 0.5]), "{scores:?}");
        assert!(near(&scores[1], &[9.0 / 12.0]), "{scores:?}");
        assert!(near(&scores[2], &[8.0 / 12.0, 1.0]), "{scores:?}");
    }

    #[test]
    fn the_most_urgent_come_first_and_ties_are_drawn() {
        let mut rng = Seed(0).stream("test", 0);
        assert_eq!(urgent(&[0.1, 0.9, 0.5], vec![0, 1, 2], 2, &mut rng), [1, 2]);
        let firsts: Vec<usize> = (0..50).map(|_| urgent(&[0.0; 3], vec![0, 1, 2], 1, &mut rng)[0]).collect();
        assert!((0..3).all(|block| firsts.contains(&block)));
    }
}
