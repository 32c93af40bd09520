//! Plain data between Python and the library.

use crate::errors::OrRaise;
use foretell::error::Error;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyList, PyString};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Plain data as Python objects.
pub fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(flag) => flag.into_pyobject(py)?.to_owned().into_any(),
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(whole), _) => whole.into_pyobject(py)?.into_any(),
            (_, Some(whole)) => whole.into_pyobject(py)?.into_any(),
            _ => PyFloat::new(py, number.as_f64().unwrap_or(f64::NAN)).into_any(),
        },
        Value::String(text) => PyString::new(py, text).into_any(),
        Value::Array(items) => {
            let items = items.iter().map(|item| to_python(py, item)).collect::<PyResult<Vec<_>>>()?;
            PyList::new(py, items)?.into_any()
        }
        Value::Object(entries) => {
            let dict = PyDict::new(py);
            entries.iter().try_for_each(|(key, value)| dict.set_item(key, to_python(py, value)?))?;
            dict.into_any()
        }
    })
}

/// Python objects as plain data: what `json` can write, and numpy's numbers.
pub fn from_python(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    let text: String = object.py().import("foretell._plain")?.call_method1("dumps", (object,))?.extract()?;
    serde_json::from_str(&text).map_err(|e| PyTypeError::new_err(e.to_string()))
}

/// Options of a function, which the Python half has named; `place` is what complaints call them.
pub fn options<T: DeserializeOwned>(object: &Bound<'_, PyDict>, place: &str) -> PyResult<T> {
    let value = from_python(object.as_any())?;
    let read = serde_json::from_value(value).map_err(|e| Error::option(place, e.to_string()));
    read.or_raise(object.py())
}
