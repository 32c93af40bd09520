//! A space inside limits, as searchers see it.

mod constraints;
mod evaluations;
mod moves;
mod steps;

pub(super) use evaluations::Evaluations;

use super::{Objective, Settings};
use crate::architecture::Architecture;
use crate::error::{Error, Result};
use crate::proxy::{Request, Score};
use crate::score::Scorer;
use crate::search::{Ground, Moves, Nth, Told, Whole};
use crate::seed::{Rng, Seed};
use crate::space::{Limits, Size};
use crate::store::Trial;
use constraints::Constraints;
use moves::SpaceMoves;
use rand::RngExt;
use std::collections::HashSet;

/// How often a child is made anew before a random point takes its place: at a limit most children break it.
const TRIES: usize = 1000;
/// Blocks drawn anew to bring a child inside its limits.
const MENDS: usize = 40;
/// How often a random point is drawn before there is taken to be none left.
const SAMPLES: usize = 1000;
/// Draws after which a limit on memory or latency is taken to be out of reach.
const DRAWS: usize = 10_000;

/// The feasible part of a space, and what was asked for so far.
pub(super) struct SpaceGround<'s, 'e> {
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
    /// What is really known of points, where somebody evaluates.
    evaluations: Option<Evaluations<'e>>,
}

impl<'s, 'e> SpaceGround<'s, 'e> {
    pub(super) fn new(settings: &'s Settings, scorer: &'s Scorer) -> Result<Self> {
        let space = &*settings.space;
        let open = Limits { counter: settings.limits.counter, ..Limits::default() };
        let inside = (settings.limits != open).then(|| space.within(&settings.limits)).transpose()?;
        let mut requests = scorer.requests().iter();
        let requests = settings.objectives.iter().map(|objective| match objective {
            Objective::Proxy(_) => requests.next(),
            _ => None,
        });
        let ground = SpaceGround {
            moves: SpaceMoves::new(Constraints(settings), inside, settings.shard),
            settings,
            requests: requests.collect(),
            seen: HashSet::new(),
            rejected: 0,
            exhausted: false,
            refusal: None,
            evaluations: None,
        };
        ground.refuse_out_of_reach()?;
        Ok(ground)
    }

    /// The same with somebody who evaluates.
    pub(super) fn with<'n>(self, evaluations: Option<Evaluations<'n>>) -> SpaceGround<'s, 'n> {
        let SpaceGround { moves, settings, requests, seen, rejected, exhausted, refusal, .. } = self;
        SpaceGround { moves, settings, requests, seen, rejected, exhausted, refusal, evaluations }
    }

    /// Memory and latency are no sums that a space can count, so what is out of reach is known by draws.
    fn refuse_out_of_reach(&self) -> Result<()> {
        if let Some(limit) = self.settings.memory {
            self.reach("bytes of memory", limit as f64, &|point| point.memory().total() as f64)?;
        }
        match self.moves.constraints.slow() {
            Some((most, model)) => {
                self.reach("milliseconds", 1e3 * most, &|point| 1e3 * model.predict(point))
            }
            None => Ok(()),
        }
    }

    fn reach(&self, what: &str, limit: f64, need: &dyn Fn(&Architecture) -> f64) -> Result<()> {
        let mut rng = Seed(self.settings.seed).stream("memory", 0);
        let mut least = f64::INFINITY;
        for _ in 0..DRAWS {
            least = least.min(need(&self.moves.sample(&mut rng)));
            if least <= limit {
                return Ok(());
            }
        }
        let least = (1e3 * least).round() / 1e3;
        let reason =
            format!("at most {limit} {what} were asked for, the least of {DRAWS} draws needs {least}");
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
    fn solve(&self, count: usize) -> Result<Vec<Architecture>> {
        if self.settings.shard.is_some() {
            return Err(Error::input("--shard", "cannot split an exact search: run dp as one job"));
        }
        let space = self.moves.space;
        let grid = space.as_grid();
        let grid = grid.ok_or_else(|| Error::input(space.name(), "cannot be counted: dp needs a grid"))?;
        let value = self.known().ok_or_else(|| {
            let reason =
                "depends on more than the shape of a network: dp needs nsc, zerolm, params or the like";
            Error::input(self.settings.objectives[0].to_string(), reason)
        })?;
        grid.optimum(&self.settings.limits, count, &value, &|_| {})
    }

    /// The value of points in the first objective, larger is better, if it is a cost or a score of the shape and so known
    /// without a pass.
    fn known(&self) -> Option<impl Fn(&Architecture) -> Result<f64> + Sync + use<'s>> {
        let (settings, request) = (self.settings, self.requests[0]);
        let shape = request.is_none_or(|request| !request.about().drawn() && !request.is_set_score());
        shape.then_some(move |point: &Architecture| {
            let objective = &settings.objectives[0];
            match (settings.cost(objective, point), request) {
                (Some(cost), _) => Ok(-(cost as f64)),
                (None, Some(request)) => request.of_shape(point),
                (None, None) => Err(Error::input(objective.to_string(), "needs a model that predicts it")),
            }
        })
    }

    /// Networks whose layers are all alike: the best one, where scores need no pass, and the largest of each depth.
    fn uniform(&self) -> Vec<Architecture> {
        let Some(grid) = self.moves.space.as_grid() else { return Vec::new() };
        let (limits, constraints) = (&self.settings.limits, self.moves.constraints);
        let keep = |point: &Architecture| constraints.excess(point) == 0.0;
        // A score that is defined for none of them leaves the search without a best one.
        let best = self.known().and_then(|value| grid.best_uniform(limits, &keep, &value).ok()?);
        let largest = grid.largest_uniform(limits, &keep);
        best.into_iter().map(|(_, point)| point).chain(largest).collect()
    }

    /// A child that breaks its limits, with blocks drawn anew as long as that brings it nearer to them.
    fn mended(&self, mut point: Architecture, rng: &mut Rng) -> Architecture {
        let mut excess = self.moves.constraints.excess(&point);
        for _ in 0..MENDS {
            if excess == 0.0 {
                break;
            }
            let block = rng.random_range(0..point.positions().max(1));
            let other = self.moves.redraw(&point, Whole::Keep, &|at| f64::from(at == block), rng);
            let new = self.moves.constraints.excess(&other);
            if new < excess {
                (point, excess) = (other, new);
            }
        }
        point
    }

    /// Whether a point is inside all limits and new; it is not new again.
    fn accept(&mut self, point: &Architecture) -> bool {
        if self.moves.constraints.excess(point) > 0.0 {
            self.rejected += 1;
            return false;
        }
        self.seen.insert(point.id())
    }

    /// Which trials some architectures became.
    pub(super) fn number(&mut self, trials: &[Trial]) {
        if let Some(evaluations) = &mut self.evaluations {
            evaluations.trials.extend(trials.iter().map(|trial| (trial.id.clone(), trial.number)));
        }
    }

    /// What went wrong while a searcher asked.
    pub(super) fn sound(&mut self) -> Result<()> {
        let stored = self.evaluations.as_mut().and_then(|evaluations| evaluations.failure.take());
        self.refusal.take().or(stored).map_or(Ok(()), Err)
    }

    /// The `k` best points in the first objective; of equals the earlier.
    pub(super) fn best(&self, told: &[Told<Architecture>], k: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..told.len()).collect();
        let fitness = self.fitness(0, told, &order);
        order.retain(|place| fitness[*place] > f64::NEG_INFINITY);
        order.sort_by(|a, b| fitness[*b].total_cmp(&fitness[*a]));
        order.truncate(k);
        order
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

impl Ground<Architecture> for SpaceGround<'_, '_> {
    fn fresh(
        &mut self,
        rng: &mut Rng,
        make: &mut dyn FnMut(&dyn Moves<Architecture>, &mut Rng) -> Architecture,
    ) -> Option<Architecture> {
        for _ in 0..TRIES {
            let child = make(&self.moves, rng);
            let point = self.mended(child, rng);
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

    fn optimum(&mut self, count: usize) -> Vec<Architecture> {
        match self.solve(count) {
            Ok(points) => points.into_iter().filter(|point| self.accept(point)).collect(),
            Err(error) => {
                self.refusal = Some(error);
                Vec::new()
            }
        }
    }

    fn starts(&mut self) -> Vec<Architecture> {
        let mut starts = self.uniform();
        if let Some(shard) = self.settings.shard {
            starts.retain(|point| shard.owns(&point.id()));
        }
        starts.retain(|point| self.accept(point));
        starts
    }

    fn nth(&mut self, index: u64) -> Nth<Architecture> {
        let index = self.settings.shard.map_or(Some(index), |shard| shard.nth(index));
        match index.and_then(|index| self.moves.space.at(&index.into())) {
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

    fn worth(&mut self, point: &Architecture) -> Option<f64> {
        self.evaluations.as_mut().map(|evaluations| evaluations.worth(point))
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
