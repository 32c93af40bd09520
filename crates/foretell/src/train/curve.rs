//! Loss curves as rows of a table, from which a predictor learns.

use super::{Outcome, Point, Recipe};
use crate::architecture::Architecture;
use crate::error::{Error, Result};
use crate::file;
use serde_json::{Map, Value, json};
use std::path::Path;

/// The rows of a file of JSON lines, each with its line; none if there is no file.
pub fn recorded(path: &Path) -> Result<Vec<(Map<String, Value>, String)>> {
    let text = if path.exists() { file::text(path)? } else { String::new() };
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let row = |(at, line): (usize, &str)| match serde_json::from_str(line) {
        Ok(row) => Ok((row, line.to_owned())),
        Err(error) => {
            let place = format!("{}, line {}", path.display(), at + 1);
            Err(Error::parse(place, format!("is no row of a table: {error}")))
        }
    };
    lines.map(row).collect()
}

/// Writes the validations of a run into a file of JSON lines: the architecture, `seed`, `steps`, `tokens` (or images) and the
/// losses then. Rows of other runs stay; those of the same network and seed are replaced.
pub fn record(path: &Path, network: &Architecture, recipe: &Recipe, outcome: &Outcome) -> Result<()> {
    let (id, seed) = (json!(network.id()), json!(recipe.seed));
    let mut rows = recorded(path)?;
    rows.retain(|(row, _)| (row.get("id"), row.get("seed")) != (Some(&id), Some(&seed)));
    let mut lines: Vec<String> = rows.into_iter().map(|(_, line)| line).collect();
    let per_step = outcome.seen / outcome.steps.max(1);
    lines.extend(outcome.curve.iter().map(|point| row(network, recipe.seed, per_step, point)));
    file::replace(path, lines.join("\n") + "\n")
}

fn row(network: &Architecture, seed: u64, per_step: u64, point: &Point) -> String {
    let mut row = Map::from_iter([("id".to_owned(), json!(network.id()))]);
    row.extend(network.to_json());
    let budget = [("seed", seed), ("steps", point.step), ("tokens", point.step * per_step)];
    row.extend(budget.map(|(name, value)| (name.to_owned(), value.into())));
    let results = [
        ("valid_loss", Some(point.valid.loss)),
        ("valid_accuracy", point.valid.accuracy),
        ("train_loss", Some(point.train)),
    ];
    row.extend(results.into_iter().filter_map(|(name, value)| Some((name.to_owned(), json!(value?)))));
    Value::Object(row).to_string()
}
