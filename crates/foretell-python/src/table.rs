//! The trials of a study as columns: for Arrow, and as lists.

use crate::errors;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, Float64Array, RecordBatch, RecordBatchIterator, StringArray, UInt64Array};
use arrow_schema::ArrowError;
use foretell::architecture::Counter;
use foretell::error::Result;
use foretell::study::{View, given_value};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};
use std::collections::HashMap;
use std::sync::Arc;

/// A column of a table.
pub enum Column {
    /// Whole numbers.
    Counts(Vec<Option<u64>>),
    /// Numbers.
    Numbers(Vec<Option<f64>>),
    /// Texts.
    Texts(Vec<String>),
}

/// Every trial, a row each.
pub fn columns(view: &View) -> Result<Vec<(String, Column)>> {
    let (mut trials, mut ids, mut genes, mut status, mut seconds) = (vec![], vec![], vec![], vec![], vec![]);
    let (mut params, mut flops, mut evaluated) = (vec![], vec![], vec![]);
    let mut values: Vec<Vec<Option<f64>>> = view.objectives().iter().map(|_| Vec::new()).collect();
    let evaluations: HashMap<u64, Option<f64>> =
        view.evaluations.iter().map(|row| (row.trial, given_value(row))).collect();
    view.each_trial(&mut |trial| {
        let fields = serde_json::from_str(&trial.genes).unwrap_or_default();
        let network = foretell::space::read_architecture(&fields)?;
        let failed = trial.scores.iter().find(|score| score.status != "ok");
        for (place, column) in values.iter_mut().enumerate() {
            column.push(view.value(trial.number as usize, place));
        }
        trials.push(Some(trial.number));
        params.push(Some(network.params().total));
        flops.push(network.flops(Counter::Exact));
        status.push(failed.map_or("ok".to_owned(), |score| score.status.clone()));
        evaluated.push(evaluations.get(&trial.number).copied().flatten());
        seconds.push(Some(trial.seconds));
        ids.push(trial.id);
        genes.push(trial.genes);
        Ok(())
    })?;
    let mut table = vec![("trial".to_owned(), Column::Counts(trials)), ("id".to_owned(), Column::Texts(ids))];
    let objectives = view.objectives().iter().zip(values);
    table.extend(objectives.map(|(objective, values)| (objective.to_string(), Column::Numbers(values))));
    if !view.evaluations.is_empty() {
        table.push(("evaluated".to_owned(), Column::Numbers(evaluated)));
    }
    table.extend([
        ("n_params".to_owned(), Column::Counts(params)),
        ("n_flops".to_owned(), Column::Counts(flops)),
        ("status".to_owned(), Column::Texts(status)),
        ("seconds".to_owned(), Column::Numbers(seconds)),
        ("architecture".to_owned(), Column::Texts(genes)),
    ]);
    Ok(table)
}

/// The columns as an Arrow stream.
pub fn stream(py: Python<'_>, table: Vec<(String, Column)>) -> PyResult<Bound<'_, PyCapsule>> {
    let array = |column: Column| -> ArrayRef {
        match column {
            Column::Counts(values) => Arc::new(UInt64Array::from(values)),
            Column::Numbers(values) => Arc::new(Float64Array::from(values)),
            Column::Texts(values) => Arc::new(StringArray::from(values)),
        }
    };
    let wrong = |e: ArrowError| errors::of_kind(py, "data", &format!("Arrow: {e}"));
    let batch = RecordBatch::try_from_iter(table.into_iter().map(|(name, column)| (name, array(column))));
    let batch = batch.map_err(wrong)?;
    let schema = batch.schema();
    let stream = FFI_ArrowArrayStream::new(Box::new(RecordBatchIterator::new([Ok(batch)], schema)));
    PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
}

/// The columns as lists by name.
pub fn lists(py: Python<'_>, table: Vec<(String, Column)>) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    for (name, column) in table {
        let list = match column {
            Column::Counts(values) => PyList::new(py, values)?,
            Column::Numbers(values) => {
                PyList::new(py, values.into_iter().map(|value| value.unwrap_or(f64::NAN)))?
            }
            Column::Texts(values) => PyList::new(py, values)?,
        };
        dict.set_item(name, list)?;
    }
    Ok(dict)
}
