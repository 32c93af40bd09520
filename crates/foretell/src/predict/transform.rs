//! A monotone transform that makes labels look normal: accuracies have a tail of bad networks, perplexities too.
//!
//! ```text
//! z = (y − mean) / deviation
//! t = ((z + 1)^λ − 1) / λ              z ≥ 0     (ln (z + 1) for λ = 0)
//!   = −((1 − z)^(2 − λ) − 1) / (2 − λ)   z < 0     (−ln (1 − z) for λ = 2)
//! ```
//!
//! λ maximises the normal likelihood of the labels, held towards 1, which changes nothing (Yeo and Johnson, Biometrika 2000).

use super::features::{mean, spread};
use serde::{Deserialize, Serialize};

/// Values of λ that are tried.
const TRIED: [f64; 25] = {
    let mut tried = [0.0; 25];
    let mut i = 0;
    while i < 25 {
        tried[i] = -2.0 + i as f64 * 0.25;
        i += 1;
    }
    tried
};

/// The transform of labels, and back.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Transform {
    power: f64,
    shift: f64,
    scale: f64,
    /// Mean and deviation of the transformed labels.
    inner: [f64; 2],
}

impl Transform {
    /// The transform of labels that are not all equal.
    pub(super) fn fit(labels: &[f64]) -> Self {
        let (shift, scale) = (mean(labels), spread(labels));
        let scaled: Vec<f64> = labels.iter().map(|y| (y - shift) / scale).collect();
        let jacobian: f64 = scaled.iter().map(|z| z.signum() * z.abs().ln_1p()).sum();
        let likelihood = |power: f64| {
            let bent: Vec<f64> = scaled.iter().map(|z| bend(*z, power)).collect();
            let deviation = spread(&bent);
            -(labels.len() as f64) * deviation.ln() + (power - 1.0) * jacobian - 0.5 * (power - 1.0).powi(2)
        };
        let best = TRIED.into_iter().map(|power| (power, likelihood(power)));
        let power = best.max_by(|a, b| a.1.total_cmp(&b.1)).map_or(1.0, |(power, _)| power);
        let bent: Vec<f64> = scaled.iter().map(|z| bend(*z, power)).collect();
        Transform { power, shift, scale, inner: [mean(&bent), spread(&bent)] }
    }

    /// A label as the models see it.
    pub(super) fn apply(&self, label: f64) -> f64 {
        (bend((label - self.shift) / self.scale, self.power) - self.inner[0]) / self.inner[1]
    }

    /// The label of a value of the models.
    pub(super) fn invert(&self, value: f64) -> f64 {
        unbend(value * self.inner[1] + self.inner[0], self.power) * self.scale + self.shift
    }
}

fn bend(z: f64, power: f64) -> f64 {
    let branch =
        |x: f64, power: f64| if power == 0.0 { x.ln_1p() } else { ((1.0 + x).powf(power) - 1.0) / power };
    if z >= 0.0 { branch(z, power) } else { -branch(-z, 2.0 - power) }
}

/// The inverse; values beyond the range of the transform give its end.
fn unbend(t: f64, power: f64) -> f64 {
    let branch = |x: f64, power: f64| match power == 0.0 {
        true => x.exp() - 1.0,
        false => (1.0 + power * x).max(1e-9).powf(1.0 / power) - 1.0,
    };
    if t >= 0.0 { branch(t, power) } else { -branch(-t, 2.0 - power) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ln 2 at z = 1 for λ = 0; −(2² − 1) / 2 at z = −1; λ = 1 changes nothing.
    #[test]
    fn bends_by_hand() {
        assert!((bend(1.0, 0.0) - 2f64.ln()).abs() < 1e-15);
        assert!((bend(-1.0, 0.0) + 1.5).abs() < 1e-15);
        assert!([-3.0, 0.0, 2.5].iter().all(|z| (bend(*z, 1.0) - z).abs() < 1e-12));
    }

    #[test]
    fn inverts() {
        let labels = [70.0, 70.5, 71.0, 71.2, 71.3, 40.0, 71.25];
        let transform = Transform::fit(&labels);
        for label in labels {
            assert!((transform.invert(transform.apply(label)) - label).abs() < 1e-9);
        }
        assert!(transform.power > 1.0, "a tail of bad networks is pulled in: {transform:?}");
        let ordered: Vec<f64> = (30..80).map(|y| transform.apply(f64::from(y))).collect();
        assert!(ordered.is_sorted());
    }
}
