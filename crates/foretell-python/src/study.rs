//! Studies as Python objects: a store file and a name, read when something is asked.

use crate::architecture::Architecture;
use crate::convert::to_python;
use crate::errors::{self, OrRaise};
use crate::table;
use crate::work::quietly;
use foretell::error::{Error, Result};
use foretell::report;
use foretell::store::Store;
use foretell::study::{self, Baseline, ReferenceKind, View, given_value};
use foretell::{file, space};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict, PyTuple};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

/// Where the trials of a study are: a file of the user's, or one that goes with the last object that needs it.
#[derive(Clone)]
pub struct Home {
    path: PathBuf,
    own: Option<Arc<TempDir>>,
}

impl Home {
    /// The file that was given, else a new one.
    pub fn of(given: Option<&Path>) -> Result<Self> {
        if let Some(path) = given {
            return Ok(Home {
                path: std::path::absolute(path).map_err(|e| Error::read(path, e))?,
                own: None,
            });
        }
        let folder = TempDir::with_prefix("foretell-").map_err(|e| Error::write(std::env::temp_dir(), e))?;
        Ok(Home { path: folder.path().join("study.db"), own: Some(Arc::new(folder)) })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// A search that has ended or was stopped: its trials, its winner, and how all candidates compare.
#[pyclass(frozen, module = "foretell", from_py_object)]
#[derive(Clone)]
pub struct Study {
    home: Home,
    /// Name of the study in its store.
    #[pyo3(get)]
    name: String,
    /// Hash of all trials: equal hashes, equal studies.
    #[pyo3(get)]
    hash: String,
    /// Why it stopped: budget, exhausted or converged; None if it can be resumed.
    #[pyo3(get)]
    stopped: Option<String>,
    /// Number of trials that were stored before this call.
    #[pyo3(get)]
    resumed: u64,
    /// Number of candidates refused before scoring.
    #[pyo3(get)]
    rejected: u64,
    /// Number of trials that failed.
    #[pyo3(get)]
    failed: u64,
    trials: u64,
}

impl Study {
    /// A study that has just ended.
    pub fn of(home: Home, ended: &study::Study) -> Self {
        Study {
            home,
            name: ended.name.clone(),
            hash: ended.hash.clone(),
            stopped: Some(ended.stopped.to_owned()),
            resumed: ended.resumed,
            rejected: ended.progress.rejected,
            failed: ended.progress.failed,
            trials: ended.progress.done,
        }
    }

    /// A study of a store.
    pub fn read(path: &Path, name: &str) -> Result<Self> {
        Self::at(Home::of(Some(path))?, name)
    }

    fn at(home: Home, name: &str) -> Result<Self> {
        let store = Store::read(home.path())?;
        let view = View::load(&store, name)?;
        let trials = view.trials as u64;
        Ok(Study {
            name: name.to_owned(),
            hash: store.hash(&view.study)?,
            stopped: view.study.stopped.clone(),
            resumed: trials,
            rejected: 0,
            failed: trials - view.leaderboard.succeeded().len() as u64,
            trials,
            home,
        })
    }

    /// The store file.
    pub fn path(&self) -> &Path {
        self.home.path()
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Reads something of the stored study.
    fn view<T: Send>(
        &self,
        py: Python<'_>,
        look: impl FnOnce(&Store, &View) -> Result<T> + Send,
    ) -> PyResult<T> {
        quietly(py, Some(1), |_| {
            let store = Store::read(self.home.path())?;
            store.hold()?;
            look(&store, &View::load(&store, &self.name)?)
        })
    }
}

#[pymethods]
impl Study {
    /// Opens a study of a store file.
    #[staticmethod]
    fn open(py: Python<'_>, store: PathBuf, name: String) -> PyResult<Self> {
        crate::callables::register().or_raise(py)?;
        quietly(py, Some(1), |_| Study::read(&store, &name))
    }

    /// Store file.
    #[getter]
    fn store(&self) -> PathBuf {
        self.home.path.clone()
    }

    /// The winner's architecture; NoWinnerError if nothing won.
    #[getter]
    fn best(&self, py: Python<'_>) -> PyResult<Architecture> {
        match self.winner(py)? {
            Some(winner) => Ok(winner.architecture),
            None => {
                let reason = self.view(py, |_, view| view.why_no_winner())?;
                Err(errors::of_kind(py, "no-winner", &format!("study '{}': {reason}", self.name)))
            }
        }
    }

    /// The winner; None if nothing won.
    #[getter]
    fn winner(&self, py: Python<'_>) -> PyResult<Option<Candidate>> {
        self.view(py, |_, view| view.winner().map(|trial| Candidate::of(view, trial)).transpose())
    }

    /// Candidates that no other beats in every objective, best first in the first one.
    #[getter]
    fn front(&self, py: Python<'_>) -> PyResult<Vec<Candidate>> {
        self.view(py, |_, view| {
            let several = view.objectives().len() > 1;
            let front =
                if several { view.leaderboard.front.clone() } else { view.winner().into_iter().collect() };
            front.into_iter().map(|trial| Candidate::of(view, trial)).collect()
        })
    }

    /// The best uniform network inside the limits, which has the same choices at every layer; None if there is none.
    #[getter]
    fn uniform(&self, py: Python<'_>) -> PyResult<Option<Architecture>> {
        self.view(py, |_, view| {
            let mut references = view.answer.references.iter();
            let best = references.rfind(|reference| reference.kind == ReferenceKind::Best);
            best.map(|best| space::read_architecture(&Value::Object(best.architecture.clone())))
                .transpose()
                .map(|found| found.map(Architecture))
        })
    }

    /// The best candidates: the winner, then those with the best evaluated values, then the others.
    #[pyo3(signature = (n = 10))]
    fn top(&self, py: Python<'_>, n: usize) -> PyResult<Vec<Candidate>> {
        self.view(py, |_, view| view.best(n).into_iter().map(|trial| Candidate::of(view, trial)).collect())
    }

    /// What the study found and why it won, as the command line prints it with --json.
    #[getter]
    fn answer<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let answer = self.view(py, |_, view| Ok(json!(view.answer)))?;
        Ok(to_python(py, &answer)?.cast_into()?)
    }

    /// The settings that decide which trials the study has.
    #[getter]
    fn settings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let config = self.view(py, |_, view| Ok(view.study.config.clone()))?;
        Ok(to_python(py, &config)?.cast_into()?)
    }

    /// The space that was searched.
    #[getter]
    fn space(&self, py: Python<'_>) -> PyResult<crate::space::Space> {
        self.view(py, |_, view| Ok(crate::space::Space(view.settings.space.clone())))
    }

    /// Number of trials.
    fn __len__(&self) -> usize {
        self.trials as usize
    }

    fn __getitem__(&self, py: Python<'_>, trial: isize) -> PyResult<Candidate> {
        let count = self.trials as isize;
        let place = if trial < 0 { trial + count } else { trial };
        if !(0..count).contains(&place) {
            let message = format!("study '{}' has {count} trials; there is no trial {trial}", self.name);
            return Err(pyo3::exceptions::PyIndexError::new_err(message));
        }
        self.view(py, |_, view| Candidate::of(view, place as usize))
    }

    /// All trials as an Arrow stream: pandas, polars, pyarrow and DuckDB read it without copies.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let columns = self.view(py, |_, view| table::columns(view))?;
        table::stream(py, columns)
    }

    /// All trials as a pandas data frame.
    fn to_pandas<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let columns = self.view(py, |_, view| table::columns(view))?;
        py.import("foretell._display")?.call_method1("frame", (table::lists(py, columns)?,))
    }

    /// Writes the report, one page with all charts.
    #[pyo3(signature = (path, *, force = false))]
    fn report(&self, py: Python<'_>, path: PathBuf, force: bool) -> PyResult<()> {
        let html = self.html(py)?;
        let written = py.detach(|| {
            let ours = || file::text(&path).is_ok_and(|text| text.contains(report::MARK));
            match path.exists() && !force && !ours() {
                true => Err(Error::Exists { path: path.clone() }),
                false => file::replace(&path, html),
            }
        });
        written.or_raise(py)
    }

    /// The report as HTML text.
    fn html(&self, py: Python<'_>) -> PyResult<String> {
        self.view(py, |store, view| {
            let random = Baseline::of(store, &view.study)?;
            let hash = store.hash(&view.study)?;
            Ok(report::write(view, &hash, &random, None, &[])?.html)
        })
    }

    /// The cards of the report: a few numbers, the winner, the best candidates.
    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        self.view(py, |store, view| report::cards(view, &store.hash(&view.study)?))
    }

    /// The best candidates as the text of an Optuna journal.
    #[pyo3(signature = (n, name = None))]
    fn _journal(&self, py: Python<'_>, n: usize, name: Option<String>) -> PyResult<String> {
        self.view(py, |_, view| study::journal(view, n, name.as_deref()))
    }

    fn __repr__(&self) -> String {
        let stopped = self.stopped.as_deref().unwrap_or("not finished");
        format!("<Study {:?}: {} trials, {stopped}>", self.name, self.trials)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        let same = |other: Study| {
            other.home.path == self.home.path && other.name == self.name && other.hash == self.hash
        };
        other.extract::<Study>().is_ok_and(same)
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        pyo3::types::PyString::new(py, &self.hash).hash()
    }

    /// A study of a file pickles as its place; one without brings its trials along.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let (py, own) = (slf.py(), slf.get());
        if own.home.own.is_none() {
            let place = (own.home.path.clone(), own.name.as_str()).into_pyobject(py)?;
            return Ok((slf.get_type().getattr("open")?, place));
        }
        let bytes =
            std::fs::read(own.home.path()).map_err(|e| Error::read(own.home.path(), e)).or_raise(py)?;
        let content = (PyBytes::new(py, &bytes), own.name.as_str()).into_pyobject(py)?;
        Ok((slf.get_type().getattr("_restore")?, content))
    }

    #[staticmethod]
    fn _restore(py: Python<'_>, content: &[u8], name: String) -> PyResult<Self> {
        let home = Home::of(None).or_raise(py)?;
        std::fs::write(home.path(), content).map_err(|e| Error::write(home.path(), e)).or_raise(py)?;
        quietly(py, Some(1), |_| Study::at(home, &name))
    }
}

/// A candidate of a study.
#[pyclass(frozen, module = "foretell", from_py_object)]
#[derive(Clone)]
pub struct Candidate {
    /// Number of its trial.
    #[pyo3(get)]
    trial: u64,
    /// The network.
    #[pyo3(get)]
    architecture: Architecture,
    values: Vec<(String, Option<f64>)>,
    /// What the evaluator said; None if it was not asked or gave no number.
    #[pyo3(get)]
    evaluated: Option<f64>,
}

impl Candidate {
    fn of(view: &View, trial: usize) -> Result<Self> {
        let objectives = view.objectives().iter().enumerate();
        let values = objectives.map(|(place, objective)| (objective.to_string(), view.value(trial, place)));
        Ok(Candidate {
            trial: trial as u64,
            architecture: Architecture(view.architecture(trial)?),
            values: values.collect(),
            evaluated: view.evaluation(trial).and_then(given_value),
        })
    }
}

#[pymethods]
impl Candidate {
    #[new]
    fn new(
        trial: u64,
        architecture: Architecture,
        values: Vec<(String, Option<f64>)>,
        evaluated: Option<f64>,
    ) -> Self {
        Candidate { trial, architecture, values, evaluated }
    }

    /// Value in each objective; None if the trial failed.
    #[getter]
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        self.values.iter().try_for_each(|(name, value)| dict.set_item(name, value))?;
        Ok(dict)
    }

    /// Value in the first objective; None if the trial failed.
    #[getter]
    fn value(&self) -> Option<f64> {
        self.values.first().and_then(|(_, value)| *value)
    }

    fn __repr__(&self) -> String {
        let values = self.values.iter().map(|(name, value)| match value {
            Some(value) => format!("{name}={value}"),
            None => format!("{name} failed"),
        });
        let values = values.collect::<Vec<_>>().join(", ");
        format!("<Candidate {} of trial {}: {values}>", self.architecture.0.id(), self.trial)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let own = slf.get();
        let whole = (own.trial, own.architecture.clone(), own.values.clone(), own.evaluated);
        Ok((slf.get_type().into_any(), whole.into_pyobject(slf.py())?))
    }
}
