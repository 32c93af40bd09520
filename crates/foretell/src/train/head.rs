//! What is trained beside a network and thrown away with the task: heads of encoders, and the generator of replaced-token
//! detection; and the loss of every task.
//!
//! - Masked: `dense → GELU → norm → scores by the word embeddings`, on hidden tokens only.
//! - Replaced: `dense → GELU → two classes`, on every token. The original has one score and a logistic loss, which two
//!   classes and a cross-entropy equal. The generator shares no embedding with the network, so their losses need no weights.

use super::Task;
use super::batch::Batch;
use crate::architecture::{Architecture, Init, Names, Role, Tensor, Visitor, names};
use crate::engine::activation::Activation;
use crate::engine::scalar::Scalar;
use crate::error::Result;
use crate::network::{Tape, Value, forward};
use crate::space;
use serde_json::json;

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
        Task::Replaced => {
            w.linear(DENSE, Role::Head, (hidden, hidden), NORMAL);
            w.linear(CLASSES, Role::Head, (hidden, 2), NORMAL);
        }
        Task::Language | Task::Classify => {}
    }
    found
}

/// What fills in hidden tokens: one layer, 64 wide, whatever the network is.
pub(super) fn generator(architecture: &Architecture) -> Result<Architecture> {
    let object = architecture.to_json();
    space::read_architecture(&json!({"family": "bert", "vocab_size": object["vocab_size"],
        "context_len": object["context_len"], "hidden_size": 64, "num_layers": 1, "num_heads": 2, "ffn_dim": 128}))
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
        Task::Replaced => {
            let h = tape.linear(output.features, DENSE, [0, 0]);
            let h = tape.activation(h, Activation::Gelu, 0);
            tape.linear(h, CLASSES, [0, 0])
        }
    };
    (Some(logits), tape.cross_entropy(logits, batch.targets.clone(), 1.0))
}
