//! How far predictions are from measurements.

use serde::{Deserialize, Serialize};

/// Errors of a model on measured networks, all relative.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ErrorSummary {
    /// The median of `|predicted / measured − 1|`.
    pub median: f64,
    /// Nine in ten are off by less than this.
    pub p90: f64,
    /// The median of `measured / predicted − 1`: positive where networks take longer than predicted.
    pub bias: f64,
    /// Nine in ten networks take at most so much longer than predicted; negative where nearly all are faster.
    pub excess: f64,
    /// Networks compared.
    pub samples: usize,
}

/// A prediction, its measurement and how much it counts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Compared {
    pub predicted: f64,
    pub measured: f64,
    pub weight: f64,
}

impl ErrorSummary {
    /// The summary of predictions that were made before their networks were measured: pairs of predicted and measured
    /// seconds.
    pub fn of_pairs(pairs: impl IntoIterator<Item = (f64, f64)>) -> Option<Self> {
        Self::of(pairs.into_iter().map(|(predicted, measured)| Compared { predicted, measured, weight: 1.0 }))
    }

    /// The summary of some comparisons; nothing if there are none. Measurements that are not positive are skipped.
    pub(super) fn of(compared: impl IntoIterator<Item = Compared>) -> Option<Self> {
        let sound = |c: &Compared| c.measured.is_finite() && c.measured > 0.0;
        let compared: Vec<Compared> = compared.into_iter().filter(sound).collect();
        let off = |c: &Compared| ((c.predicted / c.measured - 1.0).abs(), c.weight);
        let late = |c: &Compared| (c.measured / c.predicted.max(f64::MIN_POSITIVE) - 1.0, c.weight);
        let off: Vec<_> = compared.iter().map(off).collect();
        let late: Vec<_> = compared.iter().map(late).collect();
        Some(ErrorSummary {
            median: quantile(&off, 0.5)?,
            p90: quantile(&off, 0.9)?,
            bias: quantile(&late, 0.5)?,
            excess: quantile(&late, 0.9)?,
            samples: compared.len(),
        })
    }
}

/// The smallest value that carries a share of all weight together with those below it.
fn quantile(values: &[(f64, f64)], share: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let all: f64 = sorted.iter().map(|(_, weight)| weight).sum();
    let mut below = 0.0;
    let reached = |(_, weight): &&(f64, f64)| {
        below += weight;
        below >= share * all
    };
    sorted.iter().find(reached).or(sorted.last()).map(|(value, _)| *value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(predicted: f64, measured: f64, weight: f64) -> Compared {
        Compared { predicted, measured, weight }
    }

    /// Ten networks of 1 s that take 1, 1.1, … 1.9 s: the ninth is 80 % late, the fifth 40 %; 1 / 1.4 is off by 2/7.
    #[test]
    fn quantiles_by_hand() {
        let late = (0..10).map(|i| compared(1.0, 1.0 + f64::from(i) / 10.0, 1.0));
        let found = ErrorSummary::of(late).unwrap();
        assert!((found.bias - 0.4).abs() < 1e-12 && (found.excess - 0.8).abs() < 1e-12, "{found:?}");
        assert!((found.median - 2.0 / 7.0).abs() < 1e-12 && (found.p90 - 4.0 / 9.0).abs() < 1e-12);
        assert_eq!(found.samples, 10);
    }

    /// A weight of eight against two of one decides every quantile up to 0.8; NaN and nothing at all are skipped.
    #[test]
    fn weights_count() {
        let found = ErrorSummary::of([
            compared(1.0, 2.0, 1.0),
            compared(1.0, 1.0, 8.0),
            compared(2.0, 1.0, 1.0),
            compared(1.0, f64::NAN, 99.0),
        ]);
        let found = found.unwrap();
        assert_eq!((found.median, found.bias, found.samples), (0.0, 0.0, 3));
        assert_eq!(ErrorSummary::of([compared(1.0, 0.0, 1.0)]), None);
    }
}
