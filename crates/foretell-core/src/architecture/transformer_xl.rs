//! Transformer-XL decoders with heads and feed-forward width free per layer and an adaptive vocabulary.
//!
//! Post-norm layers with relative positions: queries, keys and values without bias, a projection of the relative
//! positions, an output map, and two bias vectors as wide as the model. No position table.
//!
//! Papers: *Transformer-XL* (Dai et al., 2019); *LiteTransformerSearch* (Javaheripi et al., NeurIPS 2022).

use super::adaptive::Adaptive;
use super::field::{count, dim, flag, optional, schema};
use super::{Architecture, Block, Card, Counter, Init, MAX_LAYERS, NetworkKind, Positions, Role, Visitor};
use serde_json::{Map, Value};

schema! {
    /// A typed view of a Transformer-XL decoder.
    TransformerXl
    whole {
        /// Words of the vocabulary.
        vocab_size: dim().or(267736);
        /// Tokens of a segment.
        context_len: dim().or(192).alias(&["n_positions", "tgt_len"]);
        /// Whether the softmax ties all projections but the first to those of the embedding.
        tie_projs: flag().or(1);
        /// Number of layers.
        n_layer: count(1, MAX_LAYERS).alias(&["num_layers", "depth", "layers"]);
        /// Width of the residual stream.
        d_model: dim().alias(&["model_dim"]);
        /// Width of the first embedding cluster; none: `d_model`.
        d_embed: optional().alias(&["embed_dim"]);
        /// Factor by which embedding widths shrink from cluster to cluster.
        div_val: count(1, 1024).or(1).alias(&["embed_div", "k"]);
    }
    lists {
        /// Where the vocabulary is cut into clusters; cuts beyond its size do nothing.
        cutoffs[3]: optional().or_list(&[19997, 39997, 199997]);
    }
    positions {
        /// Attention heads of the layer.
        n_head: count(1, 1024).alias(&["num_heads", "heads"]);
        /// Feed-forward width of the layer.
        d_inner: dim().alias(&["ffn_dim"]);
    }
}

impl TransformerXl<'_> {
    /// The adaptive embedding and softmax.
    pub fn adaptive(&self) -> Adaptive {
        Adaptive {
            vocab: self.vocab_size(),
            model: self.d_model(),
            embed: if self.d_embed() == 0 { self.d_model() } else { self.d_embed() },
            div: self.div_val(),
            cutoffs: [0, 1, 2].map(|i| self.cutoffs(i)),
            tied: self.tie_projs() == 1,
        }
    }
}

const NORMAL: Init = Init::Normal(0.02);

/// What the tensors are called. Those of the adaptive vocabulary are its own.
#[allow(missing_docs, reason = "a constant says what the layer is, its text what files call it")]
pub mod names {
    use crate::architecture::Names;

    pub const QKV: Names = ["model.transformer.layers.{}.dec_attn.qkv_net.weight", ""];
    pub const RELATIVE: Names = ["model.transformer.layers.{}.dec_attn.r_net.weight", ""];
    pub const OUT: Names = ["model.transformer.layers.{}.dec_attn.o_net.weight", ""];
    pub const CONTENT_BIAS: &str = "model.transformer.layers.{}.dec_attn.r_w_bias";
    pub const POSITION_BIAS: &str = "model.transformer.layers.{}.dec_attn.r_r_bias";
    pub const NORM_1: Names = [
        "model.transformer.layers.{}.dec_attn.layer_norm.weight",
        "model.transformer.layers.{}.dec_attn.layer_norm.bias",
    ];
    pub const FC_1: Names = [
        "model.transformer.layers.{}.pos_ff.CoreNet.0.weight",
        "model.transformer.layers.{}.pos_ff.CoreNet.0.bias",
    ];
    pub const FC_2: Names = [
        "model.transformer.layers.{}.pos_ff.CoreNet.3.weight",
        "model.transformer.layers.{}.pos_ff.CoreNet.3.bias",
    ];
    pub const NORM_2: Names = [
        "model.transformer.layers.{}.pos_ff.layer_norm.weight",
        "model.transformer.layers.{}.pos_ff.layer_norm.bias",
    ];
}

/// See the [module documentation](self).
pub struct Family;

impl super::Family for Family {
    fn card(&self) -> &'static Card {
        static CARD: Card = Card {
            name: "transformer-xl",
            about: "Transformer-XL decoder, heads and feed-forward width free per layer, adaptive vocabulary",
            fields: FIELDS,
            positions: Positions::Layers("n_layer"),
            kind: NetworkKind::Decoder,
        };
        &CARD
    }
    fn check(&self, a: &Architecture) -> Result<(), String> {
        TransformerXl(a).adaptive().check()
    }
    fn check_position(&self, a: &Architecture, i: usize) -> Result<(), String> {
        let v = TransformerXl(a);
        if v.d_model() % v.n_head(i) != 0 {
            return Err(format!("n_head {} does not divide d_model {}", v.n_head(i), v.d_model()));
        }
        Ok(())
    }

    fn outside(&self, a: &Architecture, w: &mut Visitor) {
        TransformerXl(a).adaptive().weights(w);
    }
    fn position(&self, a: &Architecture, i: usize, w: &mut Visitor) {
        let v = TransformerXl(a);
        let (d, f) = (v.d_model(), v.d_inner(i));
        w.enter(i, [i, 0]);
        w.linear(names::QKV, Role::QueryKeyValue, (d, 3 * d), NORMAL);
        w.linear(names::RELATIVE, Role::RelativePosition, (d, d), NORMAL);
        w.linear(names::OUT, Role::AttentionOut, (d, d), NORMAL);
        w.table(names::CONTENT_BIAS, Role::RelativePosition, &[d], NORMAL);
        w.table(names::POSITION_BIAS, Role::RelativePosition, &[d], NORMAL);
        w.norm(names::NORM_1, Role::Norm, d);
        w.linear(names::FC_1, Role::FfnIn, (d, f), NORMAL);
        w.linear(names::FC_2, Role::FfnOut, (f, d), NORMAL);
        w.norm(names::NORM_2, Role::Norm, d);
    }

    fn flops_outside(&self, a: &Architecture, _: Counter) -> u128 {
        TransformerXl(a).adaptive().flops(TransformerXl(a).context_len())
    }
    /// One segment without memory: five square maps, content and position scores, weighted values.
    fn flops_position(&self, a: &Architecture, i: usize, _: Counter) -> u128 {
        let v = TransformerXl(a);
        let [t, d, f] = [v.context_len(), v.d_model(), v.d_inner(i)].map(u128::from);
        t * (5 * d * d + 2 * d * f) + 3 * t * t * d
    }
    fn activations_outside(&self, a: &Architecture) -> u64 {
        TransformerXl(a).adaptive().activations(TransformerXl(a).context_len())
    }
    fn activations_position(&self, a: &Architecture, i: usize) -> u64 {
        let v = TransformerXl(a);
        let t = v.context_len();
        t * (9 * v.d_model() + 2 * v.d_inner(i)) + 2 * v.n_head(i) * t * t
    }
    fn ffn_and_width(&self, a: &Architecture, i: usize) -> Option<(u64, u64)> {
        Some((TransformerXl(a).d_inner(i), TransformerXl(a).d_model()))
    }
    fn complete(&self, row: &mut Map<String, Value>) {
        Adaptive::complete(row);
    }
    fn tokens(&self, a: &Architecture) -> u64 {
        TransformerXl(a).context_len()
    }
    /// Keys, values and projected distances of every layer. The distances are the same for every token, so projecting
    /// them once saves `context` rows of a square map at each step.
    fn cache_numbers(&self, a: &Architecture) -> Option<u64> {
        let v = TransformerXl(a);
        Some(v.n_layer() * 3 * v.d_model() * v.context_len())
    }
    fn blocks(&self, a: &Architecture, each: &mut dyn FnMut(Block)) {
        let v = TransformerXl(a);
        (0..a.positions()).for_each(|i| each(Block { width: v.d_model(), heads: Some(v.n_head(i)) }));
    }
}
