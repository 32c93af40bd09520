//! Agreement over pairs of rows of like size.

use serde::{Deserialize, Serialize};

use super::order::{ascending, comparable};

/// How often score and truth order a pair alike.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PairAgreement {
    /// Share of the pairs ordered alike, score ties counting one half.
    pub agreement: f64,
    /// Number of pairs compared.
    pub pairs: u64,
}

/// Agreement over the pairs of different truth whose sizes differ by less than
/// `tolerance` of the larger: `(alike + tied / 2) / pairs`, where `alike` pairs
/// are ordered the same way by both columns and `tied` ones are equal in score.
///
/// Equal sizes are close, zeros too. Costs O(n log n + close pairs). `None` if
/// there is no such pair, lengths differ, a value is NaN or a size is negative
/// or infinite.
pub fn close_pair_agreement(
    score: &[f64],
    truth: &[f64],
    size: &[f64],
    tolerance: f64,
) -> Option<PairAgreement> {
    let sound = size.iter().all(|size| size.is_finite() && *size >= 0.0) && tolerance > 0.0;
    if !sound || !comparable(&[score, truth, size]) {
        return None;
    }
    let order = ascending(size);
    let rows: Vec<(f64, f64)> = order.iter().map(|&row| (score[row], truth[row])).collect();
    let sizes: Vec<f64> = order.iter().map(|&row| size[row]).collect();

    let mut first = 0;
    let mut pairs = 0;
    let mut halves = 0;
    for (last, &(score, truth)) in rows.iter().enumerate() {
        let larger = sizes[last];
        let close = |smaller: f64| larger - smaller < tolerance * larger || smaller == larger;
        first += sizes[first..last].iter().take_while(|&&smaller| !close(smaller)).count();
        for &(other_score, other_truth) in &rows[first..last] {
            let truth_sign = sign(truth, other_truth);
            pairs += i64::from(truth_sign.abs());
            halves += i64::from(truth_sign.abs() + truth_sign * sign(score, other_score));
        }
    }
    (pairs > 0)
        .then(|| PairAgreement { agreement: halves as f64 / (2 * pairs) as f64, pairs: pairs.unsigned_abs() })
}

fn sign(a: f64, b: f64) -> i32 {
    i32::from(a > b) - i32::from(a < b)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes 100 95 80 at 10 %: only 100-95 is close (5 < 10; 15 < 9.5 fails).
    /// At 20 %: 100-95 and 95-80 (15 < 19), but not 100-80 (20 < 20 fails).
    /// Scores order 100-95 as truth does and tie 95-80: (1 + 1/2) / 2 = 3/4.
    #[test]
    fn close_pairs_by_hand() {
        let agreement = |tolerance: f64| {
            close_pair_agreement(&[2.0, 1.0, 1.0], &[9.0, 7.0, 8.0], &[100.0, 95.0, 80.0], tolerance)
        };
        assert_eq!(agreement(0.1), Some(PairAgreement { agreement: 1.0, pairs: 1 }));
        assert_eq!(agreement(0.2), Some(PairAgreement { agreement: 0.75, pairs: 2 }));
        assert_eq!((agreement(0.01), agreement(0.0), agreement(f64::NAN)), (None, None, None));
    }

    #[test]
    fn equal_truth_is_no_pair_and_equal_zero_sizes_are_close() {
        assert_eq!(close_pair_agreement(&[1.0, 2.0], &[3.0, 3.0], &[1.0, 1.0], 0.5), None);
        let opposite = close_pair_agreement(&[1.0, 2.0], &[4.0, 3.0], &[0.0, -0.0], 0.5);
        assert_eq!(opposite, Some(PairAgreement { agreement: 0.0, pairs: 1 }));
        assert_eq!(close_pair_agreement(&[1.0, 2.0], &[4.0, 3.0], &[-1.0, 1.0], 0.5), None);
    }
}
