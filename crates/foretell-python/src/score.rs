//! `foretell.score` and `foretell.rank` of architectures.

use crate::architecture::networks;
use crate::callables;
use crate::convert::to_python;
use crate::errors::OrRaise;
use crate::remote::dispatcher;
use crate::work::{Counts, quietly, work};
use foretell::error::{Error, Result};
use foretell::probe::Inputs;
use foretell::proxy::{self, Request, Score};
use foretell::rank as order;
use foretell::remote::Dispatcher;
use foretell::score::{Cache, Cell, Options, Precision, Row, Scorer, Source, pass_memory};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::sync::Arc;

/// How networks are scored.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScoreOptions {
    pub proxies: Vec<String>,
    seed: u64,
    seeds: u64,
    precision: PrecisionOption,
    weights: String,
    inputs: Option<PathBuf>,
    cache: Option<PathBuf>,
    #[serde(default)]
    terms: bool,
    pub threads: Option<usize>,
}

#[derive(Deserialize, PartialEq, Clone, Copy)]
#[serde(rename_all = "kebab-case")]
pub enum PrecisionOption {
    F32,
    F64,
}

impl ScoreOptions {
    /// The proxies; names of groups such as `all` stand for many.
    pub fn requests(&self) -> Result<Vec<Request>> {
        let mut requests = Vec::new();
        for text in &self.proxies {
            requests.extend(Request::parse_list(&foretell::predict::listed(text)?)?);
        }
        match requests.is_empty() {
            true => Err(Error::option("proxies", "names no proxy")),
            false => Ok(requests),
        }
    }

    /// Refuses options that have no effect on any of the proxies.
    fn refuse_idle(&self, requests: &[Request]) -> Result<()> {
        let (drawn, runs) = (
            requests.iter().any(|request| request.about().drawn()),
            requests.iter().any(|request| request.about().runs()),
        );
        let idle = |option: &str, why: &str| Err(Error::option(option, format!("has no effect: {why}")));
        match self {
            ScoreOptions { inputs: Some(_), .. } if !runs => {
                idle("inputs", "none of the proxies runs the network")
            }
            _ if self.weights != "shared" && !drawn => idle("weights", "none of the proxies uses weights"),
            _ if self.precision == PrecisionOption::F64 && !drawn => {
                idle("precision", "none of the proxies uses weights")
            }
            _ => Ok(()),
        }
    }

    pub fn seeds(&self) -> Vec<u64> {
        (0..self.seeds).map(|nth| self.seed.wrapping_add(nth)).collect()
    }

    pub fn scorer(&self, requests: Vec<Request>, token: &foretell::cancel::CancelToken) -> Result<Scorer> {
        self.refuse_idle(&requests)?;
        let path = PathBuf::from(&self.weights);
        let inside = path.join("model.safetensors");
        let weights = match self.weights.as_str() {
            "shared" => Source::Shared,
            "standalone" => Source::Standalone,
            _ if path.is_file() => Source::File(path),
            _ if inside.is_file() => Source::File(inside),
            other => {
                let message =
                    format!("'{other}' is neither shared nor standalone nor a file or folder with weights");
                return Err(Error::option("weights", message));
            }
        };
        let options = Options {
            precision: if self.precision == PrecisionOption::F64 { Precision::F64 } else { Precision::F32 },
            weights,
            inputs: self.inputs.as_deref().map(Inputs::read).transpose()?,
            memory: pass_memory(),
            // Terms are not cached.
            cache: self.cache.as_deref().filter(|_| !self.terms).map(Cache::open).transpose()?,
            cancel: token.clone(),
        };
        Ok(Scorer::new(requests, options))
    }
}

/// Scores architectures; see `foretell.score`.
#[pyfunction]
#[pyo3(signature = (architectures, options, progress = None, executor = None))]
pub fn score<'py>(
    py: Python<'py>,
    architectures: Vec<Bound<'py, PyAny>>,
    options: &Bound<'py, PyDict>,
    progress: Option<Py<PyAny>>,
    executor: Option<&Bound<'py, PyAny>>,
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    callables::register().or_raise(py)?;
    let asked: ScoreOptions = crate::convert::options(options, "score")?;
    let networks = networks(&architectures)?;
    let counts = Counts::default();
    counts.expect(networks.len() as u64);
    let tell = |py: Python<'_>| counts.tell(py, progress.as_ref());
    let remote = executor.map(|executor| dispatcher(executor, None)).transpose()?;
    let rows = work(py, asked.threads, &tell, |token| {
        let scorer = executed_by(asked.scorer(asked.requests()?, token)?, remote);
        let table = scorer.table(&networks, &asked.seeds(), &|| counts.step())?;
        Ok(table.iter().map(|row| object(&scorer, row, asked.terms)).collect::<Vec<Value>>())
    })?;
    rows.iter().map(|row| Ok(to_python(py, row)?.cast_into()?)).collect()
}

/// The same scorer with workers elsewhere, if there are any.
pub fn executed_by(scorer: Scorer, remote: Option<Arc<Dispatcher>>) -> Scorer {
    match remote {
        Some(remote) => scorer.executed_by(remote),
        None => scorer,
    }
}

/// What came of one candidate: an entry per proxy.
fn object(scorer: &Scorer, row: &Row, terms: bool) -> Value {
    let entries = scorer.requests().iter().zip(&row.cells);
    entries
        .map(|(request, cell)| (request.label().to_owned(), entry(request, cell, terms)))
        .collect::<Map<_, _>>()
        .into()
}

fn entry(request: &Request, cell: &Cell, terms: bool) -> Value {
    let mean = match cell.mean() {
        Ok(mean) => mean,
        Err(error) => return json!({"kind": error.kind(), "error": error.to_string()}),
    };
    let first = cell.scores.iter().find_map(|score| score.as_ref().ok());
    let mut entry = written(request, &mean, terms);
    entry["deviation"] = json!(cell.deviation());
    entry["standard_error"] = json!(first.and_then(|first| first.error));
    entry["seconds"] = json!(cell.seconds);
    entry
}

/// A score as data.
pub fn written(request: &Request, score: &Score, terms: bool) -> Value {
    let parts = request.about().parts.iter().zip(&score.parts);
    let parts: Map<String, Value> = parts.map(|(name, part)| ((*name).to_owned(), json!(part))).collect();
    let mut entry = json!({
        "value": (!request.is_set_score()).then_some(score.value), "parts": parts, "notes": score.notes,
    });
    if terms {
        let term = |term: &proxy::Term| json!({"name": term.name, "block": term.block, "value": term.value});
        entry["terms"] = score.terms.iter().map(term).collect();
    }
    entry
}

/// Ranks architectures by several proxies; see `foretell.rank`.
#[pyfunction]
pub fn rank<'py>(
    py: Python<'py>,
    architectures: Vec<Bound<'py, PyAny>>,
    options: &Bound<'py, PyDict>,
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    callables::register().or_raise(py)?;
    let asked: ScoreOptions = crate::convert::options(options, "rank")?;
    let networks = networks(&architectures)?;
    let rows = quietly(py, asked.threads, |token| {
        if networks.len() < 2 {
            return Err(Error::option("ranking", "needs at least two architectures"));
        }
        let scorer = asked.scorer(asked.requests()?, token)?;
        let table = scorer.table(&networks, &asked.seeds(), &|| ())?;
        let columns: Vec<Vec<Option<f64>>> =
            (0..scorer.requests().len()).map(|index| places(&scorer, index, &table)).collect();
        let mean = |row: usize| {
            let known: Vec<f64> = columns.iter().filter_map(|column| column[row]).collect();
            (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
        };
        let mut rows: Vec<usize> = (0..networks.len()).collect();
        let key = |row: usize| mean(row).unwrap_or(f64::MAX);
        rows.sort_by(|a, b| key(*a).total_cmp(&key(*b)));
        let ranked = rows.iter().enumerate().map(|(place, row)| {
            let ranks = scorer.requests().iter().zip(&columns);
            let ranks: Map<String, Value> =
                ranks.map(|(request, column)| (request.label().to_owned(), json!(column[*row]))).collect();
            json!({"rank": place + 1, "index": row, "id": networks[*row].id(), "mean_rank": mean(*row), "ranks": ranks})
        });
        Ok(ranked.collect::<Vec<Value>>())
    })?;
    rows.iter().map(|row| Ok(to_python(py, row)?.cast_into()?)).collect()
}

/// Ranks by one proxy from 1 for the best, equal scores sharing one; none where it could not score.
fn places(scorer: &Scorer, request: usize, table: &[Row]) -> Vec<Option<f64>> {
    let column: Vec<&Cell> = table.iter().map(|row| &row.cells[request]).collect();
    let found = scorer.order(request, &column);
    let values: Vec<f64> = found.iter().filter_map(|score| score.as_ref().ok().copied()).collect();
    let mut ranks = order::average_ranks(&values).into_iter();
    let place = |score: &Result<f64>| score.as_ref().ok().and_then(|_| ranks.next());
    found.iter().map(place).map(|rank| rank.map(|rank| values.len() as f64 + 1.0 - rank)).collect()
}

/// Every proxy: name, cost and one sentence.
#[pyfunction]
pub fn proxies<'py>(py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let card = |card: &&proxy::About| {
        let options: Map<String, Value> = card
            .options
            .iter()
            .map(|(name, default, meaning)| ((*name).to_owned(), json!([default, meaning])))
            .collect();
        json!({
            "name": card.name, "cost": card.cost.text(), "sentence": card.sentence, "formula": card.formula,
            "paper": card.paper, "options": options,
        })
    };
    let shown = proxy::cards();
    shown
        .iter()
        .filter(|card| !card.by_name)
        .map(|about| Ok(to_python(py, &card(about))?.cast_into()?))
        .collect()
}

/// Makes a function of an architecture a proxy of this process; how it is asked for.
#[pyfunction]
pub fn register_proxy(py: Python<'_>, function: &Bound<'_, PyAny>) -> PyResult<String> {
    callables::register().or_raise(py)?;
    callables::proxy(function)
}
