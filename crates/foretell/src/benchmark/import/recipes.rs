//! The cells of NAS-Bench-NLP by their numbers.
//!
//! The benchmark drew its cells with NumPy's generator, one seed per draw, and numbered the valid draws. The published losses name
//! cells by number alone, so the draws are made again here. A draw has been checked against every recipe of the WikiText-2 logs and
//! the published weight counts; see `docs/benchmarks.md`.

use rand_mt::Mt;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::LazyLock;

/// Numbers of the first cells: a plain recurrent cell, LSTM and GRU, which the benchmark wrote by hand.
const EXAMPLES: std::ops::Range<u64> = 1_000_000..1_000_003;
/// Nodes of a draw beside those that become states.
const INNER: usize = 13;
/// Every draw was trained up to three times, under three numbers.
const RUNS: u64 = 3;

/// Cells with the same number of states.
struct Class {
    /// Order in which the generator met the states: that of a Python set.
    states: &'static [usize],
    /// Number of the first draw.
    first: u64,
    /// Valid draws.
    draws: u64,
}

const CLASSES: [Class; 3] = [
    Class { states: &[0], first: 1_000_003, draws: 2000 },
    Class { states: &[1, 0], first: 1_006_003, draws: 2000 },
    Class { states: &[1, 0, 2], first: 1_012_003, draws: 735 },
];

/// One node of a cell.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Node {
    pub name: String,
    pub op: String,
    pub inputs: Vec<String>,
}

/// The nodes of a cell as our tables write them.
pub(super) fn nodes(cell: &[Node]) -> Value {
    cell.iter().map(|node| json!({"name": node.name, "op": node.op, "inputs": node.inputs})).collect()
}

/// How many states a cell has.
pub(super) fn states(cell: &[Node]) -> usize {
    cell.iter().filter(|node| is_state(&node.name)).count()
}

fn is_state(name: &str) -> bool {
    let number = name.strip_prefix("h_new_");
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// A cell of the benchmark.
pub(super) struct Recipe {
    /// Equal for equal cells: the number of states, and the first draw of the cell.
    pub group: String,
    /// Its nodes; none of the examples, which only logs hold.
    pub cell: Option<Vec<Node>>,
}

/// Cells by their numbers in the benchmark.
pub(super) struct Recipes(HashMap<u64, Recipe>);

impl Recipes {
    /// All cells, drawn once.
    pub fn all() -> &'static Self {
        static ALL: LazyLock<Recipes> = LazyLock::new(Recipes::draw);
        &ALL
    }

    fn draw() -> Self {
        let mut found: HashMap<u64, Recipe> = EXAMPLES
            .map(|id| (id, Recipe { group: format!("h0-{:04}", id - EXAMPLES.start), cell: None }))
            .collect();
        for class in &CLASSES {
            let mut firsts: HashMap<Vec<Node>, String> = HashMap::new();
            let valid = (0..u32::MAX).filter_map(|seed| Draw::new(seed, class.states).cell());
            for (draw, cell) in (0..class.draws).zip(valid) {
                let name = || format!("h{}-{draw:04}", class.states.len());
                let group = firsts.entry(cell.clone()).or_insert_with(name).clone();
                for run in 0..RUNS {
                    let recipe = Recipe { group: group.clone(), cell: Some(cell.clone()) };
                    found.insert(class.first + run * class.draws + draw, recipe);
                }
            }
        }
        Recipes(found)
    }

    /// The cell of a number.
    pub fn get(&self, id: u64) -> Option<&Recipe> {
        self.0.get(&id)
    }
}

/// One draw in the making.
struct Draw {
    generator: Mt,
    states: &'static [usize],
    /// States and input, as linear nodes may see them.
    base: Vec<String>,
    nodes: Vec<Node>,
}

impl Draw {
    fn new(seed: u32, states: &'static [usize]) -> Self {
        let previous = (0..states.len()).map(|state| format!("h_prev_{state}"));
        let base = std::iter::once("x".to_owned()).chain(previous).collect();
        Draw { generator: Mt::new(seed), states, base, nodes: Vec::new() }
    }

    /// The cell, if it is valid: it reads its input and all states, and no new state reads an old one directly.
    fn cell(mut self) -> Option<Vec<Node>> {
        self.grow();
        self.name_states();
        let used = self.prune();
        let reads_all = self.base.iter().all(|name| used.contains(name));
        let old = |node: &Node| node.inputs.iter().any(|input| input.starts_with("h_prev_"));
        let direct = self.nodes.iter().any(|node| is_state(&node.name) && old(node));
        (reads_all && !direct).then_some(self.nodes)
    }

    /// Adds nodes until there are enough; a linear node is followed by its activation.
    fn grow(&mut self) {
        let wanted = self.states.len() + INNER;
        let mut activated: Vec<String> = Vec::new();
        let mut number = 0;
        while number < wanted {
            let op = ["linear", "blend", "elementwise_prod", "elementwise_sum"]
                [self.weighted(&[3.0, 1.0, 1.0, 1.0])];
            if op == "linear" {
                let inputs = [2, 3][self.weighted(&[4.0, 1.0])];
                let seen: Vec<String> = self.base.iter().chain(&activated).cloned().collect();
                self.add(number, op, seen, inputs);
                let activation = ["activation_tanh", "activation_sigm", "activation_leaky_relu"]
                    [self.weighted(&[1.0, 1.0, 1.0])];
                let (name, input) = (format!("node_{}", number + 1), format!("node_{number}"));
                self.nodes.push(Node { name: name.clone(), op: activation.to_owned(), inputs: vec![input] });
                activated.push(name);
                number += 2;
            } else {
                let inputs = if op == "blend" { 3 } else { 2 };
                let states = self.states.iter().map(|state| format!("h_prev_{state}"));
                let seen: Vec<String> =
                    states.chain(self.nodes.iter().map(|node| node.name.clone())).collect();
                if seen.len() >= inputs {
                    self.add(number, op, seen, inputs);
                    number += 1;
                }
            }
        }
    }

    fn add(&mut self, number: usize, op: &str, seen: Vec<String>, inputs: usize) {
        let inputs = self.several(seen, inputs);
        self.nodes.push(Node { name: format!("node_{number}"), op: op.to_owned(), inputs });
    }

    /// Makes some nodes the new states and puts them at the end.
    fn name_states(&mut self) {
        let names: Vec<String> = self.nodes.iter().map(|node| node.name.clone()).collect();
        let chosen = self.several(names, self.states.len());
        let new: HashMap<String, String> =
            chosen.iter().enumerate().map(|(i, name)| (name.clone(), format!("h_new_{i}"))).collect();
        for name in &chosen {
            let place =
                self.nodes.iter().position(|node| node.name == *name).expect("it was chosen among them");
            let node = self.nodes.remove(place);
            self.nodes.push(Node { name: new[name].clone(), ..node });
        }
        for input in self.nodes.iter_mut().flat_map(|node| &mut node.inputs) {
            if let Some(name) = new.get(input) {
                input.clone_from(name);
            }
        }
    }

    /// Removes what no new state depends on; the names that are left, inputs among them.
    fn prune(&mut self) -> Vec<String> {
        let mut used: Vec<String> = (0..self.states.len()).map(|state| format!("h_new_{state}")).collect();
        let mut at = 0;
        while let Some(name) = used.get(at) {
            let node = self.nodes.iter().find(|node| node.name == *name);
            for input in node.map(|node| node.inputs.clone()).unwrap_or_default() {
                if !used.contains(&input) {
                    used.push(input);
                }
            }
            at += 1;
        }
        self.nodes.retain(|node| used.contains(&node.name));
        used
    }

    /// NumPy's draw of one of several with these weights.
    fn weighted(&mut self, weights: &[f64]) -> usize {
        let total: f64 = weights.iter().sum();
        let mut sums: Vec<f64> = Vec::with_capacity(weights.len());
        weights.iter().for_each(|weight| sums.push(sums.last().unwrap_or(&0.0) + weight / total));
        let whole = sums[sums.len() - 1];
        let (high, low) = (self.generator.next_u32() >> 5, self.generator.next_u32() >> 6);
        let uniform = (f64::from(high) * 67_108_864.0 + f64::from(low)) / 9_007_199_254_740_992.0;
        sums.iter().filter(|sum| **sum / whole <= uniform).count()
    }

    /// NumPy's draw of several without repetition: the first of a shuffled list.
    fn several(&mut self, mut of: Vec<String>, n: usize) -> Vec<String> {
        for i in (1..of.len()).rev() {
            let j = self.at_most(i as u32) as usize;
            of.swap(i, j);
        }
        of.truncate(n);
        of
    }

    /// NumPy's draw of a whole number from 0 to `most`.
    fn at_most(&mut self, most: u32) -> u32 {
        let mask = u32::MAX >> most.leading_zeros();
        loop {
            let value = self.generator.next_u32() & mask;
            if value <= most {
                return value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first cells of the list of examples that the benchmark ships: numbers 3, 4 and 5.
    #[test]
    fn first_draws_are_the_published_ones() {
        let shown = |cell: &[Node]| -> Vec<String> {
            cell.iter().map(|node| format!("{} {} {}", node.name, node.op, node.inputs.join(","))).collect()
        };
        let first: Vec<Vec<Node>> = (0..10).filter_map(|seed| Draw::new(seed, &[0]).cell()).take(3).collect();
        assert_eq!(shown(&first[0]), ["node_0 linear h_prev_0,x", "h_new_0 activation_tanh node_0"]);
        assert_eq!(
            shown(&first[1]),
            [
                "node_0 linear x,h_prev_0",
                "node_1 activation_tanh node_0",
                "node_3 linear h_prev_0,node_1",
                "node_4 activation_leaky_relu node_3",
                "node_6 linear node_4,node_1",
                "node_7 activation_tanh node_6",
                "node_8 linear node_1,x,node_7",
                "h_new_0 activation_sigm node_8",
            ]
        );
        assert_eq!(shown(&first[2]), ["node_0 linear h_prev_0,x", "h_new_0 activation_leaky_relu node_0"]);
    }

    #[test]
    fn a_state_is_told_from_its_parts() {
        assert!(is_state("h_new_1") && !is_state("h_new_1_act") && !is_state("h_new_"));
    }
}
