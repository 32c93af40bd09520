//! `foretell.train` and `foretell.verify`.

use crate::architecture::Architecture;
use crate::convert::to_python;
use crate::study::Study;
use crate::work::{Counts, work};
use foretell::architecture::Family;
use foretell::data::{Data, Tokeniser};
use foretell::error::{Error, Result};
use foretell::file;
use foretell::score::Precision;
use foretell::store::Store;
use foretell::study::{self, View};
use foretell::train::{self as training, Point, Recipe, Watch};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

/// What networks are trained on, and how.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataOptions {
    on: Option<PathBuf>,
    tokeniser: String,
    image_size: Option<u32>,
    recipe: Map<String, Value>,
    cache: Option<PathBuf>,
}

impl DataOptions {
    /// Refuses options that nothing reads.
    pub fn refuse_idle(&self, why: &str) -> Result<()> {
        let given = [
            ("on", self.on.is_some()),
            ("tokeniser", self.tokeniser != "bytes"),
            ("image_size", self.image_size.is_some()),
            ("recipe", !self.recipe.is_empty()),
        ];
        match given.iter().find(|(_, given)| *given) {
            Some((name, _)) => Err(Error::option(*name, format!("has no effect: {why}"))),
            None => Ok(()),
        }
    }

    /// The data for networks of a family. Only language models need none from the user.
    pub fn open_for(&self, family: &dyn Family) -> Result<Data> {
        let tokeniser: Tokeniser = self.tokeniser.parse()?;
        match &self.on {
            Some(path) => Data::open(path, tokeniser, self.cache.as_deref(), self.image_size),
            None if family.knows("vocab_size") => Data::demo(tokeniser),
            None => {
                let message = format!("is missing: {family} networks read images, and only text is included");
                Err(Error::option("on", message))
            }
        }
    }

    /// The recipe: the default one with some values set.
    pub fn recipe(&self) -> Result<Recipe> {
        let mut values = serde_json::to_value(Recipe::default()).expect("a recipe is plain data");
        for (key, value) in &self.recipe {
            values[key] = value.clone();
        }
        let recipe: Recipe =
            serde_json::from_value(values).map_err(|e| Error::option("recipe", e.to_string()))?;
        recipe.check()?;
        Ok(recipe)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TrainOptions {
    data: DataOptions,
    output: Option<PathBuf>,
    save_every: f64,
    double: bool,
    threads: Option<usize>,
}

/// The loss curve as it grows, told to Python now and then.
#[derive(Default)]
struct Curve(Mutex<Vec<Value>>);

impl Watch for &Curve {
    fn step(&mut self, step: u64, loss: f64) {
        let mut news = self.0.lock().expect("no holder panics");
        // Of many steps between two calls only the last is told.
        news.retain(|event| event["valid_loss"] != Value::Null);
        news.push(json!({"step": step, "loss": loss, "valid_loss": null}));
    }

    fn point(&mut self, point: &Point) {
        let mut news = self.0.lock().expect("no holder panics");
        news.push(json!({"step": point.step, "loss": point.train, "valid_loss": point.valid.loss,
            "valid_accuracy": point.valid.accuracy}));
    }
}

/// Trains a network; see `foretell.train`.
#[pyfunction]
#[pyo3(signature = (architecture, options, progress = None))]
pub fn train<'py>(
    py: Python<'py>,
    architecture: &Architecture,
    options: &Bound<'py, PyDict>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let asked: TrainOptions = crate::convert::options(options, "train")?;
    let curve = Curve::default();
    let tell = |py: Python<'_>| {
        let news = std::mem::take(&mut *curve.0.lock().expect("no holder panics"));
        let Some(progress) = &progress else { return Ok(()) };
        news.iter().try_for_each(|event| progress.bind(py).call1((to_python(py, event)?,)).map(drop))
    };
    let told = work(py, asked.threads, &tell, |_| {
        let data = asked.data.open_for(architecture.0.family())?;
        let (network, recipe) = (training::fit(&architecture.0, &data)?, asked.data.recipe()?);
        let (folder, pause) =
            (asked.output.as_deref(), Duration::from_secs_f64(asked.save_every.clamp(0.0, 1e9)));
        let mut watch = &curve;
        let precision = if asked.double { Precision::F64 } else { Precision::F32 };
        let run = training::Run::new(&network, &data, &recipe).precision(precision);
        let outcome = run.checkpoints(folder).pause(pause).watched(&mut watch)?;
        Ok(json!({
            "id": network.id(), "params": network.params().total, "steps": outcome.steps, "seen": outcome.seen,
            "valid_loss": outcome.valid.loss, "valid_ppl": outcome.valid.perplexity(),
            "valid_accuracy": outcome.valid.accuracy, "kept": outcome.kept, "early": outcome.early,
            "seconds": outcome.seconds, "curve": outcome.curve, "weights": folder.and_then(training::weights),
        }))
    })?;
    Ok(to_python(py, &told)?.cast_into()?)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct VerifyOptions {
    data: DataOptions,
    k: usize,
    seeds: u64,
    output: PathBuf,
    threads: Option<usize>,
}

/// Trains the best of a study beside random networks of the same size; see `foretell.verify`.
#[pyfunction]
#[pyo3(signature = (study, options, progress = None))]
pub fn verify<'py>(
    py: Python<'py>,
    study: &Study,
    options: &Bound<'py, PyDict>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let asked: VerifyOptions = crate::convert::options(options, "verify")?;
    let (path, name) = (study.path().to_owned(), study.name().to_owned());
    let counts = Counts::default();
    let tell = |py: Python<'_>| counts.tell(py, progress.as_ref());
    let told = work(py, asked.threads, &tell, |_| {
        let store = Store::read(&path)?;
        let view = View::load(&store, &name)?;
        let best = view.best(asked.k).into_iter().map(|trial| view.architecture(trial));
        let best = best.collect::<Result<Vec<_>>>()?;
        counts.expect(2 * best.len() as u64 * asked.seeds);
        let data = asked.data.open_for(view.settings.space.definition().family)?;
        let request =
            study::Verify { name: &name, settings: &view.settings, best: &best, seeds: asked.seeds };
        let step = |_: &training::Job, _: &training::Finished| counts.step();
        let told = request.run(&data, &asked.data.recipe()?, &asked.output.join("runs"), &step)?;
        file::replace(&asked.output.join("verification.json"), file::seal_pretty(&told))?;
        let mut object = json!(told);
        object["verdict"] = told.verdict().into();
        Ok(object)
    })?;
    Ok(to_python(py, &told)?.cast_into()?)
}
