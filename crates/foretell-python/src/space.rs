//! Spaces as Python objects.

use crate::architecture::Architecture;
use crate::convert::{from_python, options, to_python};
use crate::errors::OrRaise;
use crate::limits::LimitOptions;
use crate::work::quietly;
use foretell::error::{Error, Result};
use foretell::seed::Seed;
use foretell::space::{self, Size};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;

/// A set of architectures of one family: a preset by name, a space file by path, or a dict with the content of one.
#[pyclass(frozen, module = "foretell", from_py_object)]
#[derive(Clone)]
pub struct Space(pub Arc<dyn space::Space>);

#[pymethods]
impl Space {
    #[new]
    fn new(space: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(known) = space.extract::<Space>() {
            return Ok(known);
        }
        // A space of another module, such as that of a function.
        if let Ok(known) = space.getattr("_native") {
            return Ok(known.extract()?);
        }
        let py = space.py();
        if space.is_instance_of::<PyDict>() {
            return of_dict(&from_python(space)?).map(Space).or_raise(py);
        }
        let name = match space.cast::<PyString>() {
            Ok(name) => name.to_str()?.to_owned(),
            // A path is a file, whatever it is called.
            Err(_) => std::path::absolute(space.extract::<PathBuf>()?)?.display().to_string(),
        };
        py.detach(|| space::open(&name)).map(Space).or_raise(py)
    }

    /// A space from the text of a space file; `place` is what complaints call it.
    #[staticmethod]
    #[pyo3(signature = (text, place = "space"))]
    fn parse(py: Python<'_>, text: &str, place: &str) -> PyResult<Self> {
        space::parse(place, text).map(Space).or_raise(py)
    }

    /// Name of the space.
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    /// Name of the family of its networks.
    #[getter]
    fn family(&self) -> &str {
        self.0.definition().family.name()
    }

    /// Content of its space file.
    #[getter]
    fn text(&self) -> &str {
        &self.0.definition().text
    }

    /// Number of architectures; None if it has no closed form.
    #[getter]
    fn size<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self.0.size() {
            Size::Exact(size) => py.import("builtins")?.call_method1("int", (size.to_string(),)).map(Some),
            Size::Open => Ok(None),
        }
    }

    /// Least and largest of parameters and multiply-adds, and the share of architectures inside limits.
    fn _describe<'py>(&self, py: Python<'py>, limits: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyAny>> {
        let limits: LimitOptions = options(limits, "limits")?;
        let described = quietly(py, Some(1), |_| {
            let share = match limits.given() {
                true => self.0.within(&limits.limits()?)?.share(),
                false => Some(1.0),
            };
            let extremes = self.0.extremes();
            Ok(json!({
                "name": self.0.name(), "family": self.family(), "share": share,
                "params": extremes.map(|[params, _]| params), "flops": extremes.map(|[_, flops]| flops),
            }))
        });
        to_python(py, &described?)
    }

    fn _sample(&self, py: Python<'_>, options: &Bound<'_, PyDict>) -> PyResult<Vec<Architecture>> {
        let asked: SampleOptions = crate::convert::options(options, "sample")?;
        quietly(py, Some(1), |_| sample(&*self.0, &asked))
    }

    fn __contains__(&self, architecture: &Architecture) -> bool {
        self.0.validate(&architecture.0).is_ok()
    }

    fn __repr__(&self) -> String {
        match space::is_preset(self.0.name()) {
            true => format!("Space({:?})", self.0.name()),
            false => format!("<Space {:?} of {} networks>", self.0.name(), self.family()),
        }
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.extract::<Space>().is_ok_and(|other| other.name() == self.name() && other.text() == self.text())
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        PyString::new(py, self.text()).hash()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let own = slf.get();
        match space::is_preset(own.name()) {
            true => Ok((slf.get_type().into_any(), PyTuple::new(slf.py(), [own.name()])?)),
            false => {
                Ok((slf.get_type().getattr("parse")?, PyTuple::new(slf.py(), [own.text(), own.name()])?))
            }
        }
    }
}

#[derive(Deserialize)]
struct SampleOptions {
    n: u64,
    seed: u64,
    uniform: bool,
    #[serde(flatten)]
    limits: LimitOptions,
}

fn sample(space: &dyn space::Space, asked: &SampleOptions) -> Result<Vec<Architecture>> {
    space.check_source()?;
    let limits = asked.limits.limits()?;
    let inside = (asked.limits.given() || asked.uniform).then(|| space.within(&limits)).transpose()?;
    let one = |index| {
        // A stream of its own: the tenth sample is the same whether or not nine came before it.
        let mut rng = Seed(asked.seed).stream("sample", index);
        Ok(Architecture(match &inside {
            Some(inside) => inside.sample(asked.uniform, &mut rng)?,
            None => space.sample(&mut rng),
        }))
    };
    (0..asked.n).map(one).collect()
}

/// A space from what its file would hold.
fn of_dict(content: &Value) -> Result<Arc<dyn space::Space>> {
    let wrong = |e: String| Error::parse("space", e);
    let name = content["name"].as_str().unwrap_or("space").to_owned();
    let mut content = content.clone();
    content.as_object_mut().map(|content| content.entry("name").or_insert(name.as_str().into()).clone());
    let text = toml::to_string(&content).map_err(|e| wrong(e.to_string()))?;
    if let Some((preset, shipped)) = space::PRESETS.iter().find(|(preset, _)| *preset == name)
        && *shipped != text
    {
        return Err(wrong(format!("is called '{preset}' like a preset: choose another name")));
    }
    let parsed = space::parse(&name, &text)?;
    parsed.check_source()?;
    Ok(parsed)
}

/// Names of the spaces that ship with the package.
#[pyfunction]
pub fn presets() -> Vec<&'static str> {
    space::PRESETS.iter().map(|(name, _)| *name).collect()
}
