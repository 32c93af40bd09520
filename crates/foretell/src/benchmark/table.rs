//! Reading tables: JSON lines and CSV become rows of named values; nothing here knows what a network is.

use super::Column;
use crate::error::{Error, Result};
use crate::file;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::path::Path;

/// One line of a table.
#[derive(Clone)]
pub(super) struct Row {
    /// File and line, for complaints.
    pub place: String,
    /// Its values by column.
    pub values: Map<String, Value>,
}

/// All rows of a benchmark; `recipes` are joined with their runs.
pub(super) fn read(folder: &Path, name: &str) -> Result<Vec<Row>> {
    let (inside, file) = name.split_once('/').unwrap_or((name, ""));
    let inside = folder.join(inside);
    if !file.is_empty() {
        return jsonl(&inside.join(format!("{file}.jsonl")));
    }
    let architectures = inside.join("architectures.jsonl");
    if architectures.exists() {
        return jsonl(&architectures);
    }
    let recipes = jsonl(&inside.join("recipes.jsonl"))?;
    let runs = inside.join("runs.csv");
    if !runs.exists() {
        return Ok(recipes);
    }
    let key = |row: &Row| row.values.get("recipe_group").map(Value::to_string).unwrap_or_default();
    let by_group: HashMap<String, &Row> = recipes.iter().map(|row| (key(row), row)).collect();
    let mut joined = csv(&runs.display().to_string(), &text(&runs)?)?;
    for row in &mut joined {
        let recipe = by_group.get(&key(row)).ok_or_else(|| {
            Error::data(row.place.as_str(), format!("recipe_group {} is not in recipes.jsonl", key(row)))
        })?;
        for (column, value) in &recipe.values {
            row.values.entry(column.clone()).or_insert_with(|| value.clone());
        }
    }
    Ok(joined)
}

/// The rows of one file.
pub(super) fn file(path: &Path) -> Result<Vec<Row>> {
    match path.extension().is_some_and(|extension| extension == "csv") {
        true => csv(&path.display().to_string(), &text(path)?),
        false => jsonl(path),
    }
}

/// The rows of a further file of a benchmark, where it has one.
pub(super) fn beside(folder: &Path, name: &str, file: &str) -> Result<Vec<Row>> {
    let path = folder.join(name).join(file);
    if path.exists() { csv(&path.display().to_string(), &text(&path)?) } else { Ok(Vec::new()) }
}

fn text(path: &Path) -> Result<String> {
    file::decoded(path, file::bytes(path)?)
}

fn jsonl(path: &Path) -> Result<Vec<Row>> {
    parse(&path.display().to_string(), &text(path)?)
}

/// The rows of JSON lines; `name` is what complaints call them.
pub(super) fn parse(name: &str, text: &str) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (i, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let place = format!("{name}:{}", i + 1);
        match serde_json::from_str(line) {
            Ok(values) => rows.push(Row { place, values }),
            Err(e) => return Err(Error::data(place, format!("is not a JSON object: {e}"))),
        }
    }
    if rows.is_empty() {
        return Err(Error::data(name, "holds no row"));
    }
    Ok(rows)
}

/// The rows of comma-separated values; `name` is what complaints call them.
pub(super) fn csv(name: &str, text: &str) -> Result<Vec<Row>> {
    let wrong = |line: usize, message: String| Error::data(format!("{name}:{line}"), message);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().map_err(|e| wrong(1, e.to_string()))?.clone();
    let mut rows = Vec::new();
    for (i, record) in reader.records().enumerate() {
        let record = record.map_err(|e| wrong(i + 2, e.to_string()))?;
        let value = |cell: &str| match cell {
            "" => Value::Null,
            _ => serde_json::from_str::<serde_json::Number>(cell)
                .map(Value::Number)
                .or_else(|_| {
                    cell.parse::<f64>()
                        .ok()
                        .and_then(serde_json::Number::from_f64)
                        .map(Value::Number)
                        .ok_or(())
                })
                .unwrap_or_else(|()| Value::String(cell.to_owned())),
        };
        let values = header.iter().zip(&record).map(|(key, cell)| (key.to_owned(), value(cell))).collect();
        rows.push(Row { place: format!("{name}:{}", i + 2), values });
    }
    Ok(rows)
}

/// Rows that are one network, by `recipe_group` where there is one; first rows in table order.
pub(super) fn groups(rows: &[Row]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut place: HashMap<String, usize> = HashMap::new();
    for (i, row) in rows.iter().enumerate() {
        match row.values.get("recipe_group") {
            None => groups.push(vec![i]),
            Some(key) => {
                let at = *place.entry(key.to_string()).or_insert_with(|| {
                    groups.push(Vec::new());
                    groups.len() - 1
                });
                groups[at].push(i);
            }
        }
    }
    groups
}

/// The numeric columns, in order of appearance; a group's value is the mean of its rows'.
pub(super) fn numeric(rows: &[Row], groups: &[Vec<usize>]) -> Vec<Column> {
    let mut names: Vec<&String> = Vec::new();
    for row in rows {
        for (name, value) in &row.values {
            if value.is_number() && !names.contains(&name) {
                names.push(name);
            }
        }
    }
    let column = |name: &String| {
        let mean = |group: &Vec<usize>| {
            let values: Vec<f64> = group.iter().filter_map(|i| rows[*i].values.get(name)?.as_f64()).collect();
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
        };
        Column {
            name: name.clone(),
            lower_is_better: lower_is_better(name),
            values: groups.iter().map(mean).collect(),
        }
    };
    names.into_iter().map(column).collect()
}

/// Losses, perplexities, bits, times and memory are better when small.
pub(super) fn lower_is_better(name: &str) -> bool {
    const WORDS: [&str; 6] = ["ppl", "loss", "bits", "seconds", "ms", "mb"];
    name.split('_').any(|word| WORDS.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn direction_follows_the_name() {
        for name in [
            "valid_ppl",
            "test_loss_at_best_val",
            "bits_per_word",
            "latency_ms",
            "memory_mb",
            "train_seconds",
        ] {
            assert!(lower_is_better(name), "{name}");
        }
        for name in ["glue", "cifar100_acc_scratch", "stsb"] {
            assert!(!lower_is_better(name), "{name}");
        }
    }
}
