//! Archai, branch neurips-lts: GPT-2 and Transformer-XL on WikiText-103, and the Pareto sets of LiteTransformerSearch.

use super::{Draft, Imported, Importer, Source, Table, yaml};
use crate::error::{Error, Result};
use crate::file;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

const SOURCE: Source = Source {
    name: "archai",
    repository: "https://github.com/microsoft/archai",
    branch: Some("neurips-lts"),
    tables: "gpt2-wikitext103, transformer-xl-wikitext103 (and homogeneous), lts-pareto",
    further: None,
};

/// Where the clone keeps its logs.
const LOGS: &str = "archai/nlp/nas/saved_logs";
/// Folders of networks drawn at random, and their tables.
const RANDOM: [(&str, &str); 3] = [
    ("random_GPT2_wt103", "gpt2-wikitext103/architectures.jsonl"),
    ("random_TransXL_wt103", "transformer-xl-wikitext103/architectures.jsonl"),
    ("random_TransXL_wt103_homogeneous", "transformer-xl-wikitext103/homogeneous.jsonl"),
];
const PARETO: &str = "lts-pareto/architectures.jsonl";
/// Names of backbones in folders and in our table.
const BACKBONES: [(&str, &str); 2] = [("GPT2", "gpt2"), ("TransXL", "transformer_xl")];
const DEVICES: [&str; 3] = ["arm", "corei7", "titanxp"];

/// Results of a random network: column, key of the summary, and whether a summary without it has no such column.
const RESULTS: [(&str, &str, bool); 4] = [
    ("valid_ppl", "valid_ppl", false),
    ("test_ppl", "test_ppl", false),
    ("test_word_ppl", "test_word_ppl", true),
    ("train_seconds", "train_elapsed", false),
];
/// Counts: column and key of the summary.
const COUNTS: [(&str, &str); 5] = [
    ("params_total", "total"),
    ("params_decoder", "nonembedding"),
    ("params_attention", "Attn"),
    ("params_ffn", "FFN"),
    ("params_embedding", "AdaEmb"),
];
/// Counts that some training jobs logged in the configuration.
const LOGGED: [(&str, &str); 2] =
    [("params_total_logged", "n_all_param"), ("params_decoder_logged", "n_nonemb_param")];
/// Fields of a network that are one number.
const FIELDS: [(&str, &str); 4] =
    [("num_layers", "n_layer"), ("model_dim", "d_model"), ("embed_dim", "d_embed"), ("embed_div", "div_val")];
/// Fields of a network with one number per layer, or one for all.
const PER_LAYER: [(&str, &str); 2] = [("num_heads", "n_head"), ("ffn_dim", "d_inner")];
const REST: [(&str, &str); 2] = [("vocab_size", "n_token"), ("context_len", "tgt_len")];

pub(super) struct Archai;

impl Importer for Archai {
    fn source(&self) -> &'static Source {
        &SOURCE
    }

    fn import(&self, clone: &Path, _: Option<&Path>) -> Result<Imported> {
        let logs = clone.join(LOGS);
        let (mut tables, mut absent) = (Vec::new(), Vec::new());
        for (folder, table) in RANDOM {
            match logs.join(folder) {
                path if path.is_dir() => tables.push(random(&path, table)?),
                _ => absent.push(format!("{LOGS}/{folder} ({table})")),
            }
        }
        let mut pareto = Draft::default();
        for (short, backbone) in BACKBONES {
            for device in DEVICES {
                let folder = format!("pareto_{short}_lm1b_{device}");
                match logs.join(&folder) {
                    path if path.is_dir() => searched(&path, backbone, device, &mut pareto)?,
                    _ => absent.push(format!("{LOGS}/{folder} ({PARETO})")),
                }
            }
        }
        if !pareto.rows.is_empty() || !pareto.omitted.is_empty() {
            tables.push(pareto.finish(PARETO)?);
        }
        Imported::of(&SOURCE, clone, tables, absent)
    }
}

/// A folder of networks that were drawn at random.
fn random(folder: &Path, table: &str) -> Result<Table> {
    let (results, counts) = (summary(folder, "ppl")?, summary(folder, "params")?);
    let anybody = |key: &str| results.values().any(|one| one.get(key).is_some());
    let columns: Vec<_> = RESULTS.iter().filter(|(.., optional)| !optional).collect();
    let columns: Vec<_> =
        RESULTS.iter().filter(|column| columns.contains(column) || anybody(column.1)).collect();
    let mut draft = Draft::default();
    for config in configurations(folder, 2)? {
        let Config { id, values, .. } = &config;
        let result = results.get(id).cloned().unwrap_or_default();
        let row = config.row(Map::new()).and_then(|mut row| {
            for (column, key, _) in &columns {
                row.insert((*column).to_owned(), result.get(*key).cloned().unwrap_or_default());
            }
            put_counts(&mut row, counts.get(id))?;
            for (column, key) in LOGGED {
                if let Some(count) = values.get(key) {
                    row.insert(column.to_owned(), count.clone());
                }
            }
            Ok(row)
        });
        match row {
            Ok(row) => draft.push(id, row),
            Err(reason) => draft.omit(id, reason),
        }
    }
    draft.finish(table)
}

/// A folder of networks that a search picked for a device.
fn searched(folder: &Path, backbone: &str, device: &str, draft: &mut Draft) -> Result<()> {
    let measured = [("lm1b_ppl", "ppl"), ("latency_ms", "latency"), ("memory_mb", "memory")];
    let measured = measured.map(|(column, name)| summary(folder, name).map(|found| (column, found)));
    let counts = summary(folder, "params")?;
    let mut columns = Vec::new();
    for found in measured {
        columns.push(found?);
    }
    for config in configurations(folder, 1)? {
        let name = format!("{backbone} {device} {}", config.id);
        let first = [("backbone", backbone), ("device", device)];
        let first = first.map(|(key, value)| (key.to_owned(), Value::from(value)));
        let row = config.row(first.into_iter().collect()).and_then(|mut row| {
            for (column, values) in &columns {
                row.insert((*column).to_owned(), values.get(&config.id).cloned().unwrap_or_default());
            }
            put_counts(&mut row, counts.get(&config.id))?;
            Ok(row)
        });
        match row {
            Ok(row) => draft.push(name, row),
            Err(reason) => draft.omit(name, reason),
        }
    }
    Ok(())
}

/// The summary of a folder by the ids of its networks.
fn summary(folder: &Path, of: &str) -> Result<Map<String, Value>> {
    let path = folder.join(format!("{of}_summary.yaml"));
    yaml::mapping(&path.display().to_string(), &file::text(&path)?)
}

/// The counts of a summary, which are written as floats.
fn put_counts(row: &mut Map<String, Value>, counts: Option<&Value>) -> Result<(), String> {
    let counts = counts.ok_or("params_summary.yaml does not count it")?;
    for (column, key) in COUNTS {
        let count =
            counts.get(key).and_then(Value::as_f64).filter(|count| *count >= 0.0 && count.fract() == 0.0);
        let count = count.ok_or_else(|| format!("params_summary.yaml gives no whole number as its {key}"))?;
        row.insert(column.to_owned(), (count as u64).into());
    }
    Ok(())
}

/// The configuration of a network.
struct Config {
    id: String,
    values: Map<String, Value>,
}

impl Config {
    /// The row of the network as far as the configuration tells it, after `first`.
    fn row(&self, first: Map<String, Value>) -> Result<Map<String, Value>, String> {
        let mut row = first;
        row.insert("id".to_owned(), self.id.as_str().into());
        for (column, key) in FIELDS {
            row.insert(column.to_owned(), self.field(key)?.clone());
        }
        let layers = row["num_layers"].as_u64().ok_or("its n_layer is not a whole number")?;
        for (column, key) in PER_LAYER {
            let value = match self.field(key)? {
                list @ Value::Array(_) => list.clone(),
                one => (0..layers.min(1000)).map(|_| one.clone()).collect(),
            };
            row.insert(column.to_owned(), value);
        }
        for (column, key) in REST {
            row.insert(column.to_owned(), self.field(key)?.clone());
        }
        Ok(row)
    }

    fn field(&self, key: &str) -> Result<&Value, String> {
        self.values.get(key).ok_or_else(|| format!("its model_config.yaml does not state {key}"))
    }
}

/// Every configuration below a folder, in the order of the numbers in its path; ids are the names of so many folders.
fn configurations(folder: &Path, levels: usize) -> Result<Vec<Config>> {
    let mut folders = vec![(Vec::new(), folder.to_owned())];
    for _ in 0..levels {
        let mut inside = Vec::new();
        for (id, path) in folders {
            inside.extend(
                subfolders(&path)?.into_iter().map(|(name, path)| ([id.clone(), vec![name]].concat(), path)),
            );
        }
        folders = inside;
    }
    let mut found = Vec::new();
    for (id, path) in folders {
        let file = path.join("model_config.yaml");
        if file.exists() {
            let values = yaml::mapping(&file.display().to_string(), &file::text(&file)?)?;
            found.push(Config { id: id.join("_"), values });
        }
    }
    if found.is_empty() {
        return Err(Error::data(folder.display().to_string(), "holds no model_config.yaml"));
    }
    Ok(found)
}

/// The folders in a folder, by the number in their name.
fn subfolders(folder: &Path) -> Result<Vec<(String, PathBuf)>> {
    let entries = std::fs::read_dir(folder).map_err(|source| Error::read(folder, source))?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_dir());
    let named = paths.filter_map(|path| Some((path.file_name()?.to_str()?.to_owned(), path)));
    let mut found: Vec<(String, PathBuf)> = named.collect();
    let number = |name: &str| name.trim_start_matches(|c: char| !c.is_ascii_digit()).parse::<u64>().ok();
    found.sort_by_key(|(name, _)| (number(name), name.clone()));
    Ok(found)
}
