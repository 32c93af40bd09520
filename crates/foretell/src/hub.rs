//! Configurations of transformers → architectures: the common encoders and decoders that the families express.
//!
//! What a network cannot express is refused by name. Keys that do not change the network are passed over.

use crate::architecture::{Architecture, family};
use crate::catalogue;
use crate::error::{Error, Result};
use crate::space;
use serde_json::{Map, Value, json};
use std::path::Path;

/// Models that are understood.
const TYPES: [&str; 6] = ["gpt2", "bert", "vit", "llama", "mistral", "qwen2"];
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
    let (name, object) = match kind {
        "gpt2" => ("gpt2", config.gpt2()?),
        "bert" => ("bert", config.bert()?),
        "vit" => ("vit", config.vit()?),
        "llama" | "mistral" | "qwen2" => ("llama", config.llama()?),
        other => return Err(catalogue::unknown("model_type", other, TYPES)),
    };
    let Value::Object(object) = object else { unreachable!("configurations become objects") };
    Architecture::from_json(LABEL.into(), family(name)?, None, &object)
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

    fn gpt2(&self) -> Result<Value> {
        self.only("activation_function", &["gelu_new", "gelu_pytorch_tanh"].map(Value::from))?;
        self.only("layer_norm_epsilon", &[json!(1e-5)])?;
        for (key, usual) in [
            ("scale_attn_weights", true),
            ("tie_word_embeddings", true),
            ("scale_attn_by_inverse_layer_idx", false),
            ("add_cross_attention", false),
        ] {
            self.only(key, &[usual.into()])?;
        }
        let (width, layers) = (self.number("n_embd", 768)?, self.number("n_layer", 12)?);
        let keys = [("n_head", self.or("n_head", 12)), ("n_inner", self.or("n_inner", 4 * width))];
        let columns = self.layers(&keys, layers)?;
        Ok(json!({
            "vocab_size": self.number("vocab_size", 50257)?, "context_len": self.number("n_positions", 1024)?,
            "d_model": width, "n_layer": layers, "head": "plain", "cutoffs": [], "n_head": columns[0], "d_inner": columns[1],
        }))
    }

    fn bert(&self) -> Result<Value> {
        self.only("hidden_act", &["gelu".into()])?;
        self.only("layer_norm_eps", &[json!(1e-12)])?;
        self.only("position_embedding_type", &["absolute".into()])?;
        self.only("is_decoder", &[false.into()])?;
        self.only("add_cross_attention", &[false.into()])?;
        let layers = self.number("num_hidden_layers", 12)?;
        let keys = [
            ("num_attention_heads", self.or("num_attention_heads", 12)),
            ("intermediate_size", self.or("intermediate_size", 3072)),
        ];
        let columns = self.layers(&keys, layers)?;
        Ok(json!({
            "vocab_size": self.number("vocab_size", 30522)?, "context_len": self.number("max_position_embeddings", 512)?,
            "type_vocab_size": self.number("type_vocab_size", 2)?, "hidden_size": self.number("hidden_size", 768)?,
            "num_layers": layers, "num_heads": columns[0], "ffn_dim": columns[1],
        }))
    }

    fn vit(&self) -> Result<Value> {
        self.only("hidden_act", &["gelu".into()])?;
        self.only("qkv_bias", &[true.into()])?;
        self.only("layer_norm_eps", &[json!(1e-12), json!(1e-6), json!(1e-5)])?;
        let eps = match self.get("layer_norm_eps").and_then(Value::as_f64) {
            Some(1e-5) => "1e-5",
            Some(1e-6) => "1e-6",
            _ => "1e-12",
        };
        let (width, layers) = (self.number("hidden_size", 768)?, self.number("num_hidden_layers", 12)?);
        let keys = [
            ("num_attention_heads", self.or("num_attention_heads", 12)),
            ("intermediate_size", self.or("intermediate_size", 3072)),
        ];
        let mut columns = self.layers(&keys, layers)?;
        for ffn in &mut columns[1] {
            // A ratio in thousandths whose product, rounded down, is this width.
            let thousandths =
                ffn.as_u64().filter(|ffn| *ffn < 1 << 40).map(|ffn| (1000 * ffn).div_ceil(width.max(1)));
            match thousandths.filter(|ratio| Some(ratio * width / 1000) == ffn.as_u64()) {
                Some(ratio) => *ffn = json!(ratio as f64 / 1000.0),
                None => {
                    return self.refuse("intermediate_size", ffn, "thousandths of hidden_size, rounded down");
                }
            }
        }
        let labels = self.get("id2label").and_then(Value::as_object).map(Map::len);
        let classes = labels.map_or(self.number("num_labels", 2), |n| Ok(n as u64))?;
        Ok(json!({
            "image_size": self.number("image_size", 224)?, "patch_size": self.number("patch_size", 16)?,
            "channels": self.number("num_channels", 3)?, "num_classes": classes, "embed_dim": width, "depth": layers,
            "pooling": "class", "norm_eps": eps, "num_heads": columns[0], "mlp_ratio": columns[1],
        }))
    }

    /// LLaMA, Mistral and Qwen2 differ in what they leave unsaid.
    fn llama(&self) -> Result<Value> {
        self.only("hidden_act", &["silu".into()])?;
        self.only("rms_norm_eps", &[json!(1e-6), json!(1e-5)])?;
        self.only("mlp_bias", &[false.into()])?;
        self.only("attention_bias", &[false.into()])?;
        self.only("use_sliding_window", &[false.into()])?;
        self.only("pretraining_tp", &[1.into()])?;
        let (ffn, groups, context) = match self.kind {
            "mistral" => (14336, Some(8), 131_072),
            "qwen2" => (22016, Some(32), 32_768),
            _ => (11008, None, 2048),
        };
        let rope = self.get("rope_parameters").or(self.get("rope_scaling"));
        let scaled = rope
            .and_then(|rope| rope.get("rope_type").or(rope.get("type")))
            .filter(|kind| *kind != "default");
        if let Some(kind) = scaled {
            return self.refuse("rope_scaling", kind, "plain rotary positions only");
        }
        let theta = rope.and_then(|rope| rope.get("rope_theta")).or(self.get("rope_theta"));
        let theta = theta.cloned().unwrap_or_else(|| 10_000.into());
        let context = self.number("max_position_embeddings", context)?;
        // Up to its window a sliding one sees all there is.
        let window =
            if self.kind == "mistral" { self.get("sliding_window").and_then(Value::as_u64) } else { None };
        let heads = self.or("num_attention_heads", 32);
        let groups = self.get("num_key_value_heads").cloned().or(groups.map(Value::from));
        let layers = self.number("num_hidden_layers", 32)?;
        let keys = [
            ("num_attention_heads", heads.clone()),
            ("num_key_value_heads", groups.unwrap_or(heads)),
            ("intermediate_size", self.or("intermediate_size", ffn)),
        ];
        let columns = self.layers(&keys, layers)?;
        let eps = self.get("rms_norm_eps").and_then(Value::as_f64).unwrap_or(1e-6);
        Ok(json!({
            "vocab_size": self.number("vocab_size", if self.kind == "qwen2" { 151_936 } else { 32_000 })?,
            "context_len": window.map_or(context, |window| window.min(context)), "hidden_size": self.number("hidden_size", 4096)?,
            "num_layers": layers, "head_dim": self.get("head_dim"), "attention_bias": self.kind == "qwen2",
            "tie_embeddings": self.or("tie_word_embeddings", false), "rope_theta": theta,
            "norm_eps": if eps == 1e-5 { "1e-5" } else { "1e-6" }, "num_heads": columns[0], "num_kv_heads": columns[1],
            "ffn_dim": columns[2],
        }))
    }
}
