//! The limits of a study, as one number per candidate.

use crate::architecture::Architecture;
use crate::latency::Model;
use crate::space::{Bound, Limits, Space};
use crate::study::Settings;

/// The limits of a study.
#[derive(Clone, Copy)]
pub(super) struct Constraints<'s>(pub(super) &'s Settings);

impl<'s> Constraints<'s> {
    pub(super) fn space(self) -> &'s dyn Space {
        &*self.0.space
    }

    /// The limit on latency and the model that predicts it.
    pub(super) fn slow(self) -> Option<(f64, &'s Model)> {
        Some((self.0.latency?, self.0.model.as_ref()?))
    }

    /// Whether anything is limited from above.
    pub(super) fn limited(self) -> bool {
        let Limits { params, flops, .. } = &self.0.limits;
        let bounded = [params, flops].iter().any(|bound| bound.max < u64::MAX);
        bounded || self.0.memory.is_some() || self.slow().is_some()
    }

    /// The largest share of an upper limit that a point uses; more than 1 if it breaks one.
    pub(super) fn load(self, point: &Architecture) -> f64 {
        let Limits { params, flops, counter } = &self.0.limits;
        let count = |bound: &Bound, value: &dyn Fn() -> u64| if bound.max < u64::MAX { value() } else { 0 };
        let spent = [
            count(params, &|| point.params().total),
            count(flops, &|| point.flops(*counter).unwrap_or(u64::MAX)),
        ];
        let mut load = self.share(spent);
        if let Some(limit) = self.0.memory {
            load = load.max(point.memory().total() as f64 / (limit as f64).max(1e-9));
        }
        self.slow().map_or(load, |(most, model)| load.max(model.predict(point) / most.max(1e-9)))
    }

    /// The largest share of an upper limit that so many parameters and multiply-adds use.
    fn share(self, spent: [u64; 2]) -> f64 {
        let bounds = [self.0.limits.params, self.0.limits.flops];
        let used = |(bound, spent): (Bound, u64)| match bound.max {
            u64::MAX => 0.0,
            most => spent as f64 / (most as f64).max(1e-9),
        };
        bounds.into_iter().zip(spent).map(used).fold(0.0, f64::max)
    }

    /// By what shares of them a point breaks its limits, in all; nothing inside them.
    pub(super) fn excess(self, point: &Architecture) -> f64 {
        let Limits { params, flops, counter } = &self.0.limits;
        let over = |value: f64, most: f64| (value / most.max(1e-9) - 1.0).max(0.0);
        let outside = |bound: &Bound, value: u64| {
            over(value as f64, bound.max as f64) + over(bound.min as f64, value as f64)
        };
        let mut excess = outside(params, point.params().total);
        if *flops != Bound::default() {
            excess += point.flops(*counter).map_or(f64::INFINITY, |value| outside(flops, value));
        }
        if let Some(limit) = self.0.memory {
            excess += over(point.memory().total() as f64, limit as f64);
        }
        excess + self.slow().map_or(0.0, |(most, model)| over(model.predict(point), most))
    }
}

/// The load of a point while its positions change one at a time.
pub(super) struct LoadMeter<'s> {
    constraints: Constraints<'s>,
    /// Parameters and multiply-adds, which are sums over positions; nothing if memory or latency count, too.
    spent: Option<[u64; 2]>,
    load: f64,
}

impl<'s> LoadMeter<'s> {
    pub(super) fn new(constraints: Constraints<'s>, point: &Architecture) -> Self {
        let counter = constraints.0.limits.counter;
        let sums = constraints.0.memory.is_none() && constraints.slow().is_none();
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
        let counter = self.constraints.0.limits.counter;
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
