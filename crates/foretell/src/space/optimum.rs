//! The best architectures inside limits, exactly, for scores that are sums over positions once the head is given.
//!
//! ```text
//! best[p + 1][c + cost(p, row)] = max over rows of best[p][c] + gain(p, row)
//! ```
//!
//! A bounded knapsack: after each position a state is what was spent so far, with the best scores that reach it. Costs that
//! no limit concerns are not told apart, and without lower limits a state that spends more for less is dropped. Gains are
//! differences of the score itself between networks that differ in one position; whether they really add up is tried
//! before anything is believed.

use super::Limits;
use super::budget::RowCosts;
use super::grid::Grid;
use super::sums::{Cost, Window};
use crate::architecture::Architecture;
use crate::error::{Error, Result};
use crate::seed::Seed;
use rand::RngExt;
use rustc_hash::FxHashMap;

/// The most ways looked at for one position: a minute's work.
const MAX_WORK: usize = 1_000_000_000;
/// Networks per head on which the sum of gains is compared with the score.
const TRIED: u64 = 4;
/// Scores closer than this share are one: networks that differ in the order of their layers alone.
const SAME: f64 = 1e-12;

/// A way to reach a state.
#[derive(Clone, Copy)]
struct Way {
    score: f64,
    row: u32,
    /// State and way before, by place.
    from: (u32, u32),
}

/// What was spent, and the best ways there.
type State = (Cost, Vec<Way>);

impl Grid {
    /// The `count` best architectures inside limits; of those that differ only in the order of their layers, one.
    pub fn optimum(
        &self,
        limits: &Limits,
        count: usize,
        score: &dyn Fn(&Architecture) -> Result<f64>,
    ) -> Result<Vec<Architecture>> {
        let window = Window {
            low: [limits.params.min, limits.flops.min],
            high: [limits.params.max, limits.flops.max],
        };
        let mut costs = RowCosts::new(self, limits.counter);
        let mut found: Vec<(f64, Architecture)> = Vec::new();
        for head in 0..self.heads.len() {
            let Some(rest) = window.after(costs.outside(head)) else { continue };
            let base = costs.scratch(head);
            let start = score(&base)?;
            let gains = self.gains(head, &base, start, score)?;
            let layers = self.chain(head, &gains, &mut costs, &rest, count)?;
            let last = layers.last().expect("there is a state before the first position");
            for (place, (spent, ways)) in last.iter().enumerate() {
                if !rest.holds(*spent) {
                    continue;
                }
                for (way, reached) in ways.iter().enumerate() {
                    found
                        .push((start + reached.score, self.trace(head, &layers, (place as u32, way as u32))));
                }
            }
            found.sort_by(|a, b| b.0.total_cmp(&a.0));
            found.truncate(count);
        }
        Ok(found.into_iter().map(|(_, architecture)| architecture).collect())
    }

    /// What each row of each position adds to the score of `base`; an error if that is not all there is to it.
    fn gains(
        &self,
        head: usize,
        base: &Architecture,
        start: f64,
        score: &dyn Fn(&Architecture) -> Result<f64>,
    ) -> Result<Vec<Vec<f64>>> {
        let menus = &self.heads[head].menus;
        let mut changed = base.clone();
        let mut gains = Vec::with_capacity(menus.len());
        for (position, menu) in menus.iter().enumerate() {
            let mut of = Vec::with_capacity(menu.len());
            for row in menu.iter() {
                changed.row_mut(position).copy_from_slice(row);
                of.push(score(&changed)? - start);
            }
            changed.row_mut(position).copy_from_slice(menu.row(0));
            gains.push(of);
        }
        let mut rng = Seed(0).stream("additive", head as u64);
        for _ in 0..TRIED {
            let mut sum = start;
            for (position, menu) in menus.iter().enumerate() {
                let row = rng.random_range(0..menu.len());
                changed.row_mut(position).copy_from_slice(menu.row(row));
                sum += gains[position][row];
            }
            let real = score(&changed)?;
            if (sum - real).abs() > 1e-9 * real.abs().max(start.abs()) {
                let message = "is no sum over layers, which an exact search needs: take nsc, zerolm, params or the like, or \
                               another algorithm";
                return Err(Error::input("the score", message));
            }
        }
        Ok(gains)
    }

    /// The states after each position.
    fn chain(
        &self,
        head: usize,
        gains: &[Vec<f64>],
        costs: &mut RowCosts,
        rest: &Window,
        count: usize,
    ) -> Result<Vec<Vec<State>>> {
        // A cost without limits need not be told apart.
        let counted =
            |cost: Cost| [0, 1].map(|m| if rest.high[m] < u64::MAX || rest.low[m] > 0 { cost[m] } else { 0 });
        let nothing = Way { score: 0.0, row: 0, from: (0, 0) };
        let mut layers: Vec<Vec<State>> = vec![vec![([0, 0], vec![nothing])]];
        for (position, gains) in gains.iter().enumerate() {
            let rows = costs.rows(head, position);
            let work =
                layers[position].iter().map(|(_, ways)| ways.len()).sum::<usize>().saturating_mul(rows.len());
            if work > MAX_WORK {
                let message =
                    "has too many different sums of costs for an exact search: take another algorithm";
                return Err(Error::input(self.definition.name.as_str(), message));
            }
            let mut next: FxHashMap<Cost, Vec<Way>> = FxHashMap::default();
            for (place, (spent, ways)) in layers[position].iter().enumerate() {
                for (row, (cost, gain)) in rows.iter().zip(gains).enumerate() {
                    let cost = counted(*cost);
                    let spent = [spent[0] + cost[0], spent[1] + cost[1]];
                    if spent[0] > rest.high[0] || spent[1] > rest.high[1] {
                        continue;
                    }
                    let kept = next.entry(spent).or_default();
                    for (way, before) in ways.iter().enumerate() {
                        let from = (place as u32, way as u32);
                        keep(kept, Way { score: before.score + gain, row: row as u32, from }, count);
                    }
                }
            }
            let mut states: Vec<State> = next.into_iter().collect();
            states.sort_unstable_by_key(|(cost, _)| *cost);
            if rest.low == [0, 0] && rest.high.contains(&u64::MAX) {
                drop_dominated(&mut states, count);
            }
            layers.push(states);
        }
        Ok(layers)
    }

    /// The architecture behind a way to a last state.
    fn trace(&self, head: usize, layers: &[Vec<State>], mut at: (u32, u32)) -> Architecture {
        let head = &self.heads[head];
        let mut rows = vec![0; head.menus.len()];
        for (position, row) in rows.iter_mut().enumerate().rev() {
            let way = layers[position + 1][at.0 as usize].1[at.1 as usize];
            (*row, at) = (way.row as usize, way.from);
        }
        self.assemble(head, |position| head.menus[position].row(rows[position]).to_vec())
    }
}

/// Keeps the `count` best ways of different score, best first.
fn keep(ways: &mut Vec<Way>, way: Way, count: usize) {
    let same = |a: f64, b: f64| (a - b).abs() <= SAME * a.abs().max(b.abs());
    let place = ways.partition_point(|known| known.score > way.score);
    let near = [place.checked_sub(1), Some(place)].into_iter().flatten();
    if place < count && !near.filter_map(|i| ways.get(i)).any(|known| same(known.score, way.score)) {
        ways.insert(place, way);
        ways.truncate(count);
    }
}

/// Drops ways for which `count` better ones are no dearer. States are sorted by a single cost.
fn drop_dominated(states: &mut Vec<State>, count: usize) {
    let mut best: Vec<f64> = Vec::new();
    for (_, ways) in states.iter_mut() {
        ways.retain(|way| best.len() < count || way.score > best[count - 1]);
        for way in ways.iter() {
            let place = best.partition_point(|known| *known > way.score);
            best.insert(place, way.score);
            best.truncate(count);
        }
    }
    states.retain(|(_, ways)| !ways.is_empty());
}

#[cfg(test)]
mod tests {
    use super::super::{Bound, preset};
    use super::*;
    use crate::architecture::Counter;
    use num_bigint::BigUint;

    /// A jagged sum over layers that is no function of cost.
    fn jagged(architecture: &Architecture) -> Result<f64> {
        let layers = (0..architecture.positions()).map(|p| {
            let row = architecture.row(p);
            row.iter()
                .enumerate()
                .map(|(i, x)| f64::from((x * 37 + 11 * i as u32 + 5 * p as u32) % 23))
                .sum::<f64>()
        });
        Ok(layers.sum())
    }

    /// Against all of PiT's networks, under either limit, both, and lower ones.
    #[test]
    fn the_optimum_is_that_of_enumeration() {
        let space = preset("pit-ti").unwrap();
        let grid = space.as_grid().unwrap();
        let mut all = Vec::new();
        let mut walk = grid.walk(&BigUint::ZERO, u128::MAX);
        while let Some(point) = walk.next() {
            all.push((jagged(point).unwrap(), point.params().total, point.flops(Counter::Exact).unwrap()));
        }
        let mut sizes: Vec<(u64, u64)> = all.iter().map(|(_, params, flops)| (*params, *flops)).collect();
        sizes.sort_unstable();
        let (params, flops) = sizes[sizes.len() / 3];
        let most = |max| Bound { max, ..Bound::default() };
        for (p, f) in [
            (Bound::default(), Bound::default()),
            (most(params), Bound::default()),
            (Bound::default(), most(flops)),
            (most(params), most(flops)),
            (Bound { min: params, max: 2 * params }, Bound::default()),
        ] {
            let limits = Limits { params: p, flops: f, counter: Counter::Exact };
            let inside =
                |x: &&(f64, u64, u64)| (p.min..=p.max).contains(&x.1) && (f.min..=f.max).contains(&x.2);
            let mut expected: Vec<f64> = all.iter().filter(inside).map(|x| x.0).collect();
            expected.sort_by(|a, b| b.total_cmp(a));
            expected.dedup();
            let found = grid.optimum(&limits, 5, &jagged).unwrap();
            let mut found: Vec<f64> = found.iter().map(|point| jagged(point).unwrap()).collect();
            assert_eq!(found[0], expected[0], "{limits:?}");
            found.dedup();
            assert!(
                found.iter().all(|score| expected[..5].contains(score)),
                "{found:?} {:?}",
                &expected[..5]
            );
        }
    }

    #[test]
    fn what_is_no_sum_is_refused() {
        let space = preset("autoformer-tiny").unwrap();
        let product = |architecture: &Architecture| Ok(jagged(architecture)?.powi(2));
        let error = space.as_grid().unwrap().optimum(&Limits::default(), 1, &product).unwrap_err();
        assert!(error.to_string().contains("no sum over layers"), "{error}");
    }
}
