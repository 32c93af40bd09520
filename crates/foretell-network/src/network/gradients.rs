//! The gradients of weights while a backward pass fills them.
//!
//! What was there before is never read: the first to touch a tensor overwrites it, those after add. Tensors that nobody
//! touched are cleared at the end.

use super::{Layout, Param, Weights};
use crate::engine::matmul::MatMut;
use crate::engine::scalar::{Scalar, Store};

/// Gradients of all weights in the making.
pub struct WeightGradients<'t, S> {
    weights: &'t mut Weights<S>,
    touched: Vec<bool>,
}

impl<'t, S: Scalar> WeightGradients<'t, S> {
    /// Gradients to be written into `weights`, whatever they hold.
    pub fn new(weights: &'t mut Weights<S>) -> Self {
        let touched = vec![false; weights.layout.tensors().count()];
        WeightGradients { weights, touched }
    }

    /// Which tensors there are.
    pub fn layout(&self) -> &Layout {
        &self.weights.layout
    }

    /// A tensor to be added to.
    pub fn get_mut(&mut self, param: Param) -> &mut [S] {
        let first = !std::mem::replace(&mut self.touched[param.0], true);
        let data = self.weights.get_mut(param);
        if first {
            data.fill(S::ZERO);
        }
        data
    }

    /// The stored matrix of a tensor to be added to.
    pub fn matrix_mut(&mut self, param: Param) -> MatMut<'_, S> {
        self.get_mut(param);
        self.weights.matrix_mut(param)
    }

    /// The stored matrix of a tensor, all of which is to be written or added to.
    pub fn slot(&mut self, param: Param) -> (MatMut<'_, S>, Store) {
        let first = !std::mem::replace(&mut self.touched[param.0], true);
        (self.weights.matrix_mut(param), if first { Store::Write } else { Store::Add })
    }

    /// Clears what nobody touched.
    pub fn finish(self) {
        for i in (0..self.touched.len()).filter(|i| !self.touched[*i]) {
            self.weights.get_mut(Param(i)).fill(S::ZERO);
        }
    }
}
