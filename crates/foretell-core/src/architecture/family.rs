//! What a kind of network must tell about itself, and the parts of JSON reading that all families share.

use super::{Architecture, Field, Scope, Template, Visitor};
use crate::catalogue;
use crate::error::{Error, Result};
use serde_json::{Map, Value};

/// How multiply-adds are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counter {
    /// As the family's released code counts, quirks included.
    Published,
    /// What the network really does.
    Exact,
}

/// What proxies of shape ask about a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// Width of the residual stream.
    pub width: u64,
    /// Attention heads; none in a recurrent cell.
    pub heads: Option<u64>,
}

/// What positions are, and how many there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Positions {
    /// Layers, all alike, as many as this field says.
    Layers(&'static str),
    /// So many stages, each of its own kind.
    Stages(usize),
    /// The nodes of a cell.
    Nodes,
    /// What a function asked for, one after the other.
    Choices,
}

/// What networks of a family are, as far as passes, proxies and training must know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NetworkKind {
    /// Reads an image and scores classes.
    Vision,
    /// Reads a whole text and ends in features after a layer norm.
    Encoder,
    /// Scores the next word by attention to those before it.
    Decoder,
    /// Scores the next word from states that it carries from step to step. Its rows are listed step after step.
    Recurrent,
}

/// The card of a family.
pub struct Card {
    /// The name in space files.
    pub name: &'static str,
    /// One sentence for people.
    pub about: &'static str,
    /// All fields, those outside the positions first.
    pub fields: &'static [Field],
    /// What positions are.
    pub positions: Positions,
    /// What its networks are.
    pub kind: NetworkKind,
}

/// A kind of network: its fields, its rules, its weights, its work.
///
/// Positions are layers, stages or cell nodes. Given the values outside them, counts are sums: one term outside,
/// one per position that depends on that position's values alone. Budget-aware sampling rests on this.
pub trait Family: Sync {
    /// Its name, fields and positions.
    fn card(&self) -> &'static Card;
    /// Rules between values outside the positions. The text names the values.
    fn check(&self, architecture: &Architecture) -> Result<(), String>;
    /// Rules that a position must meet.
    fn check_position(&self, architecture: &Architecture, position: usize) -> Result<(), String>;
    /// The weights outside the positions.
    fn outside(&self, architecture: &Architecture, visitor: &mut Visitor);
    /// The weights of one position.
    fn position(&self, architecture: &Architecture, position: usize, visitor: &mut Visitor);
    /// Whether released code counts multiply-adds in a way worth offering.
    fn has_published_flops(&self) -> bool {
        false
    }
    /// Whether multiply-adds, memory and latency of its networks are known here; otherwise parameters alone are.
    fn counts_work(&self) -> bool {
        true
    }
    /// Multiply-adds outside the positions.
    fn flops_outside(&self, architecture: &Architecture, counter: Counter) -> u128;
    /// Multiply-adds of one position.
    fn flops_position(&self, architecture: &Architecture, position: usize, counter: Counter) -> u128;
    /// Numbers kept for the backward pass outside the positions.
    fn activations_outside(&self, architecture: &Architecture) -> u64;
    /// Numbers kept for the backward pass in one position.
    fn activations_position(&self, architecture: &Architecture, position: usize) -> u64;
    /// Tokens that enter the first block.
    fn tokens(&self, architecture: &Architecture) -> u64;
    /// Numbers that a decoder keeps of a whole context, so that a further token takes one step: keys and values, or the
    /// states of a recurrent cell. `None`: the family is not a decoder.
    fn cache_numbers(&self, _architecture: &Architecture) -> Option<u64> {
        None
    }
    /// Calls `each` with every block, first to last.
    fn blocks(&self, architecture: &Architecture, each: &mut dyn FnMut(Block));
    /// Feed-forward width of a position and the width it stands beside, where a space may bound their ratio.
    fn ffn_and_width(&self, _architecture: &Architecture, _position: usize) -> Option<(u64, u64)> {
        None
    }
    /// Sets values that have no effect on the network to one representative.
    fn canonicalise(&self, _values: &mut Vec<u32>) {}
    /// Samples of a pass when nobody says: what the originals feed cells and text, fewer images.
    fn usual_batch(&self) -> usize {
        match self.card().kind {
            NetworkKind::Vision => 8,
            NetworkKind::Encoder | NetworkKind::Decoder => 16,
            NetworkKind::Recurrent => 50,
        }
    }
    /// Tokens of a pass at most when nobody says: encoders were measured on 128, others read all they can up to 192.
    fn usual_tokens(&self) -> u64 {
        if self.card().kind == NetworkKind::Encoder { 128 } else { 192 }
    }
    /// Whether a training pass drops anything: numbers, or from the second block on whole branches.
    fn has_dropout(&self, architecture: &Architecture) -> bool {
        match self.card().kind {
            NetworkKind::Vision => architecture.depth() > 1,
            NetworkKind::Encoder | NetworkKind::Decoder => true,
            NetworkKind::Recurrent => false,
        }
    }
    /// Why networks of the family cannot be trained here, if they cannot.
    fn untrainable(&self) -> Option<&'static str> {
        None
    }
    /// Whether attention reads fewer keys than there are tokens, because it pools them.
    fn pools_keys(&self) -> bool {
        false
    }
    /// Whether masked attention scores are replaced by a finite number, which a pass can turn round.
    fn has_finite_mask(&self) -> bool {
        false
    }
    /// Matrices that the paper on spectral capacity lists for the family, where they are not the weights.
    fn capacity_matrices(&self, _architecture: &Architecture) -> Option<Vec<(u64, u64)>> {
        None
    }
    /// Adds to a row of a published table what the table leaves out.
    fn complete(&self, _row: &mut Map<String, Value>) {}
    /// The family whose parts a published table gives for networks of this one, where it does.
    fn miscounted_as(&self) -> Option<&'static dyn Family> {
        None
    }

    /// Whether `key` means something to this family.
    fn knows(&self, key: &str) -> bool {
        self.card().fields.iter().any(|field| field.answers_to(key))
    }
    /// Adds the fields of an architecture to a JSON object.
    fn write(&self, architecture: &Architecture, object: &mut Map<String, Value>) {
        write_fields(architecture, object);
    }
    /// The values that a JSON object describes.
    fn read(&self, object: &Map<String, Value>, template: Option<&Template>) -> Result<Vec<u32>> {
        let Card { fields, positions, .. } = self.card();
        let depth = if let Positions::Layers(key) = positions { Some(*key) } else { None };
        let globals = read_globals(fields, depth, object, template)?;
        let slots: Vec<u32> = globals.iter().map(|value| value.unwrap_or(0)).collect();
        read_rows(fields, object, template, globals, positions.count(fields, &slots))
    }
}

impl Positions {
    /// How many positions the values outside them imply.
    pub fn count(&self, fields: &[Field], globals: &[u32]) -> usize {
        match self {
            Positions::Layers(key) => globals[super::field::offset(fields, key)] as usize,
            Positions::Stages(n) => *n,
            Positions::Nodes | Positions::Choices => 0,
        }
    }
}

/// Its name, as messages and tables show it.
impl std::fmt::Display for dyn Family + '_ {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.card().name)
    }
}

impl dyn Family + '_ {
    /// The name in space files.
    pub fn name(&self) -> &'static str {
        self.card().name
    }

    /// Whether this is the same family as another: names are unique.
    pub fn is(&self, other: &dyn Family) -> bool {
        self.name() == other.name()
    }

    /// All fields, those outside the positions first.
    pub fn fields(&self) -> &'static [Field] {
        self.card().fields
    }

    /// The field of this name or alias.
    pub fn field(&self, key: &str) -> Result<&'static Field> {
        self.fields().iter().find(|field| field.answers_to(key)).ok_or_else(|| self.unknown_key(key))
    }

    /// The error for a key that the family does not know.
    pub fn unknown_key(&self, key: &str) -> Error {
        catalogue::unknown("key", key, self.fields().iter().map(|field| field.key))
    }

    /// Values per position.
    pub fn row_width(&self) -> usize {
        self.fields().iter().filter(|field| field.scope == Scope::Position).count()
    }
}

/// The value an object holds for a field, under its name or an alias.
pub(super) fn value_of<'o>(field: &Field, object: &'o Map<String, Value>) -> Result<Option<&'o Value>> {
    let mut given = object.iter().filter(|(key, _)| field.answers_to(key));
    let first = given.next();
    match (first, given.next()) {
        (Some((a, x)), Some((b, y))) if x != y => {
            Err(Error::parse(b.clone(), format!("is {y}, but '{a}', the same field, is {x}: keep one")))
        }
        _ => Ok(first.map(|(_, value)| value)),
    }
}

pub(super) fn wrong(field: &Field, message: String) -> Error {
    Error::parse(field.key, message)
}

/// The values outside the positions; a missing depth is taken from the length of the per-position lists.
pub(super) fn read_globals(
    fields: &[Field],
    depth: Option<&str>,
    object: &Map<String, Value>,
    template: Option<&Template>,
) -> Result<Vec<Option<u32>>> {
    let mut globals = Vec::new();
    let listed = fields.iter().filter(|field| field.scope == Scope::Position).find_map(|field| {
        value_of(field, object).ok().flatten().and_then(Value::as_array).map(|list| list.len() as u32)
    });
    for field in fields {
        let given = value_of(field, object)?;
        let fallback = |at: usize, i: usize| {
            template.and_then(|template| template.globals[at]).or_else(|| field.default_at(i))
        };
        let at = globals.len();
        match (field.scope, given) {
            (Scope::Position, _) => {}
            (Scope::Whole, Some(value)) => {
                globals.push(Some(field.read(value).map_err(|e| wrong(field, e))?))
            }
            (Scope::Whole, None) if depth == Some(field.key) && listed.is_some() => {
                let depth = listed.unwrap_or_default();
                globals.push(Some(field.read(&depth.into()).map_err(|e| wrong(field, e))?));
            }
            (Scope::Whole, None) => globals.push(fallback(at, 0)),
            (Scope::List(n), None) => globals.extend((0..n).map(|i| fallback(at + i, i))),
            (Scope::List(n), Some(Value::Array(list))) if list.len() <= n => {
                for value in list {
                    globals.push(Some(field.read(value).map_err(|e| wrong(field, e))?));
                }
                // A shorter list is legal where "none" is: the rest is empty.
                let rest = field.read(&Value::Null).ok();
                if list.len() < n && rest.is_none() {
                    return Err(wrong(field, format!("has {} entries, {n} are needed", list.len())));
                }
                globals.extend(std::iter::repeat_n(rest, n - list.len()));
            }
            (Scope::List(n), Some(value)) => {
                return Err(wrong(field, format!("{value} is not a list of {n} entries")));
            }
        }
    }
    Ok(globals)
}

/// Completes the globals with one row per position.
pub(super) fn read_rows(
    fields: &[Field],
    object: &Map<String, Value>,
    template: Option<&Template>,
    globals: Vec<Option<u32>>,
    positions: usize,
) -> Result<Vec<u32>> {
    let mut values = Vec::with_capacity(globals.len() + positions * 4);
    let slots = fields.iter().flat_map(|field| std::iter::repeat_n(field, field.width()));
    for (field, value) in slots.zip(globals) {
        values.push(value.ok_or_else(|| wrong(field, format!("is missing: {}", field.doc)))?);
    }
    let columns =
        fields.iter().filter(|field| field.scope == Scope::Position).enumerate().map(|(i, field)| {
            let read = |value| field.read(value).map_err(|e| wrong(field, e));
            match value_of(field, object)? {
                Some(Value::Array(list)) if list.len() == positions => list.iter().map(read).collect(),
                Some(Value::Array(list)) => {
                    Err(wrong(field, format!("has {} entries, but there are {positions} layers", list.len())))
                }
                Some(value) => Ok(vec![read(value)?; positions]),
                None => {
                    let fixed = template.and_then(|template| template.row[i]).or(field.default);
                    let fixed = fixed.ok_or_else(|| wrong(field, format!("is missing: {}", field.doc)))?;
                    Ok(vec![fixed; positions])
                }
            }
        });
    let columns: Vec<Vec<u32>> = columns.collect::<Result<_>>()?;
    for position in 0..positions {
        values.extend(columns.iter().map(|column| column[position]));
    }
    Ok(values)
}

/// Every field as JSON, per-position ones as lists.
pub(super) fn write_fields(architecture: &Architecture, object: &mut Map<String, Value>) {
    let (mut at, mut column) = (0, 0);
    for field in architecture.family().fields() {
        let value = match field.scope {
            Scope::Whole if field.unsaid && Some(architecture.globals()[at]) == field.default => {
                at += 1;
                continue;
            }
            Scope::Whole => field.write(architecture.globals()[at]),
            Scope::List(n) => {
                let list = architecture.globals()[at..at + n].iter().map(|value| field.write(*value));
                Value::Array(list.filter(|value| !value.is_null()).collect())
            }
            Scope::Position => {
                column += 1;
                let rows = (0..architecture.positions()).map(|p| architecture.row(p)[column - 1]);
                Value::Array(rows.map(|value| field.write(value)).collect())
            }
        };
        at += field.width();
        object.insert(field.key.to_owned(), value);
    }
}
