//! training-free-nas: GLUE of FlexiBERT encoders, Penn Treebank losses of recurrent cells, and published metric values.

mod cells;

use super::text::{Sheet, number};
use super::{Draft, Imported, Importer, Source, Table};
use crate::architecture::Architecture;
use crate::benchmark::row::{self, Hints};
use crate::error::{Error, Result};
use crate::file;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

const SOURCE: Source = Source {
    name: "training-free-nas",
    repository: "https://github.com/aaronserianni/training-free-nas",
    branch: None,
    tables: "flexibert-glue, nasbench-nlp-ptb",
    further: Some(["https://github.com/pprp/LPZero", "ref_lpzero_1 and ref_lpzero_2 of flexibert-glue"]),
};

const BENCHMARK: &str = "flexibert-glue";
const NETWORKS: &str = "data/BERT_benchmark.json";
const METRICS_OF_ALL: &str = "data/BERT_results_activation.csv";
const CHECKPOINTS: &str = "data/BERT_train_ablation.csv";
/// Metrics of the same networks again: what varied, and the file.
const REPEATS: [(&str, &str); 2] =
    [("minibatch", "data/BERT_batch_ablation.csv"), ("seed", "data/BERT_initialization_ablation.csv")];

/// Scores: column and key of the source.
const SCORES: [(&str, &str); 9] = [
    ("glue", "glue"),
    ("cola", "cola"),
    ("mnli", "mnli"),
    ("mrpc", "mrpc"),
    ("qnli", "qnli"),
    ("qqp", "qqp"),
    ("rte", "rte"),
    ("sst2", "sst"),
    ("stsb", "sts"),
];
/// Metrics: column and column of the source.
const METRICS: [(&str, &str); 14] = [
    ("ref_synaptic_diversity", "Synaptic Diversity"),
    ("ref_synaptic_diversity_norm", "Synaptic Diversity Normalized"),
    ("ref_synaptic_saliency", "Synaptic Saliency"),
    ("ref_synaptic_saliency_norm", "Synaptic Saliency Normalized"),
    ("ref_activation_distance", "Activation Distance"),
    ("ref_activation_distance_norm", "Activation Distance Normalized"),
    ("ref_jacobian_covariance", "Jacobian Score"),
    ("ref_jacobian_cosine", "Jacobian Score Normalized"),
    ("ref_head_importance", "Head Importance"),
    ("ref_head_importance_norm", "Head Importance Normalized"),
    ("ref_attention_confidence", "Head Confidence"),
    ("ref_attention_confidence_norm", "Head Confidence Normalized"),
    ("ref_softmax_confidence", "Head Softmax Confidence"),
    ("ref_softmax_confidence_norm", "Head Softmax Confidence Normalized"),
];
/// Scores of LPZero: column, and the file of its repository with a column lpzero.
const LPZERO: [(&str, &str); 2] = [
    ("ref_lpzero_1", "BERT_results_activation_2.csv"),
    ("ref_lpzero_2", "BERT_results_activation_lpzero.csv"),
];
/// Fields of a layer: column and key of the source.
const LAYER: [(&str, &str); 5] = [
    ("operation_type", "operation_type"),
    ("operation_parameter", "operation_parameter"),
    ("num_heads", "num_operation_heads"),
    ("ffn_dim", "feed_forward_dimension"),
    ("ffn_stack", "num_feed_forward"),
];

pub(super) struct TrainingFreeNas;

impl Importer for TrainingFreeNas {
    fn source(&self) -> &'static Source {
        &SOURCE
    }

    fn import(&self, clone: &Path, further: Option<&Path>) -> Result<Imported> {
        let (mut tables, mut absent) = (Vec::new(), Vec::new());
        let mut there = |names: &[&str], table: &str| {
            let missing = names.iter().filter(|name| !clone.join(name).exists());
            let before = absent.len();
            absent.extend(missing.map(|name| format!("{name} ({table})")));
            absent.len() == before
        };
        if there(&[NETWORKS, METRICS_OF_ALL], "flexibert-glue/architectures.jsonl") {
            tables.push(networks(clone, further)?);
        }
        if there(&REPEATS.map(|(_, file)| file), "flexibert-glue/metric_repeats.csv") {
            tables.push(repeats(clone)?);
        }
        if there(&[CHECKPOINTS], "flexibert-glue/pretraining_checkpoints.csv") {
            tables.push(checkpoints(&clone.join(CHECKPOINTS))?);
        }
        if there(&[cells::PARAMETERS, cells::RESULTS], "nasbench-nlp-ptb") {
            tables.extend(cells::tables(clone)?);
        }
        Imported::of(&SOURCE, clone, tables, absent)
    }
}

/// Every network with its scores and metrics.
fn networks(clone: &Path, further: Option<&Path>) -> Result<Table> {
    let path = clone.join(NETWORKS);
    let wrong = |message: String| Error::data(path.display().to_string(), message);
    let entries: Vec<Value> = serde_json::from_str(&file::text(&path)?)
        .map_err(|e| wrong(format!("is no list of networks in JSON: {e}")))?;
    let metrics = measured(&clone.join(METRICS_OF_ALL), &METRICS.map(|(_, name)| name))?;
    let metrics = Metrics { own: metrics, added: further.map(lpzero).transpose()?.unwrap_or_default() };
    let hints = Hints::of(BENCHMARK, PathBuf::new(), &[])?;
    let mut groups: HashMap<String, usize> = HashMap::new();
    let mut draft = Draft { derived: &["params_as_described", "params_as_trained"], ..Draft::default() };
    for (place, entry) in entries.iter().enumerate() {
        let id = entry.get("id").and_then(Value::as_u64);
        let name = id.map_or_else(|| format!("entry {place}"), |id| id.to_string());
        match network(entry, id, &metrics, &hints, &mut groups) {
            Ok(row) => draft.push(name, row),
            Err(reason) => draft.omit(name, reason),
        }
    }
    draft.finish("flexibert-glue/architectures.jsonl")
}

/// Values by network.
type Measured = HashMap<u64, Vec<Value>>;

/// Of every network: the published count of weights, then these columns.
fn measured(path: &Path, names: &[&str]) -> Result<Measured> {
    let sheet = Sheet::read(path)?;
    let id = sheet.column("ID")?;
    let columns = sheet.columns(std::iter::once("Number of Parameters").chain(names.iter().copied()))?;
    let mut found = HashMap::new();
    for record in &sheet.records {
        if let Ok(id) = sheet.cell(record, id)?.parse() {
            found.insert(id, sheet.cells(record, &columns)?.into_iter().map(number).collect());
        }
    }
    Ok(found)
}

/// The scores that LPZero published for the same networks, by column.
fn lpzero(clone: &Path) -> Result<Vec<(&'static str, Measured)>> {
    LPZERO.iter().map(|(column, file)| Ok((*column, measured(&clone.join(file), &["lpzero"])?))).collect()
}

/// What was published of the networks beside their scores.
struct Metrics {
    own: Measured,
    /// Columns of the further repository.
    added: Vec<(&'static str, Measured)>,
}

fn network(
    entry: &Value,
    id: Option<u64>,
    metrics: &Metrics,
    hints: &Hints,
    groups: &mut HashMap<String, usize>,
) -> Result<Map<String, Value>, String> {
    let id = id.ok_or("it has no id")?;
    let pointer = |path: &str| entry.pointer(path).ok_or_else(|| format!("it has no {path}"));
    if entry.get("completed") == Some(&Value::Bool(false)) {
        return Err("its training was not completed".to_owned());
    }
    let mut row = Map::new();
    let mut put = |key: &str, value: Value| row.insert(key.to_owned(), value);
    put("id", id.into());
    put("hidden_size", pointer("/hparams/model_hparam_overrides/hidden_size")?.clone());
    let layers = pointer("/hparams/model_hparam_overrides/nas_config/encoder_layers")?;
    let layers = layers.as_array().ok_or("its encoder_layers are no list")?;
    put("num_layers", layers.len().into());
    for (column, key) in LAYER {
        // A kernel size is a number in the source, other parameters are words.
        let plain = |value: &Value| match value {
            Value::Number(number) if column == "operation_parameter" => number.to_string().into(),
            value => value.clone(),
        };
        let values = layers.iter().map(|layer| layer.get(key).map(plain)).collect::<Option<Vec<Value>>>();
        put(column, values.ok_or_else(|| format!("a layer does not state {key}"))?.into());
    }
    for (column, key) in SCORES {
        put(column, pointer(&format!("/scores/{key}"))?.clone());
    }
    put("pretrain_seconds", pointer("/time_to_train")?.clone());
    let measured = metrics.own.get(&id).ok_or("BERT_results_activation.csv has no metrics of it")?;
    put("params_reference", measured[0].clone());
    let network = row::architecture(&row, hints).map_err(|e| e.to_string())?;
    let mode = |mode: &str| network.with("mode", &mode.into()).map_err(|e| e.to_string());
    let (described, trained): (Architecture, Architecture) = (mode("spec")?, mode("as-trained")?);
    // Networks that the published training code cannot tell apart are one group.
    let (new, key) = (groups.len(), trained.id());
    let group = *groups.entry(key).or_insert(new);
    let mut put = |key: &str, value: Value| row.insert(key.to_owned(), value);
    put("params_as_described", described.params().total.into());
    put("params_as_trained", trained.params().total.into());
    put("trained_group", group.into());
    for ((column, _), value) in METRICS.iter().zip(&measured[1..]) {
        put(column, value.clone());
    }
    for (column, values) in &metrics.added {
        let value = values.get(&id).and_then(|values| values.get(1)).cloned();
        put(column, value.ok_or_else(|| format!("LPZero published no {column} of it"))?);
    }
    Ok(row)
}

/// Metrics of some networks, several times.
fn repeats(clone: &Path) -> Result<Table> {
    let mut text = format!("varied,id,repeat,{}\n", METRICS.map(|(column, _)| column).join(","));
    let mut rows = 0;
    for (varied, name) in REPEATS {
        let sheet = Sheet::read(&clone.join(name))?;
        let id = sheet.column("ID")?;
        let columns = sheet.columns(METRICS.map(|(_, name)| name))?;
        let mut seen: HashMap<&str, usize> = HashMap::new();
        for record in sheet.records.iter().filter(|record| !sheet.is_header(record)) {
            let id = sheet.cell(record, id)?;
            let repeat = seen.entry(id).or_default();
            let _ = writeln!(text, "{varied},{id},{repeat},{}", sheet.cells(record, &columns)?.join(","));
            *repeat += 1;
            rows += 1;
        }
    }
    Ok(Table {
        name: "flexibert-glue/metric_repeats.csv".to_owned(),
        rows,
        counts: 0,
        omitted: Vec::new(),
        text,
    })
}

/// Scores after pre-training for more and more steps.
fn checkpoints(path: &Path) -> Result<Table> {
    let sheet = Sheet::read(path)?;
    // Here the mean stands last.
    let scores = SCORES[1..].iter().chain(&SCORES[..1]);
    let columns = sheet.columns(["id", "steps"].into_iter().chain(scores.clone().map(|(_, key)| *key)))?;
    let header: Vec<&str> = scores.map(|(column, _)| *column).collect();
    let mut text = format!("id,pretrain_steps,{}\n", header.join(","));
    for record in &sheet.records {
        let _ = writeln!(text, "{}", sheet.cells(record, &columns)?.join(","));
    }
    let name = "flexibert-glue/pretraining_checkpoints.csv".to_owned();
    Ok(Table { name, rows: sheet.records.len(), counts: 0, omitted: Vec::new(), text })
}
