//! What is trained beside a network and thrown away with the task: heads of encoders, and the generator of replaced-token
//! detection; and the loss of every task.
//!
//! - Masked: `dense → GELU → norm → scores by the word embeddings`, on hidden tokens only.
//! - Replaced: `dense → GELU → two classes`, on every token. The original has one score and a logistic loss, which two
//!   classes and a cross-entropy equal. The generator shares no embedding with the network, so their losses need no weights.
//! - Pairs: the same on the first token of each pair.

use super::Task;
use super::batch::Batch;
use crate::architecture::{Architecture, Family, Init, Names, Role, Tensor, Visitor, families::bert, names};
use crate::engine::activation::Activation;
use crate::engine::scalar::Scalar;
use crate::error::Result;
use crate::network::{Tape, Value, forward};
use crate::space;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

const DENSE: Names = ["head.dense.weight", "head.dense.bias"];
const NORM: Names = ["head.norm.weight", "head.norm.bias"];
const WORDS: &str = "head.words.bias";
const CLASSES: Names = ["head.classes.weight", "head.classes.bias"];
const EPS: f64 = 1e-12;
const NORMAL: Init = Init::Normal(0.02);

/// The tensors of a task's head.
pub(super) fn tensors(task: Task, architecture: &Architecture) -> Vec<Tensor> {
    let object = architecture.to_json();
    let field = |key: &str| object.get(key).and_then(serde_json::Value::as_u64);
    let hidden = field("hidden_size").unwrap_or(0);
    let mut found = Vec::new();
    let mut keep = |tensor: &Tensor| found.push(*tensor);
    let mut w = Visitor::new(&mut keep);
    match task {
        Task::Masked => {
            let embedding = field("embedding_size").unwrap_or(hidden);
            w.linear(DENSE, Role::Head, (hidden, embedding), NORMAL);
            w.norm(NORM, Role::Head, embedding);
            w.table(WORDS, Role::Head, &[field("vocab_size").unwrap_or(0)], Init::Zeros);
        }
        Task::Replaced | Task::Pairs => {
            w.linear(DENSE, Role::Head, (hidden, hidden), NORMAL);
            w.linear(CLASSES, Role::Head, (hidden, 2), NORMAL);
        }
        Task::Language | Task::Classify => {}
    }
    found
}

/// What fills in hidden tokens in replaced-token detection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Generator {
    /// An encoder of one layer, 64 wide, whatever the network is.
    #[default]
    Fixed,
    /// An encoder as deep as the network and a quarter as wide, with a quarter of its heads (ELECTRA).
    Quarter,
}

impl Generator {
    /// Whether it is the usual one, which recipes do not write.
    pub(super) fn is_usual(&self) -> bool {
        *self == Generator::Fixed
    }

    /// The generator of a network.
    pub(super) fn of(self, architecture: &Architecture) -> Result<Architecture> {
        let object = architecture.to_json();
        let most = |key: &str| match &object[key] {
            Json::Array(values) => values.iter().filter_map(Json::as_u64).max().unwrap_or(1),
            value => value.as_u64().unwrap_or(1),
        };
        let (layers, hidden, heads) = match self {
            Generator::Fixed => (1, 64, 2),
            Generator::Quarter => {
                let hidden = (most("hidden_size") / 4).max(1);
                let heads = (most("num_heads") / 4).max(1);
                (most("num_layers"), hidden, if hidden.is_multiple_of(heads) { heads } else { 1 })
            }
        };
        let ffn = if self == Generator::Fixed { 128 } else { 4 * hidden };
        space::read_architecture(
            &json!({"family": bert::Family.card().name, "vocab_size": object["vocab_size"],
            "context_len": object["context_len"], "hidden_size": hidden, "num_layers": layers, "num_heads": heads,
            "ffn_dim": ffn}),
        )
    }
}

/// Scores and mean loss of a batch; scores where the task has one row of them for each target.
pub(super) fn loss<S: Scalar>(
    task: Task,
    architecture: &Architecture,
    batch: &Batch<S>,
    tape: &mut Tape<'_, S>,
) -> (Option<Value>, Value) {
    let output = forward(architecture, &batch.input, tape);
    let logits = match task {
        Task::Language => return (None, output.loss.expect("labels were given")),
        Task::Classify => output.logits.expect("image networks have a head"),
        Task::Masked => {
            let h = tape.select(output.features, batch.rows.clone());
            let h = tape.linear(h, DENSE, [0, 0]);
            let h = tape.activation(h, Activation::Gelu, 0);
            let h = tape.layer_norm(h, NORM, [0, 0], EPS);
            let (words, bias) = (tape.param(names::bert::WORDS, [0, 0]), tape.param(WORDS, [0, 0]));
            tape.linear_by(h, words, Some(bias))
        }
        Task::Replaced | Task::Pairs => {
            let h = match task {
                Task::Pairs => tape.select(output.features, batch.rows.clone()),
                _ => output.features,
            };
            let h = tape.linear(h, DENSE, [0, 0]);
            let h = tape.activation(h, Activation::Gelu, 0);
            tape.linear(h, CLASSES, [0, 0])
        }
    };
    (Some(logits), tape.cross_entropy(logits, batch.targets.clone(), 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ELECTRA-small is 256 wide with 4 heads; its generator is 64 wide with one.
    #[test]
    fn a_quarter_of_a_network() {
        let value = json!({"space": "flexibert", "hidden_size": 256, "num_layers": 4, "operation_type": "SA",
            "operation_parameter": "SDP", "num_heads": [4, 2, 4, 4], "ffn_dim": 1024, "ffn_stack": 1});
        let network = space::read_architecture(&value).unwrap();
        let generator = Generator::Quarter.of(&network).unwrap().to_json();
        for (key, value) in [("hidden_size", 64), ("num_layers", 4)] {
            assert_eq!(generator[key], value, "{key}");
        }
        let first = |key: &str| generator[key].get(0).unwrap_or(&generator[key]).as_u64();
        assert_eq!((first("num_heads"), first("ffn_dim")), (Some(1), Some(256)));
    }
}
