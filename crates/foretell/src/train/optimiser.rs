//! AdamW and LAMB.
//!
//! ```text
//! m = β₁ m + (1 − β₁) g      v = β₂ v + (1 − β₂) g²      m̂ = m / (1 − β₁ᵗ)      v̂ = v / (1 − β₂ᵗ)
//! AdamW   w = w − η λ w − η m̂ / (√v̂ + ε)
//! LAMB    u = m̂ / (√v̂ + ε) + λ w      w = w − η (‖w‖ / ‖u‖) u,  the ratio being 1 where a length is 0
//! ```
//!
//! - Papers: *Decoupled weight decay regularization* (Loshchilov & Hutter, ICLR 2019); *Large batch optimization for deep
//!   learning: training BERT in 76 minutes* (You et al., ICLR 2020), φ the identity, a ratio per tensor.
//! - Departures from the papers: gains and biases do not decay (see [`Recipe::decay`]).

use super::Recipe;
use super::member::Member;
use crate::architecture::{Role, Tensor};
use crate::engine::scalar::Scalar;
use crate::network::Weights;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// How weights move along a gradient.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Optimiser {
    /// Adam with decay apart from the gradient.
    #[serde(rename = "adamw")]
    AdamW,
    /// Its directions, as long as the weights they move.
    Lamb,
}

/// The numbers of one step.
#[derive(Clone, Copy)]
struct Step<S> {
    rate: f64,
    decay: f64,
    betas: [S; 2],
    rest: [S; 2],
    /// 1 / (1 − β₁ᵗ) and 1 / √(1 − β₂ᵗ)
    grown: [f64; 2],
    eps: S,
}

/// One tensor with its gradient and moments.
struct Slice<'t, S> {
    decays: bool,
    /// The share of the rate that it moves by.
    share: f64,
    weights: &'t mut [S],
    gradient: &'t [S],
    first: &'t mut [S],
    second: &'t mut [S],
}

/// Operators the weights of a network; `step` counts from 0, `rate` is that of the step.
pub(super) fn update<S: Scalar>(
    recipe: &Recipe,
    step: u64,
    rate: f64,
    gradient: &Weights<S>,
    member: &mut Member<S>,
) {
    let t = i32::try_from(step + 1).unwrap_or(i32::MAX);
    let [first, second] = recipe.betas;
    let now = Step {
        rate,
        decay: recipe.decay,
        betas: recipe.betas.map(S::from_f64),
        rest: recipe.betas.map(|beta| S::from_f64(1.0 - beta)),
        grown: [(1.0 - first.powi(t)).recip(), (1.0 - second.powi(t)).sqrt().recip()],
        eps: S::from_f64(recipe.eps),
    };
    let layout = gradient.layout.clone();
    let blocks = layout.tensors().filter_map(|(_, tensor)| tensor.block).max().map_or(0, |last| last + 1);
    let mut slices = Vec::new();
    let (mut weights, mut moments) =
        (&mut member.weights.data[..], member.moments.each_mut().map(|m| &mut m[..]));
    for (param, tensor) in layout.tensors() {
        let len = layout.range(param).len();
        let (head, rest) = std::mem::take(&mut weights).split_at_mut(len);
        weights = rest;
        let [first, second] = moments.each_mut().map(|m| {
            let (head, rest) = std::mem::take(m).split_at_mut(len);
            *m = rest;
            head
        });
        let decays = tensor.shape[1] > 0;
        let share = recipe.layer_decay.powi(below(tensor, blocks) as i32);
        slices.push(Slice { decays, share, weights: head, gradient: gradient.get(param), first, second });
    }
    slices.par_iter_mut().for_each(|slice| {
        let now = Step { rate: now.rate * slice.share, ..now };
        match recipe.optimiser {
            Optimiser::AdamW => adamw(&now, slice),
            Optimiser::Lamb => lamb(&now, slice),
        }
    });
}

/// How far a tensor lies below the heads: the last of so many blocks is one below, embeddings are below the first block.
fn below(tensor: &Tensor, blocks: u32) -> u32 {
    match (tensor.block, tensor.role) {
        (Some(block), _) => blocks - block,
        (None, Role::Head) => 0,
        (None, _) => blocks + 1,
    }
}

impl<S: Scalar> Slice<'_, S> {
    /// Operators the moments along the gradient.
    fn follow(&mut self, now: &Step<S>) {
        let ([b1, b2], [r1, r2]) = (now.betas, now.rest);
        for ((m, v), &g) in self.first.iter_mut().zip(&mut *self.second).zip(self.gradient) {
            *m = b1 * *m + r1 * g;
            *v = b2 * *v + r2 * g * g;
        }
    }
}

fn adamw<S: Scalar>(now: &Step<S>, slice: &mut Slice<'_, S>) {
    slice.follow(now);
    let kept = S::from_f64(if slice.decays { 1.0 - now.rate * now.decay } else { 1.0 });
    let (length, root) = (S::from_f64(now.rate * now.grown[0]), S::from_f64(now.grown[1]));
    for ((w, &m), &v) in slice.weights.iter_mut().zip(&*slice.first).zip(&*slice.second) {
        *w = kept * *w - length * m / (v.sqrt() * root + now.eps);
    }
}

fn lamb<S: Scalar>(now: &Step<S>, slice: &mut Slice<'_, S>) {
    slice.follow(now);
    let [grown, root] = now.grown.map(S::from_f64);
    let decay = S::from_f64(if slice.decays { now.decay } else { 0.0 });
    let move_of = |w: S, m: S, v: S| grown * m / (v.sqrt() * root + now.eps) + decay * w;
    let moves: Vec<S> = slice
        .weights
        .iter()
        .zip(&*slice.first)
        .zip(&*slice.second)
        .map(|((&w, &m), &v)| move_of(w, m, v))
        .collect();
    let length = |x: &[S]| S::sum_of_squares(x).to_f64().sqrt();
    let (own, wanted) = (length(slice.weights), length(&moves));
    let ratio = if own > 0.0 && wanted > 0.0 { own / wanted } else { 1.0 };
    S::axpy(S::from_f64(-now.rate * ratio), &moves, slice.weights);
}
