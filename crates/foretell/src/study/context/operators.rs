//! How architectures of a space come from others.

use super::constraints::Constraints;
use crate::architecture::{Architecture, Block};
use crate::search::{Operators, Step, Whole};
use crate::seed::Rng;
use crate::space::{Feasible, Neighbours, Space};
use crate::study::Shard;
use rand::seq::IndexedRandom;
use std::cell::OnceCell;

/// Draws per shard after which one is taken to have nothing left of its own, and takes what others have.
const DRAWS_OF_OTHERS: u64 = 30;

/// A space inside limits, and the ways from point to point.
pub(super) struct SpaceMoves<'s> {
    pub(super) space: &'s dyn Space,
    inside: Option<Box<dyn Feasible + 's>>,
    /// The slots outside the positions that may vary.
    pub(super) varying: Vec<usize>,
    shard: Option<Shard>,
    pub(super) constraints: Constraints<'s>,
    neighbours: OnceCell<Option<Neighbours<'s>>>,
}

impl<'s> SpaceMoves<'s> {
    pub(super) fn new(
        constraints: Constraints<'s>,
        inside: Option<Box<dyn Feasible + 's>>,
        shard: Option<Shard>,
    ) -> Self {
        let space = &*constraints.settings.space;
        let globals = &space.definition().globals;
        let varying = (0..globals.len()).filter(|slot| globals[*slot].len() > 1).collect();
        SpaceMoves { space, inside, varying, shard, constraints, neighbours: OnceCell::new() }
    }

    /// The neighbours of points, for spaces that are grids.
    fn neighbours(&self) -> Option<&Neighbours<'s>> {
        self.neighbours.get_or_init(|| self.space.as_grid().map(Neighbours::new)).as_ref()
    }
}

impl Operators<Architecture> for SpaceMoves<'_> {
    fn sample(&self, rng: &mut Rng) -> Architecture {
        let mut draw = || {
            let inside = self.inside.as_ref().and_then(|inside| inside.sample(false, rng).ok());
            inside.unwrap_or_else(|| self.space.sample(rng))
        };
        let Some(shard) = self.shard else { return draw() };
        let tries = DRAWS_OF_OTHERS * shard.of();
        let own = (0..tries).map(|_| draw()).find(|point| shard.owns(&point.id()));
        own.unwrap_or_else(draw)
    }

    fn redraw(
        &self,
        parent: &Architecture,
        whole: Whole,
        block: &dyn Fn(usize) -> f64,
        rng: &mut Rng,
    ) -> Architecture {
        match whole {
            Whole::Keep => self.space.redraw(parent, &|_| 0.0, block, rng),
            Whole::Each(rate) => self.space.redraw(parent, &|_| rate, block, rng),
            Whole::One => {
                let chosen = self.varying.choose(rng).copied();
                self.space.redraw(parent, &|slot| f64::from(Some(slot) == chosen), block, rng)
            }
        }
    }

    fn cross(&self, a: &Architecture, b: &Architecture, rng: &mut Rng) -> Architecture {
        self.space.cross(a, b, rng)
    }

    fn graft(&self, a: &Architecture, b: &Architecture, blocks: &[usize], rng: &mut Rng) -> Architecture {
        self.space.graft(a, b, blocks, rng)
    }

    fn blocks(&self, point: &Architecture) -> usize {
        point.positions()
    }

    fn alike(&self, a: &Architecture, b: &Architecture) -> bool {
        let width = |point: &Architecture| {
            let mut first = None;
            point.blocks(&mut |block: Block| first = first.or(Some(block.width)));
            first
        };
        width(a) == width(b)
    }

    fn step(&self, parent: &Architecture, step: Step, rng: &mut Rng) -> Architecture {
        match self.neighbours() {
            Some(near) => self.neighbour(near, parent, step, rng),
            None => self.space.mutate(parent, 1.0 / parent.positions().max(1) as f64, rng),
        }
    }

    fn fit(&self, point: Architecture, fill: bool, rng: &mut Rng) -> Architecture {
        match self.neighbours() {
            Some(near) => self.scaled(near, point, fill, rng),
            None => point,
        }
    }
}
