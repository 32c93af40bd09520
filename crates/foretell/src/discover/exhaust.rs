//! Every formula of a size, ranked exactly: branches share what they are made of.

use super::bank::{chains, place};
use super::{Bank, Yardstick};
use crate::proxy::{Aggregate, Binary, Branch, Formula, Statistic, Unary};
use rayon::prelude::*;

/// What an exhaustive ranking came to.
#[derive(Debug, Clone, Default)]
pub struct Exhausted {
    /// Formulas there are.
    pub formulas: u64,
    /// Of these, formulas without a ranking: pruned away, not finite on some network, or constant.
    pub undefined: u64,
    /// The best, turned so that higher is better, with their agreement on the sample; of equals the earlier.
    pub top: Vec<(Formula, f64)>,
    /// For every threshold asked for, how many formulas are better.
    pub better: Vec<u64>,
    /// Formulas by the magnitude of their agreement, in steps of 0.05.
    pub histogram: [u64; 20],
}

/// How many formulas have so many operators in a branch: 15 pairs of statistics, 21 operators, 4 joins.
pub fn count(unaries: u32) -> u64 {
    15 * 21_u64.pow(2 * unaries) * 4
}

/// Ranks every formula with so many operators in a branch by its agreement with the labels, in either direction, on the
/// networks in `rows` of the bank; the best `keep` are returned.
pub fn exhaust(
    bank: &Bank,
    rows: &[usize],
    yardstick: &Yardstick,
    unaries: usize,
    keep: usize,
    thresholds: &[f64],
    done: &(dyn Fn() + Sync),
) -> Exhausted {
    bank.fill(unaries);
    let chains = chains(unaries);
    let lists: Vec<Vec<super::bank::Values>> = Statistic::ALL
        .iter()
        .map(|input| {
            chains.iter().map(|chain| bank.branch(&Branch { input: *input, chain: chain.clone() })).collect()
        })
        .collect();
    let mut whole = Exhausted { better: vec![0; thresholds.len()], ..Exhausted::default() };
    for (left, right) in pairs() {
        let job = Job {
            yardstick,
            chains: &chains,
            rows,
            keep,
            thresholds,
            inputs: (left, right),
            lists: (&lists[place(left)], &lists[place(right)]),
        };
        let parts: Vec<Exhausted> = (0..chains.len()).into_par_iter().map(|chain| job.row(chain)).collect();
        parts.into_iter().for_each(|part| whole.add(part, keep));
        done();
    }
    whole
}

/// Every pair of different statistics.
fn pairs() -> impl Iterator<Item = (Statistic, Statistic)> {
    let all = Statistic::ALL.iter().enumerate();
    all.flat_map(|(place, left)| Statistic::ALL[place + 1..].iter().map(move |right| (*left, *right)))
}

impl Exhausted {
    fn add(&mut self, part: Exhausted, keep: usize) {
        self.formulas += part.formulas;
        self.undefined += part.undefined;
        self.better.iter_mut().zip(part.better).for_each(|(sum, more)| *sum += more);
        self.histogram.iter_mut().zip(part.histogram).for_each(|(sum, more)| *sum += more);
        self.top.extend(part.top);
        self.trim(keep);
    }

    /// The best alone; the sort is stable, so that of equals the earlier stays.
    fn trim(&mut self, keep: usize) {
        self.top.sort_by(|a, b| b.1.total_cmp(&a.1));
        self.top.truncate(keep);
    }
}

/// All formulas over one pair of statistics.
struct Job<'a> {
    yardstick: &'a Yardstick,
    chains: &'a [Vec<Unary>],
    rows: &'a [usize],
    keep: usize,
    thresholds: &'a [f64],
    inputs: (Statistic, Statistic),
    lists: (&'a [super::bank::Values], &'a [super::bank::Values]),
}

impl Job<'_> {
    /// Those with one chain on the left.
    fn row(&self, left: usize) -> Exhausted {
        let mut found = Exhausted { better: vec![0; self.thresholds.len()], ..Exhausted::default() };
        let (mut order, mut scores) = (Vec::new(), Vec::new());
        for right in 0..self.chains.len() {
            let branches = [(self.inputs.0, left), (self.inputs.1, right)]
                .map(|(input, chain)| Branch { input, chain: self.chains[chain].clone() });
            let (aggregate, join) = (Aggregate::Mean, Binary::Sum);
            let mut formula = Formula { turned: false, aggregate, late: false, join, branches };
            let one = formula.branches.iter().any(Branch::pruned);
            let mut last = None;
            for join in Binary::ALL {
                formula.join = *join;
                found.formulas += 1;
                // A branch alone has no join, and the matrix product of numbers is their product.
                if !(one && *join != Binary::Sum || *join == Binary::MatrixProduct) {
                    scores.clear();
                    scores.extend(
                        self.rows.iter().map(|row| {
                            joined(&formula, &self.lists.0[left][*row], &self.lists.1[right][*row])
                        }),
                    );
                    last = self.yardstick.agreement(&scores, &mut order);
                }
                let Some(agreement) = last else {
                    found.undefined += 1;
                    continue;
                };
                let fitness = agreement.abs();
                found.histogram[((fitness * 20.0) as usize).min(19)] += 1;
                let better = self.thresholds.iter().zip(&mut found.better);
                better.for_each(|(threshold, count)| *count += u64::from(fitness > *threshold));
                if found.top.len() < self.keep || fitness > found.top[found.top.len() - 1].1 {
                    found.top.push((Formula { turned: agreement < 0.0, ..formula.clone() }, fitness));
                    found.trim(self.keep);
                }
            }
        }
        found
    }
}

/// [`Formula::of`] the joined list, without making the list.
fn joined(formula: &Formula, left: &[f64], right: &[f64]) -> f64 {
    let [no_left, no_right] = [0, 1].map(|side| formula.branches[side].pruned());
    let (sum, length) = match (no_left, no_right) {
        (false, false) => {
            let join = formula.join;
            let sum = left.iter().zip(right).map(|(a, b)| join.apply(*a, *b)).sum::<f64>();
            (sum, left.len().min(right.len()))
        }
        (false, true) => (left.iter().sum(), left.len()),
        (true, false) => (right.iter().sum(), right.len()),
        (true, true) => (f64::NAN, 1),
    };
    formula.of(&[sum / length as f64])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_space_has_its_published_size() {
        assert_eq!((count(1), count(2)), (26_460, 11_668_860));
        assert_eq!(pairs().count(), 15);
    }
}
