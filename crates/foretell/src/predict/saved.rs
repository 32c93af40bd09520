//! Predictors as files, and as proxies: a search can maximise what a predictor expects.

use super::process::{Process, Term};
use super::{Facts, Model, Predictor};
use crate::error::{Error, Result};
use crate::file;
use crate::proxy::{self, About, Cost, Proxy, ProxyInput, Score};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, LazyLock, RwLock};

/// What a file starts with.
const FORMAT: &str = "foretell-predictor-1";

/// A predictor with what it was fitted to, as it is written to a file.
#[derive(Debug, Clone)]
pub struct Saved {
    /// The predictor.
    pub predictor: Predictor,
    /// The target: a column, or what the labels are.
    pub target: String,
    /// Whether small values of the target are good; labels then are its negative.
    pub lower_is_better: bool,
}

#[derive(Serialize, Deserialize)]
struct Written {
    format: String,
    digest: String,
    target: String,
    lower_is_better: bool,
    body: Body,
}

#[derive(Serialize, Deserialize)]
struct Body {
    facts: Facts,
    models: Vec<Parameters>,
}

#[derive(Serialize, Deserialize)]
struct Parameters {
    name: String,
    weight: f64,
    terms: Vec<Term>,
    parameters: Vec<f64>,
}

impl Saved {
    fn body(&self) -> Body {
        let predictor = self.predictor.clone();
        let written = |model: Model| Parameters {
            name: model.name,
            weight: model.weight,
            terms: model.process.terms,
            parameters: model.process.parameters,
        };
        Body { facts: predictor.facts, models: predictor.models.into_iter().map(written).collect() }
    }

    /// The file's content.
    pub fn to_json(&self) -> String {
        let body = self.body();
        let written = Written {
            format: FORMAT.to_owned(),
            digest: digest(&body),
            target: self.target.clone(),
            lower_is_better: self.lower_is_better,
            body,
        };
        serde_json::to_string(&written).expect("a predictor is plain data")
    }

    /// Reads a file's content; `place` is what errors call it.
    pub fn of_json(place: &str, text: &str) -> Result<Self> {
        let wrong = |message: String| Error::data(place, message);
        let written: Written =
            serde_json::from_str(text).map_err(|e| wrong(format!("is not a predictor: {e}")))?;
        if written.format != FORMAT {
            return Err(wrong(format!("has the format {}, not {FORMAT}: fit it again", written.format)));
        }
        if digest(&written.body) != written.digest {
            return Err(wrong("is damaged: fit it again".to_owned()));
        }
        let Body { facts, models } = written.body;
        let model = |model: Parameters| {
            let process = Process::with(model.terms, model.parameters, &facts.rows, &facts.truth)
                .map_err(|e| wrong(e.to_string()))?;
            Ok(Model { name: model.name, weight: model.weight, process })
        };
        let models = models.into_iter().map(model).collect::<Result<Vec<Model>>>()?;
        let predictor = Predictor { facts, models };
        Ok(Saved { predictor, target: written.target, lower_is_better: written.lower_is_better })
    }

    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self> {
        Self::of_json(&path.display().to_string(), &file::text(path)?)
    }

    /// A value as the target has it.
    pub fn as_given(&self, value: f64) -> f64 {
        if self.lower_is_better { -value } else { value }
    }

    /// Makes the predictor a proxy of this process; its request.
    pub fn register(self) -> Result<String> {
        if !self.predictor.facts.scores.is_empty() {
            let message =
                "needs scores of every network and cannot be maximised by a search: fit one without scores";
            return Err(Error::option("predictor", message));
        }
        name_proxy()?;
        let digest = digest(&self.body());
        let request = format!("predicted[by={digest}]");
        LOADED.write().expect("no holder panics").insert(digest, Arc::new(self.predictor));
        Ok(request)
    }
}

/// Makes the proxy `predicted` known; it can score once its predictor is registered.
pub fn name_proxy() -> Result<()> {
    proxy::register::<Predicted>(&PREDICTED)
}

/// Reads a predictor and makes it a proxy of this process; its request.
pub fn load(path: &Path) -> Result<String> {
    Saved::read(path)?.register()
}

fn digest(body: &Body) -> String {
    let text = serde_json::to_string(body).expect("a predictor is plain data");
    blake3::hash(text.as_bytes()).to_hex()[..16].to_owned()
}

/// The predictors that this process knows, by digest.
static LOADED: LazyLock<RwLock<HashMap<String, Arc<Predictor>>>> = LazyLock::new(RwLock::default);

/// What a predictor expects of a network.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Predicted {
    by: String,
}

static PREDICTED: About = About {
    name: "predicted",
    sentence: "What a predictor expects that training gives, from labels of a few networks.",
    formula: "s = E[t(y) | labels],  t: the transform that makes labels normal",
    paper: "none; see docs/predict.md",
    cost: Cost::Shape,
    options: &[("by", "", "digest of the predictor, which must be loaded")],
    by_name: true,
    ..About::SHAPE
};

impl Proxy for Predicted {
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        let loaded = LOADED.read().expect("no holder panics").get(&self.by).cloned();
        let Some(predictor) = loaded else {
            let message = format!("predictor {} is not loaded: name its file", self.by);
            return Err(Error::option("predicted", message));
        };
        let Some(architecture) = input.subject.architecture() else {
            let reason = format!("{} is no architecture of a space", input.subject.name());
            return Err(Error::NotDefined { proxy: "predicted", reason });
        };
        predictor.check_family(architecture)?;
        Ok(Score::from(predictor.expect(architecture, &[])))
    }
}
