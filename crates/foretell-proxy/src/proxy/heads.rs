//! What leaves the attention heads of a block, side by side, before the output map joins them.

use super::{PassView, ProxyInput};
use crate::architecture::{Role, Tensor};
use crate::network::{Mark, Param};
use crate::probe::View;
use std::ops::Range;

/// The outputs of the heads of one block.
pub(super) struct Heads<'a> {
    /// The output map that they enter.
    pub param: Param,
    /// Its tensor.
    pub tensor: &'a Tensor,
    /// Heads.
    pub count: usize,
    /// Samples · tokens rows, a range of columns per head.
    pub outputs: View<'a>,
    tokens: usize,
}

impl Heads<'_> {
    /// The places of the numbers that a head gives for a sample: rows and columns.
    pub fn places(&self, sample: usize, head: usize) -> impl Iterator<Item = (usize, usize)> + use<> {
        let rows: Range<usize> = sample * self.tokens..(sample + 1) * self.tokens;
        let width = self.outputs.cols() / self.count;
        rows.flat_map(move |row| (head * width..(head + 1) * width).map(move |column| (row, column)))
    }
}

/// Whether a mark is what enters an output map of attention.
pub(super) fn enters_output(observed: &PassView, mark: Mark) -> Option<Param> {
    match mark {
        Mark::Input(param) if observed.tensor(param).role == Role::AttentionOut => Some(param),
        _ => None,
    }
}

/// The heads of every block that has an output map; the pass keeps inputs.
pub(super) fn heads<'a>(input: &ProxyInput, observed: &PassView<'a>) -> Vec<Heads<'a>> {
    let mut counts = Vec::new();
    input.subject.blocks(&mut |block| counts.push(block.heads.unwrap_or(1) as usize));
    let of = |(param, outputs): (Param, View<'a>)| {
        let tensor = observed.tensor(param);
        let count = tensor.block.and_then(|block| counts.get(block as usize)).copied().unwrap_or(1);
        Heads { param, tensor, count, outputs, tokens: outputs.rows() / observed.result.batch }
    };
    observed.kept(|mark| enters_output(observed, mark)).into_iter().map(of).collect()
}
