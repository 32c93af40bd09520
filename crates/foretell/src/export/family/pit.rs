//! Pooling vision transformers in Python.

use super::{DROP_PATH, ExportedFamily, Sizes};
use crate::architecture::{Architecture, Family, Pit, families};
use crate::export::python::{Source, python};
use serde_json::{Value, json};

/// See the [module documentation](self).
pub struct Exported;

impl ExportedFamily for Exported {
    fn family(&self) -> &'static dyn Family {
        &families::pit::Family
    }
    fn source(&self) -> Source {
        Source {
            name: "pit",
            class: "Pit",
            kind: self.family().card().kind,
            layers: python!("pit", "drop_path"),
        }
    }
    fn sizes(&self, a: &Architecture) -> Sizes {
        Sizes::new(sizes(Pit(a)), Vec::new())
    }
}

fn sizes(v: Pit) -> Value {
    let stages = |f: &dyn Fn(usize) -> u64| (0..3).map(f).collect::<Vec<_>>();
    json!({
        "image_size": v.image_size(), "patch_size": v.patch_size(), "stride": v.stride(), "num_channels": v.channels(),
        "num_labels": v.num_classes(), "hidden_sizes": stages(&|s| v.width(s)), "num_attention_heads": stages(&|s| v.num_heads(s)),
        "intermediate_sizes": stages(&|s| v.ffn(s)), "depths": stages(&|s| v.depth(s)), "layer_norm_eps": 1e-6,
        "drop_path_rate": DROP_PATH,
    })
}
