//! The limits of a study, as one number per candidate.

use crate::architecture::Architecture;
use crate::latency::Model;
use crate::space::{Bound, Limits};
use crate::study::Settings;

/// Limits that a space cannot count: memory, cache and predicted latency.
#[derive(Default)]
pub(in crate::study) struct Ceilings {
    memory: Option<u64>,
    cache: Option<u64>,
    /// Predictions that must stay below a number of seconds.
    pub(super) timed: Vec<(Model, f64)>,
}

impl Ceilings {
    /// Those of some settings, without latency.
    pub(in crate::study) fn of(settings: &Settings) -> Self {
        Ceilings { memory: settings.memory, cache: settings.cache, timed: Vec::new() }
    }

    /// The share of each limit that a point uses.
    fn shares(&self, point: &Architecture) -> impl Iterator<Item = f64> {
        let memory = self.memory.map(|most| share(point.memory().total() as f64, most as f64));
        let cache = self.cache.map(|most| share(point.cache_bytes().unwrap_or(0) as f64, most as f64));
        let timed = self.timed.iter().map(|(model, most)| share(model.predict(point), *most));
        memory.into_iter().chain(cache).chain(timed)
    }

    /// Whether a point keeps all of them.
    pub(in crate::study) fn keeps(&self, point: &Architecture) -> bool {
        self.shares(point).all(|share| share <= 1.0)
    }
}

fn share(value: f64, most: f64) -> f64 {
    value / most.max(1e-9)
}

/// The limits of a study.
pub(in crate::study) struct Constraints<'s> {
    pub(super) settings: &'s Settings,
    pub(in crate::study) ceilings: Ceilings,
}

impl Constraints<'_> {
    /// Whether anything is limited from above.
    pub(super) fn limited(&self) -> bool {
        let Limits { params, flops, .. } = &self.settings.limits;
        let Ceilings { memory, cache, timed } = &self.ceilings;
        let bounded = [params, flops].iter().any(|bound| bound.max < u64::MAX);
        bounded || memory.is_some() || cache.is_some() || !timed.is_empty()
    }

    /// The largest share of an upper limit that a point uses; more than 1 if it breaks one.
    pub(super) fn load(&self, point: &Architecture) -> f64 {
        let Limits { params, flops, counter } = &self.settings.limits;
        let count = |bound: &Bound, value: &dyn Fn() -> u64| if bound.max < u64::MAX { value() } else { 0 };
        let spent = [
            count(params, &|| point.params().total),
            count(flops, &|| point.flops(*counter).unwrap_or(u64::MAX)),
        ];
        self.ceilings.shares(point).fold(self.share(spent), f64::max)
    }

    /// The largest share of an upper limit that so many parameters and multiply-adds use.
    fn share(&self, spent: [u64; 2]) -> f64 {
        let bounds = [self.settings.limits.params, self.settings.limits.flops];
        let used = |(bound, spent): (Bound, u64)| match bound.max {
            u64::MAX => 0.0,
            most => share(spent as f64, most as f64),
        };
        bounds.into_iter().zip(spent).map(used).fold(0.0, f64::max)
    }

    /// By what shares of them a point breaks its limits, in all; nothing inside them.
    pub(super) fn excess(&self, point: &Architecture) -> f64 {
        let Limits { params, flops, counter } = &self.settings.limits;
        let over = |value: f64, most: f64| (share(value, most) - 1.0).max(0.0);
        let outside = |bound: &Bound, value: u64| {
            over(value as f64, bound.max as f64) + over(bound.min as f64, value as f64)
        };
        let mut excess = outside(params, point.params().total);
        if *flops != Bound::default() {
            excess += point.flops(*counter).map_or(f64::INFINITY, |value| outside(flops, value));
        }
        excess + self.ceilings.shares(point).map(|share| (share - 1.0).max(0.0)).sum::<f64>()
    }
}

/// The load of a point while its positions change one at a time.
pub(super) struct LoadMeter<'w, 's> {
    constraints: &'w Constraints<'s>,
    /// Parameters and multiply-adds, which are sums over positions; nothing if other limits count, too.
    spent: Option<[u64; 2]>,
    load: f64,
}

impl<'w, 's> LoadMeter<'w, 's> {
    pub(super) fn new(constraints: &'w Constraints<'s>, point: &Architecture) -> Self {
        let counter = constraints.settings.limits.counter;
        let sums = constraints.ceilings.shares(point).next().is_none();
        let spent = sums.then(|| {
            let positions = (0..point.positions()).map(|position| point.cost_position(position, counter));
            positions.fold(point.cost_outside(counter), |[a, b], [c, d]| [a + c, b + d])
        });
        let load = spent.map_or_else(|| constraints.load(point), |spent| constraints.share(spent));
        LoadMeter { constraints, spent, load }
    }

    /// The largest share of an upper limit that the point uses.
    pub(super) fn load(&self) -> f64 {
        self.load
    }

    /// Changes a position of the point; the load afterwards.
    pub(super) fn change(
        &mut self,
        point: &mut Architecture,
        position: usize,
        change: impl FnOnce(&mut Architecture),
    ) -> f64 {
        let counter = self.constraints.settings.limits.counter;
        let cost = |point: &Architecture| point.cost_position(position, counter);
        match self.spent {
            None => {
                change(point);
                self.load = self.constraints.load(point);
            }
            Some(spent) => {
                let before = cost(point);
                change(point);
                let after = cost(point);
                let spent = [0, 1].map(|metric| spent[metric] - before[metric] + after[metric]);
                (self.spent, self.load) = (Some(spent), self.constraints.share(spent));
            }
        }
        self.load
    }
}
