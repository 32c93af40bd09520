//! Workers whose processors round differently: it is said, and a sample is computed here and compared.

use crate::score::{Batch, Cell, Row, Workers};
use crate::store;
use std::collections::BTreeSet;

/// Candidates that are compared for every kind of processor.
const COMPARED: usize = 2;

/// The kinds of processors that answered.
#[derive(Debug, Default)]
pub(super) struct Processors {
    seen: BTreeSet<String>,
    /// How many candidates of another kind were compared.
    compared: usize,
    /// The largest relative difference; 0 if all bits are equal.
    worst: f64,
}

impl Processors {
    /// Notes that a row was computed by a kind of processor; what is to be said about it, once for every kind.
    pub(super) fn note(
        &mut self,
        processor: &str,
        host: &str,
        batch: &Batch,
        index: usize,
        row: &Row,
    ) -> Option<String> {
        let own = store::processor();
        let new = self.seen.insert(processor.to_owned());
        if processor == own || (!new && self.compared >= COMPARED) {
            return None;
        }
        let here = batch.row(index, &mut Workers::default())?;
        let differs = difference(&here, row);
        self.compared = if new { 1 } else { self.compared + 1 };
        let worse = differs > self.worst;
        self.worst = self.worst.max(differs);
        let said = match differs {
            0.0 => "a sample has the same bits here".to_owned(),
            differs => format!(
                "a sample differs by up to {differs:.1e} of its value, so the hash belongs to this mix of machines"
            ),
        };
        (new || worse)
            .then(|| format!("{host} computes with {processor} and this machine with {own}: {said}"))
    }
}

/// The largest relative difference of two rows; infinite where one failed and the other did not.
fn difference(one: &Row, other: &Row) -> f64 {
    let of = |(one, other): (&Cell, &Cell)| match (one.mean(), other.mean()) {
        (Ok(one), Ok(other)) if one.value.to_bits() == other.value.to_bits() => 0.0,
        (Ok(one), Ok(other)) => {
            (one.value - other.value).abs() / one.value.abs().max(other.value.abs()).max(f64::MIN_POSITIVE)
        }
        (Err(one), Err(other)) if one.kind() == other.kind() => 0.0,
        _ => f64::INFINITY,
    };
    one.cells.iter().zip(&other.cells).map(of).fold(0.0, f64::max)
}
