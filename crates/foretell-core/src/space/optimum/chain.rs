//! The search inside one frame: one item per position, the sum of their places inside a window, the sum of gains largest.
//!
//! Costs become *places*: offsets from the cheapest row in units of their greatest common divisor. Limits that every
//! network of the frame meets are dropped, and two costs that grow together become one. Both make bounds tight.

use super::super::additive::{Rows, Sum};
use super::super::distribution::{Cost, Window, gcd};
use std::sync::Arc;

/// Scores closer than this share of their terms are equal.
const SAME: f64 = 1e-12;
/// The largest menu in which every item is compared with every other.
const MAX_COMPARED: usize = 512;

/// What a choice at a position spends and adds.
#[derive(Clone, Copy)]
pub(super) struct Item {
    pub(super) place: Cost,
    pub(super) gain: f64,
    pub(super) row: u32,
}

/// The problem of one frame.
pub(super) struct Chain {
    pub(super) frame: usize,
    /// The score of the frame with the first row everywhere.
    pub(super) start: f64,
    /// The different lists of items, each sorted by place, then best first.
    pub(super) lists: Vec<Vec<Item>>,
    /// The list of each position.
    pub(super) list_of: Vec<usize>,
    /// The places that the sum may have.
    pub(super) window: Window,
    /// What one unit of each place is worth in the bound.
    pub(super) price: [f64; 2],
    /// No network of the frame scores more.
    pub(super) bound: f64,
    /// No network of the frame scores less.
    pub(super) floor: f64,
    /// Scores closer than this are equal.
    pub(super) same: f64,
}

impl Chain {
    /// The problem of a frame, or nothing if no sum of its costs can be inside the window. `count` best are wanted.
    pub(super) fn new(sum: &Sum, window: &Window, count: usize) -> Option<Chain> {
        let mut lists: Vec<Arc<Rows>> = Vec::new();
        let list_of = sum.rows.iter().map(|rows| {
            lists.iter().position(|known| Arc::ptr_eq(known, rows)).unwrap_or_else(|| {
                lists.push(rows.clone());
                lists.len() - 1
            })
        });
        let list_of: Vec<usize> = list_of.collect();
        let scale = Scale::new(sum.outside, &lists, &list_of, window)?;
        let spread = |rows: &Arc<Rows>| rows.gains.iter().fold(0.0, |most: f64, gain| most.max(gain.abs()));
        let same = SAME * list_of.iter().map(|list| spread(&lists[*list])).sum::<f64>().max(sum.start.abs());
        let items = lists.iter().enumerate().map(|(list, rows)| {
            let mut items = scale.items(list, rows);
            reduce(&mut items, scale.window.low == [0, 0], count, same);
            items
        });
        let mut chain = Chain {
            frame: sum.frame,
            start: sum.start,
            lists: items.collect(),
            list_of,
            window: scale.window,
            price: [0.0; 2],
            bound: 0.0,
            floor: 0.0,
            same,
        };
        let least = |list: &usize| chain.lists[*list].iter().map(|item| item.gain).fold(f64::MAX, f64::min);
        chain.floor = chain.start + chain.list_of.iter().map(least).sum::<f64>();
        chain.price();
        Some(chain)
    }

    /// The items of a position.
    pub(super) fn items(&self, position: usize) -> &[Item] {
        &self.lists[self.list_of[position]]
    }

    /// What is left of the best item of each list once places are paid for.
    pub(super) fn best_reduced(&self, price: [f64; 2]) -> Vec<f64> {
        let best = |items: &Vec<Item>| {
            items.iter().map(|item| item.reduced(price)).fold(f64::NEG_INFINITY, f64::max)
        };
        self.lists.iter().map(best).collect()
    }

    /// The Lagrangian bound at a price, and the sum of first places that its network has.
    fn dual(&self, price: [f64; 2]) -> (f64, f64) {
        let best = self.lists.iter().map(|items| {
            items.iter().fold((f64::NEG_INFINITY, 0), |best, item| {
                let value = item.reduced(price);
                if value > best.0 { (value, item.place[0]) } else { best }
            })
        });
        let best: Vec<(f64, u64)> = best.collect();
        let (mut value, mut places) = (self.start, 0.0);
        for list in &self.list_of {
            value += best[*list].0;
            places += best[*list].1 as f64;
        }
        (value + self.paid(price, 0) + self.paid(price, 1), places)
    }

    /// What the window allows to spend of a place, at its price.
    fn paid(&self, price: [f64; 2], m: usize) -> f64 {
        let end = if price[m] > 0.0 { self.window.high[m] } else { self.window.low[m] };
        price[m] * end as f64
    }

    /// Finds the price with the least bound. Any price is valid, so precision is a matter of speed alone.
    fn price(&mut self) {
        let most = self.lists.iter().map(|items| {
            let gains = items.iter().map(|item| item.gain);
            gains.clone().fold(f64::MIN, f64::max) - gains.fold(f64::MAX, f64::min)
        });
        let most = most.fold(0.0, f64::max);
        let mut low = if self.window.low[1] > 0 { -most } else { 0.0 };
        let mut high = if self.window.high[1] < u64::MAX { most } else { 0.0 };
        while low < high && high - low > 1e-10 * most {
            let third = (high - low) / 3.0;
            let at = |price: f64| self.dual(self.priced([0.0, price], most, 40)).0;
            if at(low + third) <= at(high - third) { high -= third } else { low += third }
        }
        self.price = self.priced([0.0, 0.5 * (low + high)], most, 80);
        self.bound = self.dual(self.price).0;
    }

    /// The best price of the first place, that of the second given, by halving.
    fn priced(&self, mut price: [f64; 2], most: f64, halvings: usize) -> [f64; 2] {
        price[0] = 0.0;
        let free = self.dual(price).1;
        let (target, mut near, mut far) = if free > self.window.high[0] as f64 {
            (self.window.high[0] as f64, 0.0, most)
        } else if free < self.window.low[0] as f64 {
            (self.window.low[0] as f64, 0.0, -most)
        } else {
            return price;
        };
        for _ in 0..halvings {
            price[0] = 0.5 * (near + far);
            let places = self.dual(price).1;
            let beyond = if far > 0.0 { places > target } else { places < target };
            if beyond { near = price[0] } else { far = price[0] }
        }
        price[0] = far;
        price
    }
}

impl Item {
    /// The gain once the place is paid for.
    pub(super) fn reduced(&self, price: [f64; 2]) -> f64 {
        self.gain - price[0] * self.place[0] as f64 - price[1] * self.place[1] as f64
    }
}

/// How costs become places.
struct Scale {
    /// The least cost in each list.
    least: Vec<Cost>,
    /// The unit of each place; zero for costs that are not limited.
    unit: Cost,
    /// The cost that the first place stands for; the second place is the other cost, unless one place is enough.
    axis: usize,
    /// Whether one place is enough: one cost is limited, or both grow together.
    straight: bool,
    window: Window,
}

impl Scale {
    fn new(outside: Cost, lists: &[Arc<Rows>], list_of: &[usize], window: &Window) -> Option<Scale> {
        let end = |rows: &Arc<Rows>, pick: fn(u64, u64) -> u64| {
            rows.costs.iter().copied().reduce(|a, b| [pick(a[0], b[0]), pick(a[1], b[1])]).unwrap_or([0, 0])
        };
        let least: Vec<Cost> = lists.iter().map(|rows| end(rows, u64::min)).collect();
        let most: Vec<Cost> = lists.iter().map(|rows| end(rows, u64::max)).collect();
        let total = |of: &[Cost]| [0, 1].map(|m| list_of.iter().map(|list| of[*list][m]).sum::<u64>());
        let (cheapest, dearest) = (total(&least), total(&most));
        let mut rest = window.after(outside)?.after(cheapest)?;
        let range = [0, 1].map(|m| dearest[m] - cheapest[m]);
        let (mut unit, mut limited) = ([0, 0], [false; 2]);
        for m in 0..2 {
            if rest.low[m] > range[m] {
                return None;
            }
            limited[m] = rest.high[m] < range[m] || rest.low[m] > 0;
            if !limited[m] {
                (rest.low[m], rest.high[m]) = (0, u64::MAX);
                continue;
            }
            let offsets = lists.iter().zip(&least).flat_map(|(rows, least)| {
                rows.distinct.iter().map(move |row| rows.costs[*row as usize][m] - least[m])
            });
            unit[m] = offsets.fold(0, gcd).max(1);
            rest.low[m] = rest.low[m].div_ceil(unit[m]);
            rest.high[m] = if rest.high[m] == u64::MAX { u64::MAX } else { rest.high[m] / unit[m] };
        }
        let mut scale = Scale { least, unit, axis: 0, straight: false, window: rest };
        if limited != [true; 2] || scale.is_straight(lists) {
            (scale.axis, scale.straight) = (usize::from(!limited[0]), true);
            let (low, high) = (rest.low, rest.high);
            scale.window = Window { low: [low[0].max(low[1]), 0], high: [high[0].min(high[1]), u64::MAX] };
        }
        let window = scale.window;
        (0..2).all(|m| window.low[m] <= window.high[m]).then_some(scale)
    }

    fn is_straight(&self, lists: &[Arc<Rows>]) -> bool {
        let on_line = |rows: &Rows, list: usize| {
            rows.distinct.iter().all(|row| {
                let place = self.place(list, rows.costs[*row as usize]);
                place[0] == place[1]
            })
        };
        lists.iter().enumerate().all(|(list, rows)| on_line(rows, list))
    }

    fn place(&self, list: usize, cost: Cost) -> Cost {
        let place = |m: usize| (cost[m] - self.least[list][m]).checked_div(self.unit[m]).unwrap_or(0);
        [place(self.axis), if self.straight { 0 } else { place(1) }]
    }

    fn items(&self, list: usize, rows: &Rows) -> Vec<Item> {
        let item = |row: &u32| Item {
            place: self.place(list, rows.costs[*row as usize]),
            gain: rows.gains[*row as usize],
            row: *row,
        };
        let mut items: Vec<Item> = rows.distinct.iter().map(item).collect();
        // Stable: of items that are equal here, the one with fewer parameters stays first.
        items.sort_by(|a, b| a.place.cmp(&b.place).then(b.gain.total_cmp(&a.gain)));
        items
    }
}

/// Drops items that cannot be part of the `count` best of different score: all but the best of one place, and where
/// spending less is always allowed those for which others are no dearer and better.
fn reduce(items: &mut Vec<Item>, less_is_fine: bool, count: usize, same: f64) {
    let compared = less_is_fine && items.len() <= MAX_COMPARED;
    let straight = items.iter().all(|item| item.place[1] == 0);
    let mut kept: Vec<Item> = Vec::with_capacity(items.len());
    // Along a line: the best gains so far, best first.
    let mut best: Vec<f64> = Vec::new();
    for item in items.iter() {
        let no_worse = if less_is_fine && straight {
            let equal = best.iter().any(|gain| (gain - item.gain).abs() <= same);
            if equal { count } else { best.partition_point(|gain| *gain > item.gain) }
        } else {
            let rivals = kept.iter().rev().take_while(|other| compared || other.place == item.place);
            let rivals = rivals.filter(|other| {
                (0..2).all(|m| other.place[m] <= item.place[m]) && other.gain >= item.gain - same
            });
            rivals.fold(0, |n, other| if (other.gain - item.gain).abs() <= same { count } else { n + 1 })
        };
        if no_worse >= count {
            continue;
        }
        kept.push(*item);
        if straight && less_is_fine {
            best.insert(no_worse, item.gain);
            best.truncate(count);
        }
    }
    *items = kept;
}
