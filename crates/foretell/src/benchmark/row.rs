//! From a table's row to an architecture of one of our spaces, and the counts that the table publishes for it.

use super::table::Row;
use crate::architecture::{self, Architecture, Counter, Family, NetworkKind, Part};
use crate::error::{Error, Result};
use crate::space::{self, PRESETS, Space, preset};
use serde_json::{Map, Value};
use std::path::PathBuf;
use std::sync::Arc;

/// A count that a table publishes, beside ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Count {
    /// File and line.
    pub place: String,
    /// The table's column.
    pub column: String,
    /// What the table says.
    pub published: u64,
    /// What we count.
    pub ours: u64,
}

/// What no row says but the whole table implies.
pub(super) struct Hints {
    name: String,
    /// The folder of the table, which files that it names lie in.
    folder: PathBuf,
    vocabulary: Option<u64>,
}

/// Words of Penn Treebank, the vocabulary of recurrent cells where the table does not imply another.
const PTB_WORDS: u64 = 10_000;

/// Image data sets by the column that counts a network with their classes.
const DATA_SETS: [(&str, u64); 5] = [
    ("params_cifar100", 100),
    ("params_cifar10", 10),
    ("params_flowers", 102),
    ("params_chaoyang", 4),
    ("params_imagenet", 1000),
];

impl Hints {
    pub fn of(name: &str, folder: PathBuf, rows: &[Row]) -> Result<Self> {
        let mut hints = Hints { name: name.to_owned(), folder, vocabulary: None };
        // Cells do not say their vocabulary. Each word costs an embedding and a bias, so one published total does.
        if let Some(Row { place, values }) = rows.first()
            && is_recurrent(Reader::of(values, &hints).map_err(|e| e.at(place))?.family())
        {
            let cell = architecture(values, &hints).map_err(|e| e.at(place))?;
            let (embedding, own) = (cell.params().part(Part::Embedding) / PTB_WORDS, cell.params().total);
            let total = values.get("num_params").and_then(Value::as_u64).unwrap_or(own);
            let words =
                (total + PTB_WORDS * (embedding + 1)).checked_sub(own).map(|rest| rest / (embedding + 1));
            hints.vocabulary = words.filter(|words| *words > 0);
        }
        Ok(hints)
    }
}

/// Whether networks of a family carry states from word to word.
fn is_recurrent(family: &dyn Family) -> bool {
    family.card().kind == NetworkKind::Recurrent
}

/// The family that knows most columns of a row; of several, the one that the backbone or the name of the table names,
/// else the first.
fn guess(row: &Map<String, Value>, hints: &Hints) -> Result<Reader> {
    let known = |family: &&dyn Family| row.keys().filter(|key| family.knows(key)).count();
    let families = architecture::families();
    let most = families.iter().map(known).max().filter(|most| *most > 0);
    let backbone = row.get("backbone").and_then(Value::as_str).unwrap_or(&hints.name).replace('_', "-");
    let of_most = || families.iter().filter(|family| Some(known(family)) == most);
    let named = of_most().find(|family| backbone.contains(family.name()));
    let Some(family) = named.or_else(|| of_most().next()) else {
        let message = "says neither its 'family' nor its 'space', and no family knows its columns";
        return Err(Error::data("", message));
    };
    let presets = PRESETS.iter().filter_map(|(name, _)| preset(name).ok());
    let usual = presets.into_iter().find(|space| space.definition().family.is(*family));
    Ok(usual.map_or(Reader::Family(*family), Reader::Space))
}

/// What a row is read by: a space, or a family alone.
enum Reader {
    Space(Arc<dyn Space>),
    Family(&'static dyn Family),
}

impl Reader {
    /// What the row says, in its columns `space` (a name, or a file next to the table) and `family`; else a guess.
    fn of(row: &Map<String, Value>, hints: &Hints) -> Result<Self> {
        let text = |key: &str| row.get(key).and_then(Value::as_str);
        let family = text("family").map(architecture::family).transpose()?;
        let space = match text("space") {
            Some(file) if file.ends_with(".toml") => {
                // A space file lies beside the table, or where the row says.
                let beside = hints.folder.join(file);
                let path = if beside.exists() { beside } else { PathBuf::from(file) };
                Some(space::open(&path.display().to_string())?)
            }
            Some(name) => match space::open(name) {
                // The name of a space that is not at hand is a label; the family says how to read the row.
                Err(Error::Unknown { .. }) if family.is_some() => None,
                found => Some(found?),
            },
            None => None,
        };
        match (space, family) {
            (Some(space), Some(family)) if !space.definition().family.is(family) => {
                let (own, said) = (space.definition().family.name(), family.name());
                Err(Error::data(
                    "",
                    format!("says family {said}, but its space {} is of {own}", space.name()),
                ))
            }
            (Some(space), _) => Ok(Reader::Space(space)),
            (None, Some(family)) => Ok(Reader::Family(family)),
            (None, None) => guess(row, hints),
        }
    }

    fn family(&self) -> &'static dyn Family {
        match self {
            Reader::Space(space) => space.definition().family,
            Reader::Family(family) => *family,
        }
    }

    fn read(&self, mut genes: Map<String, Value>) -> Result<Architecture> {
        match self {
            Reader::Space(space) => space.read(&genes),
            Reader::Family(family) => {
                genes.insert("family".into(), family.name().into());
                space::read_architecture(&Value::Object(genes))
            }
        }
    }
}

/// Whether a row says what it is, in words.
pub(super) fn says(row: &Map<String, Value>) -> bool {
    ["family", "space"].iter().any(|key| row.get(*key).is_some_and(Value::is_string))
}

/// The architecture that a row describes.
pub(super) fn architecture(row: &Map<String, Value>, hints: &Hints) -> Result<Architecture> {
    let reader = Reader::of(row, hints)?;
    let family = reader.family();
    let mut genes: Map<String, Value> = row
        .iter()
        .filter(|(key, _)| family.knows(key))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    family.complete(&mut genes);
    if is_recurrent(family)
        && let Some(words) = hints.vocabulary
    {
        genes.entry("vocab_size").or_insert(words.into());
    }
    if let Some((_, classes)) = DATA_SETS.iter().find(|(column, _)| row.contains_key(*column))
        && family.knows("num_classes")
    {
        genes.entry("num_classes").or_insert((*classes).into());
    }
    reader.read(genes).map_err(|e| match says(row) {
        true => e,
        false => Error::data(
            "",
            format!("read as {family} by its columns, which know no other family better: {e}"),
        ),
    })
}

/// Every count the row publishes, beside ours.
pub(super) fn counts(place: &str, row: &Map<String, Value>, architecture: &Architecture) -> Vec<Count> {
    let in_mode = |mode: &str| Some(architecture.with("mode", &mode.into()).ok()?.params().total);
    let counted = counted_as(row, architecture);
    let params = counted.as_ref().unwrap_or(architecture).params();
    let ours = |column: &str| match column {
        "params_reference" => in_mode("published"),
        "params_as_described" => in_mode("spec"),
        "params_as_trained" => in_mode("as-trained"),
        "params_decoder" => Some(params.decoder()),
        "params_attention" => Some(params.part(Part::Attention)),
        "params_ffn" => Some(params.part(Part::Ffn)),
        "params_embedding" => Some(params.part(Part::Embedding)),
        "params_total" | "num_params" | "params" => Some(params.total),
        "flops" => architecture.flops(Counter::Published),
        _ => {
            let (_, classes) = DATA_SETS.iter().find(|(known, _)| *known == column)?;
            Some(architecture.with("num_classes", &(*classes).into()).ok()?.params().total)
        }
    };
    let count = |(column, value): (&String, &Value)| {
        let published = value.as_u64()?;
        Some(Count { place: place.to_owned(), column: column.clone(), published, ours: ours(column)? })
    };
    row.iter().filter_map(count).collect()
}

/// A row whose published parts are those of another family is counted as that one.
fn counted_as(row: &Map<String, Value>, architecture: &Architecture) -> Option<Architecture> {
    let attention = row.get("params_attention")?.as_u64()?;
    if architecture.params().part(Part::Attention) == attention {
        return None;
    }
    let mut object = architecture.to_json();
    object.insert("family".into(), architecture.family().miscounted_as()?.name().into());
    let other = space::read_architecture(&Value::Object(object)).ok()?;
    (other.params().part(Part::Attention) == attention).then_some(other)
}
