//! `foretell.search`: arguments → settings → a study.

use crate::architecture::Architecture;
use crate::asked::Modules;
use crate::callables::{self, Function};
use crate::convert::{options, to_python};
use crate::errors::OrRaise;
use crate::limits::{LimitOptions, count};
use crate::remote;
use crate::space::Space;
use crate::study::{Home, Study};
use crate::train::DataOptions;
use crate::work::{self, Caller, quietly};
use foretell::architecture::Architecture as Network;
use foretell::error::{Error, Result};
use foretell::predict::listed;
use foretell::remote::{Dispatcher, Status};
use foretell::score::{Executor, Options, pass_memory};
use foretell::store::{Evaluation, Store};
use foretell::study::{
    self, Evaluator, Objective, Progress, Settings, Shard, StudyBuilder, Table, Trained, Watch, given_value,
};
use foretell::{benchmark, search as algorithm};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Deserialize;
use serde_json::json;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// What a search takes beside its space and its callables.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchOptions {
    objectives: Vec<String>,
    searcher: String,
    limits: LimitOptions,
    #[serde(deserialize_with = "count")]
    max_memory: Option<u64>,
    #[serde(deserialize_with = "count")]
    max_cache: Option<u64>,
    max_latency: Option<f64>,
    max_token_latency: Option<f64>,
    #[serde(deserialize_with = "count")]
    budget: Option<u64>,
    seed: u64,
    seeds: u64,
    shard: Option<String>,
    /// A benchmark with trained networks, or `train`.
    evaluate: Option<String>,
    evaluate_top: usize,
    evaluate_lower: bool,
    retry_failed: bool,
    data: DataOptions,
    /// Folder of benchmarks.
    benchmarks: Option<PathBuf>,
    store: Option<PathBuf>,
    name: Option<String>,
    threads: Option<usize>,
    /// The call, stored for readers.
    command: String,
}

impl SearchOptions {
    fn settings(&self, space: &Space, evaluator: Option<Function>) -> Result<Settings> {
        let objectives = self.objectives.iter().map(|text| Objective::parse(&listed(text)?, ""));
        if self.searcher != study::AUTO {
            algorithm::about(&self.searcher)?;
        }
        if evaluator.is_none() && self.evaluate.is_none() && self.evaluate_lower {
            return Err(Error::option("evaluate_lower", "has no effect without evaluate"));
        }
        let evaluator = match evaluator {
            Some(function) => Some(Arc::new(function) as Arc<dyn Evaluator>),
            None => self.evaluator(space)?,
        };
        Ok(Settings {
            algorithm: self.searcher.clone(),
            objectives: objectives.collect::<Result<_>>()?,
            limits: self.limits.limits()?,
            memory: self.max_memory,
            cache: self.max_cache,
            latency: self.max_latency,
            token_latency: self.max_token_latency,
            budget: self.budget,
            seed: self.seed,
            seeds: self.seeds,
            shard: self.shard.as_deref().map(Shard::parse).transpose()?,
            evaluator,
            evaluate_top: self.evaluate_top,
            retry_failed: self.retry_failed,
            ..Settings::new(space.0.clone())
        })
    }

    fn evaluator(&self, space: &Space) -> Result<Option<Arc<dyn Evaluator>>> {
        let Some(name) = &self.evaluate else {
            self.data.refuse_idle("evaluate is not 'train'")?;
            return Ok(None);
        };
        if name == "train" {
            let data = self.data.open_for(space.0.definition().family)?;
            return Ok(Some(Arc::new(Trained::new(data, self.data.recipe()?, &*space.0)?)));
        }
        self.data.refuse_idle("evaluate is not 'train'")?;
        let folder = benchmark::folder(self.benchmarks.as_deref())?;
        Ok(Some(Arc::new(Table::open(&folder, name, self.evaluate_lower)?)))
    }

    fn scoring(&self) -> Options {
        Options { memory: pass_memory(), ..Options::default() }
    }
}

/// How far a search is, told to Python now and then.
#[derive(Default)]
struct Looking {
    scored: AtomicU64,
    generation: Mutex<Option<Progress>>,
    evaluated: AtomicU64,
    told: Mutex<Option<(u64, u64, u64)>>,
    /// Called with every evaluation.
    on_evaluation: Option<Arc<Py<PyAny>>>,
    /// Who hands candidates to other processes.
    remote: Option<Arc<Dispatcher>>,
    status: Mutex<Option<Status>>,
}

impl Watch for Looking {
    fn scored(&self) {
        self.scored.fetch_add(1, Ordering::Relaxed);
    }

    fn generation(&self, progress: &Progress) {
        *self.generation.lock().expect("no holder panics") = Some(progress.clone());
    }

    fn evaluated(&self, network: &Network, evaluation: &Evaluation) {
        self.evaluated.fetch_add(1, Ordering::Relaxed);
        if let Some(function) = self.on_evaluation.clone() {
            let told = json!({
                "trial": evaluation.trial, "value": given_value(evaluation), "status": evaluation.status,
                "message": evaluation.message, "seconds": evaluation.seconds, "evaluator": evaluation.evaluator,
            });
            let caller = Caller::current();
            let network = Architecture(network.clone());
            let done = caller.run(move |py| {
                let told: Bound<'_, PyDict> = to_python(py, &told)?.cast_into()?;
                told.set_item("architecture", network)?;
                function.bind(py).call1((told,)).map(drop)
            });
            // The evaluation is stored: the search ends, and nothing is lost.
            done.unwrap_or_else(|error| caller.stop(error));
        }
    }
}

impl Looking {
    /// Calls a function if there is news.
    fn tell(&self, py: Python<'_>, function: Option<&Py<PyAny>>) -> PyResult<()> {
        let Some(function) = function else { return Ok(()) };
        let (scored, evaluated) =
            (self.scored.load(Ordering::Relaxed), self.evaluated.load(Ordering::Relaxed));
        let generation = self.generation.lock().expect("no holder panics").clone();
        let now = (scored, evaluated, generation.as_ref().map_or(0, |progress| progress.done));
        let status = self.remote.as_ref().map(|remote| remote.status());
        let same =
            std::mem::replace(&mut *self.status.lock().expect("no holder panics"), status.clone()) == status;
        let idle = now == (0, 0, 0) && status.is_none();
        if (self.told.lock().expect("no holder panics").replace(now) == Some(now) && same) || idle {
            return Ok(());
        }
        let mut told = match &generation {
            Some(Progress { done, total, rejected, failed, best }) => json!({
                "done": done, "total": total, "rejected": rejected, "failed": failed,
                "best": best.map(|(_, value)| value), "scored": scored, "evaluated": evaluated,
            }),
            None => json!({
                "done": scored, "total": null, "rejected": 0, "failed": 0, "best": null, "scored": scored,
                "evaluated": evaluated,
            }),
        };
        if let Some(status) = &status {
            told["workers"] = remote::told(status);
        }
        function.bind(py).call1((to_python(py, &told)?,)).map(drop)
    }
}

/// Searches a space; see `foretell.search`.
#[pyfunction]
#[pyo3(signature = (space, options, *, proxy = None, searcher = None, evaluate = None, score = None, executor = None, on_evaluation = None, progress = None))]
#[allow(clippy::too_many_arguments)]
pub fn search(
    py: Python<'_>,
    space: &Space,
    options: &Bound<'_, PyDict>,
    proxy: Option<&Bound<'_, PyAny>>,
    searcher: Option<&Bound<'_, PyAny>>,
    evaluate: Option<&Bound<'_, PyAny>>,
    score: Option<Py<PyAny>>,
    executor: Option<&Bound<'_, PyAny>>,
    on_evaluation: Option<Py<PyAny>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Study> {
    let (asked, evaluator) = read(py, options, proxy, searcher, evaluate)?;
    let home = Home::of(asked.store.as_deref()).or_raise(py)?;
    let score = score.map(Arc::new);
    let remote = executor.map(|executor| remote::dispatcher(executor, score.clone())).transpose()?;
    let looking =
        Looking { on_evaluation: on_evaluation.map(Arc::new), remote: remote.clone(), ..Looking::default() };
    let tell = |py: Python<'_>| looking.tell(py, progress.as_ref());
    let ended = work::work(py, asked.threads, &tell, |token| {
        let settings = asked.settings(space, evaluator)?;
        let mut store = Store::open(home.path())?;
        let mut builder = StudyBuilder::from(settings).scoring(asked.scoring()).cancel(token.clone());
        let own = score.map(|score| Arc::new(Modules(score)) as Arc<dyn Executor>);
        if let Some(executor) = remote.map(|remote| remote as Arc<dyn Executor>).or(own) {
            builder = builder.executor(executor);
        }
        builder.in_store(&mut store).name(asked.name.as_deref()).command(&asked.command).watch(&looking).run()
    })?;
    Ok(Study::of(home, &ended))
}

/// Checks a search and says what it would do; see `foretell.plan`.
#[pyfunction]
#[pyo3(signature = (space, options, *, proxy = None, searcher = None, evaluate = None, score = None))]
pub fn plan<'py>(
    py: Python<'py>,
    space: &Space,
    options: &Bound<'py, PyDict>,
    proxy: Option<&Bound<'py, PyAny>>,
    searcher: Option<&Bound<'py, PyAny>>,
    evaluate: Option<&Bound<'py, PyAny>>,
    score: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let (asked, evaluator) = read(py, options, proxy, searcher, evaluate)?;
    let plan = quietly(py, asked.threads, |_| {
        let builder = StudyBuilder::from(asked.settings(space, evaluator)?).scoring(asked.scoring());
        let builder = match score {
            Some(score) => builder.executor(Arc::new(Modules(Arc::new(score)))),
            None => builder,
        };
        let builder = match &asked.store {
            Some(path) => builder.store(path),
            None => builder,
        };
        builder.name(asked.name.as_deref()).plan()
    })?;
    let told = json!({
        "name": plan.name, "searcher": plan.algorithm, "candidates": plan.candidates, "stored": plan.stored,
        "seconds": plan.estimate.map(|estimate| estimate.seconds()),
    });
    Ok(to_python(py, &told)?.cast_into()?)
}

/// The options with all callables made known.
fn read(
    py: Python<'_>,
    given: &Bound<'_, PyDict>,
    proxy: Option<&Bound<'_, PyAny>>,
    searcher: Option<&Bound<'_, PyAny>>,
    evaluate: Option<&Bound<'_, PyAny>>,
) -> PyResult<(SearchOptions, Option<Function>)> {
    callables::register().or_raise(py)?;
    let mut asked: SearchOptions = options(given, "search")?;
    let proxy = proxy.map(callables::proxy).transpose()?;
    for objective in asked.objectives.iter_mut().filter(|objective| *objective == "proxy") {
        *objective = proxy.clone().unwrap_or_else(|| "nsc".to_owned());
    }
    if let Some(searcher) = searcher {
        asked.searcher = callables::searcher(searcher)?;
    }
    let evaluator = evaluate.map(|function| Function::new(function, asked.evaluate_lower)).transpose()?;
    Ok((asked, evaluator))
}

/// Studies of a store: names, trials and why they stopped.
#[pyfunction]
pub fn studies(py: Python<'_>, store: PathBuf) -> PyResult<Vec<Study>> {
    callables::register().or_raise(py)?;
    let found = quietly(py, Some(1), |_| {
        let names: Vec<String> =
            Store::read(&store)?.studies()?.into_iter().map(|study| study.name).collect();
        names.iter().map(|name| Study::read(&store, name)).collect::<Result<Vec<_>>>()
    })?;
    Ok(found)
}

/// Every search algorithm: name and one sentence.
#[pyfunction]
pub fn algorithms() -> Vec<(&'static str, &'static str)> {
    let entries = algorithm::catalogue::<Network>();
    entries.iter().map(|entry| (entry.about.name, entry.about.sentence)).collect()
}
