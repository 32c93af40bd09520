//! A module as Python describes it: tensors with their roles, in words.

use foretell::architecture::{Form, Init, Role, Tensor};
use foretell::error::{Error, Result};
use serde::Deserialize;
use std::collections::HashSet;
use std::sync::{LazyLock, Mutex};

/// A network as Python describes it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Described {
    pub(super) name: String,
    pub(super) kind: KindWord,
    pub(super) tensors: Vec<TensorWords>,
    pub(super) blocks: Vec<(u64, Option<u64>)>,
    pub(super) tokens: u64,
    pub(super) dropout: bool,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "kebab-case")]
pub(super) enum KindWord {
    Vision,
    Encoder,
    Decoder,
    Recurrent,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TensorWords {
    pub(super) name: String,
    /// None: it was not found, and nobody set it.
    pub(super) role: Option<String>,
    pub(super) form: FormWord,
    pub(super) block: Option<u32>,
    pub(super) shape: Vec<u64>,
    pub(super) ones: bool,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "kebab-case")]
pub(super) enum FormWord {
    Linear,
    LinearTransposed,
    Convolution,
    Vector,
}

/// The words for roles, which tables and `roles=` use.
pub(super) const ROLES: [(&str, Role); 21] = [
    ("embedding", Role::Embedding),
    ("embedding-projection", Role::EmbeddingProjection),
    ("patch-embedding", Role::PatchEmbedding),
    ("position", Role::Position),
    ("class-token", Role::ClassToken),
    ("relative-position", Role::RelativePosition),
    ("query", Role::Query),
    ("key", Role::Key),
    ("value", Role::Value),
    ("query-key-value", Role::QueryKeyValue),
    ("key-value", Role::KeyValue),
    ("attention-out", Role::AttentionOut),
    ("ffn-in", Role::FfnIn),
    ("ffn-gate", Role::FfnGate),
    ("ffn-out", Role::FfnOut),
    ("ffn-convolution", Role::FfnConvolution),
    ("attention-convolution", Role::AttentionConvolution),
    ("pooling", Role::Pooling),
    ("cell", Role::CellLinear),
    ("norm", Role::Norm),
    ("head", Role::Head),
];

/// Roles that an unplaced matrix might have: a score that is the same with each of them does not need to know.
pub(super) const GUESSES: [Role; 4] = [Role::Head, Role::FfnIn, Role::Query, Role::AttentionOut];

pub(super) fn role(word: &str) -> Result<Role> {
    let found = ROLES.iter().find(|(known, _)| *known == word);
    let names = || ROLES.iter().map(|(known, _)| *known);
    found.map(|(_, role)| *role).ok_or_else(|| foretell::catalogue::unknown("role", word, names()))
}

/// Names live as long as the process; each is kept once.
fn kept(name: &str) -> &'static str {
    static NAMES: LazyLock<Mutex<HashSet<&'static str>>> = LazyLock::new(Mutex::default);
    let mut names = NAMES.lock().expect("no holder panics");
    if let Some(known) = names.get(name) {
        return known;
    }
    let name: &'static str = Box::leak(name.to_owned().into_boxed_str());
    names.insert(name);
    name
}

impl TensorWords {
    pub(super) fn tensor(&self) -> Result<Tensor> {
        let form = match self.form {
            FormWord::Linear => Form::Linear,
            FormWord::LinearTransposed => Form::LinearTransposed,
            FormWord::Convolution => Form::Convolution,
            FormWord::Vector => Form::Vector,
        };
        let entries: u64 = self.shape.iter().product();
        if entries == 0 || self.shape.iter().any(|size| u32::try_from(*size).is_err()) {
            return Err(Error::data(self.name.as_str(), format!("has the shape {:?}", self.shape)));
        }
        let mut shape = self.shape.clone();
        if shape.len() > 4 {
            let rest = shape.split_off(3).into_iter().product();
            shape.push(rest);
        }
        let role = self.role.as_deref().map(role).transpose()?.unwrap_or(GUESSES[0]);
        let init = if self.ones { Init::Ones } else { Init::Zeros };
        let mut tensor = Tensor::new(kept(&self.name), role, form, &shape, init);
        tensor.block = self.block;
        Ok(tensor)
    }
}
