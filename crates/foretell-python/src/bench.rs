//! `foretell.bench`: how well proxies rank trained networks.

use crate::convert::to_python;
use crate::errors::OrRaise;
use crate::remote::dispatcher;
use crate::score::{ScoreOptions, executed_by};
use crate::work::{Counts, quietly, work};
use foretell::benchmark::{self, Benchmark, Settings, baselines, evaluate};
use foretell::error::{Error, Result};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::path::PathBuf;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BenchOptions {
    scoring: ScoreOptions,
    target: Option<String>,
    limit: Option<usize>,
    filters: Map<String, Value>,
    set: Map<String, Value>,
    resamples: usize,
    benchmarks: Option<PathBuf>,
}

impl BenchOptions {
    fn part(&self, name: &str) -> Result<Benchmark> {
        let mut table = Benchmark::load(&benchmark::folder(self.benchmarks.as_deref())?, name)?;
        for (column, value) in &self.filters {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            table = table.filter(column, &text)?;
        }
        table.one_budget()?;
        for (key, value) in &self.set {
            table = table.with(key, value)?;
        }
        if let Some(n) = self.limit {
            table = table.limit(n);
        }
        let mut parts = table.by_family();
        match parts.len() {
            1 => Ok(parts.remove(0)),
            n => Err(Error::option(name, format!("holds networks of {n} families: pick one by a filter"))),
        }
    }
}

/// How well proxies rank the networks of a benchmark; see `foretell.bench`.
#[pyfunction]
#[pyo3(signature = (name, options, progress = None, executor = None))]
pub fn bench<'py>(
    py: Python<'py>,
    name: &str,
    options: &Bound<'py, PyDict>,
    progress: Option<Py<PyAny>>,
    executor: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    crate::callables::register().or_raise(py)?;
    let asked: BenchOptions = crate::convert::options(options, "bench")?;
    let counts = Counts::default();
    let tell = |py: Python<'_>| counts.tell(py, progress.as_ref());
    let remote = executor.map(|executor| dispatcher(executor, None)).transpose()?;
    let report = work(py, asked.scoring.threads, &tell, |token| {
        let part = asked.part(name)?;
        counts.expect(part.architectures.len() as u64);
        let target = match &asked.target {
            Some(name) => part.column(name)?,
            None => part.default_target()?,
        };
        let mut requests = asked.scoring.requests()?;
        requests.extend(baselines(&part, &requests)?);
        let scorer = executed_by(asked.scoring.scorer(requests, token)?, remote);
        let settings =
            Settings { resamples: asked.resamples, seeds: asked.scoring.seeds(), ..Settings::default() };
        evaluate(&part, target, &scorer, &settings, &|| counts.step())
    })?;
    Ok(to_python(py, &json!(report))?.cast_into()?)
}

/// Names of all benchmarks that are found.
#[pyfunction]
#[pyo3(signature = (folder = None))]
pub fn benchmarks(py: Python<'_>, folder: Option<PathBuf>) -> PyResult<Vec<String>> {
    quietly(py, Some(1), |_| benchmark::names(&benchmark::folder(folder.as_deref())?))
}
