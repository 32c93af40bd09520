//! BERT encoders with heads and feed-forward width free per layer, as T-Razor searches them.
//!
//! Post-norm blocks: `x = LN(x + O(Attn x)); x = LN(x + fc2(gelu(fc1 x)))`; a pooler on the first token.
//!
//! Paper: *BERT* (Devlin et al., 2019); the space is T-Razor's, section on BERT.

use super::field::{count, dim, schema};
use super::{Architecture, Block, Card, Counter, Init, MAX_LAYERS, NetworkKind, Positions, Role, Visitor};

schema! {
    /// A typed view of a BERT encoder.
    Bert
    whole {
        /// Words of the vocabulary.
        vocab_size: dim().or(30522);
        /// Positions of the input, all used.
        context_len: dim().or(512).alias(&["max_position_embeddings"]);
        /// Segment types.
        type_vocab_size: dim().or(2);
        /// Width of the residual stream.
        hidden_size: dim().alias(&["d_model", "hidden_dim", "embed_dim"]);
        /// Number of layers.
        num_layers: count(1, MAX_LAYERS).alias(&["num_hidden_layers", "n_layer", "depth", "layers"]);
    }
    lists {}
    positions {
        /// Attention heads of the layer.
        num_heads: count(1, 1024).alias(&["heads", "n_head", "num_attention_heads"]);
        /// Feed-forward width of the layer.
        ffn_dim: dim().alias(&["intermediate_size", "d_inner"]);
    }
}

const NORMAL: Init = Init::Normal(0.02);

/// What the tensors are called.
#[allow(missing_docs, reason = "a constant says what the layer is, its text what files call it")]
pub mod names {
    use crate::architecture::Names;

    pub const WORDS: &str = "embeddings.word_embeddings.weight";
    pub const POSITIONS: &str = "embeddings.position_embeddings.weight";
    pub const SEGMENTS: &str = "embeddings.token_type_embeddings.weight";
    pub const EMBEDDING_NORM: Names = ["embeddings.LayerNorm.weight", "embeddings.LayerNorm.bias"];
    pub const POOLER: Names = ["pooler.dense.weight", "pooler.dense.bias"];
    pub const QKV: [Names; 3] = [
        ["encoder.layer.{}.attention.self.query.weight", "encoder.layer.{}.attention.self.query.bias"],
        ["encoder.layer.{}.attention.self.key.weight", "encoder.layer.{}.attention.self.key.bias"],
        ["encoder.layer.{}.attention.self.value.weight", "encoder.layer.{}.attention.self.value.bias"],
    ];
    pub const MIXED: Names =
        ["encoder.layer.{}.attention.output.dense.weight", "encoder.layer.{}.attention.output.dense.bias"];
    pub const MIXED_NORM: Names = [
        "encoder.layer.{}.attention.output.LayerNorm.weight",
        "encoder.layer.{}.attention.output.LayerNorm.bias",
    ];
    pub const FFN_IN: Names =
        ["encoder.layer.{}.intermediate.dense.weight", "encoder.layer.{}.intermediate.dense.bias"];
    pub const FFN_OUT: Names = ["encoder.layer.{}.output.dense.weight", "encoder.layer.{}.output.dense.bias"];
    pub const FFN_NORM: Names =
        ["encoder.layer.{}.output.LayerNorm.weight", "encoder.layer.{}.output.LayerNorm.bias"];
}

/// See the [module documentation](self).
pub struct Family;

impl super::Family for Family {
    fn card(&self) -> &'static Card {
        static CARD: Card = Card {
            name: "bert",
            about: "BERT encoder, heads and feed-forward width free per layer",
            fields: FIELDS,
            positions: Positions::Layers("num_layers"),
            kind: NetworkKind::Encoder,
        };
        &CARD
    }
    fn check(&self, _: &Architecture) -> Result<(), String> {
        Ok(())
    }
    fn check_position(&self, a: &Architecture, i: usize) -> Result<(), String> {
        let v = Bert(a);
        if v.hidden_size() % v.num_heads(i) != 0 {
            return Err(format!(
                "num_heads {} does not divide hidden_size {}",
                v.num_heads(i),
                v.hidden_size()
            ));
        }
        Ok(())
    }

    fn outside(&self, a: &Architecture, w: &mut Visitor) {
        let v = Bert(a);
        let h = v.hidden_size();
        w.table(names::WORDS, Role::Embedding, &[v.vocab_size(), h], NORMAL);
        w.table(names::POSITIONS, Role::Position, &[v.context_len(), h], NORMAL);
        w.table(names::SEGMENTS, Role::Embedding, &[v.type_vocab_size(), h], NORMAL);
        w.norm(names::EMBEDDING_NORM, Role::Embedding, h);
        w.linear(names::POOLER, Role::Head, (h, h), NORMAL);
    }
    fn position(&self, a: &Architecture, i: usize, w: &mut Visitor) {
        let v = Bert(a);
        let (h, f) = (v.hidden_size(), v.ffn_dim(i));
        w.enter(i, [i, 0]);
        for (names, role) in names::QKV.into_iter().zip([Role::Query, Role::Key, Role::Value]) {
            w.linear(names, role, (h, h), NORMAL);
        }
        w.linear(names::MIXED, Role::AttentionOut, (h, h), NORMAL);
        w.norm(names::MIXED_NORM, Role::Norm, h);
        w.linear(names::FFN_IN, Role::FfnIn, (h, f), NORMAL);
        w.linear(names::FFN_OUT, Role::FfnOut, (f, h), NORMAL);
        w.norm(names::FFN_NORM, Role::Norm, h);
    }

    fn flops_outside(&self, a: &Architecture, _: Counter) -> u128 {
        u128::from(Bert(a).hidden_size() * Bert(a).hidden_size())
    }
    fn flops_position(&self, a: &Architecture, i: usize, _: Counter) -> u128 {
        let v = Bert(a);
        let [t, h, f] = [v.context_len(), v.hidden_size(), v.ffn_dim(i)].map(u128::from);
        t * (4 * h * h + 2 * h * f) + 2 * t * t * h
    }
    fn activations_outside(&self, a: &Architecture) -> u64 {
        3 * Bert(a).context_len() * Bert(a).hidden_size()
    }
    fn activations_position(&self, a: &Architecture, i: usize) -> u64 {
        let v = Bert(a);
        let t = v.context_len();
        t * (8 * v.hidden_size() + 2 * v.ffn_dim(i)) + v.num_heads(i) * t * t
    }
    fn ffn_and_width(&self, a: &Architecture, i: usize) -> Option<(u64, u64)> {
        Some((Bert(a).ffn_dim(i), Bert(a).hidden_size()))
    }
    fn tokens(&self, a: &Architecture) -> u64 {
        Bert(a).context_len()
    }
    fn blocks(&self, a: &Architecture, each: &mut dyn FnMut(Block)) {
        let v = Bert(a);
        (0..a.positions()).for_each(|i| each(Block { width: v.hidden_size(), heads: Some(v.num_heads(i)) }));
    }
}
