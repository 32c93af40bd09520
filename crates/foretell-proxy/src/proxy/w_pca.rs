//! W-PCA: how many principal components feed-forward layers use, times their weights.
//!
//! ```text
//! s = params · Σ_ℓ d_ℓ        d_ℓ: least k whose k largest eigenvalues of the covariance of fc1's outputs hold 99 %
//! ```
//!
//! - Paper: *W-PCA based gradient-free proxy for efficient search of lightweight language models* (Wang et al., 2025).
//! - Direction: higher is better. Cost: one forward pass and the eigenvalues of one Gram matrix per layer.
//! - Departures from the paper: with fewer tokens than units the Gram matrix of tokens, which has the same eigenvalues.
use super::prelude::*;
use super::spectrum::principal;

/// See the [module documentation](self).
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WPca {
    share: f64,
    params: bool,
}

impl Default for WPca {
    fn default() -> Self {
        WPca { share: 0.99, params: true }
    }
}

pub(super) const ABOUT: &About = &About {
    name: "w-pca",
    version: 2,
    sentence: "W-PCA: how many principal components feed-forward layers use, times their weights.",
    formula: "s = params · Σ_ℓ d_ℓ, d_ℓ: components that hold 99 % of fc1's variance",
    paper: "W-PCA (Wang et al., 2025)",
    cost: Cost::Forward,
    options: &[
        ("share", "0.99", "of the variance that must be held"),
        ("params", "true", "times the parameter count; false is V-PCA"),
    ],
    ranges: &[Range::real("share", 0.01, 0.999999)],
    published: "FlexiBERT .635 (NSC paper)",
    ..About::SHAPE
};

fn pass() -> Pass {
    Pass::forward().keep(Signal::PreActivations)
}

impl Proxy for WPca {
    fn needs(&self, _: &dyn Subject) -> Vec<Pass> {
        vec![pass()]
    }
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        if input.subject.kind() == NetworkKind::Recurrent {
            return input.undefined(ABOUT, "a recurrent cell has no feed-forward layer");
        }
        let mut terms = Vec::new();
        for (block, z) in input
            .pass(&pass())?
            .kept(|mark| if let Mark::PreActivation(block) = mark { Some(block) } else { None })
        {
            let values = principal(ABOUT, &format!("block {block}"), &z)?;
            let total: f64 = values.iter().sum();
            let (mut held, mut count) = (0.0, 0);
            for value in values.iter().rev() {
                held += value;
                count += 1;
                if held > self.share * total {
                    break;
                }
            }
            terms.push(Term::of(format!("block {block}"), block, f64::from(count)));
        }
        let score = Score::sum(terms);
        let times = if self.params { input.subject.params().total as f64 } else { 1.0 };
        Ok(Score { value: times * score.value, ..score })
    }
}

#[cfg(test)]
mod tests {
    use super::super::toy::Toy;
    use super::*;

    /// Columns of variance 4 and 36: the larger holds 0.9, so two are needed; 4 and 1600: the larger holds 0.9975, so one.
    /// Three components times 6 weights: 18. For half of the variance one each: 12. Without the weights: 3.
    #[test]
    fn two_layers_by_hand() {
        let toy = Toy::new().matrix("fc1", Role::FfnIn, 0, [[1.0; 3]; 2]).pass(
            Pass::forward().keep(Signal::PreActivations),
            |seen| {
                seen.value(Mark::PreActivation(0), [[6.0, 3.0], [4.0, 3.0], [6.0, -3.0], [4.0, -3.0]])
                    .value(Mark::PreActivation(1), [[6.0, 20.0], [4.0, 20.0], [6.0, -20.0], [4.0, -20.0]])
            },
        );
        assert_eq!(toy.value("w-pca"), 18.0);
        assert_eq!(toy.value("w-pca[share=0.5]"), 12.0);
        assert_eq!(toy.value("w-pca[params=false]"), 3.0);
    }
}
