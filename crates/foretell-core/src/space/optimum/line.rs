//! The best networks of one frame where the score is a function of the sum of places alone: then only the sums that occur
//! matter, one bit each. Bounds are of no use there, since all networks of one sum tie.

use super::chain::{Chain, Item};
use super::solve::Found;

/// The most bits held at once: 128 MB.
const MAX_BITS: u64 = 1 << 30;
/// The most words joined: a second.
const MAX_WORDS: u64 = 1 << 30;

/// The `count` best networks of different score; nothing if the score is no such function or there are too many sums.
pub(super) fn solve(chain: &Chain, count: usize) -> Option<Vec<Found>> {
    let slope = slope(chain)?;
    let most = |list: &usize| chain.lists[*list].last().map_or(0, |item| item.place[0]);
    let cells = chain.list_of.iter().map(most).sum::<u64>().min(chain.window.high[0]) + 1;
    let positions = chain.list_of.len() as u64;
    let items = chain.lists.iter().map(|items| items.len() as u64).max()?;
    let joined = cells.div_ceil(64).checked_mul(items)?.checked_mul(positions)?;
    if cells.checked_mul(positions)? > MAX_BITS || joined > MAX_WORDS {
        return None;
    }
    let reach = Reach::new(chain, cells as usize);
    let inside = (chain.window.low[0] as usize..cells as usize).filter(|sum| reach.holds(0, *sum));
    let sums: Vec<usize> = match slope {
        0.0 => inside.take(1).collect(),
        slope if slope < 0.0 => inside.take(count).collect(),
        _ => inside.rev().take(count).collect(),
    };
    Some(sums.into_iter().map(|sum| reach.trace(chain, sum)).collect())
}

/// What one unit of place adds to the score, if that is all there is to it.
fn slope(chain: &Chain) -> Option<f64> {
    let flat = |item: &Item| item.place[1] == 0;
    if !chain.lists.iter().flatten().all(flat) {
        return None;
    }
    let rise = chain.lists.iter().find_map(|items| {
        let (first, last) = (items.first()?, items.last()?);
        let run = last.place[0].checked_sub(first.place[0]).filter(|run| *run > 0)?;
        Some((last.gain - first.gain) / run as f64)
    });
    let slope = rise.unwrap_or(0.0);
    let on_line = |items: &Vec<Item>| {
        let origin = items.first().map_or(0.0, |item| item.gain - slope * item.place[0] as f64);
        items.iter().all(|item| (item.gain - origin - slope * item.place[0] as f64).abs() <= chain.same)
    };
    if !chain.lists.iter().all(on_line) {
        return None;
    }
    let range = chain.list_of.iter().map(|list| chain.lists[*list].last().map_or(0, |item| item.place[0]));
    Some(if (slope * range.sum::<u64>() as f64).abs() <= chain.same { 0.0 } else { slope })
}

/// Which sums the positions from each one on can have.
struct Reach {
    words: Vec<Vec<u64>>,
}

impl Reach {
    fn new(chain: &Chain, cells: usize) -> Self {
        let size = cells.div_ceil(64);
        let positions = chain.list_of.len();
        let mut words = vec![Vec::new(); positions + 1];
        words[positions] = vec![0; size];
        words[positions][0] = 1;
        for position in (0..positions).rev() {
            let mut sums = vec![0; size];
            for item in chain.items(position) {
                shift(&words[position + 1], item.place[0] as usize, &mut sums);
            }
            words[position] = sums;
        }
        Reach { words }
    }

    fn holds(&self, position: usize, sum: usize) -> bool {
        self.words[position].get(sum / 64).is_some_and(|word| word >> (sum % 64) & 1 == 1)
    }

    /// A network with this sum. Each position takes the item nearest to its share, so that layers are much alike.
    fn trace(&self, chain: &Chain, mut sum: usize) -> Found {
        let (mut score, mut rows) = (chain.start, Vec::with_capacity(chain.list_of.len()));
        for position in 0..chain.list_of.len() {
            let share = sum / (chain.list_of.len() - position);
            let fits = |item: &&Item| {
                (item.place[0] as usize) <= sum && self.holds(position + 1, sum - item.place[0] as usize)
            };
            let fitting = chain.items(position).iter().filter(fits);
            let item = fitting.min_by_key(|item| (item.place[0] as usize).abs_diff(share));
            let Some(item) = item else { break };
            sum -= item.place[0] as usize;
            score += item.gain;
            rows.push(item.row);
        }
        (score, rows)
    }
}

/// Adds the sums `from`, each larger by `by`, to `into`; those beyond its end are lost.
fn shift(from: &[u64], by: usize, into: &mut [u64]) {
    let (words, bits) = (by / 64, by % 64);
    if words >= into.len() {
        return;
    }
    let into = &mut into[words..];
    for (to, word) in into.iter_mut().zip(from) {
        *to |= word << bits;
    }
    if bits > 0 {
        for (to, word) in into[1..].iter_mut().zip(from) {
            *to |= word >> (64 - bits);
        }
    }
}
