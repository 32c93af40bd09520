//! Properties on random, tie-heavy data, most of them against the plain
//! definition computed the slow way.

mod correlation;
mod harmless;
mod interval;
mod pairs;
mod pareto;
mod scipy;
mod top;

use proptest::prelude::*;

/// `columns` columns of up to `rows` rows, small integers so that ties abound.
fn columns(
    columns: usize,
    rows: impl Into<proptest::collection::SizeRange>,
) -> impl Strategy<Value = Vec<Vec<f64>>> {
    let row = proptest::collection::vec((0..5_i32).prop_map(f64::from), columns);
    proptest::collection::vec(row, rows).prop_map(move |rows| {
        (0..columns).map(|column| rows.iter().map(|row| row[column]).collect()).collect()
    })
}

/// All ways to order rows by falling value, one for each breaking of ties.
fn tie_breakings(values: &[f64]) -> Vec<Vec<usize>> {
    fn extend(values: &[f64], chosen: &mut Vec<usize>, found: &mut Vec<Vec<usize>>) {
        let left: Vec<usize> = (0..values.len()).filter(|row| !chosen.contains(row)).collect();
        let best = left.iter().map(|&row| values[row]).fold(f64::NEG_INFINITY, f64::max);
        if left.is_empty() {
            found.push(chosen.clone());
        }
        for row in left.into_iter().filter(|&row| values[row] == best) {
            chosen.push(row);
            extend(values, chosen, found);
            chosen.pop();
        }
    }
    let mut found = Vec::new();
    extend(values, &mut Vec::new(), &mut found);
    found
}

fn close(a: Option<f64>, b: Option<f64>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() < 1e-12,
        (None, None) => true,
        _ => false,
    }
}
