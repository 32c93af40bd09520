//! What a network learns.

use super::{Generator, Recipe};
use crate::architecture::{Architecture, Family, NetworkKind, families::gpt2};
use crate::data::Data;
use crate::error::{Error, Result};
use crate::seed::Seed;
use crate::space::{self, Space};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;

/// What a network learns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// The next token, for decoders and recurrent cells. Every sample starts from nothing: no state is carried over from the
    /// one before.
    Language,
    /// Hidden tokens, for encoders (BERT): of a fixed number per sample, 80 % are replaced by the mask, 10 % by any
    /// token, 10 % stay.
    Masked,
    /// Which tokens were replaced, for encoders (ELECTRA): hidden tokens are filled in by a small encoder that learns
    /// to guess them at the same time. See [`Generator`].
    Replaced,
    /// Whether the second half of a sample follows the first in the text, for encoders: pairs of passages with two classes, as
    /// tasks of GLUE have them, made from any text. Every second pair, by chance, is made of two places.
    Pairs,
    /// The class of an image.
    Classify,
}

impl Task {
    /// What suits a family: masked tokens for encoders.
    pub fn usual(architecture: &Architecture) -> Result<Self> {
        if let Some(reason) = architecture.family().untrainable() {
            return Err(Error::option(
                architecture.family().to_string(),
                format!("cannot be trained here: {reason}"),
            ));
        }
        Ok(match architecture.family().card().kind {
            NetworkKind::Decoder | NetworkKind::Recurrent => Task::Language,
            NetworkKind::Encoder => Task::Masked,
            NetworkKind::Vision => Task::Classify,
        })
    }

    /// The task of a recipe, if the network can learn it.
    pub(super) fn of(recipe: &Recipe, architecture: &Architecture) -> Result<Self> {
        let usual = Task::usual(architecture)?;
        if recipe.generator != Generator::Fixed && recipe.task != Some(Task::Replaced) {
            return Err(Error::option("recipe, generator", "has no effect: only the task replaced has one"));
        }
        match (recipe.task, usual) {
            (None, usual) => Ok(usual),
            (Some(task), usual) if task == usual => Ok(task),
            (Some(task @ (Task::Replaced | Task::Pairs)), Task::Masked) => Ok(task),
            (Some(task), _) => {
                let message = format!("a {} network cannot learn {task:?}", architecture.family());
                Err(Error::option("recipe, task", message))
            }
        }
    }
}

/// A network as the data wants it: its vocabulary, or its classes, channels and image size, are no choice of a search.
pub fn fit(architecture: &Architecture, data: &Data) -> Result<Architecture> {
    let set = wanted(architecture, data)?;
    set.iter().try_fold(architecture.clone(), |network, (key, value)| network.with(key, value))
}

/// A space whose networks are as the data wants them, so that limits count what is trained. Its name says that it was
/// changed; a space that fits stays as it is, and so does one without a file.
pub fn fit_space(space: &Arc<dyn Space>, data: &Data) -> Result<Arc<dyn Space>> {
    let definition = space.definition();
    let network = space.sample(&mut Seed(0).stream("sample", 0));
    let set = wanted(&network, data)?;
    // Two draws, since a space may leave the value open.
    let other = space.sample(&mut Seed(0).stream("sample", 1));
    let fits = |(key, value): &(&str, Value)| {
        [&network, &other].iter().all(|network| network.to_json().get(*key) == Some(value))
    };
    if definition.text.is_empty() || set.iter().all(fits) {
        return Ok(space.clone());
    }
    let mut file: toml::Table =
        toml::from_str(&definition.text).map_err(|e| Error::parse(space.name(), e.to_string()))?;
    let name = format!(
        "{}-{}",
        definition.name,
        set.iter().map(|(_, value)| value.to_string()).collect::<Vec<_>>().join("-")
    );
    for (key, value) in &set {
        for section in ["fixed", "choices"] {
            if let Some(toml::Value::Table(section)) = file.get_mut(section) {
                section
                    .retain(|name, _| definition.family.field(name).map_or(true, |field| field.key != *key));
            }
        }
        let fixed = file.entry("fixed").or_insert_with(|| toml::Value::Table(toml::Table::new()));
        if let (toml::Value::Table(fixed), Some(value)) = (fixed, value.as_i64()) {
            fixed.insert((*key).to_owned(), toml::Value::Integer(value));
        }
    }
    file.insert("name".to_owned(), toml::Value::String(name.clone()));
    space::parse(&name, &file.to_string())
}

/// What data decides of a network.
fn wanted(architecture: &Architecture, data: &Data) -> Result<Vec<(&'static str, Value)>> {
    let task = Task::usual(architecture)?;
    Ok(match (data, task) {
        (Data::Text(text), Task::Language | Task::Masked | Task::Replaced | Task::Pairs) => {
            vec![("vocab_size", text.vocabulary().into())]
        }
        (Data::Images(images), Task::Classify) => vec![
            ("num_classes", images.classes().into()),
            ("channels", images.channels().into()),
            ("image_size", images.side().into()),
        ],
        (Data::Text(_), _) => return Err(mismatch("text", architecture, "images")),
        (Data::Images(_), _) => return Err(mismatch("images", architecture, "text")),
    })
}

fn mismatch(data: &str, architecture: &Architecture, reads: &str) -> Error {
    Error::option("data", format!("is {data}; a {} network reads {reads}", architecture.family()))
}

/// A small GPT-2 over bytes: what is trained where nobody brings a network.
pub fn demonstration() -> Architecture {
    let object = json!({"family": gpt2::Family.card().name, "vocab_size": 257, "context_len": 128, "cutoffs": [],
        "n_layer": 3, "d_model": 96, "n_head": 4, "d_inner": 384});
    space::read_architecture(&object).expect("the fields are complete")
}
