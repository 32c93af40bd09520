//! Results after several lengths of training, read from a file beside a table.

use super::{Drawn, Figure, Outcome, Reproduce, Row};
use crate::error::{Error, Result};
use crate::file;
use crate::rank;
use crate::report::{Curve, curves};
use std::collections::BTreeMap;

/// Which file, and which of its columns.
pub(super) struct Checkpoints<'c> {
    pub(super) table: &'c str,
    pub(super) file: &'c str,
    pub(super) length: &'c str,
    pub(super) result: &'c str,
}

/// Mean result after each length, and how far the order of networks agrees with that in the end.
pub(super) fn run(run: &Reproduce, what: &Checkpoints) -> Result<Drawn> {
    run.watch.estimated(0.0);
    let path = run.tables.join(what.table).join(what.file);
    let place = || path.display().to_string();
    let text = file::text(&path)?;
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().map_err(|e| Error::data(place(), e.to_string()))?.clone();
    let column = |name: &str| {
        let missing = || Error::data(place(), format!("has no column {name}"));
        header.iter().position(|column| column == name).ok_or_else(missing)
    };
    let (id, length, result) = (column("id")?, column(what.length)?, column(what.result)?);
    let mut runs: BTreeMap<u64, BTreeMap<String, f64>> = BTreeMap::new();
    for record in reader.records() {
        let record = record.map_err(|e| Error::data(place(), e.to_string()))?;
        let cell = |at: usize| record.get(at).unwrap_or_default();
        if let (Ok(steps), Ok(value)) = (cell(length).parse(), cell(result).parse()) {
            runs.entry(steps).or_default().insert(cell(id).to_owned(), value);
        }
    }
    let networks: usize = runs.values().map(BTreeMap::len).max().unwrap_or(0);
    let said = format!("The published checkpoints of {networks} networks.");
    let measured = vec![format!("mean {}", what.result), "tau with the last".to_owned()];
    let mut outcome = Outcome::of(run.entry, run.size, said, measured);
    let last = runs.values().next_back().cloned().unwrap_or_default();
    for (steps, values) in &runs {
        let both = values.iter().filter_map(|(id, value)| Some((*value, *last.get(id)?)));
        let (now, end): (Vec<f64>, Vec<f64>) = both.unzip();
        let values: Vec<f64> = values.values().copied().collect();
        outcome.rows.push(Row {
            name: format!("{} steps", crate::units::grouped(*steps)),
            measured: vec![Figure::over(&values), rank::kendall_tau_b(&now, &end).into()],
            ..Row::default()
        });
    }
    let curve = |id: &String| Curve {
        name: format!("network {id}"),
        runs: vec![runs.iter().filter_map(|(steps, of)| Some((*steps as f64, *of.get(id)?))).collect()],
    };
    let drawn: Vec<Curve> = last.keys().map(curve).collect();
    let label = format!("{}: {} after so many steps of pre-training", run.entry.id, what.result);
    let chart = curves(&drawn, [what.length, what.result], false, label);
    Ok(Drawn { charts: chart.map(|chart| ("steps".to_owned(), chart)).into_iter().collect(), outcome })
}
