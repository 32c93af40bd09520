//! What can be known of a published table without a run: sizes of networks and of spaces.

use super::{Drawn, Figure, Outcome, Reproduce};
use crate::architecture::Counter;
use crate::error::{Error, Result};
use crate::report::{Dot, dots};
use crate::space::{self, Size};

/// Parameters and multiply-adds of the networks that rows hold as JSON.
pub(super) fn networks(run: &Reproduce) -> Result<Drawn> {
    let measured = ["params (M)", "multiply-adds (G)"].map(str::to_owned).to_vec();
    let said = "Exact counts of the networks whose shape is public; nothing is trained.".to_owned();
    let mut outcome = Outcome::of(run.entry, run.size, said, measured);
    for row in outcome.rows.iter_mut().filter(|row| !row.ours.is_empty()) {
        let genes = serde_json::from_str(&row.ours)
            .map_err(|e| Error::data(format!("{}: {}", run.entry.id, row.name), e.to_string()))?;
        let network = space::read_architecture(&genes)?;
        let flops = network.flops(Counter::Exact).map(|flops| flops as f64 / 1e9);
        row.measured = vec![(network.params().total as f64 / 1e6).into(), flops.into()];
    }
    // Accuracy against size, as the paper prints both.
    let last = outcome.columns.len().saturating_sub(1);
    let dot = |row: &super::Row| {
        let (x, y) = (row.paper.first().copied().flatten()?, row.paper.get(last).copied().flatten()?);
        Some(Dot { x, y, title: format!("{}: {x} M parameters, {y}", row.name) })
    };
    let group = vec![(String::new(), outcome.rows.iter().filter_map(dot).collect())];
    let names = ["parameters (M)", outcome.columns.get(last).map_or("", String::as_str)];
    let label = format!("{}: published accuracy against published size", outcome.entry);
    let chart = dots(&group, names, false, label);
    Ok(Drawn { charts: chart.map(|chart| ("size".to_owned(), chart)).into_iter().collect(), outcome })
}

/// Sizes of the spaces that rows name.
pub(super) fn spaces(run: &Reproduce) -> Result<Drawn> {
    let said = "Counted exactly.".to_owned();
    let mut outcome = Outcome::of(run.entry, run.size, said, vec!["networks".to_owned()]);
    for row in outcome.rows.iter_mut().filter(|row| !row.ours.is_empty()) {
        let size = space::preset(&row.ours)?.size();
        let size = if let Size::Exact(size) = size { size.to_string().parse::<f64>().ok() } else { None };
        row.measured = vec![Figure::from(size)];
    }
    Ok(Drawn { outcome, charts: Vec::new() })
}
