//! Architectures as Python objects.

use crate::convert::{from_python, to_python};
use crate::errors::{self, OrRaise};
use foretell::architecture::{Architecture as Network, Counter, Part};
use foretell::error::{Error, Result};
use foretell::export::{self, Export};
use foretell::network::Weights;
use foretell::score::free_memory;
use foretell::seed::Seed;
use foretell::{file, hub, space};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString, PyTuple};
use serde_json::{Map, Value, json};
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

/// One network of a space as plain data: its family and the value of each field.
///
/// It is made from a dict or JSON text that names its space or its family, as the command line reads and writes it.
/// Architectures compare equal if all their values are equal, can be keys of a dict, and pickle.
#[pyclass(frozen, module = "foretell", from_py_object)]
#[derive(Clone)]
pub struct Architecture(pub Network);

#[pymethods]
impl Architecture {
    #[new]
    fn new(fields: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(known) = fields.extract::<Architecture>() {
            return Ok(known);
        }
        let py = fields.py();
        let value = match fields.cast::<PyString>() {
            Ok(text) => serde_json::from_str(text.to_str()?)
                .map_err(|e| Error::parse("architecture", format!("is not JSON: {e}")))
                .or_raise(py)?,
            Err(_) => from_python(fields)?,
        };
        let read = if hub::is_config(&value) {
            hub::read(&value, Path::new("."))
        } else {
            space::read_architecture(&value)
        };
        read.map(Architecture).or_raise(py)
    }

    /// Reads architectures from a JSON file with one object or one per line, or from a folder or config.json of transformers.
    #[staticmethod]
    fn read(py: Python<'_>, path: PathBuf) -> PyResult<Vec<Self>> {
        let found = py.detach(|| read(&path));
        Ok(found.or_raise(py)?.into_iter().map(Architecture).collect())
    }

    /// Canonical id: equal networks have equal ids in every study.
    #[getter]
    fn id(&self) -> String {
        self.0.id()
    }

    /// Name of the family.
    #[getter]
    fn family(&self) -> &str {
        self.0.family().name()
    }

    /// Name of the space it was read as.
    #[getter]
    fn space(&self) -> &str {
        self.0.space()
    }

    /// Number of parameters.
    #[getter]
    fn params(&self) -> u64 {
        self.0.params().total
    }

    /// Multiply-adds of one input.
    #[getter]
    fn flops(&self) -> Option<u64> {
        self.0.flops(Counter::Exact)
    }

    /// Bytes that a forward and backward of one input take in f32.
    #[getter]
    fn memory(&self) -> u64 {
        self.0.memory().total()
    }

    /// Bytes of the keys and values of a whole context in f32; None if it is no decoder.
    #[getter]
    fn cache(&self) -> Option<u64> {
        self.0.cache_bytes()
    }

    /// Exact parameters by part, multiply-adds and memory.
    fn count<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        Ok(to_python(py, &counts(&self.0))?.cast_into()?)
    }

    /// The fields, as short as the space allows.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        Ok(to_python(py, &Value::Object(space::write_architecture(&self.0)))?.cast_into()?)
    }

    /// The fields as JSON text, as short as the space allows.
    fn to_json(&self) -> String {
        Value::Object(space::write_architecture(&self.0)).to_string()
    }

    /// The same architecture with fields changed.
    #[pyo3(signature = (**fields))]
    fn replace(&self, py: Python<'_>, fields: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let mut changed = self.0.clone();
        for (key, value) in fields.into_iter().flatten() {
            changed = changed.with(&key.extract::<String>()?, &from_python(&value)?).or_raise(py)?;
        }
        Ok(Architecture(changed))
    }

    /// Every weight tensor: name, role, block, shape.
    fn tensors<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let tensors = self.0.tensors();
        let object = |tensor: &foretell::architecture::Tensor| {
            let shape: Vec<u32> = tensor.shape.into_iter().take_while(|size| *size > 0).collect();
            json!({"name": tensor.name(), "role": format!("{:?}", tensor.role), "block": tensor.block, "shape": shape})
        };
        tensors.iter().map(|tensor| Ok(to_python(py, &object(tensor))?.cast_into()?)).collect()
    }

    /// Writes the network as a folder: huggingface, pytorch, timm or json. The folder is written completely or not at all.
    #[pyo3(signature = (to, *, target = "huggingface", seed = 0, weights = true, force = false))]
    fn export(
        &self,
        py: Python<'_>,
        to: PathBuf,
        target: &str,
        seed: u64,
        weights: bool,
        force: bool,
    ) -> PyResult<Vec<String>> {
        let written = py.detach(|| {
            let format = export::format(target)?;
            let weights = (weights && format.name() != "json").then(|| draw(&self.0, seed)).transpose()?;
            let origin = origin(weights.is_some().then_some(seed));
            let export = Export { architecture: &self.0, weights: weights.as_ref(), origin: &origin };
            export::write(&export, format, &to, force)
        });
        Ok(written.or_raise(py)?.into_iter().map(|(name, _)| name).collect())
    }

    /// The files of an export by name, without writing them.
    #[pyo3(signature = (target = "pytorch", seed = 0, weights = true))]
    fn _files<'py>(
        &self,
        py: Python<'py>,
        target: &str,
        seed: u64,
        weights: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let files = py.detach(|| {
            let weights = weights.then(|| draw(&self.0, seed)).transpose()?;
            let origin = origin(weights.is_some().then_some(seed));
            let export = Export { architecture: &self.0, weights: weights.as_ref(), origin: &origin };
            export::format(target)?.files(&export)
        });
        let dict = PyDict::new(py);
        for (name, content) in files.or_raise(py)? {
            dict.set_item(name, PyBytes::new(py, &content))?;
        }
        Ok(dict)
    }

    /// The network as a torch module: the code and, unless weights is False, the weights of an export.
    #[pyo3(signature = (*, seed = 0, weights = true))]
    fn to_torch<'py>(slf: &Bound<'py, Self>, seed: u64, weights: bool) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("foretell._export")?.call_method1("to_torch", (slf, seed, weights))
    }

    fn __repr__(&self) -> String {
        format!("Architecture({})", self.to_json())
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        py.import("foretell._display")?.call_method1("architecture", (self.clone(),))?.extract()
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.extract::<Architecture>().is_ok_and(|other| self.0 == other.0)
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.0.hash(&mut hasher);
        hasher.finish()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let whole = Value::Object(whole(&slf.get().0)).to_string();
        Ok((slf.get_type().into_any(), PyTuple::new(slf.py(), [whole])?))
    }
}

/// Every field, the name of the space included.
fn whole(network: &Network) -> Map<String, Value> {
    let mut fields = network.to_json();
    fields.insert("space".to_owned(), network.space().into());
    fields
}

/// Exact counts of a network as data.
pub fn counts(network: &Network) -> Value {
    let (params, memory) = (network.params(), network.memory());
    let mut parts = Map::from_iter([
        ("total".to_owned(), json!(params.total)),
        ("decoder".to_owned(), json!(params.decoder())),
    ]);
    parts.extend(Part::ALL.map(|part| (part.name().to_owned(), json!(params.part(part)))));
    json!({
        "id": network.id(), "space": network.space(), "params": parts,
        "flops": network.flops(Counter::Exact), "flops_published": network.flops(Counter::Published),
        "memory_bytes": memory.total(), "cache_bytes": network.cache_bytes(),
        "memory": {"weights": memory.weights, "gradients": memory.gradients, "activations": memory.activations},
    })
}

/// The weights that scoring draws. They are in memory twice, and once more as a file.
fn draw(network: &Network, seed: u64) -> Result<Weights<f32>> {
    let needed = 3 * network.memory().weights;
    match free_memory() {
        Some(budget) if needed > budget => {
            Err(Error::option("weights", format!("need {needed} bytes of memory, {budget} are free")))
        }
        _ => Ok(Weights::shared(network, Seed(seed))),
    }
}

fn origin(seed: Option<u64>) -> Vec<(&'static str, String)> {
    let drawn = seed.map(|seed| ("weights", format!("initial, shared draw of seed {seed}")));
    drawn.into_iter().chain([("written by", format!("foretell {}", env!("CARGO_PKG_VERSION")))]).collect()
}

fn read(path: &Path) -> Result<Vec<Network>> {
    let inside = path.join("config.json");
    let path = if path.is_dir() { inside.as_path() } else { path };
    let place = path.display().to_string();
    let mut found = Vec::new();
    for value in serde_json::Deserializer::from_str(&file::text(path)?).into_iter::<Value>() {
        let value = value.map_err(|e| Error::parse(place.as_str(), format!("is not JSON: {e}")))?;
        let network = match hub::is_config(&value) {
            true => hub::read(&value, path.parent().unwrap_or(Path::new("."))),
            false => space::read_architecture(&value),
        };
        found.push(network.map_err(|e| e.at(format!("{place}, architecture {}", found.len() + 1)))?);
    }
    match found.is_empty() {
        true => Err(Error::parse(place, "holds no architecture")),
        false => Ok(found),
    }
}

/// Architectures from a list of architectures, dicts or JSON texts.
pub fn networks(list: &[Bound<'_, PyAny>]) -> PyResult<Vec<Network>> {
    let one = |(place, object): (usize, &Bound<'_, PyAny>)| {
        let read = Architecture::new(object).map(|read| read.0);
        read.map_err(|error| match error.value(object.py()).getattr("kind") {
            Ok(kind) if list.len() > 1 => {
                let kind: String = kind.extract().unwrap_or_default();
                errors::of_kind(
                    object.py(),
                    &kind,
                    &format!("architecture {place}: {error}", error = error.value(object.py())),
                )
            }
            _ => error,
        })
    };
    list.iter().enumerate().map(one).collect()
}
