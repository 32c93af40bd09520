//! LLaMA-style decoders in Python.

use super::{ExportedFamily, Sizes, decoder, object, same};
use crate::architecture::{Architecture, Family, Llama, families};
use crate::export::Stock;
use crate::export::python::{Source, python};
use serde_json::{Value, json};

/// See the [module documentation](self).
pub struct Exported;

impl ExportedFamily for Exported {
    fn family(&self) -> &'static dyn Family {
        &families::llama::Family
    }
    fn source(&self) -> Source {
        Source { name: "llama", class: "Llama", kind: self.family().card().kind, layers: python!("llama") }
    }
    fn sizes(&self, a: &Architecture) -> Sizes {
        let (whole, layers) = sizes(Llama(a));
        Sizes::new(whole, layers)
    }
    fn stock(&self, a: &Architecture) -> Option<Stock> {
        Stock::new(stock(Llama(a))?, "AutoModelForCausalLM")
    }
}

fn sizes(v: Llama) -> (Value, Vec<Value>) {
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

/// Biases of queries, keys and values alone are Qwen2's; LLaMA's switch would give the output map one too.
fn stock(v: Llama) -> Option<Value> {
    let (heads, ffn) = (same(v.0, |i| v.num_heads(i))?, same(v.0, |i| v.ffn_dim(i))?);
    let (wide, narrow) = (same(v.0, |i| v.widths(i).0)?, same(v.0, |i| v.widths(i).1)?);
    let adapters = (0..v.0.positions()).any(|i| v.qkv_rank(i) + v.up_rank(i) > 0) || v.down_rank() > 0;
    let head = wide / heads;
    let biased = v.attention_bias() == 1;
    if adapters || biased && wide != v.hidden_size() {
        return None;
    }
    let (class, kind) = if biased { ("Qwen2ForCausalLM", "qwen2") } else { ("LlamaForCausalLM", "llama") };
    let mut config = json!({
        "architectures": [class], "model_type": kind, "vocab_size": v.vocab_size(), "hidden_size": v.hidden_size(),
        "num_hidden_layers": v.num_layers(), "num_attention_heads": heads, "num_key_value_heads": narrow / head,
        "intermediate_size": ffn, "hidden_act": "silu", "max_position_embeddings": v.context_len(), "rms_norm_eps": v.eps(),
        "rope_theta": v.rope_theta() as f64, "tie_word_embeddings": v.tie_embeddings() == 1, "attention_dropout": 0.0,
        "bos_token_id": null, "eos_token_id": null,
    });
    if biased {
        config["use_sliding_window"] = false.into();
    } else {
        config["head_dim"] = head.into();
        config["attention_bias"] = false.into();
        config["mlp_bias"] = false.into();
    }
    Some(config)
}
