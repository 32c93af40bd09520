//! `foretell.predict`: how good networks will be, from labels of a few.

use crate::architecture::networks;
use crate::convert::to_python;
use crate::errors::OrRaise;
use crate::work::quietly;
use foretell::error::Error;
use foretell::file;
use foretell::predict::{self, Labels, Saved, ScoreColumn};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use serde_json::json;
use std::path::PathBuf;

/// A fitted predictor; use `foretell.predict.Predictor`.
#[pyclass(frozen, module = "foretell._native", from_py_object)]
#[derive(Clone)]
pub struct Predictor(Saved);

/// Names of scores, with one value per network each.
type Scores = Vec<(String, Vec<f64>)>;

#[pymethods]
impl Predictor {
    /// Fits a predictor to labels, larger being better unless `lower`.
    #[staticmethod]
    fn fit(
        py: Python<'_>,
        architectures: Vec<Bound<'_, PyAny>>,
        values: Vec<f64>,
        scores: Scores,
        lower: bool,
        target: String,
    ) -> PyResult<Self> {
        let networks = networks(&architectures)?;
        let fitted = quietly(py, None, |_| {
            if networks.len() != values.len() {
                let message = format!("there are {} networks and {} labels", networks.len(), values.len());
                return Err(Error::data("labels", message));
            }
            let sign = if lower { -1.0 } else { 1.0 };
            let truth: Vec<f64> = values.iter().map(|value| sign * value).collect();
            let columns = scores.into_iter().map(|(name, values)| ScoreColumn { name, values }).collect();
            predict::Predictor::fit(&Labels::new(&networks, &truth)?.with_scores(columns)?)
        })?;
        Ok(Predictor(Saved { predictor: fitted, target, lower_is_better: lower }))
    }

    /// Value, deviation and the ends of the interval that holds nine of ten labels, per network.
    fn predict(
        &self,
        py: Python<'_>,
        architectures: Vec<Bound<'_, PyAny>>,
        scores: Vec<Vec<f64>>,
    ) -> PyResult<Vec<(f64, f64, f64, f64)>> {
        let networks = networks(&architectures)?;
        quietly(py, None, |_| {
            let one = |(place, network): (usize, &foretell::architecture::Architecture)| {
                self.0.predictor.check_family(network)?;
                let row: Vec<f64> = scores.iter().map(|column| column[place]).collect();
                let said = self.0.predictor.predict(network, &row);
                let mut ends = said.interval.map(|end| self.0.as_given(end));
                ends.sort_by(f64::total_cmp);
                Ok((self.0.as_given(said.value), said.deviation, ends[0], ends[1]))
            };
            networks.iter().enumerate().map(one).collect()
        })
    }

    /// Names of the scores that it needs of every network.
    #[getter]
    fn scores(&self) -> Vec<String> {
        self.0.predictor.scores().to_vec()
    }

    /// How well it predicts labels that are left out, and which models it averages.
    fn check<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let models: Vec<_> =
            self.0.predictor.models().iter().map(|(name, weight)| json!([name, weight])).collect();
        Ok(to_python(py, &json!({"check": self.0.predictor.check(), "models": models}))?.cast_into()?)
    }

    /// Makes it a proxy of this process; how it is asked for.
    fn register(&self, py: Python<'_>) -> PyResult<String> {
        self.0.clone().register().or_raise(py)
    }

    /// Its file.
    fn to_json(&self) -> String {
        self.0.to_json()
    }

    /// Reads a file's content.
    #[staticmethod]
    #[pyo3(signature = (text, place = "predictor"))]
    fn of_json(py: Python<'_>, text: &str, place: &str) -> PyResult<Self> {
        Saved::of_json(place, text).map(Predictor).or_raise(py)
    }

    /// Writes its file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        file::replace(&path, self.0.to_json().as_bytes()).or_raise(py)
    }

    /// Target that it was fitted to.
    #[getter]
    fn target(&self) -> &str {
        &self.0.target
    }

    /// Whether small values of the target are good.
    #[getter]
    fn lower(&self) -> bool {
        self.0.lower_is_better
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        Ok((slf.get_type().getattr("of_json")?, PyTuple::new(slf.py(), [slf.get().to_json()])?))
    }
}
