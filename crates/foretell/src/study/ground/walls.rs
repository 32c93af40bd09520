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
pub(in crate::study) struct Walls<'s> {
    pub(super) settings: &'s Settings,
    pub(in crate::study) ceilings: Ceilings,
}

impl Walls<'_> {
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
        let mut load: f64 = 0.0;
        if params.max < u64::MAX {
            load = share(point.params().total as f64, params.max as f64);
        }
        if flops.max < u64::MAX {
            let value = point.flops(*counter).map_or(f64::INFINITY, |value| value as f64);
            load = load.max(share(value, flops.max as f64));
        }
        self.ceilings.shares(point).fold(load, f64::max)
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
