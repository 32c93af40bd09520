//! LLaMA-style decoders: RMS norm, rotary positions, grouped-query attention, gated feed-forward; optional low-rank
//! adapters whose ranks LoNAS searches together with the feed-forward width.
//!
//! Published LoNAS totals leave out the adapters and the final norm; `counting = "lonas"` follows them, `"full"`
//! counts the final norm too. Adapters are never in the total: they are a part of their own.
//!
//! Papers: *LLaMA* (Touvron et al., 2023); *LoNAS* (Munoz et al., 2024).

use super::field::{count, dim, flag, name, optional, schema};
use super::{
    Architecture, Block, Card, Counter, Form, Init, MAX_LAYERS, Names, NetworkKind, Positions, Role, Tensor,
    Visitor, fits,
};

schema! {
    /// A typed view of a LLaMA-style decoder.
    Llama
    whole {
        /// Words of the vocabulary.
        vocab_size: dim().or(32000);
        /// Tokens of the input.
        context_len: dim().or(2048).alias(&["max_position_embeddings"]);
        /// Width of the residual stream.
        hidden_size: dim().alias(&["d_model", "hidden_dim"]);
        /// Number of layers.
        num_layers: count(1, MAX_LAYERS).alias(&["num_hidden_layers", "n_layer", "depth", "layers"]);
        /// Width of a head; none: the heads split `hidden_size`.
        head_dim: optional();
        /// Whether queries, keys and values have biases.
        attention_bias: flag().or(0);
        /// Whether the output layer is the embedding.
        tie_embeddings: flag().or(0).alias(&["tie_word_embeddings"]);
        /// Which total is reported: full, or as LoNAS counts.
        counting: name(&["full", "lonas"]).or(0);
        /// Rank of the adapter on the down projection; none: no adapter.
        down_rank: optional();
        /// Base of the rotary positions.
        rope_theta: count(1, 1 << 30).or_unsaid(10_000);
        /// What norms add to the mean square.
        norm_eps: name(&["1e-6", "1e-5"]).or_unsaid(0);
    }
    lists {}
    positions {
        /// Query heads of the layer.
        num_heads: count(1, 1024).alias(&["heads", "num_attention_heads"]);
        /// Key and value heads of the layer; none: as many as query heads.
        num_kv_heads: optional().alias(&["num_key_value_heads"]);
        /// Feed-forward width of the layer.
        ffn_dim: dim().alias(&["intermediate_size", "ffn_width"]);
        /// Rank of the adapters on queries, keys and values; none: no adapter.
        qkv_rank: optional();
        /// Rank of the adapters on gate and up projections; none: no adapter.
        up_rank: optional().alias(&["gate_up_rank"]);
    }
}

impl Llama<'_> {
    /// [`Llama::norm_eps`] as a number.
    pub fn eps(&self) -> f64 {
        [1e-6, 1e-5][self.norm_eps() as usize]
    }
    /// Width of all query heads, and of all key heads.
    pub fn widths(&self, layer: usize) -> (u64, u64) {
        let heads = self.num_heads(layer);
        let head = if self.head_dim() == 0 { self.hidden_size() / heads } else { self.head_dim() };
        let groups = if self.num_kv_heads(layer) == 0 { heads } else { self.num_kv_heads(layer) };
        (heads * head, groups * head)
    }
    /// Names, inputs, outputs and rank of each adapter.
    fn adapters(&self, layer: usize) -> [(Names, u64, u64, u64); 6] {
        let (d, f, (q, kv)) = (self.hidden_size(), self.ffn_dim(layer), self.widths(layer));
        let (qkv, up, down) = (self.qkv_rank(layer), self.up_rank(layer), self.down_rank());
        let [query, key, value] = names::QKV_ADAPTERS;
        [
            (query, d, q, qkv),
            (key, d, kv, qkv),
            (value, d, kv, qkv),
            (names::GATE_ADAPTER, d, f, up),
            (names::UP_ADAPTER, d, f, up),
            (names::DOWN_ADAPTER, f, d, down),
        ]
    }
}

const NORMAL: Init = Init::Normal(0.02);

/// What the tensors are called.
#[allow(missing_docs, reason = "a constant says what the layer is, its text what files call it")]
pub mod names {
    use crate::architecture::Names;

    pub const EMBEDDING: &str = "model.embed_tokens.weight";
    pub const NORM: &str = "model.norm.weight";
    pub const HEAD: Names = ["lm_head.weight", ""];
    pub const NORM_1: &str = "model.layers.{}.input_layernorm.weight";
    pub const NORM_2: &str = "model.layers.{}.post_attention_layernorm.weight";
    pub const QKV: [Names; 3] = [
        ["model.layers.{}.self_attn.q_proj.weight", "model.layers.{}.self_attn.q_proj.bias"],
        ["model.layers.{}.self_attn.k_proj.weight", "model.layers.{}.self_attn.k_proj.bias"],
        ["model.layers.{}.self_attn.v_proj.weight", "model.layers.{}.self_attn.v_proj.bias"],
    ];
    /// Adapters: the map to the low rank, the map from it.
    pub const QKV_ADAPTERS: [Names; 3] = [
        ["model.layers.{}.self_attn.q_proj.lora_A.weight", "model.layers.{}.self_attn.q_proj.lora_B.weight"],
        ["model.layers.{}.self_attn.k_proj.lora_A.weight", "model.layers.{}.self_attn.k_proj.lora_B.weight"],
        ["model.layers.{}.self_attn.v_proj.lora_A.weight", "model.layers.{}.self_attn.v_proj.lora_B.weight"],
    ];
    pub const OUT: Names = ["model.layers.{}.self_attn.o_proj.weight", ""];
    pub const GATE: Names = ["model.layers.{}.mlp.gate_proj.weight", ""];
    pub const GATE_ADAPTER: Names =
        ["model.layers.{}.mlp.gate_proj.lora_A.weight", "model.layers.{}.mlp.gate_proj.lora_B.weight"];
    pub const UP: Names = ["model.layers.{}.mlp.up_proj.weight", ""];
    pub const UP_ADAPTER: Names =
        ["model.layers.{}.mlp.up_proj.lora_A.weight", "model.layers.{}.mlp.up_proj.lora_B.weight"];
    pub const DOWN: Names = ["model.layers.{}.mlp.down_proj.weight", ""];
    pub const DOWN_ADAPTER: Names =
        ["model.layers.{}.mlp.down_proj.lora_A.weight", "model.layers.{}.mlp.down_proj.lora_B.weight"];
}

/// See the [module documentation](self).
pub struct Family;

impl super::Family for Family {
    fn card(&self) -> &'static Card {
        static CARD: Card = Card {
            name: "llama",
            about: "LLaMA-style decoder with grouped-query attention, gated feed-forward and optional adapters",
            fields: FIELDS,
            positions: Positions::Layers("num_layers"),
            kind: NetworkKind::Decoder,
        };
        &CARD
    }
    fn has_dropout(&self, _: &Architecture) -> bool {
        false
    }
    fn check(&self, _: &Architecture) -> Result<(), String> {
        Ok(())
    }
    fn check_position(&self, a: &Architecture, i: usize) -> Result<(), String> {
        let v = Llama(a);
        let (heads, groups) = (v.num_heads(i), v.num_kv_heads(i));
        if v.head_dim() == 0 && v.hidden_size() % heads != 0 {
            return Err(format!("num_heads {heads} does not divide hidden_size {}", v.hidden_size()));
        }
        if groups > 0 && heads % groups != 0 {
            return Err(format!("num_kv_heads {groups} does not divide num_heads {heads}"));
        }
        fits("head_dim and num_heads give a width", v.widths(i).0)
    }

    fn outside(&self, a: &Architecture, w: &mut Visitor) {
        let v = Llama(a);
        let d = v.hidden_size();
        w.table(names::EMBEDDING, Role::Embedding, &[v.vocab_size(), d], NORMAL);
        let norm = Tensor::new(names::NORM, Role::Norm, Form::Vector, &[d], Init::Ones);
        w.tensor(if v.counting() == 1 { norm.uncounted() } else { norm });
        if v.tie_embeddings() == 0 {
            w.linear(names::HEAD, Role::Head, (d, v.vocab_size()), NORMAL);
        }
    }
    fn position(&self, a: &Architecture, i: usize, w: &mut Visitor) {
        let v = Llama(a);
        let (d, f, (q, kv)) = (v.hidden_size(), v.ffn_dim(i), v.widths(i));
        w.enter(i, [i, 0]);
        w.table(names::NORM_1, Role::Norm, &[d], Init::Ones);
        let maps = [(Role::Query, q), (Role::Key, kv), (Role::Value, kv)];
        for ([weight, bias], (role, width)) in names::QKV.into_iter().zip(maps) {
            w.linear([weight, if v.attention_bias() == 1 { bias } else { "" }], role, (d, width), NORMAL);
        }
        w.linear(names::OUT, Role::AttentionOut, (q, d), NORMAL);
        w.table(names::NORM_2, Role::Norm, &[d], Init::Ones);
        w.linear(names::GATE, Role::FfnGate, (d, f), NORMAL);
        w.linear(names::UP, Role::FfnIn, (d, f), NORMAL);
        w.linear(names::DOWN, Role::FfnOut, (f, d), NORMAL);
        for ([down, up], input, output, rank) in v.adapters(i).into_iter().filter(|(.., rank)| *rank > 0) {
            let first = Init::Uniform(1.0 / (input as f64).sqrt());
            w.tensor(Tensor::new(down, Role::Adapter, Form::Linear, &[rank, input], first).uncounted());
            w.tensor(Tensor::new(up, Role::Adapter, Form::Linear, &[output, rank], Init::Zeros).uncounted());
        }
    }

    fn flops_outside(&self, a: &Architecture, _: Counter) -> u128 {
        let v = Llama(a);
        u128::from(v.context_len()) * u128::from(v.hidden_size() * v.vocab_size())
    }
    fn flops_position(&self, a: &Architecture, i: usize, _: Counter) -> u128 {
        let v = Llama(a);
        let (q, kv) = v.widths(i);
        let [t, d, f, q, kv] = [v.context_len(), v.hidden_size(), v.ffn_dim(i), q, kv].map(u128::from);
        let adapters =
            v.adapters(i).into_iter().map(|(_, input, output, rank)| u128::from(rank * (input + output)));
        t * (2 * d * q + 2 * d * kv + 3 * d * f + adapters.sum::<u128>()) + 2 * t * t * q
    }
    fn activations_outside(&self, a: &Architecture) -> u64 {
        Llama(a).context_len() * (2 * Llama(a).hidden_size() + Llama(a).vocab_size())
    }
    fn activations_position(&self, a: &Architecture, i: usize) -> u64 {
        let v = Llama(a);
        let (t, (q, kv)) = (v.context_len(), v.widths(i));
        t * (4 * v.hidden_size() + 2 * q + 2 * kv + 3 * v.ffn_dim(i)) + v.num_heads(i) * t * t
    }
    fn ffn_and_width(&self, a: &Architecture, i: usize) -> Option<(u64, u64)> {
        Some((Llama(a).ffn_dim(i), Llama(a).hidden_size()))
    }
    fn tokens(&self, a: &Architecture) -> u64 {
        Llama(a).context_len()
    }
    /// Keys and values of every layer, as wide as its key heads.
    fn cache_numbers(&self, a: &Architecture) -> Option<u64> {
        let v = Llama(a);
        Some((0..a.positions()).map(|i| 2 * v.widths(i).1 * v.context_len()).sum())
    }
    fn blocks(&self, a: &Architecture, each: &mut dyn FnMut(Block)) {
        let v = Llama(a);
        (0..a.positions()).for_each(|i| each(Block { width: v.hidden_size(), heads: Some(v.num_heads(i)) }));
    }
}
