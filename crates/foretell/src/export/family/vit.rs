//! Vision transformers in Python.

use super::{DROP_PATH, ExportedFamily, Sizes, same};
use crate::architecture::{Architecture, Family, Vit, families};
use crate::export::Stock;
use crate::export::python::{Source, python};
use serde_json::{Value, json};

/// See the [module documentation](self).
pub struct Exported;

impl ExportedFamily for Exported {
    fn family(&self) -> &'static dyn Family {
        &families::vit::Family
    }
    fn source(&self) -> Source {
        Source {
            name: "vit",
            class: "Vit",
            kind: self.family().card().kind,
            layers: python!("vit", "drop_path"),
        }
    }
    fn sizes(&self, a: &Architecture) -> Sizes {
        let (whole, layers) = sizes(Vit(a));
        Sizes::new(whole, layers)
    }
    fn stock(&self, a: &Architecture) -> Option<Stock> {
        Stock::new(stock(Vit(a))?, "AutoModelForImageClassification")
    }
}

fn sizes(v: Vit) -> (Value, Vec<Value>) {
    let layer = |i: usize| json!({"num_attention_heads": v.num_heads(i), "attention_size": v.q(i), "intermediate_size": v.ffn(i)});
    let whole = json!({
        "image_size": v.image_size(), "patch_size": v.patch_size(), "num_channels": v.channels(), "num_labels": v.num_classes(),
        "hidden_size": v.embed_dim(), "num_hidden_layers": v.depth(), "relative_position": v.relative_position() == 1,
        "max_relative_position": v.max_relative_position(), "absolute_position": v.abs_pos() == 1,
        "pooling": if v.pooling() == 0 { "mean" } else { "class" }, "layer_norm_eps": v.eps(), "drop_path_rate": DROP_PATH,
    });
    (whole, (0..v.depth() as usize).map(layer).collect())
}

fn stock(v: Vit) -> Option<Value> {
    let (heads, ffn) = (same(v.0, |i| v.num_heads(i))?, same(v.0, |i| v.ffn(i))?);
    let plain = v.relative_position() == 0 && v.abs_pos() == 1 && v.pooling() == 1;
    (plain && same(v.0, |i| v.q(i))? == v.embed_dim()).then(|| {
        json!({
            "architectures": ["ViTForImageClassification"], "model_type": "vit", "hidden_size": v.embed_dim(),
            "num_hidden_layers": v.depth(), "num_attention_heads": heads, "intermediate_size": ffn, "hidden_act": "gelu",
            "image_size": v.image_size(), "patch_size": v.patch_size(), "num_channels": v.channels(), "qkv_bias": true,
            "layer_norm_eps": v.eps(), "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0,
            "num_labels": v.num_classes(),
        })
    })
}
