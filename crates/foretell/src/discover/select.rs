//! Networks to look at, to choose by and to be judged by, kept apart.

use super::{Bank, Measure, Yardstick};
use crate::error::{Error, Result};
use crate::proxy::Formula;
use crate::rank;
use crate::seed::Seed;
use rand::seq::SliceRandom;
use serde::Serialize;

/// Three sets of networks without a common member.
#[derive(Debug, Clone)]
pub struct Split {
    /// Fitness is measured on these.
    pub sample: Vec<usize>,
    /// The winner is chosen among the fittest by these.
    pub validation: Vec<usize>,
    /// Nothing is decided by these.
    pub test: Vec<usize>,
}

impl Split {
    /// So many labels of `n` networks, or all there are; whatever is left tests.
    pub fn labels(n: usize, labels: usize, seed: u64) -> Result<Self> {
        let labels = labels.min(n);
        if labels < 5 {
            return Err(Error::option("labels", format!("{labels} are too few: five or more are needed")));
        }
        Ok(Self::cut(n, labels, 0, seed))
    }

    /// A random split of `n` networks; at least ten are left to test.
    pub fn draw(n: usize, sample: usize, validation: usize, seed: u64) -> Result<Self> {
        if sample < 5 || sample + validation + 10 > n {
            let message = format!(
                "{sample} to sample and {validation} to validate leave fewer than 10 of {n} networks to test, or are fewer than 5"
            );
            return Err(Error::option("sample", message));
        }
        Ok(Self::cut(n, sample, validation, seed))
    }

    fn cut(n: usize, sample: usize, validation: usize, seed: u64) -> Self {
        let mut rows: Vec<usize> = (0..n).collect();
        rows.shuffle(&mut Seed(seed).stream("split", 0));
        let test = rows.split_off(sample + validation);
        let validation = rows.split_off(sample);
        Split { sample: rows, validation, test }
    }
}

/// What networks are known by, beside their statistics.
#[derive(Debug, Clone)]
pub struct Facts {
    /// Labels, larger is better.
    pub truth: Vec<f64>,
    /// Layers.
    pub depth: Vec<f64>,
    /// Parameters.
    pub params: Vec<f64>,
}

/// A formula on networks that were not used to find it.
#[derive(Debug, Clone, Serialize)]
pub struct Judged {
    /// The formula.
    pub formula: String,
    /// The same as mathematics.
    pub mathematics: String,
    /// Its fitness on the sample, which is optimistic.
    pub sample: f64,
    /// Kendall's tau-b on the test networks.
    pub tau: Option<f64>,
    /// Spearman's rho there.
    pub rho: Option<f64>,
    /// Tau with depth held fixed.
    pub tau_given_depth: Option<f64>,
    /// Tau with parameters held fixed.
    pub tau_given_params: Option<f64>,
    /// The count that it is in disguise, if it is one.
    pub disguise: Option<&'static str>,
    /// Test networks that it could not score.
    pub failed: usize,
}

/// From this tau with a count on, a formula is that count.
const SAME: f64 = 0.9;
/// Below this partial tau, nothing is left of a formula beside a count.
const LEFT: f64 = 0.1;

/// Judges a formula by test networks.
pub fn judge(bank: &Bank, formula: &Formula, sample: f64, test: &[usize], facts: &Facts) -> Judged {
    let scores = bank.scores(formula);
    let rows: Vec<usize> = test.iter().copied().filter(|row| scores[*row].is_finite()).collect();
    let pick = |column: &[f64]| rows.iter().map(|row| column[*row]).collect::<Vec<f64>>();
    let (score, truth, depth, params) =
        (pick(&scores), pick(&facts.truth), pick(&facts.depth), pick(&facts.params));
    let given = |count: &[f64]| rank::partial_kendall(&score, &truth, count);
    let is = |count: &[f64]| {
        let same = rank::kendall_tau_b(&score, count).is_some_and(|tau| tau.abs() >= SAME);
        same || given(count).is_some_and(|tau| tau.abs() < LEFT)
    };
    Judged {
        formula: formula.to_string(),
        mathematics: formula.mathematics(),
        sample,
        tau: rank::kendall_tau_b(&score, &truth),
        rho: rank::spearman(&score, &truth),
        tau_given_depth: given(&depth),
        tau_given_params: given(&params),
        disguise: if is(&depth) { Some("depth") } else { is(&params).then_some("parameters") },
        failed: test.len() - rows.len(),
    }
}

/// Of the fittest formulas the one that validation networks prefer.
pub fn choose(
    bank: &Bank,
    top: &[(Formula, f64)],
    validation: &[usize],
    truth: &[f64],
    measure: Measure,
) -> Option<(Formula, f64)> {
    let labels: Vec<f64> = validation.iter().map(|row| truth[*row]).collect();
    let yardstick = Yardstick::new(&labels, measure);
    let value = |(formula, _): &&(Formula, f64)| {
        let scores = bank.scores(formula);
        let scores: Vec<f64> = validation.iter().map(|row| scores[*row]).collect();
        yardstick.agreement(&scores, &mut Vec::new()).unwrap_or(-1.0)
    };
    let mut best: Option<(&(Formula, f64), f64)> = None;
    for entry in top {
        let value = value(&entry);
        if best.is_none_or(|(_, most)| value > most) {
            best = Some((entry, value));
        }
    }
    best.map(|(entry, _)| entry.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_have_no_common_member() {
        let split = Split::draw(100, 50, 20, 7).unwrap();
        let mut all = [split.sample, split.validation, split.test].concat();
        all.sort_unstable();
        assert_eq!(all, (0..100).collect::<Vec<_>>());
        assert!(Split::draw(60, 50, 5, 7).is_err());
    }
}
