//! Networks that a function of the user's builds from values that it asks for, one after the other.
//!
//! ```json
//! {"family": "module", "parameter_count": 12345, "choices": {"layers": 2, "width": 64, "kind": "gelu"}}
//! ```
//!
//! Somebody else builds, counts and runs them. Here they are names and values in the order of asking, and the number of
//! parameters that was counted, so that studies of them are stored, read and reported like others. A position is a choice.

use super::field::{count, schema};
use super::{Architecture, Block, Card, Counter, NetworkKind, Positions, Template, Visitor};
use crate::error::{Error, Result};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::{LazyLock, RwLock};

schema! {
    /// The fields of an architecture that is a list of choices.
    Module
    whole {
        /// The number of parameters, its lower 32 bits.
        low: count(0, u32::MAX).or(0);
        /// The number of parameters, its upper 32 bits.
        high: count(0, u32::MAX).or(0);
    }
    lists {}
    positions {
        /// The name of a choice, as a number that this process gives it.
        name: count(0, u32::MAX).or(0);
        /// The value, likewise.
        value: count(0, u32::MAX).or(0);
    }
}

const CHOICES: &str = "choices";
const PARAMETERS: &str = "parameter_count";

/// The name of a choice and its value: a number, a text, yes or no, or nothing.
pub type Choice = (String, Value);

/// Names and values that this process has met. Their numbers differ between processes, and nothing that is stored holds them.
#[derive(Default)]
struct Words {
    numbers: HashMap<Value, u32>,
    words: Vec<Value>,
}

static WORDS: LazyLock<RwLock<Words>> = LazyLock::new(RwLock::default);

fn number(word: &Value) -> u32 {
    let known = WORDS.read().expect("no holder panics").numbers.get(word).copied();
    known.unwrap_or_else(|| {
        let mut all = WORDS.write().expect("no holder panics");
        let next = all.words.len() as u32;
        let number = *all.numbers.entry(word.clone()).or_insert(next);
        if number == next {
            all.words.push(word.clone());
        }
        number
    })
}

fn word(number: u32) -> Value {
    WORDS.read().expect("no holder panics").words.get(number as usize).cloned().unwrap_or_default()
}

impl Module<'_> {
    /// The number of parameters that was counted.
    pub fn parameters(&self) -> u64 {
        self.low() | self.high() << 32
    }

    /// The choices, in the order of asking.
    pub fn choices(&self) -> Vec<Choice> {
        let text = |number| word(number).as_str().unwrap_or_default().to_owned();
        let one = |position| (text(self.name(position) as u32), word(self.value(position) as u32));
        (0..self.0.positions()).map(one).collect()
    }
}

/// The values of an architecture with these choices.
pub fn values(parameters: u64, choices: &[Choice]) -> Vec<u32> {
    let rows = choices.iter().flat_map(|(name, value)| [number(&name.as_str().into()), number(value)]);
    [parameters as u32, (parameters >> 32) as u32].into_iter().chain(rows).collect()
}

/// The family.
pub struct Family;

impl super::Family for Family {
    fn card(&self) -> &'static Card {
        static CARD: Card = Card {
            name: "module",
            about: "what a function of the user's builds from the values that it asks for",
            fields: FIELDS,
            positions: Positions::Choices,
            // Nobody here runs them, so that it does not matter.
            kind: NetworkKind::Vision,
        };
        &CARD
    }
    fn check(&self, _: &Architecture) -> Result<(), String> {
        Ok(())
    }
    fn check_position(&self, _: &Architecture, _: usize) -> Result<(), String> {
        Ok(())
    }
    fn outside(&self, architecture: &Architecture, visitor: &mut Visitor) {
        visitor.uncharted(Module(architecture).parameters());
    }
    fn position(&self, _: &Architecture, _: usize, _: &mut Visitor) {}
    fn counts_work(&self) -> bool {
        false
    }
    fn flops_outside(&self, _: &Architecture, _: Counter) -> u128 {
        0
    }
    fn flops_position(&self, _: &Architecture, _: usize, _: Counter) -> u128 {
        0
    }
    fn activations_outside(&self, _: &Architecture) -> u64 {
        0
    }
    fn activations_position(&self, _: &Architecture, _: usize) -> u64 {
        0
    }
    fn tokens(&self, _: &Architecture) -> u64 {
        1
    }
    fn blocks(&self, _: &Architecture, _: &mut dyn FnMut(Block)) {}
    fn has_dropout(&self, _: &Architecture) -> bool {
        false
    }
    fn untrainable(&self) -> Option<&'static str> {
        Some("a function of the user's builds them, and only who has it can train them")
    }
    fn knows(&self, key: &str) -> bool {
        [CHOICES, PARAMETERS].contains(&key)
    }
    fn write(&self, architecture: &Architecture, object: &mut Map<String, Value>) {
        object.insert(PARAMETERS.to_owned(), Module(architecture).parameters().into());
        object
            .insert(CHOICES.to_owned(), Value::Object(Module(architecture).choices().into_iter().collect()));
    }
    fn read(&self, object: &Map<String, Value>, _: Option<&Template>) -> Result<Vec<u32>> {
        let parameters = object.get(PARAMETERS).and_then(Value::as_u64);
        let parameters = parameters.ok_or_else(|| Error::parse(PARAMETERS, "is not a whole number"))?;
        let choices = object.get(CHOICES).and_then(Value::as_object);
        let choices = choices.ok_or_else(|| Error::parse(CHOICES, "is not a table of names and values"))?;
        if let Some((name, value)) = choices.iter().find(|(_, value)| value.is_array() || value.is_object()) {
            return Err(Error::parse(name.as_str(), format!("{value} is not one value")));
        }
        let choices: Vec<Choice> =
            choices.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        Ok(values(parameters, &choices))
    }
}
