//! What tensors are called in files: by us, in exported networks, and by the GPT-2, BERT, ViT and LLaMA of transformers.

use crate::architecture::{Architecture, Gpt2, Tensor};

/// How the tensors of a file are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Naming {
    /// As [`Tensor::name`] does.
    Own,
    /// As the modules of an exported network.
    Module,
    /// The same inside a model of an exported folder, and of what training saves from it.
    Exported,
    /// As transformers' own model of the family.
    Stock,
    /// The same without the name of the body, as some published files have it.
    Bare,
}

impl Naming {
    /// All of them, in the order in which a file is tried.
    pub const ALL: [Naming; 5] = [Naming::Own, Naming::Module, Naming::Exported, Naming::Stock, Naming::Bare];

    /// The names under which a file holds a tensor: several where it holds its rows apart.
    pub fn parts(self, architecture: &Architecture, tensor: &Tensor) -> Vec<String> {
        let module = || module(architecture, tensor);
        let body = |name: String| name.strip_prefix("transformer.").map_or(name.clone(), str::to_owned);
        match (self, architecture.family().name()) {
            (Naming::Own, _) => vec![tensor.name()],
            (Naming::Module, _) => vec![module()],
            (Naming::Exported, _) => vec![format!("network.{}", module())],
            (Naming::Stock, "bert") => vec![format!("bert.{}", tensor.name())],
            (Naming::Stock, "vit") => vit(tensor),
            (Naming::Stock, _) => vec![module()],
            (Naming::Bare, _) => vec![body(module())],
        }
    }

    /// Whether a file may hold this beside our tensors: buffers, statistics, heads for other tasks.
    pub fn allows(self, name: &str) -> bool {
        const ENDS: [&str; 7] = [
            ".attn.bias",
            ".attn.masked_bias",
            ".position_ids",
            ".inv_freq",
            ".running_mean",
            ".running_var",
            ".num_batches_tracked",
        ];
        const STARTS: [&str; 6] = ["cls.", "classifier.", "score.", "qa_outputs.", "lm_head.", "vit.pooler."];
        ENDS.iter().any(|end| name.ends_with(end))
            || self != Naming::Own && STARTS.iter().any(|start| name.starts_with(start))
    }
}

/// The name of a tensor in the modules of an exported network.
fn module(architecture: &Architecture, tensor: &Tensor) -> String {
    let name = tensor.name();
    match architecture.family().name() {
        "gpt2" if Gpt2(architecture).plain() => {
            name.trim_start_matches("model.").replace("wte.emb_layers.0.weight", "wte.weight")
        }
        "gpt2" | "transformer-xl" => name.trim_start_matches("model.").to_owned(),
        _ => name,
    }
}

/// transformers keeps queries, keys and values apart.
fn vit(tensor: &Tensor) -> Vec<String> {
    let name = tensor.name();
    let kind = if name.ends_with("bias") { "bias" } else { "weight" };
    if let Some(rest) = name.strip_prefix("blocks.") {
        let (layer, what) = rest.split_once('.').unwrap_or((rest, ""));
        let what = what.trim_end_matches(".weight").trim_end_matches(".bias");
        let at = |name: &str| format!("vit.encoder.layer.{layer}.{name}.{kind}");
        return match what {
            "attn.qkv" => ["query", "key", "value"].map(|x| at(&format!("attention.attention.{x}"))).to_vec(),
            "attn.proj" => vec![at("attention.output.dense")],
            "attn_layer_norm" => vec![at("layernorm_before")],
            "ffn_layer_norm" => vec![at("layernorm_after")],
            "fc1" => vec![at("intermediate.dense")],
            "fc2" => vec![at("output.dense")],
            other => vec![at(other)],
        };
    }
    vec![match name.as_str() {
        "cls_token" => "vit.embeddings.cls_token".to_owned(),
        "pos_embed" => "vit.embeddings.position_embeddings".to_owned(),
        name if name.starts_with("patch_embed") => {
            format!("vit.embeddings.patch_embeddings.projection.{kind}")
        }
        name if name.starts_with("norm") => format!("vit.layernorm.{kind}"),
        _ => format!("classifier.{kind}"),
    }]
}
