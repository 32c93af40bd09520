//! Fisher: how much the loss depends on each output of each layer.
//!
//! ```text
//! s = Σ_ℓ n_ℓ Σ_c ½ mean_t (a_c · ∂L/∂a_c)²        a: output of layer ℓ    t: samples and tokens    n_ℓ: see below
//! ```
//!
//! - Paper: *Faster gaze prediction with dense networks and Fisher pruning* (Theis et al., 2018), as in Abdelfattah 2021.
//! - Direction: higher is better. Cost: one forward, one backward.
//! - Departures from the paper: n_ℓ is the second size of the stored matrix (inputs, for GPT-2 outputs), because the
//!   released code spreads the value of an output over its weights; `broadcast=false` takes 1.
use super::prelude::*;
use rustc_hash::FxHashMap;

/// See the [module documentation](self).
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Fisher {
    broadcast: bool,
}

impl Default for Fisher {
    fn default() -> Self {
        Fisher { broadcast: true }
    }
}

pub(super) const ABOUT: &About = &About {
    name: "fisher",
    sentence: "Fisher: how much the loss depends on each output of each layer.",
    formula: "s = Σ_ℓ n_ℓ Σ_c ½ mean_t (a_c · ∂L/∂a_c)²",
    paper: "Fisher pruning (Theis et al., 2018)",
    cost: Cost::Backward,
    options: &[("broadcast", "true", "times the second size of the stored matrix, as released")],
    variants: &[("published", "train=true"), ("lpzero-flexibert", "loss=sum,layers=first")],
    published: "FlexiBERT .139/.209; GPT-2 .691/.872 (LPZero)",
    ..About::SHAPE
};

fn pass() -> Pass {
    Pass::backward(Loss::Natural).keep(Signal::Outputs).keep(Signal::OutputGradients)
}

impl Proxy for Fisher {
    fn needs(&self, _: &dyn Subject) -> Vec<Pass> {
        vec![pass()]
    }
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        let observed = input.pass(&pass())?;
        let output = |mark| if let Mark::Output(param) = mark { Some(param) } else { None };
        // A layer that runs at every step of time leaves several outputs; their gradients come in reverse order.
        let mut gradients = observed.kept_gradients(output);
        gradients.reverse();
        let mut sums: FxHashMap<Param, (f64, usize)> = FxHashMap::default();
        let mut next: FxHashMap<Param, std::vec::IntoIter<View>> = FxHashMap::default();
        for (param, _) in &gradients {
            let own = || {
                gradients.iter().filter(|(p, _)| p == param).map(|(_, g)| *g).collect::<Vec<_>>().into_iter()
            };
            next.entry(*param).or_insert_with(own);
        }
        for (param, a) in observed.kept(output) {
            let Some(g) = next.get_mut(&param).and_then(Iterator::next) else { continue };
            let entry = sums.entry(param).or_default();
            entry.0 += a.sum_with(&g, |a, g| (a * g).powi(2));
            entry.1 += a.rows();
        }
        observed.sum(ABOUT, Layers::Linear, |layer| {
            let (sum, rows) = sums.get(&layer.param).copied().unwrap_or((0.0, 1));
            let times = if self.broadcast { layer.weight.cols() as f64 } else { 1.0 };
            Ok(times * 0.5 * sum / rows as f64)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::toy::Toy;
    use super::*;

    /// Two tokens of a 2 x 3 map: (1·2)² + (2·1)² + (3·1)² + 0² = 17, half of the mean over tokens 4.25, times 3 inputs
    /// 12.75. A map of two inputs that runs at two steps, gradients in reverse: (1·5)² + (2·3)² = 61, 15.25, times 2 30.5.
    /// Together 43.25; without the factor of inputs 19.5.
    #[test]
    fn two_layers_by_hand() {
        let pass = Pass::backward(Loss::Natural).keep(Signal::Outputs).keep(Signal::OutputGradients);
        let toy = Toy::new()
            .matrix("q", Role::Query, 0, [[1.0; 3]; 2])
            .matrix("cell", Role::CellLinear, 1, [[1.0; 2]])
            .pass(pass, |seen| {
                let [q, cell] = ["q", "cell"].map(|name| Mark::Output(seen.param(name)));
                seen.gradient("q", [[1.0; 3]; 2])
                    .value(q, [[1.0, 2.0], [3.0, 0.0]])
                    .value(cell, [[1.0]])
                    .value(cell, [[2.0]])
                    .value_gradient(cell, [[3.0]])
                    .value_gradient(cell, [[5.0]])
                    .value_gradient(q, [[2.0, 1.0], [-1.0, 5.0]])
            });
        assert_eq!(toy.value("fisher"), 43.25);
        assert_eq!(toy.value("fisher[broadcast=false]"), 19.5);
    }
}
