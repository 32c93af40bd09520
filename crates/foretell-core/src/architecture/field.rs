//! What a family's architectures are described by: named fields, each a small integer with a meaning.
//!
//! A family declares its fields once with `schema!`; reading and writing JSON and TOML, sampling, mutation,
//! hashing and help texts all follow from that list.

use serde_json::Value;

/// The largest size any dimension may have; larger ones are refused at the door.
pub const MAX_DIM: u32 = 1 << 20;
/// The most layers (or cell nodes) an architecture may have.
pub const MAX_LAYERS: u32 = 1024;

/// What the stored integer of a field means.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// A whole number in the range.
    Count(u32, u32),
    /// A whole number in the range, or none (stored as 0, written `null`).
    Optional(u32, u32),
    /// A decimal with at most three digits behind the point, stored in thousandths.
    Ratio(u32, u32),
    /// One of the names, stored as its place in the list.
    Name(&'static [&'static str]),
    /// Yes or no.
    Flag,
}

/// How many values of a field an architecture holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// One.
    Whole,
    /// A list of fixed length.
    List(usize),
    /// One per position: layer, stage or cell node.
    Position,
}

/// One named property of a family.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// The name in JSON and TOML.
    pub key: &'static str,
    /// Other names accepted on reading: those of papers, benchmarks and model hubs.
    pub aliases: &'static [&'static str],
    /// What its integer means.
    pub kind: Kind,
    /// How many there are.
    pub scope: Scope,
    /// The value where nothing is said; for lists, of every entry unless `list_default` says otherwise.
    pub default: Option<u32>,
    /// The default of a list, entry by entry.
    pub list_default: &'static [u32],
    /// One sentence for people.
    pub doc: &'static str,
    /// Whether the default is left unsaid in JSON, so that networks keep the id they had before the field was there.
    pub unsaid: bool,
}

/// A whole number between `min` and `max`.
pub const fn count(min: u32, max: u32) -> Field {
    Field::new(Kind::Count(min, max))
}
/// A size between 1 and [`MAX_DIM`].
pub const fn dim() -> Field {
    count(1, MAX_DIM)
}
/// A size between 1 and [`MAX_DIM`], or none.
pub const fn optional() -> Field {
    let mut field = Field::new(Kind::Optional(1, MAX_DIM));
    field.default = Some(0);
    field
}
/// A decimal between `min` and `max` thousandths.
pub const fn ratio(min: u32, max: u32) -> Field {
    Field::new(Kind::Ratio(min, max))
}
/// One of the names.
pub const fn name(names: &'static [&'static str]) -> Field {
    Field::new(Kind::Name(names))
}
/// Yes or no.
pub const fn flag() -> Field {
    Field::new(Kind::Flag)
}

impl Field {
    const fn new(kind: Kind) -> Self {
        Field {
            key: "",
            aliases: &[],
            kind,
            scope: Scope::Whole,
            default: None,
            list_default: &[],
            doc: "",
            unsaid: false,
        }
    }
    /// The value where nothing is said.
    pub const fn or(mut self, default: u32) -> Self {
        self.default = Some(default);
        self
    }
    /// The value where nothing is said, and which is not said: for fields that came later.
    pub const fn or_unsaid(mut self, default: u32) -> Self {
        self.unsaid = true;
        self.or(default)
    }
    /// The default of a list, entry by entry.
    pub const fn or_list(mut self, default: &'static [u32]) -> Self {
        self.list_default = default;
        self
    }
    /// Further names accepted on reading.
    pub const fn alias(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }
    /// The field with its name, sentence and scope: what `schema!` calls.
    pub const fn named(mut self, key: &'static str, doc: &'static str, scope: Scope) -> Self {
        self.key = key;
        self.doc = doc;
        self.scope = scope;
        self
    }

    /// Whether the field goes by this name.
    pub fn answers_to(&self, key: &str) -> bool {
        self.key == key || self.aliases.contains(&key)
    }

    /// The number of stored integers outside the positions.
    pub const fn width(&self) -> usize {
        match self.scope {
            Scope::Whole => 1,
            Scope::List(n) => n,
            Scope::Position => 0,
        }
    }

    /// The default of entry `i`, if there is one.
    pub fn default_at(&self, i: usize) -> Option<u32> {
        self.list_default.get(i).copied().or(self.default)
    }

    /// One value from JSON.
    pub fn read(&self, value: &Value) -> Result<u32, String> {
        let whole = |value: &Value| match value {
            Value::Number(n) => {
                n.as_u64().or_else(|| n.as_f64().filter(|x| x.fract() == 0.0 && *x >= 0.0).map(|x| x as u64))
            }
            _ => None,
        };
        let within = |n: u64, min: u32, max: u32| {
            u32::try_from(n)
                .ok()
                .filter(|n| (min..=max).contains(n))
                .ok_or(format!("{n} is not between {min} and {max}"))
        };
        match self.kind {
            Kind::Count(min, max) => {
                within(whole(value).ok_or(format!("{value} is not a whole number"))?, min, max)
            }
            Kind::Optional(min, max) => match value {
                Value::Null => Ok(0),
                Value::String(word) if word == "none" => Ok(0),
                // Configuration files of language models write "as the model" so.
                Value::Number(n) if n.as_i64() == Some(-1) => Ok(0),
                _ => within(
                    whole(value).ok_or(format!("{value} is neither a whole number nor \"none\""))?,
                    min,
                    max,
                ),
            },
            Kind::Ratio(min, max) => {
                let x = value.as_f64().ok_or(format!("{value} is not a number"))?;
                let thousandths = (x * 1000.0).round();
                if (x * 1000.0 - thousandths).abs() > 1e-6 {
                    return Err(format!("{x} has more than three digits behind the point"));
                }
                if !(f64::from(min)..=f64::from(max)).contains(&thousandths) {
                    return Err(format!(
                        "{x} is not between {} and {}",
                        f64::from(min) / 1e3,
                        f64::from(max) / 1e3
                    ));
                }
                Ok(thousandths as u32)
            }
            Kind::Name(names) => {
                let word = match value {
                    Value::String(word) => word.clone(),
                    Value::Number(n) => n.to_string(),
                    other => return Err(format!("{other} is not one of {}", names.join(", "))),
                };
                // "as_trained" and "as-trained" are the same name to everyone but a computer.
                let same = |name: &&str| **name == word || **name == word.replace('_', "-");
                names.iter().position(same).map(|i| i as u32).ok_or_else(|| {
                    let hint = crate::catalogue::nearest(&word, names.iter().copied());
                    let hint = hint.map(|name| format!(" (did you mean '{name}'?)")).unwrap_or_default();
                    format!("'{word}' is not one of {}{hint}", names.join(", "))
                })
            }
            Kind::Flag => value.as_bool().map(u32::from).ok_or(format!("{value} is neither true nor false")),
        }
    }

    /// One value as JSON.
    pub fn write(&self, value: u32) -> Value {
        match self.kind {
            Kind::Count(..) => value.into(),
            Kind::Optional(..) if value == 0 => Value::Null,
            Kind::Optional(..) => value.into(),
            Kind::Ratio(..) => (f64::from(value) / 1000.0).into(),
            Kind::Name(names) => names[value as usize].into(),
            Kind::Flag => (value != 0).into(),
        }
    }
}

/// Where the values of `key` start: among the values outside the positions, or within one position's row.
pub const fn offset(fields: &[Field], key: &str) -> usize {
    let (mut i, mut head, mut row) = (0, 0, 0);
    while i < fields.len() {
        let field = &fields[i];
        let per_position = matches!(field.scope, Scope::Position);
        if same(field.key, key) {
            return if per_position { row } else { head };
        }
        head += field.width();
        row += per_position as usize;
        i += 1;
    }
    panic!("a field that the schema does not declare")
}

const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}

/// Declares a family's fields and a typed view of its architectures, from one list.
///
/// `whole` fields hold one value, `lists` a fixed number, `positions` one per layer, stage or node. Every field
/// becomes a method of the view that returns the stored integer (ratios in thousandths, names by place).
#[macro_export]
macro_rules! schema {
    (
        $(#[$about:meta])* $view:ident
        whole { $( $(#[doc = $wdoc:literal])* $whole:ident: $wfield:expr; )* }
        lists { $( $(#[doc = $ldoc:literal])* $list:ident[$len:literal]: $lfield:expr; )* }
        positions { $( $(#[doc = $pdoc:literal])* $position:ident: $pfield:expr; )* }
    ) => {
        const FIELDS: &[$crate::architecture::Field] = &[
            $( $wfield.named(stringify!($whole), concat!($($wdoc),*).trim_ascii(), $crate::architecture::Scope::Whole), )*
            $( $lfield.named(stringify!($list), concat!($($ldoc),*).trim_ascii(), $crate::architecture::Scope::List($len)), )*
            $( $pfield.named(stringify!($position), concat!($($pdoc),*).trim_ascii(), $crate::architecture::Scope::Position), )*
        ];

        $(#[$about])*
        #[derive(Clone, Copy)]
        pub struct $view<'a>(pub &'a $crate::architecture::Architecture);

        impl $view<'_> {
            $( $(#[doc = $wdoc])* pub fn $whole(&self) -> u64 {
                const AT: usize = $crate::architecture::field::offset(FIELDS, stringify!($whole));
                u64::from(self.0.globals()[AT])
            } )*
            $( $(#[doc = $ldoc])* pub fn $list(&self, i: usize) -> u64 {
                const AT: usize = $crate::architecture::field::offset(FIELDS, stringify!($list));
                u64::from(self.0.globals()[AT + i])
            } )*
            $( $(#[doc = $pdoc])* pub fn $position(&self, position: usize) -> u64 {
                const AT: usize = $crate::architecture::field::offset(FIELDS, stringify!($position));
                u64::from(self.0.row(position)[AT])
            } )*
        }
    };
}
pub use schema;
