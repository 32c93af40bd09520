//! Scores as sums: what each row of each position adds to the score of a frame, found and checked by scoring networks.
//!
//! Scoring every row under every frame takes minutes on large spaces, so frames whose rows have equal costs try the gains
//! of one another first. Gains are believed after they reproduce the scores of several networks of the frame.

use super::budget::RowCosts;
use super::distribution::{Cost, Window};
use super::grid::{Grid, Menu};
use crate::architecture::{Architecture, Counter, Positions};
use crate::cancel::CancelToken;
use crate::error::{Error, Result};
use crate::seed::Seed;
use rand::RngExt;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex};

/// Random networks per frame on which the sum of gains is compared with the score.
const TRIED: u64 = 4;
/// The largest relative difference between a score and the sum of its gains.
const PRECISION: f64 = 1e-9;
/// Heads that are tried before any gain is computed.
const FIRST_HEADS: usize = 6;

/// A score of an architecture.
pub(super) type Score<'s> = &'s (dyn Fn(&Architecture) -> Result<f64> + Sync);

/// The rows of a position: what each costs and adds to the score.
pub(super) struct Rows {
    pub(super) costs: Arc<Vec<Cost>>,
    pub(super) gains: Vec<f64>,
    /// Rows that differ in cost or gain, by cost.
    pub(super) distinct: Vec<u32>,
}

impl Rows {
    fn new(costs: Arc<Vec<Cost>>, gains: Vec<f64>) -> Self {
        let mut distinct: Vec<u32> = (0..gains.len() as u32).collect();
        let key = |row: u32| (costs[row as usize], gains[row as usize].to_bits());
        distinct.sort_by_key(|row| key(*row));
        distinct.dedup_by_key(|row| key(*row));
        Rows { costs, gains, distinct }
    }
}

/// The score of a frame as a sum: `start + Σ gain(row)`.
pub(super) struct Sum {
    pub(super) frame: usize,
    /// The score of the frame with the first row everywhere.
    pub(super) start: f64,
    pub(super) outside: Cost,
    /// The rows of each position.
    pub(super) rows: Vec<Arc<Rows>>,
}

/// A frame before its score is known.
pub(super) struct Plan {
    pub(super) frame: usize,
    pub(super) outside: Cost,
    /// The cost of each row of each position.
    pub(super) costs: Vec<Arc<Vec<Cost>>>,
    /// Positions of one class have the same menu and the same costs.
    classes: Vec<usize>,
}

/// Gains that were found for one frame.
struct Known {
    classes: Vec<usize>,
    rows: Vec<Arc<Rows>>,
}

/// The score of each of these frames as a sum. `progress` is told the share of frames that are done.
pub(super) fn sums(
    grid: &Grid,
    plans: &[Plan],
    score: Score,
    progress: &(dyn Fn(f64) + Sync),
) -> Result<Vec<Sum>> {
    let scorer = Scorer { grid, score };
    scorer.refuse_early(plans)?;
    let mut groups: FxHashMap<usize, Vec<&Plan>> = FxHashMap::default();
    for plan in plans {
        groups.entry(plan.classes.first().copied().unwrap_or(0)).or_default().push(plan);
    }
    let mut groups: Vec<Vec<&Plan>> = groups.into_values().collect();
    groups.sort_by_key(|group| group[0].frame);
    let done = Mutex::new(0);
    let tick = || {
        if let Ok(mut done) = done.lock() {
            *done += 1;
            progress(*done as f64 / plans.len() as f64);
        }
    };
    let found: Vec<Vec<Sum>> =
        groups.into_par_iter().map(|group| scorer.group(group, &tick)).collect::<Result<_>>()?;
    let mut sums: Vec<Sum> = found.into_iter().flatten().collect();
    sums.sort_by_key(|sum| sum.frame);
    Ok(sums)
}

/// The costs of every frame that can meet the window, with equal lists of costs shared.
pub(super) fn plans(grid: &Grid, counter: Counter, window: &Window) -> Vec<Plan> {
    let cancel = CancelToken::current().unwrap_or_default();
    let plan = |frame: usize| {
        cancel.leave_if_cancelled();
        let mut costs = RowCosts::new(grid, counter);
        let outside = costs.outside(frame);
        let rows: Vec<_> = (0..grid.frames[frame].menus.len()).map(|p| costs.rows(frame, p)).collect();
        reaches(outside, &rows, window).then_some(Plan { frame, outside, costs: rows, classes: Vec::new() })
    };
    let mut plans: Vec<Plan> = (0..grid.frames.len()).into_par_iter().filter_map(plan).collect();
    let alike = matches!(grid.definition.family.card().positions, Positions::Layers(_));
    let mut known: FxHashMap<(*const Menu, usize, Arc<Vec<Cost>>), usize> = FxHashMap::default();
    for plan in &mut plans {
        let menus = &grid.frames[plan.frame].menus;
        for (position, (menu, costs)) in menus.iter().zip(&mut plan.costs).enumerate() {
            let same = position.checked_sub(1).filter(|p| alike && Arc::ptr_eq(menu, &menus[*p]));
            let class = match same {
                Some(before) => plan.classes[before],
                None => {
                    let (next, place) = (known.len(), if alike { 0 } else { position });
                    let key = (Arc::as_ptr(menu), place, costs.clone());
                    let entry = known.entry(key);
                    if let std::collections::hash_map::Entry::Occupied(entry) = &entry {
                        *costs = entry.key().2.clone();
                    }
                    *entry.or_insert(next)
                }
            };
            plan.classes.push(class);
        }
    }
    plans
}

/// Whether the cheapest and the dearest networks of a frame leave room for some inside the window.
fn reaches(outside: Cost, rows: &[Arc<Vec<Cost>>], window: &Window) -> bool {
    let (mut least, mut most) = (outside, outside);
    for alike in rows.chunk_by(Arc::ptr_eq) {
        for m in 0..2 {
            let costs = alike[0].iter().map(|cost| cost[m]);
            least[m] += alike.len() as u64 * costs.clone().min().unwrap_or(0);
            most[m] += alike.len() as u64 * costs.max().unwrap_or(0);
        }
    }
    (0..2).all(|m| least[m] <= window.high[m] && most[m] >= window.low[m])
}

struct Scorer<'g> {
    grid: &'g Grid,
    score: Score<'g>,
}

impl Scorer<'_> {
    fn score(&self, architecture: &Architecture) -> Result<f64> {
        let score = (self.score)(architecture)?;
        if score.is_finite() {
            return Ok(score);
        }
        Err(Error::parse("the score", format!("is {score} for {architecture:?}: exact search needs numbers")))
    }

    fn base(&self, frame: usize) -> Architecture {
        let frame = &self.grid.frames[frame];
        self.grid.assemble(frame, |position| frame.menus[position].row(0).to_vec())
    }

    /// Refuses scores that are no sum after a few networks of a few frames, before anything is computed at length.
    fn refuse_early(&self, plans: &[Plan]) -> Result<()> {
        let step = plans.len().div_ceil(FIRST_HEADS).max(1);
        for plan in plans.iter().step_by(step).chain(plans.last()) {
            let menus = &self.grid.frames[plan.frame].menus;
            let base = self.base(plan.frame);
            let start = self.score(&base)?;
            let mut rng = Seed(0).stream("additive, first", plan.frame as u64);
            for _ in 0..TRIED {
                let (mut all, mut sum) = (base.clone(), start);
                for (position, menu) in menus.iter().enumerate() {
                    let row = menu.row(rng.random_range(0..menu.len()));
                    let mut one = base.clone();
                    one.row_mut(position).copy_from_slice(row);
                    all.row_mut(position).copy_from_slice(row);
                    sum += self.score(&one)? - start;
                }
                if !equal(sum, self.score(&all)?, start) {
                    return Err(no_sum());
                }
            }
        }
        Ok(())
    }

    /// Heads whose first positions are alike, deepest first: what holds for the deepest often holds for all.
    fn group(&self, mut plans: Vec<&Plan>, tick: &(dyn Fn() + Sync)) -> Result<Vec<Sum>> {
        plans.sort_by_key(|plan| (std::cmp::Reverse(plan.classes.len()), plan.frame));
        let mut known: Vec<Known> = Vec::new();
        let mut sums = Vec::with_capacity(plans.len());
        for plan in plans {
            let base = self.base(plan.frame);
            let start = self.score(&base)?;
            let mut found = None;
            for gains in known.iter().rev().filter(|known| known.classes.starts_with(&plan.classes)) {
                let rows = &gains.rows[..plan.classes.len()];
                if self.agrees(plan.frame, &base, start, rows)? {
                    found = Some(rows.to_vec());
                    break;
                }
            }
            let rows = match found {
                Some(rows) => rows,
                None => {
                    let rows = self.gains(plan, &base, start)?;
                    known.push(Known { classes: plan.classes.clone(), rows: rows.clone() });
                    rows
                }
            };
            sums.push(Sum { frame: plan.frame, start, outside: plan.outside, rows });
            tick();
        }
        Ok(sums)
    }

    /// The gains of a frame: first as if positions of one class were alike, then each position by itself.
    fn gains(&self, plan: &Plan, base: &Architecture, start: f64) -> Result<Vec<Arc<Rows>>> {
        for shared in [true, false] {
            let mut rows: Vec<Arc<Rows>> = Vec::with_capacity(plan.classes.len());
            for (position, class) in plan.classes.iter().enumerate() {
                let first = plan.classes.iter().position(|other| other == class).filter(|p| *p < position);
                rows.push(match first.filter(|_| shared) {
                    Some(first) => rows[first].clone(),
                    None => Arc::new(self.rows(plan, position, base, start)?),
                });
            }
            if self.agrees(plan.frame, base, start, &rows)? {
                return Ok(rows);
            }
        }
        Err(no_sum())
    }

    fn rows(&self, plan: &Plan, position: usize, base: &Architecture, start: f64) -> Result<Rows> {
        let menu = &self.grid.frames[plan.frame].menus[position];
        let mut changed = base.clone();
        let gains = menu.iter().map(|row| {
            changed.row_mut(position).copy_from_slice(row);
            Ok(self.score(&changed)? - start)
        });
        Ok(Rows::new(plan.costs[position].clone(), gains.collect::<Result<_>>()?))
    }

    /// Whether gains reproduce the scores of random networks of a frame, and of the one with the last row everywhere.
    fn agrees(&self, frame: usize, base: &Architecture, start: f64, rows: &[Arc<Rows>]) -> Result<bool> {
        let menus = &self.grid.frames[frame].menus;
        let mut rng = Seed(0).stream("additive", frame as u64);
        let mut changed = base.clone();
        for network in 0..=TRIED {
            let mut sum = start;
            for (position, menu) in menus.iter().enumerate() {
                let row = if network == 0 { menu.len() - 1 } else { rng.random_range(0..menu.len()) };
                changed.row_mut(position).copy_from_slice(menu.row(row));
                sum += rows[position].gains[row];
            }
            if !equal(sum, self.score(&changed)?, start) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn equal(sum: f64, real: f64, start: f64) -> bool {
    (sum - real).abs() <= PRECISION * real.abs().max(start.abs())
}

fn no_sum() -> Error {
    let message = "is no sum over layers, which an exact search needs: take nsc, zerolm, params or the like, or another \
                   algorithm";
    Error::parse("the score", message)
}
