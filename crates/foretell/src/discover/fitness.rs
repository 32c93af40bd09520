//! How well scores agree with labels, fast enough for millions of formulas.

use crate::error::{Error, Result};
use crate::rank;
use std::str::FromStr;

/// How agreement is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Measure {
    /// Spearman's rho.
    #[default]
    Spearman,
    /// Kendall's tau-b.
    Kendall,
}

impl FromStr for Measure {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        match text {
            "spearman" => Ok(Measure::Spearman),
            "kendall" => Ok(Measure::Kendall),
            other => Err(crate::catalogue::unknown("measure", other, ["spearman", "kendall"])),
        }
    }
}

/// Labels of some networks, larger is better, against which scores are held.
#[derive(Debug, Clone)]
pub struct Yardstick {
    measure: Measure,
    truth: Vec<f64>,
    /// Twice the rank from its mean: whole numbers, so that rho is exact.
    ranks: Vec<i64>,
    spread: i64,
}

impl Yardstick {
    /// A yardstick of these labels.
    pub fn new(truth: &[f64], measure: Measure) -> Self {
        let middle = truth.len() as i64 + 1;
        let ranks: Vec<i64> =
            rank::average_ranks(truth).iter().map(|rank| (2.0 * rank) as i64 - middle).collect();
        let spread = ranks.iter().map(|rank| rank * rank).sum();
        Yardstick { measure, truth: truth.to_vec(), ranks, spread }
    }

    /// Spearman's rho.
    fn spearman(&self, scores: &[f64], order: &mut Vec<(f64, u32)>) -> Option<f64> {
        order.clear();
        order.extend(scores.iter().zip(0..).map(|(score, row)| (*score, row)));
        if order.iter().any(|(score, _)| !score.is_finite()) {
            return None;
        }
        order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let (mut product, mut spread, mut below) = (0, 0, 0);
        let middle = order.len() as i64 + 1;
        for group in order.chunk_by(|a, b| a.0 == b.0) {
            let size = group.len() as i64;
            let rank = 2 * below + size + 1 - middle;
            product += rank * group.iter().map(|(_, row)| self.ranks[*row as usize]).sum::<i64>();
            spread += size * rank * rank;
            below += size;
        }
        let scale = (spread as f64 * self.spread as f64).sqrt();
        (scale > 0.0).then(|| (product as f64 / scale).clamp(-1.0, 1.0))
    }

    /// The agreement of scores with the labels; none for scores that are constant or not all finite. `order` is
    /// memory to work in.
    pub fn agreement(&self, scores: &[f64], order: &mut Vec<(f64, u32)>) -> Option<f64> {
        match self.measure {
            Measure::Spearman => self.spearman(scores, order),
            Measure::Kendall if scores.iter().all(|score| score.is_finite()) => {
                rank::kendall_tau_b(scores, &self.truth)
            }
            Measure::Kendall => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rho_is_that_of_the_usual_way() {
        let truth = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0];
        let scores = [1.0, 1.0, -0.0, 0.0, 7.0, 6.0, 6.0];
        let found = Yardstick::new(&truth, Measure::Spearman).agreement(&scores, &mut Vec::new()).unwrap();
        assert!((found - rank::spearman(&scores, &truth).unwrap()).abs() < 1e-15);
        for measure in [Measure::Spearman, Measure::Kendall] {
            let none = |scores| Yardstick::new(&truth, measure).agreement(scores, &mut Vec::new());
            assert_eq!((none(&[2.0; 7]), none(&[f64::NAN; 7])), (None, None));
        }
    }
}
