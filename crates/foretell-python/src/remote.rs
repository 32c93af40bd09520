//! Units of work between the library and executors of Python (`foretell.executors`).

use crate::asked::Modules;
use crate::callables;
use crate::errors::OrRaise;
use crate::work::{Caller, quietly};
use foretell::error::{Error, Result};
use foretell::remote::{self, Carrier, Dispatcher, Limits, Outcome, Parcel, Status, Task};
use foretell::score::Executor;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use std::sync::Arc;
use std::time::Duration;

/// An executor of Python.
struct Carried {
    object: Arc<Py<PyAny>>,
    /// Who scores modules of torch.
    score: Option<Arc<Py<PyAny>>>,
}

/// A dispatcher that hands units to an executor of Python.
pub fn dispatcher(executor: &Bound<'_, PyAny>, score: Option<Arc<Py<PyAny>>>) -> PyResult<Arc<Dispatcher>> {
    let seconds = executor.getattr("unit_seconds")?.extract()?;
    let hang = executor.getattr("time_limit")?.extract()?;
    let carried = Carried { object: Arc::new(executor.clone().unbind()), score };
    let made = Dispatcher::new(Box::new(carried), Limits { seconds, hang });
    Ok(Arc::new(made.or_raise(executor.py())?))
}

/// Joins a Ray cluster, for the command line.
pub fn connect(address: &str) -> Result<Arc<Dispatcher>> {
    Python::attach(|py| {
        let module = py.import("foretell.ray")?;
        dispatcher(&module.call_method1("Executor", (address,))?, None)
    })
    .map_err(|error: PyErr| Python::attach(|py| Error::option("Ray", error.value(py).to_string())))
}

/// What is told of a dispatcher beside the progress of its study.
pub fn told(status: &Status) -> serde_json::Value {
    serde_json::json!({
        "text": status.to_string(), "slots": status.slots, "in_flight": status.in_flight, "units": status.units,
        "lost": status.lost, "hung": status.hung, "repeated": status.repeated, "crashed": status.crashed,
        "twice": status.twice, "news": status.news,
    })
}

impl Carried {
    /// Asks the object, on the thread that called from Python if there is one. What it raises ends the call.
    fn ask<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T> + Send + 'static,
    ) -> Result<T> {
        let object = self.object.clone();
        match Caller::of_thread() {
            Some(caller) => caller.run(move |py| ask(object.bind(py))).map_err(|error| {
                caller.stop(error);
                Error::Cancelled
            }),
            None => Python::attach(|py| {
                ask(object.bind(py)).map_err(|error| Error::option("workers", callables::said(&error, py)))
            }),
        }
    }
}

impl Carrier for Carried {
    fn slots(&self) -> Result<usize> {
        self.ask(|object| object.call_method0("slots")?.extract())
    }

    fn share(&self, digest: &str, task: &[u8]) -> Result<()> {
        let functions = match serde_json::from_slice(task) {
            Ok(Task::Score { proxies, .. }) => callables::functions(&proxies),
            Err(_) => Vec::new(),
        };
        let (digest, task, score) = (digest.to_owned(), task.to_vec(), self.score.clone());
        self.ask(move |object| {
            let py = object.py();
            let functions = PyList::new(py, functions.iter().map(|function| function.bind(py)))?;
            let score = score.as_ref().map(|score| score.bind(py));
            object.call_method1("_share", (digest, PyBytes::new(py, &task), functions, score)).map(drop)
        })
    }

    fn exchange(&self, units: Vec<Parcel>, dropped: &[u64], wait: Duration) -> Result<Vec<(u64, Outcome)>> {
        let dropped = dropped.to_vec();
        self.ask(move |object| {
            let py = object.py();
            let unit = |unit: &Parcel| (unit.number, PyBytes::new(py, &unit.unit), unit.memory, unit.guarded);
            let units = PyList::new(py, units.iter().map(unit))?;
            let told = object.call_method1("_exchange", (units, dropped, wait.as_secs_f64()))?;
            let told: Vec<(u64, String, Bound<'_, PyAny>)> = told.extract()?;
            let outcome = |(number, kind, said): (u64, String, Bound<'_, PyAny>)| {
                let outcome = match &*kind {
                    "reply" => Outcome::Reply(said.extract()?),
                    "lost" => Outcome::Lost(said.extract()?),
                    _ => Outcome::Refused(said.extract()?),
                };
                Ok((number, outcome))
            };
            told.into_iter().map(outcome).collect()
        })
    }
}

/// Computes a unit of a task; see `foretell._work`.
#[pyfunction]
pub fn work<'py>(
    py: Python<'py>,
    task: &[u8],
    unit: &[u8],
    threads: usize,
    score: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyBytes>> {
    callables::register().or_raise(py)?;
    let modules = score.map(|score| Arc::new(Modules(Arc::new(score))) as Arc<dyn Executor>);
    let reply = quietly(py, Some(threads), |_| remote::work(task, unit, modules))?;
    Ok(PyBytes::new(py, &reply))
}

/// What is said of a unit whose process crashed for the second time; see `foretell._work`.
#[pyfunction]
pub fn crashed<'py>(py: Python<'py>, task: &[u8], unit: &[u8], how: &str) -> PyResult<Bound<'py, PyBytes>> {
    callables::register().or_raise(py)?;
    Ok(PyBytes::new(py, &remote::crashed(task, unit, how).or_raise(py)?))
}
