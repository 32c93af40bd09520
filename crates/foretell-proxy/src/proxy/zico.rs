//! ZiCo: large mean gradients that vary little from batch to batch.
//!
//! ```text
//! s = Σ_ℓ ln Σ_w mean_b |g_w| / std_b(g_w)        b: mini-batches    weights with std 0 are skipped
//! ```
//!
//! - Paper: *ZiCo: Zero-shot NAS via inverse coefficient of variation on gradients* (Li et al., ICLR 2023).
//! - Direction: higher is better. Cost: one forward and backward pass per mini-batch.
//! - Departures from the paper: the standard deviation is that of the signed gradient, as released, not of its
//!   magnitude. The released code never clears gradients between batches: `accumulate=true`. With two batches in single
//!   precision the ratio is ill-conditioned: four are the default.
use super::prelude::*;

/// See the [module documentation](self).
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Zico {
    batches: usize,
    accumulate: bool,
}

impl Default for Zico {
    fn default() -> Self {
        Zico { batches: 4, accumulate: false }
    }
}

pub(super) const ABOUT: &About = &About {
    name: "zico",
    sentence: "ZiCo: large mean gradients that vary little from batch to batch.",
    formula: "s = Σ_ℓ ln Σ_w mean_b |g_w| / std_b(g_w)",
    paper: "ZiCo (Li et al., 2023)",
    cost: Cost::Passes,
    options: &[
        ("batches", "4", "parts the batch is cut into"),
        ("accumulate", "false", "gradients add up from batch to batch, as released"),
    ],
    ranges: &[Range::whole("batches", 2, 1024)],
    variants: &[("released", "accumulate=true,batches=2")],
    departures: "the deviation of signed gradients, as released",
    published: "AutoFormer .48/.65, .43/.62, .43/.62; GPT-2 WikiText-103 .18/.36 (ETAS, own networks)",
    ..About::SHAPE
};

impl Zico {
    fn pass(&self, part: usize) -> Pass {
        Pass { part: (part, self.batches), ..Pass::backward(Loss::Natural) }
    }
}

impl Proxy for Zico {
    fn needs(&self, _: &dyn Subject) -> Vec<Pass> {
        (0..self.batches).map(|part| self.pass(part)).collect()
    }
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        let parts = (0..self.batches).map(|part| input.pass(&self.pass(part))).collect::<Result<Vec<_>>>()?;
        let (n, mut terms) = (self.batches as f64, Vec::new());
        for param in input.layers(Layers::Linear) {
            let mut gradients: Vec<Vec<f64>> =
                parts.iter().map(|part| part.layer(param).gradient.to_vec()).collect();
            if self.accumulate {
                for later in 1..gradients.len() {
                    let (before, after) = gradients.split_at_mut(later);
                    after[0].iter_mut().zip(&before[later - 1]).for_each(|(g, earlier)| *g += earlier);
                }
            }
            let ratio = |w: usize| {
                let values = || gradients.iter().map(|g| g[w]);
                let mean = values().sum::<f64>() / n;
                let deviation = (values().map(|g| (g - mean).powi(2)).sum::<f64>() / n).sqrt();
                if deviation == 0.0 { 0.0 } else { values().map(f64::abs).sum::<f64>() / n / deviation }
            };
            let sum: f64 = (0..gradients[0].len()).map(ratio).sum();
            if sum > 0.0 {
                let tensor = parts[0].tensor(param);
                terms.push(Term::of(tensor.name(), tensor.block, sum.ln()));
            }
        }
        if terms.is_empty() {
            let reason = "gradients are zero or the same in every batch".into();
            return Err(Error::Degenerate { proxy: ABOUT.name, place: "all layers".into(), reason });
        }
        Ok(Score::sum(terms))
    }
}

#[cfg(test)]
mod tests {
    use super::super::toy::{Toy, near};
    use super::*;

    /// A map of three weights and one of a single weight, with these gradients batch by batch.
    fn toy<const B: usize>(batches: [([f64; 3], f64); B]) -> Toy {
        let toy = Toy::new().matrix("q", Role::Query, 0, [[1.0; 3]]).matrix("fc1", Role::FfnIn, 1, [[1.0]]);
        batches.into_iter().enumerate().fold(toy, |toy, (part, (q, fc1))| {
            toy.pass(Pass { part: (part, B), ..Pass::backward(Loss::Natural) }, |seen| {
                seen.gradient("q", [q]).gradient("fc1", [[fc1]])
            })
        })
    }

    /// Four batches. 1, 3, 1, 3: mean 2, deviation 1, ratio 2. −2, 2, −2, 2: mean magnitude 2, deviation 2, ratio 1. 5 always:
    /// skipped. Together ln 3. The other map: 2, 6, 2, 6: 4 over 2, ln 2. In all ln 6.
    #[test]
    fn four_batches_by_hand() {
        let (odd, even) = (([1.0, -2.0, 5.0], 2.0), ([3.0, 2.0, 5.0], 6.0));
        near(toy([odd, even, odd, even]).value("zico"), 6f64.ln());
    }

    /// Two batches. 1, 3 are 2 over 1; those that do not change are skipped, and with them the other map: ln 2. Added up as
    /// released, 1, 4 are 2.5 over 1.5, 0, 0 are skipped, and 1, 2 are 1.5 over 0.5: ln 5/3 + ln 3 = ln 5.
    #[test]
    fn two_batches_by_hand() {
        let toy = toy([([1.0, 0.0, 0.0], 1.0), ([3.0, 0.0, 0.0], 1.0)]);
        near(toy.value("zico[batches=2]"), 2f64.ln());
        near(toy.value("zico[batches=2,accumulate=true]"), 5f64.ln());
    }
}
