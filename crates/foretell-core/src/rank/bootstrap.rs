//! Bootstrap intervals.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::correlation::pearson;
use super::order::{Levels, comparable};
use super::quantile::quantile_of_sorted;
use super::tally::Cells;

/// A percentile interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// 2.5 % quantile.
    pub low: f64,
    /// 97.5 % quantile.
    pub high: f64,
}

/// 95 % percentile interval of `statistic` over resamples of `n` rows drawn
/// with replacement; the statistic is given the drawn row numbers.
///
/// The ends are the 2.5 % and 97.5 % quantiles, interpolated linearly between
/// order statistics (see [`quantile`](super::quantile()), the numpy default).
/// Resample `i` draws from ChaCha8 with key `seed` and stream `i`, so the result
/// has the same bits on any number of threads. Resamples on which the statistic
/// is undefined (`None` or NaN) are left out; `None` if fewer than half remain.
pub fn bootstrap(
    n: usize,
    resamples: usize,
    seed: u64,
    statistic: impl Fn(&[usize]) -> Option<f64> + Sync,
) -> Option<Interval> {
    if n == 0 {
        return None;
    }
    let mut values: Vec<f64> = (0..resamples)
        .into_par_iter()
        .filter_map(|index| statistic(&resample(n, seed, index)).filter(|value| !value.is_nan()))
        .collect();
    if values.len() < resamples.div_ceil(2) {
        return None;
    }
    values.sort_unstable_by(f64::total_cmp);
    let low = quantile_of_sorted(&values, 0.025)?;
    let high = quantile_of_sorted(&values, 0.975)?;
    Some(Interval { low, high })
}

/// [`bootstrap`] of [`kendall_tau_b`](super::kendall_tau_b()), with the same
/// bits, but ordering the columns once instead of in every resample.
pub fn kendall_interval(x: &[f64], y: &[f64], resamples: usize, seed: u64) -> Option<Interval> {
    let cells = Cells::new(x, y)?;
    bootstrap(cells.rows(), resamples, seed, |rows| cells.tally(rows.iter().copied()).tau_b())
}

/// [`bootstrap`] of [`spearman`](super::spearman()), with the same bits, but
/// ordering the columns once instead of in every resample.
pub fn spearman_interval(x: &[f64], y: &[f64], resamples: usize, seed: u64) -> Option<Interval> {
    if !comparable(&[x, y]) {
        return None;
    }
    let columns = [Levels::new(x), Levels::new(y)];
    bootstrap(x.len(), resamples, seed, |rows| {
        let [x, y] = columns.each_ref().map(|column| column.ranks(rows.iter().copied()));
        pearson(&x, &y)
    })
}

fn resample(n: usize, seed: u64, index: usize) -> Vec<usize> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(index as u64);
    (0..n).map(|_| random.random_range(0..n)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_statistic_has_a_point_interval() {
        let interval = bootstrap(10, 50, 1, |_| Some(0.25));
        assert_eq!(interval, Some(Interval { low: 0.25, high: 0.25 }));
    }

    #[test]
    fn half_of_the_resamples_must_remain() {
        let first_row_below =
            |limit: usize| bootstrap(100, 200, 7, move |rows| (rows[0] < limit).then_some(rows[0] as f64));
        assert!(first_row_below(80).is_some_and(|interval| interval.high < 80.0));
        assert_eq!(first_row_below(20), None);
        assert_eq!(bootstrap(10, 20, 7, |_| Some(f64::NAN)), None);
    }

    #[test]
    fn nothing_to_draw_is_none() {
        assert_eq!(bootstrap(0, 10, 1, |_| Some(1.0)), None);
        assert_eq!(bootstrap(10, 0, 1, |_| Some(1.0)), None);
        assert_eq!(kendall_interval(&[1.0; 4], &[1.0, 2.0, 3.0, 4.0], 10, 1), None);
    }

    /// The mean of 0, 1, ..., 99 is 49.5 and its standard error is
    /// sqrt((100^2 - 1) / 12 / 100) = 2.887: the interval is about 49.5 +- 5.66.
    #[test]
    fn the_mean_has_the_width_of_its_standard_error() {
        let mean = |rows: &[usize]| Some(rows.iter().sum::<usize>() as f64 / rows.len() as f64);
        let interval = bootstrap(100, 4000, 3, mean);
        let near = |value: f64, target: f64| (value - target).abs() < 0.4;
        assert!(interval.is_some_and(|i| near(i.low, 49.5 - 5.66) && near(i.high, 49.5 + 5.66)));
    }

    #[test]
    fn resamples_differ_and_repeat() {
        assert_eq!(resample(50, 1, 3), resample(50, 1, 3));
        assert_ne!(resample(50, 1, 3), resample(50, 1, 4));
        assert_ne!(resample(50, 1, 3), resample(50, 2, 3));
    }
}
