//! A space inside limits, as searchers see it.

use super::evaluate::as_given;
use super::{Evaluator, Objective, Settings, Shard, Watch};
use crate::architecture::{Architecture, Block};
use crate::error::{Error, Result};
use crate::latency::Model;
use crate::proxy::{Request, Score};
use crate::score::Scorer;
use crate::search::{Ground, Moves, Nth, Told, Whole};
use crate::seed::{Rng, Seed};
use crate::space::{Bound, Feasible, Limits, Size, Space};
use crate::store::{self, Evaluation, Store, Trial};
use crate::units::grouped;
use rand::RngExt;
use rand::seq::IndexedRandom;
use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::time::Instant;

/// How often a child is made anew before a random point takes its place: at a limit most children break it.
const TRIES: usize = 1000;
/// Blocks drawn anew to bring a child inside its limits.
const MENDS: usize = 40;
/// How often a random point is drawn before there is taken to be none left.
const SAMPLES: usize = 1000;
/// Draws after which a limit on memory or latency is taken to be out of reach.
const DRAWS: usize = 10_000;
/// Draws per shard after which one is taken to have nothing left of its own, and takes what others have.
const DRAWS_OF_OTHERS: u64 = 30;

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

/// What an evaluator said so far, and how to ask it further.
pub(super) struct Evaluations<'s> {
    evaluator: &'s dyn Evaluator,
    store: &'s Mutex<&'s mut Store>,
    study: &'s store::Study,
    watch: &'s dyn Watch,
    /// The trial of each architecture told so far.
    trials: HashMap<String, u64>,
    /// What was said of a trial.
    known: HashMap<u64, Evaluation>,
    digest: [u8; 32],
    /// What could not be stored.
    failure: Option<Error>,
}

impl<'s> Evaluations<'s> {
    pub(super) fn new(
        evaluator: &'s dyn Evaluator,
        store: &'s Mutex<&'s mut Store>,
        study: &'s store::Study,
        (known, digest): (Vec<Evaluation>, [u8; 32]),
        watch: &'s dyn Watch,
    ) -> Result<Self> {
        if let Some(other) = known.iter().find(|known| known.evaluator != evaluator.label()) {
            let reason = format!("was evaluated by {}: choose another --name", other.evaluator);
            return Err(Error::input(format!("study '{}'", study.name), reason));
        }
        let known = known.into_iter().map(|known| (known.trial, known)).collect();
        Ok(Evaluations {
            evaluator,
            store,
            study,
            watch,
            trials: HashMap::new(),
            known,
            digest,
            failure: None,
        })
    }

    fn worth(&mut self, point: &Architecture) -> f64 {
        let trial = self.trials.get(&point.id()).copied();
        let Some(trial) = trial.filter(|_| self.failure.is_none()) else { return f64::NEG_INFINITY };
        if !self.known.contains_key(&trial) {
            let start = Instant::now();
            let mut said = Evaluation { trial, evaluator: self.evaluator.label(), ..Evaluation::default() };
            match self.evaluator.evaluate(point) {
                Ok(value) => (said.status, said.value) = ("ok".to_owned(), value),
                Err(failure) => {
                    (said.status, said.message) = (failure.status.to_owned(), failure.message);
                    said.value = f64::NAN;
                }
            }
            said.seconds = start.elapsed().as_secs_f64();
            let mut store = self.store.lock().expect("no holder panics");
            match store.evaluated(self.study, self.known.len() as u64, &said, &self.digest) {
                Ok(digest) => self.digest = digest,
                Err(error) => self.failure = Some(error),
            }
            self.watch.evaluated(trial, said.value().map(|value| as_given(&said.evaluator, value)));
            self.known.insert(trial, said);
        }
        self.known[&trial].value().unwrap_or(f64::NEG_INFINITY)
    }
}

struct SpaceMoves<'s> {
    space: &'s dyn Space,
    inside: Option<Box<dyn Feasible + 's>>,
    /// The slots outside the positions that may vary.
    varying: Vec<usize>,
    shard: Option<Shard>,
}

impl<'s, 'e> SpaceGround<'s, 'e> {
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
            moves: SpaceMoves { space, inside, varying, shard: settings.shard },
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
            let bytes = |n: f64| format!("{} bytes of memory", grouped(n as u64));
            self.reach(limit as f64, &|point| point.memory().total() as f64, &bytes)?;
        }
        match self.slow() {
            Some((most, model)) => {
                let milliseconds = |n: f64| format!("{} milliseconds", (1e6 * n).round() / 1e3);
                self.reach(most, &|point| model.predict(point), &milliseconds)
            }
            None => Ok(()),
        }
    }

    /// The limit on latency and what foretells it.
    fn slow(&self) -> Option<(f64, &Model)> {
        Some((self.settings.latency?, self.settings.model.as_ref()?))
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
            least = least.min(need(&self.moves.sample(&mut rng)));
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
        let objective = &self.settings.objectives[0];
        grid.optimum(&self.settings.limits, count, &|point| match (
            self.settings.cost(objective, point),
            self.requests[0],
        ) {
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

    /// By what shares of them a point breaks its limits, in all; nothing inside them.
    fn excess(&self, point: &Architecture) -> f64 {
        let Limits { params, flops, counter } = &self.settings.limits;
        let over = |value: f64, most: f64| (value / most.max(1e-9) - 1.0).max(0.0);
        let outside = |bound: &Bound, value: u64| {
            over(value as f64, bound.max as f64) + over(bound.min as f64, value as f64)
        };
        let mut excess = outside(params, point.params().total);
        if *flops != Bound::default() {
            excess += point.flops(*counter).map_or(f64::INFINITY, |value| outside(flops, value));
        }
        if let Some(limit) = self.settings.memory {
            excess += over(point.memory().total() as f64, limit as f64);
        }
        excess + self.slow().map_or(0.0, |(most, model)| over(model.predict(point), most))
    }

    /// A child that breaks its limits, with blocks drawn anew as long as that brings it nearer to them.
    fn mended(&self, mut point: Architecture, rng: &mut Rng) -> Architecture {
        let mut excess = self.excess(&point);
        for _ in 0..MENDS {
            if excess == 0.0 {
                break;
            }
            let block = rng.random_range(0..point.positions().max(1));
            let other = self.moves.redraw(&point, Whole::Keep, &|at| f64::from(at == block), rng);
            let new = self.excess(&other);
            if new < excess {
                (point, excess) = (other, new);
            }
        }
        point
    }

    /// Whether a point is inside all limits and new; it is not new again.
    fn accept(&mut self, point: &Architecture) -> bool {
        if self.excess(point) > 0.0 {
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

impl Moves<Architecture> for SpaceMoves<'_> {
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
