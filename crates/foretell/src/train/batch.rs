//! Samples, in the order the seed says.

use super::{Recipe, Task};
use crate::architecture::Architecture;
use crate::data::{Data, Part, Text};
use crate::engine::scalar::Scalar;
use crate::error::{Error, Result};
use crate::network::{Input, steps_first};
use crate::seed::{Rng, Seed};
use rand::RngExt;
use rand::seq::SliceRandom;

/// What passes through a network at once.
pub(super) struct Batch<S> {
    pub input: Input<S>,
    /// The rows of features that have a target, where not all have one.
    pub rows: Vec<usize>,
    /// Their classes or ids; empty for language models, whose labels are the input's.
    pub targets: Vec<u32>,
}

/// Makes samples of the data.
pub(super) struct Samples<'d> {
    data: &'d Data,
    task: Task,
    tokens: usize,
    masked: f64,
    augment: bool,
    steps_first: bool,
    seed: Seed,
}

/// Which sample: the how-manieth of training, or of a validation of so many.
#[derive(Clone, Copy)]
pub(super) enum Which {
    Train(u64),
    Valid(usize, usize),
}

impl<'d> Samples<'d> {
    pub fn new(task: Task, architecture: &Architecture, data: &'d Data, recipe: &Recipe) -> Result<Self> {
        let tokens = recipe.tokens.min(architecture.tokens() as usize);
        if let Data::Text(text) = data {
            for part in [Part::Train, Part::Valid] {
                if text.ids(part).len() <= tokens {
                    let message = format!(
                        "a sample takes {tokens} tokens and the one after; the {part} part has {}",
                        text.ids(part).len()
                    );
                    return Err(Error::option("data", message));
                }
            }
        }
        Ok(Samples {
            data,
            task,
            tokens,
            masked: recipe.masked,
            augment: recipe.augment,
            steps_first: steps_first(architecture),
            seed: Seed(recipe.seed),
        })
    }

    /// Tokens or images of a sample, for counting work.
    pub fn size(&self) -> u64 {
        if self.task == Task::Classify { 1 } else { self.tokens as u64 }
    }

    /// How many samples a validation of at most `wanted` has.
    pub fn validation(&self, wanted: usize) -> usize {
        let all = match self.data {
            Data::Text(text) => (text.ids(Part::Valid).len() - 1) / self.tokens,
            Data::Images(images) => images.len(Part::Valid),
        };
        wanted.min(all)
    }

    /// Some samples as one batch. What a validation hides is the same whenever it is asked.
    pub fn batch<S: Scalar>(&self, samples: &[Which]) -> Batch<S> {
        let rng = |which: &Which| match *which {
            Which::Train(number) => self.seed.stream("sample", number),
            Which::Valid(number, _) => Seed(0).stream("validation", number as u64),
        };
        match self.data {
            Data::Images(images) => {
                let (mut pixels, mut labels) = (Vec::new(), Vec::new());
                for which in samples {
                    let mut rng = rng(which);
                    let label = match *which {
                        Which::Train(_) => {
                            let place = rng.random_range(0..images.len(Part::Train));
                            images.read(Part::Train, place, self.augment.then_some(&mut rng), &mut pixels)
                        }
                        Which::Valid(number, of) => {
                            let place = number * images.len(Part::Valid) / of;
                            images.read(Part::Valid, place, None, &mut pixels)
                        }
                    };
                    labels.push(label);
                }
                let pixels = pixels.into_iter().map(S::from_f64).collect();
                let input = Input::Images { pixels, labels: Vec::new(), batch: samples.len() };
                Batch { input, rows: Vec::new(), targets: labels }
            }
            Data::Text(text) => self.text(text, samples, rng),
        }
    }

    fn text<S>(&self, text: &Text, samples: &[Which], rng: impl Fn(&Which) -> Rng) -> Batch<S> {
        let (batch, tokens) = (samples.len(), self.tokens);
        let mut ids = Vec::with_capacity(batch * tokens);
        let (mut labels, mut rows, mut targets, mut types) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (sample, which) in samples.iter().enumerate() {
            let mut rng = rng(which);
            let (part, start) = match *which {
                Which::Train(_) => (Part::Train, rng.random_range(0..text.ids(Part::Train).len() - tokens)),
                Which::Valid(number, of) => {
                    let room = text.ids(Part::Valid).len() - 1 - tokens;
                    (Part::Valid, if of > 1 { number * room / (of - 1) } else { 0 })
                }
            };
            let window = &text.ids(part)[start..=start + tokens];
            if self.task == Task::Pairs {
                let half = tokens / 2;
                let follows = rng.random::<bool>();
                let other = rng.random_range(0..text.ids(part).len() - tokens);
                let second =
                    if follows { &window[half..tokens] } else { &text.ids(part)[other..][..tokens - half] };
                ids.extend_from_slice(&window[..half]);
                ids.extend_from_slice(second);
                types.extend((0..tokens).map(|place| u32::from(place >= half)));
                rows.push(sample * tokens);
                targets.push(u32::from(follows));
                continue;
            }
            ids.extend_from_slice(&window[..tokens]);
            if self.task == Task::Language {
                labels.extend_from_slice(&window[1..]);
                continue;
            }
            let hidden = ((self.masked * tokens as f64).round() as usize).clamp(1, tokens);
            let mut places: Vec<usize> = (0..tokens).collect();
            let places = places.partial_shuffle(&mut rng, hidden).0;
            places.sort_unstable();
            for &mut place in places {
                rows.push(sample * tokens + place);
                targets.push(window[place]);
                let id = &mut ids[sample * tokens + place];
                match rng.random_range(0..10) {
                    0 if self.task == Task::Masked => {}
                    1 if self.task == Task::Masked => *id = rng.random_range(1..text.mask()),
                    _ => *id = text.mask(),
                }
            }
        }
        if self.steps_first {
            let turned = |all: &[u32]| -> Vec<u32> {
                (0..tokens).flat_map(|t| (0..batch).map(move |b| all[b * tokens + t])).collect()
            };
            (ids, labels) = (turned(&ids), turned(&labels));
        }
        Batch { input: Input::Tokens { ids, types, labels, batch }, rows, targets }
    }
}
