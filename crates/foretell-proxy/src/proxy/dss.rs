//! DSS: diversity of attention plus saliency of feed-forward layers.
//!
//! ```text
//! s = Σ_l D_l + S_l        D_l = Σ_{Q,K,V,O} ‖g‖_* ‖W‖_*        S_l = Σ_{fc1,fc2} Σ |g ⊙ W|
//! ```
//!
//! g is the gradient of the summed logits of one all-ones image, every weight replaced by its magnitude.
//!
//! - Paper: *Training-free Transformer Architecture Search* (Zhou et al., CVPR 2022); T-Razor eq. 8 and 9.
//! - Direction: higher is better. Cost: one forward, one backward, and the singular values of small matrices.
//! - Departures from the paper: |g ⊙ W| as released instead of the signed product as printed (`product=signed`), which
//!   carries no signal through layer norms. As released, Q, K and V are one matrix (`qkv=fused`), the head counts too
//!   (`head=1` or 2), and weights keep their sign (`weights=signed`). Encoders end in a layer norm, after which the sum of
//!   outputs has no gradient: random signs weigh their outputs. `norms=gradient` and `norms=weight` are T-Razor's ablation.
use super::prelude::*;
use super::synaptic_diversity::{NORMS, Norms, QKV, Qkv, diversity, joint};

/// See the [module documentation](self).
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Dss {
    qkv: Option<Qkv>,
    product: Product,
    weights: Taken,
    head: u8,
    by: By,
    norms: Norms,
}

#[derive(Debug, Default, Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Product {
    #[default]
    Absolute,
    Signed,
}

#[derive(Debug, Default, Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Taken {
    #[default]
    Absolute,
    Signed,
}

/// What tells attention from feed-forward.
#[derive(Debug, Default, Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum By {
    #[default]
    Role,
    Shape,
}

pub(super) const ABOUT: &About = &About {
    name: "dss",
    version: 3,
    sentence: "DSS: diversity of attention plus saliency of feed-forward layers.",
    formula: "s = Σ_l Σ_{Q,K,V,O} ‖g‖_* ‖W‖_* + Σ_{fc1,fc2} Σ |g ⊙ W|",
    paper: "TF-TAS (Zhou et al., 2022); T-Razor eq. 8 and 9",
    cost: Cost::Backward,
    options: OPTIONS,
    ranges: RANGES,
    variants: &[
        ("published", "qkv=fused"),
        ("released", "qkv=none,weights=signed"),
        ("auto-prox", "qkv=fused,by=shape,head=1"),
    ],
    departures: "|g ⊙ W| as released, not the signed product of eq. 9; Q, K, V apart as printed, not one matrix as \
                 released; the classifier left out, where the released code adds it; random signs weigh the outputs of encoders",
    published: "AutoFormer .66/.80, .65/.82, .64/.84 (ETAS); .697, .615, .306 (T-Razor)",
    ..About::SHAPE
};

pub(super) const RANGES: &[Range] = &[Range::whole("head", 0, 100)];

pub(super) const OPTIONS: &[(&str, &str, &str)] = &[
    QKV,
    ("product", "absolute", "absolute: |g ⊙ W|, signed: g ⊙ W as printed"),
    ("weights", "absolute", "absolute: magnitudes, signed: only positions and class token made positive"),
    ("head", "0", "how often the classifier's saliency is added"),
    (
        "by",
        "role",
        "role: attention is what it is; shape: joint projections and square matrices, all other linear maps but the \
         classifier are feed-forward",
    ),
    NORMS,
];

impl Dss {
    pub(super) fn pass(&self, subject: &dyn Subject) -> Pass {
        let weights = if self.weights == Taken::Signed {
            WeightTransform::PositionMagnitudes
        } else {
            WeightTransform::Magnitudes
        };
        Pass { weights, ..linearised(subject) }
    }

    /// Terms of diversity and of saliency, in this order, each with its block.
    pub(super) fn terms(&self, about: &'static About, input: &ProxyInput) -> Result<(Vec<Term>, Vec<Term>)> {
        let observed = input.pass(&self.pass(input.subject))?;
        let qkv = joint(&observed, self.qkv, input)?;
        // A pooler that nothing passes through is no classifier either.
        let headed =
            |layer: Layer| layer.tensor.role.part() == Part::Head && layer.gradient.sum(f64::abs) > 0.0;
        if self.head > 0 && !observed.layers(Layers::Linear).any(headed) {
            return Err(input.idle("head", "it has no classifier"));
        }
        let (mut diverse, mut salient, mut zero) = (Vec::new(), Vec::new(), true);
        for layer in observed.layers(Layers::Linear) {
            let (tensor, part) = (layer.tensor, layer.tensor.role.part());
            if tensor.form == Stored::Convolution {
                continue;
            }
            let attention = match self.by {
                By::Role => part == Part::Attention,
                By::Shape => {
                    part != Part::Head && (is_fused(tensor) || layer.weight.rows() == layer.weight.cols())
                }
            };
            let times = match (self.by, part) {
                (_, Part::Head) => self.head,
                (By::Shape, _) => 1,
                (By::Role, part) => u8::from(matches!(part, Part::Ffn | Part::Cell)),
            };
            zero = zero && layer.gradient.sum(f64::abs) == 0.0;
            if attention {
                let value = diversity(about, &observed, &layer, (qkv, self.norms))?;
                diverse.push(Term::of(format!("{} diversity", tensor.name()), tensor.block, value));
            } else {
                let product = |g: f64, w: f64| {
                    if self.product == Product::Signed { g * w.abs() } else { (g * w).abs() }
                };
                let value = if times > 0 { layer.gradient.sum_with(&layer.weight, product) } else { 0.0 };
                let term = Term::of(format!("{} saliency", tensor.name()), tensor.block, value);
                salient.extend((0..times).map(|_| term.clone()));
            }
        }
        if zero {
            return Err(Error::Degenerate {
                proxy: about.name,
                place: "all layers".into(),
                reason: "every gradient is exactly zero".into(),
            });
        }
        if self.norms != Norms::Both && diverse.is_empty() {
            return Err(input.idle("norms", "it has no attention"));
        }
        Ok((diverse, salient))
    }
}

impl Proxy for Dss {
    fn needs(&self, subject: &dyn Subject) -> Vec<Pass> {
        vec![self.pass(subject)]
    }
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        let (mut terms, salient) = self.terms(ABOUT, input)?;
        terms.extend(salient);
        Ok(Score::sum(terms).note(input.trap(&self.pass(input.subject))))
    }
}

#[cfg(test)]
mod tests {
    use super::super::toy::{Toy, near};
    use super::*;

    fn toy(weights: WeightTransform) -> Toy {
        Toy::new()
            .kind(NetworkKind::Vision)
            .matrix("q", Role::Query, 0, [[1.0, 1.0], [1.0, -1.0]])
            .matrix("fc1", Role::FfnIn, 0, [[1.0, -2.0, 3.0]])
            .matrix("head", Role::Head, None, [[5.0], [1.0]])
            .pass(Pass { weights, ..Pass::linearised() }, |seen| {
                seen.gradient("q", [[1.0, 0.0], [0.0, 2.0]])
                    .gradient("fc1", [[1.0, -1.0, 0.0]])
                    .gradient("head", [[2.0], [-1.0]])
            })
    }

    /// Diversity of the magnitudes: 2 · 3 = 6. Saliency: |1·1| + |−1·(−2)| + 0 = 3, signed as printed 1 − 2 = −1. The head's
    /// |2·5| + |−1·1| = 11 as often as asked. With signed weights the diversity is 2√2 · 3.
    #[test]
    fn options_by_hand() {
        let magnitudes = toy(WeightTransform::Magnitudes);
        near(magnitudes.value("dss"), 9.0);
        near(magnitudes.value("dss[product=signed]"), 5.0);
        near(magnitudes.value("dss[head=2]"), 31.0);
        let signed = toy(WeightTransform::PositionMagnitudes);
        near(signed.value("dss[weights=signed]"), 6.0 * 2f64.sqrt() + 3.0);
    }

    /// By shape, a square feed-forward map is attention, ‖diag(1, 2)‖_* ‖diag(3, 4)‖_* = 21, and a narrow query map is
    /// feed-forward, |1·2| + |−1·3| = 5; by role it is the norms, √2 · √13, and |1·3| + |2·4| = 11.
    #[test]
    fn shapes_by_hand() {
        let toy = Toy::new()
            .matrix("q", Role::Query, 0, [[2.0, 3.0]])
            .matrix("fc1", Role::FfnIn, 0, [[3.0, 0.0], [0.0, 4.0]])
            .pass(Pass::linearised(), |seen| {
                seen.gradient("q", [[1.0, -1.0]]).gradient("fc1", [[1.0, 0.0], [0.0, 2.0]])
            });
        near(toy.value("dss[by=shape]"), 26.0);
        near(toy.value("dss"), 26f64.sqrt() + 11.0);
    }

    /// A square classifier is no attention, whatever its shape: with head=0 it is left out, with head=1 its saliency counts,
    /// |1·5| + |2·1| = 7. The square map has 2 · 2 = 4.
    #[test]
    fn square_classifiers_by_hand() {
        let toy = Toy::new()
            .kind(NetworkKind::Vision)
            .matrix("fc1", Role::FfnIn, 0, [[1.0, 0.0], [0.0, 1.0]])
            .matrix("head", Role::Head, None, [[5.0, 0.0], [0.0, 1.0]])
            .pass(Pass::linearised(), |seen| {
                seen.gradient("fc1", [[1.0, 0.0], [0.0, 1.0]]).gradient("head", [[1.0, 0.0], [0.0, 2.0]])
            });
        near(toy.value("dss[by=shape]"), 4.0);
        near(toy.value("dss[by=shape,head=1]"), 11.0);
    }

    /// One factor of the diversity alone: the gradient's norm 3 or the magnitudes' 2, beside the saliency 3.
    #[test]
    fn norms_alone_by_hand() {
        let magnitudes = toy(WeightTransform::Magnitudes);
        near(magnitudes.value("dss[norms=gradient]"), 6.0);
        near(magnitudes.value("dss[norms=weight]"), 5.0);
    }

    /// Names on the card are names in the code.
    #[test]
    fn absolute_is_the_default() {
        let magnitudes = toy(WeightTransform::Magnitudes);
        near(magnitudes.value("dss[product=absolute,weights=absolute,qkv=split,head=0,by=role]"), 9.0);
    }
}
