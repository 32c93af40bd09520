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
//!   (`head=1` or 2), and weights keep their sign (`weights=signed`).
use super::prelude::*;
use super::synaptic_diversity::{Qkv, diversity, joint};

/// See the [module documentation](self).
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Dss {
    qkv: Option<Qkv>,
    product: Product,
    weights: Taken,
    head: u8,
    by: By,
}

#[derive(Debug, Default, Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Product {
    #[default]
    WeightTransform,
    Signed,
}

#[derive(Debug, Default, Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Taken {
    #[default]
    WeightTransform,
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
    departures: "absolute products by default, as released",
    published: "AutoFormer .66/.80, .65/.82, .64/.84 (ETAS); .697, .615, .306 (T-Razor)",
    ..About::SHAPE
};

pub(super) const RANGES: &[Range] = &[Range::whole("head", 0, 100)];

pub(super) const OPTIONS: &[(&str, &str, &str)] = &[
    ("qkv", "split", "split: Q, K, V apart; fused: one matrix; none: left out"),
    ("product", "absolute", "absolute: |g ⊙ W|, signed: g ⊙ W as printed"),
    ("weights", "absolute", "absolute: magnitudes, signed: only positions and class token made positive"),
    ("head", "0", "how often the classifier's saliency is added"),
    (
        "by",
        "role",
        "role: attention is what it is; shape: joint projections and square matrices, all other linear maps are feed-forward",
    ),
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
        let headed = |layer: Layer| layer.tensor.role.part() == Part::Head;
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
                By::Shape => is_fused(tensor) || layer.weight.rows() == layer.weight.cols(),
            };
            let times = match (self.by, part) {
                (_, Part::Head) => self.head,
                (By::Shape, _) => 1,
                (By::Role, part) => u8::from(matches!(part, Part::Ffn | Part::Cell)),
            };
            zero = zero && layer.gradient.sum(f64::abs) == 0.0;
            if attention {
                let value = diversity(about, &observed, &layer, qkv)?;
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
