//! Recurrent language models in Python.

use super::{ExportedFamily, Sizes, decoder};
use crate::architecture::{Architecture, Family, Input, Recurrent, families};
use crate::export::python::{Source, python};
use serde_json::{Value, json};

/// See the [module documentation](self).
pub struct Exported;

impl ExportedFamily for Exported {
    fn family(&self) -> &'static dyn Family {
        &families::recurrent::Family
    }
    fn source(&self) -> Source {
        Source {
            name: "recurrent",
            class: "Recurrent",
            kind: self.family().card().kind,
            layers: python!("recurrent"),
        }
    }
    fn sizes(&self, a: &Architecture) -> Sizes {
        Sizes::new(sizes(Recurrent(a)), Vec::new())
    }
}

fn sizes(v: Recurrent) -> Value {
    let recipe = v.recipe();
    let input = |input: &Input| match *input {
        Input::X => -1,
        Input::Previous(k) => -2 - k as i64,
        Input::Node(n) => n as i64,
    };
    let nodes = recipe.nodes.iter().map(
        |node| json!({"op": node.op.name(), "inputs": node.inputs.iter().map(input).collect::<Vec<_>>()}),
    );
    let mut whole = decoder(v.vocab_size(), v.context_len(), v.hidden_size(), v.num_layers());
    whole.insert("embedding_size".into(), v.embed_dim().into());
    whole.insert("feature_size".into(), v.embed_dim().into());
    whole.insert("nodes".into(), nodes.collect());
    whole.insert("results".into(), recipe.results.clone().into());
    whole.into()
}
