//! One candidate as plain data: which family, and the value of each of its fields. No tensor, no randomness.
//!
//! An [`Architecture`] is complete: everything a network needs is in it, whatever space it came from. Its
//! [`id`](Architecture::id) is a hash of its canonical JSON, so equal networks have equal ids in every study.
//!
//! Each family is one file: its fields, its rules, and its weights, from which all counts follow.

mod adaptive;
pub mod bert;
mod family;
pub mod field;
pub mod flexibert;
pub mod gpt2;
pub mod llama;
pub mod module;
pub mod pit;
pub mod recurrent;
pub mod shunted;
mod subject;
mod tensor;
pub mod transformer_xl;
pub mod vit;

pub use adaptive::Adaptive;
pub use bert::Bert;
pub use family::{Block, Card, Counter, Family, NetworkKind, Positions};
pub use field::{Field, Kind, MAX_DIM, MAX_LAYERS, Scope};
pub use flexibert::{FlexiBert, Mixer, Mode};
pub use gpt2::Gpt2;
pub use llama::Llama;
pub use pit::Pit;
pub use recurrent::{Input, Node, Op, Recipe, Recurrent};
pub use shunted::Shunted;
pub use subject::Subject;
pub use tensor::{Form, Init, Names, Params, Part, Role, Tensor, Visitor};
pub use transformer_xl::TransformerXl;
pub use vit::Vit;

use crate::catalogue;
use crate::error::{Error, Result};
use serde_json::{Map, Value};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, RwLock};

/// The families, each in its own module: what its networks are run by elsewhere names them here.
pub mod families {
    pub use super::{bert, flexibert, gpt2, llama, pit, recurrent, shunted, transformer_xl, vit};
}

/// What the tensors of each family are called: the one list that weight files, initialisation and forward passes go by.
pub mod names {
    pub use super::adaptive::names as adaptive;
    pub use super::bert::names as bert;
    pub use super::flexibert::names as flexibert;
    pub use super::gpt2::names as gpt2;
    pub use super::llama::names as llama;
    pub use super::pit::names as pit;
    pub use super::recurrent::names as recurrent;
    pub use super::shunted::names as shunted;
    pub use super::transformer_xl::names as transformer_xl;
    pub use super::vit::names as vit;
}

/// Every family, in the order they are listed.
pub const FAMILIES: &[&dyn Family] = &[
    &vit::Family,
    &pit::Family,
    &shunted::Family,
    &bert::Family,
    &flexibert::Family,
    &gpt2::Family,
    &transformer_xl::Family,
    &recurrent::Family,
    &llama::Family,
];

/// Refuses a derived size that is zero or beyond [`MAX_DIM`].
fn fits(what: &str, size: u64) -> Result<(), String> {
    if (1..=u64::from(MAX_DIM)).contains(&size) {
        Ok(())
    } else {
        Err(format!("{what} of {size}, not 1 to {MAX_DIM}"))
    }
}

/// Families whose networks somebody else builds and runs: they are read, stored and reported.
const ELSEWHERE: &[&dyn Family] = &[&module::Family];

/// Families that users brought.
static BROUGHT: RwLock<Vec<&'static dyn Family>> = RwLock::new(Vec::new());

/// Adds a family, so that its networks can be read by name. A family that is known already is not added again; one with
/// the name of another is refused.
pub fn register(family: &'static dyn Family) -> Result<()> {
    let mut brought = BROUGHT.write().expect("no holder panics");
    match FAMILIES.iter().chain(ELSEWHERE).chain(&*brought).find(|known| known.is(family)) {
        Some(known) if std::ptr::eq(known.card(), family.card()) => Ok(()),
        Some(_) => Err(Error::parse(family.name(), "is the name of another family: choose another")),
        None => {
            brought.push(family);
            Ok(())
        }
    }
}

/// Every family: those of the library, those of networks that are run elsewhere, then those that were registered.
pub fn families() -> Vec<&'static dyn Family> {
    FAMILIES.iter().chain(ELSEWHERE).chain(&*BROUGHT.read().expect("no holder panics")).copied().collect()
}

/// The family of this name.
pub fn family(name: &str) -> Result<&'static dyn Family> {
    catalogue::find("family", name, &families(), |family| family.name())
}

/// One candidate: the values of its family's fields.
///
/// ```
/// let space = foretell_core::space::preset("gpt2").unwrap();
/// let gpt2 = foretell_core::space::read_architecture(&serde_json::json!({
///     "space": "gpt2", "n_layer": 2, "d_model": 128, "d_embed": 512, "div_val": 1,
///     "n_head": [2, 4], "d_inner": [730, 1220],
/// })).unwrap();
/// assert_eq!(gpt2.params().total, 26_576_888);
/// assert_eq!(space.read(&space.write(&gpt2)).unwrap().id(), gpt2.id());
/// ```
#[derive(Clone)]
pub struct Architecture {
    space: Arc<str>,
    family: &'static dyn Family,
    globals: usize,
    values: Vec<u32>,
}

/// Bytes that one forward and backward of one input needs in f32.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// The weights.
    pub weights: u64,
    /// The gradient of each weight.
    pub gradients: u64,
    /// What the forward pass keeps for the backward pass.
    pub activations: u64,
}

impl Memory {
    /// All three together.
    pub fn total(&self) -> u64 {
        self.weights + self.gradients + self.activations
    }
}

impl Architecture {
    /// An architecture from its raw values, checked.
    pub fn new(space: Arc<str>, family: &'static dyn Family, values: Vec<u32>) -> Result<Self> {
        let architecture = Self::unchecked(space, family, values);
        architecture.check()?;
        Ok(architecture)
    }

    /// An architecture whose values are known to be right.
    pub fn unchecked(space: Arc<str>, family: &'static dyn Family, values: Vec<u32>) -> Self {
        let globals = family.fields().iter().map(Field::width).sum();
        Architecture { space, family, globals, values }
    }

    /// All rules of the family.
    pub fn check(&self) -> Result<()> {
        let invalid = |reason| Error::Invalid { family: self.family.to_string(), reason };
        self.family.check(self).map_err(invalid)?;
        for position in 0..self.positions() {
            self.family.check_position(self, position).map_err(invalid)?;
        }
        // Every count is bounded by this one: below it, sums of sizes and bytes stay clear of 64 bits.
        let flops = self.count_flops(Counter::Exact);
        if flops > 1 << 60 {
            return Err(invalid(format!(
                "one input takes {flops:e} multiply-adds, more than can be counted"
            )));
        }
        Ok(())
    }

    /// The space it came from; a label, not part of its identity.
    pub fn space(&self) -> &str {
        &self.space
    }

    /// Its family.
    pub fn family(&self) -> &'static dyn Family {
        self.family
    }

    /// The values outside the positions, in field order.
    pub fn globals(&self) -> &[u32] {
        &self.values[..self.globals]
    }

    /// The values of one layer, stage or node.
    pub fn row(&self, position: usize) -> &[u32] {
        let width = self.family.row_width();
        &self.values[self.globals + position * width..][..width]
    }

    /// The same, to be changed; the caller keeps the family's rules.
    pub fn row_mut(&mut self, position: usize) -> &mut [u32] {
        let (globals, width) = (self.globals, self.family.row_width());
        &mut self.values[globals + position * width..][..width]
    }

    /// All values, globals first.
    pub fn values(&self) -> &[u32] {
        &self.values
    }

    /// Layers, stages or nodes.
    pub fn positions(&self) -> usize {
        (self.values.len() - self.globals) / self.family.row_width().max(1)
    }

    /// Parameters, in all and by part.
    pub fn params(&self) -> Params {
        let mut params = Params::default();
        self.show(&mut Visitor::count(&mut params));
        params
    }

    /// Multiply-adds of one forward pass of one input.
    ///
    /// `None` if nobody counts them, or if the family has no published counter worth following.
    pub fn flops(&self, counter: Counter) -> Option<u64> {
        let published = counter == Counter::Published && !self.family.has_published_flops();
        if published || !self.family.counts_work() {
            return None;
        }
        Some(self.count_flops(counter) as u64)
    }

    fn count_flops(&self, counter: Counter) -> u128 {
        let positions =
            (0..self.positions()).map(|position| self.family.flops_position(self, position, counter));
        self.family.flops_outside(self, counter) + positions.sum::<u128>()
    }

    /// What one forward and backward of one input needs, in f32.
    pub fn memory(&self) -> Memory {
        let mut weights = 0;
        self.visit(&mut |tensor| weights += 4 * tensor.len());
        let positions =
            (0..self.positions()).map(|position| self.family.activations_position(self, position));
        let activations = 4 * (self.family.activations_outside(self) + positions.sum::<u64>());
        Memory { weights, gradients: weights, activations }
    }

    /// Bytes in f32 of what a decoder keeps of a whole context; `None` for encoders and vision.
    ///
    /// ```text
    /// GPT-2            Σ_layers 2 · d_model · context
    /// LLaMA            Σ_layers 2 · (key heads · head width) · context
    /// Transformer-XL   Σ_layers 3 · d_model · context        keys, values, projected distances
    /// recurrent        Σ_layers states · layer width
    /// ```
    ///
    /// Each number takes four bytes. `network::Decoder` holds exactly this.
    pub fn cache_bytes(&self) -> Option<u64> {
        self.family.cache_numbers(self).map(|numbers| 4 * numbers)
    }

    /// Whether it predicts the next token from those before it.
    pub fn is_decoder(&self) -> bool {
        self.family.cache_numbers(self).is_some()
    }

    /// Number of blocks, the depth that proxies speak of.
    pub fn depth(&self) -> u64 {
        let mut depth = 0;
        self.blocks(&mut |_| depth += 1);
        depth
    }

    /// Calls `each` with every block, first to last.
    pub fn blocks(&self, each: &mut dyn FnMut(Block)) {
        self.family.blocks(self, each);
    }

    /// Tokens that enter the first block.
    pub fn tokens(&self) -> u64 {
        self.family.tokens(self)
    }

    /// Hands every weight tensor to `sink`, outside ones first, then position by position.
    pub fn visit(&self, sink: &mut dyn FnMut(&Tensor)) {
        self.show(&mut Visitor::new(sink));
    }

    fn show(&self, visitor: &mut Visitor) {
        self.family.outside(self, visitor);
        for position in 0..self.positions() {
            self.family.position(self, position, visitor);
        }
    }

    /// Every weight tensor.
    pub fn tensors(&self) -> Vec<Tensor> {
        let mut tensors = Vec::new();
        self.visit(&mut |tensor| tensors.push(*tensor));
        tensors
    }

    /// The cost of what lies outside the positions.
    pub fn cost_outside(&self, counter: Counter) -> [u64; 2] {
        let mut params = Params::default();
        self.family.outside(self, &mut Visitor::count(&mut params));
        [params.total, self.family.flops_outside(self, counter) as u64]
    }

    /// The cost of one position: parameters and multiply-adds.
    pub fn cost_position(&self, position: usize, counter: Counter) -> [u64; 2] {
        let mut params = Params::default();
        self.family.position(self, position, &mut Visitor::count(&mut params));
        [params.total, self.family.flops_position(self, position, counter) as u64]
    }

    /// The same architecture with one field set, per-layer fields everywhere.
    pub fn with(&self, key: &str, value: &Value) -> Result<Self> {
        let mut object = self.to_json();
        let field = self.family.field(key)?;
        object.insert(field.key.to_owned(), value.clone());
        Self::from_json(self.space.clone(), self.family, None, &object)
    }

    /// The whole of it as JSON: space, family and every field.
    pub fn to_json(&self) -> Map<String, Value> {
        let mut object = Map::new();
        object.insert("space".into(), (*self.space).into());
        object.insert("family".into(), self.family.name().into());
        self.family.write(self, &mut object);
        object
    }

    /// Reads field values by name or alias; what is missing comes from `template`, else from the family's defaults.
    ///
    /// A single value for a per-layer field holds for all layers. Keys the family does not know are refused,
    /// except `space`, `family` and `id`.
    pub fn from_json(
        space: Arc<str>,
        family: &'static dyn Family,
        template: Option<&Template>,
        object: &Map<String, Value>,
    ) -> Result<Self> {
        for key in object.keys().filter(|key| !["space", "family", "id"].contains(&key.as_str())) {
            if !family.knows(key) {
                return Err(family.unknown_key(key));
            }
        }
        Self::new(space, family, family.read(object, template)?)
    }

    /// A stable name of the network: a hash of its canonical JSON, with genes that have no effect cut.
    pub fn id(&self) -> String {
        let mut canonical = self.clone();
        self.family.canonicalise(&mut canonical.values);
        let mut object = canonical.to_json();
        object.remove("space");
        object.sort_keys();
        let text = serde_json::to_string(&object).expect("a map of plain values serialises");
        blake3::hash(text.as_bytes()).to_hex()[..20].to_owned()
    }
}

/// Values that a space fixes: one slot per value outside the positions, one per field of a position.
#[derive(Debug, Clone, Default)]
pub struct Template {
    /// Values outside the positions, where fixed.
    pub globals: Vec<Option<u32>>,
    /// Values of a position's fields, where fixed for all positions.
    pub row: Vec<Option<u32>>,
}

impl PartialEq for Architecture {
    fn eq(&self, other: &Self) -> bool {
        self.family.is(other.family) && self.values == other.values
    }
}

impl Eq for Architecture {}

impl Hash for Architecture {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.family.name().hash(state);
        self.values.hash(state);
    }
}

impl fmt::Debug for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Value::Object(self.to_json()).to_string())
    }
}
