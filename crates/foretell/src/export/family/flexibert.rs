//! FlexiBERT encoders in Python.

use super::{DROPOUT, ExportedFamily, Sizes};
use crate::architecture::{Architecture, Family, FlexiBert, Mixer, families};
use crate::export::python::{Source, python};
use serde_json::{Value, json};

/// See the [module documentation](self).
pub struct Exported;

impl ExportedFamily for Exported {
    fn family(&self) -> &'static dyn Family {
        &families::flexibert::Family
    }
    fn source(&self) -> Source {
        Source {
            name: "flexibert",
            class: "FlexiBert",
            kind: self.family().card().kind,
            layers: python!("flexibert", "encoder"),
        }
    }
    fn sizes(&self, a: &Architecture) -> Sizes {
        let (whole, layers) = sizes(FlexiBert(a));
        Sizes::new(whole, layers)
    }
}

fn sizes(v: FlexiBert) -> (Value, Vec<Value>) {
    let layer = |i: usize| {
        let (mixer, kernel) = match v.mixer(i) {
            Mixer::Attention => ("attention", 0),
            Mixer::Multiplicative => ("multiplicative", 0),
            Mixer::Fourier => ("fourier", 0),
            Mixer::Cosine => ("cosine", 0),
            Mixer::Span { kernel } => ("span", kernel),
        };
        json!({"mixer": mixer, "kernel_size": kernel, "num_attention_heads": v.num_heads(i),
            "intermediate_sizes": v.ffn(i).collect::<Vec<_>>()})
    };
    let whole = json!({
        "vocab_size": v.vocab_size(), "max_position_embeddings": v.context_len(), "type_vocab_size": v.type_vocab_size(),
        "embedding_size": v.embedding_size(), "hidden_size": v.h(), "num_hidden_layers": v.num_layers(),
        "layer_norm_eps": 1e-12, "dropout": DROPOUT,
    });
    (whole, (0..v.num_layers() as usize).map(layer).collect())
}
