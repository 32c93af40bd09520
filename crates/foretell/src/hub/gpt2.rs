//! GPT-2 of transformers.

use super::{Config, Reader};
use crate::architecture::families;
use crate::error::Result;
use serde_json::{Value, json};

pub(super) const READER: Reader = Reader { types: &["gpt2"], family: &families::gpt2::Family, read };

fn read(config: &Config) -> Result<Value> {
    config.only("activation_function", &["gelu_new", "gelu_pytorch_tanh"].map(Value::from))?;
    config.only("layer_norm_epsilon", &[json!(1e-5)])?;
    for (key, usual) in [
        ("scale_attn_weights", true),
        ("tie_word_embeddings", true),
        ("scale_attn_by_inverse_layer_idx", false),
        ("add_cross_attention", false),
    ] {
        config.only(key, &[usual.into()])?;
    }
    let (width, layers) = (config.number("n_embd", 768)?, config.number("n_layer", 12)?);
    let keys =
        [("n_head", config.or("n_head", 12)), ("n_inner", config.or("n_inner", width.saturating_mul(4)))];
    let columns = config.layers(&keys, layers)?;
    Ok(json!({
        "vocab_size": config.number("vocab_size", 50257)?, "context_len": config.number("n_positions", 1024)?,
        "d_model": width, "n_layer": layers, "head": "plain", "cutoffs": [], "n_head": columns[0], "d_inner": columns[1],
    }))
}
