//! BERT of transformers.

use super::{Config, Reader};
use crate::architecture::families;
use crate::error::Result;
use serde_json::{Value, json};

pub(super) const READER: Reader = Reader { types: &["bert"], family: &families::bert::Family, read };

fn read(config: &Config) -> Result<Value> {
    config.only("hidden_act", &["gelu".into()])?;
    config.only("layer_norm_eps", &[json!(1e-12)])?;
    config.only("position_embedding_type", &["absolute".into()])?;
    config.only("is_decoder", &[false.into()])?;
    config.only("add_cross_attention", &[false.into()])?;
    let layers = config.number("num_hidden_layers", 12)?;
    let keys = [
        ("num_attention_heads", config.or("num_attention_heads", 12)),
        ("intermediate_size", config.or("intermediate_size", 3072)),
    ];
    let columns = config.layers(&keys, layers)?;
    Ok(json!({
        "vocab_size": config.number("vocab_size", 30522)?, "context_len": config.number("max_position_embeddings", 512)?,
        "type_vocab_size": config.number("type_vocab_size", 2)?, "hidden_size": config.number("hidden_size", 768)?,
        "num_layers": layers, "num_heads": columns[0], "ffn_dim": columns[1],
    }))
}
