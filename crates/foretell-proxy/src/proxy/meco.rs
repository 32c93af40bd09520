//! MeCo: how far feature maps are from being linearly dependent.
//!
//! ```text
//! s = Σ_ℓ λ_min(corr(F_ℓ))        F_ℓ: output of block ℓ, rows: channels    corr: correlation of rows
//! ```
//!
//! - Paper: *MeCo: Zero-shot NAS with one data and single forward pass* (Jiang et al., NeurIPS 2023).
//! - Direction: higher is better. Cost: one forward pass.
//! - Departures from the paper: outputs of blocks; the released code hooks every module (`at=modules`) and, for tokens,
//!   correlates rows of tokens (`rows=tokens`). One sample of a transformer has fewer tokens than channels, which makes
//!   every λ_min zero: the tokens of the whole batch are observations (`samples=first` for the printed form).
use super::prelude::*;
use super::spectrum::{correlation, eigenvalues};

/// See the [module documentation](self).
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Meco {
    at: At,
    rows: Rows,
    samples: Samples,
}

#[derive(Debug, Default, Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum At {
    #[default]
    Blocks,
    Modules,
}

#[derive(Debug, Default, Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Samples {
    #[default]
    All,
    First,
}

#[derive(Debug, Default, Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Rows {
    #[default]
    Channels,
    Tokens,
}

pub(super) const ABOUT: &About = &About {
    name: "meco",
    version: 2,
    sentence: "MeCo: how far feature maps are from being linearly dependent.",
    formula: "s = Σ_ℓ λ_min(corr(F_ℓ))",
    paper: "MeCo (Jiang et al., 2023)",
    cost: Cost::Forward,
    options: &[
        ("at", "blocks", "outputs of blocks, or of modules: linear maps, norms, activations and blocks"),
        ("rows", "channels", "channels or tokens"),
        ("samples", "all", "whose tokens are observations: all, or the first as printed"),
    ],
    variants: &[("released", "at=modules,rows=tokens,samples=first")],
    departures: "outputs of blocks of a whole batch, not of every module and one sample",
    published: "AutoFormer .46/.68, .47/.66, .47/.66; GPT-2 WikiText-103 .49/.65 (ETAS, own networks)",
    ..About::SHAPE
};

impl Meco {
    fn pass(&self) -> Pass {
        let pass = Pass::forward().keep(Signal::Blocks);
        match self.at {
            At::Blocks => pass,
            At::Modules => pass.keep(Signal::Outputs).keep(Signal::Normed).keep(Signal::Activations),
        }
    }
}

impl Proxy for Meco {
    fn needs(&self, _: &dyn Subject) -> Vec<Pass> {
        vec![self.pass()]
    }
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        let observed = input.pass(&self.pass())?;
        let name = |mark| match (mark, self.at) {
            (Mark::Block(block), _) => Some((format!("block {block}"), Some(block))),
            (Mark::Activation(block), At::Modules) => {
                Some((format!("activation of block {block}"), Some(block)))
            }
            (Mark::Output(param) | Mark::Normed(param), At::Modules)
                if observed.tensor(param).role != Role::Head =>
            {
                Some((observed.tensor(param).name(), observed.tensor(param).block))
            }
            _ => None,
        };
        let (batch, mut terms) = (observed.result.batch, Vec::new());
        for ((name, block), map) in observed.kept(name) {
            let tokens = map.rows() / batch;
            let steps_first = input.subject.kind() == NetworkKind::Recurrent;
            let sample: Vec<f64> = match (self.samples, steps_first) {
                (Samples::All, _) => map.to_vec(),
                (Samples::First, false) => map.part(0, tokens).to_vec(),
                (Samples::First, true) => (0..tokens).flat_map(|t| map.part(t * batch, 1).to_vec()).collect(),
            };
            let view = View::F64(Mat::new(&sample, sample.len() / map.cols(), map.cols()));
            // A convolution's own map has channels for rows, whatever is asked for tokens.
            let patches = name.starts_with("patch_embed");
            let rows = if self.rows == Rows::Channels || patches { view.t() } else { view };
            let correlation = correlation(ABOUT, &rows.to_vec(), rows.rows())?;
            let values = eigenvalues(ABOUT, &name, &correlation, rows.rows())?;
            terms.push(Term { name, block, value: values[0] });
        }
        if terms.iter().all(|term| term.value.abs() < 1e-9) {
            let reason =
                "every correlation is singular: the channels that leave a layer norm add up to a constant";
            let (place, reason) = ("all maps".into(), reason.into());
            return Err(Error::Degenerate { proxy: ABOUT.name, place, reason });
        }
        Ok(Score::sum(terms))
    }
}

#[cfg(test)]
mod tests {
    use super::super::toy::{Toy, near};
    use super::*;

    /// Tokens are rows, channels columns. Channels (1, 2, 3) and (0, 2, 1) have the correlation ½, λ_min ½; (1, 2, 3) and
    /// (1, −2, 1) have none, λ_min 1: 1.5. The first sample alone of two.
    #[test]
    fn channels_by_hand() {
        let toy = Toy::new().pass(Pass::forward().keep(Signal::Blocks), |seen| {
            seen.value(Mark::Block(0), [[1.0, 0.0], [2.0, 2.0], [3.0, 1.0]])
                .value(Mark::Block(1), [[1.0, 1.0], [2.0, -2.0], [3.0, 1.0]])
        });
        near(toy.value("meco"), 1.5);
        let two = Toy::new().pass(Pass::forward().keep(Signal::Blocks), |seen| {
            let samples = [[1.0, 0.0], [2.0, 2.0], [3.0, 1.0], [9.0, 1.0], [7.0, 2.0], [8.0, 5.0]];
            seen.batch(2).value(Mark::Block(0), samples)
        });
        near(two.value("meco[samples=first]"), 0.5);
        assert!((two.value("meco") - 0.5).abs() > 0.01);
    }

    /// Steps first: the first sample's rows are every second one.
    #[test]
    fn steps_by_hand() {
        let toy =
            Toy::new().kind(NetworkKind::Recurrent).pass(Pass::forward().keep(Signal::Blocks), |seen| {
                let steps = [[1.0, 0.0], [9.0, 1.0], [2.0, 2.0], [7.0, 2.0], [3.0, 1.0], [8.0, 5.0]];
                seen.batch(2).value(Mark::Block(0), steps)
            });
        near(toy.value("meco[samples=first]"), 0.5);
    }

    /// Every module: a block ½, a linear map 1, a norm ½, an activation 1; the head is left out. Tokens as rows.
    #[test]
    fn modules_by_hand() {
        let (half, none) = ([[1.0, 2.0, 3.0], [0.0, 2.0, 1.0]], [[1.0, 2.0, 3.0], [1.0, -2.0, 1.0]]);
        let pass = Pass::forward()
            .keep(Signal::Blocks)
            .keep(Signal::Outputs)
            .keep(Signal::Normed)
            .keep(Signal::Activations);
        let toy = Toy::new()
            .matrix("q", Role::Query, 0, [[1.0]])
            .table("norm", Role::Norm, 0, [[1.0]])
            .matrix("head", Role::Head, None, [[1.0]])
            .pass(pass, |seen| {
                let norm = Mark::Normed(seen.param("norm"));
                seen.value(Mark::Block(0), half)
                    .output("q", none)
                    .value(norm, half)
                    .value(Mark::Activation(0), none)
                    .output("head", half)
            });
        near(toy.value("meco[at=modules,rows=tokens]"), 3.0);
    }
}
