//! Penn Treebank losses and metrics of the cells of NAS-Bench-NLP, by run.

use crate::benchmark::import::recipes::{self, Recipes};
use crate::benchmark::import::text::{Sheet, json_line, number};
use crate::benchmark::import::{Draft, Omitted, Table};
use crate::error::Result;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::path::Path;

pub(super) const PARAMETERS: &str = "data/RNN_parameters.csv";
pub(super) const RESULTS: &str = "data/RNN_results.csv";

/// Losses: column and column of the source.
const LOSSES: [(&str, &str); 3] =
    [("test_loss", "loss"), ("test_ppl", "perplexity"), ("bits_per_word", "bits per word")];
/// Metrics: column and column of the source.
const METRICS: [(&str, &str); 12] = [
    ("ref_activation_distance", "Activation Distance"),
    ("ref_synaptic_saliency", "Synaptic Saliency"),
    ("ref_jacobian_covariance", "Jacobian Covariance"),
    ("ref_jacobian_cosine", "Jacobian Cosine"),
    ("ref_large_noise_jacobian", "Large Noise Jacobian"),
    ("ref_large_noise_jacobian_cosine", "Large Noise Jacobian Cosine"),
    ("ref_more_noised_jacobian", "More Noised Jacobian"),
    ("ref_more_noised_jacobian_cosine", "More Noised Jacobian Cosine"),
    ("ref_hidden_synaptic_saliency", "Hidden Synaptic Saliency"),
    ("ref_hidden_covariance_1", "Layer 1 Hidden Covariance"),
    ("ref_hidden_covariance_2", "Layer 2 Hidden Covariance"),
    ("ref_hidden_covariance_3", "Layer 3 Hidden Covariance"),
];

/// What the source says of one run, as it is written there.
#[derive(Default)]
struct Run {
    losses: [String; 3],
    params: Option<String>,
    metrics: Option<Vec<String>>,
}

/// Runs by number of the cell and name of the run.
type Runs = BTreeMap<(u64, String), Run>;

/// `recipes.jsonl` and `runs.csv`.
pub(super) fn tables(clone: &Path) -> Result<Vec<Table>> {
    let mut omitted = Vec::new();
    let mut runs = Runs::new();
    parameters(&clone.join(PARAMETERS), &mut runs, &mut omitted)?;
    results(&clone.join(RESULTS), &mut runs, &mut omitted)?;
    let recipes = Recipes::all();
    let mut draft = Draft { omitted, ..Draft::default() };
    for ((id, run), found) in &runs {
        let name = format!("{id}_{run}");
        let Some(recipe) = recipes.get(*id).and_then(|recipe| Some((recipe, recipe.cell.as_ref()?))) else {
            draft.omit(name, format!("{id} is no number of a drawn cell of NAS-Bench-NLP"));
            continue;
        };
        let mut row = Map::new();
        row.insert("recipe_id".to_owned(), (*id).into());
        row.insert("recipe_group".to_owned(), recipe.0.group.as_str().into());
        row.insert("run".to_owned(), run.as_str().into());
        row.insert("num_hidden_states".to_owned(), recipes::states(recipe.1).into());
        row.insert("num_params".to_owned(), found.params.as_deref().map_or(Value::Null, number));
        row.insert("nodes".to_owned(), recipes::nodes(recipe.1));
        draft.push(name, row);
    }
    let counts = draft.check("nasbench-nlp-ptb/runs.csv")?;
    Ok(vec![cells(&draft), written(draft, counts, &runs)])
}

/// One line per cell.
fn cells(draft: &Draft) -> Table {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut groups: BTreeMap<String, (&Map<String, Value>, usize)> = BTreeMap::new();
    for row in &draft.rows {
        groups.entry(text(&row.values["recipe_group"])).or_insert((&row.values, 0)).1 += 1;
    }
    let line = |(values, runs): &(&Map<String, Value>, usize)| {
        let keys = ["recipe_group", "num_hidden_states", "nodes"];
        let mut row: Map<String, Value> =
            keys.map(|key| (key.to_owned(), values[key].clone())).into_iter().collect();
        row.insert("num_runs".to_owned(), (*runs).into());
        json_line(&row) + "\n"
    };
    Table {
        name: "nasbench-nlp-ptb/recipes.jsonl".to_owned(),
        rows: groups.len(),
        counts: 0,
        omitted: Vec::new(),
        text: groups.values().map(line).collect(),
    }
}

/// One line per run.
fn written(draft: Draft, counts: usize, runs: &Runs) -> Table {
    let columns: Vec<&str> = ["recipe_id", "recipe_group", "run"]
        .into_iter()
        .chain(LOSSES.map(|(column, _)| column))
        .chain(["num_params"])
        .chain(METRICS.map(|(column, _)| column))
        .collect();
    let mut text = columns.join(",") + "\n";
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    for row in &draft.rows {
        let [id, group, run] = ["recipe_id", "recipe_group", "run"].map(|key| plain(&row.values[key]));
        let found = &runs[&(row.values["recipe_id"].as_u64().unwrap_or_default(), run.clone())];
        let params = found.params.clone().unwrap_or_default();
        let metrics = found.metrics.clone().unwrap_or_else(|| vec![String::new(); METRICS.len()]);
        let _ =
            writeln!(text, "{id},{group},{run},{},{params},{}", found.losses.join(","), metrics.join(","));
    }
    let name = "nasbench-nlp-ptb/runs.csv".to_owned();
    Table { name, rows: draft.rows.len(), counts, omitted: draft.omitted, text }
}

/// Losses and counts of all runs.
fn parameters(path: &Path, runs: &mut Runs, omitted: &mut Vec<Omitted>) -> Result<()> {
    let sheet = Sheet::read(path)?;
    let log = sheet.column("log name")?;
    let losses = sheet.columns(LOSSES.map(|(_, name)| name))?;
    let total = sheet.column("total paramters")?;
    let (mut headers, mut empty) = (0, HashMap::<&str, usize>::new());
    for record in &sheet.records {
        if sheet.is_header(record) {
            headers += 1;
            continue;
        }
        let name = sheet.cell(record, log)?;
        let Some(key) = run(name) else {
            omitted.push(unknown(name));
            continue;
        };
        let count = value(sheet.cell(record, total)?);
        if count.is_empty() {
            *empty.entry(name).or_default() += 1;
            continue;
        }
        let found = runs.entry(key).or_default();
        found.params.get_or_insert(count);
        found.losses = losses_of(&sheet, record, &losses)?;
    }
    if headers > 0 {
        let row = format!("{headers} lines");
        omitted.push(Omitted { row, reason: "they repeat the header".to_owned() });
    }
    let mut empty: Vec<_> = empty.into_iter().collect();
    empty.sort_unstable();
    omitted.extend(empty.into_iter().map(|(name, lines)| Omitted {
        row: name.to_owned(),
        reason: format!("{lines} lines hold neither a loss nor a count"),
    }));
    Ok(())
}

/// Losses and metrics of the runs that were measured.
fn results(path: &Path, runs: &mut Runs, omitted: &mut Vec<Omitted>) -> Result<()> {
    let sheet = Sheet::read(path)?;
    let log = sheet.column("log name")?;
    let losses = sheet.columns(LOSSES.map(|(_, name)| name))?;
    let metrics = sheet.columns(METRICS.map(|(_, name)| name))?;
    for record in sheet.records.iter().filter(|record| !sheet.is_header(record)) {
        let name = sheet.cell(record, log)?;
        let Some(key) = run(name) else {
            omitted.push(unknown(name));
            continue;
        };
        let found = runs.entry(key).or_default();
        if found.params.is_none() {
            found.losses = losses_of(&sheet, record, &losses)?;
        }
        found.metrics = Some(sheet.cells(record, &metrics)?.into_iter().map(value).collect());
    }
    Ok(())
}

fn unknown(name: &str) -> Omitted {
    Omitted { row: name.to_owned(), reason: "its name is not that of a log of NAS-Bench-NLP".to_owned() }
}

/// Number of the cell and name of the run in `log_stats_model_1000004_2020-04-15_11-01-23_999938456.json`.
fn run(log: &str) -> Option<(u64, String)> {
    let (id, run) = log.strip_prefix("log_stats_model_")?.strip_suffix(".json")?.split_once('_')?;
    Some((id.parse().ok()?, run.to_owned()))
}

/// A cell as it is written, empty if it is no number.
fn value(cell: &str) -> String {
    if number(cell).is_null() { String::new() } else { cell.to_owned() }
}

fn losses_of(sheet: &Sheet, record: &(u64, Vec<String>), columns: &[usize]) -> Result<[String; 3]> {
    let cells = sheet.cells(record, columns)?;
    Ok([0, 1, 2].map(|i| value(cells[i])))
}
