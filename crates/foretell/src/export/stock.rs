//! Networks that transformers has by itself: its own configuration says all of them, no code is needed.

use super::family;
use crate::architecture::Architecture;
use serde_json::{Map, Value};

/// A network as a model of transformers.
pub struct Stock {
    /// `config.json`.
    pub config: Map<String, Value>,
    /// The class that loads it for its task.
    pub auto: &'static str,
}

impl Stock {
    /// A model of transformers by its configuration, a JSON object.
    pub fn new(config: Value, auto: &'static str) -> Option<Self> {
        let Value::Object(config) = config else { return None };
        Some(Stock { config, auto })
    }

    /// The network as transformers has it, if layers are alike and it is the same function of the same parameters.
    pub fn of(architecture: &Architecture) -> Option<Self> {
        family::of(architecture).ok()?.stock(architecture)
    }
}
