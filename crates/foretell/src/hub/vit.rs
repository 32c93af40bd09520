//! ViT of transformers.

use super::{Config, Reader};
use crate::architecture::families;
use crate::error::Result;
use serde_json::{Map, Value, json};

pub(super) const READER: Reader = Reader { types: &["vit"], family: &families::vit::Family, read };

fn read(config: &Config) -> Result<Value> {
    config.only("hidden_act", &["gelu".into()])?;
    config.only("qkv_bias", &[true.into()])?;
    config.only("layer_norm_eps", &[json!(1e-12), json!(1e-6), json!(1e-5)])?;
    let eps = match config.get("layer_norm_eps").and_then(Value::as_f64) {
        Some(1e-5) => "1e-5",
        Some(1e-6) => "1e-6",
        _ => "1e-12",
    };
    let (width, layers) = (config.number("hidden_size", 768)?, config.number("num_hidden_layers", 12)?);
    let keys = [
        ("num_attention_heads", config.or("num_attention_heads", 12)),
        ("intermediate_size", config.or("intermediate_size", 3072)),
    ];
    let mut columns = config.layers(&keys, layers)?;
    for ffn in &mut columns[1] {
        // A ratio in thousandths whose product, rounded down, is this width.
        let thousandths =
            ffn.as_u64().filter(|ffn| *ffn < 1 << 40).map(|ffn| (1000 * ffn).div_ceil(width.max(1)));
        match thousandths.filter(|ratio| Some(ratio.saturating_mul(width) / 1000) == ffn.as_u64()) {
            Some(ratio) => *ffn = json!(ratio as f64 / 1000.0),
            None => {
                return config.refuse("intermediate_size", ffn, "thousandths of hidden_size, rounded down");
            }
        }
    }
    let labels = config.get("id2label").and_then(Value::as_object).map(Map::len);
    let classes = labels.map_or(config.number("num_labels", 2), |n| Ok(n as u64))?;
    Ok(json!({
        "image_size": config.number("image_size", 224)?, "patch_size": config.number("patch_size", 16)?,
        "channels": config.number("num_channels", 3)?, "num_classes": classes, "embed_dim": width, "depth": layers,
        "pooling": "class", "norm_eps": eps, "num_heads": columns[0], "mlp_ratio": columns[1],
    }))
}
