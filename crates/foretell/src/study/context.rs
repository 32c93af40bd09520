//! A space inside limits, as searchers see it.

mod constraints;
mod operators;
mod steps;

pub(super) use constraints::Ceilings;

use super::evaluations::Evaluations;
use super::latencies::{Latencies, Timed};
use super::{Objective, Settings, Watch};
use crate::architecture::Architecture;
use crate::cancel::CancelToken;
use crate::error::{Error, Result};
use crate::latency::{Model, Phase};
use crate::proxy::{Request, Score};
use crate::search::{Nth, Operators, SearchContext, Told, Whole};
use crate::seed::{Rng, Seed};
use crate::space::{Limits, Size};
use crate::store::Trial;
use crate::units::grouped;
use constraints::Constraints;
use operators::SpaceMoves;
use rand::RngExt;
use std::collections::HashSet;
use std::sync::Arc;

/// How often a child is made again before a random point takes its place: at a limit most children break it.
const TRIES: usize = 1000;
/// Blocks redrawn to bring a child inside its limits.
const MENDS: usize = 40;
/// The best candidates among which some are measured while a search runs.
const FINALISTS: usize = 64;
/// How often a random point is drawn before there is taken to be none left.
const SAMPLES: usize = 1000;
/// Draws after which a limit on memory or latency is taken to be out of reach.
const DRAWS: usize = 10_000;

/// The feasible part of a space, and what was asked for so far.
pub(super) struct StudyContext<'s, 'e> {
    operators: SpaceMoves<'s>,
    settings: &'s Settings,
    /// One per objective that is a proxy.
    requests: Vec<Option<&'s Request>>,
    /// Points refused since they break a limit.
    pub(super) rejected: u64,
    /// Whether new points have run out.
    pub(super) exhausted: bool,
    /// Why the best points cannot be known, if they were asked for.
    pub(super) refusal: Option<Error>,
    /// What is really known of points, where somebody evaluates.
    evaluations: Option<Evaluations<'e>>,
    /// What is known of latency, where it is limited or an objective.
    latencies: Option<Latencies<'e>>,
    /// The best points, where they are known from before the search.
    pub(super) solution: Option<Vec<Architecture>>,
    watch: &'s dyn Watch,
    /// Whether the best points were solved for and the first keeps every limit.
    pub(super) proved: bool,
    /// Candidates that were accepted and are now predicted to break a limit on latency.
    broken: HashSet<Vec<u32>>,
}

impl<'s, 'e> StudyContext<'s, 'e> {
    pub(super) fn new(
        settings: &'s Settings,
        solution: Option<Vec<Architecture>>,
        watch: &'s dyn Watch,
    ) -> Result<Self> {
        let space = &*settings.space;
        let open = Limits { counter: settings.limits.counter, ..Limits::default() };
        let inside = (settings.limits != open).then(|| space.within(&settings.limits)).transpose()?;
        let requests =
            settings.objectives.iter().map(|objective| objective.request().map(|request| &**request));
        let context = StudyContext {
            operators: SpaceMoves::new(
                Constraints { settings, ceilings: Ceilings::of(settings) },
                inside,
                settings.shard,
            ),
            settings,
            requests: requests.collect(),
            rejected: 0,
            exhausted: false,
            refusal: None,
            evaluations: None,
            latencies: None,
            solution,
            watch,
            proved: false,
            broken: HashSet::new(),
        };
        if let Some(limit) = settings.memory {
            let bytes = |n: f64| format!("{} bytes of memory", grouped(n as u64));
            context.reach(limit as f64, &|point| point.memory().total() as f64, &bytes)?;
        }
        if let Some(limit) = settings.cache {
            let need = |point: &Architecture| point.cache_bytes().unwrap_or(0) as f64;
            let bytes = |n: f64| format!("{} bytes of keys and values", grouped(n as u64));
            context.reach(limit as f64, &need, &bytes)?;
        }
        Ok(context)
    }

    /// The same with somebody who evaluates and somebody who measures. A limit on latency that no draw is predicted to
    /// keep is refused.
    pub(super) fn with<'n>(
        self,
        evaluations: Option<Evaluations<'n>>,
        latencies: Option<Latencies<'n>>,
    ) -> Result<StudyContext<'s, 'n>> {
        let StudyContext { operators, settings, requests, solution, watch, .. } = self;
        let mut context = StudyContext {
            operators,
            settings,
            requests,
            rejected: 0,
            exhausted: false,
            refusal: None,
            evaluations,
            latencies,
            solution,
            watch,
            proved: false,
            broken: HashSet::new(),
        };
        context.refresh();
        for timed in context.latencies.iter().flat_map(|latencies| &latencies.timed) {
            if let Some(limit) = timed.limit {
                let milliseconds = |n: f64| format!("{} milliseconds", (1e6 * n).round() / 1e3);
                context.reach(limit, &|point| timed.model.predict(point), &milliseconds)?;
            }
        }
        Ok(context)
    }

    /// Takes over what the latency models say now.
    fn refresh(&mut self) {
        let timed = self.latencies.iter().flat_map(|latencies| &latencies.timed);
        let bound = |timed: &Timed| Some((timed.model.clone(), timed.limit? / (1.0 + timed.guard)));
        self.operators.constraints.ceilings.timed = timed.filter_map(bound).collect();
    }

    /// What is known of latency, to be changed; limits follow.
    pub(super) fn with_latencies<T>(
        &mut self,
        change: impl FnOnce(&mut Latencies<'e>) -> Result<T>,
    ) -> Result<Option<T>> {
        let done = self.latencies.as_mut().map(change).transpose();
        self.refresh();
        done
    }

    /// Limits that the space cannot count, as they are now.
    pub(super) fn ceilings(&self) -> &Ceilings {
        &self.operators.constraints.ceilings
    }

    /// What is known of latency, where it is limited or an objective.
    pub(super) fn latencies(&self) -> Option<&Latencies<'e>> {
        self.latencies.as_ref()
    }

    /// The models that values of latency objectives come from.
    pub(super) fn models(&self) -> Vec<(Phase, Model)> {
        let timed = self.latencies.iter().flat_map(|latencies| &latencies.timed);
        timed.map(|timed| (timed.phase, timed.first.clone())).collect()
    }

    /// Refuses a limit that no random network meets; `text` writes a need with its unit.
    fn reach(
        &self,
        limit: f64,
        need: &dyn Fn(&Architecture) -> f64,
        text: &dyn Fn(f64) -> String,
    ) -> Result<()> {
        let mut rng = Seed(self.settings.seed).stream("memory", 0);
        let mut least = f64::INFINITY;
        for _ in 0..DRAWS {
            least = least.min(need(&self.operators.sample(&mut rng)));
            if least <= limit {
                return Ok(());
            }
        }
        let reason = format!(
            "at most {} were requested; the least that {} random networks need is {}",
            text(limit),
            grouped(DRAWS as u64),
            text(least)
        );
        Err(Error::Infeasible { space: self.operators.space.name().to_owned(), reason })
    }

    /// How many points there can be.
    pub(super) fn size(&self) -> u64 {
        match self.operators.space.size() {
            Size::Exact(size) => u64::try_from(size).unwrap_or(u64::MAX),
            Size::Open => u64::MAX,
        }
    }

    /// The best points in the first objective where it is a cost or a score of the shape.
    fn solve(&mut self, count: usize) -> Result<Vec<Architecture>> {
        match self.solution.take() {
            Some(points) => Ok(points),
            None => exact(self.settings, count, &self.models(), self.watch),
        }
    }

    /// The best uniform network, where scores need no pass, and the largest one of each depth.
    pub(super) fn uniform(&self) -> Vec<Architecture> {
        let Some(grid) = self.operators.space.as_grid() else { return Vec::new() };
        let (limits, ceilings, models) = (&self.settings.limits, self.ceilings(), self.models());
        let keeps = |point: &Architecture| ceilings.keeps(point);
        let objective = &self.settings.objectives[0];
        let best = known(objective, &models)
            .and_then(|score| grid.best_uniform(limits, &keeps, &score).ok().flatten());
        let largest = grid.largest_uniform(limits, &keeps);
        best.map(|(_, point)| point).into_iter().chain(largest).collect()
    }

    /// A child that breaks its limits, with blocks redrawn as long as that brings it nearer to them.
    fn mended(&self, mut point: Architecture, rng: &mut Rng) -> Architecture {
        let mut excess = self.operators.constraints.excess(&point);
        for _ in 0..MENDS {
            if excess == 0.0 {
                break;
            }
            let block = rng.random_range(0..point.positions().max(1));
            let other = self.operators.redraw(&point, Whole::Keep, &|at| f64::from(at == block), rng);
            let new = self.operators.constraints.excess(&other);
            if new < excess {
                (point, excess) = (other, new);
            }
        }
        point
    }

    /// Whether a point is inside all limits.
    pub(super) fn keeps(&self, point: &Architecture) -> bool {
        self.operators.constraints.excess(point) == 0.0
    }

    /// Whether a point is inside all limits and new; it is not new again.
    pub(super) fn accept(&mut self, point: &Architecture) -> bool {
        if !self.keeps(point) {
            self.rejected += 1;
            return false;
        }
        self.operators.seen.borrow_mut().insert(point.id())
    }

    /// Measures some of the best candidates so far where that is due, and mends the models.
    pub(super) fn check_latencies(&mut self, done: u64, told: &[Told<Architecture>]) -> Result<()> {
        if !self.latencies.as_ref().is_some_and(|latencies| latencies.due(done)) {
            return Ok(());
        }
        let best = self.best(told, FINALISTS);
        let best: Vec<(u64, Architecture)> =
            best.into_iter().map(|place| (place as u64, told[place].point.clone())).collect();
        self.with_latencies(|latencies| latencies.check(done, &best))?;
        // A candidate that a better model says to break a limit leads no search any further.
        let broken = told.iter().filter(|told| self.operators.constraints.excess(&told.point) > 0.0);
        self.broken = broken.map(|told| told.point.values().to_vec()).collect();
        Ok(())
    }

    /// Which trials some architectures became.
    pub(super) fn number(&mut self, trials: &[Trial]) {
        if let Some(evaluations) = &mut self.evaluations {
            evaluations.number(trials);
        }
    }

    /// What went wrong while a searcher asked.
    pub(super) fn check_failure(&mut self) -> Result<()> {
        let stored = self.evaluations.as_mut().and_then(Evaluations::failure);
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
        // Within a set everybody's value changes with the set, and who breaks a limit may change, too.
        let relative = self.requests[0].is_some_and(Request::is_set_score) || !self.broken.is_empty();
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

impl SearchContext<Architecture> for StudyContext<'_, '_> {
    fn propose(
        &mut self,
        rng: &mut Rng,
        make: &mut dyn FnMut(&dyn Operators<Architecture>, &mut Rng) -> Architecture,
    ) -> Option<Architecture> {
        for _ in 0..TRIES {
            let child = make(&self.operators, rng);
            let point = self.mended(child, rng);
            if self.accept(&point) {
                return Some(point);
            }
        }
        for _ in 0..SAMPLES {
            let point = self.operators.sample(rng);
            if self.accept(&point) {
                return Some(point);
            }
        }
        self.exhausted = true;
        None
    }

    fn optimum(&mut self, count: usize) -> Vec<Architecture> {
        match self.solve(count) {
            Ok(points) => {
                self.proved = points.first().is_some_and(|best| self.ceilings().keeps(best));
                points.into_iter().filter(|point| self.accept(point)).collect()
            }
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
        match index.and_then(|index| self.operators.space.at(&index.into())) {
            None => {
                self.exhausted = true;
                Nth::End
            }
            Some(point) if self.accept(&point) => Nth::Fresh(point),
            Some(_) => Nth::Refused,
        }
    }

    fn fitness(&self, objective: usize, told: &[Told<Architecture>], of: &[usize]) -> Vec<f64> {
        let numbers = |told: &Told<Architecture>| {
            let out = !self.broken.is_empty() && self.broken.contains(told.point.values());
            Some(told.outcome.as_ref().filter(|_| !out)?.objectives.get(objective)?.clone())
        };
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

    fn operators(&self) -> &dyn Operators<Architecture> {
        &self.operators
    }

    fn evaluate(&mut self, point: &Architecture) -> Option<f64> {
        self.evaluations.as_mut().map(|evaluations| evaluations.evaluate(point))
    }
}

/// The value of networks in an objective, larger is better, where it is known without a pass.
pub(super) fn known<'k>(
    objective: &'k Objective,
    models: &'k [(Phase, Model)],
) -> Option<impl Fn(&Architecture) -> Result<f64> + Sync + 'k> {
    let shape = |request: &&Arc<Request>| !request.about().drawn() && !request.is_set_score();
    let request = objective.request().filter(shape);
    (request.is_some() || objective.is_cost()).then_some(move |point: &Architecture| {
        match (objective.cost(point, models), request) {
            (Some(cost), _) => Ok(-(cost as f64)),
            (None, Some(request)) => request.of_shape(point),
            (None, None) => Err(Error::option(objective.to_string(), "has no value for this network")),
        }
    })
}

/// The best networks inside limits on parameters and multiply-adds, where the first objective is a cost or reads the shape alone.
pub(super) fn exact(
    settings: &Settings,
    count: usize,
    models: &[(Phase, Model)],
    watch: &dyn Watch,
) -> Result<Vec<Architecture>> {
    let space = &*settings.space;
    if settings.shard.is_some() {
        return Err(Error::option("shard", "an exact search cannot be split: run it as one job"));
    }
    let grid = space.as_grid().ok_or_else(|| {
        Error::option(space.name(), "its networks cannot be counted, which an exact search needs")
    })?;
    let objective = &settings.objectives[0];
    let Some(score) = known(objective, models) else {
        let message = "depends on more than the shape of a network, which an exact search needs: use nsc, zerolm, params \
                       or another score of the shape";
        return Err(Error::option(objective.to_string(), message));
    };
    let cancel = CancelToken::current().unwrap_or_default();
    grid.optimum(&settings.limits, count, &score, &|share| {
        cancel.leave_if_cancelled();
        watch.solving(share);
    })
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
