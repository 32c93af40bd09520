//! Networks that transformers has by itself: its own configuration says all of them, no code is needed.

use crate::architecture::{Architecture, Bert, Gpt2, Llama, Vit};
use serde_json::{Map, Value, json};

/// A network as a model of transformers.
pub struct Stock {
    /// `config.json`.
    pub config: Map<String, Value>,
    /// The class that loads it for its task.
    pub auto: &'static str,
}

/// The one value of all layers.
fn same(a: &Architecture, of: impl Fn(usize) -> u64) -> Option<u64> {
    let mut values = (0..a.positions()).map(of);
    let first = values.next()?;
    values.all(|value| value == first).then_some(first)
}

impl Stock {
    /// The network as transformers has it, if layers are alike and it is the same function of the same parameters.
    pub fn of(a: &Architecture) -> Option<Self> {
        let (config, auto) = match a.family().name() {
            "gpt2" => (gpt2(Gpt2(a))?, "AutoModelForCausalLM"),
            "bert" => (bert(Bert(a))?, "AutoModelForMaskedLM"),
            "vit" => (vit(Vit(a))?, "AutoModelForImageClassification"),
            "llama" => (llama(Llama(a))?, "AutoModelForCausalLM"),
            _ => return None,
        };
        let Value::Object(config) = config else { return None };
        Some(Stock { config, auto })
    }
}

fn gpt2(v: Gpt2) -> Option<Value> {
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

fn bert(v: Bert) -> Option<Value> {
    let (heads, ffn) = (same(v.0, |i| v.num_heads(i))?, same(v.0, |i| v.ffn_dim(i))?);
    Some(json!({
        "architectures": ["BertModel"], "model_type": "bert", "vocab_size": v.vocab_size(), "hidden_size": v.hidden_size(),
        "num_hidden_layers": v.num_layers(), "num_attention_heads": heads, "intermediate_size": ffn, "hidden_act": "gelu",
        "max_position_embeddings": v.context_len(), "type_vocab_size": v.type_vocab_size(), "layer_norm_eps": 1e-12,
        "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1, "pad_token_id": 0,
    }))
}

fn vit(v: Vit) -> Option<Value> {
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

/// Biases of queries, keys and values alone are Qwen2's; LLaMA's switch would give the output map one too.
fn llama(v: Llama) -> Option<Value> {
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
