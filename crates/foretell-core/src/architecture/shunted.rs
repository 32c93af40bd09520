//! Shunted vision transformers: four stages, attention over keys and values pooled at two rates at once.
//!
//! Stage `s` is `base_dim · 2^s` wide and starts with an overlapping convolution that halves the map. While the
//! reduction `sr` exceeds 1, half of the heads see keys pooled by `sr`, the other half by `sr/2`; with `sr` 1
//! attention is ordinary. Values get a 3x3 depth-wise convolution, and so does the feed-forward layer.
//!
//! Paper: *Shunted Self-Attention via Multi-Scale Token Aggregation* (Ren et al., CVPR 2022). T-Razor searches this
//! family without printing its choices; those of the preset are ours.

use super::field::{count, dim, ratio, schema};
use super::{
    Architecture, Block, Card, Counter, Init, MAX_LAYERS, NetworkKind, Positions, Role, Visitor, fits,
};

const STAGES: usize = 4;

schema! {
    /// A typed view of a shunted vision transformer.
    Shunted
    whole {
        /// Side of the square input image, in pixels.
        image_size: count(32, 8192).or(224).alias(&["img_size"]);
        /// Colour channels of the image.
        channels: count(1, 1024).or(3).alias(&["in_chans", "num_channels"]);
        /// Classes of the output layer.
        num_classes: dim().or(1000);
        /// Width of the first stage; it doubles from stage to stage.
        base_dim: count(2, 1 << 16);
        /// Extra 3x3 convolutions of the stem.
        stem_convs: count(0, 64).or(0);
    }
    lists {
        /// Reduction of keys and values of each stage, a power of two.
        sr_ratio[4]: count(1, 64).or_list(&[8, 4, 2, 1]).alias(&["sr_ratios"]);
    }
    positions {
        /// Blocks of the stage.
        depth: count(1, MAX_LAYERS).alias(&["depths"]);
        /// Heads of the stage.
        num_heads: count(1, 1024).alias(&["heads"]);
        /// Feed-forward width over stage width.
        mlp_ratio: ratio(1, 1_000_000).alias(&["ratio", "mlp_ratios"]);
    }
}

impl Shunted<'_> {
    /// Width of a stage.
    pub fn width(&self, stage: usize) -> u64 {
        self.base_dim() << stage
    }
    /// Feed-forward width of a stage.
    pub fn ffn(&self, stage: usize) -> u64 {
        self.width(stage) * self.mlp_ratio(stage) / 1000
    }
    /// Side of the token map of a stage.
    pub fn side(&self, stage: usize) -> u64 {
        (self.image_size() / 4) >> stage
    }
    fn pooled(&self, stage: usize) -> [u64; 2] {
        let side = self.side(stage);
        [self.sr_ratio(stage), self.sr_ratio(stage) / 2].map(|k| (side / k) * (side / k))
    }
}

const LINEAR: Init = Init::TruncatedNormal(0.02);

/// Convolutions are drawn normal with variance 2 / (k² · outputs / groups).
fn fan_out(shape: &[u64; 4], groups: u64) -> Init {
    Init::Normal((2.0 * groups as f64 / (shape[2] * shape[3] * shape[0]) as f64).sqrt())
}

/// What the tensors are called.
#[allow(missing_docs, reason = "a constant says what the layer is, its text what files call it")]
pub mod names {
    use crate::architecture::Names;

    pub const STEM: Names = ["patch_embed1.stem.0.weight", ""];
    pub const STEM_NORM: Names = ["patch_embed1.stem.1.weight", "patch_embed1.stem.1.bias"];
    /// Further convolutions of the stem and their norms, numbered in one sequence.
    pub const STEM_CONVS_NORM: Names = ["patch_embed1.stem.{}.weight", "patch_embed1.stem.{}.bias"];
    pub const STEM_CONVS: Names = [STEM_CONVS_NORM[0], ""];
    pub const PATCHES: Names = ["patch_embed1.proj.weight", "patch_embed1.proj.bias"];
    pub const PATCHES_NORM: Names = ["patch_embed1.norm.weight", "patch_embed1.norm.bias"];
    /// Where each stage after the first begins: convolution and norm.
    pub const MERGES: [[Names; 2]; 3] = [
        [
            ["patch_embed2.proj.weight", "patch_embed2.proj.bias"],
            ["patch_embed2.norm.weight", "patch_embed2.norm.bias"],
        ],
        [
            ["patch_embed3.proj.weight", "patch_embed3.proj.bias"],
            ["patch_embed3.norm.weight", "patch_embed3.norm.bias"],
        ],
        [
            ["patch_embed4.proj.weight", "patch_embed4.proj.bias"],
            ["patch_embed4.norm.weight", "patch_embed4.norm.bias"],
        ],
    ];
    /// Where each stage ends.
    pub const NORMS: [Names; 4] = [
        ["norm1.weight", "norm1.bias"],
        ["norm2.weight", "norm2.bias"],
        ["norm3.weight", "norm3.bias"],
        ["norm4.weight", "norm4.bias"],
    ];
    pub const HEAD: Names = ["head.weight", "head.bias"];
    pub const NORM_1: Names = ["block{}.{}.norm1.weight", "block{}.{}.norm1.bias"];
    pub const NORM_2: Names = ["block{}.{}.norm2.weight", "block{}.{}.norm2.bias"];
    pub const QUERY: Names = ["block{}.{}.attn.q.weight", "block{}.{}.attn.q.bias"];
    pub const KEY_VALUE: Names = ["block{}.{}.attn.kv.weight", "block{}.{}.attn.kv.bias"];
    pub const LOCAL: Names = ["block{}.{}.attn.local_conv.weight", "block{}.{}.attn.local_conv.bias"];
    pub const PROJ: Names = ["block{}.{}.attn.proj.weight", "block{}.{}.attn.proj.bias"];
    pub const FC1: Names = ["block{}.{}.mlp.fc1.weight", "block{}.{}.mlp.fc1.bias"];
    pub const FFN_LOCAL: Names = ["block{}.{}.mlp.dwconv.dwconv.weight", "block{}.{}.mlp.dwconv.dwconv.bias"];
    pub const FC2: Names = ["block{}.{}.mlp.fc2.weight", "block{}.{}.mlp.fc2.bias"];
    /// For each of the two pooling rates: pooling, its norm, keys and values, local convolution of the values.
    pub const RATES: [[Names; 4]; 2] = [
        [
            ["block{}.{}.attn.sr1.weight", "block{}.{}.attn.sr1.bias"],
            ["block{}.{}.attn.norm1.weight", "block{}.{}.attn.norm1.bias"],
            ["block{}.{}.attn.kv1.weight", "block{}.{}.attn.kv1.bias"],
            ["block{}.{}.attn.local_conv1.weight", "block{}.{}.attn.local_conv1.bias"],
        ],
        [
            ["block{}.{}.attn.sr2.weight", "block{}.{}.attn.sr2.bias"],
            ["block{}.{}.attn.norm2.weight", "block{}.{}.attn.norm2.bias"],
            ["block{}.{}.attn.kv2.weight", "block{}.{}.attn.kv2.bias"],
            ["block{}.{}.attn.local_conv2.weight", "block{}.{}.attn.local_conv2.bias"],
        ],
    ];
}

/// See the [module documentation](self).
pub struct Family;

impl super::Family for Family {
    fn card(&self) -> &'static Card {
        static CARD: Card = Card {
            name: "shunted",
            about: "vision transformer in four stages with keys pooled at two rates (Shunted ViT)",
            fields: FIELDS,
            positions: Positions::Stages(STAGES),
            kind: NetworkKind::Vision,
        };
        &CARD
    }
    fn untrainable(&self) -> Option<&'static str> {
        Some("its batch normalisation keeps no statistics for evaluation")
    }
    fn pools_keys(&self) -> bool {
        true
    }

    fn check(&self, a: &Architecture) -> Result<(), String> {
        let v = Shunted(a);
        if v.image_size() % 32 != 0 {
            return Err(format!(
                "image_size {} is no multiple of 32, the reduction of four stages",
                v.image_size()
            ));
        }
        for s in 0..STAGES {
            if !v.sr_ratio(s).is_power_of_two() || v.sr_ratio(s) > v.side(s) {
                return Err(format!(
                    "sr_ratio {} of stage {} is no power of two up to the map's side {}",
                    v.sr_ratio(s),
                    s + 1,
                    v.side(s)
                ));
            }
        }
        Ok(())
    }
    fn check_position(&self, a: &Architecture, s: usize) -> Result<(), String> {
        let v = Shunted(a);
        let heads = v.num_heads(s);
        if v.width(s) % heads != 0 {
            return Err(format!(
                "num_heads {heads} does not divide the width {} of stage {}",
                v.width(s),
                s + 1
            ));
        }
        if v.sr_ratio(s) > 1 && heads % 2 != 0 {
            return Err(format!(
                "num_heads {heads} of stage {} is odd, but two pooling rates share them",
                s + 1
            ));
        }
        fits("mlp_ratio gives a feed-forward width", v.ffn(s))
    }

    fn outside(&self, a: &Architecture, w: &mut Visitor) {
        let v = Shunted(a);
        let conv = |w: &mut Visitor, names, shape: [u64; 4]| {
            w.convolution(names, Role::PatchEmbedding, &shape, fan_out(&shape, 1));
        };
        let d = v.base_dim();
        conv(w, names::STEM, [d, v.channels(), 7, 7]);
        w.norm(names::STEM_NORM, Role::Norm, d);
        for i in 0..v.stem_convs() as usize {
            w.index([3 * i + 3, 0]);
            conv(w, names::STEM_CONVS, [d, d, 3, 3]);
            w.index([3 * i + 4, 0]);
            w.norm(names::STEM_CONVS_NORM, Role::Norm, d);
        }
        w.index([0, 0]);
        conv(w, names::PATCHES, [d, d, 2, 2]);
        w.norm(names::PATCHES_NORM, Role::Norm, d);
        for (i, [merge, norm]) in names::MERGES.into_iter().enumerate() {
            let (from, to) = (v.width(i), v.width(i + 1));
            let shape = [to, from, 3, 3];
            w.convolution(merge, Role::Pooling, &shape, fan_out(&shape, 1));
            w.norm(norm, Role::Norm, to);
        }
        for (s, norm) in names::NORMS.into_iter().enumerate() {
            w.norm(norm, Role::Norm, v.width(s));
        }
        w.linear(names::HEAD, Role::Head, (v.width(STAGES - 1), v.num_classes()), LINEAR);
    }
    fn position(&self, a: &Architecture, s: usize, w: &mut Visitor) {
        let v = Shunted(a);
        let (d, f, sr) = (v.width(s), v.ffn(s), v.sr_ratio(s));
        let depthwise = |w: &mut Visitor, names, role, channels| {
            let shape = [channels, 1, 3, 3];
            w.convolution(names, role, &shape, fan_out(&shape, channels));
        };
        let before: u64 = (0..s).map(|s| v.depth(s)).sum();
        for b in 0..v.depth(s) as usize {
            w.enter(before as usize + b, [s + 1, b]);
            w.norm(names::NORM_1, Role::Norm, d);
            w.linear(names::QUERY, Role::Query, (d, d), LINEAR);
            if sr > 1 {
                for ([pool, norm, key_value, local], k) in names::RATES.into_iter().zip([sr, sr / 2]) {
                    let shape = [d, d, k, k];
                    w.convolution(pool, Role::AttentionConvolution, &shape, fan_out(&shape, 1));
                    w.norm(norm, Role::Norm, d);
                    w.linear(key_value, Role::KeyValue, (d, d), LINEAR);
                    depthwise(w, local, Role::AttentionConvolution, d / 2);
                }
            } else {
                w.linear(names::KEY_VALUE, Role::KeyValue, (d, 2 * d), LINEAR);
                depthwise(w, names::LOCAL, Role::AttentionConvolution, d);
            }
            w.linear(names::PROJ, Role::AttentionOut, (d, d), LINEAR);
            w.norm(names::NORM_2, Role::Norm, d);
            w.linear(names::FC1, Role::FfnIn, (d, f), LINEAR);
            depthwise(w, names::FFN_LOCAL, Role::FfnConvolution, f);
            w.linear(names::FC2, Role::FfnOut, (f, d), LINEAR);
        }
    }

    fn flops_outside(&self, a: &Architecture, _: Counter) -> u128 {
        let v = Shunted(a);
        let d = v.base_dim();
        let half = (v.image_size() / 2).pow(2);
        let stem = u128::from(half) * u128::from(v.channels() * 49 * d + v.stem_convs() * 9 * d * d);
        let patch = u128::from(v.side(0).pow(2)) * u128::from(4 * d * d);
        let merges =
            (1..STAGES).map(|s| u128::from(v.side(s).pow(2)) * u128::from(9 * v.width(s - 1) * v.width(s)));
        stem + patch + merges.sum::<u128>() + u128::from(v.width(STAGES - 1) * v.num_classes())
    }
    fn flops_position(&self, a: &Architecture, s: usize, _: Counter) -> u128 {
        let v = Shunted(a);
        let [t, d, f, sr] = [v.side(s).pow(2), v.width(s), v.ffn(s), v.sr_ratio(s)].map(u128::from);
        let attention = if sr > 1 {
            let rates = [sr, sr / 2].into_iter().zip(v.pooled(s).map(u128::from));
            rates.map(|(k, n)| n * (k * k * d * d + d * d + 9 * d / 2) + 2 * t * n * d / 2).sum::<u128>()
        } else {
            2 * t * d * d + 2 * t * t * d + 9 * t * d
        };
        u128::from(v.depth(s)) * (2 * t * d * d + attention + t * (2 * d * f + 9 * f))
    }
    fn activations_outside(&self, a: &Architecture) -> u64 {
        let v = Shunted(a);
        let stem = (v.image_size() / 2).pow(2) * v.base_dim() * 2 * (1 + v.stem_convs());
        let maps = (0..STAGES).map(|s| 3 * v.side(s).pow(2) * v.width(s));
        v.channels() * v.image_size().pow(2) + stem + maps.sum::<u64>() + v.num_classes()
    }
    fn activations_position(&self, a: &Architecture, s: usize) -> u64 {
        let v = Shunted(a);
        let (t, d, heads) = (v.side(s).pow(2), v.width(s), v.num_heads(s));
        let attention = if v.sr_ratio(s) > 1 {
            v.pooled(s).into_iter().map(|n| 4 * n * d + heads / 2 * t * n).sum::<u64>()
        } else {
            2 * t * d + heads * t * t
        };
        v.depth(s) * (6 * t * d + attention + 3 * t * v.ffn(s))
    }
    fn tokens(&self, a: &Architecture) -> u64 {
        Shunted(a).side(0).pow(2)
    }
    fn blocks(&self, a: &Architecture, each: &mut dyn FnMut(Block)) {
        let v = Shunted(a);
        for s in 0..STAGES {
            (0..v.depth(s)).for_each(|_| each(Block { width: v.width(s), heads: Some(v.num_heads(s)) }));
        }
    }
}
