//! LLaMA, Mistral and Qwen2 of transformers, which differ in what they leave unsaid.

use super::{Config, Reader};
use crate::architecture::families;
use crate::error::Result;
use serde_json::{Value, json};

pub(super) const READER: Reader =
    Reader { types: &["llama", "mistral", "qwen2"], family: &families::llama::Family, read };

fn read(config: &Config) -> Result<Value> {
    config.only("hidden_act", &["silu".into()])?;
    config.only("rms_norm_eps", &[json!(1e-6), json!(1e-5)])?;
    config.only("mlp_bias", &[false.into()])?;
    config.only("attention_bias", &[false.into()])?;
    config.only("use_sliding_window", &[false.into()])?;
    config.only("pretraining_tp", &[1.into()])?;
    let (ffn, groups, context) = match config.kind {
        "mistral" => (14336, Some(8), 131_072),
        "qwen2" => (22016, Some(32), 32_768),
        _ => (11008, None, 2048),
    };
    let rope = config.get("rope_parameters").or(config.get("rope_scaling"));
    let scaled =
        rope.and_then(|rope| rope.get("rope_type").or(rope.get("type"))).filter(|kind| *kind != "default");
    if let Some(kind) = scaled {
        return config.refuse("rope_scaling", kind, "plain rotary positions only");
    }
    let theta = rope.and_then(|rope| rope.get("rope_theta")).or(config.get("rope_theta"));
    let theta = theta.cloned().unwrap_or_else(|| 10_000.into());
    let context = config.number("max_position_embeddings", context)?;
    // Up to its window a sliding one sees all there is.
    let window =
        if config.kind == "mistral" { config.get("sliding_window").and_then(Value::as_u64) } else { None };
    let heads = config.or("num_attention_heads", 32);
    let groups = config.get("num_key_value_heads").cloned().or(groups.map(Value::from));
    let layers = config.number("num_hidden_layers", 32)?;
    let keys = [
        ("num_attention_heads", heads.clone()),
        ("num_key_value_heads", groups.unwrap_or(heads)),
        ("intermediate_size", config.or("intermediate_size", ffn)),
    ];
    let columns = config.layers(&keys, layers)?;
    let eps = config.get("rms_norm_eps").and_then(Value::as_f64).unwrap_or(1e-6);
    Ok(json!({
        "vocab_size": config.number("vocab_size", if config.kind == "qwen2" { 151_936 } else { 32_000 })?,
        "context_len": window.map_or(context, |window| window.min(context)), "hidden_size": config.number("hidden_size", 4096)?,
        "num_layers": layers, "head_dim": config.get("head_dim"), "attention_bias": config.kind == "qwen2",
        "tie_embeddings": config.or("tie_word_embeddings", false), "rope_theta": theta,
        "norm_eps": if eps == 1e-5 { "1e-5" } else { "1e-6" }, "num_heads": columns[0], "num_kv_heads": columns[1],
        "ffn_dim": columns[2],
    }))
}
