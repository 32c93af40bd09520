//! How well the best rows by score are the best rows in truth.

use super::order::{average_ranks, comparable};

/// Expected share of the `k` truly best rows among the `k` best by score,
/// larger being better in both columns: `sum(p_i q_i) / k`.
///
/// `p_i` and `q_i` are the chances of row `i` to be in the top `k` by score and
/// by truth when ties are broken at random, independently: 1 above the k-th
/// value, 0 below it, and `(places left) / (rows tied)` on it.
/// `None` if `k` is 0 or more than n, lengths differ or a value is NaN.
pub fn top_k_overlap(score: &[f64], truth: &[f64], k: usize) -> Option<f64> {
    if !comparable(&[score, truth]) {
        return None;
    }
    let (score, truth) = (Top::new(score, k)?, Top::new(truth, k)?);
    let chance = |top: &Top, row: usize| match top.side[row] {
        Side::Above => 1.0,
        Side::On => top.places as f64 / top.tied as f64,
        Side::Below => 0.0,
    };
    let shared: f64 = (0..score.side.len()).map(|i| chance(&score, i) * chance(&truth, i)).sum();
    Some(shared / k as f64)
}

/// Expected best true rank among the `k` best rows by score, 1 being the best
/// row; larger is better in both columns. Rows of equal truth all have the
/// average of their ranks.
///
/// Let `a` be the best rank of the rows above the k-th score, `r_1 <= ... <= r_b`
/// the ranks of the `b` rows tied on it, and `m` the places left for them. The
/// result is `sum_j P_j min(a, r_j)` where `P_j = C(b - j, m - 1) / C(b, m)` is
/// the chance that row `j` is the best of `m` tied rows chosen at random.
/// `None` if `k` is 0 or more than n, lengths differ or a value is NaN.
pub fn best_true_rank(score: &[f64], truth: &[f64], k: usize) -> Option<f64> {
    if !comparable(&[score, truth]) {
        return None;
    }
    let top = Top::new(score, k)?;
    let rows = truth.len() as f64;
    let ranks: Vec<f64> = average_ranks(truth).into_iter().map(|rank| rows + 1.0 - rank).collect();
    let on_side =
        |side: Side| ranks.iter().zip(&top.side).filter(move |(_, s)| **s == side).map(|(&rank, _)| rank);
    let above = on_side(Side::Above).fold(f64::INFINITY, f64::min);
    let mut tied: Vec<f64> = on_side(Side::On).collect();
    tied.sort_unstable_by(f64::total_cmp);

    let mut chance = top.places as f64 / top.tied as f64;
    let mut expected = 0.0;
    for (passed, rank) in tied.into_iter().take(top.tied - top.places + 1).enumerate() {
        expected += chance * rank.min(above);
        // P_(j+1) / P_j, with j = passed + 1.
        let left = top.tied - passed - 1;
        chance *= (left + 1 - top.places) as f64 / left.max(1) as f64;
    }
    Some(expected)
}

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Above,
    On,
    Below,
}

/// The k largest values of a column, with the ties at their border.
struct Top {
    side: Vec<Side>,
    /// Rows equal to the k-th value, at least 1.
    tied: usize,
    /// How many of them belong to the top, at least 1.
    places: usize,
}

impl Top {
    fn new(values: &[f64], k: usize) -> Option<Self> {
        let border = *values
            .to_vec()
            .select_nth_unstable_by(k.checked_sub(1).filter(|&place| place < values.len())?, |a, b| {
                b.total_cmp(a)
            })
            .1;
        let side: Vec<Side> = values
            .iter()
            .map(|&value| match value {
                _ if value > border => Side::Above,
                _ if value < border => Side::Below,
                _ => Side::On,
            })
            .collect();
        let count = |wanted: Side| side.iter().filter(|side| **side == wanted).count();
        let (above, tied) = (count(Side::Above), count(Side::On));
        Some(Self { side, tied, places: k.saturating_sub(above) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRUTH: [f64; 5] = [5.0, 4.0, 3.0, 2.0, 1.0];

    /// Top 2 by score: row 4, and one of rows 0, 1, 2 (chance 1/3 each). Top 2
    /// in truth: rows 0 and 1. Shared 1/3 + 1/3, over 2: 1/3.
    #[test]
    fn overlap_with_ties_by_hand() {
        let overlap = top_k_overlap(&[1.0, 1.0, 1.0, 0.0, 9.0], &TRUTH, 2);
        assert!(overlap.is_some_and(|share| (share - 1.0 / 3.0).abs() < 1e-15));
    }

    /// Every row has chance 2/5 in a constant score: 2 * 2/5 / 2 = 2/5.
    #[test]
    fn a_constant_score_finds_what_chance_finds() {
        assert_eq!(top_k_overlap(&[0.0; 5], &TRUTH, 2), Some(0.4));
    }

    /// Top 3 by score: row 3 (rank 4) and two of rows 0, 2, 4 (ranks 1, 3, 5).
    /// P = C(2,1)/C(3,2) = 2/3, C(1,1)/3 = 1/3, 0: 2/3 * 1 + 1/3 * 3 = 5/3.
    /// For top 2, one of three: (1 + 3 + min(4, 5)) / 3 = 8/3.
    #[test]
    fn best_rank_with_ties_by_hand() {
        let score = [1.0, 0.0, 1.0, 2.0, 1.0];
        let near = |k: usize, target: f64| {
            best_true_rank(&score, &TRUTH, k).is_some_and(|rank| (rank - target).abs() < 1e-15)
        };
        assert!(near(3, 5.0 / 3.0) && near(2, 8.0 / 3.0) && near(1, 4.0) && near(5, 1.0));
    }

    /// Rows 0 and 1 are both truly best: their rank is (1 + 2) / 2.
    #[test]
    fn equal_truth_has_the_average_rank() {
        assert_eq!(best_true_rank(&[3.0, 2.0, 1.0], &[7.0, 7.0, 0.0], 1), Some(1.5));
    }

    #[test]
    fn undefined_is_none() {
        for k in [0, 6] {
            assert_eq!(top_k_overlap(&TRUTH, &TRUTH, k), None);
            assert_eq!(best_true_rank(&TRUTH, &TRUTH, k), None);
        }
        assert_eq!(top_k_overlap(&[f64::NAN], &[1.0], 1), None);
        assert_eq!(best_true_rank(&[1.0], &[1.0, 2.0], 1), None);
    }
}
