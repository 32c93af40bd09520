//! The best architectures inside limits, exactly, for scores that are sums over positions once the frame is given.
//!
//! Every frame is a knapsack problem ([`chain`]): a row for each position, costs inside the limits, the sum of gains
//! largest. Heads are bounded first, and only those whose bound reaches a threshold are solved. The threshold starts just
//! below the best bound and falls until enough networks lie above it, so the answer is exact whatever the bounds are
//! worth. Where they are worth too little, the search says so within about a second.

mod chain;
mod line;
mod solve;
#[cfg(test)]
mod tests;

use super::Limits;
use super::additive::{Score, plans, sums};
use super::distribution::Window;
use super::grid::Grid;
use crate::architecture::Architecture;
use crate::cancel::CancelToken;
use crate::error::{Error, Result};
use chain::Chain;
use rayon::prelude::*;
use solve::{Found, Work};

/// The most ways looked at in all: about a second.
const MAX_WAYS: u64 = 40_000_000;
/// The first threshold lies below the best bound by this share of the range of scores.
const FIRST_GAP: f64 = 1e-7;
/// How much farther each next threshold lies.
const WIDER: f64 = 4.0;
/// The share of the work that is scoring, for progress.
const SCORING: f64 = 0.9;

impl Grid {
    /// The `count` best architectures inside limits, best first.
    ///
    /// Of networks with equal scores that differ only inside their layers, such as in the order of these, one is returned.
    /// Ties go to fewer parameters, then to smaller values. The score must be a sum over layers once the fields outside
    /// them are given; others are refused, and so are limits under which too many sums of costs would have to be told
    /// apart. `progress` is told the share of the work that is done.
    pub fn optimum(
        &self,
        limits: &Limits,
        count: usize,
        score: &(dyn Fn(&Architecture) -> Result<f64> + Sync),
        progress: &(dyn Fn(f64) + Sync),
    ) -> Result<Vec<Architecture>> {
        if count == 0 {
            return Ok(Vec::new());
        }
        let window = limits.window();
        let chains = self.chains(limits, &window, count, score, progress)?;
        let found = best(&chains, count).ok_or_else(|| self.too_many(limits))?;
        let mut found: Vec<(f64, u64, Architecture)> = found
            .into_iter()
            .map(|(frame, (score, rows))| {
                let frame = &self.frames[frame];
                let point = self
                    .assemble(frame, |position| frame.menus[position].row(rows[position] as usize).to_vec());
                (score, point.params().total, point)
            })
            .collect();
        found.sort_by(|a, b| {
            b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)).then_with(|| a.2.values().cmp(b.2.values()))
        });
        found.truncate(count);
        progress(1.0);
        Ok(found.into_iter().map(|(_, _, point)| point).collect())
    }

    /// The problem of every frame that has networks inside the window.
    fn chains(
        &self,
        limits: &Limits,
        window: &Window,
        count: usize,
        score: Score,
        progress: &(dyn Fn(f64) + Sync),
    ) -> Result<Vec<Chain>> {
        let plans = plans(self, limits.counter, window);
        let sums = sums(self, &plans, score, &|share| progress(SCORING * share))?;
        let cancel = CancelToken::current().unwrap_or_default();
        let chain = |sum| {
            cancel.leave_if_cancelled();
            Chain::new(sum, window, count)
        };
        Ok(sums.par_iter().filter_map(chain).collect())
    }

    fn too_many(&self, limits: &Limits) -> Error {
        let limited = |bound: super::Bound| bound != super::Bound::default();
        let cure = match (limited(limits.params), limited(limits.flops)) {
            (true, true) => "limit parameters or multiply-adds alone, ",
            (false, true) => "limit parameters instead of multiply-adds, ",
            (true, false) => "limit multiply-adds instead of parameters, ",
            (false, false) => "",
        };
        let message = format!(
            "has too many different sums of costs inside these limits for an exact search: {cure}widen the limits, use coarser \
             choices, or take another algorithm"
        );
        Error::parse(self.definition.name.as_str(), message)
    }
}

/// At least the `count` best of all networks, with their frames; nothing if that is too much work.
fn best(chains: &[Chain], count: usize) -> Option<Vec<(usize, Found)>> {
    let top = chains.iter().map(|chain| chain.bound).fold(f64::NEG_INFINITY, f64::max);
    let bottom = chains.iter().map(|chain| chain.floor).fold(f64::INFINITY, f64::min);
    let same = chains.iter().map(|chain| chain.same).fold(0.0, f64::max);
    let work = Work::new(MAX_WAYS);
    let cancel = CancelToken::current().unwrap_or_default();
    let mut gap = FIRST_GAP * (top - bottom);
    loop {
        // The last threshold lies below everything.
        let all = top - gap <= bottom;
        let threshold = if all { f64::NEG_INFINITY } else { top - gap };
        let worth = |chain: &&Chain| chain.bound >= threshold - same;
        let found = chains.par_iter().filter(worth).map(|chain| {
            cancel.leave_if_cancelled();
            let found = match line::solve(chain, count) {
                Some(found) => found,
                None => solve::solve(chain, count, threshold, &work)?,
            };
            let above = found.into_iter().filter(|network| network.0 >= threshold);
            Some(above.map(|network| (chain.frame, network)).collect::<Vec<_>>())
        });
        let found: Vec<(usize, Found)> = found.collect::<Option<Vec<_>>>()?.into_iter().flatten().collect();
        if all || found.len() >= count {
            return Some(found);
        }
        gap = (gap * WIDER).max(same);
    }
}
