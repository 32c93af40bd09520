//! Hidden saliency: how much the output depends on the hidden states.
//!
//! ```text
//! s = −Σ_h Σ |h ⊙ ∂L/∂h|        h: states entering each step    L: half the squared output
//! ```
//!
//! - Paper: Serianni & Kalita (ACL 2023).
//! - Direction: the original was found to be lower-is-better; its sign is turned. Cost: one forward, one backward.
//! - Departures from the paper: one pass; the released code adds up all passes that it happens to run.
use super::prelude::*;

/// See the [module documentation](self).
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HiddenSaliency {}

pub(super) const ABOUT: &About = &About {
    name: "hidden-saliency",
    sentence: "Hidden saliency: how much the output depends on the hidden states.",
    formula: "s = −Σ_h Σ |h ⊙ ∂L/∂h|",
    paper: "Serianni & Kalita (2023)",
    cost: Cost::Backward,
    flipped: true,
    departures: "one pass, not all that happen to run",
    published: "NAS-Bench-NLP -.268/-.393, with their sign",
    ..About::SHAPE
};

fn pass() -> Pass {
    Pass::backward(Loss::Natural).keep(Signal::Hidden).keep(Signal::HiddenGradients)
}

impl Proxy for HiddenSaliency {
    fn needs(&self, subject: &dyn Subject) -> Vec<Pass> {
        if subject.kind() == NetworkKind::Recurrent { vec![pass()] } else { Vec::new() }
    }
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        if input.subject.kind() != NetworkKind::Recurrent {
            return input.undefined(ABOUT, "it looks at recurrent states");
        }
        let observed = input.pass(&pass())?;
        let place = |mark| if let Mark::Hidden(layer, step) = mark { Some((layer, step)) } else { None };
        let gradients: rustc_hash::FxHashMap<(u32, u32), View> =
            observed.kept_gradients(place).into_iter().collect();
        let mut sums: Vec<f64> = Vec::new();
        for ((layer, step), h) in observed.kept(place) {
            sums.resize(sums.len().max(layer as usize + 1), 0.0);
            // A state that nothing after depends on has no gradient.
            if let Some(g) = gradients.get(&(layer, step)) {
                sums[layer as usize] += h.sum_with(g, |h, g| (h * g).abs());
            }
        }
        // A layer of the stack is no block: those are the nodes of the cell, which all layers share.
        let term = |(layer, sum): (usize, f64)| Term::of(format!("layer {}", layer + 1), None, sum);
        Ok(Score::sum(sums.into_iter().enumerate().map(term).collect()).turned())
    }
}

#[cfg(test)]
mod tests {
    use super::super::toy::Toy;
    use super::*;

    /// Layer 1: |1·3| + |−2·1| = 5, its second step has no gradient; layer 2: |4·(−½)| = 2. The sign is turned: −7.
    #[test]
    fn two_layers_by_hand() {
        let pass = Pass::backward(Loss::HalfSquare).keep(Signal::Hidden).keep(Signal::HiddenGradients);
        let toy = Toy::new().kind(NetworkKind::Recurrent).pass(pass, |seen| {
            seen.value(Mark::Hidden(0, 0), [[1.0, -2.0]])
                .value(Mark::Hidden(0, 1), [[9.0, 9.0]])
                .value(Mark::Hidden(1, 0), [[4.0]])
                .value_gradient(Mark::Hidden(1, 0), [[-0.5]])
                .value_gradient(Mark::Hidden(0, 0), [[3.0, 1.0]])
        });
        assert_eq!(toy.value("hidden-saliency"), -7.0);
        assert_eq!(Toy::new().score("hidden-saliency").unwrap_err().kind(), "not-defined");
    }
}
