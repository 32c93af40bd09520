//! Uniform networks: the same choice at every position. They are what people build by hand, so searches are compared
//! with the best of them.
//!
//! Each field takes the same place in its list of choices at every position. Where lists differ in length, as they do
//! between stages, the place is scaled: at level `t` of `0..L`, `L` the longest list, it is `round(t (len − 1) / (L − 1))`.
//! Lists outside the positions with an entry for each stage follow the same rule. What is not admissible is left out.

mod pattern;
#[cfg(test)]
mod tests;

use super::Limits;
use super::additive::{Plan, Score, plans, sums};
use super::distribution::Cost;
use super::grid::Grid;
use crate::architecture::{Architecture, Positions};
use crate::cancel::CancelToken;
use crate::error::{Error, Result};
use pattern::{Kinds, Pattern};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Up to so many networks are scored one by one; beyond, the score is tried as a sum over layers first.
const SCORED: usize = 10_000;
/// The least number of networks scored at a time.
const BATCH: usize = 256;
/// CostDistribution of gains closer than this share may belong to equal scores.
const PRECISION: f64 = 1e-9;

/// Which networks are looked at besides those inside the limits.
type Keep<'k> = &'k (dyn Fn(&Architecture) -> bool + Sync);

/// A uniform network by index.
#[derive(Clone, Copy)]
struct Uniform {
    frame: u32,
    network: u32,
    params: u64,
}

/// The uniform networks of a space inside limits.
struct Uniforms<'g> {
    grid: &'g Grid,
    plans: Vec<Plan>,
    patterns: FxHashMap<u32, (Kinds, Arc<Pattern>)>,
    networks: Vec<Uniform>,
}

impl Grid {
    /// How many uniform networks there are.
    pub fn uniform_size(&self) -> u64 {
        let frames = (0..self.frames.len()).collect::<Vec<_>>();
        self.patterns(&frames).values().map(|(_, pattern)| pattern.len() as u64).sum()
    }

    /// The best uniform network by a score among all inside the limits that `keep` accepts, with its score.
    ///
    /// Ties go to fewer parameters, then to smaller values. A network whose score fails is left out; if all fail, the
    /// error of one of them is returned.
    pub fn best_uniform(
        &self,
        limits: &Limits,
        keep: &(dyn Fn(&Architecture) -> bool + Sync),
        score: &(dyn Fn(&Architecture) -> Result<f64> + Sync),
    ) -> Result<Option<(f64, Architecture)>> {
        let uniforms = Uniforms::new(self, limits);
        if uniforms.networks.len() > SCORED
            && let Ok(predicted) = uniforms.predicted(score)
        {
            return uniforms.best_first(predicted, keep, score);
        }
        uniforms.best(&uniforms.networks, keep, score)
    }

    /// The uniform network inside the limits, accepted by `keep`, that is nearest in parameters, whatever its depth.
    ///
    /// Ties go to fewer parameters, then to smaller values.
    pub fn nearest_uniform(
        &self,
        limits: &Limits,
        keep: &(dyn Fn(&Architecture) -> bool + Sync),
        params: u64,
    ) -> Option<Architecture> {
        let mut uniforms = Uniforms::new(self, limits);
        let mut networks = std::mem::take(&mut uniforms.networks);
        let key = |network: &Uniform| (network.params.abs_diff(params), network.params);
        networks.par_sort_unstable_by_key(|network| (key(network), network.frame, network.network));
        uniforms.first(&networks, keep)
    }

    /// For each depth, the largest uniform network in parameters inside the limits that `keep` accepts; shallow first.
    ///
    /// Ties go to smaller values.
    pub fn largest_uniform(
        &self,
        limits: &Limits,
        keep: &(dyn Fn(&Architecture) -> bool + Sync),
    ) -> Vec<Architecture> {
        let uniforms = Uniforms::new(self, limits);
        let layers = matches!(self.definition.family.card().positions, Positions::Layers(_));
        let mut by_depth: BTreeMap<u64, Vec<Uniform>> = BTreeMap::new();
        let mut last = None;
        for network in &uniforms.networks {
            let depth = match last {
                Some((frame, depth)) if layers && frame == network.frame => depth,
                _ => uniforms.architecture(network).depth(),
            };
            last = Some((network.frame, depth));
            by_depth.entry(depth).or_default().push(*network);
        }
        let largest = by_depth.into_par_iter().map(|(_, mut networks)| {
            networks.sort_unstable_by_key(|n| (std::cmp::Reverse(n.params), n.frame, n.network));
            uniforms.first(&networks, keep)
        });
        largest.collect::<Vec<_>>().into_iter().flatten().collect()
    }
}

impl<'g> Uniforms<'g> {
    fn new(grid: &'g Grid, limits: &Limits) -> Self {
        let window = limits.window();
        let plans = plans(grid, limits.counter, &window);
        let frames: Vec<usize> = plans.iter().map(|plan| plan.frame).collect();
        let patterns = grid.patterns(&frames);
        let cancel = CancelToken::current().unwrap_or_default();
        let inside = |plan: &Plan| {
            cancel.leave_if_cancelled();
            let Some((kinds, pattern)) = patterns.get(&(plan.frame as u32)) else { return Vec::new() };
            let network = |network: u32| {
                let total = cost(plan, kinds, pattern.rows(network));
                let found = Uniform { frame: plan.frame as u32, network, params: total[0] };
                window.holds(total).then_some(found)
            };
            (0..pattern.len() as u32).filter_map(network).collect()
        };
        let networks: Vec<Vec<Uniform>> = plans.par_iter().map(inside).collect();
        Uniforms { grid, networks: networks.concat(), plans, patterns }
    }

    fn architecture(&self, network: &Uniform) -> Architecture {
        let frame = &self.grid.frames[network.frame as usize];
        let (kinds, pattern) = &self.patterns[&network.frame];
        let rows = pattern.rows(network.network);
        self.grid
            .assemble(frame, |position| frame.menus[position].row(rows[kinds.of[position]] as usize).to_vec())
    }

    /// The first of sorted networks that is accepted; of those that tie with it in parameters, the smallest by values.
    fn first(&self, networks: &[Uniform], keep: Keep) -> Option<Architecture> {
        let accepted = |network: &Uniform| Some(self.architecture(network)).filter(|point| keep(point));
        for ties in networks.chunk_by(|a, b| a.params == b.params) {
            let smallest = ties.iter().filter_map(accepted).min_by(|a, b| a.values().cmp(b.values()));
            if smallest.is_some() {
                return smallest;
            }
        }
        None
    }

    /// The score of each network as a sum of gains; an error if it is no sum.
    fn predicted(&self, score: Score) -> Result<Vec<(f64, Uniform)>> {
        let cancel = CancelToken::current().unwrap_or_default();
        let sums = sums(self.grid, &self.plans, score, &|_| cancel.leave_if_cancelled())?;
        let by_frame: FxHashMap<u32, _> = sums.iter().map(|sum| (sum.frame as u32, sum)).collect();
        let predict = |network: &Uniform| {
            let sum = by_frame.get(&network.frame)?;
            let (kinds, pattern) = &self.patterns[&network.frame];
            let rows = pattern.rows(network.network);
            let gains = kinds.of.iter().zip(&sum.rows).map(|(kind, of)| of.gains[rows[*kind] as usize]);
            Some((sum.start + gains.sum::<f64>(), *network))
        };
        Ok(self.networks.par_iter().filter_map(predict).collect())
    }

    /// The best network where scores are known but for rounding: the likeliest are scored until no other can win.
    fn best_first(
        &self,
        mut predicted: Vec<(f64, Uniform)>,
        keep: Keep,
        score: Score,
    ) -> Result<Option<(f64, Architecture)>> {
        predicted.par_sort_unstable_by(|(a, x), (b, y)| {
            b.total_cmp(a).then_with(|| (x.frame, x.network).cmp(&(y.frame, y.network)))
        });
        let mut best: Option<(f64, Architecture)> = None;
        let mut failure = None;
        let mut rest = predicted.as_slice();
        while let Some((top, _)) = rest.first() {
            if best.as_ref().is_some_and(|(score, _)| *top < score - PRECISION * score.abs()) {
                return Ok(best);
            }
            let near = rest.partition_point(|(score, _)| *score >= top - PRECISION * top.abs());
            let (batch, later) = rest.split_at(near.max(BATCH).min(rest.len()));
            let batch: Vec<Uniform> = batch.iter().map(|(_, network)| *network).collect();
            match self.best(&batch, keep, score) {
                Ok(found) => best = [best, found].into_iter().flatten().min_by(order),
                Err(error) => failure = Some(error),
            }
            rest = later;
        }
        match (best, failure) {
            (None, Some(error)) => Err(error),
            (best, _) => Ok(best),
        }
    }

    /// The best of some networks, each scored.
    fn best(&self, networks: &[Uniform], keep: Keep, score: Score) -> Result<Option<(f64, Architecture)>> {
        let scored = networks.par_iter().filter_map(|network| {
            let point = self.architecture(network);
            let finite = |score: f64| match score.is_finite() {
                true => Ok(score),
                false => Err(Error::parse("the score", format!("is {score} for {point:?}"))),
            };
            keep(&point)
                .then(|| score(&point).and_then(finite))
                .map(|score| score.map(|score| (score, point)))
        });
        // Any order of the reduction gives the same network: the comparison is total.
        scored
            .map(|scored| scored.map(Some))
            .reduce_with(|a, b| match (a, b) {
                (Ok(a), Ok(b)) => Ok([a, b].into_iter().flatten().min_by(order)),
                (Ok(found), Err(_)) | (Err(_), Ok(found)) => Ok(found),
                (Err(first), Err(_)) => Err(first),
            })
            .unwrap_or(Ok(None))
    }
}

/// Better first: higher score, then fewer parameters, then smaller values.
fn order(a: &(f64, Architecture), b: &(f64, Architecture)) -> Ordering {
    b.0.total_cmp(&a.0)
        .then_with(|| a.1.params().total.cmp(&b.1.params().total))
        .then_with(|| a.1.values().cmp(b.1.values()))
}

/// The cost of a uniform network.
fn cost(plan: &Plan, kinds: &Kinds, rows: &[u32]) -> Cost {
    let mut total = plan.outside;
    for (position, kind) in kinds.of.iter().enumerate() {
        let row = plan.costs[position][rows[*kind] as usize];
        total = [total[0] + row[0], total[1] + row[1]];
    }
    total
}
