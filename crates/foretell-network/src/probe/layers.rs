//! Which weight tensors a pass or a proxy looks at.

use crate::architecture::names::{adaptive, bert, llama};
use crate::architecture::{Form, Part, Role, Tensor};
use crate::network::{Layout, Param};
use serde::{Deserialize, Serialize};

/// A selection of tensors by what they do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layers {
    /// Every matrix of a linear map or image convolution, tables and embeddings left out.
    #[default]
    Linear,
    /// The first of these alone, which is all that one published table looked at.
    First,
    /// The linear maps of the operators: attention, transforms, span convolutions.
    Attention,
    /// The same without the map that leaves an operator.
    Operator,
    /// The linear maps of feed-forward layers.
    Ffn,
    /// Linear maps and word tables, without biases, norms and heads.
    Kernel,
    /// [`Layers::Linear`] and the word table.
    Embedded,
    /// [`Layers::Linear`] with biases.
    Biased,
    /// Every tensor named weight: also the gains of norms, not tables and tokens of their own name.
    Named,
    /// Every tensor.
    Everything,
}

impl Layers {
    /// The tensors selected, in the order of the network.
    pub fn select(self, layout: &Layout) -> Vec<Param> {
        let chosen = layout.tensors().filter(|(_, tensor)| self.holds(tensor)).map(|(param, _)| param);
        if self == Layers::First { chosen.take(1).collect() } else { chosen.collect() }
    }

    fn holds(self, tensor: &Tensor) -> bool {
        let matrix = is_linear(tensor);
        let dense = matrix && tensor.form != Form::Convolution;
        match self {
            Layers::Linear | Layers::First => matrix,
            Layers::Attention => dense && tensor.role.part() == Part::Attention,
            Layers::Operator => {
                dense && tensor.role.part() == Part::Attention && tensor.role != Role::AttentionOut
            }
            Layers::Ffn => dense && matches!(tensor.role.part(), Part::Ffn | Part::Cell),
            Layers::Kernel => {
                is_word_table(tensor) || matrix && !matches!(tensor.role, Role::Head | Role::PatchEmbedding)
            }
            Layers::Embedded => matrix || is_word_table(tensor),
            Layers::Biased => {
                let bias = tensor.form == Form::Vector && tensor.pattern.ends_with("bias");
                matrix || bias && tensor.role != Role::Norm
            }
            Layers::Named => tensor.pattern.ends_with(".weight"),
            Layers::Everything => true,
        }
    }
}

/// Whether a tensor is the matrix of a linear map, an image convolution included. The adaptive vocabulary of language
/// models (its projections and its clusters) belongs to the embedding; the convolutions of a span layer are no maps of
/// features.
fn is_linear(tensor: &Tensor) -> bool {
    const VOCABULARY: [&str; 4] =
        [adaptive::PROJECTION[0], adaptive::OUT_PROJECTION[0], adaptive::ENTRIES[0], llama::HEAD[0]];
    let vocabulary = VOCABULARY.contains(&tensor.pattern);
    let span = tensor.role == Role::SpanConvolution && tensor.form == Form::Convolution;
    tensor.form != Form::Vector && !vocabulary && !span && tensor.role != Role::Embedding
}

fn is_word_table(tensor: &Tensor) -> bool {
    tensor.role == Role::Embedding && tensor.shape[1] > 0 && tensor.pattern != bert::SEGMENTS
}
