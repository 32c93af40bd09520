//! What each family needs to become Python: its layers, its sizes, and transformers' own model of it if there is one.

mod bert;
mod flexibert;
mod gpt2;
mod llama;
mod pit;
mod recurrent;
mod shunted;
mod transformer_xl;
mod vit;

use super::python::Source;
use super::sizes::Sizes;
use super::stock::Stock;
use crate::architecture::{Adaptive, Architecture, Family};
use crate::error::{Error, Result};
use serde_json::{Map, Value, json};
use std::sync::RwLock;

/// A family that becomes Python.
pub trait ExportedFamily: Sync {
    /// The family.
    fn family(&self) -> &'static dyn Family;
    /// Its layers in Python.
    fn source(&self) -> Source;
    /// The sizes that the Python reads.
    fn sizes(&self, architecture: &Architecture) -> Sizes;
    /// The network as transformers has it, if layers are alike and it is the same function of the same parameters.
    fn stock(&self, _: &Architecture) -> Option<Stock> {
        None
    }
}

/// Every family that becomes Python.
const FAMILIES: &[&dyn ExportedFamily] = &[
    &vit::Exported,
    &pit::Exported,
    &shunted::Exported,
    &bert::Exported,
    &flexibert::Exported,
    &gpt2::Exported,
    &transformer_xl::Exported,
    &recurrent::Exported,
    &llama::Exported,
];

/// Families that users brought.
static BROUGHT: RwLock<Vec<&'static dyn ExportedFamily>> = RwLock::new(Vec::new());

/// Lets networks of a family of your own be exported as Python.
pub fn register(family: &'static dyn ExportedFamily) {
    BROUGHT.write().expect("no holder panics").push(family);
}

/// How an architecture's family becomes Python.
pub(super) fn of(architecture: &Architecture) -> Result<&'static dyn ExportedFamily> {
    let own = |known: &&'static dyn ExportedFamily| known.family().is(architecture.family());
    let found = FAMILIES.iter().copied().find(|known| own(known));
    found.or_else(|| BROUGHT.read().expect("no holder panics").iter().copied().find(own)).ok_or_else(|| {
        Error::option(
            architecture.family().to_string(),
            "has no layers in Python; it can be exported as json",
        )
    })
}

/// Chance to drop a branch of a vision transformer in training, rising to this at the last block.
const DROP_PATH: f64 = 0.1;
/// Chance to drop a number of a network of text in training.
const DROPOUT: f64 = 0.1;

fn object(value: Value) -> Map<String, Value> {
    if let Value::Object(map) = value { map } else { Map::new() }
}

/// The one value of all layers.
fn same(a: &Architecture, of: impl Fn(usize) -> u64) -> Option<u64> {
    let mut values = (0..a.positions()).map(of);
    let first = values.next()?;
    values.all(|value| value == first).then_some(first)
}

/// What decoders share: context, width, layers.
fn decoder(vocabulary: u64, context: u64, width: u64, layers: u64) -> Map<String, Value> {
    object(json!({
        "vocab_size": vocabulary, "max_position_embeddings": context, "hidden_size": width, "feature_size": width,
        "num_hidden_layers": layers,
    }))
}

fn adaptive(a: &Adaptive) -> Map<String, Value> {
    let (words, widths): (Vec<u64>, Vec<u64>) = a.tables().unzip();
    let clusters: Vec<u64> = a.clusters().map(|(words, _)| words).collect();
    object(json!({
        "table_words": words, "table_widths": widths, "cluster_words": clusters, "projected": a.projected(),
        "tied_projections": a.tied, "layer_norm_eps": 1e-5, "dropout": DROPOUT,
    }))
}
