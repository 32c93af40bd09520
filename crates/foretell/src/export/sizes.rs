//! The sizes of a network as its Python reads them: final whole numbers, never ratios.

use crate::architecture::{
    Adaptive, Architecture, Bert, FlexiBert, Gpt2, Input, Llama, Mixer, Pit, Recurrent, Shunted,
    TransformerXl, Vit,
};
use serde_json::{Map, Value, json};

/// Sizes of the whole network, and of each layer where layers differ.
pub struct Sizes {
    pub whole: Map<String, Value>,
    pub layers: Vec<Map<String, Value>>,
}

fn object(value: Value) -> Map<String, Value> {
    if let Value::Object(map) = value { map } else { Map::new() }
}

impl Sizes {
    pub fn of(a: &Architecture) -> Self {
        let (whole, layers) = match a.family().name() {
            "vit" => vit(Vit(a)),
            "pit" => (pit(Pit(a)), Vec::new()),
            "shunted" => (shunted(Shunted(a)), Vec::new()),
            "bert" => bert(Bert(a)),
            "flexibert" => flexibert(FlexiBert(a)),
            "gpt2" => gpt2(Gpt2(a)),
            "transformer-xl" => transformer_xl(TransformerXl(a)),
            "recurrent" => (recurrent(Recurrent(a)), Vec::new()),
            "llama" => llama(Llama(a)),
            other => unreachable!("{other} is in the catalogue of families but has no sizes"),
        };
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

/// Chance to drop a branch of a vision transformer in training, rising to this at the last block.
const DROP_PATH: f64 = 0.1;
/// Chance to drop a number of a network of text in training.
const DROPOUT: f64 = 0.1;

fn vit(v: Vit) -> (Value, Vec<Value>) {
    let layer = |i: usize| json!({"num_attention_heads": v.num_heads(i), "attention_size": v.q(i), "intermediate_size": v.ffn(i)});
    let whole = json!({
        "image_size": v.image_size(), "patch_size": v.patch_size(), "num_channels": v.channels(), "num_labels": v.num_classes(),
        "hidden_size": v.embed_dim(), "num_hidden_layers": v.depth(), "relative_position": v.relative_position() == 1,
        "max_relative_position": v.max_relative_position(), "absolute_position": v.abs_pos() == 1,
        "pooling": if v.pooling() == 0 { "mean" } else { "class" }, "layer_norm_eps": v.eps(), "drop_path_rate": DROP_PATH,
    });
    (whole, (0..v.depth() as usize).map(layer).collect())
}

fn pit(v: Pit) -> Value {
    let stages = |f: &dyn Fn(usize) -> u64| (0..3).map(f).collect::<Vec<_>>();
    json!({
        "image_size": v.image_size(), "patch_size": v.patch_size(), "stride": v.stride(), "num_channels": v.channels(),
        "num_labels": v.num_classes(), "hidden_sizes": stages(&|s| v.width(s)), "num_attention_heads": stages(&|s| v.num_heads(s)),
        "intermediate_sizes": stages(&|s| v.ffn(s)), "depths": stages(&|s| v.depth(s)), "layer_norm_eps": 1e-6,
        "drop_path_rate": DROP_PATH,
    })
}

fn shunted(v: Shunted) -> Value {
    let stages = |f: &dyn Fn(usize) -> u64| (0..4).map(f).collect::<Vec<_>>();
    json!({
        "image_size": v.image_size(), "num_channels": v.channels(), "num_labels": v.num_classes(), "stem_convs": v.stem_convs(),
        "hidden_sizes": stages(&|s| v.width(s)), "num_attention_heads": stages(&|s| v.num_heads(s)),
        "intermediate_sizes": stages(&|s| v.ffn(s)), "sr_ratios": stages(&|s| v.sr_ratio(s)), "depths": stages(&|s| v.depth(s)),
        "layer_norm_eps": 1e-6, "drop_path_rate": DROP_PATH,
    })
}

fn bert(v: Bert) -> (Value, Vec<Value>) {
    let layer = |i: usize| json!({"num_attention_heads": v.num_heads(i), "intermediate_size": v.ffn_dim(i)});
    let whole = json!({
        "vocab_size": v.vocab_size(), "max_position_embeddings": v.context_len(), "type_vocab_size": v.type_vocab_size(),
        "embedding_size": v.hidden_size(), "hidden_size": v.hidden_size(), "num_hidden_layers": v.num_layers(),
        "layer_norm_eps": 1e-12, "dropout": DROPOUT,
    });
    (whole, (0..v.num_layers() as usize).map(layer).collect())
}

fn flexibert(v: FlexiBert) -> (Value, Vec<Value>) {
    let layer = |i: usize| {
        let (mixer, kernel) = match v.mixer(i) {
            Mixer::Attention => ("attention", 0),
            Mixer::Multiplicative => ("multiplicative", 0),
            Mixer::Fourier => ("fourier", 0),
            Mixer::Cosine => ("cosine", 0),
            Mixer::Span { kernel } => ("span", kernel),
        };
        json!({"mixer": mixer, "kernel_size": kernel, "num_attention_heads": v.num_heads(i),
            "intermediate_sizes": v.ffn(i).collect::<Vec<_>>()})
    };
    let whole = json!({
        "vocab_size": v.vocab_size(), "max_position_embeddings": v.context_len(), "type_vocab_size": v.type_vocab_size(),
        "embedding_size": v.embedding_size(), "hidden_size": v.h(), "num_hidden_layers": v.num_layers(),
        "layer_norm_eps": 1e-12, "dropout": DROPOUT,
    });
    (whole, (0..v.num_layers() as usize).map(layer).collect())
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

fn gpt2(v: Gpt2) -> (Value, Vec<Value>) {
    let layer = |i: usize| json!({"num_attention_heads": v.n_head(i), "intermediate_size": v.d_inner(i)});
    let mut whole = decoder(v.vocab_size(), v.context_len(), v.d_model(), v.n_layer());
    whole.insert("plain_head".into(), v.plain().into());
    whole.extend(adaptive(&v.adaptive()));
    (whole.into(), (0..v.n_layer() as usize).map(layer).collect())
}

fn transformer_xl(v: TransformerXl) -> (Value, Vec<Value>) {
    let layer = |i: usize| json!({"num_attention_heads": v.n_head(i), "intermediate_size": v.d_inner(i)});
    let mut whole = decoder(v.vocab_size(), v.context_len(), v.d_model(), v.n_layer());
    whole.extend(adaptive(&v.adaptive()));
    (whole.into(), (0..v.n_layer() as usize).map(layer).collect())
}

fn recurrent(v: Recurrent) -> Value {
    let recipe = v.recipe();
    let input = |input: &Input| match *input {
        Input::X => -1,
        Input::Previous(k) => -2 - k as i64,
        Input::Node(n) => n as i64,
    };
    let nodes = recipe.nodes.iter().map(
        |node| json!({"op": node.op.name(), "inputs": node.inputs.iter().map(input).collect::<Vec<_>>()}),
    );
    let mut whole = decoder(v.vocab_size(), v.context_len(), v.hidden_size(), v.num_layers());
    whole.insert("embedding_size".into(), v.embed_dim().into());
    whole.insert("feature_size".into(), v.embed_dim().into());
    whole.insert("nodes".into(), nodes.collect());
    whole.insert("results".into(), recipe.results.clone().into());
    whole.into()
}

fn llama(v: Llama) -> (Value, Vec<Value>) {
    let layer = |i: usize| {
        let (heads, (wide, narrow)) = (v.num_heads(i), v.widths(i));
        let head = wide / heads;
        json!({"num_attention_heads": heads, "num_key_value_heads": narrow / head, "head_dim": head,
            "intermediate_size": v.ffn_dim(i), "qkv_rank": v.qkv_rank(i), "up_rank": v.up_rank(i)})
    };
    let mut whole = decoder(v.vocab_size(), v.context_len(), v.hidden_size(), v.num_layers());
    whole.extend(object(json!({
        "attention_bias": v.attention_bias() == 1, "tied": v.tie_embeddings() == 1, "down_rank": v.down_rank(),
        "rope_theta": v.rope_theta(), "rms_norm_eps": v.eps(),
    })));
    (whole.into(), (0..v.num_layers() as usize).map(layer).collect())
}
