//! BERT encoders in Python.

use super::{DROPOUT, ExportedFamily, Sizes, same};
use crate::architecture::{Architecture, Bert, Family, families};
use crate::export::Stock;
use crate::export::python::{Source, python};
use serde_json::{Value, json};

/// See the [module documentation](self).
pub struct Exported;

impl ExportedFamily for Exported {
    fn family(&self) -> &'static dyn Family {
        &families::bert::Family
    }
    fn source(&self) -> Source {
        Source {
            name: "bert",
            class: "Bert",
            kind: self.family().card().kind,
            layers: python!("bert", "encoder"),
        }
    }
    fn sizes(&self, a: &Architecture) -> Sizes {
        let (whole, layers) = sizes(Bert(a));
        Sizes::new(whole, layers)
    }
    fn stock(&self, a: &Architecture) -> Option<Stock> {
        Stock::new(stock(Bert(a))?, "AutoModelForMaskedLM")
    }
}

fn sizes(v: Bert) -> (Value, Vec<Value>) {
    let layer = |i: usize| json!({"num_attention_heads": v.num_heads(i), "intermediate_size": v.ffn_dim(i)});
    let whole = json!({
        "vocab_size": v.vocab_size(), "max_position_embeddings": v.context_len(), "type_vocab_size": v.type_vocab_size(),
        "embedding_size": v.hidden_size(), "hidden_size": v.hidden_size(), "num_hidden_layers": v.num_layers(),
        "layer_norm_eps": 1e-12, "dropout": DROPOUT,
    });
    (whole, (0..v.num_layers() as usize).map(layer).collect())
}

fn stock(v: Bert) -> Option<Value> {
    let (heads, ffn) = (same(v.0, |i| v.num_heads(i))?, same(v.0, |i| v.ffn_dim(i))?);
    Some(json!({
        "architectures": ["BertModel"], "model_type": "bert", "vocab_size": v.vocab_size(), "hidden_size": v.hidden_size(),
        "num_hidden_layers": v.num_layers(), "num_attention_heads": heads, "intermediate_size": ffn, "hidden_act": "gelu",
        "max_position_embeddings": v.context_len(), "type_vocab_size": v.type_vocab_size(), "layer_norm_eps": 1e-12,
        "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1, "pad_token_id": 0,
    }))
}
