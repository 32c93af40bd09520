//! How architectures of a space come from others.

use super::constraints::Constraints;
use crate::architecture::{Architecture, Block};
use crate::search::{Operators, Step, Whole};
use crate::seed::Rng;
use crate::space::{Feasible, Neighbours, Space};
use crate::study::pool::Wish;
use crate::study::{Pool, Shard};
use rand::RngExt;
use rand::seq::IndexedRandom;
use std::cell::{OnceCell, RefCell};
use std::collections::HashSet;

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
    /// Ids of what was asked for.
    pub(super) seen: RefCell<HashSet<String>>,
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
        let seen = RefCell::default();
        SpaceMoves { space, inside, varying, shard, constraints, seen, neighbours: OnceCell::new() }
    }

    /// The table that is searched, with which of its networks may still be asked for.
    fn pool(&self) -> Option<(&Pool, impl Fn(usize, &Pool) -> bool)> {
        let pool = self.constraints.settings.pool.as_deref()?;
        let free = |row: usize, pool: &Pool| {
            !self.seen.borrow().contains(pool.id(row))
                && self.shard.is_none_or(|shard| shard.owns(pool.id(row)))
                && self.constraints.excess(&pool.networks()[row]) == 0.0
        };
        Some((pool, free))
    }

    /// The network of the table that is nearest to a wish among those that may still be asked for; the parent if none is left.
    fn nearest(&self, parent: &Architecture, wish: impl FnOnce(&Pool) -> Wish) -> Option<Architecture> {
        let (pool, free) = self.pool()?;
        let row = pool.nearest(&wish(pool), &|row| free(row, pool));
        Some(row.map_or_else(|| parent.clone(), |row| pool.networks()[row].clone()))
    }

    /// The neighbours of points, for spaces that are grids.
    fn neighbours(&self) -> Option<&Neighbours<'s>> {
        self.neighbours.get_or_init(|| self.space.as_grid().map(Neighbours::new)).as_ref()
    }
}

impl Operators<Architecture> for SpaceMoves<'_> {
    fn sample(&self, rng: &mut Rng) -> Architecture {
        if let Some((pool, free)) = self.pool() {
            let left: Vec<usize> = (0..pool.networks().len()).filter(|row| free(*row, pool)).collect();
            // Where none is left any will do: it is refused as known.
            let row = left.choose(rng).copied().unwrap_or(0);
            return pool.networks()[row].clone();
        }
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
        let chosen = if whole == Whole::One { self.varying.choose(rng).copied() } else { None };
        let frame = |slot: usize| match whole {
            Whole::Keep => 0.0,
            Whole::Each(rate) => rate,
            Whole::One => f64::from(Some(slot) == chosen),
        };
        if let Some(child) = self.nearest(parent, |pool| pool.redrawn(parent, &frame, block, rng)) {
            return child;
        }
        self.space.redraw(parent, &frame, block, rng)
    }

    fn cross(&self, a: &Architecture, b: &Architecture, rng: &mut Rng) -> Architecture {
        let crossed = self.nearest(a, |pool| pool.crossed(a, b, rng));
        crossed.unwrap_or_else(|| self.space.cross(a, b, rng))
    }

    fn graft(&self, a: &Architecture, b: &Architecture, blocks: &[usize], rng: &mut Rng) -> Architecture {
        let grafted = self.nearest(a, |_| Wish::grafted(a, b, blocks));
        grafted.unwrap_or_else(|| self.space.graft(a, b, blocks, rng))
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
            None if self.constraints.settings.pool.is_some() => {
                let whole = if step == Step::Whole { Whole::One } else { Whole::Keep };
                let chosen = rng.random_range(0..parent.positions().max(1));
                let inside = step != Step::Whole;
                self.redraw(parent, whole, &|block| f64::from(inside && block == chosen), rng)
            }
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
