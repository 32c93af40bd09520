//! A network small enough to score by hand: tensors, weights and results of passes are written out, nothing is run.
//!
//! Every proxy of the catalogue is tested on one, and so can be proxies of other crates.

use super::{PassOverrides, ProxyInput, Request, Score};
use crate::architecture::{Block, Counter, Form, Init, NetworkKind, Role, Subject, Tensor};
use crate::error::Result;
use crate::network::{Layout, Mark, Param, Weights};
use crate::probe::{AnyWeights, KeptValue, Numbers, Pass, PassResult};
use std::sync::Arc;

/// A network whose weights and passes are written out.
///
/// Tensors come first, then what passes over them saw. A mistake in a toy is a mistake in a test: it panics.
///
/// ```
/// use foretell_proxy::proxy::{Proxy, Snip, Toy};
/// # use foretell_core::architecture::Role;
/// # use foretell_network::probe::{Loss, Pass};
/// // |1 · 1| + |2 · (−1)| + |3 · 2| = 9
/// let toy = Toy::new()
///     .matrix("q", Role::Query, 0, [[1.0, 2.0, 3.0]])
///     .pass(Pass::backward(Loss::Natural), |seen| seen.gradient("q", [[1.0, -1.0, 2.0]]));
/// assert_eq!(Snip::default().score(&toy.input()).unwrap().value, 9.0);
/// assert_eq!(toy.value("snip"), 9.0);
/// ```
pub struct Toy {
    kind: NetworkKind,
    tensors: Vec<Tensor>,
    blocks: Vec<Block>,
    tokens: u64,
    flops: [Option<u64>; 2],
    dropout: bool,
    pooled_keys: bool,
    finite_mask: bool,
    capacity: Option<Vec<(u64, u64)>>,
    weights: Weights<f64>,
    passes: Vec<(Pass, Result<PassResult>)>,
}

impl Default for Toy {
    fn default() -> Self {
        Toy::new()
    }
}

impl Toy {
    /// A decoder of one token without any tensor, block or pass.
    pub fn new() -> Self {
        Toy {
            kind: NetworkKind::Decoder,
            tensors: Vec::new(),
            blocks: Vec::new(),
            tokens: 1,
            flops: [None; 2],
            dropout: false,
            pooled_keys: false,
            finite_mask: false,
            capacity: None,
            weights: Weights::zeros(Layout::new(Vec::new())),
            passes: Vec::new(),
        }
    }

    /// The same as a network of another kind.
    pub fn kind(mut self, kind: NetworkKind) -> Self {
        assert!(self.passes.is_empty(), "the kind says what a natural loss is: it comes before passes");
        self.kind = kind;
        self
    }

    /// The same with a further block.
    pub fn block(mut self, width: u64, heads: impl Into<Option<u64>>) -> Self {
        self.blocks.push(Block { width, heads: heads.into() });
        self
    }

    /// The same with so many tokens entering the first block.
    pub fn tokens(mut self, tokens: u64) -> Self {
        self.tokens = tokens;
        self
    }

    /// The same with so many multiply-adds by a counter.
    pub fn flops(mut self, counter: Counter, flops: u64) -> Self {
        self.flops[counter as usize] = Some(flops);
        self
    }

    /// The same with dropout in training.
    pub fn dropout(mut self) -> Self {
        self.dropout = true;
        self
    }

    /// The same with fewer keys than tokens.
    pub fn pooled_keys(mut self) -> Self {
        self.pooled_keys = true;
        self
    }

    /// The same with a finite number in place of masked scores.
    pub fn finite_mask(mut self) -> Self {
        self.finite_mask = true;
        self
    }

    /// The same with a list of its own of matrices for the spectral capacity.
    pub fn capacity(mut self, matrices: impl Into<Vec<(u64, u64)>>) -> Self {
        self.capacity = Some(matrices.into());
        self
    }

    /// The same with any tensor, its entries row by row.
    pub fn tensor(mut self, tensor: Tensor, entries: &[f64]) -> Self {
        assert!(self.passes.is_empty(), "tensors come before passes");
        self.tensors.push(tensor);
        self.weights.data.extend(entries);
        let layout = Layout::new(self.tensors.clone());
        self.weights = Weights::new(layout, self.weights.data).unwrap_or_else(|e| panic!("{tensor}: {e}"));
        self
    }

    /// The same with a linear map, rows: outputs.
    pub fn matrix<const R: usize, const C: usize>(
        self,
        name: &'static str,
        role: Role,
        block: impl Into<Option<u32>>,
        rows: [[f64; C]; R],
    ) -> Self {
        self.formed((name, role, Form::Linear), block.into(), rows)
    }

    /// The same with a linear map that is stored with a row per input.
    pub fn transposed<const R: usize, const C: usize>(
        self,
        name: &'static str,
        role: Role,
        block: impl Into<Option<u32>>,
        rows: [[f64; C]; R],
    ) -> Self {
        self.formed((name, role, Form::LinearTransposed), block.into(), rows)
    }

    /// The same with a table that is looked up or added, or a gain or bias of one row.
    pub fn table<const R: usize, const C: usize>(
        self,
        name: &'static str,
        role: Role,
        block: impl Into<Option<u32>>,
        rows: [[f64; C]; R],
    ) -> Self {
        self.formed((name, role, Form::Vector), block.into(), rows)
    }

    fn formed<const R: usize, const C: usize>(
        self,
        (name, role, form): (&'static str, Role, Form),
        block: Option<u32>,
        rows: [[f64; C]; R],
    ) -> Self {
        let mut tensor = Tensor::new(name, role, form, &[R as u64, C as u64], Init::Normal(1.0));
        tensor.block = block;
        self.tensor(tensor, rows.as_flattened())
    }

    /// The same with a pass and what it saw. A natural loss is that of the kind.
    pub fn pass(mut self, pass: Pass, see: impl FnOnce(ToyResult) -> ToyResult) -> Self {
        let pass = PassOverrides::default().apply(pass, &self);
        let layout = self.weights.layout.clone();
        let result = PassResult { batch: 1, ..PassResult::default() };
        let ToyResult { result, gradients, .. } = see(ToyResult { layout, result, gradients: None });
        let result = PassResult { gradients: gradients.map(Numbers::F64), ..result };
        result.check(&AnyWeights::F64(&self.weights)).unwrap_or_else(|e| panic!("{pass:?}: {e}"));
        self.passes.push((pass, Ok(result)));
        self
    }

    /// The handle of a tensor.
    pub fn param(&self, name: &str) -> Param {
        param(&self.weights.layout, name)
    }

    /// What a proxy sees of it.
    pub fn input(&self) -> ProxyInput<'_> {
        ProxyInput {
            weights: [Some(AnyWeights::F64(&self.weights)), None],
            layout: Some(&self.weights.layout),
            passes: &self.passes,
            ..ProxyInput::of(self)
        }
    }

    /// What a request says of it.
    pub fn score(&self, request: &str) -> Result<Score> {
        Request::parse(request)?.score(&self.input())
    }

    /// The value that a request gives; where it gives none, the toy or the request is wrong.
    pub fn value(&self, request: &str) -> f64 {
        self.score(request).unwrap_or_else(|e| panic!("{request}: {e}")).value
    }
}

fn param(layout: &Layout, name: &str) -> Param {
    let found = layout.tensors().find(|(_, tensor)| tensor.name() == name);
    found.unwrap_or_else(|| panic!("the toy has no tensor {name}")).0
}

impl Subject for Toy {
    fn name(&self) -> &str {
        "toy"
    }
    fn id(&self) -> String {
        "toy".to_owned()
    }
    fn kind(&self) -> NetworkKind {
        self.kind
    }
    fn tensors(&self, each: &mut dyn FnMut(&Tensor)) {
        self.tensors.iter().for_each(each);
    }
    fn blocks(&self, each: &mut dyn FnMut(Block)) {
        self.blocks.iter().copied().for_each(each);
    }
    fn tokens(&self) -> u64 {
        self.tokens
    }
    fn flops(&self, counter: Counter) -> Option<u64> {
        self.flops[counter as usize]
    }
    fn has_dropout(&self) -> bool {
        self.dropout
    }
    fn pools_keys(&self) -> bool {
        self.pooled_keys
    }
    fn has_finite_mask(&self) -> bool {
        self.finite_mask
    }
    fn capacity_matrices(&self) -> Option<Vec<(u64, u64)>> {
        self.capacity.clone()
    }
}

/// What a pass over a [`Toy`] saw, to be written out. It is of one sample where nothing else is said.
pub struct ToyResult {
    layout: Arc<Layout>,
    result: PassResult,
    gradients: Option<Vec<f64>>,
}

impl ToyResult {
    /// The same of so many samples.
    pub fn batch(mut self, samples: usize) -> Self {
        self.result.batch = samples;
        self
    }

    /// The same with a loss.
    pub fn loss(mut self, loss: f64) -> Self {
        self.result.loss = Some(loss);
        self
    }

    /// The same with the gradient of a tensor; tensors without one have a gradient of zero as soon as another has one.
    pub fn gradient<const R: usize, const C: usize>(mut self, name: &str, rows: [[f64; C]; R]) -> Self {
        let (param, len) = (self.param(name), self.layout.len());
        let place = self.layout.range(param);
        assert_eq!(place.len(), R * C, "the gradient of {name} has the size of {name}");
        let gradients = self.gradients.get_or_insert_with(|| vec![0.0; len]);
        gradients[place].copy_from_slice(rows.as_flattened());
        self
    }

    /// The same with a value that was kept.
    pub fn value<const R: usize, const C: usize>(mut self, mark: Mark, rows: [[f64; C]; R]) -> Self {
        self.result.values.push((mark, kept(rows)));
        self
    }

    /// The same with the gradient of a value.
    pub fn value_gradient<const R: usize, const C: usize>(mut self, mark: Mark, rows: [[f64; C]; R]) -> Self {
        self.result.value_gradients.push((mark, kept(rows)));
        self
    }

    /// The same with what leaves a linear map.
    pub fn output<const R: usize, const C: usize>(self, name: &str, rows: [[f64; C]; R]) -> Self {
        let mark = Mark::Output(self.param(name));
        self.value(mark, rows)
    }

    /// The same with numbers: folded gradients of samples, or speeds along a curve.
    pub fn numbers(mut self, numbers: impl Into<Vec<f64>>) -> Self {
        self.result.numbers = numbers.into();
        self
    }

    /// The same with squared norms of a kernel trace: a row per probe, a column per tensor.
    pub fn traces<const C: usize>(mut self, rows: &[[f64; C]]) -> Self {
        self.result.traces = rows.iter().map(|row| row.to_vec()).collect();
        self
    }

    /// The handle of a tensor.
    pub fn param(&self, name: &str) -> Param {
        param(&self.layout, name)
    }
}

fn kept<const R: usize, const C: usize>(rows: [[f64; C]; R]) -> KeptValue {
    KeptValue::new(Numbers::F64(rows.as_flattened().to_vec()), R, C).expect("an array has its own size")
}

/// Fails if two numbers differ by more than rounding: 1e-12 of the larger one, or of one.
#[cfg(test)]
#[track_caller]
pub(super) fn near(found: f64, expected: f64) {
    let scale = found.abs().max(expected.abs()).max(1.0);
    assert!((found - expected).abs() <= 1e-12 * scale, "{found} is not {expected}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::{Loss, Signal};

    fn two() -> Toy {
        Toy::new().matrix("a", Role::Query, 0, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).matrix(
            "b",
            Role::FfnIn,
            1,
            [[7.0], [8.0]],
        )
    }

    #[test]
    fn tensors_and_gradients_lie_where_they_belong() {
        let toy = two().pass(Pass::backward(Loss::Natural), |seen| {
            seen.loss(0.5).gradient("b", [[-1.0], [-2.0]]).output("a", [[9.0, 10.0]])
        });
        let input = toy.input();
        let seen = input.pass(&Pass::backward(Loss::Natural)).unwrap();
        let (a, b) = (seen.layer(toy.param("a")), seen.layer(toy.param("b")));
        assert_eq!((a.weight.at(1, 0), a.gradient.sum(f64::abs), a.tensor.block), (4.0, 0.0, Some(0)));
        assert_eq!((b.weight.at(1, 0), b.gradient.at(0, 0), b.tensor.block), (8.0, -1.0, Some(1)));
        let kept = seen.kept(Some);
        assert_eq!((kept[0].0, kept[0].1.at(0, 1)), (Mark::Output(toy.param("a")), 10.0));
        assert_eq!((seen.result.loss, seen.result.batch), (Some(0.5), 1));
    }

    /// What does not fit the tensors is found while the toy is made.
    #[test]
    #[should_panic(expected = "a trace of 3 tensors")]
    fn misfits_are_found() {
        let _ = two().pass(Pass::forward().keep(Signal::Outputs), |seen| seen.traces(&[[1.0, 2.0, 3.0]]));
    }

    #[test]
    #[should_panic(expected = "the toy has no tensor c")]
    fn unknown_tensors_are_found() {
        let _ = two().param("c");
    }
}
