//! Hidden covariance: how independently the hidden units of a recurrent layer vary.
//!
//! ```text
//! s = −Σ_n ln(λ_n + k) + 1/(λ_n + k),  k = 1e-5        λ: eigenvalues of the correlation of units over samples and steps
//! ```
//!
//! The states are those entering each step, the first of which is zero.
//!
//! - Paper: *Training-free Neural Architecture Search for RNNs and Transformers* (Serianni & Kalita, ACL 2023).
//! - Direction: higher is better. Cost: one forward pass.
//! - Departures from the paper: it prints a correlation over inputs (`over=samples`); the released code, whose figures
//!   are published, correlates hidden units, which is the default.
use super::prelude::*;
use super::spectrum::spread;

/// See the [module documentation](self).
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HiddenCovariance {
    layer: u32,
    over: Over,
}

#[derive(Debug, Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Over {
    Units,
    Samples,
}

impl Default for HiddenCovariance {
    fn default() -> Self {
        HiddenCovariance { layer: 1, over: Over::Units }
    }
}

pub(super) const ABOUT: &About = &About {
    name: "hidden-covariance",
    version: 2,
    sentence: "Hidden covariance: how independently the hidden units of a recurrent layer vary.",
    formula: "s = −Σ_n ln(λ_n + 1e-5) + 1/(λ_n + 1e-5)",
    paper: "Serianni & Kalita (2023)",
    cost: Cost::Forward,
    options: &[
        ("layer", "1", "which recurrent layer, from 1"),
        ("over", "units", "units (as released) or samples (as printed)"),
    ],
    ranges: &[Range::whole("layer", 1, 1000)],
    departures: "a correlation of hidden units, as released, not of inputs",
    published: "NAS-Bench-NLP layers 1 to 3: .372/.524, .314/.457, .247/.367",
    ..About::SHAPE
};

fn pass() -> Pass {
    Pass::forward().keep(Signal::Hidden)
}

impl Proxy for HiddenCovariance {
    fn needs(&self, subject: &dyn Subject) -> Vec<Pass> {
        if subject.kind() == NetworkKind::Recurrent { vec![pass()] } else { Vec::new() }
    }
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        if input.subject.kind() != NetworkKind::Recurrent {
            return input.undefined(ABOUT, "it looks at recurrent states");
        }
        let wanted = self.layer.wrapping_sub(1);
        let of_layer = |mark| matches!(mark, Mark::Hidden(layer, _) if layer == wanted).then_some(());
        let states = input.pass(&pass())?.kept(of_layer);
        let Some((_, first)) = states.first() else {
            return Err(Error::option("layer", format!("there is no recurrent layer {}", self.layer)));
        };
        let (batch, width) = (first.rows(), first.cols());
        let columns: Vec<Vec<f64>> = states.iter().map(|(_, h)| h.t().to_vec()).collect();
        let row = |unit: usize| {
            columns.iter().flat_map(move |step| &step[unit * batch..(unit + 1) * batch]).copied()
        };
        match self.over {
            Over::Units => {
                let rows: Vec<f64> = (0..width).flat_map(row).collect();
                spread(ABOUT, &rows, width)
            }
            Over::Samples => {
                let sample = |b: usize| {
                    columns.iter().flat_map(move |step| (0..width).map(move |unit| step[unit * batch + b]))
                };
                spread(ABOUT, &(0..batch).flat_map(sample).collect::<Vec<_>>(), batch)
            }
        }
        .map(Score::from)
    }
}

#[cfg(test)]
mod tests {
    use super::super::toy::{Toy, near};
    use super::*;

    /// Correlation ½, as in the correlation of (1, 2, 3) and (0, 2, 1): λ = ½ and 3/2.
    fn half() -> f64 {
        -[0.5, 1.5].map(|value: f64| value + 1e-5).iter().map(|v| v.ln() + 1.0 / v).sum::<f64>()
    }

    /// One sample, three steps, two units: (1, 2, 3) and (0, 2, 1). The second layer's units, (1, 2, 3) and (1, −2, 1), have
    /// none: λ = 1 twice.
    #[test]
    fn units_by_hand() {
        let toy =
            Toy::new().kind(NetworkKind::Recurrent).pass(Pass::forward().keep(Signal::Hidden), |seen| {
                seen.value(Mark::Hidden(0, 0), [[1.0, 0.0]])
                    .value(Mark::Hidden(1, 0), [[1.0, 1.0]])
                    .value(Mark::Hidden(0, 1), [[2.0, 2.0]])
                    .value(Mark::Hidden(1, 1), [[2.0, -2.0]])
                    .value(Mark::Hidden(0, 2), [[3.0, 1.0]])
                    .value(Mark::Hidden(1, 2), [[3.0, 1.0]])
            });
        near(toy.value("hidden-covariance"), half());
        let one = 1.0 + 1e-5f64;
        near(toy.value("hidden-covariance[layer=2]"), -2.0 * (one.ln() + 1.0 / one));
        assert_eq!(toy.score("hidden-covariance[layer=3]").unwrap_err().kind(), "option");
    }

    /// Two samples, one step, three units: rows (1, 2, 3) and (0, 2, 1) by sample.
    #[test]
    fn samples_by_hand() {
        let toy =
            Toy::new().kind(NetworkKind::Recurrent).pass(Pass::forward().keep(Signal::Hidden), |seen| {
                seen.batch(2).value(Mark::Hidden(0, 0), [[1.0, 2.0, 3.0], [0.0, 2.0, 1.0]])
            });
        near(toy.value("hidden-covariance[over=samples]"), half());
    }
}
