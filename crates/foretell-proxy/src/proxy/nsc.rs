//! NSC: the spectral capacity that random weights of these shapes have on average.
//!
//! ```text
//! s = Σ_W ψ(m, n)        W: weight matrices, m x n
//! ψ = N ∫ ln(1 + M σ² λ) f(λ) dλ        N = min(m,n)   M = max(m,n)   σ² = 2 / (m+n)
//! f(λ) = sqrt((λ₊ − λ)(λ − λ₋)) / (2π γ λ)        γ = N/M   λ± = (1 ± √γ)²
//! ```
//!
//! ψ is the mean of `Σ ln(1 + σ_i²)` over random matrices. The integral is a midpoint rule in θ, λ = c + r cos θ.
//!
//! - Paper: *Neural Spectral Capacity* (Zhu, 2026).
//! - Direction: higher is better. Cost: the architecture alone.
//! - Departures from the paper: none known. On FlexiBERT the paper lists its own shapes (`recipe = paper`, the default
//!   there): SA (3H,H) + (H,H); LT twice (H,H); DSC (H,H); feed-forward, for each stack, (⌊I/stacks⌋,H) and its
//!   transpose. Elsewhere, and with `recipe = weights`, the matrices of attention and feed-forward layers as built.
use super::{About, Proxy, ProxyInput, Score, Term, ordered_sum};
use crate::architecture::Part;
use crate::error::Result;
use serde::Deserialize;
use std::collections::HashMap;
use std::sync::{LazyLock, RwLock};

/// See the [module documentation](self).
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Nsc {
    recipe: Recipe,
}

#[derive(Debug, Default, Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Recipe {
    #[default]
    Paper,
    Weights,
}

pub(super) const ABOUT: &About = &About {
    name: "nsc",
    sentence: "NSC: the spectral capacity that random weights of these shapes have on average.",
    formula: "s = Σ_W N ∫ ln(1 + M σ² λ) f_MP(λ) dλ,  σ² = 2/(m+n)",
    paper: "Neural Spectral Capacity (Zhu, 2026)",
    options: &[(
        "recipe",
        "paper",
        "paper: its own list of shapes on FlexiBERT; weights: the matrices as built",
    )],
    published: "FlexiBERT tau .695",
    ..About::SHAPE
};

impl Proxy for Nsc {
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        match (self.recipe, input.subject.capacity_matrices()) {
            (Recipe::Paper, Some(matrices)) => {
                let terms = matrices.into_iter().map(|(m, n)| psi(m, n)).collect();
                return Ok(Score::from(ordered_sum(terms)));
            }
            (Recipe::Weights, None) => {
                return Err(input.idle("recipe", "the paper has no list of shapes of its own for it"));
            }
            _ => {}
        }
        let mut terms = Vec::new();
        input.subject.tensors(&mut |tensor| {
            let part = tensor.role.part();
            if let (Some((m, n)), Part::Attention | Part::Ffn | Part::Cell | Part::Pooling) =
                (tensor.matrix(), part)
            {
                terms.push(Term::of(tensor.name(), tensor.block, psi(m, n)));
            }
        });
        let value = ordered_sum(terms.iter().map(|term| term.value).collect());
        Ok(Score { terms, ..Score::from(value) })
    }
}

const POINTS: usize = 4000;

/// ψ(m, n), remembered: a space has few shapes and millions of architectures.
fn psi(m: u64, n: u64) -> f64 {
    static KNOWN: LazyLock<RwLock<HashMap<(u64, u64), f64>>> = LazyLock::new(RwLock::default);
    let key = (m.min(n), m.max(n));
    if let Some(value) = KNOWN.read().expect("no writer panics").get(&key) {
        return *value;
    }
    let value = integral(key.0 as f64, key.1 as f64);
    KNOWN.write().expect("no writer panics").insert(key, value);
    value
}

fn integral(small: f64, large: f64) -> f64 {
    let gamma = small / large;
    let variance = 2.0 / (small + large);
    let (centre, radius) = (1.0 + gamma, 2.0 * gamma.sqrt());
    let step = std::f64::consts::PI / POINTS as f64;
    // With λ = c + r cos θ the root is r sin θ and dλ = −r sin θ dθ.
    let terms = (0..POINTS).map(|i| {
        let theta = (i as f64 + 0.5) * step;
        let lambda = centre + radius * theta.cos();
        let root = radius * theta.sin();
        (large * variance * lambda).ln_1p() * root * root / (2.0 * std::f64::consts::PI * gamma * lambda)
    });
    small * step * terms.sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::super::toy::{Toy, near};
    use super::*;
    use crate::architecture::Role;

    /// The Shannon transform of the square Marchenko–Pastur law: with r = √(1 + 4s),
    /// ∫ ln(1 + sλ) f = 2 ln((1 + r)/2) − (r − 1)²/(4s). Every square matrix has s = Mσ² = 1.
    #[test]
    fn square_matrices_have_a_closed_form() {
        let root5 = 5f64.sqrt();
        let expected = 2.0 * ((1.0 + root5) / 2.0).ln() - (root5 - 1.0).powi(2) / 4.0;
        assert!((integral(64.0, 64.0) / 64.0 - expected).abs() < 1e-6);
    }

    #[test]
    fn transposes_are_equal_and_larger_is_more() {
        assert_eq!(psi(128, 512), psi(512, 128));
        assert!(psi(128, 512) > psi(128, 256));
    }

    /// Every square n x n matrix has n times the closed form above: one of 1 x 1 and one of 2 x 2 have 3 times. Norms and
    /// heads are left out; a list of the network's own, here 5 x 5, comes first unless the weights are asked for.
    #[test]
    fn two_square_matrices() {
        let root5 = 5f64.sqrt();
        let one = 2.0 * ((1.0 + root5) / 2.0).ln() - (root5 - 1.0).powi(2) / 4.0;
        let toy = Toy::new()
            .matrix("q", Role::Query, 0, [[1.0]])
            .matrix("fc1", Role::FfnIn, 0, [[1.0, 2.0], [3.0, 4.0]])
            .table("norm", Role::Norm, 0, [[1.0, 1.0]])
            .matrix("head", Role::Head, None, [[1.0]]);
        near(toy.value("nsc"), 3.0 * one);
        let toy = toy.capacity([(5, 5)]);
        near(toy.value("nsc"), 5.0 * one);
        near(toy.value("nsc[recipe=weights]"), 3.0 * one);
    }
}
