//! EZNAS: the formula found by genetic programming, as LPZero runs it.
//!
//! ```text
//! s = Σ_ℓ sigmoid(ln |det(sign(g) sign(g)ᵀ)|)        g: gradient of matrix ℓ as stored
//! ```
//!
//! - Paper: *EZNAS: Evolving zero-cost proxies for NAS scoring* (Akhauri et al., NeurIPS 2022), in LPZero's form.
//! - Direction: higher is better. Cost: one forward, one backward, and a determinant per matrix.
//! - Departures from the paper: none known. The sigmoid saturates: 1 where the rows of sign(g) are independent, 0 where
//!   they are not, so this is close to counting matrices that are not taller than wide.
use super::prelude::*;
use super::spectrum::gram;

/// See the [module documentation](self).
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Eznas {}

pub(super) const ABOUT: &About = &About {
    name: "eznas",
    version: 2,
    sentence: "EZNAS: the formula found by genetic programming, as LPZero runs it.",
    formula: "s = Σ_ℓ sigmoid(ln |det(sign(g) sign(g)ᵀ)|)",
    paper: "EZNAS (Akhauri et al., 2022)",
    cost: Cost::Backward,
    variants: &[("published", "train=true")],
    published: "FlexiBERT .483/.698; GPT-2 .489/.704 (LPZero)",
    ..About::SHAPE
};

impl Proxy for Eznas {
    fn needs(&self, _: &dyn Subject) -> Vec<Pass> {
        vec![Pass::backward(Loss::Natural)]
    }
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        let input = input.pass(&Pass::backward(Loss::Natural))?;
        input.sum(ABOUT, Layers::Linear, |layer| {
            let (rows, cols) = (layer.gradient.rows(), layer.gradient.cols());
            if rows > cols {
                // Singular by count.
                return Ok(0.0);
            }
            let sign = |g: f64| if g == 0.0 { 0.0 } else { g.signum() };
            let signs: Vec<f64> = layer.gradient.to_vec().into_iter().map(sign).collect();
            let log = linalg::log_abs_det(Mat::new(&gram(&signs, rows), rows, rows))
                .map_err(|e| unsolved(ABOUT, layer.tensor, e))?;
            Ok(1.0 / (1.0 + (-log).exp()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::toy::{Toy, near};
    use super::*;

    /// Signs [[1, 1], [1, −1]]: the Gram matrix is 2 I, its determinant 4, sigmoid(ln 4) = 4/5. Signs (−1, 0, 1): 2, so 2/3.
    /// Three rows of two are singular: 0. Together 22/15.
    #[test]
    fn signs_by_hand() {
        let toy = Toy::new()
            .matrix("q", Role::Query, 0, [[1.0; 2]; 2])
            .matrix("fc1", Role::FfnIn, 0, [[1.0; 3]])
            .matrix("fc2", Role::FfnOut, 0, [[1.0; 2]; 3])
            .pass(Pass::backward(Loss::Natural), |seen| {
                seen.gradient("q", [[3.0, 0.5], [2.0, -7.0]])
                    .gradient("fc1", [[-2.0, 0.0, 3.0]])
                    .gradient("fc2", [[1.0, 2.0], [-1.0, 2.0], [1.0, -2.0]])
            });
        near(toy.value("eznas"), 22.0 / 15.0);
    }
}
