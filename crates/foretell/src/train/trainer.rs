//! A network on its way: one step after the other, and how good it is.

use super::batch::{Samples, Which};
use super::gradient::{Passes, Spaces, Training};
use super::member::Member;
use super::{Recipe, Task, head, optimiser};
use crate::architecture::{Architecture, Tensor};
use crate::data::Data;
use crate::engine::scalar::Scalar;
use crate::error::{Error, Result};
use crate::network::{Input, Weights};
use crate::seed::Seed;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// How good a network is on fixed samples of the validation part.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    /// Mean negative log-likelihood of a target, natural logarithm.
    pub loss: f64,
    /// The share of targets that have the highest score; absent for language models.
    pub accuracy: Option<f64>,
}

impl Metrics {
    /// e to the loss: of how many equally likely ids the network picks one, so to say.
    pub fn perplexity(&self) -> f64 {
        self.loss.exp()
    }
}

/// A network on its way.
pub struct Trainer<'d, S> {
    recipe: Recipe,
    task: Task,
    samples: Samples<'d>,
    /// The network, and the generator where the task has one.
    pub(super) members: Vec<Member<S>>,
    pub(super) step: u64,
    spaces: Spaces<S>,
}

impl<'d, S: Scalar> Trainer<'d, S> {
    /// A network at its start. Vocabulary and classes must be the data's: see [`fit`](super::fit).
    pub fn new(architecture: &Architecture, data: &'d Data, recipe: &Recipe) -> Result<Self> {
        recipe.check()?;
        let fitting = super::fit(architecture, data)?;
        if fitting != *architecture {
            let message = "has another vocabulary, image size or number of classes than the data";
            return Err(Error::option("architecture", message));
        }
        let task = Task::of(recipe, architecture)?;
        let seed = Seed(recipe.seed);
        let members = networks(task, recipe, architecture)?;
        let members = members.into_iter().map(|(network, head)| Member::new(network, &head, seed)).collect();
        let mut members: Vec<Member<S>> = members;
        if let Some(path) = &recipe.start {
            members[0].start(path)?;
        }
        let samples = Samples::new(task, architecture, data, recipe)?;
        Ok(Trainer { recipe: recipe.clone(), task, samples, members, step: 0, spaces: Spaces::new() })
    }

    /// The recipe.
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// Steps done.
    pub fn steps_done(&self) -> u64 {
        self.step
    }

    /// Tokens, or images, of a step.
    pub fn work(&self) -> u64 {
        self.samples.size() * self.recipe.batch as u64
    }

    /// The weights, those of the head last.
    pub fn weights(&self) -> &Weights<S> {
        &self.members[0].weights
    }

    /// Replaces the weights.
    pub fn set_weights(&mut self, weights: &Weights<S>) {
        self.members[0].weights.data.copy_from_slice(&weights.data);
    }

    /// What a step reads; where a generator fills in hidden tokens, before it does.
    pub fn batch(&self, step: u64) -> Input<S> {
        let first = step * self.recipe.batch as u64;
        let samples: Vec<Which> = (0..self.recipe.batch as u64).map(|i| Which::Train(first + i)).collect();
        self.samples.batch(&samples).input
    }

    fn passes(&self) -> Passes<'_, S> {
        Passes {
            task: self.task,
            samples: &self.samples,
            network: &self.members[0],
            generator: self.members.get(1),
            spaces: &self.spaces,
        }
    }

    /// One batch: its mean loss, before the weights moved.
    pub fn step(&mut self) -> Result<f64> {
        let Recipe { batch, part, steps, warmup, floor, .. } = self.recipe;
        let (first, parts) = (self.step * batch as u64, self.recipe.parts());
        let sample = |p: usize, i: usize| Which::Train(first + (p * part + i) as u64);
        let plan: Vec<Vec<Which>> = (0..parts).map(|p| (0..part).map(|i| sample(p, i)).collect()).collect();
        let (step, seed) = (self.step, Seed(self.recipe.seed));
        let rng = |number: u64| seed.stream("dropout", step * parts as u64 + number);
        let training = Training { dropout: self.recipe.dropout, smoothing: self.recipe.smoothing };
        let (mut loss, mut gradients): (f64, Vec<Weights<S>>) = (0.0, Vec::new());
        self.passes().run(&plan, Some((training, &rng)), |seen| {
            loss += seen.loss / parts as f64;
            if gradients.is_empty() {
                gradients = seen.gradients;
            } else {
                for (sum, part) in gradients.iter_mut().zip(seen.gradients) {
                    add(&part.data, &mut sum.data);
                    self.spaces.give(part);
                }
            }
        })?;
        if !loss.is_finite() {
            return Err(Error::Diverged { step, what: format!("the loss is {loss}") });
        }
        let rate = self.recipe.rate * self.recipe.schedule.factor(step, steps, warmup, floor);
        for (gradient, member) in gradients.iter_mut().zip(&mut self.members) {
            let length = length(gradient) / parts as f64;
            if !length.is_finite() {
                return Err(Error::Diverged { step, what: format!("the gradient's length is {length}") });
            }
            // As PyTorch clips: a millionth keeps the division from nothing.
            let clipped = match self.recipe.clip {
                0.0 => 1.0,
                clip => (clip / (length + 1e-6)).min(1.0),
            };
            let factor = S::from_f64(clipped / parts as f64);
            if factor != S::ONE {
                gradient.data.par_chunks_mut(CHUNK).for_each(|chunk| S::scale(factor, chunk));
            }
            optimiser::update(&self.recipe, step, rate, gradient, member);
        }
        gradients.into_iter().for_each(|gradient| self.spaces.give(gradient));
        self.step += 1;
        Ok(loss)
    }

    /// The loss on the validation part, without dropout or smoothing.
    pub fn validate(&self) -> Result<Metrics> {
        let n = self.samples.validation(self.recipe.validate_samples);
        let all: Vec<Which> = (0..n).map(|i| Which::Valid(i, n)).collect();
        let parts: Vec<Vec<Which>> = all.chunks(self.recipe.part).map(<[Which]>::to_vec).collect();
        let sizes: Vec<usize> = parts.iter().map(Vec::len).collect();
        let (mut loss, mut right, mut of, mut sizes) = (0.0, 0, 0, sizes.into_iter());
        self.passes().run(&parts, None, |seen| {
            loss += seen.loss * sizes.next().unwrap_or(0) as f64 / n as f64;
            right += seen.right.0;
            of += seen.right.1;
        })?;
        if !loss.is_finite() {
            let what = format!("the validation loss is {loss}");
            return Err(Error::Diverged { step: self.step, what });
        }
        Ok(Metrics { loss, accuracy: (of > 0).then(|| right as f64 / of as f64) })
    }
}

/// The networks that a task trains, each with the tensors of its head: the network, and a generator where there is one.
pub(super) fn networks(
    task: Task,
    recipe: &Recipe,
    architecture: &Architecture,
) -> Result<Vec<(Architecture, Vec<Tensor>)>> {
    let mut networks = vec![(architecture.clone(), head::tensors(task, architecture))];
    if task == Task::Replaced {
        let generator = recipe.generator.of(architecture)?;
        let tensors = head::tensors(Task::Masked, &generator);
        networks.push((generator, tensors));
    }
    Ok(networks)
}

/// Numbers that a thread takes at once.
const CHUNK: usize = 1 << 16;

/// `sum += part`, the same bits in every thread.
fn add<S: Scalar>(part: &[S], sum: &mut [S]) {
    sum.par_chunks_mut(CHUNK).zip(part.par_chunks(CHUNK)).for_each(|(sum, part)| S::accumulate(part, sum));
}

/// The length of a whole gradient, tensor after tensor.
fn length<S: Scalar>(gradient: &Weights<S>) -> f64 {
    let squares = gradient.layout.tensors().map(|(param, _)| S::sum_of_squares(gradient.get(param)).to_f64());
    squares.sum::<f64>().sqrt()
}
