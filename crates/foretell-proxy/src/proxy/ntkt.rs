//! NTKT: the trace of the neural tangent kernel, as trainability.
//!
//! ```text
//! eq. 12: s = Σ_a Σ_j ‖∇_w z̄_aj‖²,  z̄ = (1/T) Σ_t z        eq. 13: s = (1/T²) Σ_a Σ_t Σ_j ‖∇_w z_atj‖²
//! ```
//!
//! z: features of input a, token t, coordinate j. By random signs v: `E_v ‖∇_w Σ v z̄‖²`, respectively `‖∇_w Σ v z‖² / T²`,
//! is the trace; eight draws are averaged and their standard error is given. `exact=true` takes every coordinate in turn.
//!
//! - Paper: *ETAS* eq. 12 and 13.
//! - Direction: higher is better. Cost: one forward and eight backward passes.
//! - Departures from the paper: eq. 12 by default, which is the trace of the matrix its theorem is about; eq. 13 drops
//!   the products of different tokens. The trace is estimated by eight random projections. Batch and inputs are not printed:
//!   16 texts of random tokens, 8 images of noise. w: word table and matrices; no biases, norms, heads. Features are those
//!   behind the final norm.
use super::prelude::*;

/// See the [module documentation](self).
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ntkt {
    eq: u8,
    probes: Option<u32>,
    exact: bool,
    of: Of,
}

#[derive(Debug, Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Of {
    Features,
    Logits,
}

/// Draws that are averaged where nothing else is said.
const PROBES: u32 = 8;

impl Default for Ntkt {
    fn default() -> Self {
        Ntkt { eq: 12, probes: None, exact: false, of: Of::Features }
    }
}

pub(super) const ABOUT: &About = &About {
    name: "ntkt",
    sentence: "NTKT: the trace of the neural tangent kernel, as trainability.",
    formula: "s = Σ_a Σ_j ‖∇_w z̄_aj‖², z̄: features averaged over tokens",
    paper: "ETAS eq. 12 and 13",
    cost: Cost::Passes,
    options: OPTIONS,
    ranges: RANGES,
    departures: "eq. 12 by default, not 13; eight random projections estimate the trace (exact=true takes all coordinates); \
                 batch 16, 8 for images, and random inputs, since the paper prints neither; features include the final norm",
    published: "AutoFormer .70/.87, .70/.86, .72/.90; GPT-2 WikiText-103 .80/.96 (ETAS, own networks)",
    ..About::SHAPE
};

pub(super) const RANGES: &[Range; 2] = &[Range::whole("eq", 12, 13), Range::whole("probes", 2, 65_536)];

pub(super) const OPTIONS: &[(&str, &str, &str); 4] = &[
    ("eq", "12", "12: of the mean over tokens, 13: of tokens apart"),
    ("probes", "8", "random signs that are averaged"),
    ("exact", "false", "every coordinate in turn instead"),
    ("of", "features", "features or logits"),
];

impl Ntkt {
    pub(super) fn pass(&self) -> Pass {
        let probes = if self.exact { None } else { Some(self.probes.unwrap_or(PROBES)) };
        let trace = Trace { mean: self.eq != 13, logits: self.of == Of::Logits, probes };
        Pass { derivative: Derivative::Trace(trace), ..Pass::forward() }
    }

    /// The score from what a pass saw.
    pub(super) fn seen(&self, input: &ProxyInput, pass: &Pass) -> Result<Score> {
        if self.exact && self.probes.is_some() {
            return Err(Error::option("probes", "has no effect together with exact=true"));
        }
        let headless = matches!(input.subject.kind(), NetworkKind::Encoder | NetworkKind::Recurrent);
        if self.of == Of::Logits && headless {
            return Err(
                input.idle("of", "it has no output layer of its own, so its outputs are its features")
            );
        }
        let observed = input.pass(pass)?;
        let traces = &observed.result.traces;
        let n = traces.len() as f64;
        let term = |param: Param| {
            let tensor = observed.tensor(param);
            Term::of(
                tensor.name(),
                tensor.block,
                traces.iter().map(|row| row[param.index()]).sum::<f64>() / n,
            )
        };
        let chosen = input.layers(Layers::Kernel);
        let mut score = Score::sum(chosen.iter().map(|param| term(*param)).collect());
        if !self.exact {
            let totals = traces.iter().map(|row| chosen.iter().map(|param| row[param.index()]).sum::<f64>());
            let squares: f64 = totals.map(|total| (total - score.value).powi(2)).sum();
            score.error = Some((squares / (n * (n - 1.0))).sqrt());
        }
        Ok(score)
    }
}

impl Proxy for Ntkt {
    fn needs(&self, _: &dyn Subject) -> Vec<Pass> {
        vec![self.pass()]
    }
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        self.seen(input, &self.pass())
    }
}

#[cfg(test)]
mod tests {
    use super::super::toy::Toy;
    use super::*;

    fn toy(trace: Trace, probes: &[[f64; 3]]) -> Toy {
        Toy::new()
            .matrix("q", Role::Query, 0, [[1.0]])
            .matrix("fc1", Role::FfnIn, 0, [[1.0]])
            .table("norm", Role::Norm, 0, [[1.0]])
            .pass(Pass { derivative: Derivative::Trace(trace), ..Pass::forward() }, |seen| {
                seen.traces(probes)
            })
    }

    /// Two probes: queries (1 + 3) / 2 = 2 and feed-forward (2 + 4) / 2 = 3, together 5; the norm's 100 is left out. Totals
    /// of 3 and 7 lie 2 off the mean: the standard error is √((4 + 4) / (2 · 1)) = 2.
    #[test]
    fn two_probes_by_hand() {
        let trace = Trace { mean: true, logits: false, probes: Some(8) };
        let toy = toy(trace, &[[1.0, 2.0, 100.0], [3.0, 4.0, 100.0]]);
        let score = toy.score("ntkt").unwrap();
        assert_eq!((score.value, score.error), (5.0, Some(2.0)));
    }

    /// The pass adds all coordinates up: 4 + 6 = 10, and there is no error.
    #[test]
    fn exact_by_hand() {
        let trace = Trace { mean: true, logits: false, probes: None };
        let exact = toy(trace, &[[4.0, 6.0, 100.0]]).score("ntkt[exact=true]").unwrap();
        assert_eq!((exact.value, exact.error), (10.0, None));
    }

    /// Options choose the pass.
    #[test]
    fn other_kernels() {
        let apart = Trace { mean: false, logits: false, probes: Some(8) };
        assert_eq!(toy(apart, &[[1.0, 2.0, 0.0]; 2]).value("ntkt[eq=13]"), 3.0);
        let logits = Trace { mean: true, logits: true, probes: Some(2) };
        assert_eq!(toy(logits, &[[1.0, 2.0, 0.0]; 2]).value("ntkt[of=logits,probes=2]"), 3.0);
    }
}
