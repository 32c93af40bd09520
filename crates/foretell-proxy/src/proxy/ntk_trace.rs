//! NTK trace: how far each sample's own output moves with the weights.
//!
//! ```text
//! s = (Σ_i ‖∇_w f_{y_i}(x_i)‖² / N)^½        f_{y}: logit of the sample's class; signs of the outputs for text
//! ```
//!
//! - Paper: *NASI: Label- and data-agnostic NAS at initialization* (Shu et al., ICLR 2022).
//! - Direction: higher is better. Cost: a backward pass per sample.
//! - Departures from the paper: language models have no class per sample: a random projection of their outputs.
use super::prelude::*;

/// See the [module documentation](self).
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NtkTrace {}

pub(super) const ABOUT: &About = &About {
    name: "ntk-trace",
    sentence: "NTK trace: how far each sample's own output moves with the weights.",
    formula: "s = (Σ_i ‖∇_w f_{y_i}(x_i)‖² / N)^½",
    paper: "NASI (Shu et al., 2022)",
    cost: Cost::Samples,
    departures: "a random projection for language models",
    published: "AutoFormer -.182, -.211, -.106 (T-Razor)",
    ..About::SHAPE
};

fn pass(subject: &dyn Subject) -> Pass {
    let loss = match subject.kind() {
        NetworkKind::Vision => Loss::Target,
        _ => Loss::Projection,
    };
    Pass { derivative: Derivative::Samples(Fold::Norms, Layers::Biased), ..Pass::backward(loss) }
}

impl Proxy for NtkTrace {
    fn needs(&self, subject: &dyn Subject) -> Vec<Pass> {
        vec![pass(subject)]
    }
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        let norms = &input.pass(&pass(input.subject))?.result.numbers;
        Ok(Score::from((norms.iter().sum::<f64>() / norms.len() as f64).sqrt()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::toy::Toy;
    use super::*;

    /// Squared norms 2 and 16 of two samples: √((2 + 16) / 2) = 3. Images take the logit of their class, texts a projection.
    #[test]
    fn two_samples_by_hand() {
        for (kind, loss) in [(NetworkKind::Vision, Loss::Target), (NetworkKind::Decoder, Loss::Projection)] {
            let derivative = Derivative::Samples(Fold::Norms, Layers::Biased);
            let toy = Toy::new().kind(kind).matrix("q", Role::Query, 0, [[1.0]]);
            let toy = toy.pass(Pass { derivative, ..Pass::backward(loss) }, |seen| seen.numbers([2.0, 16.0]));
            assert_eq!(toy.value("ntk-trace"), 3.0);
        }
    }
}
