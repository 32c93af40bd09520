//! How the learning rate moves.

use serde::{Deserialize, Serialize};

/// What happens to the rate after warm-up, which raises it linearly from the first step on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Schedule {
    /// Half a cosine down to the floor.
    Cosine,
    /// A line down to the floor.
    Linear,
    /// Nothing.
    Constant,
}

impl Schedule {
    /// The share of the rate at a step, the first being 0; `floor` is what is left of it after the last.
    pub fn factor(self, step: u64, steps: u64, warmup: u64, floor: f64) -> f64 {
        if step < warmup {
            return (step + 1) as f64 / warmup as f64;
        }
        let gone = (step - warmup) as f64 / (steps.saturating_sub(warmup)).max(1) as f64;
        let left = match self {
            Schedule::Cosine => 0.5 * (1.0 + (std::f64::consts::PI * gone.min(1.0)).cos()),
            Schedule::Linear => 1.0 - gone.min(1.0),
            Schedule::Constant => return 1.0,
        };
        floor + (1.0 - floor) * left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four steps of warm-up: 1/4 to 1. Half of the other eight: cosine and line at a half, of what is above the floor.
    #[test]
    fn known_values() {
        for kind in [Schedule::Cosine, Schedule::Linear] {
            let factor = |step| kind.factor(step, 12, 4, 0.2);
            assert_eq!([factor(0), factor(3), factor(4)], [0.25, 1.0, 1.0]);
            assert!((factor(8) - 0.6).abs() < 1e-15 && (factor(12) - 0.2).abs() < 1e-15);
        }
        assert_eq!(Schedule::Constant.factor(11, 12, 0, 0.0), 1.0);
    }
}
