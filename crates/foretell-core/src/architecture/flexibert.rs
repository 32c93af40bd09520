//! FlexiBERT encoders: each layer mixes tokens by attention, a Fourier or cosine transform, or dynamic convolution.
//!
//! Three modes, because published code, paper text and trained networks differ:
//!
//! - `spec` (default): what an architecture says.
//! - `published`: width 256 and feed-forward width 1024 for every architecture, as the released metrics were computed.
//! - `as-trained`: what the released training code builds: scaled dot-product attention in every layer, a first
//!   feed-forward map of 4 x width, and `ffn_dim` only in the extra stacks. The labels come from these networks.
//!
//! Papers: *FlexiBERT* (Tuli et al., 2022); *Training-free NAS for RNNs and Transformers* (Serianni & Kalita, 2023).

use super::field::{count, dim, name, schema};
use super::{
    Architecture, Block, Card, Counter, Init, MAX_LAYERS, NetworkKind, Positions, Role, Visitor, fits,
};

schema! {
    /// A typed view of a FlexiBERT encoder. Sizes are the architecture's own; see [`FlexiBert::h`] for the built ones.
    FlexiBert
    whole {
        /// Which network is built: spec, published or as-trained.
        mode: name(&["spec", "published", "as-trained"]).or(0);
        /// Words of the vocabulary.
        vocab_size: dim().or(30522);
        /// Positions of the input, all used.
        context_len: dim().or(512).alias(&["max_position_embeddings"]);
        /// Segment types.
        type_vocab_size: dim().or(2);
        /// Width of the embeddings, projected if it differs from `hidden_size`.
        embedding_size: dim().or(128);
        /// Width of the residual stream.
        hidden_size: dim().alias(&["hidden", "hidden_dim"]);
        /// Number of layers.
        num_layers: count(1, MAX_LAYERS).alias(&["num_hidden_layers", "n_layer", "layers", "depth"]);
    }
    lists {}
    positions {
        /// How tokens are mixed: SA attention, LT transform, DSC dynamic span convolution.
        operation_type: name(&["SA", "LT", "DSC"]).alias(&["operation", "operator"]);
        /// SA: SDP or WMA; LT: DFT or DCT; DSC: kernel size.
        operation_parameter: name(&["SDP", "WMA", "DFT", "DCT", "3", "5", "7", "9", "11"]).alias(&["parameter"]);
        /// Heads of the layer.
        num_heads: count(1, 1024).alias(&["heads", "num_operation_heads"]);
        /// Feed-forward width of the layer.
        ffn_dim: dim().alias(&["feed_forward_dimension", "intermediate_size"]);
        /// Hidden feed-forward layers.
        ffn_stack: count(1, 64).alias(&["num_feed_forward", "stacks", "ffn_stacks"]);
    }
}

/// Which of the three networks is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// As the architecture says.
    Spec,
    /// As the released metrics were computed.
    Published,
    /// As the released training code builds.
    AsTrained,
}

/// How a layer mixes tokens, in effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mixer {
    /// Scaled dot-product attention.
    Attention,
    /// The same, queries multiplied by one more matrix.
    Multiplicative,
    /// Real part of a two-dimensional Fourier transform per head.
    Fourier,
    /// Two-dimensional cosine transform per head.
    Cosine,
    /// Half attention, half convolution with kernels computed per token.
    Span {
        /// Kernel size.
        kernel: u64,
    },
}

impl FlexiBert<'_> {
    /// The mode as a type.
    pub fn built_as(&self) -> Mode {
        [Mode::Spec, Mode::Published, Mode::AsTrained][self.mode() as usize]
    }
    /// The width in effect.
    pub fn h(&self) -> u64 {
        if self.built_as() == Mode::Published { 256 } else { self.hidden_size() }
    }
    /// The mixer in effect.
    pub fn mixer(&self, layer: usize) -> Mixer {
        match (self.built_as(), self.operation_parameter(layer)) {
            (Mode::AsTrained, _) | (_, 0) => Mixer::Attention,
            (_, 1) => Mixer::Multiplicative,
            (_, 2) => Mixer::Fourier,
            (_, 3) => Mixer::Cosine,
            (_, place) => Mixer::Span { kernel: 2 * place - 5 },
        }
    }
    /// The hidden feed-forward widths in effect, first to last.
    pub fn ffn(&self, layer: usize) -> impl Iterator<Item = u64> {
        let width = if self.built_as() == Mode::Published { 1024 } else { self.ffn_dim(layer) };
        let first = if self.built_as() == Mode::AsTrained { 4 * self.h() } else { width };
        (0..self.ffn_stack(layer)).map(move |i| if i == 0 { first } else { width })
    }
    /// Heads and width of the attention and convolution halves of dynamic convolution.
    pub fn span_heads(&self, layer: usize) -> (u64, u64) {
        let heads = (self.num_heads(layer) / 2).max(1);
        (heads, heads * (self.h() / self.num_heads(layer)))
    }
}

const NORMAL: Init = Init::Normal(0.02);

/// What the tensors are called. Embeddings, and how a layer ends, are as in BERT.
#[allow(missing_docs, reason = "a constant says what the layer is, its text what files call it")]
pub mod names {
    use crate::architecture::Names;
    pub use crate::architecture::bert::names::{
        EMBEDDING_NORM, FFN_NORM, FFN_OUT, POSITIONS, SEGMENTS, WORDS,
    };

    pub const PROJECT: Names = ["embeddings_project.weight", "embeddings_project.bias"];
    pub const QKV: [Names; 3] = [
        [
            "encoder.layer.{}.operation.operation.query.weight",
            "encoder.layer.{}.operation.operation.query.bias",
        ],
        ["encoder.layer.{}.operation.operation.key.weight", "encoder.layer.{}.operation.operation.key.bias"],
        [
            "encoder.layer.{}.operation.operation.value.weight",
            "encoder.layer.{}.operation.operation.value.bias",
        ],
    ];
    pub const MULTIPLIER: Names = ["encoder.layer.{}.operation.operation.weight.weight", ""];
    pub const TRANSFORM: Names = [
        "encoder.layer.{}.operation.operation.input.weight",
        "encoder.layer.{}.operation.operation.input.bias",
    ];
    pub const DEPTHWISE: &str = "encoder.layer.{}.operation.operation.key_conv_attn_layer.depthwise.weight";
    pub const POINTWISE: Names = [
        "encoder.layer.{}.operation.operation.key_conv_attn_layer.pointwise.weight",
        "encoder.layer.{}.operation.operation.key_conv_attn_layer.bias",
    ];
    pub const KERNELS: Names = [
        "encoder.layer.{}.operation.operation.conv_kernel_layer.weight",
        "encoder.layer.{}.operation.operation.conv_kernel_layer.bias",
    ];
    pub const SPANS: Names = [
        "encoder.layer.{}.operation.operation.conv_out_layer.weight",
        "encoder.layer.{}.operation.operation.conv_out_layer.bias",
    ];
    pub const MIXED: Names =
        ["encoder.layer.{}.operation.output.dense.weight", "encoder.layer.{}.operation.output.dense.bias"];
    pub const MIXED_NORM: Names = [
        "encoder.layer.{}.operation.output.LayerNorm.weight",
        "encoder.layer.{}.operation.output.LayerNorm.bias",
    ];
    pub const FFN_IN: Names =
        ["encoder.layer.{}.intermediate.dense_in.weight", "encoder.layer.{}.intermediate.dense_in.bias"];
    pub const FFN_MID: Names = [
        "encoder.layer.{}.intermediate.dense_list.{}.weight",
        "encoder.layer.{}.intermediate.dense_list.{}.bias",
    ];
}

/// See the [module documentation](self).
pub struct Family;

impl super::Family for Family {
    fn card(&self) -> &'static Card {
        static CARD: Card = Card {
            name: "flexibert",
            about: "BERT-like encoder with attention, transform or dynamic convolution per layer (FlexiBERT)",
            fields: FIELDS,
            positions: Positions::Layers("num_layers"),
            kind: NetworkKind::Encoder,
        };
        &CARD
    }
    fn capacity_matrices(&self, a: &Architecture) -> Option<Vec<(u64, u64)>> {
        let v = FlexiBert(a);
        let h = v.hidden_size();
        let mut found = Vec::new();
        for i in 0..a.positions() {
            match v.operation_type(i) {
                0 => found.extend([(3 * h, h), (h, h)]),
                1 => found.extend([(h, h), (h, h)]),
                _ => found.push((h, h)),
            }
            let (stacks, part) = (v.ffn_stack(i), v.ffn_dim(i) / v.ffn_stack(i));
            (0..stacks).for_each(|_| found.extend([(part, h), (h, part)]));
        }
        Some(found)
    }
    fn check(&self, _: &Architecture) -> Result<(), String> {
        Ok(())
    }
    fn check_position(&self, a: &Architecture, i: usize) -> Result<(), String> {
        let v = FlexiBert(a);
        let (kind, parameter, heads) = (v.operation_type(i), v.operation_parameter(i), v.num_heads(i));
        if kind != [0, 0, 1, 1].get(parameter as usize).copied().unwrap_or(2) {
            let text = |key: usize, value: u64| FIELDS[key].write(value as u32).to_string();
            return Err(format!("operation_parameter {} is none of {}'s", text(8, parameter), text(7, kind)));
        }
        if v.h() % heads != 0 {
            return Err(format!("num_heads {heads} does not divide the width {}", v.h()));
        }
        if kind == 2 && 2 * v.span_heads(i).1 != v.h() {
            return Err(format!("num_heads {heads} is odd, but dynamic convolution takes half of the width"));
        }
        fits("hidden_size gives a feed-forward width", 4 * v.h())
    }

    fn outside(&self, a: &Architecture, w: &mut Visitor) {
        let v = FlexiBert(a);
        let (e, h) = (v.embedding_size(), v.h());
        w.table(names::WORDS, Role::Embedding, &[v.vocab_size(), e], NORMAL);
        w.table(names::POSITIONS, Role::Position, &[v.context_len(), e], NORMAL);
        w.table(names::SEGMENTS, Role::Embedding, &[v.type_vocab_size(), e], NORMAL);
        w.norm(names::EMBEDDING_NORM, Role::Embedding, e);
        if e != h {
            w.linear(names::PROJECT, Role::EmbeddingProjection, (e, h), NORMAL);
        }
    }
    fn position(&self, a: &Architecture, i: usize, w: &mut Visitor) {
        let v = FlexiBert(a);
        let h = v.h();
        w.enter(i, [i, 0]);
        let qkv = |w: &mut Visitor, width| {
            for (names, role) in names::QKV.into_iter().zip([Role::Query, Role::Key, Role::Value]) {
                w.linear(names, role, (h, width), NORMAL);
            }
        };
        let output = |w: &mut Visitor| {
            w.linear(names::MIXED, Role::AttentionOut, (h, h), NORMAL);
            w.norm(names::MIXED_NORM, Role::Norm, h);
        };
        match v.mixer(i) {
            mixer @ (Mixer::Attention | Mixer::Multiplicative) => {
                qkv(w, h);
                if mixer == Mixer::Multiplicative {
                    w.linear(names::MULTIPLIER, Role::QueryMultiplier, (h, h), NORMAL);
                }
                output(w);
            }
            Mixer::Fourier | Mixer::Cosine => {
                w.linear(names::TRANSFORM, Role::Transform, (h, h), NORMAL);
            }
            Mixer::Span { kernel } => {
                let (heads, half) = v.span_heads(i);
                qkv(w, half);
                w.convolution([names::DEPTHWISE, ""], Role::SpanConvolution, &[h, 1, kernel], NORMAL);
                let [pointwise, bias] = names::POINTWISE;
                w.convolution([pointwise, ""], Role::SpanConvolution, &[half, h, 1], NORMAL);
                w.table(bias, Role::SpanConvolution, &[half, 1], Init::Zeros);
                w.linear(names::KERNELS, Role::SpanConvolution, (half, heads * kernel), NORMAL);
                w.linear(names::SPANS, Role::SpanConvolution, (h, half), NORMAL);
                output(w);
            }
        }
        let mut from = h;
        for (n, to) in v.ffn(i).enumerate() {
            if n == 0 {
                w.linear(names::FFN_IN, Role::FfnIn, (from, to), NORMAL);
            } else {
                w.enter(i, [i, n - 1]);
                w.linear(names::FFN_MID, Role::FfnMid, (from, to), NORMAL);
            }
            from = to;
        }
        // Out of the stack: what follows has one index again.
        w.enter(i, [i, 0]);
        w.linear(names::FFN_OUT, Role::FfnOut, (from, h), NORMAL);
        w.norm(names::FFN_NORM, Role::Norm, h);
    }

    fn flops_outside(&self, a: &Architecture, _: Counter) -> u128 {
        let v = FlexiBert(a);
        let [t, e, h] = [v.context_len(), v.embedding_size(), v.h()].map(u128::from);
        if e == h { 0 } else { t * e * h }
    }
    /// A transform over `n` points counts `n · log2 n` multiply-adds, rounded up.
    fn flops_position(&self, a: &Architecture, i: usize, _: Counter) -> u128 {
        let v = FlexiBert(a);
        let [t, h] = [v.context_len(), v.h()].map(u128::from);
        let mixing = match v.mixer(i) {
            Mixer::Attention => 4 * t * h * h + 2 * t * t * h,
            Mixer::Multiplicative => 5 * t * h * h + 2 * t * t * h,
            Mixer::Fourier | Mixer::Cosine => {
                let points = t * h / u128::from(v.num_heads(i));
                t * h * h + t * h * u128::from(points.next_power_of_two().ilog2())
            }
            Mixer::Span { kernel } => {
                let (heads, half) = v.span_heads(i);
                let [heads, half, k] = [heads, half, kernel].map(u128::from);
                // q, k, v, point-wise and value maps; depth-wise; kernels; weighted windows; attention; output.
                t * (5 * h * half + k * h + half * heads * k + k * half + h * h) + 2 * t * t * half
            }
        };
        let (mut from, mut ffn) = (h, 0);
        for to in v.ffn(i).map(u128::from) {
            ffn += from * to;
            from = to;
        }
        mixing + t * (ffn + from * h)
    }
    fn activations_outside(&self, a: &Architecture) -> u64 {
        let v = FlexiBert(a);
        v.context_len() * (3 * v.embedding_size() + v.h())
    }
    fn activations_position(&self, a: &Architecture, i: usize) -> u64 {
        let v = FlexiBert(a);
        let (t, h) = (v.context_len(), v.h());
        let mixing = match v.mixer(i) {
            Mixer::Attention => 6 * t * h + v.num_heads(i) * t * t,
            Mixer::Multiplicative => 7 * t * h + v.num_heads(i) * t * t,
            Mixer::Fourier | Mixer::Cosine => 2 * t * h,
            Mixer::Span { kernel } => {
                let (heads, half) = v.span_heads(i);
                t * (2 * h + 8 * half + 2 * heads * kernel + 2 * h) + heads * t * t
            }
        };
        mixing + t * (2 * v.ffn(i).sum::<u64>() + 2 * h)
    }
    fn ffn_and_width(&self, a: &Architecture, i: usize) -> Option<(u64, u64)> {
        Some((FlexiBert(a).ffn_dim(i), FlexiBert(a).hidden_size()))
    }
    fn tokens(&self, a: &Architecture) -> u64 {
        FlexiBert(a).context_len()
    }
    fn blocks(&self, a: &Architecture, each: &mut dyn FnMut(Block)) {
        let v = FlexiBert(a);
        (0..a.positions()).for_each(|i| each(Block { width: v.h(), heads: Some(v.num_heads(i)) }));
    }

    fn canonicalise(&self, values: &mut Vec<u32>) {
        const HEAD: usize = 7;
        let mode = values[0];
        if mode == 1 {
            values[5] = 256;
        }
        for row in values[HEAD..].chunks_exact_mut(5) {
            let [operation, parameter, _, width, stack] = row else { unreachable!("five fields a layer") };
            match mode {
                1 => *width = 1024,
                2 => {
                    (*operation, *parameter) = (0, 0);
                    if *stack == 1 {
                        *width = 1;
                    }
                }
                _ => {}
            }
        }
    }
}
