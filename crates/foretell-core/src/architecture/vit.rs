//! Vision transformers as AutoFormer builds them: one width, heads and feed-forward ratio free per layer.
//!
//! Block: `x += O(Attn(LN x)); x += fc2(gelu(fc1(LN x)))`. The width of queries, keys and values is
//! `head_dim · heads` where `head_dim` is given (AutoFormer's `change_qkv`, 64), else `qkv_dim`, else the
//! embedding width. Relative positions add four tables a layer, `(2·max_distance + 2) x head width` each.
//!
//! Paper: *AutoFormer: Searching Transformers for Visual Recognition* (Chen et al., ICCV 2021).

use super::field::{count, dim, flag, name, optional, ratio, schema};
use super::{
    Architecture, Block, Card, Counter, Init, MAX_LAYERS, NetworkKind, Positions, Role, Visitor, fits,
};
use serde_json::{Map, Value};

schema! {
    /// A typed view of a vision transformer.
    Vit
    whole {
        /// Side of the square input image, in pixels.
        image_size: count(1, 8192).or(224).alias(&["img_size"]);
        /// Side of a square patch, in pixels.
        patch_size: count(1, 8192).or(16);
        /// Colour channels of the image.
        channels: count(1, 1024).or(3).alias(&["in_chans", "num_channels"]);
        /// Classes of the output layer.
        num_classes: dim().or(1000);
        /// Width of the residual stream.
        embed_dim: dim().alias(&["hidden_dim", "hidden_size", "width"]);
        /// Number of blocks.
        depth: count(1, MAX_LAYERS).alias(&["num_layers", "num_hidden_layers", "layers"]);
        /// Width of every head; none: the heads split `qkv_dim`.
        head_dim: optional();
        /// Width of queries, keys and values where the heads split it; none: `embed_dim`.
        qkv_dim: optional();
        /// Whether attention adds two-dimensional relative positions.
        relative_position: flag().or(0);
        /// Distance beyond which relative positions are equal.
        max_relative_position: count(1, 8192).or(14);
        /// Whether a learned absolute position is added.
        abs_pos: flag().or(1).alias(&["absolute_position"]);
        /// What feeds the head: the mean of the patch tokens or the class token.
        pooling: name(&["mean", "class"]).or(0);
        /// What norms add to the variance.
        norm_eps: name(&["1e-5", "1e-6", "1e-12"]).or_unsaid(0);
    }
    lists {}
    positions {
        /// Attention heads of the layer.
        num_heads: count(1, 1024).alias(&["heads", "num_attention_heads"]);
        /// Feed-forward width over `embed_dim`; the product is rounded down.
        mlp_ratio: ratio(1, 1_000_000).alias(&["ratio", "mlp_ratios"]);
    }
}

impl Vit<'_> {
    /// Number of patches.
    pub fn patches(&self) -> u64 {
        let side = self.image_size() / self.patch_size();
        side * side
    }
    /// Width of queries, of keys and of values in a layer.
    pub fn q(&self, layer: usize) -> u64 {
        match (self.head_dim(), self.qkv_dim()) {
            (0, 0) => self.embed_dim(),
            (0, qkv) => qkv,
            (head, _) => head * self.num_heads(layer),
        }
    }
    /// Feed-forward width of a layer.
    pub fn ffn(&self, layer: usize) -> u64 {
        self.embed_dim() * self.mlp_ratio(layer) / 1000
    }
    /// [`Vit::norm_eps`] as a number.
    pub fn eps(&self) -> f64 {
        [1e-5, 1e-6, 1e-12][self.norm_eps() as usize]
    }
    fn patch_inputs(&self) -> u64 {
        self.channels() * self.patch_size() * self.patch_size()
    }
}

const LINEAR: Init = Init::TruncatedNormal(0.02);

/// What the tensors are called.
#[allow(missing_docs, reason = "a constant says what the layer is, its text what files call it")]
pub mod names {
    use crate::architecture::Names;

    pub const PATCHES: Names = ["patch_embed.weight", "patch_embed.bias"];
    pub const CLASS: &str = "cls_token";
    pub const POSITIONS: &str = "pos_embed";
    pub const NORM: Names = ["norm.weight", "norm.bias"];
    pub const HEAD: Names = ["head.weight", "head.bias"];
    pub const NORM_1: Names = ["blocks.{}.attn_layer_norm.weight", "blocks.{}.attn_layer_norm.bias"];
    pub const NORM_2: Names = ["blocks.{}.ffn_layer_norm.weight", "blocks.{}.ffn_layer_norm.bias"];
    pub const QKV: Names = ["blocks.{}.attn.qkv.weight", "blocks.{}.attn.qkv.bias"];
    pub const PROJ: Names = ["blocks.{}.attn.proj.weight", "blocks.{}.attn.proj.bias"];
    pub const FC1: Names = ["blocks.{}.fc1.weight", "blocks.{}.fc1.bias"];
    pub const FC2: Names = ["blocks.{}.fc2.weight", "blocks.{}.fc2.bias"];
    /// Relative positions: of keys down and across, of values down and across.
    pub const TABLES: [&str; 4] = [
        "blocks.{}.attn.rel_pos_embed_k.embeddings_table_v",
        "blocks.{}.attn.rel_pos_embed_k.embeddings_table_h",
        "blocks.{}.attn.rel_pos_embed_v.embeddings_table_v",
        "blocks.{}.attn.rel_pos_embed_v.embeddings_table_h",
    ];
}

/// See the [module documentation](self).
pub struct Family;

impl super::Family for Family {
    fn card(&self) -> &'static Card {
        static CARD: Card = Card {
            name: "vit",
            about: "vision transformer, heads and feed-forward ratio free per layer (AutoFormer)",
            fields: FIELDS,
            positions: Positions::Layers("depth"),
            kind: NetworkKind::Vision,
        };
        &CARD
    }

    fn check(&self, a: &Architecture) -> Result<(), String> {
        let v = Vit(a);
        if v.image_size() % v.patch_size() != 0 {
            return Err(format!(
                "patch_size {} does not divide image_size {}",
                v.patch_size(),
                v.image_size()
            ));
        }
        if v.head_dim() > 0 && v.qkv_dim() > 0 {
            return Err("head_dim and qkv_dim both fix the width of queries: set one to none".into());
        }
        Ok(())
    }
    fn check_position(&self, a: &Architecture, i: usize) -> Result<(), String> {
        let v = Vit(a);
        if v.q(i) % v.num_heads(i) != 0 {
            return Err(format!("num_heads {} does not divide the width {}", v.num_heads(i), v.q(i)));
        }
        fits("head_dim and num_heads give a width", v.q(i))?;
        fits("mlp_ratio gives a feed-forward width", v.ffn(i))
    }

    fn outside(&self, a: &Architecture, w: &mut Visitor) {
        let v = Vit(a);
        let (d, p) = (v.embed_dim(), v.patch_size());
        let patch = Init::Uniform(1.0 / (v.patch_inputs() as f64).sqrt());
        w.convolution(names::PATCHES, Role::PatchEmbedding, &[d, v.channels(), p, p], patch);
        w.table(names::CLASS, Role::ClassToken, &[1, 1, d], LINEAR);
        if v.abs_pos() == 1 {
            w.table(names::POSITIONS, Role::Position, &[1, v.patches() + 1, d], LINEAR);
        }
        w.norm(names::NORM, Role::Norm, d);
        w.linear(names::HEAD, Role::Head, (d, v.num_classes()), LINEAR);
    }
    fn position(&self, a: &Architecture, i: usize, w: &mut Visitor) {
        let v = Vit(a);
        let (d, q, f) = (v.embed_dim(), v.q(i), v.ffn(i));
        w.enter(i, [i, 0]);
        w.norm(names::NORM_1, Role::Norm, d);
        w.linear(names::QKV, Role::QueryKeyValue, (d, 3 * q), LINEAR);
        w.linear(names::PROJ, Role::AttentionOut, (q, d), LINEAR);
        if v.relative_position() == 1 {
            let shape = [2 * v.max_relative_position() + 2, q / v.num_heads(i)];
            for table in names::TABLES {
                w.table(table, Role::RelativePosition, &shape, LINEAR);
            }
        }
        w.norm(names::NORM_2, Role::Norm, d);
        w.linear(names::FC1, Role::FfnIn, (d, f), LINEAR);
        w.linear(names::FC2, Role::FfnOut, (f, d), LINEAR);
    }

    fn has_published_flops(&self) -> bool {
        true
    }
    /// The released code adds the class token twice (one token too many in every block) and applies the head to
    /// every token; the exact count does neither. Both count norms, class token and positions as it does.
    fn flops_outside(&self, a: &Architecture, counter: Counter) -> u128 {
        let v = Vit(a);
        let (d, n) = (u128::from(v.embed_dim()), u128::from(v.patches()));
        let headed = if counter == Counter::Published { n + 1 } else { 1 };
        d + n * u128::from(v.patch_inputs()) * d + (n + 1) * d / 2 + headed * d * u128::from(v.num_classes())
    }
    fn flops_position(&self, a: &Architecture, i: usize, counter: Counter) -> u128 {
        let v = Vit(a);
        let s = u128::from(v.patches()) + if counter == Counter::Published { 2 } else { 1 };
        let [d, q, f] = [v.embed_dim(), v.q(i), v.ffn(i)].map(u128::from);
        let relative = if v.relative_position() == 1 {
            2 * u128::from(v.max_relative_position()) * s * s + s * s / 2 + s * q / 2
        } else {
            0
        };
        2 * s * d + 3 * s * d * q + 2 * s * s * q + s * q * d + relative + 2 * s * d * f
    }
    fn activations_outside(&self, a: &Architecture) -> u64 {
        let v = Vit(a);
        v.channels() * v.image_size() * v.image_size() + 3 * v.embed_dim() * self.tokens(a) + v.num_classes()
    }
    fn activations_position(&self, a: &Architecture, i: usize) -> u64 {
        let v = Vit(a);
        let t = self.tokens(a);
        // Block input, two norms, the middle sum; q, k, v, context; probabilities; feed-forward before and after GELU.
        t * (4 * v.embed_dim() + 4 * v.q(i) + 2 * v.ffn(i)) + v.num_heads(i) * t * t
    }
    /// Published tables of AutoFormers leave out that a head is as wide as its share, and that no position is relative.
    fn complete(&self, row: &mut Map<String, Value>) {
        if !row.contains_key("head_dim") {
            row.insert("head_dim".into(), Value::Null);
            row.entry("relative_position").or_insert(false.into());
        }
    }
    fn tokens(&self, a: &Architecture) -> u64 {
        Vit(a).patches() + 1
    }
    fn blocks(&self, a: &Architecture, each: &mut dyn FnMut(Block)) {
        let v = Vit(a);
        (0..a.positions()).for_each(|i| each(Block { width: v.embed_dim(), heads: Some(v.num_heads(i)) }));
    }
}
