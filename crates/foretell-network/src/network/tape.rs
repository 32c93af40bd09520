//! One pass through a network: layers leave behind what their backward needs, in the order they ran.
//!
//! A [`Tape`] owns the matrices between layers. Running a layer forward writes a new [`Value`] and pushes the layer's own
//! backward; running the tape backward calls these in reverse. A value read by several layers collects the sum of their
//! gradients. Layers are the unit: each has an explicit backward in the engine, nothing is derived.

use super::cache::Cache;
use super::gradients::WeightGradients;
use super::weights::{Param, Weights};
use crate::cancel::checkpoint;
use crate::engine::buffer::Workspace;
use crate::engine::matmul::{Mat, MatMut};
use crate::engine::scalar::{Scalar, Store};
use crate::seed::Rng;
use serde::{Deserialize, Serialize};

/// A matrix on the tape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Value(usize);

struct Matrix<S> {
    data: Vec<S>,
    rows: usize,
    cols: usize,
}

/// The backward of a layer: the value it made, a buffer it kept, and what it does with the value's gradient.
struct Step<S> {
    value: Value,
    kept: Vec<S>,
    run: Box<Backward<S>>,
}

/// Reads the gradient of a layer's value and the buffer the layer kept.
type Backward<S> = dyn Fn(&mut Reverse<'_, S>, &[S], &[S]);

/// A forward pass in progress or done.
pub struct Tape<'w, S> {
    /// The weights it reads.
    pub weights: &'w Weights<S>,
    /// Memory shared by all passes of a worker.
    pub space: &'w mut Workspace<S>,
    pub(super) values: Values<S>,
    steps: Vec<Step<S>>,
    marks: Vec<(Mark, Value)>,
    record: bool,
    /// Draws the dropout of a training pass, with the share that is dropped; none in evaluation.
    pub(super) training: Option<(Rng, f64)>,
    /// The share of each label that losses spread over all classes.
    pub(super) smoothing: f64,
    /// Whether every word embedding is replaced by ones.
    pub(super) unit_words: bool,
    /// Whether logits are left out where no label asks for them.
    pub(super) headless: bool,
    /// Whether normalisations pass on what enters them.
    pub(super) unnormed: bool,
    /// Whether masked positions are raised instead of lowered, as a released program does by mistake.
    pub(super) leaking: bool,
    apart: bool,
    embedding: Option<Embedding<S>>,
    /// Whether softmaxes that the originals compute and never read are computed, for those who look at them.
    pub(super) keep_softmax: bool,
    /// What a decoder keeps of earlier tokens; none in passes over whole inputs.
    pub(super) cache: Option<&'w mut Cache<S>>,
}

/// Makes the embedded input again from what it is.
pub type Embedding<S> = Box<dyn FnOnce(Mat<'_, S>) -> Vec<S>>;

/// The matrices of a pass.
pub struct Values<S>(Vec<Matrix<S>>);

impl<S: Scalar> Values<S> {
    /// The matrix of a value.
    pub fn get(&self, value: Value) -> Mat<'_, S> {
        let matrix = &self.0[value.0];
        Mat::new(&matrix.data, matrix.rows, matrix.cols)
    }

    /// The numbers of a value, row by row.
    pub fn data(&self, value: Value) -> &[S] {
        &self.0[value.0].data
    }
}

/// What a value on the tape is to those who look at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// What enters a linear map or convolution, by its weight.
    Input(Param),
    /// What leaves it.
    Output(Param),
    /// Attention probabilities of a block: samples · heads · tokens rows.
    Attention(u32),
    /// Kernels of a block's dynamic convolution: samples · tokens · heads rows.
    Kernel(u32),
    /// The softmax of a block's transform over the columns of a head: samples · heads · tokens rows. The network does not
    /// read it; see [`Tape::keep_softmax`].
    Spectrum(u32),
    /// What leaves the activation function of a block's feed-forward layer, and what enters it.
    Activation(u32),
    /// See [`Mark::Activation`].
    PreActivation(u32),
    /// The output of a block.
    Block(u32),
    /// What enters a block of a tape whose blocks are apart.
    BlockInput(u32),
    /// What leaves a normalisation, by its gain.
    Normed(Param),
    /// The features of an image as one row, before the head.
    Pooled,
    /// A recurrent layer's state 0 entering a step: layer, step.
    Hidden(u32, u32),
    /// The network's input after embedding.
    Embedded,
}

/// The backward pass: values, their gradients so far, the gradients of the weights.
pub struct Reverse<'t, S> {
    /// The weights of the forward pass.
    pub weights: &'t Weights<S>,
    /// What the forward pass computed.
    pub values: Values<S>,
    /// The gradients of values, as far as known.
    pub gradients: Gradients<S>,
    /// Where weight gradients go, if they are wanted.
    pub weight_gradients: Option<WeightGradients<'t, S>>,
    /// Memory shared by all passes of a worker.
    pub space: &'t mut Workspace<S>,
    /// Whether the tape runs backward again.
    again: bool,
}

/// Gradients of values, each with its shape; empty where nothing is known yet.
pub struct Gradients<S>(Vec<Matrix<S>>);

impl<S: Scalar> Gradients<S> {
    /// Where to put a gradient of `value`, and whether to write or to add.
    pub fn slot(&mut self, value: Value, space: &mut Workspace<S>) -> (MatMut<'_, S>, Store) {
        let Matrix { data, rows, cols } = &mut self.0[value.0];
        let store = if data.is_empty() { Store::Write } else { Store::Add };
        if data.is_empty() {
            *data = space.take(*rows * *cols);
        }
        (MatMut::new(data, *rows, *cols), store)
    }

    /// Adds a finished gradient, whose buffer it takes.
    pub fn add(&mut self, value: Value, gradient: Vec<S>, space: &mut Workspace<S>) {
        let Matrix { data, rows, cols } = &mut self.0[value.0];
        assert_eq!(gradient.len(), *rows * *cols, "the gradient of a value has its shape");
        if data.is_empty() {
            *data = gradient;
        } else {
            S::accumulate(&gradient, data);
            space.give(gradient);
        }
    }

    /// Adds a gradient that is still needed elsewhere.
    pub fn add_copy(&mut self, value: Value, gradient: &[S], space: &mut Workspace<S>) {
        let (mut slot, store) = self.slot(value, space);
        match store {
            Store::Write => slot.data_mut().copy_from_slice(gradient),
            Store::Add => S::accumulate(gradient, slot.data_mut()),
        }
    }
}

impl<'w, S: Scalar> Tape<'w, S> {
    /// An empty tape; without `record` it keeps nothing for a backward pass.
    pub fn new(weights: &'w Weights<S>, space: &'w mut Workspace<S>, record: bool) -> Self {
        // About a value for each tensor is what most networks make.
        let many = weights.layout.tensors().count();
        let (values, steps) = (Values(Vec::with_capacity(many)), Vec::with_capacity(many));
        let marks = Vec::with_capacity(many);
        Tape {
            weights,
            space,
            values,
            steps,
            marks,
            record,
            training: None,
            smoothing: 0.0,
            unit_words: false,
            headless: false,
            unnormed: false,
            leaking: false,
            apart: false,
            embedding: None,
            keep_softmax: false,
            cache: None,
        }
    }

    /// Continues after the tokens of a cache, which receives those of this pass: one sample, no backward pass, and an
    /// output layer that scores the last token only.
    pub(super) fn resume(&mut self, cache: &'w mut Cache<S>) {
        assert!(!self.record, "a pass with a cache has no backward");
        self.cache = Some(cache);
    }

    /// Makes this a training pass: a share `rate` is dropped, drawn from `rng`.
    pub fn train(&mut self, rng: Rng, rate: f64) {
        self.training = Some((rng, rate));
    }

    /// Spreads a share of each label over all classes of its softmax.
    pub fn smooth(&mut self, smoothing: f64) {
        self.smoothing = smoothing;
    }

    /// Computes and marks the softmaxes that the originals compute and never read: those of FlexiBERT's transforms.
    pub fn keep_softmax(&mut self) {
        self.keep_softmax = true;
    }

    /// Replaces what the word embedding gives by ones, as synflow feeds language models; positions are still added.
    pub fn feed_ones(&mut self) {
        self.unit_words = true;
    }

    /// Leaves out logits that no label asks for.
    pub fn without_head(&mut self) {
        self.headless = true;
    }

    /// Makes every normalisation the identity.
    pub fn without_norms(&mut self) {
        self.unnormed = true;
    }

    /// Raises masked positions instead of lowering them.
    pub fn leak(&mut self) {
        self.leaking = true;
    }

    /// Cuts the network between blocks: no gradient passes from one to the one before.
    pub fn blocks_apart(&mut self) {
        self.apart = true;
    }

    /// Replaces the embedded input.
    pub fn embed_with(&mut self, embedding: Embedding<S>) {
        self.embedding = Some(embedding);
    }

    /// Marks the embedded input, replaced if that was asked for. Its gradient reaches the original unchanged.
    pub fn embedded(&mut self, x: Value) -> Value {
        let y = match self.embedding.take() {
            None => x,
            Some(embedding) => {
                let (rows, cols) = self.shape(x);
                let y = embedding(self.get(x));
                let y = self.put(y, rows, cols);
                self.push(y, move |back, dy| back.gradients.add_copy(x, dy, back.space));
                y
            }
        };
        self.mark(Mark::Embedded, y);
        y
    }

    /// Marks the output of a block, and gives what enters the next.
    pub fn block(&mut self, index: usize, x: Value) -> Value {
        self.mark(Mark::Block(index as u32), x);
        if !self.apart {
            return x;
        }
        let (rows, cols) = self.shape(x);
        let mut copy = self.space.take(rows * cols);
        copy.copy_from_slice(self.data(x));
        let next = self.put(copy, rows, cols);
        self.mark(Mark::BlockInput(index as u32 + 1), next);
        next
    }

    /// A new matrix on the tape from a buffer of the workspace.
    pub fn put(&mut self, data: Vec<S>, rows: usize, cols: usize) -> Value {
        assert_eq!(data.len(), rows * cols, "a {rows} x {cols} value");
        checkpoint();
        self.values.0.push(Matrix { data, rows, cols });
        Value(self.values.0.len() - 1)
    }

    /// A copy of given numbers on the tape.
    pub fn input(&mut self, data: &[S], rows: usize, cols: usize) -> Value {
        let mut copy = self.space.take(data.len());
        copy.copy_from_slice(data);
        self.put(copy, rows, cols)
    }

    /// The matrix of a value.
    pub fn get(&self, value: Value) -> Mat<'_, S> {
        self.values.get(value)
    }

    /// The numbers of a value, row by row.
    pub fn data(&self, value: Value) -> &[S] {
        self.values.data(value)
    }

    /// Rows and columns.
    pub fn shape(&self, value: Value) -> (usize, usize) {
        (self.values.0[value.0].rows, self.values.0[value.0].cols)
    }

    /// Records what to do with the gradient of `value`, which was just computed.
    pub fn push(&mut self, value: Value, step: impl Fn(&mut Reverse<'_, S>, &[S]) + 'static) {
        self.push_with(value, Vec::new(), move |back, dy, _| step(back, dy));
    }

    /// [`push`](Self::push) of a layer that keeps a buffer of the workspace until then.
    pub fn push_with(
        &mut self,
        value: Value,
        kept: Vec<S>,
        step: impl Fn(&mut Reverse<'_, S>, &[S], &[S]) + 'static,
    ) {
        if self.record {
            self.steps.push(Step { value, kept, run: Box::new(step) });
        } else {
            self.space.give(kept);
        }
    }

    /// Says what a value is.
    pub fn mark(&mut self, mark: Mark, value: Value) {
        self.marks.push((mark, value));
    }

    /// All marks, in the order they were made.
    pub fn marks(&self) -> &[(Mark, Value)] {
        &self.marks
    }

    /// Runs backward from the given gradients of values and overwrites the gradients of weights; `seen` is told the
    /// finished gradient of each marked value.
    pub fn backward(
        mut self,
        seeds: Vec<(Value, Vec<S>)>,
        weight_gradients: Option<&mut Weights<S>>,
        seen: &mut dyn FnMut(Mark, Mat<'_, S>),
    ) {
        self.reverse(seeds, weight_gradients, seen, false);
    }

    /// The same for gradients of weights alone; the tape can run backward again.
    pub fn backward_again(&mut self, seeds: Vec<(Value, Vec<S>)>, weight_gradients: &mut Weights<S>) {
        self.reverse(seeds, Some(weight_gradients), &mut |_, _| {}, true);
    }

    fn reverse(
        &mut self,
        seeds: Vec<(Value, Vec<S>)>,
        weight_gradients: Option<&mut Weights<S>>,
        seen: &mut dyn FnMut(Mark, Mat<'_, S>),
        again: bool,
    ) {
        let empty = |matrix: &Matrix<S>| Matrix { data: Vec::new(), rows: matrix.rows, cols: matrix.cols };
        let gradients = Gradients(self.values.0.iter().map(empty).collect());
        let mut back = Reverse {
            weights: self.weights,
            values: Values(std::mem::take(&mut self.values.0)),
            gradients,
            weight_gradients: weight_gradients.map(WeightGradients::new),
            space: self.space,
            again,
        };
        for (value, seed) in seeds {
            back.gradients.add(value, seed, back.space);
        }
        let mut tell = |value: Value, gradient: &Matrix<S>| {
            for (mark, _) in self.marks.iter().filter(|(_, marked)| *marked == value) {
                seen(*mark, Mat::new(&gradient.data, gradient.rows, gradient.cols));
            }
        };
        for step in self.steps.iter_mut().rev() {
            checkpoint();
            let slot = &mut back.gradients.0[step.value.0];
            let (rows, cols) = (slot.rows, slot.cols);
            let gradient = Matrix { data: std::mem::take(&mut slot.data), rows, cols };
            // Nothing that was asked for depends on it.
            if !gradient.data.is_empty() {
                tell(step.value, &gradient);
                (step.run)(&mut back, &gradient.data, &step.kept);
            }
            back.space.give(gradient.data);
            // Layers before this one never look at what it computed.
            if !again {
                back.space.give(std::mem::take(&mut step.kept));
                back.release(step.value);
            }
        }
        for (i, gradient) in back.gradients.0.iter().enumerate().filter(|(_, g)| !g.data.is_empty()) {
            tell(Value(i), gradient);
        }
        if let Some(gradients) = back.weight_gradients {
            gradients.finish();
        }
        back.space.give_all(back.gradients.0.into_iter().map(|matrix| matrix.data));
        match again {
            true => self.values = back.values,
            false => back.space.give_all(back.values.0.into_iter().map(|matrix| matrix.data)),
        }
    }

    /// Gives all memory back without a backward pass.
    pub fn close(self) {
        self.space.give_all(self.steps.into_iter().map(|step| step.kept));
        self.space.give_all(self.values.0.into_iter().map(|matrix| matrix.data));
    }
}

impl<S: Scalar> Reverse<'_, S> {
    /// Gives a value's memory back before the end: nothing reads it any more, unless the tape runs backward again.
    pub fn release(&mut self, value: Value) {
        if !self.again {
            self.space.give(std::mem::take(&mut self.values.0[value.0].data));
        }
    }

    /// Adds to the gradient of a whole tensor, if weight gradients are wanted.
    pub fn add_weight_gradient(&mut self, param: Param, gradient: &[S]) {
        if let Some(weights) = &mut self.weight_gradients {
            S::accumulate(gradient, weights.get_mut(param));
        }
    }
}
