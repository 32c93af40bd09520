//! Recurrent language models whose cell is any graph of a small grammar (NAS-Bench-NLP).
//!
//! Embedding, a stack of layers with the same [`Recipe`], output tied to the embedding. A layer runs over the whole
//! sequence before the next starts; its output is state 0. The last layer is as wide as the embedding.
//!
//! Recipes are kept in canonical form: nodes in the order in which a depth-first walk from `h_new_0`, `h_new_1`, …
//! finishes them, unreachable ones cut. Names and order of the original therefore do not change the id.
//!
//! Paper: *NAS-Bench-NLP* (Klyuchnikov et al., IEEE Access 2022).

use super::family::{read_globals, read_rows, value_of, write_fields, wrong};
use super::field::{count, dim, name, schema};
use super::{
    Architecture, Block, Card, Counter, Form, Init, MAX_LAYERS, NetworkKind, Positions, Role, Template,
    Tensor, Visitor,
};
use crate::catalogue;
use crate::error::{Error, Result};
use serde_json::{Map, Value, json};
use std::collections::HashMap;

const OPS: [&str; 7] = [
    "linear",
    "blend",
    "elementwise_prod",
    "elementwise_sum",
    "activation_tanh",
    "activation_sigm",
    "activation_leaky_relu",
];
/// The most state vectors a cell may carry.
pub const MAX_STATES: u32 = 8;
const NODE: u32 = 2 + MAX_STATES;

schema! {
    /// A typed view of a recurrent language model. Nodes are best read through [`Recurrent::recipe`].
    Recurrent
    whole {
        /// Words of the vocabulary.
        vocab_size: dim().or(10000);
        /// Width of the embedding and of the last layer.
        embed_dim: dim().or(400).alias(&["emb"]);
        /// Width of the other layers.
        hidden_size: dim().or(600).alias(&["hid", "nhid"]);
        /// Stacked layers.
        num_layers: count(1, MAX_LAYERS).or(3).alias(&["nlayers"]);
        /// Steps of a sequence.
        context_len: dim().or(70).alias(&["bptt"]);
        /// State vectors of the cell.
        num_states: count(1, 8).alias(&["num_hidden_states"]);
    }
    lists {}
    positions {
        /// The node's operation.
        op: name(&OPS);
        /// 1 + the state this node becomes, or 0.
        result: count(0, 8);
        /// First input: 1 is x, 2 … 9 the previous states, from 10 on the nodes.
        input_0: count(0, 4096);
        /// Second input, or 0.
        input_1: count(0, 4096);
        /// Third input, or 0.
        input_2: count(0, 4096);
    }
}

/// What a node computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Op {
    /// `Σ_j W_j in_j + b`.
    Linear,
    /// `a·b + (1 − a)·c`, entry by entry.
    Blend,
    /// Product, entry by entry.
    Product,
    /// Sum, entry by entry.
    Sum,
    /// Hyperbolic tangent.
    Tanh,
    /// Logistic function.
    Sigmoid,
    /// `x` where positive, else `0.01·x`.
    LeakyRelu,
}

impl Op {
    /// All operations, in stored order.
    pub const ALL: [Op; 7] =
        [Op::Linear, Op::Blend, Op::Product, Op::Sum, Op::Tanh, Op::Sigmoid, Op::LeakyRelu];
    /// The activations.
    pub const ACTIVATIONS: [Op; 3] = [Op::Tanh, Op::Sigmoid, Op::LeakyRelu];

    /// The name in recipes.
    pub fn name(self) -> &'static str {
        OPS[self as usize]
    }

    fn arity(self) -> std::ops::RangeInclusive<usize> {
        match self {
            Op::Linear => 1..=3,
            Op::Blend => 3..=3,
            Op::Product | Op::Sum => 2..=2,
            Op::Tanh | Op::Sigmoid | Op::LeakyRelu => 1..=1,
        }
    }
}

/// Where a node reads from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Input {
    /// The layer's input at this step.
    X,
    /// A state of the previous step.
    Previous(usize),
    /// Another node.
    Node(usize),
}

/// One node of a cell.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Node {
    /// What it computes.
    pub op: Op,
    /// What it reads.
    pub inputs: Vec<Input>,
}

/// A cell: nodes, and which of them become the next states.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Recipe {
    /// The nodes; in canonical form each after what it reads.
    pub nodes: Vec<Node>,
    /// The node that becomes state `k`.
    pub results: Vec<usize>,
}

fn bad(place: &str, message: String) -> Error {
    Error::parse(format!("nodes: {place}"), message)
}

impl Recipe {
    /// The nodes in canonical order, by their places now; an error names a cycle.
    fn order(&self) -> Result<Vec<usize>, String> {
        let (mut open, mut done) = (vec![false; self.nodes.len()], vec![false; self.nodes.len()]);
        let mut order = Vec::new();
        for &result in &self.results {
            // Depth first with an explicit stack: a chain of a thousand nodes must not exhaust the thread's own.
            let mut stack = vec![(result, 0)];
            while let Some((node, next)) = stack.pop() {
                if done[node] {
                    continue;
                }
                open[node] = true;
                match self.nodes[node].inputs.get(next) {
                    None => {
                        done[node] = true;
                        order.push(node);
                    }
                    Some(input) => {
                        stack.push((node, next + 1));
                        if let Input::Node(before) = *input {
                            if open[before] && !done[before] {
                                return Err("the nodes read each other in a circle".into());
                            }
                            stack.push((before, 0));
                        }
                    }
                }
            }
        }
        Ok(order)
    }

    /// The same cell in canonical form; an error names a cycle.
    pub fn canonical(&self) -> Result<Recipe, String> {
        let order = self.order()?;
        let mut place = vec![0; self.nodes.len()];
        order.iter().enumerate().for_each(|(to, &from)| place[from] = to);
        let moved = |node: usize| place[node];
        let nodes = order.iter().map(|&node| Node {
            op: self.nodes[node].op,
            inputs: self.nodes[node]
                .inputs
                .iter()
                .map(|input| if let Input::Node(n) = input { Input::Node(moved(*n)) } else { *input })
                .collect(),
        });
        Ok(Recipe { nodes: nodes.collect(), results: self.results.iter().map(|&r| moved(r)).collect() })
    }

    /// Reads `nodes: [{name, op, inputs}]` or `recipe: {name: {op, input}}`.
    pub fn from_json(value: &Value) -> Result<Recipe> {
        let (written, _) = Self::as_written(value)?;
        written.canonical().map_err(|message| bad("recipe", message))
    }

    /// What the nodes of [`Recipe::from_json`] are called in the JSON, in the same order.
    pub fn names_from_json(value: &Value) -> Result<Vec<String>> {
        let (written, names) = Self::as_written(value)?;
        let order = written.order().map_err(|message| bad("recipe", message))?;
        Ok(order.into_iter().map(|node| names[node].to_owned()).collect())
    }

    /// The nodes in the order of the JSON, and their names.
    fn as_written(value: &Value) -> Result<(Recipe, Vec<&str>)> {
        let entries: Vec<(&str, &Map<String, Value>)> = match value {
            Value::Array(list) => {
                list.iter().filter_map(|n| Some((n.get("name")?.as_str()?, n.as_object()?))).collect()
            }
            Value::Object(map) => {
                map.iter().filter_map(|(name, n)| Some((name.as_str(), n.as_object()?))).collect()
            }
            _ => return Err(bad("recipe", "is neither a list nor a map of nodes".into())),
        };
        let given = value.as_array().map(Vec::len).or(value.as_object().map(Map::len)).unwrap_or(0);
        if entries.len() != given || given == 0 {
            return Err(bad("recipe", "needs entries with name, op and inputs".into()));
        }
        if entries.len() > MAX_LAYERS as usize {
            return Err(bad(
                "recipe",
                format!("has {} nodes, at most {MAX_LAYERS} are allowed", entries.len()),
            ));
        }
        let places: HashMap<&str, usize> =
            entries.iter().enumerate().map(|(i, (name, _))| (*name, i)).collect();
        if places.len() != entries.len() {
            return Err(bad("recipe", "names a node twice".into()));
        }
        let mut nodes = Vec::new();
        for (name, node) in &entries {
            let word = node.get("op").and_then(Value::as_str).unwrap_or_default();
            let op =
                OPS.iter().position(|op| *op == word).ok_or_else(|| catalogue::unknown("op", word, OPS))?;
            let inputs = node.get("inputs").or(node.get("input")).and_then(Value::as_array);
            let inputs =
                inputs.ok_or_else(|| bad(name, "has no list 'inputs'".into()))?.iter().map(|input| {
                    let input = input.as_str().unwrap_or_default();
                    let previous = input.strip_prefix("h_prev_").and_then(|k| k.parse::<usize>().ok());
                    match (input, previous) {
                        ("x", _) => Ok(Input::X),
                        (_, Some(k)) if k < MAX_STATES as usize => Ok(Input::Previous(k)),
                        _ => places.get(input).map(|n| Input::Node(*n)).ok_or_else(|| {
                            let known = places.keys().copied().chain(["x", "h_prev_0"]);
                            catalogue::unknown("input", input, known).at(format!("nodes: {name}"))
                        }),
                    }
                });
            nodes.push(Node { op: Op::ALL[op], inputs: inputs.collect::<Result<_>>()? });
        }
        let result = |k: usize| places.get(format!("h_new_{k}").as_str()).copied();
        let results: Vec<usize> = (0..MAX_STATES as usize).map_while(result).collect();
        if results.is_empty() {
            return Err(bad("recipe", "has no node named h_new_0".into()));
        }
        Ok((Recipe { nodes, results }, entries.into_iter().map(|(name, _)| name).collect()))
    }

    /// The nodes as JSON, results named `h_new_k`.
    pub fn to_json(&self) -> Value {
        let name = |node: usize| match self.results.iter().position(|r| *r == node) {
            Some(k) => format!("h_new_{k}"),
            None => format!("node_{node}"),
        };
        let input = |input: &Input| match input {
            Input::X => "x".to_owned(),
            Input::Previous(k) => format!("h_prev_{k}"),
            Input::Node(node) => name(*node),
        };
        let nodes = self.nodes.iter().enumerate().map(|(i, node)| {
            json!({"name": name(i), "op": OPS[node.op as usize], "inputs": node.inputs.iter().map(input).collect::<Vec<_>>()})
        });
        nodes.collect()
    }

    /// The values of all nodes, row after row.
    pub fn rows(&self) -> Vec<u32> {
        let code = |input: &Input| match *input {
            Input::X => 1,
            Input::Previous(k) => 2 + k as u32,
            Input::Node(n) => NODE + n as u32,
        };
        let mut rows = Vec::with_capacity(5 * self.nodes.len());
        for (i, node) in self.nodes.iter().enumerate() {
            let result = self.results.iter().position(|r| *r == i).map_or(0, |k| 1 + k as u32);
            rows.extend([node.op as u32, result]);
            rows.extend((0..3).map(|j| node.inputs.get(j).map_or(0, code)));
        }
        rows
    }
}

impl Recurrent<'_> {
    /// The cell.
    pub fn recipe(&self) -> Recipe {
        let mut results = vec![0; self.num_states() as usize];
        let nodes = (0..self.0.positions()).map(|i| {
            if self.result(i) > 0 {
                results[self.result(i) as usize - 1] = i;
            }
            let inputs = [self.input_0(i), self.input_1(i), self.input_2(i)];
            let inputs = inputs.into_iter().take_while(|code| *code > 0).map(|code| match code as u32 {
                1 => Input::X,
                code if code < NODE => Input::Previous(code as usize - 2),
                code => Input::Node((code - NODE) as usize),
            });
            Node { op: Op::ALL[self.op(i) as usize], inputs: inputs.collect() }
        });
        let nodes = nodes.collect();
        Recipe { nodes, results }
    }
    /// Input and output width of a stacked layer.
    pub fn layer(&self, layer: u64) -> (u64, u64) {
        let input = if layer == 0 { self.embed_dim() } else { self.hidden_size() };
        let output = if layer + 1 == self.num_layers() { self.embed_dim() } else { self.hidden_size() };
        (input, output)
    }
    /// Matrix entries, biases left out, of a node over all layers.
    fn matrices(&self, node: usize) -> u64 {
        if self.op(node) != 0 {
            return 0;
        }
        let inputs = [self.input_0(node), self.input_1(node), self.input_2(node)];
        let layers = (0..self.num_layers()).map(|layer| {
            let (input, output) = self.layer(layer);
            inputs
                .iter()
                .filter(|code| **code > 0)
                .map(|code| if *code == 1 { input } else { output })
                .sum::<u64>()
                * output
        });
        layers.sum()
    }
}

/// What the tensors are called.
#[allow(missing_docs, reason = "a constant says what the layer is, its text what files call it")]
pub mod names {
    pub const WORDS: &str = "encoder.weight";
    pub const WORD_BIAS: &str = "decoder.bias";
    /// Of each input of a linear node.
    pub const WEIGHTS: [&str; 3] = [
        "rnns.{}.cell.components.node_{}.weights.0",
        "rnns.{}.cell.components.node_{}.weights.1",
        "rnns.{}.cell.components.node_{}.weights.2",
    ];
    pub const BIAS: &str = "rnns.{}.cell.components.node_{}.bias";
}

/// See the [module documentation](self).
pub struct Family;

impl super::Family for Family {
    fn card(&self) -> &'static Card {
        static CARD: Card = Card {
            name: "recurrent",
            about: "stacked recurrent language model with any cell of the NAS-Bench-NLP grammar",
            fields: FIELDS,
            positions: Positions::Nodes,
            kind: NetworkKind::Recurrent,
        };
        &CARD
    }

    fn check(&self, a: &Architecture) -> Result<(), String> {
        let v = Recurrent(a);
        let mut found = vec![false; v.num_states() as usize];
        for i in 0..a.positions() {
            if let Some(slot) = (v.result(i) as usize).checked_sub(1) {
                match found.get_mut(slot) {
                    Some(seen) if !*seen => *seen = true,
                    _ => {
                        return Err(format!(
                            "h_new_{slot} is not one of {} states, each once",
                            v.num_states()
                        ));
                    }
                }
            }
        }
        match found.iter().position(|seen| !seen) {
            Some(k) => Err(format!("no node is h_new_{k}")),
            None => Ok(()),
        }
    }
    fn check_position(&self, a: &Architecture, i: usize) -> Result<(), String> {
        let v = Recurrent(a);
        let op = Op::ALL[v.op(i) as usize];
        let codes = [v.input_0(i), v.input_1(i), v.input_2(i)];
        let used = codes.iter().take_while(|code| **code > 0).count();
        if codes[used..].iter().any(|code| *code > 0) || !op.arity().contains(&used) {
            return Err(format!("node {i}, {}, has {used} inputs", OPS[op as usize]));
        }
        for &code in &codes[..used] {
            match code as u32 {
                1 if op != Op::Linear => {
                    return Err(format!("node {i} reads x, which only linear nodes may"));
                }
                code if code >= NODE && (code - NODE) as usize >= i => {
                    return Err(format!("node {i} reads node {}, which is not before it", code - NODE));
                }
                code if (2..NODE).contains(&code) && u64::from(code - 2) >= v.num_states() => {
                    return Err(format!(
                        "node {i} reads h_prev_{}, but there are {} states",
                        code - 2,
                        v.num_states()
                    ));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn outside(&self, a: &Architecture, w: &mut Visitor) {
        let v = Recurrent(a);
        let embedding = [v.vocab_size(), v.embed_dim()];
        w.table(names::WORDS, Role::Embedding, &embedding, Init::Uniform(0.1));
        w.table(names::WORD_BIAS, Role::Head, &[v.vocab_size()], Init::Zeros);
    }
    fn position(&self, a: &Architecture, i: usize, w: &mut Visitor) {
        let v = Recurrent(a);
        if v.op(i) != 0 {
            return;
        }
        for layer in 0..v.num_layers() {
            let (input, output) = v.layer(layer);
            let init = Init::Uniform(1.0 / (output as f64).sqrt());
            w.enter(i, [layer as usize, i]);
            let codes = [v.input_0(i), v.input_1(i), v.input_2(i)];
            for (code, name) in codes.into_iter().zip(names::WEIGHTS).filter(|(code, _)| *code > 0) {
                let from = if code == 1 { input } else { output };
                w.tensor(Tensor::new(name, Role::CellLinear, Form::Linear, &[output, from], init));
            }
            w.table(names::BIAS, Role::CellLinear, &[output], init);
        }
    }

    fn flops_outside(&self, a: &Architecture, _: Counter) -> u128 {
        let v = Recurrent(a);
        u128::from(v.context_len()) * u128::from(v.embed_dim() * v.vocab_size())
    }
    fn flops_position(&self, a: &Architecture, i: usize, _: Counter) -> u128 {
        u128::from(Recurrent(a).context_len()) * u128::from(Recurrent(a).matrices(i))
    }
    fn activations_outside(&self, a: &Architecture) -> u64 {
        let v = Recurrent(a);
        v.context_len() * (v.embed_dim() + v.vocab_size())
    }
    fn activations_position(&self, a: &Architecture, _: usize) -> u64 {
        let v = Recurrent(a);
        v.context_len() * (0..v.num_layers()).map(|layer| v.layer(layer).1).sum::<u64>()
    }
    fn tokens(&self, a: &Architecture) -> u64 {
        Recurrent(a).context_len()
    }
    /// The states of every layer, whatever the length of the sequence.
    fn cache_numbers(&self, a: &Architecture) -> Option<u64> {
        let v = Recurrent(a);
        Some((0..v.num_layers()).map(|layer| v.num_states() * v.layer(layer).1).sum())
    }
    /// The nodes of the cell stand for blocks: the stack is the same for every recipe.
    fn blocks(&self, a: &Architecture, each: &mut dyn FnMut(Block)) {
        let width = Recurrent(a).hidden_size();
        (0..a.positions()).for_each(|_| each(Block { width, heads: None }));
    }

    fn knows(&self, key: &str) -> bool {
        ["nodes", "recipe"].contains(&key) || FIELDS[..6].iter().any(|field| field.answers_to(key))
    }
    fn write(&self, a: &Architecture, object: &mut Map<String, Value>) {
        write_fields(a, object);
        FIELDS[6..].iter().for_each(|field| drop(object.shift_remove(field.key)));
        object.insert("nodes".into(), Recurrent(a).recipe().to_json());
    }
    fn read(&self, object: &Map<String, Value>, template: Option<&Template>) -> Result<Vec<u32>> {
        let nodes = object.get("nodes").or(object.get("recipe"));
        let nodes =
            nodes.ok_or_else(|| Error::parse("nodes", "is missing: the cell as [{name, op, inputs}]"))?;
        let recipe = Recipe::from_json(nodes)?;
        let states = &FIELDS[5];
        if let Some(given) = value_of(states, object)?
            && given.as_u64() != Some(recipe.results.len() as u64)
        {
            return Err(wrong(
                states,
                format!("is {given}, but the nodes give {} states", recipe.results.len()),
            ));
        }
        let mut globals = read_globals(&FIELDS[..6], None, object, template)?;
        globals[5] = Some(recipe.results.len() as u32);
        let mut values = read_rows(&FIELDS[..6], object, template, globals, 0)?;
        values.extend(recipe.rows());
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names follow their nodes: written last first, with one that nothing reads.
    #[test]
    fn names_in_canonical_order() {
        let node = |op: &str, inputs: &[&str]| json!({"op": op, "input": inputs});
        let written = json!({"h_new_0": node("activation_tanh", &["sum"]), "idle": node("linear", &["x"]),
            "sum": node("elementwise_sum", &["b", "a"]), "a": node("linear", &["x"]), "b": node("linear", &["h_prev_0"])});
        assert_eq!(Recipe::names_from_json(&written).unwrap(), ["b", "a", "sum", "h_new_0"]);
        assert_eq!(Recipe::from_json(&written).unwrap().nodes[0].inputs, [Input::Previous(0)]);
    }
}
