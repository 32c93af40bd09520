//! TE score: how evenly the tangent kernel spreads over samples.
//!
//! ```text
//! s = −λ_max / λ_min of K,  K_ij = g_i · g_j,  g_i = ∇_w Σ_c f_c(x_i)        w: every tensor named weight
//! ```
//!
//! - Paper: *TE-NAS* (Chen et al., ICLR 2021).
//! - Direction: the original is lower-is-better; its sign is turned. Cost: a backward pass per sample.
//! - Departures from the paper: the number of linear regions is left out: its released hook never fires for
//!   transformers. λ_min is kept above 1e-12 λ_max. Encoders project onto random signs, where the sum says nothing.
use super::prelude::*;
use super::spectrum::eigenvalues;

/// See the [module documentation](self).
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TeScore {}

pub(super) const ABOUT: &About = &About {
    name: "te-score",
    version: 2,
    sentence: "TE score: how evenly the tangent kernel spreads over samples.",
    formula: "s = −λ_max / λ_min of K_ij = g_i · g_j",
    paper: "TE-NAS (Chen et al., 2021)",
    cost: Cost::Samples,
    flipped: true,
    departures: "without the number of linear regions",
    published: "AutoFormer -.039, -.248, -.075 (T-Razor)",
    ..About::SHAPE
};

fn pass(subject: &dyn Subject) -> Pass {
    let loss = linearised(subject).loss;
    Pass { derivative: Derivative::Samples(Fold::Gram, Layers::Named), ..Pass::backward(loss) }
}

impl Proxy for TeScore {
    fn needs(&self, subject: &dyn Subject) -> Vec<Pass> {
        vec![pass(subject)]
    }
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        let kernel = &input.pass(&pass(input.subject))?.result.numbers;
        let n = kernel.len().isqrt();
        let eigenvalues = eigenvalues(ABOUT, "kernel", kernel, n)?;
        let (least, most) = (eigenvalues[0], eigenvalues[n - 1]);
        if most <= 0.0 {
            let reason = "every gradient is exactly zero".into();
            return Err(Error::Degenerate { proxy: ABOUT.name, place: "kernel".into(), reason });
        }
        let floor = 1e-12 * most;
        let note = (least < floor).then(|| {
            "the kernel is singular: its least eigenvalue was raised to 1e-12 of the largest".to_owned()
        });
        Ok(Score::from(-most / least.max(floor)).note(note))
    }
}

#[cfg(test)]
mod tests {
    use super::super::toy::{Toy, near};
    use super::*;

    fn toy(kind: NetworkKind, loss: Loss, kernel: [f64; 4]) -> Toy {
        let derivative = Derivative::Samples(Fold::Gram, Layers::Named);
        let toy = Toy::new().kind(kind).matrix("q.weight", Role::Query, 0, [[1.0]]);
        toy.pass(Pass { derivative, ..Pass::backward(loss) }, |seen| seen.numbers(kernel))
    }

    /// [[2, 1], [1, 2]] has the eigenvalues 1 and 3: −3. [[1, 1], [1, 1]] has 0 and 2: the least is 1e-12 of the largest.
    #[test]
    fn two_samples_by_hand() {
        near(toy(NetworkKind::Vision, Loss::Sum, [2.0, 1.0, 1.0, 2.0]).value("te-score"), -3.0);
        near(toy(NetworkKind::Encoder, Loss::Projection, [2.0, 1.0, 1.0, 2.0]).value("te-score"), -3.0);
        let singular = toy(NetworkKind::Vision, Loss::Sum, [1.0; 4]).score("te-score").unwrap();
        near(singular.value / 1e12, -1.0);
        assert_eq!(singular.notes.len(), 1);
    }
}
