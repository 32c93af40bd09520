//! The forward pass of a recurrent language model; see [`crate::architecture::Recurrent`].
//!
//! Rows are step-major, as the ids are: all samples at the first step, then all at the second.

use super::{Mark, Model, Output, Tape, Value};
use crate::architecture::names::recurrent::*;
use crate::architecture::{Architecture, Family, Input, Node, Op, Recipe, Recurrent, families};
use crate::engine::activation::Activation;
use crate::engine::scalar::Scalar;

/// See the [module documentation](self).
pub struct Network;

impl Model for Network {
    fn family(&self) -> &'static dyn Family {
        &families::recurrent::Family
    }
    /// Features are the states 0 of the last layer after every step; the output layer is the embedding.
    fn forward<S: Scalar>(
        &self,
        architecture: &Architecture,
        input: &super::Input<S>,
        tape: &mut Tape<'_, S>,
    ) -> Output {
        let v = Recurrent(architecture);
        let super::Input::Tokens { ids, batch, labels, .. } = input else {
            panic!("a language model reads tokens")
        };
        let embedding = tape.param(WORDS, [0, 0]);
        // The originals look up with padding_idx −1: the last word of the vocabulary is read but not learned.
        let mut x = tape.words(ids, embedding, Some(v.vocab_size() as u32 - 1));
        x = tape.embedded(x);
        let recipe = v.recipe();
        for i in 0..v.num_layers() {
            x = layer(&recipe, i as usize, v.layer(i).1 as usize, x, *batch, tape);
            x = tape.block(i as usize, x);
        }
        let bias = tape.param(WORD_BIAS, [0, 0]);
        tape.language_model(x, embedding, Some(bias), labels)
    }
    fn outputs<S: Scalar>(&self, _: &Architecture, output: Output, _: &mut Tape<'_, S>) -> Value {
        output.features
    }
}

/// One layer over the whole sequence: its state 0 after every step.
fn layer<S: Scalar>(
    recipe: &Recipe,
    layer: usize,
    width: usize,
    sequence: Value,
    batch: usize,
    tape: &mut Tape<'_, S>,
) -> Value {
    let mut states: Vec<Value> =
        (0..recipe.results.len()).map(|k| tape.state(layer, k, (batch, width))).collect();
    let steps = tape.shape(sequence).0 / batch;
    let mut outputs = Vec::with_capacity(steps);
    for step in 0..steps {
        tape.mark(Mark::Hidden(layer as u32, step as u32), states[0]);
        let x = tape.rows(sequence, step * batch, batch);
        let mut values: Vec<Value> = Vec::with_capacity(recipe.nodes.len());
        for (i, node) in recipe.nodes.iter().enumerate() {
            let inputs = node.inputs.iter().map(|input| match *input {
                Input::X => x,
                Input::Previous(k) => states[k],
                Input::Node(n) => values[n],
            });
            let inputs: Vec<Value> = inputs.collect();
            values.push(evaluate(node, &inputs, [layer, i], tape));
        }
        states = recipe.results.iter().map(|result| values[*result]).collect();
        outputs.push(states[0]);
    }
    tape.keep_states(layer, &states);
    tape.stack(&outputs)
}

/// One node of a cell at one step; `at` is layer and node.
fn evaluate<S: Scalar>(node: &Node, inputs: &[Value], at: [usize; 2], tape: &mut Tape<'_, S>) -> Value {
    match (node.op, inputs) {
        (Op::Linear, [first, rest @ ..]) => {
            let mut sum = tape.linear(*first, [WEIGHTS[0], BIAS], at);
            for (input, weight) in rest.iter().zip(&WEIGHTS[1..]) {
                let term = tape.linear(*input, [weight, ""], at);
                sum = tape.add(sum, term);
            }
            sum
        }
        (Op::Blend, &[a, b, c]) => tape.blend(a, b, c),
        (Op::Product, &[a, b]) => tape.multiply(a, b),
        (Op::Sum, &[a, b]) => tape.add(a, b),
        (Op::Tanh, &[x]) => activation(Activation::Tanh, x, at[0], tape),
        (Op::Sigmoid, &[x]) => activation(Activation::Sigmoid, x, at[0], tape),
        (Op::LeakyRelu, &[x]) => activation(Activation::LeakyRelu, x, at[0], tape),
        (op, inputs) => unreachable!("the family refuses {op:?} of {} inputs", inputs.len()),
    }
}

/// An activation node, marked as its layer's.
fn activation<S: Scalar>(kind: Activation, x: Value, layer: usize, tape: &mut Tape<'_, S>) -> Value {
    let y = tape.activate(x, kind);
    tape.mark(Mark::PreActivation(layer as u32), x);
    tape.mark(Mark::Activation(layer as u32), y);
    y
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use serde_json::{Value, json};

    /// Small widths, all different, and more than one layer and step.
    fn check(nodes: Value) {
        let architecture = crate::space::read_architecture(&json!({"family": "recurrent", "vocab_size": 7,
            "embed_dim": 3, "hidden_size": 4, "num_layers": 3, "context_len": 4, "nodes": nodes}))
        .unwrap();
        let ids = vec![1, 5, 0, 5, 2, 2, 3, 4];
        check::gradients(&architecture, &super::super::Input::tokens(ids, 2));
    }

    fn node(name: &str, op: &str, inputs: &[&str]) -> Value {
        json!({"name": name, "op": op, "inputs": inputs})
    }

    #[test]
    fn lstm() {
        let mut nodes = Vec::new();
        for (gate, op) in [
            ("i", "activation_tanh"),
            ("j", "activation_sigm"),
            ("f", "activation_sigm"),
            ("o", "activation_tanh"),
        ] {
            nodes.push(node(gate, "linear", &["x", "h_prev_0"]));
            nodes.push(node(&format!("{gate}_act"), op, &[gate]));
        }
        nodes.extend([
            node("kept", "elementwise_prod", &["f_act", "h_prev_1"]),
            node("new", "elementwise_prod", &["i_act", "j_act"]),
            node("h_new_1", "elementwise_sum", &["kept", "new"]),
            node("cell", "activation_tanh", &["h_new_1"]),
            node("h_new_0", "elementwise_prod", &["cell", "o_act"]),
        ]);
        check(nodes.into());
    }

    #[test]
    fn gru() {
        check(json!([
            node("r", "linear", &["x", "h_prev_0"]),
            node("r_act", "activation_sigm", &["r"]),
            node("z", "linear", &["x", "h_prev_0"]),
            node("z_act", "activation_sigm", &["z"]),
            node("rh", "elementwise_prod", &["r_act", "h_prev_0"]),
            node("c", "linear", &["x", "rh"]),
            node("c_act", "activation_tanh", &["c"]),
            node("h_new_0", "blend", &["z_act", "c_act", "h_prev_0"]),
        ]));
    }

    #[test]
    fn linear_of_three() {
        check(json!([
            node("a", "linear", &["h_prev_0", "x"]),
            node("a_act", "activation_leaky_relu", &["a"]),
            node("b", "linear", &["a_act", "x", "h_prev_0"]),
            node("h_new_0", "activation_tanh", &["b"]),
        ]));
    }
}
