//! GPT-2 decoders in Python.

use super::{ExportedFamily, Sizes, adaptive, decoder, same};
use crate::architecture::{Architecture, Family, Gpt2, families};
use crate::export::Stock;
use crate::export::python::{Source, python};
use serde_json::{Value, json};

/// See the [module documentation](self).
pub struct Exported;

impl ExportedFamily for Exported {
    fn family(&self) -> &'static dyn Family {
        &families::gpt2::Family
    }
    fn source(&self) -> Source {
        Source {
            name: "gpt2",
            class: "Gpt2",
            kind: self.family().card().kind,
            layers: python!("gpt2", "adaptive"),
        }
    }
    fn sizes(&self, a: &Architecture) -> Sizes {
        let (whole, layers) = sizes(Gpt2(a));
        Sizes::new(whole, layers)
    }
    fn stock(&self, a: &Architecture) -> Option<Stock> {
        Stock::new(stock(Gpt2(a))?, "AutoModelForCausalLM")
    }
}

fn sizes(v: Gpt2) -> (Value, Vec<Value>) {
    let layer = |i: usize| json!({"num_attention_heads": v.n_head(i), "intermediate_size": v.d_inner(i)});
    let mut whole = decoder(v.vocab_size(), v.context_len(), v.d_model(), v.n_layer());
    whole.insert("plain_head".into(), v.plain().into());
    whole.extend(adaptive(&v.adaptive()));
    (whole.into(), (0..v.n_layer() as usize).map(layer).collect())
}

fn stock(v: Gpt2) -> Option<Value> {
    let (heads, ffn) = (same(v.0, |i| v.n_head(i))?, same(v.0, |i| v.d_inner(i))?);
    v.plain().then(|| {
        json!({
            "architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "vocab_size": v.vocab_size(),
            "n_positions": v.context_len(), "n_embd": v.d_model(), "n_layer": v.n_layer(), "n_head": heads, "n_inner": ffn,
            "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5, "resid_pdrop": 0.1, "embd_pdrop": 0.1,
            "attn_pdrop": 0.1, "bos_token_id": null, "eos_token_id": null,
        })
    })
}
