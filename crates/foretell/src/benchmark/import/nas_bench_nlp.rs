//! NAS-Bench-NLP: learning curves of recurrent cells on WikiText-2, one log per run.

use super::recipes::{self, Node, Recipes};
use super::{Draft, Imported, Importer, Source, Table, archive};
use crate::error::{Error, Result};
use crate::file;
use serde_json::{Map, Value};
use std::path::Path;

const SOURCE: Source = Source {
    name: "nas-bench-nlp",
    repository: "https://github.com/fmsnew/nas-bench-nlp-release",
    branch: None,
    tables: "nasbench-nlp-wikitext2",
    further: None,
};

/// The folder of the logs, packed as `logs.zip` or unpacked.
const LOGS: &str = "train_logs_wikitext-2";
const TABLE: &str = "nasbench-nlp-wikitext2/architectures.jsonl";

pub(super) struct NasBenchNlp;

impl Importer for NasBenchNlp {
    fn source(&self) -> &'static Source {
        &SOURCE
    }

    fn import(&self, clone: &Path, _: Option<&Path>) -> Result<Imported> {
        let folder = clone.join(LOGS);
        let logs = if folder.is_dir() { logs(&folder)? } else { Vec::new() };
        if logs.is_empty() {
            return Imported::of(&SOURCE, clone, Vec::new(), vec![format!("logs in {LOGS}")]);
        }
        Imported::of(&SOURCE, clone, vec![table(logs)?], Vec::new())
    }
}

/// Names and texts of all logs, those in the folder before those that are packed.
fn logs(folder: &Path) -> Result<Vec<(String, String)>> {
    let entries = std::fs::read_dir(folder).map_err(|source| Error::read(folder, source))?;
    let mut found = Vec::new();
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        if let Some(name) = path.file_name().and_then(|name| name.to_str()).filter(|name| is_log(name)) {
            found.push((name.to_owned(), file::text(&path)?));
        }
    }
    let packed = folder.join("logs.zip");
    if found.is_empty() && packed.exists() {
        let last = |name: &str| name.rsplit('/').next().unwrap_or(name).to_owned();
        for (name, bytes) in archive::members(&packed, |name| is_log(&last(name)))? {
            found.push((last(&name), file::decoded(&packed.join(&name), bytes)?));
        }
    }
    found.sort();
    Ok(found)
}

fn is_log(name: &str) -> bool {
    name.starts_with("log_stats_model_") && name.ends_with(".json")
}

fn table(logs: Vec<(String, String)>) -> Result<Table> {
    let recipes = Recipes::all();
    let mut rows = Vec::with_capacity(logs.len());
    let mut draft = Draft::default();
    for (name, text) in logs {
        match row(&text, recipes) {
            Ok(row) => rows.push((row["recipe_id"].as_u64(), name, row)),
            Err(reason) => draft.omit(name, reason),
        }
    }
    rows.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
    rows.into_iter().for_each(|(_, name, row)| draft.push(name, row));
    draft.finish(TABLE)
}

/// A log of a run; whole numbers and texts of the source keep their names but for its spelling of recipe.
struct Log(Map<String, Value>);

impl Log {
    fn field(&self, key: &str) -> Result<&Value, String> {
        self.0.get(key).ok_or_else(|| format!("does not state {key}"))
    }

    fn number(&self, key: &str) -> Result<u64, String> {
        self.field(key)?.as_u64().ok_or_else(|| format!("its {key} is no whole number"))
    }

    /// A number per epoch; not a number is no value.
    fn epochs(&self, key: &str) -> Result<Vec<Option<f64>>, String> {
        let list = self.field(key)?.as_array().ok_or_else(|| format!("its {key} is no list"))?;
        Ok(list.iter().map(Value::as_f64).collect())
    }
}

fn row(text: &str, recipes: &Recipes) -> Result<Map<String, Value>, String> {
    let log = serde_json::from_str(&finite(text)).map_err(|e| format!("is not a log in JSON: {e}"))?;
    let log = Log(log);
    let id = log.number("recepie_id")?;
    let cell = cell(log.field("recepie")?)?;
    let recipe = recipes.get(id).ok_or_else(|| format!("{id} is no number of a cell of the benchmark"))?;
    if recipe.cell.as_ref().is_some_and(|drawn| *drawn != cell) {
        return Err(format!("its cell is not the one that the benchmark drew as number {id}"));
    }
    let [train, validation, test] = ["train_losses", "val_losses", "test_losses"].map(|key| log.epochs(key));
    let (train, validation, test) = (train?, validation?, test?);
    let known = validation.iter().enumerate().filter_map(|(epoch, loss)| Some((epoch, (*loss)?)));
    let best = known.min_by(|a, b| a.1.total_cmp(&b.1));
    let last = |losses: &[Option<f64>]| losses.last().copied().flatten();
    let seconds: f64 = log.epochs("wall_times")?.into_iter().flatten().sum();
    let values: [(&str, Value); 15] = [
        ("recipe_id", id.into()),
        ("recipe_group", recipe.group.as_str().into()),
        ("experiment_id", log.number("experiment_id")?.into()),
        ("status", log.field("status")?.clone()),
        ("num_hidden_states", recipes::states(&cell).into()),
        ("num_params", log.number("num_params")?.into()),
        ("nodes", recipes::nodes(&cell)),
        ("best_val_loss", best.map(|(_, loss)| loss).into()),
        ("test_loss_at_best_val", best.and_then(|(epoch, _)| *test.get(epoch)?).into()),
        ("last_val_loss", last(&validation).into()),
        ("last_test_loss", last(&test).into()),
        ("train_seconds", seconds.into()),
        ("train_losses", train.into()),
        ("val_losses", validation.into()),
        ("test_losses", test.into()),
    ];
    Ok(values.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

/// The cell of a log, which is JSON in a text: `{"node": {"op": …, "input": […]}, …}`.
fn cell(recipe: &Value) -> Result<Vec<Node>, String> {
    let wrong = || "its recepie is no cell in JSON".to_owned();
    let nodes: Map<String, Value> =
        serde_json::from_str(recipe.as_str().ok_or_else(wrong)?).map_err(|_| wrong())?;
    let node = |(name, node): (String, Value)| {
        let inputs = node.get("input")?.as_array()?.iter().map(|input| Some(input.as_str()?.to_owned()));
        Some(Node { name, op: node.get("op")?.as_str()?.to_owned(), inputs: inputs.collect::<Option<_>>()? })
    };
    nodes.into_iter().map(node).collect::<Option<_>>().ok_or_else(wrong)
}

/// Python's JSON without the words for what is not finite.
fn finite(text: &str) -> String {
    let (mut out, mut quoted) = (String::with_capacity(text.len()), false);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let word = ["NaN", "-Infinity", "Infinity"].iter().find(|word| !quoted && rest.starts_with(**word));
        let length = match (word, c) {
            (Some(word), _) => {
                out.push_str("null");
                rest = &rest[word.len()..];
                continue;
            }
            (None, '\\') => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
            (None, '"') => {
                quoted = !quoted;
                1
            }
            (None, c) => c.len_utf8(),
        };
        out.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_what_is_not_finite_become_null_outside_of_texts() {
        assert_eq!(
            finite(r#"{"a\"NaN": [NaN, -Infinity, 1.5], "NaN": "Infinity"}"#),
            r#"{"a\"NaN": [null, null, 1.5], "NaN": "Infinity"}"#
        );
    }
}
