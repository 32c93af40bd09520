//! Shape law: how good a decoder of this shape becomes when it is trained on so many tokens.
//!
//! ```text
//! s = S (a₀ + a₁ρ) + L (b₀ + b₁ρ + b₂S + b₃L) + F (c₀ + c₁ρ + c₂F) + H (d₀ + d₁ρ)
//! S = (ln N − 14) / 2       N: weights of all blocks
//! L = ln depth − 1.5        F = mean_l ln(f_l / 2w_l²) − 1      f_l: feed-forward weights of block l, w_l: its width
//! H = mean_l ln heads_l − 1
//! ρ = ln(tokens / N) / 3    with ln(tokens / N) from −2 to 7, where the law was learned
//! ```
//!
//! Short training wants width, long training wants depth, and `ρ` says which of them it is. The numbers are a ridge
//! regression over tables of trained decoders, the labels of each scaled to mean 0 and deviation 1: `benches/law.rs` fits
//! them, and tests each table with a law learned from the others.
//!
//! - Paper: none.
//! - Direction: higher is better. Cost: the architecture alone.
//! - Departures: none. Learned from decoders, and refused for other networks.
use super::{About, Proxy, ProxyInput, Range, Score};
use crate::architecture::{NetworkKind, Part, Subject};
use crate::error::{Error, Result};
use serde::Deserialize;

/// See the [module documentation](self).
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ShapeLaw {
    tokens: Option<f64>,
}

pub(super) const ABOUT: &About = &About {
    name: "shape-law",
    sentence: "Shape law: how good a decoder of this shape becomes when it is trained on so many tokens.",
    formula: "s = S(a₀ + a₁ρ) + L(b₀ + b₁ρ + b₂S + b₃L) + F(c₀ + c₁ρ + c₂F) + H(d₀ + d₁ρ),  ρ = ln(tokens/N)/3",
    paper: "none: learned from tables of trained decoders, see docs/predict.md",
    options: &[("tokens", "100 for each weight of a block", "tokens that the network is trained on")],
    ranges: &[Range::real("tokens", 1.0, 1e15)],
    departures: "none",
    by_name: true,
    learned: true,
    ..About::SHAPE
};

/// The weights of [`shape_law_basis`], in its order.
pub const SHAPE_LAW: [f64; 11] =
    [1.110, 0.491, -0.656, 0.137, 0.212, -0.164, -0.373, 0.306, -0.257, 0.168, 0.101];
/// Tokens for each weight of a block where no number of tokens is given.
const LONG: f64 = 100.0;

/// What the law weighs: S, Sρ, L, Lρ, LS, L², F, Fρ, F², H, Hρ. None for networks without the parts that it reads.
pub fn shape_law_basis(subject: &dyn Subject, tokens: Option<f64>) -> Option<[f64; 11]> {
    let mut blocks = Vec::new();
    subject.blocks(&mut |block| blocks.push(block));
    let (mut inside, mut ffn) = (0.0, vec![0.0; blocks.len()]);
    subject.tensors(&mut |tensor| {
        let Some(block) = tensor.block else { return };
        inside += tensor.len() as f64;
        if let (Part::Ffn, Some(sum)) = (tensor.role.part(), ffn.get_mut(block as usize)) {
            *sum += tensor.matrix().map_or(0.0, |(m, n)| (m * n) as f64);
        }
    });
    let n = blocks.len() as f64;
    let heads: Option<Vec<f64>> = blocks.iter().map(|block| Some(block.heads? as f64)).collect();
    let ratios = ffn.iter().zip(&blocks).map(|(ffn, block)| ffn / (2.0 * (block.width as f64).powi(2)));
    let size = (inside.ln() - 14.0) / 2.0;
    let depth = n.ln() - 1.5;
    let feed = ratios.map(f64::ln).sum::<f64>() / n - 1.0;
    let heads = heads?.iter().map(|heads| heads.ln()).sum::<f64>() / n - 1.0;
    let regime = (tokens.unwrap_or(LONG * inside) / inside).ln().clamp(-2.0, 7.0) / 3.0;
    let basis = [
        size,
        size * regime,
        depth,
        depth * regime,
        depth * size,
        depth * depth,
        feed,
        feed * regime,
        feed * feed,
        heads,
        heads * regime,
    ];
    basis.iter().all(|value| value.is_finite()).then_some(basis)
}

impl Proxy for ShapeLaw {
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        let refused = |reason: String| Err(Error::NotDefined { proxy: ABOUT.name, reason });
        if input.subject.kind() != NetworkKind::Decoder {
            return refused(format!("it was learned from decoders, and {} is none", input.subject.name()));
        }
        let Some(basis) = shape_law_basis(input.subject, self.tokens) else {
            return refused("it needs attention heads and a feed-forward layer in every block".to_owned());
        };
        Ok(Score::from(basis.iter().zip(SHAPE_LAW).map(|(value, weight)| value * weight).sum::<f64>()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::read_architecture;
    use serde_json::json;

    /// Two layers, 4 wide, feed-forward widths 8 and 16: 4·4·4 + 16 weights of attention, 2·4·8 + 12 and 2·4·16 + 20 of
    /// feed-forward, 16 of norms in each: 416 in all. Ratios f/w are 2 and 4, heads 1 and 2.
    #[test]
    fn two_layers_by_hand() {
        let network = json!({"family": "gpt2", "vocab_size": 10, "context_len": 4, "d_model": 4, "n_layer": 2,
            "n_head": [1, 2], "d_inner": [8, 16]});
        let network = read_architecture(&network).unwrap();
        let basis = shape_law_basis(&network, Some(416.0 * 3f64.exp())).unwrap();
        let size = (416f64.ln() - 14.0) / 2.0;
        let (depth, feed, heads) = (2f64.ln() - 1.5, 1.5 * 2f64.ln() - 1.0, 0.5 * 2f64.ln() - 1.0);
        let wanted =
            [size, size, depth, depth, depth * size, depth * depth, feed, feed, feed * feed, heads, heads];
        for (found, wanted) in basis.iter().zip(wanted) {
            assert!((found - wanted).abs() < 1e-12, "{basis:?}");
        }
    }

    /// Among GPT-2s of nearly equal size, long training prefers deeper ones than short training.
    #[test]
    fn long_training_wants_depth() {
        let network = |layers: usize, width: u64| {
            let network = json!({"family": "gpt2", "vocab_size": 257, "context_len": 64, "d_model": width,
                "n_layer": layers, "n_head": vec![2; layers], "d_inner": vec![4 * width; layers]});
            read_architecture(&network).unwrap()
        };
        let shapes: Vec<_> =
            [(1, 416), (2, 288), (4, 208), (8, 144), (16, 104)].map(|(l, w)| network(l, w)).into();
        let best = |tokens: f64| {
            let law = ShapeLaw { tokens: Some(tokens) };
            let score = |at: &usize| law.score(&ProxyInput::of(&shapes[*at])).unwrap().value;
            (0..shapes.len()).max_by(|a, b| score(a).total_cmp(&score(b))).unwrap()
        };
        assert!(best(1e6) < best(1e9), "{} and {}", best(1e6), best(1e9));
    }
}
