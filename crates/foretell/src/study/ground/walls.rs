//! The limits of a study, as one number per candidate.

use crate::architecture::Architecture;
use crate::latency::Model;
use crate::space::{Bound, Limits, Space};
use crate::study::Settings;

/// The limits of a study.
#[derive(Clone, Copy)]
pub(super) struct Walls<'s>(pub(super) &'s Settings);

impl<'s> Walls<'s> {
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
        let mut load: f64 = 0.0;
        let mut use_up = |value: f64, most: f64| load = load.max(value / most.max(1e-9));
        if params.max < u64::MAX {
            use_up(point.params().total as f64, params.max as f64);
        }
        if flops.max < u64::MAX {
            use_up(point.flops(*counter).map_or(f64::INFINITY, |value| value as f64), flops.max as f64);
        }
        if let Some(limit) = self.0.memory {
            use_up(point.memory().total() as f64, limit as f64);
        }
        if let Some((most, model)) = self.slow() {
            use_up(model.predict(point), most);
        }
        load
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
