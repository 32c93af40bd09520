//! Errors of the library as exceptions: a class for each kind, with the text of the library.

use foretell::error::Error;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// The exception of an error.
pub fn raise(py: Python<'_>, error: &Error) -> PyErr {
    of_kind(py, error.kind(), &error.to_string())
}

/// The exception of a kind.
pub fn of_kind(py: Python<'_>, kind: &str, message: &str) -> PyErr {
    let made =
        py.import("foretell.errors").and_then(|module| module.call_method1("of_kind", (kind, message)));
    match made {
        Ok(made) => PyErr::from_value(made),
        Err(_) => PyRuntimeError::new_err(format!("{kind}: {message}")),
    }
}

/// Library results as results of Python calls.
pub trait OrRaise<T> {
    /// Raises the error.
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> OrRaise<T> for foretell::error::Result<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| raise(py, &error))
    }
}
