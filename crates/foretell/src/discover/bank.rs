//! The value of every branch on every network, computed once.

use super::Network;
use crate::proxy::{Branch, Formula, Sheet, Statistic, Unary};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex};

/// The values of a branch: for each network a number per element of its list.
pub type Values = Arc<Vec<Vec<f64>>>;

/// Statistics of networks and what branches make of them.
pub struct Bank {
    networks: Vec<Network>,
    known: Mutex<FxHashMap<Branch, Values>>,
}

impl Bank {
    /// A bank of some networks.
    pub fn new(networks: Vec<Network>) -> Self {
        Bank { networks, known: Mutex::default() }
    }

    /// How many networks there are.
    pub fn len(&self) -> usize {
        self.networks.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.networks.is_empty()
    }

    /// Some of the networks alone, for chains that are too many to compute on all.
    pub fn part(&self, rows: &[usize]) -> Self {
        Bank::new(rows.iter().map(|row| self.networks[*row].clone()).collect())
    }

    /// The values of a branch.
    pub fn branch(&self, branch: &Branch) -> Values {
        if let Some(values) = self.known.lock().expect("no holder panics").get(branch) {
            return values.clone();
        }
        let list = place(branch.input);
        let one = |network: &Network| match branch.pruned() {
            true => Vec::new(),
            false => network.lists[list].iter().map(|kept| branch.value(kept.sheet())).collect(),
        };
        let values: Values = Arc::new(self.networks.par_iter().map(one).collect());
        self.known.lock().expect("no holder panics").insert(branch.clone(), values.clone());
        values
    }

    /// Computes all branches with so many operators, each prefix once.
    pub fn fill(&self, unaries: usize) {
        let chains = chains(unaries);
        for (list, input) in Statistic::ALL.iter().enumerate() {
            let branch = |chain: &Vec<Unary>| Branch { input: *input, chain: chain.clone() };
            if chains.first().is_some_and(|chain| {
                self.known.lock().expect("no holder panics").contains_key(&branch(chain))
            }) {
                continue;
            }
            let one = |network: &Network| {
                let column = |kept: &super::statistics::Kept| {
                    let mut values = Vec::with_capacity(chains.len());
                    walk(&kept.sheet(), unaries, &mut values);
                    values
                };
                network.lists[list].iter().map(column).collect::<Vec<Vec<f64>>>()
            };
            let columns: Vec<Vec<Vec<f64>>> = self.networks.par_iter().map(one).collect();
            let mut known = self.known.lock().expect("no holder panics");
            for (place, chain) in chains.iter().enumerate() {
                let of = |network: &Vec<Vec<f64>>| network.iter().map(|column| column[place]).collect();
                let pruned = chain.contains(&Unary::Prune);
                let values = columns.iter().map(|network| if pruned { Vec::new() } else { of(network) });
                known.insert(branch(chain), Arc::new(values.collect()));
            }
        }
    }

    /// The score of every network by a formula, not a number where it has none.
    pub fn scores(&self, formula: &Formula) -> Vec<f64> {
        if formula.joins_late() {
            let [left, right] = [0, 1].map(|side| place(formula.branches[side].input));
            let one = |network: &Network| {
                let pairs = network.lists[left].iter().zip(&network.lists[right]);
                let joined = pairs.map(|(a, b)| formula.joined_late(a.sheet(), b.sheet()));
                formula.of(&joined.collect::<Vec<f64>>())
            };
            return self.networks.par_iter().map(one).collect();
        }
        let [left, right] = [0, 1].map(|side| self.branch(&formula.branches[side]));
        left.iter().zip(right.iter()).map(|(left, right)| formula.of(&formula.joined(left, right))).collect()
    }
}

/// The place of a statistic's list.
pub(super) fn place(statistic: Statistic) -> usize {
    Statistic::ALL.iter().position(|known| *known == statistic).expect("all are listed")
}

/// All chains of so many operators, in order.
pub(super) fn chains(unaries: usize) -> Vec<Vec<Unary>> {
    (0..unaries).fold(vec![Vec::new()], |chains, _| {
        let longer = |chain: &Vec<Unary>| {
            let chain = chain.clone();
            Unary::ALL.iter().map(move |unary| chain.iter().copied().chain([*unary]).collect())
        };
        chains.iter().flat_map(longer).collect()
    })
}

/// What all chains of so many operators make of a tensor, in the order of [`chains`].
fn walk(sheet: &Sheet, unaries: usize, values: &mut Vec<f64>) {
    if unaries == 0 {
        values.push(sheet.mean());
        return;
    }
    for unary in Unary::ALL {
        match unary {
            Unary::Prune => values.extend(vec![f64::NAN; Unary::ALL.len().pow(unaries as u32 - 1)]),
            unary => walk(&unary.apply(sheet), unaries - 1, values),
        }
    }
}
