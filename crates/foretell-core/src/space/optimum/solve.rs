//! The best networks of one frame: every way to choose items whose bound reaches a threshold, equal sums merged.
//!
//! ```text
//! best[p + 1][c + place(p, item)] = count best of best[p][c] + gain(p, item)
//! ```
//!
//! At the chain's price each item loses something against the best item of its position. A way whose losses exceed what
//! the bound has over the threshold cannot end above it and is dropped, which leaves few ways where the bound is tight.

use super::chain::{Chain, Item};
use crate::space::distribution::Cost;
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// A way to reach a state.
#[derive(Clone, Copy)]
struct Way {
    score: f64,
    row: u32,
    /// State and way before, by index.
    from: (u32, u32),
}

/// The sum of places so far, and the best ways there.
type State = (Cost, Vec<Way>);

/// A network of a frame: its score and its row at each position.
pub(super) type Found = (f64, Vec<u32>);

/// What a new state costs, in ways looked at.
const STATE: u64 = 24;

/// Ways that all frames together may look at.
pub(super) struct Work {
    left: AtomicU64,
}

impl Work {
    pub(super) fn new(most: u64) -> Self {
        Work { left: AtomicU64::new(most) }
    }

    /// Takes a share of what is left; false once all is used up.
    pub(super) fn take(&self, amount: u64) -> bool {
        let take = |left: u64| Some(left.saturating_sub(amount));
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok_and(|left| left >= amount)
    }
}

/// The `count` best networks of different score with at least the score `threshold`; nothing if that is too much work.
pub(super) fn solve(chain: &Chain, count: usize, threshold: f64, work: &Work) -> Option<Vec<Found>> {
    let search = Search::new(chain, count, threshold);
    let nothing = Way { score: 0.0, row: 0, from: (0, 0) };
    let mut layers: Vec<Vec<State>> = vec![vec![([0, 0], vec![nothing])]];
    for position in 0..chain.list_of.len() {
        let next = search.step(position, &layers[position], work)?;
        layers.push(next);
    }
    let last = layers.last()?;
    let mut ends: Vec<(f64, Cost, (u32, u32))> = Vec::new();
    for (state, (place, ways)) in last.iter().enumerate() {
        let inside = chain.window.holds(*place);
        let ways = ways.iter().enumerate().filter(|_| inside);
        ends.extend(ways.map(|(way, end)| (chain.start + end.score, *place, (state as u32, way as u32))));
    }
    ends.retain(|end| end.0 >= threshold);
    ends.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    ends.dedup_by(|later, kept| kept.0 - later.0 <= chain.same);
    ends.truncate(count);
    Some(ends.into_iter().map(|(score, _, at)| (score, trace(&layers, at))).collect())
}

/// The rows behind a way to a last state.
fn trace(layers: &[Vec<State>], mut at: (u32, u32)) -> Vec<u32> {
    let mut rows = vec![0; layers.len() - 1];
    for (position, row) in rows.iter_mut().enumerate().rev() {
        let way = layers[position + 1][at.0 as usize].1[at.1 as usize];
        (*row, at) = (way.row, way.from);
    }
    rows
}

struct Search<'c> {
    chain: &'c Chain,
    count: usize,
    /// What may be lost in all.
    slack: f64,
    /// The items of each list by what they lose against its best reduced gain.
    losses: Vec<Vec<(f64, Item)>>,
    /// The best reduced gains of all positions before each, and the largest places of all after.
    before: Vec<f64>,
    after: Vec<Cost>,
}

impl<'c> Search<'c> {
    fn new(chain: &'c Chain, count: usize, threshold: f64) -> Self {
        let best = chain.best_reduced(chain.price);
        let losses = chain.lists.iter().zip(&best).map(|(items, best)| {
            let mut losses: Vec<(f64, Item)> =
                items.iter().map(|item| (best - item.reduced(chain.price), *item)).collect();
            losses.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.place.cmp(&b.1.place)));
            losses
        });
        let losses = losses.collect();
        let positions = chain.list_of.len();
        let (mut before, mut after) = (vec![0.0; positions + 1], vec![[0, 0]; positions + 1]);
        for p in 0..positions {
            before[p + 1] = before[p] + best[chain.list_of[p]];
        }
        for p in (0..positions).rev() {
            let most = |m: usize| chain.items(p).iter().map(|item| item.place[m]).max().unwrap_or(0);
            after[p] = [after[p + 1][0] + most(0), after[p + 1][1] + most(1)];
        }
        // Rounding in sums of gains must not drop what just reaches the threshold.
        let slack = chain.bound - threshold + 16.0 * chain.same;
        Search { chain, count, slack, losses, before, after }
    }

    /// The states after one more position.
    fn step(&self, position: usize, states: &[State], work: &Work) -> Option<Vec<State>> {
        let list = self.chain.list_of[position];
        let mut index: FxHashMap<Cost, usize> = FxHashMap::default();
        let mut next: Vec<State> = Vec::new();
        for (state, (place, ways)) in states.iter().enumerate() {
            for (way, known) in ways.iter().enumerate() {
                let left = self.slack - self.lost(position, *place, known.score);
                let (mut looked, known_states) = (0, next.len());
                for (loss, item) in &self.losses[list] {
                    looked += 1;
                    if *loss > left {
                        break;
                    }
                    let place = [place[0] + item.place[0], place[1] + item.place[1]];
                    if !self.reaches(position + 1, place, left - loss) {
                        continue;
                    }
                    let at = *index.entry(place).or_insert_with(|| {
                        next.push((place, Vec::new()));
                        next.len() - 1
                    });
                    let from = (state as u32, way as u32);
                    let way = Way { score: known.score + item.gain, row: item.row, from };
                    keep(&mut next[at].1, way, self.count, self.chain.same);
                }
                if !work.take(looked + STATE * (next.len() - known_states) as u64) {
                    return None;
                }
            }
        }
        next.sort_unstable_by_key(|(place, _)| *place);
        let straight = next.iter().all(|(place, _)| place[1] == 0);
        if straight && self.chain.window.low == [0, 0] {
            drop_dominated(&mut next, self.count, self.chain.same);
        }
        Some(next)
    }

    /// What a way has lost against the best items of its positions.
    fn lost(&self, position: usize, place: Cost, score: f64) -> f64 {
        let [a, b] = self.chain.price;
        self.before[position] - (score - a * place[0] as f64 - b * place[1] as f64)
    }

    /// Whether a state can still end inside the window, and lose no more than is left for unused or exceeded limits.
    fn reaches(&self, position: usize, place: Cost, left: f64) -> bool {
        let Chain { window, price, .. } = self.chain;
        let mut lost = 0.0;
        for m in 0..2 {
            let most = place[m] + self.after[position][m];
            if place[m] > window.high[m] || most < window.low[m] {
                return false;
            }
            if price[m] > 0.0 {
                lost += price[m] * window.high[m].saturating_sub(most) as f64;
            } else if price[m] < 0.0 {
                lost -= price[m] * place[m].saturating_sub(window.low[m]) as f64;
            }
        }
        lost <= left
    }
}

/// Keeps the `count` best ways of different score, best first.
fn keep(ways: &mut Vec<Way>, way: Way, count: usize, same: f64) {
    let place = ways.partition_point(|known| known.score > way.score);
    let near = [place.checked_sub(1), Some(place)].into_iter().flatten();
    let known = near.filter_map(|i| ways.get(i)).any(|known| (known.score - way.score).abs() <= same);
    if place < count && !known {
        ways.insert(place, way);
        ways.truncate(count);
    }
}

/// Drops ways for which one is as good or `count` are better, and none of them is dearer. States are sorted by place.
fn drop_dominated(states: &mut Vec<State>, count: usize, same: f64) {
    let mut best: Vec<f64> = Vec::new();
    for (_, ways) in states.iter_mut() {
        ways.retain(|way| {
            let place = best.partition_point(|known| *known > way.score);
            let near = [place.checked_sub(1), Some(place)].into_iter().flatten();
            let known = near.filter_map(|i| best.get(i)).any(|known| (known - way.score).abs() <= same);
            if place >= count || known {
                return false;
            }
            best.insert(place, way.score);
            best.truncate(count);
            true
        });
    }
    states.retain(|(_, ways)| !ways.is_empty());
}
