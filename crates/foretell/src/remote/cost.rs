//! What candidates cost, learned from those that were computed.

/// Seconds per unit of weight, over the work so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cost {
    /// Seconds and weights, older ones counting less.
    seen: Option<(f64, f64)>,
    /// Candidates of the largest unit that came back.
    largest: usize,
}

/// What all that was seen before still counts when a further unit is seen.
const KEPT: f64 = 0.9;
/// A unit has at most so many times the candidates of the largest before it: the first ones may mislead.
const GROWTH: usize = 8;
/// Candidates of a unit at most: about a megabyte.
const MOST: usize = 4096;

impl Cost {
    /// Notes that candidates of this weight took so long.
    pub fn learn(&mut self, candidates: usize, weight: f64, seconds: f64) {
        let (before, weights) = self.seen.unwrap_or_default();
        self.seen = Some((KEPT * before + seconds.max(1e-9), KEPT * weights + weight));
        self.largest = self.largest.max(candidates);
    }

    /// Seconds that candidates of this weight will take; none before anything was seen.
    pub fn predict(&self, weight: f64) -> Option<f64> {
        self.seen.map(|(seconds, weights)| seconds / weights * weight)
    }

    /// The most candidates that the next unit may have.
    pub fn most(&self) -> usize {
        (GROWTH * self.largest).clamp(1, MOST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two seconds for a weight of 4, then one for 1: (0.9 · 2 + 1) / (0.9 · 4 + 1) seconds per weight.
    #[test]
    fn later_units_count_more() {
        let mut cost = Cost::default();
        assert_eq!((cost.predict(1.0), cost.most()), (None, 1));
        cost.learn(3, 4.0, 2.0);
        cost.learn(1, 1.0, 1.0);
        assert!((cost.predict(2.0).unwrap() - 2.0 * 2.8 / 4.6).abs() < 1e-12);
        assert_eq!(cost.most(), 24);
        cost.learn(4096, 1.0, 1.0);
        assert_eq!(cost.most(), 4096);
    }
}
