//! The weights of a network as a list: every tensor with its name, role, block, shape and initial distribution.
//!
//! Parameter counts, the matrices that proxies select from and the names in weight files all come from this one
//! list, so they cannot disagree.

use std::fmt;

/// What a tensor does in the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Role {
    Embedding,
    EmbeddingProjection,
    PatchEmbedding,
    Position,
    ClassToken,
    RelativePosition,
    Query,
    QueryMultiplier,
    Key,
    Value,
    QueryKeyValue,
    KeyValue,
    AttentionOut,
    /// The one linear map of a Fourier or cosine mixing layer.
    Transform,
    /// Convolutions and kernel generators of span-based dynamic convolution.
    SpanConvolution,
    /// Convolutions that shrink keys and values, or add locality to values.
    AttentionConvolution,
    FfnIn,
    FfnMid,
    FfnGate,
    FfnOut,
    FfnConvolution,
    Pooling,
    CellLinear,
    Norm,
    Head,
    Adapter,
}

/// The part of the parameter breakdown a role belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Part {
    Embedding,
    Attention,
    Ffn,
    Norm,
    Pooling,
    Cell,
    Head,
    Adapter,
}

impl Part {
    /// All parts, in the order they are shown.
    pub const ALL: [Part; 8] = [
        Part::Embedding,
        Part::Attention,
        Part::Ffn,
        Part::Norm,
        Part::Pooling,
        Part::Cell,
        Part::Head,
        Part::Adapter,
    ];

    /// The name in tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Part::Embedding => "embedding",
            Part::Attention => "attention",
            Part::Ffn => "ffn",
            Part::Norm => "norm",
            Part::Pooling => "pooling",
            Part::Cell => "cell",
            Part::Head => "head",
            Part::Adapter => "adapter",
        }
    }
}

impl Role {
    /// The part of the breakdown it is counted in.
    pub fn part(self) -> Part {
        use Role::*;
        match self {
            Embedding | EmbeddingProjection | PatchEmbedding | Position | ClassToken => Part::Embedding,
            RelativePosition | Query | QueryMultiplier | Key | Value | QueryKeyValue | KeyValue
            | AttentionOut | Transform | SpanConvolution | AttentionConvolution => Part::Attention,
            FfnIn | FfnMid | FfnGate | FfnOut | FfnConvolution => Part::Ffn,
            Pooling => Part::Pooling,
            CellLinear => Part::Cell,
            Norm => Part::Norm,
            Head => Part::Head,
            Adapter => Part::Adapter,
        }
    }
}

/// How a tensor is filled at initialisation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Init {
    /// All zero.
    Zeros,
    /// All one.
    Ones,
    /// Normal with this standard deviation.
    Normal(f64),
    /// Normal with this standard deviation, redrawn beyond ±2.
    TruncatedNormal(f64),
    /// Uniform between minus and plus this bound.
    Uniform(f64),
}

impl Init {
    /// The variance of one entry.
    pub fn variance(self) -> f64 {
        match self {
            Init::Zeros | Init::Ones => 0.0,
            Init::Normal(std) | Init::TruncatedNormal(std) => std * std,
            Init::Uniform(bound) => bound * bound / 3.0,
        }
    }
}

/// How a tensor is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A matrix of a linear map, stored `[out, in]` as in `Linear`.
    Linear,
    /// A matrix of a linear map, stored `[in, out]` as in GPT-2's `Conv1D`.
    LinearTransposed,
    /// A convolution kernel `[out, in, …]`.
    Convolution,
    /// A table looked up or added, a gain, a bias: anything that is no linear map.
    Vector,
}

/// The names of a layer's weight and bias, with `{}` where an index belongs; an empty bias name: none.
pub type Names = [&'static str; 2];

/// One weight tensor.
#[derive(Debug, Clone, Copy)]
pub struct Tensor {
    /// Name with `{}` where an index belongs.
    pub pattern: &'static str,
    /// The indices, in order.
    pub indices: [u32; 2],
    /// What it does.
    pub role: Role,
    /// How it is applied.
    pub form: Form,
    /// The block it belongs to, counted over the whole network.
    pub block: Option<u32>,
    /// Its sizes; unused trailing ones are 0.
    pub shape: [u32; 4],
    /// How it is filled.
    pub init: Init,
    /// Whether published parameter counts of the family include it.
    pub counted: bool,
    entries: u64,
}

impl Tensor {
    /// A tensor outside the blocks.
    pub fn new(pattern: &'static str, role: Role, form: Form, shape: &[u64], init: Init) -> Self {
        let (mut sizes, mut entries) = ([0; 4], 1);
        for (slot, size) in sizes.iter_mut().zip(shape) {
            *slot = u32::try_from(*size).expect("dimensions are bounded by the schema");
            entries *= size;
        }
        Tensor {
            pattern,
            indices: [0; 2],
            role,
            form,
            block: None,
            shape: sizes,
            init,
            counted: true,
            entries,
        }
    }

    /// The same tensor, left out of parameter totals.
    pub fn uncounted(mut self) -> Self {
        self.counted = false;
        self
    }

    /// Number of entries.
    pub fn len(&self) -> u64 {
        self.entries
    }

    /// Whether it has no entry (never the case for a valid architecture).
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn sizes(&self) -> impl Iterator<Item = u64> + '_ {
        self.shape.iter().take_while(|size| **size > 0).map(|size| u64::from(*size))
    }

    /// Outputs and inputs of the linear map, kernels flattened to `out x in·k·k`; `None` for what is no matrix.
    pub fn matrix(&self) -> Option<(u64, u64)> {
        let rows = u64::from(self.shape[0]);
        match self.form {
            Form::Linear | Form::Convolution => Some((rows, self.len() / rows)),
            Form::LinearTransposed => Some((self.len() / rows, rows)),
            Form::Vector => None,
        }
    }

    /// The name with its indices filled in, as in weight files.
    pub fn name(&self) -> String {
        let mut name = self.pattern.to_owned();
        for index in self.indices {
            name = name.replacen("{}", &index.to_string(), 1);
        }
        name
    }
}

impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.name(), self.sizes().collect::<Vec<_>>())
    }
}

/// Parameters of a network, in all and by part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Params {
    /// All weights that the family's published counts include.
    pub total: u64,
    parts: [u64; Part::ALL.len()],
}

impl Params {
    /// The weights of one part.
    pub fn part(&self, part: Part) -> u64 {
        self.parts[part as usize]
    }

    /// Everything that is neither embedding nor output head nor adapter: what LTS calls non-embedding.
    pub fn decoder(&self) -> u64 {
        use Part::*;
        [Attention, Ffn, Norm, Pooling, Cell].iter().map(|part| self.part(*part)).sum()
    }

    /// Counts a tensor.
    pub fn add(&mut self, tensor: &Tensor) {
        self.count(tensor.role, tensor.len(), tensor.counted);
    }

    #[inline]
    fn count(&mut self, role: Role, entries: u64, counted: bool) {
        self.parts[role.part() as usize] += entries;
        self.total += u64::from(counted) * entries;
    }
}

/// Receives every tensor of a network; families call its helpers so that a layer reads like its definition.
pub struct Visitor<'v> {
    sink: Sink<'v>,
    block: Option<u32>,
    indices: [u32; 2],
}

/// Where tensors go. Counting needs only sizes, and is asked for millions of times: it builds no tensor.
enum Sink<'v> {
    Each(&'v mut dyn FnMut(&Tensor)),
    Count(&'v mut Params),
}

impl<'v> Visitor<'v> {
    /// A visitor that hands each tensor to `sink`.
    pub fn new(sink: &'v mut dyn FnMut(&Tensor)) -> Self {
        Visitor { sink: Sink::Each(sink), block: None, indices: [0; 2] }
    }

    /// A visitor that only counts.
    pub fn count(params: &'v mut Params) -> Self {
        Visitor { sink: Sink::Count(params), block: None, indices: [0; 2] }
    }

    /// What follows belongs to this block; names carry these indices.
    pub fn enter(&mut self, block: usize, indices: [usize; 2]) {
        self.block = Some(block as u32);
        self.indices = indices.map(|i| i as u32);
    }

    /// Names of what follows carry these indices, outside any block.
    pub fn index(&mut self, indices: [usize; 2]) {
        self.block = None;
        self.indices = indices.map(|i| i as u32);
    }

    /// Parameters of which only the number is known: they are counted, and there is no tensor to hand out.
    pub fn uncharted(&mut self, parameters: u64) {
        if let Sink::Count(params) = &mut self.sink {
            params.total += parameters;
        }
    }

    /// Any tensor.
    pub fn tensor(&mut self, mut tensor: Tensor) {
        tensor.block = self.block;
        tensor.indices = self.indices;
        match &mut self.sink {
            Sink::Each(sink) => sink(&tensor),
            Sink::Count(params) => params.add(&tensor),
        }
    }

    #[inline]
    fn emit(&mut self, pattern: &'static str, role: Role, form: Form, shape: &[u64], init: Init) {
        match &mut self.sink {
            Sink::Each(_) => self.tensor(Tensor::new(pattern, role, form, shape, init)),
            Sink::Count(params) => params.count(role, shape.iter().product(), true),
        }
    }

    /// A table, token or gain that is no linear map.
    #[inline]
    pub fn table(&mut self, pattern: &'static str, role: Role, shape: &[u64], init: Init) {
        self.emit(pattern, role, Form::Vector, shape, init);
    }

    /// `Linear(input, output)`: weight `[output, input]` and, if it has a name, a zero bias.
    #[inline]
    pub fn linear(&mut self, names: Names, role: Role, (input, output): (u64, u64), init: Init) {
        self.emit(names[0], role, Form::Linear, &[output, input], init);
        if !names[1].is_empty() {
            self.table(names[1], role, &[output], Init::Zeros);
        }
    }

    /// The same stored `[input, output]`, as GPT-2's `Conv1D` does.
    #[inline]
    pub fn linear_transposed(&mut self, names: Names, role: Role, (input, output): (u64, u64), init: Init) {
        self.emit(names[0], role, Form::LinearTransposed, &[input, output], init);
        if !names[1].is_empty() {
            self.table(names[1], role, &[output], Init::Zeros);
        }
    }

    /// A convolution kernel and, if it has a name, its bias: zero, or drawn like a uniform kernel.
    #[inline]
    pub fn convolution(&mut self, names: Names, role: Role, shape: &[u64], init: Init) {
        self.emit(names[0], role, Form::Convolution, shape, init);
        if !names[1].is_empty() {
            let bias = if matches!(init, Init::Uniform(_)) { init } else { Init::Zeros };
            self.table(names[1], role, &[shape[0]], bias);
        }
    }

    /// Gain and bias of a normalisation over `width` features.
    #[inline]
    pub fn norm(&mut self, names: Names, role: Role, width: u64) {
        self.table(names[0], role, &[width], Init::Ones);
        self.table(names[1], role, &[width], Init::Zeros);
    }
}
