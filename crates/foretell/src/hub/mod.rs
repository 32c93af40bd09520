//! Configurations of transformers → architectures: the common encoders and decoders that the families express.
//!
//! What a network cannot express is refused by name. Keys that do not change the network are passed over.

mod bert;
mod gpt2;
mod llama;
mod vit;

use crate::architecture::{Architecture, Family};
use crate::catalogue;
use crate::error::{Error, Result};
use crate::space;
use serde_json::{Map, Value};
use std::path::Path;

/// How the configurations of some models become architectures of a family.
struct Reader {
    /// The `model_type` of each.
    types: &'static [&'static str],
    family: &'static dyn Family,
    read: fn(&Config) -> Result<Value>,
}

/// Every model that is understood.
const READERS: [Reader; 4] = [gpt2::READER, bert::READER, vit::READER, llama::READER];
/// The label of what comes from there.
const LABEL: &str = "huggingface";

/// Whether this JSON is a configuration of transformers.
pub fn is_config(value: &Value) -> bool {
    value.get("model_type").is_some() && value.get("family").is_none() && value.get("space").is_none()
}

/// The architecture that a `config.json` describes; `folder` is where it lies.
pub fn read(config: &Value, folder: &Path) -> Result<Architecture> {
    let kind = config.get("model_type").and_then(Value::as_str).unwrap_or_default();
    if kind.starts_with("foretell_") {
        let path = folder.join("architecture.json");
        let text = crate::file::text(&path)?;
        let place = || path.display().to_string();
        let value =
            serde_json::from_str(&text).map_err(|e| Error::parse(place(), format!("is not JSON: {e}")))?;
        return space::read_architecture(&value).map_err(|e| e.at(place()));
    }
    let config =
        Config { kind, map: config.as_object().ok_or_else(|| Error::parse("", "is not a JSON object"))? };
    let reader = READERS.iter().find(|reader| reader.types.contains(&kind));
    let types = || READERS.iter().flat_map(|reader| reader.types.iter().copied());
    let reader = reader.ok_or_else(|| catalogue::unknown("model_type", kind, types()))?;
    let object = (reader.read)(&config)?;
    let Value::Object(object) = object else { unreachable!("configurations become objects") };
    Architecture::from_json(LABEL.into(), reader.family, None, &object)
}

struct Config<'c> {
    kind: &'c str,
    map: &'c Map<String, Value>,
}

impl Config<'_> {
    fn get(&self, key: &str) -> Option<&Value> {
        self.map.get(key).filter(|value| !value.is_null())
    }

    fn refuse<T>(&self, key: &str, value: &Value, known: &str) -> Result<T> {
        let message = format!("is {value}, which the {} of this program cannot express: {known}", self.kind);
        Err(Error::parse(key, message))
    }

    /// A value, or what transformers takes where nothing is said.
    fn or(&self, key: &str, default: impl Into<Value>) -> Value {
        self.get(key).cloned().unwrap_or_else(|| default.into())
    }

    fn number(&self, key: &str, default: u64) -> Result<u64> {
        let value = self.or(key, default);
        value.as_u64().map_or_else(|| self.refuse(key, &value, "a whole number is needed"), Ok)
    }

    /// Refuses any value of a key but these, the first being the default.
    fn only(&self, key: &str, known: &[Value]) -> Result<()> {
        match self.get(key).filter(|value| !known.contains(value)) {
            None => Ok(()),
            Some(value) => {
                let known: Vec<String> = known.iter().map(Value::to_string).collect();
                self.refuse(key, value, &format!("only {}", known.join(" or ")))
            }
        }
    }

    /// The value of each layer: the global one, or that of `per_layer_config`.
    fn layers(&self, keys: &[(&str, Value)], layers: u64) -> Result<Vec<Vec<Value>>> {
        if layers > u64::from(crate::architecture::MAX_LAYERS) {
            return self.refuse("num_hidden_layers", &layers.into(), "too many layers");
        }
        let mut columns: Vec<Vec<Value>> =
            keys.iter().map(|(_, value)| vec![value.clone(); layers as usize]).collect();
        let Some(special) = self.get("per_layer_config") else { return Ok(columns) };
        for (layer, changes) in special.as_object().into_iter().flatten() {
            let place = layer.parse::<usize>().ok().filter(|layer| (*layer as u64) < layers);
            for (key, value) in changes.as_object().into_iter().flatten() {
                match (place, keys.iter().position(|(known, _)| known == key)) {
                    (Some(place), Some(column)) => columns[column][place] = value.clone(),
                    _ => {
                        return self.refuse(
                            &format!("per_layer_config.{layer}.{key}"),
                            value,
                            "not per layer",
                        );
                    }
                }
            }
        }
        Ok(columns)
    }
}
