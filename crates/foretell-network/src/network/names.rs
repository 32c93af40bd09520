//! What tensors are called in files: by us, in exported networks, and by the GPT-2, BERT, ViT and LLaMA of transformers.

use super::model::model;
use crate::architecture::{Architecture, Tensor};

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
        let model = model(architecture);
        let module = || model.module_name(architecture, tensor);
        let body = |name: String| name.strip_prefix("transformer.").map_or(name.clone(), str::to_owned);
        match self {
            Naming::Own => vec![tensor.name()],
            Naming::Module => vec![module()],
            Naming::Exported => vec![format!("network.{}", module())],
            Naming::Stock => model.stock_names(architecture, tensor),
            Naming::Bare => vec![body(module())],
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
