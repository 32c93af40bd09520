//! AZ-NAS: expressivity, trainability and complexity, combined by the logarithm of ranks.
//!
//! ```text
//! expressivity  = Σ_l −Σ_i p_i ln p_i,  p: eigenvalues of the centred token covariance of block l, normalised
//! trainability  = mean_l 2 − σ − 1/(σ + 1e-6),  σ: largest singular value of g_inᵀ g_out / (samples · tokens)
//! complexity    = FLOPs
//! s(A) = Σ_parts ln(rank / N)        within the set
//! ```
//!
//! g_out are random signs at the output of block l, g_in what they become at its input.
//!
//! - Paper: *AZ-NAS: Assembling zero-cost proxies* (Lee & Ham, CVPR 2024), AutoFormer variant.
//! - Direction: higher is better. Cost: a forward pass and a backward pass through every block.
//! - Departures from the paper: blocks whose input and output differ in shape, and the first, are left out of
//!   trainability.
use super::prelude::*;
use super::spectrum::principal;
use crate::architecture::Counter;

/// See the [module documentation](self).
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AzNas {}

pub(super) const ABOUT: &About = &About {
    name: "az-nas",
    version: 2,
    sentence: "AZ-NAS: expressivity, trainability and complexity, combined by the logarithm of ranks.",
    formula: "s(A) = Σ_parts ln(rank / N)",
    paper: "AZ-NAS (Lee & Ham, 2024)",
    cost: Cost::Backward,
    parts: &["expressivity", "trainability", "complexity"],
    departures: "the first block and those that change shape are left out of trainability",
    ..About::SHAPE
};

fn pass() -> Pass {
    Pass { derivative: Derivative::Values, ..Pass::forward() }
        .keep(Signal::Blocks)
        .keep(Signal::BlockGradients)
}

/// Entropy of the normalised eigenvalues of the covariance of rows.
fn entropy(rows: &View) -> Result<f64> {
    let values = principal(ABOUT, "block", rows)?;
    let total: f64 = values.iter().map(|v| v.max(0.0)).sum();
    Ok(values.iter().map(|v| v.max(0.0) / total).filter(|p| *p > 0.0).map(|p| -p * p.ln()).sum())
}

impl Proxy for AzNas {
    fn needs(&self, _: &dyn Subject) -> Vec<Pass> {
        vec![pass()]
    }
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        let observed = input.pass(&pass())?;
        let blocks = observed.kept(|mark| if let Mark::Block(block) = mark { Some(block) } else { None });
        let mut terms = Vec::new();
        for (block, features) in &blocks {
            terms.push(Term::of(format!("block {block}"), *block, entropy(features)?));
        }
        let gradients = observed.kept_gradients(Some);
        let of = |mark| gradients.iter().find(|(m, _)| *m == mark).map(|(_, g)| *g);
        let mut trainable = Vec::new();
        for (block, _) in &blocks {
            let (Some(g_in), Some(g_out)) = (of(Mark::BlockInput(*block)), of(Mark::Block(*block))) else {
                continue;
            };
            if (g_in.rows(), g_in.cols()) != (g_out.rows(), g_out.cols()) {
                continue;
            }
            let (a, b) = (g_in.to_vec(), g_out.to_vec());
            let (n, d) = (g_in.rows(), g_in.cols());
            let mut product = vec![0.0; d * d];
            linalg::product(Mat::new(&a, n, d).t(), Mat::new(&b, n, d), &mut product);
            let values = linalg::singular_values(Mat::new(&product, d, d));
            let values = values.map_err(|e| Error::NonFinite {
                proxy: ABOUT.name,
                value: e.to_string(),
                place: format!("block {block}"),
            })?;
            let sigma = values[0] / n as f64;
            trainable.push(2.0 - sigma - 1.0 / (sigma + 1e-6));
        }
        if trainable.is_empty() {
            return input.undefined(ABOUT, "it needs two blocks of one shape");
        }
        let expressivity = terms.iter().map(|term| term.value).sum();
        let trainability = trainable.iter().sum::<f64>() / trainable.len() as f64;
        let Some(complexity) = input.subject.flops(Counter::Exact) else {
            return input.undefined(ABOUT, "nobody counted its multiply-adds");
        };
        let complexity = complexity as f64;
        Ok(Score::set(vec![expressivity, trainability, complexity], terms))
    }
    fn within(&self, set: &[Vec<f64>]) -> Vec<f64> {
        let n = set.len() as f64;
        let columns = [0, 1, 2].map(|part| ranks(set.iter().map(|parts| parts[part])));
        (0..set.len()).map(|i| columns.iter().map(|ranks| (ranks[i] / n).ln()).sum()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::toy::{Toy, near};
    use super::*;

    /// Expressivity: four tokens of columns 5 ± 1 and ± 3, not correlated, have the eigenvalues 4 and 36, shares 0.1 and
    /// 0.9; a second block has 4 and 4, shares ½: entropies −0.1 ln 0.1 − 0.9 ln 0.9 and ln 2. Trainability of the second
    /// block: g_inᵀ g_out = diag(4, 2) over two rows, σ = 2, so 2 − 2 − 1/(2 + 1e-6). Complexity: 70.
    #[test]
    fn two_blocks_by_hand() {
        let pass = Pass::forward().keep(Signal::Blocks).keep(Signal::BlockGradients);
        let toy = Toy::new().flops(Counter::Exact, 70).pass(pass, |seen| {
            seen.value(Mark::Block(0), [[6.0, 3.0], [4.0, 3.0], [6.0, -3.0], [4.0, -3.0]])
                .value(Mark::Block(1), [[6.0, 1.0], [4.0, 1.0], [6.0, -1.0], [4.0, -1.0]])
                .value_gradient(Mark::BlockInput(1), [[4.0, 0.0], [0.0, 2.0]])
                .value_gradient(Mark::Block(1), [[1.0, 0.0], [0.0, 1.0]])
                .value_gradient(Mark::Block(0), [[9.0, 0.0], [0.0, 9.0]])
        });
        let score = toy.score("az-nas").unwrap();
        near(score.parts[0], -0.1 * 0.1f64.ln() - 0.9 * 0.9f64.ln() + 2f64.ln());
        near(score.parts[1], -1.0 / (2.0 + 1e-6));
        assert_eq!((score.parts[2], score.parts.len()), (70.0, 3));
    }

    /// Ranks 1, 2, of 2 by two parts and 2, 1 by the third: ln ½ + ln ½ + ln 1 and ln 1 + ln 1 + ln ½.
    #[test]
    fn sets_by_hand() {
        let within = AzNas::default().within(&[vec![1.0, -5.0, 9.0], vec![2.0, -4.0, 8.0]]);
        near(within[0], 2.0 * 0.5f64.ln());
        near(within[1], 0.5f64.ln());
    }
}
