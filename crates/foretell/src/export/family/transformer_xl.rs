//! Transformer-XL decoders in Python.

use super::{ExportedFamily, Sizes, adaptive, decoder};
use crate::architecture::{Architecture, Family, TransformerXl, families};
use crate::export::python::{Source, python};
use serde_json::{Value, json};

/// See the [module documentation](self).
pub struct Exported;

impl ExportedFamily for Exported {
    fn family(&self) -> &'static dyn Family {
        &families::transformer_xl::Family
    }
    fn source(&self) -> Source {
        Source {
            name: "transformer_xl",
            class: "TransformerXl",
            kind: self.family().card().kind,
            layers: python!("transformer_xl", "adaptive"),
        }
    }
    fn sizes(&self, a: &Architecture) -> Sizes {
        let (whole, layers) = sizes(TransformerXl(a));
        Sizes::new(whole, layers)
    }
}

fn sizes(v: TransformerXl) -> (Value, Vec<Value>) {
    let layer = |i: usize| json!({"num_attention_heads": v.n_head(i), "intermediate_size": v.d_inner(i)});
    let mut whole = decoder(v.vocab_size(), v.context_len(), v.d_model(), v.n_layer());
    whole.extend(adaptive(&v.adaptive()));
    (whole.into(), (0..v.n_layer() as usize).map(layer).collect())
}
