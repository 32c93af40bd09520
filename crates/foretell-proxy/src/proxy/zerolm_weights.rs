//! ZeroLM on real weights: what attention and feed-forward matrices can carry, balanced by alpha.
//!
//! ```text
//! cap(W) = (1/r) Σ_i σ_i(W)² = ‖W‖_F² / min(m, n)        r = min(m, n)
//! s = α Σ_attention cap(W) + (1 − α) Σ_ffn cap(W)
//! of=log-complexity: s = −[α Σ_attention ln σ_1(W) + (1 − α) Σ_ffn ln σ_1(W)]        σ_1: the largest singular value
//! ```
//!
//! - Paper: *ZeroLM* (Chen et al., 2025); see [zerolm](super::zerolm), whose value is the expectation of this one.
//! - Direction: higher is better. Cost: the initial or given weights.
//! - Departures from the paper: as zerolm. The sum of squared singular values is the sum of squared entries. Logarithmic
//!   complexity, which the paper compares in its figure 3 and finds to fall with performance, is printed there by name alone:
//!   the logarithms of spectral norms are our reading, and the sign is turned.
use super::prelude::*;

/// See the [module documentation](self).
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ZeroLmWeights {
    alpha: f64,
    of: Of,
}

/// What a matrix contributes.
#[derive(Debug, Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Of {
    Capacity,
    LogComplexity,
}

impl Default for ZeroLmWeights {
    fn default() -> Self {
        ZeroLmWeights { alpha: 0.5, of: Of::Capacity }
    }
}

pub(super) const ABOUT: &About = &About {
    name: "zerolm-weights",
    version: 2,
    sentence: "ZeroLM on real weights: what attention and feed-forward matrices can carry, balanced by alpha.",
    formula: "s = α Σ_attention cap + (1 − α) Σ_ffn cap,  cap = ‖W‖_F² / min(m,n)",
    paper: "ZeroLM (Chen et al., 2025)",
    cost: Cost::Weights,
    options: &[
        ("alpha", "0.5", "weight of attention; feed-forward has 1 − alpha"),
        ("of", "capacity", "capacity, or log-complexity: minus the logarithm of the largest singular value"),
    ],
    ranges: &[Range::real("alpha", -2.0, 2.0)],
    published: "FlexiBERT .53/.76 (tau/rho)",
    ..About::SHAPE
};

impl Proxy for ZeroLmWeights {
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        let mut terms = Vec::new();
        for (layers, share) in [(Layers::Attention, self.alpha), (Layers::Ffn, 1.0 - self.alpha)] {
            for (tensor, weight) in input.matrices(layers) {
                let value = match self.of {
                    Of::Capacity => weight.sum(|w| w * w) / weight.rows().min(weight.cols()) as f64,
                    Of::LogComplexity => -log_spectral(tensor, &weight)?,
                };
                terms.push(Term::of(tensor.name(), tensor.block, share * value));
            }
        }
        match terms.is_empty() {
            true => input.undefined(ABOUT, "there is neither attention nor a feed-forward layer"),
            false => Ok(Score::sum(terms)),
        }
    }
}

/// `ln σ_1(W)`; a matrix of zeros has none.
fn log_spectral(tensor: &Tensor, weight: &View) -> Result<f64> {
    let entries = weight.to_vec();
    let values = linalg::singular_values(Mat::new(&entries, weight.rows(), weight.cols()))
        .map_err(|e| unsolved(ABOUT, tensor, e))?;
    match values.iter().copied().fold(0.0, f64::max) {
        0.0 => {
            let reason = "every entry is zero, so its norm has no logarithm".into();
            Err(Error::Degenerate { proxy: ABOUT.name, place: tensor.name(), reason })
        }
        largest => Ok(largest.ln()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::toy::{Toy, near};
    use super::*;

    /// Attention: (1 + 4 + 9 + 16 + 25 + 36) / 2 = 45.5; feed-forward: (4 + 1 + 4) / 1 = 9; halves of both: 27.25.
    /// With α = 0.25: 11.375 + 6.75 = 18.125. The head is left out.
    #[test]
    fn two_layers_by_hand() {
        let toy = Toy::new()
            .matrix("q", Role::Query, 0, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
            .matrix("fc1", Role::FfnIn, 1, [[2.0], [-1.0], [2.0]])
            .matrix("head", Role::Head, None, [[100.0]]);
        assert_eq!(toy.value("zerolm-weights"), 27.25);
        assert_eq!(toy.value("zerolm-weights[alpha=0.25]"), 18.125);
    }

    /// diag(3, −4) has the largest singular value 4, (1, 2, 2) has 3: −¼ ln 4 − ¾ ln 3.
    #[test]
    fn log_complexity_by_hand() {
        let toy = Toy::new().matrix("q", Role::Query, 0, [[3.0, 0.0], [0.0, -4.0]]).matrix(
            "fc1",
            Role::FfnIn,
            1,
            [[1.0], [2.0], [2.0]],
        );
        near(toy.value("zerolm-weights[of=log-complexity,alpha=0.25]"), -0.25 * 4f64.ln() - 0.75 * 3f64.ln());
        let flat = Toy::new().matrix("q", Role::Query, 0, [[0.0]]);
        assert_eq!(flat.score("zerolm-weights[of=log-complexity]").unwrap_err().kind(), "degenerate");
    }
}
