//! Options common to all proxies that run a network: how the passes they ask for are changed.

use super::Score;
use super::range::{self, Range};
use crate::architecture::{NetworkKind, Subject};
use crate::error::{Error, Result};
use crate::network::Initialisation;
use crate::probe::{Derivative, Feed, Fold, Layers, Loss, Pass, Signal, WeightTransform, natural};
use serde::Deserialize;
use serde_json::{Map, Value};

/// Changes to the passes and layers of a proxy; what is not said stays as the proxy has it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct PassOverrides {
    feed: Option<Feed>,
    loss: Option<Loss>,
    batch: Option<usize>,
    tokens: Option<usize>,
    train: Option<bool>,
    layers: Option<Layers>,
    init: Option<Initialisation>,
    weights_seed: Option<u64>,
    inputs_seed: Option<u64>,
    normalise: bool,
    nan: Nan,
}

/// What is drawn for a proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Drawing {
    /// Seed of the weights.
    pub weights: u64,
    /// How maps are filled, if not as their family says.
    pub init: Option<Initialisation>,
    /// Seed of everything else.
    pub inputs: u64,
}

/// The values that the numeric options of a [`PassOverrides`] may take.
pub const SHARED_RANGES: &[Range] = &[
    Range::whole("batch", 1, 65_536),
    Range::whole("tokens", 1, 1_048_576),
    Range::whole("weights-seed", 0, 4_294_967_295),
    Range::whole("inputs-seed", 0, 4_294_967_295),
];

/// What becomes of terms that are not finite.
#[derive(Debug, Clone, Copy, Default, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Nan {
    #[default]
    Refuse,
    Ignore,
}

/// The options of a [`PassOverrides`]: name, default, meaning.
pub const SHARED: &[(&str, &str, &str)] = &[
    (
        "feed",
        "the proxy's own",
        "data (given inputs, else normal noise or random tokens), ones, or uniform (noise between 0 and 1; images)",
    ),
    (
        "loss",
        "the proxy's own",
        "natural (cross-entropy; signs for encoders, half-square for cells), cross-entropy, sum, half-square, projection",
    ),
    ("batch", "8 images, 16 texts, 50 for cells", "samples at once"),
    ("tokens", "128 for encoders, up to 192 for decoders", "tokens of each text that is drawn"),
    ("train", "false", "draw dropout, as in training"),
    (
        "layers",
        "the proxy's own",
        "linear, first, attention, operator, ffn, kernel, embedded, biased, named, everything",
    ),
    (
        "init",
        "the family's own",
        "fill linear maps and convolutions by normal, uniform, trunc-normal (deviation 0.02), xavier, kaiming or orthogonal",
    ),
    ("weights-seed", "the seed of the score", "seed of the weights alone"),
    (
        "inputs-seed",
        "the seed of the score",
        "seed of everything but the weights: inputs, labels, noise, dropout, signs",
    ),
    ("normalise", "false", "divide by the number of terms summed"),
    (
        "nan",
        "refuse",
        "refuse a score with a term that is not finite, or ignore the term, as some originals do",
    ),
];

impl PassOverrides {
    /// Reads options by name; numbers must lie inside [`SHARED_RANGES`].
    pub(super) fn read(options: Map<String, Value>) -> Result<Self> {
        range::check(SHARED_RANGES, &options)?;
        serde_json::from_value(Value::Object(options)).map_err(|e| Error::option("", e.to_string()))
    }

    /// Refuses options that no proxy can honour for this family.
    pub(super) fn check_subject(&self, subject: &dyn Subject, passes: &[Pass]) -> Result<()> {
        let idle = |option: &str, why: &str| {
            Err(Error::option(option, format!("has no effect on {}: {why}", subject.name())))
        };
        match passes.is_empty() {
            true => Ok(()),
            _ if self.train == Some(true) && !subject.has_dropout() => {
                idle("train", "this network has no dropout")
            }
            _ if self.tokens.is_some() && subject.kind() == NetworkKind::Vision => {
                idle("tokens", "it reads images")
            }
            _ if self.feed == Some(Feed::Uniform) && subject.kind() != NetworkKind::Vision => {
                idle("feed", "it reads text, whose tokens are drawn uniformly in any case")
            }
            _ => Ok(()),
        }
    }

    /// Refuses options that changed nothing about a score: none of the passes is changed by them, there is no term, or
    /// the layers were never `looked` at.
    pub(super) fn check_effect(&self, passes: &[Pass], score: &Score, looked: bool) -> Result<()> {
        let idle = |option: &str, why: &str| Err(Error::option(option, format!("has no effect: {why}")));
        let data = |pass: &Pass| !matches!(pass.derivative, Derivative::Curve { .. });
        let folds =
            |pass: &Pass| matches!(pass.derivative, Derivative::Samples(fold, _) if fold != Fold::Halves);
        let fed = passes.iter().any(data);
        for (option, given) in [("feed", self.feed.is_some()), ("batch", self.batch.is_some())] {
            if given && !fed {
                return idle(option, "the proxy feeds the network no batch");
            }
        }
        for (option, given) in [("tokens", self.tokens.is_some()), ("train", self.train == Some(true))] {
            if given && passes.is_empty() {
                return idle(option, "the proxy runs no network");
            }
        }
        if self.loss.is_some() && passes.iter().all(|pass| pass.loss == Loss::None) {
            return idle("loss", "the proxy differentiates no loss");
        }
        if self.layers.is_some() && !looked && !passes.iter().any(folds) {
            return idle("layers", "the proxy chooses no layers by kind");
        }
        let summed = !score.terms.is_empty() && score.parts.is_empty();
        for (option, given) in [("normalise", self.normalise), ("nan", self.nan == Nan::Ignore)] {
            if given && !summed {
                return idle(option, "the score is not a sum of terms");
            }
        }
        Ok(())
    }

    /// Whether something else is drawn than for others.
    pub(super) fn draws_apart(&self) -> bool {
        self.init.is_some() || self.weights_seed.is_some() || self.inputs_seed.is_some()
    }

    /// What is drawn with a seed.
    pub fn drawing(&self, seed: u64) -> Drawing {
        Drawing {
            weights: self.weights_seed.unwrap_or(seed),
            init: self.init,
            inputs: self.inputs_seed.unwrap_or(seed),
        }
    }

    /// Refuses options of draws that the passes, as they are run, do not make, or that are given instead.
    pub(super) fn check_draws(&self, passes: &[Pass], given: Given) -> Result<()> {
        let idle = |option: &str, why: &str| Err(Error::option(option, format!("has no effect: {why}")));
        let redrawn = |pass: &Pass| pass.weights == WeightTransform::Redrawn;
        for (option, set) in [("init", self.init.is_some()), ("weights-seed", self.weights_seed.is_some())] {
            if set && given.weights {
                return idle(option, "the weights are given");
            }
        }
        if self.init.is_some() && !passes.is_empty() && passes.iter().all(redrawn) {
            return idle("init", "the proxy draws maps of its own");
        }
        if self.inputs_seed.is_some() && given.inputs {
            return idle("inputs-seed", "the inputs are given");
        }
        if self.inputs_seed.is_some() && !passes.iter().any(draws) {
            return idle("inputs-seed", "the proxy draws nothing but weights");
        }
        Ok(())
    }

    /// A pass as it is to be run.
    pub fn apply(&self, mut pass: Pass, subject: &dyn Subject) -> Pass {
        pass.feed = self.feed.unwrap_or(pass.feed);
        if pass.loss != Loss::None {
            pass.loss = natural(self.loss.unwrap_or(pass.loss), subject);
        }
        pass.batch = self.batch.unwrap_or(pass.batch);
        pass.tokens = self.tokens.unwrap_or(pass.tokens);
        pass.train = self.train.unwrap_or(pass.train);
        if let (Derivative::Samples(_, layers), Some(wanted)) = (&mut pass.derivative, self.layers) {
            *layers = wanted;
        }
        pass
    }

    /// The layers to look at.
    pub(super) fn layers(&self, usual: Layers) -> Layers {
        self.layers.unwrap_or(usual)
    }

    /// The score as it was asked for: over finite terms alone, divided by their number.
    pub(super) fn finish(&self, mut score: Score) -> Score {
        let bad = score.terms.iter().filter(|term| !term.value.is_finite()).count();
        if self.nan == Nan::Ignore && bad > 0 && bad < score.terms.len() {
            score.terms.retain(|term| term.value.is_finite());
            let note = format!("{bad} terms that are not finite were left out");
            score = Score { notes: score.notes, ..Score::sum(score.terms) }.note(Some(note));
        }
        if self.normalise && !score.terms.is_empty() {
            score.value /= score.terms.len() as f64;
        }
        score
    }
}

/// What a network is not drawn for: it is given.
#[derive(Debug, Clone, Copy, Default)]
pub struct Given {
    /// Its weights.
    pub weights: bool,
    /// Its inputs.
    pub inputs: bool,
}

/// Whether a pass draws anything beside weights.
fn draws(pass: &Pass) -> bool {
    let fed = pass.feed != Feed::Ones || matches!(pass.derivative, Derivative::Curve { .. });
    let labelled = matches!(pass.loss, Loss::CrossEntropy | Loss::Target | Loss::Projection);
    let signs = matches!(pass.derivative, Derivative::Trace(trace) if trace.probes.is_some())
        || pass.keep.contains(&Signal::BlockGradients);
    fed || labelled || signs || pass.train || pass.noise > 0
}

#[cfg(test)]
mod tests {
    use super::super::Term;
    use super::*;

    fn finished(options: &str, terms: &[f64]) -> Score {
        let change: PassOverrides = serde_json::from_str(options).unwrap();
        change.finish(Score::sum(terms.iter().map(|value| Term::of("layer", None, *value)).collect()))
    }

    #[test]
    fn terms_that_are_not_finite_are_left_out_where_asked() {
        let terms = [1.0, f64::NAN, 3.0, f64::INFINITY];
        assert!(finished("{}", &terms).value.is_nan());
        let score = finished(r#"{"nan": "ignore", "normalise": true}"#, &terms);
        assert_eq!((score.value, score.terms.len(), score.notes.len()), (2.0, 2, 1));
        assert!(finished(r#"{"nan": "ignore"}"#, &[f64::NAN]).value.is_nan());
        assert_eq!(finished(r#"{"nan": "ignore"}"#, &[1.0, 2.0]).notes.len(), 0);
    }
}
