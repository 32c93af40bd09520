//! Sampling under hard limits: feasible by construction, and a proof where nothing is feasible.
//!
//! Given a frame, cost is a sum over layers. For every frame the distribution of that sum is computed exactly
//! ([`CostDistribution`]); layers are then drawn one after the other, each choice weighted by the mass of completions that end
//! inside the limits. A sample therefore follows precisely the space's own distribution conditioned on feasibility
//! (or, on request, is uniform over the feasible set); no draw is wasted and no budget loops for ever.
//!
//! Where too many different sums exist, costs are rounded down to a grid and the limits loosened accordingly: the
//! same draw then proposes a superset and an exact check rejects, which leaves the distribution unchanged.

use super::distribution::{Cost, CostDistribution, Window};
use super::grid::{Grid, Menu};
use super::{Feasible, Limits};
use crate::architecture::{Architecture, Counter, Positions};
use crate::error::{Error, Result};
use crate::seed::Rng;
use crate::units::grouped;
use num_bigint::BigUint;
use rand::RngExt;
use std::collections::HashMap;
use std::sync::Arc;

/// The most different sums kept for one chain of layers.
const MAX_STATES: usize = 60_000;
/// Proposals tried where costs had to be rounded.
const MAX_TRIES: usize = 100_000;

/// Costs of menu rows, computed once per frame and menu.
pub(super) struct RowCosts<'g> {
    grid: &'g Grid,
    counter: Counter,
    last: Option<(usize, usize, Arc<Vec<Cost>>)>,
}

impl<'g> RowCosts<'g> {
    pub(super) fn new(grid: &'g Grid, counter: Counter) -> Self {
        RowCosts { grid, counter, last: None }
    }

    /// The architecture of a frame with the first row everywhere.
    pub(super) fn scratch(&self, frame: usize) -> Architecture {
        let frame = &self.grid.frames[frame];
        let mut values = frame.values.clone();
        frame.menus.iter().for_each(|menu| values.extend_from_slice(menu.row(0)));
        self.grid.architecture(values)
    }

    pub(super) fn outside(&self, frame: usize) -> Cost {
        self.scratch(frame).cost_outside(self.counter)
    }

    /// The cost of each row of the menu at a position.
    pub(super) fn rows(&mut self, frame: usize, position: usize) -> Arc<Vec<Cost>> {
        let menu: &Arc<Menu> = &self.grid.frames[frame].menus[position];
        let layers_alike = matches!(self.grid.definition.family.card().positions, Positions::Layers(_));
        let key = Arc::as_ptr(menu) as usize;
        if let Some((h, k, costs)) = &self.last
            && (*h, *k) == (frame, key)
            && layers_alike
        {
            return costs.clone();
        }
        let mut scratch = self.scratch(frame);
        let costs = menu.iter().map(|row| {
            scratch.row_mut(position).copy_from_slice(row);
            scratch.cost_position(position, self.counter)
        });
        let costs = Arc::new(costs.collect::<Vec<_>>());
        self.last = Some((frame, key, costs.clone()));
        costs
    }
}

/// One draw of a layer: its different costs, their shares, and the menu rows behind each.
struct Step {
    entries: Vec<(Cost, f64)>,
    rows: Vec<Vec<usize>>,
}

/// The feasible part of one frame.
struct Reach {
    frame: usize,
    outside: Cost,
    steps: Vec<usize>,
    mass: f64,
}

/// The feasible set of a grid.
pub(super) struct Budget<'g> {
    grid: &'g Grid,
    window: Window,
    counter: Counter,
    rounding: Cost,
    steps: Vec<Step>,
    tails: HashMap<Vec<usize>, Arc<CostDistribution>>,
    reaches: Vec<Reach>,
}

impl<'g> Budget<'g> {
    /// Counts what is feasible; an error names the binding limit and the nearest feasible value.
    pub(super) fn new(grid: &'g Grid, limits: &Limits) -> Result<Self> {
        let window = limits.window();
        let mut rounding = [1, 1];
        let mut budget = loop {
            let mut budget = Budget {
                grid,
                window,
                counter: limits.counter,
                rounding,
                steps: Vec::new(),
                tails: HashMap::from([(Vec::new(), Arc::new(CostDistribution::nothing()))]),
                reaches: Vec::new(),
            };
            if budget.build() {
                break budget;
            }
            rounding = rounding.map(|unit| unit * 8);
        };
        budget.reaches.retain(|reach| reach.mass > 0.0);
        if budget.reaches.is_empty() { Err(infeasible(grid, limits)) } else { Ok(budget) }
    }

    /// The mass of every frame; false if there are too many different sums.
    fn build(&mut self) -> bool {
        let bounded = self.bounded();
        let mut costs = RowCosts::new(self.grid, self.counter);
        let mut known: HashMap<Arc<Vec<Cost>>, usize> = HashMap::new();
        for frame in 0..self.grid.frames.len() {
            let outside = costs.outside(frame);
            let mut steps = Vec::with_capacity(self.grid.frames[frame].menus.len());
            for position in 0..self.grid.frames[frame].menus.len() {
                let rows = costs.rows(frame, position);
                let step = *known.entry(rows).or_insert_with_key(|rows| {
                    let rounded = rows.iter().map(|cost| {
                        let round = |m: usize| if bounded[m] { cost[m] / self.rounding[m] } else { 0 };
                        [round(0), round(1)]
                    });
                    self.steps.push(Step::new(rounded));
                    self.steps.len() - 1
                });
                steps.push(step);
            }
            if !self.grow(&steps) {
                return false;
            }
            let window = self.rest(outside, steps.len());
            let mass = window.map_or(0.0, |window| self.tails[&steps].within(&window));
            self.reaches.push(Reach { frame, outside, steps, mass });
        }
        true
    }

    fn bounded(&self) -> [bool; 2] {
        [0, 1].map(|m| self.window.low[m] > 0 || self.window.high[m] < u64::MAX)
    }

    /// CostDistribution of every tail of the chain, shared with all chains that end alike.
    fn grow(&mut self, steps: &[usize]) -> bool {
        for start in (0..steps.len()).rev() {
            if !self.tails.contains_key(&steps[start..]) {
                let tail = &self.tails[&steps[start + 1..]];
                match tail.add(&self.steps[steps[start]].entries, MAX_STATES) {
                    Some(sums) => self.tails.insert(steps[start..].to_vec(), Arc::new(sums)),
                    None => return false,
                };
            }
        }
        true
    }

    /// What the layers may cost once the rest is paid, in rounded units: loosened by what rounding may hide.
    fn rest(&self, outside: Cost, layers: usize) -> Option<Window> {
        let mut window = self.window.after(outside)?;
        for (metric, bounded) in self.bounded().into_iter().enumerate() {
            let unit = self.rounding[metric];
            let hidden = layers as u64 * (unit - 1);
            window.low[metric] =
                if bounded { window.low[metric].saturating_sub(hidden).div_ceil(unit) } else { 0 };
            if bounded && window.high[metric] < u64::MAX {
                window.high[metric] /= unit;
            } else {
                window.high[metric] = u64::MAX;
            }
        }
        Some(window)
    }

    fn draw(&self, reach: &Reach, rng: &mut Rng) -> Architecture {
        let frame = &self.grid.frames[reach.frame];
        let mut values = frame.values.clone();
        let mut window =
            self.rest(reach.outside, reach.steps.len()).expect("a frame with mass leaves a window");
        for (position, &step) in reach.steps.iter().enumerate() {
            let tail = &self.tails[&reach.steps[position + 1..]];
            let step = &self.steps[step];
            let weights: Vec<f64> = step
                .entries
                .iter()
                .map(|(cost, share)| window.after(*cost).map_or(0.0, |rest| share * tail.within(&rest)))
                .collect();
            let entry = pick(&weights, rng);
            let rows = &step.rows[entry];
            values.extend_from_slice(frame.menus[position].row(rows[rng.random_range(0..rows.len())]));
            window = window.after(step.entries[entry].0).expect("an entry with mass fits the window");
        }
        self.grid.architecture(values)
    }

    fn cost(&self, architecture: &Architecture) -> Cost {
        [architecture.params().total, architecture.flops(self.counter).unwrap_or(0)]
    }

    fn weights(&self, uniform: bool) -> Vec<f64> {
        let sizes = self.reaches.iter().map(|reach| &self.grid.frames[reach.frame].size);
        let largest = ln(sizes.clone().max().expect("a budget reaches a head"));
        let weight = |(reach, size): (&Reach, &BigUint)| {
            reach.mass * if uniform { (ln(size) - largest).exp() } else { 1.0 }
        };
        self.reaches.iter().zip(sizes).map(weight).collect()
    }
}

impl Feasible for Budget<'_> {
    fn sample(&self, uniform: bool, rng: &mut Rng) -> Result<Architecture> {
        let weights = self.weights(uniform);
        for _ in 0..MAX_TRIES {
            let point = self.draw(&self.reaches[pick(&weights, rng)], rng);
            if self.window.holds(self.cost(&point)) {
                return Ok(point);
            }
        }
        let reason = format!(
            "no architecture was found inside these limits in {MAX_TRIES} guided draws; widen them slightly"
        );
        Err(Error::Infeasible { space: self.grid.definition.name.clone(), reason })
    }

    fn share(&self) -> Option<f64> {
        if self.rounding != [1, 1] {
            return None;
        }
        let all = self.grid.frames.iter().map(|frame| &frame.size).sum::<BigUint>();
        let part = |reach: &Reach| reach.mass * (ln(&self.grid.frames[reach.frame].size) - ln(&all)).exp();
        Some(self.reaches.iter().map(part).sum())
    }
}

impl Step {
    fn new(costs: impl Iterator<Item = Cost>) -> Self {
        let mut groups: Vec<(Cost, Vec<usize>)> = Vec::new();
        let mut place: HashMap<Cost, usize> = HashMap::new();
        let mut total = 0;
        for (row, cost) in costs.enumerate() {
            let at = *place.entry(cost).or_insert_with(|| {
                groups.push((cost, Vec::new()));
                groups.len() - 1
            });
            groups[at].1.push(row);
            total += 1;
        }
        let entries = groups.iter().map(|(cost, rows)| (*cost, rows.len() as f64 / total as f64)).collect();
        Step { entries, rows: groups.into_iter().map(|(_, rows)| rows).collect() }
    }
}

fn pick(weights: &[f64], rng: &mut Rng) -> usize {
    let mut left = rng.random::<f64>() * weights.iter().sum::<f64>();
    let last = weights.iter().rposition(|weight| *weight > 0.0).expect("something has weight");
    weights
        .iter()
        .position(|weight| {
            left -= weight;
            left < 0.0 && *weight > 0.0
        })
        .unwrap_or(last)
}

/// Natural logarithm of a positive integer of any size.
pub(super) fn ln(size: &BigUint) -> f64 {
    let shift = size.bits().saturating_sub(64);
    let leading = u64::try_from(size >> shift).expect("64 bits are left");
    (leading as f64).ln() + shift as f64 * std::f64::consts::LN_2
}

/// Which limit cannot be met, and the nearest value that could.
fn infeasible(grid: &Grid, limits: &Limits) -> Error {
    const METRICS: [&str; 2] = ["parameters", "multiply-adds"];
    let bounds = [limits.params, limits.flops];
    let count = |metric: usize, value: u64| format!("{} {}", grouped(value), METRICS[metric]);
    let text = |metric: usize| match (bounds[metric].min, bounds[metric].max) {
        (0, max) => format!("at most {}", count(metric, max)),
        (min, u64::MAX) => format!("at least {}", count(metric, min)),
        (min, max) => format!("{} to {}", grouped(min), count(metric, max)),
    };
    let mut reasons = Vec::new();
    for (metric, (least, most)) in grid.extremes(limits.counter).into_iter().enumerate() {
        let bound = bounds[metric];
        // Beyond an end of the range the nearest value is that end; inside, it is the edge of a gap.
        let found = match bound {
            _ if bound.max < least => Some(("smallest", least)),
            _ if bound.min > most => Some(("largest", most)),
            _ => nearest(grid, limits, metric, false).map(|value| ("nearest", value)),
        };
        if let Some((which, value)) = found {
            let value = count(metric, value);
            reasons.push(format!("{} were requested; the {which} network has {value}", text(metric)));
        }
    }
    if reasons.is_empty() {
        for (metric, other) in [(0, 1), (1, 0)] {
            if let Some(value) = nearest(grid, limits, metric, true) {
                let value = count(metric, value);
                reasons.push(format!("with {}, the nearest network has {value}", text(other)));
            }
        }
        reasons.insert(0, format!("no network has both {} and {}", text(0), text(1)));
    }
    Error::Infeasible { space: grid.definition.name.clone(), reason: reasons.join("; ") }
}

/// The total nearest to the bounds of `metric` that does not meet them, if none does; `keep` holds the other limit.
fn nearest(grid: &Grid, limits: &Limits, metric: usize, keep: bool) -> Option<u64> {
    let bound = [limits.params, limits.flops][metric];
    let other = [limits.params, limits.flops][1 - metric];
    let mut open = Limits { counter: limits.counter, ..Limits::default() };
    if keep {
        *[&mut open.params, &mut open.flops][1 - metric] = other;
    }
    // Any bound at all makes the sums of this metric known; this one excludes nothing.
    [&mut open.params, &mut open.flops][metric].max = u64::MAX - 1;
    let budget = Budget::new(grid, &open).ok()?;
    let mut best: Option<(u64, u64)> = None;
    for reach in &budget.reaches {
        let window = budget.rest(reach.outside, reach.steps.len())?;
        for sum in budget.tails[&reach.steps].costs().iter().filter(|sum| window.holds(**sum)) {
            let total = reach.outside[metric] + sum[metric] * budget.rounding[metric];
            let distance = bound.min.saturating_sub(total).max(total.saturating_sub(bound.max));
            if distance == 0 {
                return None;
            }
            if best.is_none_or(|(least, _)| distance < least) {
                best = Some((distance, total));
            }
        }
    }
    best.map(|(_, total)| total)
}
