//! Pooling vision transformers: three stages, each with its own number of blocks and heads, the map halved between.
//!
//! The width of stage `s` is `base_dim · num_heads[s]`. Pooling is a convolution grouped by input channel, so each
//! width is a multiple of the one before; the class token passes through a linear map.
//!
//! Paper: *Rethinking Spatial Dimensions of Vision Transformers* (Heo et al., ICCV 2021).

use super::field::{count, dim, ratio, schema};
use super::{
    Architecture, Block, Card, Counter, Init, MAX_LAYERS, NetworkKind, Positions, Role, Visitor, fits,
};

const STAGES: usize = 3;

schema! {
    /// A typed view of a pooling vision transformer.
    Pit
    whole {
        /// Side of the square input image, in pixels.
        image_size: count(1, 8192).or(224).alias(&["img_size"]);
        /// Side of a square patch, in pixels.
        patch_size: count(1, 8192).or(16);
        /// Pixels between neighbouring patches.
        stride: count(1, 8192).or(8);
        /// Colour channels of the image.
        channels: count(1, 1024).or(3).alias(&["in_chans", "num_channels"]);
        /// Classes of the output layer.
        num_classes: dim().or(1000);
        /// Width of one head, the same in all stages.
        base_dim: dim();
        /// Feed-forward width over stage width.
        mlp_ratio: ratio(1, 1_000_000).alias(&["ratio"]);
    }
    lists {
        /// Heads of each stage.
        num_heads[3]: count(1, 1024).alias(&["heads"]);
    }
    positions {
        /// Blocks of the stage.
        depth: count(1, MAX_LAYERS).alias(&["depths"]);
    }
}

impl Pit<'_> {
    /// Width of a stage.
    pub fn width(&self, stage: usize) -> u64 {
        self.base_dim() * self.num_heads(stage)
    }
    /// Feed-forward width of a stage.
    pub fn ffn(&self, stage: usize) -> u64 {
        self.width(stage) * self.mlp_ratio() / 1000
    }
    /// Side of the token map of a stage.
    pub fn side(&self, stage: usize) -> u64 {
        let first = (self.image_size() - self.patch_size()) / self.stride() + 1;
        (0..stage).fold(first, |side, _| (side - 1) / 2 + 1)
    }
    /// Tokens of a stage, class token included.
    pub fn stage_tokens(&self, stage: usize) -> u64 {
        self.side(stage) * self.side(stage) + 1
    }
}

const LINEAR: Init = Init::TruncatedNormal(0.02);
const CONVOLUTION: Init = Init::Normal(1.0);

/// What the tensors are called.
#[allow(missing_docs, reason = "a constant says what the layer is, its text what files call it")]
pub mod names {
    use crate::architecture::Names;

    pub const POSITIONS: &str = "pos_embed";
    pub const PATCHES: Names = ["patch_embed.conv.weight", "patch_embed.conv.bias"];
    pub const CLASS: &str = "cls_token";
    pub const NORM: Names = ["norm.weight", "norm.bias"];
    pub const HEAD: Names = ["head.weight", "head.bias"];
    pub const NORM_1: Names =
        ["transformers.{}.blocks.{}.norm1.weight", "transformers.{}.blocks.{}.norm1.bias"];
    pub const NORM_2: Names =
        ["transformers.{}.blocks.{}.norm2.weight", "transformers.{}.blocks.{}.norm2.bias"];
    pub const QKV: Names =
        ["transformers.{}.blocks.{}.attn.qkv.weight", "transformers.{}.blocks.{}.attn.qkv.bias"];
    pub const PROJ: Names =
        ["transformers.{}.blocks.{}.attn.proj.weight", "transformers.{}.blocks.{}.attn.proj.bias"];
    pub const FC1: Names =
        ["transformers.{}.blocks.{}.mlp.fc1.weight", "transformers.{}.blocks.{}.mlp.fc1.bias"];
    pub const FC2: Names =
        ["transformers.{}.blocks.{}.mlp.fc2.weight", "transformers.{}.blocks.{}.mlp.fc2.bias"];
    /// Between two stages: the convolution of the map, the linear map of the class token.
    pub const POOLS: [[Names; 2]; 2] = [
        [["pools.0.conv.weight", "pools.0.conv.bias"], ["pools.0.fc.weight", "pools.0.fc.bias"]],
        [["pools.1.conv.weight", "pools.1.conv.bias"], ["pools.1.fc.weight", "pools.1.fc.bias"]],
    ];
}

/// See the [module documentation](self).
pub struct Family;

impl super::Family for Family {
    fn card(&self) -> &'static Card {
        static CARD: Card = Card {
            name: "pit",
            about: "pooling vision transformer in three stages (PiT)",
            fields: FIELDS,
            positions: Positions::Stages(STAGES),
            kind: NetworkKind::Vision,
        };
        &CARD
    }

    fn check(&self, a: &Architecture) -> Result<(), String> {
        let v = Pit(a);
        if v.patch_size() > v.image_size() {
            return Err(format!("patch_size {} exceeds image_size {}", v.patch_size(), v.image_size()));
        }
        for s in 1..STAGES {
            if v.num_heads(s) % v.num_heads(s - 1) != 0 {
                return Err(format!(
                    "num_heads {} of stage {} is no multiple of {} before it, but pooling needs widths that are",
                    v.num_heads(s),
                    s + 1,
                    v.num_heads(s - 1)
                ));
            }
        }
        for s in 0..STAGES {
            fits("base_dim and num_heads give a width", v.width(s))?;
            fits("mlp_ratio gives a feed-forward width", v.ffn(s))?;
        }
        Ok(())
    }
    fn check_position(&self, _: &Architecture, _: usize) -> Result<(), String> {
        Ok(())
    }

    fn outside(&self, a: &Architecture, w: &mut Visitor) {
        let v = Pit(a);
        let (d, p) = (v.width(0), v.patch_size());
        w.table(names::POSITIONS, Role::Position, &[1, d, v.side(0), v.side(0)], LINEAR);
        let patch = [d, v.channels(), p, p];
        w.convolution(names::PATCHES, Role::PatchEmbedding, &patch, CONVOLUTION);
        w.table(names::CLASS, Role::ClassToken, &[1, 1, d], LINEAR);
        for (s, [conv, linear]) in names::POOLS.into_iter().enumerate() {
            let (from, to) = (v.width(s), v.width(s + 1));
            w.convolution(conv, Role::Pooling, &[to, 1, 3, 3], CONVOLUTION);
            w.linear(linear, Role::Pooling, (from, to), LINEAR);
        }
        let last = v.width(STAGES - 1);
        w.norm(names::NORM, Role::Norm, last);
        w.linear(names::HEAD, Role::Head, (last, v.num_classes()), LINEAR);
    }
    fn position(&self, a: &Architecture, s: usize, w: &mut Visitor) {
        let v = Pit(a);
        let (d, f) = (v.width(s), v.ffn(s));
        let before: u64 = (0..s).map(|s| v.depth(s)).sum();
        for b in 0..v.depth(s) as usize {
            w.enter(before as usize + b, [s, b]);
            w.norm(names::NORM_1, Role::Norm, d);
            w.linear(names::QKV, Role::QueryKeyValue, (d, 3 * d), LINEAR);
            w.linear(names::PROJ, Role::AttentionOut, (d, d), LINEAR);
            w.norm(names::NORM_2, Role::Norm, d);
            w.linear(names::FC1, Role::FfnIn, (d, f), LINEAR);
            w.linear(names::FC2, Role::FfnOut, (f, d), LINEAR);
        }
    }

    fn flops_outside(&self, a: &Architecture, _: Counter) -> u128 {
        let v = Pit(a);
        let map = |s: usize| u128::from(v.side(s) * v.side(s));
        let patch =
            map(0) * u128::from(v.channels() * v.patch_size() * v.patch_size()) * u128::from(v.width(0));
        let pools = (0..STAGES - 1)
            .map(|s| map(s + 1) * u128::from(9 * v.width(s + 1)) + u128::from(v.width(s) * v.width(s + 1)));
        patch + pools.sum::<u128>() + u128::from(v.width(STAGES - 1) * v.num_classes())
    }
    fn flops_position(&self, a: &Architecture, s: usize, _: Counter) -> u128 {
        let v = Pit(a);
        let [t, d, f, blocks] = [v.stage_tokens(s), v.width(s), v.ffn(s), v.depth(s)].map(u128::from);
        blocks * (t * (4 * d * d + 2 * d * f) + 2 * t * t * d)
    }
    fn activations_outside(&self, a: &Architecture) -> u64 {
        let v = Pit(a);
        let maps = (0..STAGES).map(|s| v.stage_tokens(s) * v.width(s));
        v.channels() * v.image_size() * v.image_size() + maps.sum::<u64>() + v.num_classes()
    }
    fn activations_position(&self, a: &Architecture, s: usize) -> u64 {
        let v = Pit(a);
        let t = v.stage_tokens(s);
        v.depth(s) * (t * (8 * v.width(s) + 2 * v.ffn(s)) + v.num_heads(s) * t * t)
    }
    fn tokens(&self, a: &Architecture) -> u64 {
        Pit(a).stage_tokens(0)
    }
    fn blocks(&self, a: &Architecture, each: &mut dyn FnMut(Block)) {
        let v = Pit(a);
        for s in 0..STAGES {
            (0..v.depth(s)).for_each(|_| each(Block { width: v.width(s), heads: Some(v.num_heads(s)) }));
        }
    }
}
