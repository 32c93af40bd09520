//! Which architectures exist: sample, mutate, cross, count, enumerate. Builds no network.
//!
//! Spaces are data. The presets are files under `presets/`, shipped inside the library; a file of one's own, written
//! the same way, works wherever a preset does. Adding a preset is one file and one line in [`PRESETS`].

mod additive;
mod asked;
mod budget;
mod cells;
mod distribution;
mod file;
mod grid;
mod neighbours;
mod optimum;
mod uniform;

pub use asked::{Asked, Source};
pub use cells::Cells;
pub use file::{Column, Definition};
pub use grid::{Grid, Walk};
pub use neighbours::Neighbours;

use crate::architecture::{Architecture, Counter, Positions, family};
use crate::catalogue;
use crate::error::{Error, Result};
use crate::seed::Rng;
use crate::units::grouped;
use num_bigint::BigUint;
use serde_json::{Map, Value};
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// The preset files, in the order they are listed.
pub const PRESETS: &[(&str, &str)] = &[
    ("autoformer-tiny", include_str!("presets/autoformer-tiny.toml")),
    ("autoformer-small", include_str!("presets/autoformer-small.toml")),
    ("autoformer-base", include_str!("presets/autoformer-base.toml")),
    ("pit-ti", include_str!("presets/pit-ti.toml")),
    ("pit-xs", include_str!("presets/pit-xs.toml")),
    ("pit-s", include_str!("presets/pit-s.toml")),
    ("shunted", include_str!("presets/shunted.toml")),
    ("shunted-stems", include_str!("presets/shunted-stems.toml")),
    ("bert", include_str!("presets/bert.toml")),
    ("flexibert", include_str!("presets/flexibert.toml")),
    ("gpt2", include_str!("presets/gpt2.toml")),
    ("gpt2-etas", include_str!("presets/gpt2-etas.toml")),
    ("gpt2-text", include_str!("presets/gpt2-text.toml")),
    ("gpt2-etas-lm1b", include_str!("presets/gpt2-etas-lm1b.toml")),
    ("gpt2-public", include_str!("presets/gpt2-public.toml")),
    ("transformer-xl", include_str!("presets/transformer-xl.toml")),
    ("nasbench-nlp", include_str!("presets/nasbench-nlp.toml")),
    ("lonas-llama", include_str!("presets/lonas-llama.toml")),
];

/// A set of architectures of one family.
pub trait Space: Send + Sync {
    /// The file it was built from.
    fn definition(&self) -> &Definition;
    /// Whether networks can be drawn: a space that is a function of the user's needs the function.
    fn check_source(&self) -> Result<()> {
        Ok(())
    }
    /// A random architecture.
    fn sample(&self, rng: &mut Rng) -> Architecture;
    /// A child that differs from its parent in about `rate` of its values.
    fn mutate(&self, parent: &Architecture, rate: f64, rng: &mut Rng) -> Architecture;
    /// A child of two parents.
    fn cross(&self, a: &Architecture, b: &Architecture, rng: &mut Rng) -> Architecture;
    /// A child with newly drawn values: outside the positions with the probability of the slot, inside with that of the
    /// position. Spaces whose positions cannot be told apart take the mean of the latter.
    fn redraw(&self, parent: &Architecture, frame: Rate, row: Rate, rng: &mut Rng) -> Architecture {
        let positions = parent.positions().max(1);
        let mean = (0..positions).map(row).sum::<f64>() / positions as f64;
        self.mutate(parent, mean.max(frame(0)), rng)
    }
    /// The first parent with some positions as the second has them, as far as that is admissible.
    fn graft(&self, a: &Architecture, b: &Architecture, _positions: &[usize], rng: &mut Rng) -> Architecture {
        self.cross(a, b, rng)
    }
    /// Whether an architecture belongs to the space; the error says why not.
    fn validate(&self, architecture: &Architecture) -> Result<()>;
    /// How many architectures there are.
    fn size(&self) -> Size;
    /// The architecture with this index, for spaces that can be counted.
    fn at(&self, index: &BigUint) -> Option<Architecture>;
    /// The part inside `limits`, which are known to make sense; [`within`](#method.within) is the checked way in.
    fn feasible(&self, limits: &Limits) -> Result<Box<dyn Feasible + '_>>;
    /// The space as a grid, if it is one: grids can be walked and counted under limits.
    fn as_grid(&self) -> Option<&Grid> {
        None
    }
}

/// The probability that a value is drawn again, by slot or position.
pub type Rate<'r> = &'r dyn Fn(usize) -> f64;

/// How many architectures a space holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Size {
    /// So many.
    Exact(BigUint),
    /// A random process with no closed form.
    Open,
}

/// A closed range of a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    /// Least allowed.
    pub min: u64,
    /// Most allowed.
    pub max: u64,
}

impl Default for Bound {
    fn default() -> Self {
        Bound { min: 0, max: u64::MAX }
    }
}

/// Hard limits on what an architecture may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Parameters, as the family counts its total.
    pub params: Bound,
    /// Multiply-adds of one input.
    pub flops: Bound,
    /// How multiply-adds are counted.
    pub counter: Counter,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { params: Bound::default(), flops: Bound::default(), counter: Counter::Exact }
    }
}

impl Limits {
    /// The limits as ranges of the two costs.
    fn window(&self) -> distribution::Window {
        distribution::Window {
            low: [self.params.min, self.flops.min],
            high: [self.params.max, self.flops.max],
        }
    }
}

/// The part of a space inside given limits; never empty.
pub trait Feasible {
    /// A random feasible architecture: as the space samples, given that it is feasible, or uniform over all of them.
    fn sample(&self, uniform: bool, rng: &mut Rng) -> Result<Architecture>;
    /// The share of the space's architectures that are feasible, where it can be counted.
    fn share(&self) -> Option<f64>;
}

impl dyn Space + '_ {
    /// What it is called.
    pub fn name(&self) -> &str {
        &self.definition().name
    }

    /// The architectures inside `limits`, or a proof that there are none.
    pub fn within(&self, limits: &Limits) -> Result<Box<dyn Feasible + '_>> {
        for (bound, what) in [(limits.params, "parameters"), (limits.flops, "multiply-adds")] {
            if bound.min > bound.max {
                let (min, max) = (grouped(bound.min), grouped(bound.max));
                let reason = format!("the minimum of {min} {what} exceeds the maximum of {max} {what}");
                return Err(Error::Infeasible { space: self.name().to_owned(), reason });
            }
        }
        if limits.counter == Counter::Published && !self.definition().family.has_published_flops() {
            let message =
                format!("the {} family has no published counter: use exact", self.definition().family);
            return Err(Error::parse("flops", message));
        }
        self.feasible(limits)
    }

    /// Least and largest of parameters and multiply-adds (exact count), for spaces that can be counted.
    pub fn extremes(&self) -> Option<[(u64, u64); 2]> {
        Some(self.as_grid()?.extremes(Counter::Exact))
    }

    /// Natural logarithm of the size, if it has one.
    pub fn ln_size(&self) -> Option<f64> {
        match self.size() {
            Size::Exact(size) => Some(budget::ln(&size)),
            Size::Open => None,
        }
    }

    /// Reads an architecture of this space: what it fixes need not be said, and may be overridden.
    pub fn read(&self, object: &Map<String, Value>) -> Result<Architecture> {
        let definition = self.definition();
        Architecture::from_json(
            definition.name.as_str().into(),
            definition.family,
            Some(&definition.template()),
            object,
        )
    }

    /// Writes an architecture of this space: what it fixes is left out unless it differs.
    pub fn write(&self, architecture: &Architecture) -> Map<String, Value> {
        let definition = self.definition();
        let mut object = architecture.to_json();
        if !is_preset(&definition.name) {
            return object;
        }
        object.insert("space".into(), definition.name.as_str().into());
        object.shift_remove("family");
        let template = definition.template();
        for field in definition.family.fields() {
            let at = file::position_in(definition.family, field);
            let fixed = match field.scope {
                crate::architecture::Scope::Position => {
                    let rows = (0..architecture.positions())
                        .all(|p| Some(architecture.row(p)[at]) == template.row[at]);
                    rows && template.row[at].is_some()
                }
                _ => (at..at + field.width())
                    .all(|slot| Some(architecture.globals()[slot]) == template.globals[slot]),
            };
            if fixed {
                object.shift_remove(field.key);
            }
        }
        object
    }
}

/// The preset of this name.
pub fn preset(name: &str) -> Result<Arc<dyn Space>> {
    static BUILT: [OnceLock<Arc<dyn Space>>; PRESETS.len()] = [const { OnceLock::new() }; PRESETS.len()];
    let names = || PRESETS.iter().map(|(name, _)| *name);
    let place =
        names().position(|known| known == name).ok_or_else(|| catalogue::unknown("space", name, names()))?;
    let build =
        || parse(name, PRESETS[place].1).unwrap_or_else(|e| panic!("a shipped preset is broken: {e}"));
    Ok(BUILT[place].get_or_init(build).clone())
}

/// Whether a preset of this name exists.
pub fn is_preset(name: &str) -> bool {
    PRESETS.iter().any(|(known, _)| *known == name)
}

/// A space from the text of a space file; `place` is what complaints call it.
pub fn parse(place: &str, text: &str) -> Result<Arc<dyn Space>> {
    let definition = Definition::parse(place, text)?;
    Ok(match definition.family.card().positions {
        Positions::Nodes => Arc::new(Cells::new(definition)?),
        Positions::Choices => Arc::new(Asked::new(definition, None)?),
        Positions::Layers(_) | Positions::Stages(_) => Arc::new(Grid::new(definition)?),
    })
}

/// A preset by name, or a space file by path.
pub fn open(name_or_path: &str) -> Result<Arc<dyn Space>> {
    let looks_like_file = name_or_path.ends_with(".toml") || name_or_path.contains(std::path::is_separator);
    if !looks_like_file {
        return preset(name_or_path);
    }
    let text = crate::file::text(Path::new(name_or_path))?;
    let space = parse(name_or_path, &text)?;
    space.check_source()?;
    // A file that calls itself like a preset would make its architectures read back as the preset's.
    match PRESETS.iter().find(|(name, _)| *name == space.name()) {
        Some((name, shipped)) if *shipped != text => {
            Err(Error::parse(name_or_path, format!("is called '{name}' like a preset: choose another name")))
        }
        _ => Ok(space),
    }
}

/// Reads an architecture that says its preset (`space`) or its `family`.
pub fn read_architecture(value: &Value) -> Result<Architecture> {
    let Some(object) = value.as_object() else {
        return Err(Error::parse("architecture", "is not a JSON object"));
    };
    let text = |key: &str| object.get(key).and_then(Value::as_str);
    match (text("family"), text("space")) {
        (Some(name), label) => {
            Architecture::from_json(label.unwrap_or(name).into(), family(name)?, None, object)
        }
        (None, Some(space)) => open(space)?.read(object),
        (None, None) => Err(Error::parse(
            "architecture",
            "names neither its space nor its family, e.g. {\"space\": \"gpt2\", …}",
        )),
    }
}

/// An architecture as JSON, as short as its space allows.
pub fn write_architecture(architecture: &Architecture) -> Map<String, Value> {
    match preset(architecture.space()) {
        Ok(space) if space.definition().family.is(architecture.family()) => space.write(architecture),
        _ => architecture.to_json(),
    }
}
