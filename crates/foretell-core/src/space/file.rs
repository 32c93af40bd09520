//! Space files: which family, what is fixed, what may be chosen. Every complaint names file, line and key.
//!
//! ```toml
//! name = "my-vit"
//! family = "vit"
//! [fixed]
//! patch_size = 14
//! [choices]                                  # lists of what may be chosen
//! embed_dim = [192, 256]
//! depth = { from = 6, to = 12, step = 2 }
//! num_heads = [4, 8]                         # per layer, the same list for all
//! mlp_ratio = [[3, 4], [2], [2]]             # or one list for each layer or stage
//! ```

use crate::architecture::{Architecture, Card, Family, Field, Positions, Scope, Template, family};
use crate::catalogue;
use crate::error::{Error, Result};
use serde_json::Value;
use std::collections::HashMap;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

const MAX_BYTES: usize = 1 << 20;
const MAX_CHOICES: usize = 1 << 16;

/// A space file, read and checked key by key; relations between keys are checked when the space is built.
pub struct Definition {
    /// What the space is called.
    pub name: String,
    /// The kind of network.
    pub family: &'static dyn Family,
    /// One or two sentences for people.
    pub about: String,
    /// Where the space was published.
    pub paper: String,
    /// The file's text.
    pub text: String,
    /// Choices for each value outside the positions.
    pub globals: Vec<Vec<u32>>,
    /// Choices for each field of a position.
    pub columns: Vec<Column>,
    /// The least feed-forward width over model width, in thousandths.
    pub min_ffn_ratio: Option<u64>,
    /// For recurrent cells: nodes to draw beyond the states.
    pub vertices: u32,
    place: String,
    lines: HashMap<&'static str, usize>,
    ranges: Vec<&'static str>,
}

/// Choices for one field of a position.
#[derive(Clone)]
pub enum Column {
    /// The same everywhere.
    Same(Vec<u32>),
    /// A list for each position.
    Each(Vec<Vec<u32>>),
}

impl Column {
    /// The choices at a position.
    pub fn at(&self, position: usize) -> &[u32] {
        match self {
            Column::Same(choices) => choices,
            Column::Each(lists) => &lists[position.min(lists.len() - 1)],
        }
    }
}

impl Definition {
    /// Reads a space file; `place` is what complaints call it.
    pub fn parse(place: &str, text: &str) -> Result<Self> {
        if text.len() > MAX_BYTES {
            return Err(Error::parse(
                place,
                format!("is {} bytes long, a space file has at most {MAX_BYTES}", text.len()),
            ));
        }
        let reader = Reader { place, text };
        let table = DeTable::parse(text).map_err(|e| {
            let start = e.span().map_or(0, |span| span.start);
            Error::parse(reader.line_of(start), e.message())
        })?;
        reader.definition(table.get_ref())
    }

    /// The definition of a space that is a list of networks: no file, but the values that occur.
    pub fn of_networks(name: &str, family: &'static dyn Family, networks: &[Architecture]) -> Self {
        let distinct = |values: &mut dyn Iterator<Item = u32>| {
            let mut values: Vec<u32> = values.collect();
            values.sort_unstable();
            values.dedup();
            values
        };
        let outside = networks.first().map_or(0, |network| network.globals().len());
        let global = |slot: usize| distinct(&mut networks.iter().map(|network| network.globals()[slot]));
        let column = |column: usize| {
            let rows = |network: &Architecture| {
                (0..network.positions()).map(|position| network.row(position)[column]).collect::<Vec<u32>>()
            };
            Column::Same(distinct(&mut networks.iter().flat_map(rows)))
        };
        Definition {
            name: name.to_owned(),
            family,
            about: format!("{} networks of a table.", networks.len()),
            paper: String::new(),
            text: String::new(),
            globals: (0..outside).map(global).collect(),
            columns: (0..family.row_width()).map(column).collect(),
            min_ffn_ratio: None,
            vertices: 7,
            place: name.to_owned(),
            lines: HashMap::new(),
            ranges: Vec::new(),
        }
    }

    /// `FILE:LINE: key`, for a complaint about a key.
    pub fn at(&self, key: &str) -> String {
        match self.lines.get(key) {
            Some(line) => format!("{}:{line}: {key}", self.place),
            None => self.place.clone(),
        }
    }

    /// Whether the choices of a key were written out one by one, rather than as a range.
    pub fn spelled_out(&self, key: &str) -> bool {
        self.lines.contains_key(key) && !self.ranges.contains(&key)
    }

    /// The values that do not vary.
    pub fn template(&self) -> Template {
        let single = |choices: &Vec<u32>| (choices.len() == 1).then(|| choices[0]);
        let row = self.columns.iter().map(|column| match column {
            Column::Same(choices) => single(choices),
            Column::Each(_) => None,
        });
        Template { globals: self.globals.iter().map(single).collect(), row: row.collect() }
    }
}

struct Reader<'t> {
    place: &'t str,
    text: &'t str,
}

impl Reader<'_> {
    fn line(&self, byte: usize) -> usize {
        1 + self.text.as_bytes()[..byte.min(self.text.len())].iter().filter(|b| **b == b'\n').count()
    }

    fn line_of(&self, byte: usize) -> String {
        format!("{}:{}", self.place, self.line(byte))
    }

    fn wrong<T>(&self, what: &Spanned<T>, key: &str, message: impl Into<String>) -> Error {
        Error::parse(format!("{}: {key}", self.line_of(what.span().start)), message)
    }

    fn definition(&self, table: &DeTable) -> Result<Definition> {
        const KEYS: [&str; 8] =
            ["name", "family", "about", "paper", "fixed", "choices", "rules", "generator"];
        self.known(table, &KEYS)?;
        let text = |key: &str| match table.get(key) {
            None => Ok(String::new()),
            Some(value) => match value.get_ref().as_str() {
                Some(text) => Ok(text.to_owned()),
                None => Err(self.wrong(value, key, "is not a text")),
            },
        };
        let name = text("name")?;
        let family_name = text("family")?;
        if name.is_empty() || family_name.is_empty() {
            return Err(Error::parse(self.place, "needs a name and a family at its top"));
        }
        if !name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)) || name.len() > 64 {
            let message = "may hold up to 64 letters, digits, '-', '_' and '.'";
            return Err(self.wrong(&table["name"], "name", message));
        }
        let family = family(&family_name).map_err(|e| e.at(self.line_of(table["family"].span().start)))?;
        let globals =
            family.fields().iter().flat_map(|field| (0..field.width()).map(|i| field.default_at(i)));
        let columns = family.fields().iter().filter(|field| field.scope == Scope::Position);
        let mut definition = Definition {
            name,
            family,
            about: text("about")?,
            paper: text("paper")?,
            text: self.text.to_owned(),
            globals: globals.map(|default| default.into_iter().collect()).collect(),
            columns: columns.map(|field| Column::Same(field.default.into_iter().collect())).collect(),
            min_ffn_ratio: None,
            vertices: 7,
            place: self.place.to_owned(),
            lines: HashMap::new(),
            ranges: Vec::new(),
        };
        for (section, chosen) in [("fixed", false), ("choices", true)] {
            for (key, value) in self.section(table, section)? {
                let field = family.field(key.get_ref()).map_err(|e| e.at(self.line_of(key.span().start)))?;
                if definition.lines.insert(field.key, self.line(key.span().start)).is_some() {
                    return Err(self.wrong(key, key.get_ref(), "is given twice"));
                }
                if chosen {
                    self.choices(&mut definition, field, value)?;
                } else {
                    self.fixed(&mut definition, field, value)?;
                }
            }
        }
        self.rules(&mut definition, table)?;
        self.complete(&definition)?;
        Ok(definition)
    }

    fn section<'t>(
        &self,
        table: &'t DeTable<'t>,
        name: &str,
    ) -> Result<impl Iterator<Item = (&'t Spanned<std::borrow::Cow<'t, str>>, &'t Spanned<DeValue<'t>>)>>
    {
        match table.get(name) {
            None => Ok(None.into_iter().flatten()),
            Some(value) => match value.get_ref().as_table() {
                Some(section) => Ok(Some(section.iter()).into_iter().flatten()),
                None => Err(self.wrong(value, name, format!("is not a table: write [{name}]"))),
            },
        }
    }

    fn known(&self, table: &DeTable, keys: &'static [&'static str]) -> Result<()> {
        match table.keys().find(|key| !keys.contains(&key.get_ref().as_ref())) {
            Some(key) => {
                let unknown = catalogue::unknown("key", key.get_ref(), keys.iter().copied());
                Err(unknown.at(self.line_of(key.span().start)))
            }
            None => Ok(()),
        }
    }

    /// One value, or a list for fields that are lists, as an architecture file would hold it.
    fn fixed(&self, definition: &mut Definition, field: &Field, value: &Spanned<DeValue>) -> Result<()> {
        let read = |value: &Spanned<DeValue>| -> Result<u32> {
            field.read(&self.json(value, field.key)?).map_err(|e| self.wrong(value, field.key, e))
        };
        let at = position_in(definition.family, field);
        match (field.scope, value.get_ref().as_array()) {
            (Scope::Whole, _) => definition.globals[at] = vec![read(value)?],
            (Scope::List(n), Some(list)) if list.len() <= n => {
                for i in 0..n {
                    let entry = list.get(i).map(read).transpose()?;
                    let empty = field.read(&Value::Null).ok();
                    let missing =
                        || self.wrong(value, field.key, format!("needs {n} entries, not {}", list.len()));
                    definition.globals[at + i] = vec![entry.or(empty).ok_or_else(missing)?];
                }
            }
            (Scope::List(n), _) => {
                return Err(self.wrong(value, field.key, format!("is not a list of {n} entries")));
            }
            (Scope::Position, Some(list)) => {
                let lists = list.iter().map(|entry| Ok(vec![read(entry)?])).collect::<Result<Vec<_>>>()?;
                if lists.is_empty() {
                    return Err(self.wrong(value, field.key, "is empty"));
                }
                definition.columns[at] = Column::Each(lists);
            }
            (Scope::Position, None) => definition.columns[at] = Column::Same(vec![read(value)?]),
        }
        Ok(())
    }

    fn choices(
        &self,
        definition: &mut Definition,
        field: &'static Field,
        value: &Spanned<DeValue>,
    ) -> Result<()> {
        let at = position_in(definition.family, field);
        let nested = value.get_ref().as_array().is_some_and(|list| {
            list.iter().any(|entry| entry.get_ref().is_array() || entry.get_ref().is_table())
        });
        if value.get_ref().is_table() {
            definition.ranges.push(field.key);
        }
        let lists: Vec<Vec<u32>> = match value.get_ref().as_array() {
            Some(list) if nested => {
                list.iter().map(|entry| self.list(field, entry)).collect::<Result<_>>()?
            }
            _ => vec![self.list(field, value)?],
        };
        match field.scope {
            Scope::Whole if nested => {
                return Err(self.wrong(value, field.key, "is one choice: write one list"));
            }
            Scope::Whole => definition.globals[at] = lists.into_iter().next().unwrap_or_default(),
            Scope::List(n) if nested && lists.len() != n => {
                return Err(self.wrong(
                    value,
                    field.key,
                    format!("has {} lists, {n} are needed", lists.len()),
                ));
            }
            Scope::List(n) => {
                (0..n).for_each(|i| definition.globals[at + i] = lists[i.min(lists.len() - 1)].clone());
            }
            Scope::Position if nested => definition.columns[at] = Column::Each(lists),
            Scope::Position => {
                definition.columns[at] = Column::Same(lists.into_iter().next().unwrap_or_default());
            }
        }
        Ok(())
    }

    /// A list of choices, or a range.
    fn list(&self, field: &Field, value: &Spanned<DeValue>) -> Result<Vec<u32>> {
        let wrong = |message: String| self.wrong(value, field.key, message);
        let read = |value: &Value| field.read(value).map_err(|e| wrong(e.to_string()));
        let choices = match value.get_ref() {
            DeValue::Array(list) => {
                let entries = list.iter().map(|entry| read(&self.json(entry, field.key)?));
                entries.collect::<Result<Vec<u32>>>()?
            }
            DeValue::Table(range) => {
                self.known(range, &["from", "to", "step"])?;
                let end = |key: &str| match range.get(key) {
                    Some(end) => read(&self.json(end, field.key)?).map(Some),
                    None => Ok(None),
                };
                let (Some(from), Some(to)) = (end("from")?, end("to")?) else {
                    return Err(wrong("needs both from and to".into()));
                };
                let step = match range.get("step").map(|step| self.json(step, field.key)).transpose()? {
                    None => 1,
                    Some(step) if step.as_f64().is_some_and(|step| step > 0.0) => read(&step)?,
                    Some(step) => return Err(wrong(format!("step {step} is not above zero"))),
                };
                if to < from || ((to - from) / step) as usize >= MAX_CHOICES {
                    return Err(wrong(format!(
                        "from, to and step give no choice, or more than {MAX_CHOICES}"
                    )));
                }
                (from..=to).step_by(step as usize).collect()
            }
            _ => return Err(wrong("is not a list of choices; a single value belongs under [fixed]".into())),
        };
        if choices.is_empty() {
            return Err(wrong("is empty: list at least one choice".into()));
        }
        let mut sorted = choices.clone();
        sorted.sort_unstable();
        match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(wrong(format!("lists {} twice", field.write(pair[0])))),
            None => Ok(choices),
        }
    }

    fn rules(&self, definition: &mut Definition, table: &DeTable) -> Result<()> {
        for (key, value) in self.section(table, "rules")? {
            if key.get_ref() != "min_ffn_ratio" {
                let unknown = catalogue::unknown("rule", key.get_ref(), ["min_ffn_ratio"]);
                return Err(unknown.at(self.line_of(key.span().start)));
            }
            let ratio = self.json(value, key.get_ref())?.as_f64().filter(|r| (0.0..=1000.0).contains(r));
            let ratio =
                ratio.ok_or_else(|| self.wrong(value, "min_ffn_ratio", "is not a number from 0 to 1000"))?;
            definition.min_ffn_ratio = Some((ratio * 1000.0).round() as u64);
        }
        for (key, value) in self.section(table, "generator")? {
            if key.get_ref() != "vertices" || definition.family.card().positions != Positions::Nodes {
                let unknown = catalogue::unknown("key", key.get_ref(), ["vertices (families of cells only)"]);
                return Err(unknown.at(self.line_of(key.span().start)));
            }
            let vertices = self.json(value, "vertices")?.as_u64().filter(|n| (1..=64).contains(n));
            definition.vertices = vertices
                .ok_or_else(|| self.wrong(value, "vertices", "is not a whole number from 1 to 64"))?
                as u32;
        }
        Ok(())
    }

    /// Every field has a value or choices, and per-layer lists reach as far as the deepest network.
    fn complete(&self, definition: &Definition) -> Result<()> {
        let family = definition.family;
        let missing =
            |field: &Field| Error::parse(self.place, format!("says nothing of {}: {}", field.key, field.doc));
        let largest: Vec<u32> =
            definition.globals.iter().map(|choices| *choices.iter().max().unwrap_or(&0)).collect();
        let Card { fields, positions, .. } = family.card();
        let deepest = positions.count(fields, &largest);
        for field in *fields {
            let at = position_in(family, field);
            if field.scope != Scope::Position {
                if definition.globals[at..at + field.width()].iter().any(Vec::is_empty) {
                    return Err(missing(field));
                }
                continue;
            }
            match &definition.columns[at] {
                Column::Same(choices) if choices.is_empty() && *positions != Positions::Nodes => {
                    return Err(missing(field));
                }
                Column::Each(lists) if lists.len() != deepest => {
                    return Err(Error::parse(
                        definition.at(field.key),
                        format!("has {} entries, but up to {deepest} layers or stages", lists.len()),
                    ));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// A plain TOML value as JSON, so that one reader serves both.
    fn json(&self, value: &Spanned<DeValue>, key: &str) -> Result<Value> {
        Ok(match value.get_ref() {
            DeValue::String(text) => Value::String(text.to_string()),
            DeValue::Boolean(flag) => Value::Bool(*flag),
            DeValue::Integer(n) => {
                let parsed = i64::from_str_radix(n.as_str(), n.radix());
                parsed.map_err(|_| self.wrong(value, key, format!("{} is too large", n.as_str())))?.into()
            }
            DeValue::Float(x) => {
                let parsed = x.as_str().parse::<f64>().ok().filter(|x| x.is_finite());
                parsed
                    .ok_or_else(|| self.wrong(value, key, format!("{} is no finite number", x.as_str())))?
                    .into()
            }
            other => return Err(self.wrong(value, key, format!("{} is no single value", other.type_str()))),
        })
    }
}

/// Where a field's values start, outside the positions or within one.
pub(super) fn position_in(family: &dyn Family, field: &Field) -> usize {
    crate::architecture::field::offset(family.fields(), field.key)
}
