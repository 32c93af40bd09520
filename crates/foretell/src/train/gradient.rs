//! Losses and gradients of parts of a batch, one thread a part.

use super::Task;
use super::batch::{Batch, Samples, Which};
use super::head;
use super::member::Member;
use crate::cancel::CancelToken;
use crate::engine::buffer::Workspace;
use crate::engine::scalar::Scalar;
use crate::error::Result;
use crate::network::{Input, Tape, Weights};
use crate::seed::Rng;
use rand::RngExt;
use rayon::prelude::*;
use std::sync::Mutex;

/// Memory of threads that are between parts.
pub(super) struct Spaces<S>(Mutex<Vec<Workspace<S>>>);

impl<S: Scalar> Spaces<S> {
    pub fn new() -> Self {
        Spaces(Mutex::new(Vec::new()))
    }

    /// Takes a gradient's memory back.
    pub fn give(&self, gradient: Weights<S>) {
        if let Some(space) = self.0.lock().expect("no holder panics").last_mut() {
            space.give(gradient.data);
        }
    }

    fn with<T>(&self, work: impl FnOnce(&mut Workspace<S>) -> T) -> T {
        let waiting = self.0.lock().expect("no holder panics").pop();
        let mut space = waiting.unwrap_or_default();
        let result = work(&mut space);
        self.0.lock().expect("no holder panics").push(space);
        result
    }
}

/// What is the same for all parts.
pub(super) struct Passes<'t, S> {
    pub task: Task,
    pub samples: &'t Samples<'t>,
    pub network: &'t Member<S>,
    /// What fills in hidden tokens, where that is the task.
    pub generator: Option<&'t Member<S>>,
    pub spaces: &'t Spaces<S>,
}

/// The switches of a training pass.
#[derive(Clone, Copy)]
pub(super) struct Training {
    pub dropout: f64,
    pub smoothing: f64,
}

/// What one part gives: mean loss; in validation how many targets were met out of how many, in training the gradients of
/// network and generator.
pub(super) struct Seen<S> {
    pub loss: f64,
    pub right: (u64, u64),
    pub gradients: Vec<Weights<S>>,
}

impl<S: Scalar> Passes<'_, S> {
    /// Each part in turn, its result handed over in order; as many at a time as there are threads.
    pub fn run(
        &self,
        parts: &[Vec<Which>],
        training: Option<(Training, &(dyn Fn(u64) -> Rng + Sync))>,
        mut each: impl FnMut(Seen<S>),
    ) -> Result<()> {
        let cancel = CancelToken::current().unwrap_or_default();
        let threads = rayon::current_num_threads().max(1);
        for (round, chunk) in parts.chunks(threads).enumerate() {
            let one = |(place, part): (usize, &Vec<Which>)| {
                let number = (round * threads + place) as u64;
                let training = training.map(|(training, rng)| (training, rng(number)));
                self.spaces.with(|space| cancel.run(|| self.part(part, training, space)))
            };
            let seen = chunk.par_iter().enumerate().map(one).collect::<Result<Vec<Seen<S>>>>()?;
            seen.into_iter().for_each(&mut each);
        }
        Ok(())
    }

    pub fn part(
        &self,
        part: &[Which],
        training: Option<(Training, Rng)>,
        space: &mut Workspace<S>,
    ) -> Seen<S> {
        let mut batch = self.samples.batch(part);
        let mut gradients = Vec::new();
        if let Some(generator) = self.generator {
            let fill = Fill { generator, training: training.as_ref() };
            gradients.extend(fill.run(&mut batch, part, space));
        }
        let mut seen = pass(self.task, self.network, &batch, training, space, &mut |_, _| {});
        seen.gradients.extend(gradients);
        seen
    }
}

/// One network on one batch; `look` is shown the scores.
fn pass<S: Scalar>(
    task: Task,
    member: &Member<S>,
    batch: &Batch<S>,
    training: Option<(Training, Rng)>,
    space: &mut Workspace<S>,
    look: &mut dyn FnMut(&[S], usize),
) -> Seen<S> {
    let learns = training.is_some();
    let mut tape = Tape::new(&member.weights, space, learns);
    if let Some((Training { dropout, smoothing }, rng)) = training {
        tape.train(rng, dropout);
        tape.smooth(smoothing);
    }
    let (logits, loss) = head::loss(task, &member.architecture, batch, &mut tape);
    let mut seen = Seen { loss: tape.data(loss)[0].to_f64(), right: (0, 0), gradients: Vec::new() };
    if let Some(logits) = logits {
        let classes = tape.shape(logits).1;
        if !learns {
            let met = |(row, target): (&[S], &u32)| u64::from(best(row) == *target as usize);
            let rows = tape.data(logits).chunks_exact(classes).zip(&batch.targets);
            seen.right = (rows.map(met).sum(), batch.targets.len() as u64);
        }
        look(tape.data(logits), classes);
    }
    if !learns {
        tape.close();
        return seen;
    }
    let layout = member.weights.layout.clone();
    let mut gradient = Weights { data: tape.space.take(layout.len()), layout };
    tape.backward(vec![(loss, vec![S::ONE])], Some(&mut gradient), &mut |_, _| {});
    seen.gradients.push(gradient);
    seen
}

fn best<S: Scalar>(row: &[S]) -> usize {
    (0..row.len()).reduce(|best, i| if row[i] > row[best] { i } else { best }).unwrap_or(0)
}

/// The generator's share of replaced-token detection.
struct Fill<'t, S> {
    generator: &'t Member<S>,
    training: Option<&'t (Training, Rng)>,
}

impl<S: Scalar> Fill<'_, S> {
    /// Draws what hidden tokens become from the generator's guess, turns the targets into "replaced or not" of every
    /// token, and gives the gradient of the guess.
    fn run(&self, batch: &mut Batch<S>, part: &[Which], space: &mut Workspace<S>) -> Option<Weights<S>> {
        let mut rng = match (self.training, part.first()) {
            (Some((_, rng)), _) => {
                let mut rng = rng.clone();
                rng.set_stream(1);
                rng
            }
            (None, Some(Which::Valid(number, _))) => {
                crate::seed::Seed(0).stream("validation fill", *number as u64)
            }
            (None, _) => crate::seed::Seed(0).stream("validation fill", 0),
        };
        let mut drawn = Vec::with_capacity(batch.rows.len());
        let mut draw = |logits: &[S], classes: usize| {
            for row in logits.chunks_exact(classes) {
                let mut chances = row.to_vec();
                S::softmax(&mut chances);
                let mut left = rng.random::<f64>();
                let hit = chances.iter().position(|chance| {
                    left -= chance.to_f64();
                    left < 0.0
                });
                drawn.push(hit.unwrap_or(classes - 1) as u32);
            }
        };
        let training = self.training.map(|(training, rng)| {
            let mut rng = rng.clone();
            rng.set_stream(2);
            (*training, rng)
        });
        let seen = pass(Task::Masked, self.generator, batch, training, space, &mut draw);
        let Input::Tokens { ids, .. } = &mut batch.input else { panic!("encoders read tokens") };
        let mut labels = vec![0; ids.len()];
        for ((row, was), is) in batch.rows.iter().zip(&batch.targets).zip(drawn) {
            ids[*row] = is;
            labels[*row] = u32::from(is != *was);
        }
        batch.targets = labels;
        seen.gradients.into_iter().next()
    }
}
