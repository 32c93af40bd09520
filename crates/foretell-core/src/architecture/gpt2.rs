//! GPT-2 decoders with heads and feed-forward width free per layer and an adaptive vocabulary.
//!
//! Pre-norm blocks, causal: `x += c_proj(attn(c_attn(LN x))); x += c_proj(gelu_new(c_fc(LN x)))`, final norm,
//! adaptive softmax tied to the embedding. Matrices are stored `[in, out]`.
//!
//! Paper: *LiteTransformerSearch* (Javaheripi et al., NeurIPS 2022). Its released FLOP counter is wrong (three times
//! the output projection, head widths mixed up), so only the exact one is offered.

use super::adaptive::Adaptive;
use super::field::{count, dim, flag, name, offset, optional, schema};
use super::{Architecture, Block, Card, Counter, Init, MAX_LAYERS, NetworkKind, Positions, Role, Visitor};
use serde_json::{Map, Value};

schema! {
    /// A typed view of a GPT-2 decoder.
    Gpt2
    whole {
        /// Words of the vocabulary.
        vocab_size: dim().or(50264);
        /// Positions of the input, all used.
        context_len: dim().or(192).alias(&["n_positions", "tgt_len", "n_ctx"]);
        /// Whether the softmax ties all projections but the first to those of the embedding.
        tie_projs: flag().or(1);
        /// Number of layers.
        n_layer: count(1, MAX_LAYERS).alias(&["num_layers", "depth", "num_hidden_layers", "layers"]);
        /// Width of the residual stream.
        d_model: dim().alias(&["model_dim", "n_embd", "hidden_size"]);
        /// Width of the first embedding cluster; none: `d_model`.
        d_embed: optional().alias(&["embed_dim"]);
        /// Factor by which embedding widths shrink from cluster to cluster.
        div_val: count(1, 1024).or(1).alias(&["embed_div", "k"]);
        /// Words in and out: adaptive, or plain as in GPT-2 itself: one table, neither scaled nor biased.
        head: name(&["adaptive", "plain"]).or_unsaid(0);
    }
    lists {
        /// Where the vocabulary is cut into clusters; cuts beyond its size do nothing.
        cutoffs[3]: optional().or_list(&[19997, 39997, 199997]);
    }
    positions {
        /// Attention heads of the layer.
        n_head: count(1, 1024).alias(&["num_heads", "heads"]);
        /// Feed-forward width of the layer.
        d_inner: dim().alias(&["ffn_dim", "n_inner"]);
    }
}

impl Gpt2<'_> {
    /// The view of an architecture, if it is a GPT-2 decoder.
    pub fn of(architecture: &Architecture) -> Option<Gpt2<'_>> {
        (architecture.family().name() == super::Family::card(&Family).name).then_some(Gpt2(architecture))
    }

    /// Whether words go in and out by one table, neither scaled nor biased.
    pub fn plain(&self) -> bool {
        self.head() == 1
    }
    /// The adaptive embedding and softmax.
    pub fn adaptive(&self) -> Adaptive {
        Adaptive {
            vocab: self.vocab_size(),
            model: self.d_model(),
            embed: if self.d_embed() == 0 { self.d_model() } else { self.d_embed() },
            div: self.div_val(),
            cutoffs: [0, 1, 2].map(|i| if self.plain() { 0 } else { self.cutoffs(i) }),
            tied: self.tie_projs() == 1,
        }
    }
}

/// What the tensors are called. Those of the adaptive vocabulary are its own; a plain head has its first table.
#[allow(missing_docs, reason = "a constant says what the layer is, its text what files call it")]
pub mod names {
    use crate::architecture::Names;
    pub use crate::architecture::adaptive::names::TABLE as WORDS;

    pub const POSITIONS: &str = "model.transformer.wpe.weight";
    pub const NORM_1: Names = ["model.transformer.h.{}.ln_1.weight", "model.transformer.h.{}.ln_1.bias"];
    pub const QKV: Names =
        ["model.transformer.h.{}.attn.c_attn.weight", "model.transformer.h.{}.attn.c_attn.bias"];
    pub const PROJ: Names =
        ["model.transformer.h.{}.attn.c_proj.weight", "model.transformer.h.{}.attn.c_proj.bias"];
    pub const NORM_2: Names = ["model.transformer.h.{}.ln_2.weight", "model.transformer.h.{}.ln_2.bias"];
    pub const FC: Names = ["model.transformer.h.{}.mlp.c_fc.weight", "model.transformer.h.{}.mlp.c_fc.bias"];
    pub const FC_PROJ: Names =
        ["model.transformer.h.{}.mlp.c_proj.weight", "model.transformer.h.{}.mlp.c_proj.bias"];
    pub const NORM: Names = ["model.transformer.ln_f.weight", "model.transformer.ln_f.bias"];
}

/// See the [module documentation](self).
pub struct Family;

impl super::Family for Family {
    fn card(&self) -> &'static Card {
        static CARD: Card = Card {
            name: "gpt2",
            about: "GPT-2 decoder, heads and feed-forward width free per layer, adaptive vocabulary",
            fields: FIELDS,
            positions: Positions::Layers("n_layer"),
            kind: NetworkKind::Decoder,
        };
        &CARD
    }
    fn has_finite_mask(&self) -> bool {
        true
    }
    fn check(&self, a: &Architecture) -> Result<(), String> {
        let adaptive = Gpt2(a).adaptive();
        if Gpt2(a).plain() && adaptive.projected() {
            return Err(
                "a plain head has no embeddings of another width: leave out d_embed and div_val".into()
            );
        }
        adaptive.check()
    }
    fn check_position(&self, a: &Architecture, i: usize) -> Result<(), String> {
        let v = Gpt2(a);
        if v.d_model() % v.n_head(i) != 0 {
            return Err(format!("n_head {} does not divide d_model {}", v.n_head(i), v.d_model()));
        }
        Ok(())
    }

    fn outside(&self, a: &Architecture, w: &mut Visitor) {
        let v = Gpt2(a);
        if v.plain() {
            w.table(names::WORDS, Role::Embedding, &[v.vocab_size(), v.d_model()], Init::Normal(0.02));
        } else {
            v.adaptive().weights(w);
        }
        w.table(names::POSITIONS, Role::Position, &[v.context_len(), v.d_model()], Init::Normal(0.02));
        w.norm(names::NORM, Role::Norm, v.d_model());
    }
    fn position(&self, a: &Architecture, i: usize, w: &mut Visitor) {
        let v = Gpt2(a);
        let (d, f) = (v.d_model(), v.d_inner(i));
        let normal = Init::Normal(0.02);
        let residual = Init::Normal(0.02 / (2.0 * v.n_layer() as f64).sqrt());
        w.enter(i, [i, 0]);
        w.norm(names::NORM_1, Role::Norm, d);
        w.linear_transposed(names::QKV, Role::QueryKeyValue, (d, 3 * d), normal);
        w.linear_transposed(names::PROJ, Role::AttentionOut, (d, d), residual);
        w.norm(names::NORM_2, Role::Norm, d);
        w.linear_transposed(names::FC, Role::FfnIn, (d, f), normal);
        w.linear_transposed(names::FC_PROJ, Role::FfnOut, (f, d), residual);
    }

    fn flops_outside(&self, a: &Architecture, _: Counter) -> u128 {
        Gpt2(a).adaptive().flops(Gpt2(a).context_len())
    }
    fn flops_position(&self, a: &Architecture, i: usize, _: Counter) -> u128 {
        let v = Gpt2(a);
        let [t, d, f] = [v.context_len(), v.d_model(), v.d_inner(i)].map(u128::from);
        t * (4 * d * d + 2 * d * f) + 2 * t * t * d
    }
    fn activations_outside(&self, a: &Architecture) -> u64 {
        Gpt2(a).adaptive().activations(Gpt2(a).context_len())
    }
    fn activations_position(&self, a: &Architecture, i: usize) -> u64 {
        let v = Gpt2(a);
        let t = v.context_len();
        t * (8 * v.d_model() + 2 * v.d_inner(i)) + v.n_head(i) * t * t
    }
    /// A plain head has no clusters.
    fn canonicalise(&self, values: &mut Vec<u32>) {
        const CUTS: usize = offset(FIELDS, "cutoffs");
        if values[offset(FIELDS, "head")] == 1 {
            values[CUTS..CUTS + 3].fill(0);
            values[offset(FIELDS, "tie_projs")] = 1;
            values[offset(FIELDS, "d_embed")] = 0;
        }
    }
    fn ffn_and_width(&self, a: &Architecture, i: usize) -> Option<(u64, u64)> {
        Some((Gpt2(a).d_inner(i), Gpt2(a).d_model()))
    }
    fn complete(&self, row: &mut Map<String, Value>) {
        Adaptive::complete(row);
    }
    /// One published summary counts the layers of Transformer-XL.
    fn miscounted_as(&self) -> Option<&'static dyn super::Family> {
        Some(&super::transformer_xl::Family)
    }
    fn tokens(&self, a: &Architecture) -> u64 {
        Gpt2(a).context_len()
    }
    /// Keys and values of every layer.
    fn cache_numbers(&self, a: &Architecture) -> Option<u64> {
        let v = Gpt2(a);
        Some(v.n_layer() * 2 * v.d_model() * v.context_len())
    }
    fn blocks(&self, a: &Architecture, each: &mut dyn FnMut(Block)) {
        let v = Gpt2(a);
        (0..a.positions()).for_each(|i| each(Block { width: v.d_model(), heads: Some(v.n_head(i)) }));
    }
}
