//! A space inside limits, as searchers see it.

use super::{Objective, Settings};
use crate::architecture::{Architecture, Block};
use crate::error::{Error, Result};
use crate::proxy::{Request, Score};
use crate::score::Scorer;
use crate::search::{Ground, Moves, Nth, Told, Whole};
use crate::seed::{Rng, Seed};
use crate::space::{Feasible, Limits, Size, Space};
use rand::seq::IndexedRandom;
use std::collections::HashSet;

/// How often a child is made anew before a random point takes its place: at a limit most children break it.
const TRIES: usize = 200;
/// How often a random point is drawn before there is taken to be none left.
const SAMPLES: usize = 1000;
/// Draws after which a limit on memory is taken to be out of reach.
const DRAWS: usize = 10_000;

/// The feasible part of a space, and what was asked for so far.
pub(super) struct SpaceGround<'s> {
    moves: SpaceMoves<'s>,
    settings: &'s Settings,
    /// One per objective that is a proxy.
    requests: Vec<Option<&'s Request>>,
    seen: HashSet<String>,
    /// Points refused since they break a limit.
    pub(super) rejected: u64,
    /// Whether new points have run out.
    pub(super) exhausted: bool,
    /// Why the best points cannot be known, if they were asked for.
    pub(super) refusal: Option<Error>,
}

struct SpaceMoves<'s> {
    space: &'s dyn Space,
    inside: Option<Box<dyn Feasible + 's>>,
    /// The slots outside the positions that may vary.
    varying: Vec<usize>,
}

impl<'s> SpaceGround<'s> {
    pub(super) fn new(settings: &'s Settings, scorer: &'s Scorer) -> Result<Self> {
        let space = &*settings.space;
        let open = Limits { counter: settings.limits.counter, ..Limits::default() };
        let inside = (settings.limits != open).then(|| space.within(&settings.limits)).transpose()?;
        let head = &space.definition().head;
        let varying = (0..head.len()).filter(|slot| head[*slot].len() > 1).collect();
        let mut requests = scorer.requests().iter();
        let requests = settings.objectives.iter().map(|objective| match objective {
            Objective::Proxy(_) => requests.next(),
            _ => None,
        });
        let ground = SpaceGround {
            moves: SpaceMoves { space, inside, varying },
            settings,
            requests: requests.collect(),
            seen: HashSet::new(),
            rejected: 0,
            exhausted: false,
            refusal: None,
        };
        ground.refuse_impossible_memory()?;
        Ok(ground)
    }

    fn refuse_impossible_memory(&self) -> Result<()> {
        let Some(limit) = self.settings.memory else { return Ok(()) };
        let mut rng = Seed(self.settings.seed).stream("memory", 0);
        let mut least = u64::MAX;
        for _ in 0..DRAWS {
            least = least.min(self.moves.sample(&mut rng).memory().total());
            if least <= limit {
                return Ok(());
            }
        }
        let reason = format!(
            "at most {limit} bytes of memory were asked for, the least of {DRAWS} draws needs {least}"
        );
        Err(Error::Infeasible { space: self.moves.space.name().to_owned(), reason })
    }

    /// How many points there can be.
    pub(super) fn size(&self) -> u64 {
        match self.moves.space.size() {
            Size::Exact(size) => u64::try_from(size).unwrap_or(u64::MAX),
            Size::Open => u64::MAX,
        }
    }

    /// The best points in the first objective where it is a cost or a score of the shape.
    fn optimum(&self, count: usize) -> Result<Vec<Architecture>> {
        let space = self.moves.space;
        let grid = space.as_grid();
        let grid = grid.ok_or_else(|| Error::input(space.name(), "cannot be counted: dp needs a grid"))?;
        let objective = &self.settings.objectives[0];
        grid.optimum(&self.settings.limits, count, &|point| match (objective.cost(point), self.requests[0]) {
            (Some(cost), _) => Ok(-(cost as f64)),
            (None, Some(request)) if !request.about().drawn() && !request.is_set_score() => {
                request.of_shape(point)
            }
            _ => Err(Error::input(
                objective.to_string(),
                "depends on more than the shape of a network: dp needs nsc, zerolm, params or the like",
            )),
        })
    }

    fn feasible(&self, point: &Architecture) -> bool {
        let Limits { params, flops, counter } = &self.settings.limits;
        let holds = |bound: &crate::space::Bound, value: u64| (bound.min..=bound.max).contains(&value);
        holds(params, point.params().total)
            && ((flops.min == 0 && flops.max == u64::MAX)
                || point.flops(*counter).is_some_and(|value| holds(flops, value)))
            && self.settings.memory.is_none_or(|limit| point.memory().total() <= limit)
    }

    /// Whether a point is inside all limits and new; it is not new again.
    fn accept(&mut self, point: &Architecture) -> bool {
        if !self.feasible(point) {
            self.rejected += 1;
            return false;
        }
        self.seen.insert(point.id())
    }

    /// The best of all points in the first objective, given the best before those from `from` on were added.
    pub(super) fn leader(
        &self,
        told: &[Told<Architecture>],
        from: usize,
        before: Option<(u64, f64)>,
    ) -> Option<(u64, f64)> {
        // Within a set everybody's value changes with the set.
        let relative = self.requests[0].is_some_and(Request::is_set_score);
        let among: Vec<usize> = (if relative { 0 } else { from }..told.len()).collect();
        let fitness = self.fitness(0, told, &among);
        let mut best = if relative { None } else { before };
        for (index, value) in among.into_iter().zip(fitness) {
            if value > f64::NEG_INFINITY && best.is_none_or(|(_, most)| value > most) {
                best = Some((index as u64, value));
            }
        }
        best
    }
}

impl Moves<Architecture> for SpaceMoves<'_> {
    fn sample(&self, rng: &mut Rng) -> Architecture {
        let inside = self.inside.as_ref().and_then(|inside| inside.sample(false, rng).ok());
        inside.unwrap_or_else(|| self.space.sample(rng))
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
}

impl Ground<Architecture> for SpaceGround<'_> {
    fn fresh(
        &mut self,
        rng: &mut Rng,
        make: &mut dyn FnMut(&dyn Moves<Architecture>, &mut Rng) -> Architecture,
    ) -> Option<Architecture> {
        for _ in 0..TRIES {
            let point = make(&self.moves, rng);
            if self.accept(&point) {
                return Some(point);
            }
        }
        for _ in 0..SAMPLES {
            let point = self.moves.sample(rng);
            if self.accept(&point) {
                return Some(point);
            }
        }
        self.exhausted = true;
        None
    }

    fn best(&mut self, count: usize) -> Vec<Architecture> {
        match self.optimum(count) {
            Ok(points) => points.into_iter().filter(|point| self.accept(point)).collect(),
            Err(error) => {
                self.refusal = Some(error);
                Vec::new()
            }
        }
    }

    fn nth(&mut self, index: u64) -> Nth<Architecture> {
        match self.moves.space.at(&index.into()) {
            None => {
                self.exhausted = true;
                Nth::End
            }
            Some(point) if self.accept(&point) => Nth::Fresh(point),
            Some(_) => Nth::Refused,
        }
    }

    fn fitness(&self, objective: usize, told: &[Told<Architecture>], of: &[usize]) -> Vec<f64> {
        let numbers =
            |told: &Told<Architecture>| Some(told.outcome.as_ref()?.objectives.get(objective)?.clone());
        match self.requests.get(objective).copied().flatten().filter(|request| request.is_set_score()) {
            None => {
                let value =
                    |index: &usize| numbers(&told[*index]).map_or(f64::NEG_INFINITY, |numbers| numbers[0]);
                of.iter().map(value).collect()
            }
            Some(request) => {
                let columns: Vec<Option<Vec<f64>>> = told.iter().map(numbers).collect();
                let all = within(request, &columns);
                of.iter().map(|index| all[*index]).collect()
            }
        }
    }

    fn moves(&self) -> &dyn Moves<Architecture> {
        &self.moves
    }
}

/// The values of a set score within all that did not fail; minus infinity for those that did.
pub(super) fn within(request: &Request, parts: &[Option<Vec<f64>>]) -> Vec<f64> {
    let scores: Vec<Score> =
        parts.iter().flatten().map(|parts| Score::set(parts.clone(), Vec::new())).collect();
    let mut values = request.within(&scores.iter().collect::<Vec<_>>()).into_iter();
    let value =
        |parts: &Option<Vec<f64>>| parts.as_ref().and_then(|_| values.next()).unwrap_or(f64::NEG_INFINITY);
    parts.iter().map(value).collect()
}
