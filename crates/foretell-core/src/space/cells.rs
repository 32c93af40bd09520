//! Recurrent cells drawn by the NAS-Bench-NLP generator.
//!
//! Until `states + vertices` nodes exist an operation is drawn (linear 3 : blend 1 : product 1 : sum 1). A linear node
//! has two inputs (probability 0.8) or three among `x`, the previous states and the activations so far, and an
//! activation follows it; the others draw among the previous states and all nodes so far. Then random nodes become
//! the next states, and what does not reach one is deleted. A draw counts only if `x` and every previous state are
//! used and no next state reads a previous one directly.
//!
//! Under limits the generator is conditioned by rejection. Cost depends only on how many linear nodes there are and
//! what they read, so the possible totals are few, and a cell is constructed for each. Limits that exclude all of them
//! are refused with the nearest; where the generator is too unlikely to hit what remains, the constructed cell is
//! shuffled by mutations that stay inside the limits.

use super::{Definition, Feasible, Limits, Size, Space};
use crate::architecture::{Architecture, Input, Node, Op, Recipe, Recurrent};
use crate::error::{Error, Result};
use crate::seed::{Rng, Seed};
use crate::units::grouped;
use num_bigint::BigUint;
use rand::RngExt;
use rand::seq::{IndexedRandom, SliceRandom};
use std::sync::Arc;

/// Draws before the generator gives way to construction; at a few microseconds each, a few hundredths of a second.
const MAX_DRAWS: usize = 20_000;
/// Feasible mutations that shuffle a constructed cell.
const SHUFFLES: usize = 64;

/// The cells of a definition.
pub struct Cells {
    label: Arc<str>,
    definition: Definition,
    states: Vec<u32>,
}

const STATES: usize = 5;

impl Cells {
    /// Builds the space. Everything but the number of states must be fixed.
    pub fn new(definition: Definition) -> Result<Self> {
        for (field, choices) in definition.family.fields().iter().zip(&definition.globals) {
            if choices.len() > 1 && field.key != "num_states" {
                let message = "may not vary in this family: put one value under [fixed]";
                return Err(Error::parse(definition.at(field.key), message));
            }
        }
        if definition.min_ffn_ratio.is_some() {
            return Err(Error::parse(
                definition.name.as_str(),
                "min_ffn_ratio has no meaning for recurrent cells",
            ));
        }
        let states = definition.globals[STATES].clone();
        Ok(Cells { label: definition.name.as_str().into(), states, definition })
    }

    fn architecture(&self, recipe: &Recipe) -> Architecture {
        let mut values: Vec<u32> = self.definition.globals.iter().map(|choices| choices[0]).collect();
        values[STATES] = recipe.results.len() as u32;
        values.extend(recipe.rows());
        Architecture::unchecked(self.label.clone(), self.definition.family, values)
    }

    /// The most nodes a drawn cell may have: the last draw may add a linear node and its activation.
    fn max_nodes(&self, states: usize) -> usize {
        states + self.definition.vertices as usize + 1
    }

    fn draw(&self, states: usize, rng: &mut Rng) -> Option<Recipe> {
        let mut nodes: Vec<Node> = Vec::new();
        let mut activations: Vec<Input> = Vec::new();
        let previous: Vec<Input> = (0..states).map(Input::Previous).collect();
        while nodes.len() < states + self.definition.vertices as usize {
            let mut readable = previous.clone();
            match rng.random_range(0..6) {
                0..3 => {
                    readable.push(Input::X);
                    readable.extend(&activations);
                    let inputs = if rng.random_bool(0.8) { 2 } else { 3 };
                    nodes.push(Node {
                        op: Op::Linear,
                        inputs: readable.partial_shuffle(rng, inputs).0.to_vec(),
                    });
                    let linear = Input::Node(nodes.len() - 1);
                    let op = *Op::ACTIVATIONS.choose(rng).expect("three activations");
                    activations.push(Input::Node(nodes.len()));
                    nodes.push(Node { op, inputs: vec![linear] });
                }
                other => {
                    readable.extend((0..nodes.len()).map(Input::Node));
                    let (op, inputs) = [(Op::Blend, 3), (Op::Product, 2), (Op::Sum, 2)][other - 3];
                    if readable.len() >= inputs {
                        nodes.push(Node { op, inputs: readable.partial_shuffle(rng, inputs).0.to_vec() });
                    }
                }
            }
        }
        let mut places: Vec<usize> = (0..nodes.len()).collect();
        places.shuffle(rng);
        let recipe = Recipe { nodes, results: places[..states].to_vec() };
        recipe.canonical().ok().filter(accepted)
    }

    /// One random change: an activation, an operation, or where a node reads from.
    fn change(&self, recipe: &Recipe, rng: &mut Rng) -> Recipe {
        let mut changed = recipe.clone();
        let at = rng.random_range(0..changed.nodes.len());
        let node = &mut changed.nodes[at];
        if Op::ACTIVATIONS.contains(&node.op) && rng.random_bool(0.5) {
            node.op = *Op::ACTIVATIONS.choose(rng).expect("three activations");
        } else if [Op::Product, Op::Sum].contains(&node.op) && rng.random_bool(0.5) {
            node.op = if node.op == Op::Sum { Op::Product } else { Op::Sum };
        } else if node.op == Op::Linear && node.inputs.len() == 3 && rng.random_bool(0.3) {
            node.inputs.remove(rng.random_range(0..3));
        } else {
            let states = changed.results.len();
            let mut readable: Vec<Input> =
                (0..states).map(Input::Previous).chain((0..at).map(Input::Node)).collect();
            let node = &mut changed.nodes[at];
            if node.op == Op::Linear {
                readable.push(Input::X);
            }
            readable.retain(|input| !node.inputs.contains(input));
            if let Some(input) = readable.choose(rng) {
                if node.op == Op::Linear && node.inputs.len() == 2 && rng.random_bool(0.2) {
                    node.inputs.push(*input);
                } else {
                    let slot = rng.random_range(0..node.inputs.len());
                    node.inputs[slot] = *input;
                }
            }
        }
        changed
    }
}

/// The generator's rules on a finished cell.
fn accepted(recipe: &Recipe) -> bool {
    let reads = |wanted: Input| recipe.nodes.iter().any(|node| node.inputs.contains(&wanted));
    let direct =
        |result: &usize| recipe.nodes[*result].inputs.iter().any(|i| matches!(i, Input::Previous(_)));
    reads(Input::X)
        && (0..recipe.results.len()).all(|k| reads(Input::Previous(k)))
        && !recipe.results.iter().any(direct)
}

impl Space for Cells {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn sample(&self, rng: &mut Rng) -> Architecture {
        let states = *self.states.choose(rng).expect("a definition has choices") as usize;
        loop {
            // Roughly one draw in five is accepted, whatever the settings a file may hold.
            if let Some(recipe) = self.draw(states, rng) {
                return self.architecture(&recipe);
            }
        }
    }

    /// Changes each node with probability `rate`, at least one; nodes that no longer matter vanish.
    fn mutate(&self, parent: &Architecture, rate: f64, rng: &mut Rng) -> Architecture {
        let recipe = Recurrent(parent).recipe();
        for _ in 0..1000 {
            let changes = (0..recipe.nodes.len()).filter(|_| rng.random_bool(rate)).count().max(1);
            let child = (0..changes).fold(recipe.clone(), |cell, _| self.change(&cell, rng));
            if let Some(child) = child.canonical().ok().filter(accepted)
                && child.nodes.len() <= self.max_nodes(child.results.len())
            {
                return self.architecture(&child);
            }
        }
        self.sample(rng)
    }

    /// Computes some of the next states as the first parent does, the others as the second.
    fn cross(&self, a: &Architecture, b: &Architecture, rng: &mut Rng) -> Architecture {
        let (first, second) = (Recurrent(a).recipe(), Recurrent(b).recipe());
        if first.results.len() != second.results.len() {
            return self.mutate(if rng.random_bool(0.5) { a } else { b }, 0.2, rng);
        }
        let shift = first.nodes.len();
        let moved = second.nodes.iter().map(|node| {
            let inputs =
                node.inputs.iter().map(|i| if let Input::Node(n) = i { Input::Node(n + shift) } else { *i });
            Node { op: node.op, inputs: inputs.collect() }
        });
        let both: Vec<Node> = first.nodes.iter().cloned().chain(moved).collect();
        for _ in 0..50 {
            let mut nodes = both.clone();
            let mut results: Vec<usize> = first.results.clone();
            for (result, other) in results.iter_mut().zip(&second.results) {
                if rng.random_bool(0.5) {
                    *result = other + shift;
                }
            }
            // Graft: one place of the first cell reads from the second.
            let at = rng.random_range(0..shift);
            let slot = rng.random_range(0..nodes[at].inputs.len());
            if matches!(nodes[at].inputs[slot], Input::Node(_)) && rng.random_bool(0.5) {
                nodes[at].inputs[slot] = Input::Node(shift + rng.random_range(0..second.nodes.len()));
            }
            if let Some(child) = (Recipe { nodes, results }).canonical().ok().filter(accepted)
                && child.nodes.len() <= self.max_nodes(child.results.len())
            {
                return self.architecture(&child);
            }
        }
        self.mutate(a, 0.2, rng)
    }

    fn validate(&self, architecture: &Architecture) -> Result<()> {
        architecture.check()?;
        let recipe = Recurrent(architecture).recipe();
        let (states, nodes) = (recipe.results.len(), recipe.nodes.len());
        if !self.states.contains(&(states as u32)) {
            return Err(Error::parse("num_states", format!("{states} is not among {:?}", self.states)));
        }
        if nodes > self.max_nodes(states) {
            let most = self.max_nodes(states);
            return Err(Error::parse("nodes", format!("{nodes} are more than the generator's {most}")));
        }
        for (slot, field) in self.definition.family.fields().iter().take(STATES).enumerate() {
            let (value, fixed) = (architecture.globals()[slot], self.definition.globals[slot][0]);
            if value != fixed {
                return Err(Error::parse(field.key, format!("is {value}, the space fixes {fixed}")));
            }
        }
        if !accepted(&recipe) {
            let message =
                "must read x and every previous state, and no next state may read a previous one directly";
            return Err(Error::parse("nodes", message));
        }
        Ok(())
    }

    fn size(&self) -> Size {
        Size::Open
    }

    fn at(&self, _: &BigUint) -> Option<Architecture> {
        None
    }

    fn feasible(&self, limits: &Limits) -> Result<Box<dyn Feasible + '_>> {
        let vertices = self.definition.vertices as usize;
        let built = self.states.iter().flat_map(|states| constructions(*states as usize, vertices));
        let built: Vec<Architecture> = built.map(|recipe| self.architecture(&recipe)).collect();
        if let Some(anchor) = built.iter().find(|cell| limits.hold(cell)) {
            return Ok(Box::new(Inside { space: self, limits: *limits, anchor: anchor.clone() }));
        }
        if let Some(found) = (0..MAX_DRAWS as u64)
            .map(|i| self.sample(&mut Seed(0).stream("feasible", i)))
            .find(|cell| limits.hold(cell))
        {
            return Ok(Box::new(Inside { space: self, limits: *limits, anchor: found }));
        }
        let flops = |cell: &Architecture| cell.flops(limits.counter).unwrap_or(0);
        // How far outside a bound, as a share of it: parameters and multiply-adds differ in magnitude.
        let off = |bound: super::Bound, value: u64| {
            let beyond = bound.min.saturating_sub(value).max(value.saturating_sub(bound.max));
            beyond as f64 / bound.max.min(value.max(bound.min)).max(1) as f64
        };
        let distance =
            |cell: &Architecture| off(limits.params, cell.params().total) + off(limits.flops, flops(cell));
        let nearest = built.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)));
        let reason = nearest.map_or(String::new(), |cell| {
            format!(
                "the nearest cell has {} parameters and {} multiply-adds",
                grouped(cell.params().total),
                grouped(flops(cell))
            )
        });
        Err(Error::Infeasible { space: self.definition.name.clone(), reason })
    }
}

/// The cells inside limits.
struct Inside<'s> {
    space: &'s Cells,
    limits: Limits,
    /// A feasible cell, for when the generator finds none.
    anchor: Architecture,
}

impl Limits {
    fn hold(&self, architecture: &Architecture) -> bool {
        let flops = architecture.flops(self.counter).unwrap_or(u64::MAX);
        (self.params.min..=self.params.max).contains(&architecture.params().total)
            && (self.flops.min..=self.flops.max).contains(&flops)
    }
}

/// One cell for every cost the generator can reach: `n` linear nodes, `with_x` of them reading x, `extra` with three
/// inputs. Cost depends on these three numbers alone.
fn constructions(states: usize, vertices: usize) -> Vec<Recipe> {
    let most = (states + vertices).div_ceil(2);
    let mut cells = Vec::new();
    for n in 1..=most {
        for with_x in 1..=n {
            for extra in 0..=n {
                cells.extend(construct(states, vertices, n, with_x, extra));
            }
        }
    }
    cells
}

/// A chain of linear nodes and activations that reads what it must, joined so that everything is used.
fn construct(states: usize, vertices: usize, n: usize, with_x: usize, extra: usize) -> Option<Recipe> {
    let mut nodes: Vec<Node> = Vec::new();
    let mut unread: Vec<Input> = (0..states).map(Input::Previous).collect();
    let mut last: Option<Input> = None;
    for i in 0..n {
        let mut inputs = Vec::new();
        if i < with_x {
            inputs.push(Input::X);
        }
        inputs.extend(last);
        let width = if i < extra { 3 } else { 2 };
        let spare =
            (0..states).map(Input::Previous).chain((0..nodes.len()).filter(|k| k % 2 == 1).map(Input::Node));
        let mut spare = spare.collect::<Vec<_>>().into_iter();
        while inputs.len() < width {
            let next = unread.pop().or_else(|| spare.find(|input| !inputs.contains(input)))?;
            if !inputs.contains(&next) {
                inputs.push(next);
            }
        }
        inputs.truncate(width);
        unread.retain(|input| !inputs.contains(input));
        nodes.push(Node { op: Op::Linear, inputs });
        last = Some(Input::Node(nodes.len()));
        nodes.push(Node { op: Op::Tanh, inputs: vec![Input::Node(nodes.len() - 1)] });
    }
    // States not read yet enter by sums, which cost nothing; the same kind of node serves further results.
    while let Some(state) = unread.pop() {
        nodes.push(Node { op: Op::Sum, inputs: vec![last?, state] });
        last = Some(Input::Node(nodes.len() - 1));
    }
    // Activations and joins read no previous state, so they may become states; the last node must be reached.
    let end = nodes.len() - 1;
    let join = |nodes: &mut Vec<Node>| {
        nodes.push(Node { op: Op::Sum, inputs: vec![Input::Node(end), Input::Node(0)] });
        nodes.len() - 1
    };
    let ends_in_state = nodes[end].inputs.iter().any(|input| matches!(input, Input::Previous(_)));
    let mut results = vec![if ends_in_state { join(&mut nodes) } else { end }];
    results.extend((0..n).map(|i| 2 * i + 1).rev().filter(|activation| *activation != end).take(states - 1));
    while results.len() < states {
        results.push(join(&mut nodes));
    }
    let fits = nodes.len() <= states + vertices + 1;
    let recipe = Recipe { nodes, results };
    recipe.canonical().ok().filter(|recipe| fits && accepted(recipe))
}

impl Feasible for Inside<'_> {
    /// The generator conditioned on the limits; `uniform` has no meaning for a process and changes nothing.
    fn sample(&self, _uniform: bool, rng: &mut Rng) -> Result<Architecture> {
        for _ in 0..MAX_DRAWS {
            let cell = self.space.sample(rng);
            if self.limits.hold(&cell) {
                return Ok(cell);
            }
        }
        let mut cell = self.anchor.clone();
        for _ in 0..SHUFFLES {
            let next = self.space.mutate(&cell, 0.1, rng);
            if self.limits.hold(&next) {
                cell = next;
            }
        }
        Ok(cell)
    }

    fn share(&self) -> Option<f64> {
        None
    }
}
