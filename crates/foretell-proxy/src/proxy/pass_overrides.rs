//! Options common to all proxies that run a network: how the passes they ask for are changed.

use super::Score;
use super::range::{self, Range};
use crate::architecture::{NetworkKind, Subject};
use crate::error::{Error, Result};
use crate::probe::{Derivative, Feed, Fold, Layers, Loss, Pass, natural};
use serde::Deserialize;
use serde_json::{Map, Value};

/// Changes to the passes and layers of a proxy; what is not said stays as the proxy has it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PassOverrides {
    feed: Option<Feed>,
    loss: Option<Loss>,
    batch: Option<usize>,
    tokens: Option<usize>,
    train: Option<bool>,
    layers: Option<Layers>,
    normalise: bool,
    nan: Nan,
}

/// The values that the numeric options of a [`PassOverrides`] may take.
pub const SHARED_RANGES: &[Range] = &[Range::whole("batch", 1, 65_536), Range::whole("tokens", 1, 1_048_576)];

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
    ("feed", "the proxy's own", "data (given inputs, else noise or random tokens) or ones"),
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
