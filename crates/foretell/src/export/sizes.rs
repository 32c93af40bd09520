//! The sizes of a network as its Python reads them: final whole numbers, never ratios.

use serde_json::{Map, Value};

/// Sizes of the whole network, and of each layer where layers differ.
pub struct Sizes {
    /// Sizes of the whole network.
    pub whole: Map<String, Value>,
    /// Sizes of each layer; empty where layers do not differ.
    pub layers: Vec<Map<String, Value>>,
}

impl Sizes {
    /// From the sizes of the whole network and of each layer, each a JSON object.
    pub fn new(whole: Value, layers: Vec<Value>) -> Self {
        let object = |value: Value| if let Value::Object(map) = value { map } else { Map::new() };
        Sizes { whole: object(whole), layers: layers.into_iter().map(object).collect() }
    }

    /// What may differ from layer to layer.
    pub fn per_layer(&self) -> Vec<&str> {
        self.layers.first().into_iter().flat_map(|layer| layer.keys().map(String::as_str)).collect()
    }

    /// The form of `config.json`: the commonest value of each size, and `per_layer_config` where a layer's differs.
    pub fn config(&self) -> Map<String, Value> {
        let mut config = self.whole.clone();
        let mut special = vec![Map::new(); self.layers.len()];
        for key in self.per_layer() {
            let values: Vec<&Value> = self.layers.iter().map(|layer| &layer[key]).collect();
            let count = |value: &Value| values.iter().filter(|other| **other == value).count();
            // The first of the commonest.
            let common = values.iter().rev().max_by_key(|value| count(value)).expect("there is a layer");
            for (layer, value) in special.iter_mut().zip(&values).filter(|(_, value)| *value != common) {
                layer.insert(key.to_owned(), (*value).clone());
            }
            config.insert(key.to_owned(), (*common).clone());
        }
        let special: Map<String, Value> = (0..)
            .zip(special)
            .filter(|(_, layer)| !layer.is_empty())
            .map(|(i, layer): (usize, _)| (i.to_string(), Value::Object(layer)))
            .collect();
        if !special.is_empty() {
            config.insert("per_layer_config".into(), Value::Object(special));
        }
        config
    }

    /// The same as one Python dictionary.
    pub fn literal(&self) -> String {
        let mut whole = self.whole.clone();
        if !self.layers.is_empty() {
            whole.insert("layers".into(), self.layers.iter().cloned().map(Value::Object).collect());
        }
        let entry = |(key, value): (&String, &Value)| match (key.as_str(), value) {
            ("layers" | "nodes", Value::Array(rows)) => {
                let rows: String = rows.iter().map(|row| format!("        {},\n", literal(row))).collect();
                format!("    \"{key}\": [\n{rows}    ],\n")
            }
            _ => format!("    \"{key}\": {},\n", literal(value)),
        };
        format!("{{\n{}}}", whole.iter().map(entry).collect::<String>())
    }
}

/// A value in Python's notation. Texts are names of ours, so they need no escape that JSON has not.
fn literal(value: &Value) -> String {
    let list = |items: Vec<String>| items.join(", ");
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(flag) => if *flag { "True" } else { "False" }.to_owned(),
        Value::Array(items) => format!("[{}]", list(items.iter().map(literal).collect())),
        Value::Object(map) => {
            format!(
                "{{{}}}",
                list(map.iter().map(|(key, value)| format!("\"{key}\": {}", literal(value))).collect())
            )
        }
        other => other.to_string(),
    }
}
