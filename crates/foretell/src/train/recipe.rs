//! All that decides a run, beside the network and the data.

use super::{Generator, Optimiser, Schedule, Task};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// How a network is trained. Same network, data and recipe: same weights, bit for bit, on any number of threads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Recipe {
    /// What is learned; absent: what suits the family.
    pub task: Option<Task>,
    /// Batches.
    pub steps: u64,
    /// Samples of a batch.
    pub batch: usize,
    /// Samples that pass through the network at once: a batch is collected from parts of this size, as many at a time
    /// as there are threads.
    pub part: usize,
    /// Tokens of a sample, at most what the network reads; images ignore it.
    pub tokens: usize,
    /// How weights move.
    pub optimiser: Optimiser,
    /// The learning rate at its highest.
    pub rate: f64,
    /// Decay of the first and second moment.
    pub betas: [f64; 2],
    /// What keeps a division from nothing.
    pub eps: f64,
    /// Weight decay, apart from the gradient, of tensors with at least two sizes; gains and biases do not decay.
    pub decay: f64,
    /// How the rate moves.
    pub schedule: Schedule,
    /// Steps of warm-up.
    pub warmup: u64,
    /// The share of the rate that is left in the end.
    pub floor: f64,
    /// The longest gradient of a network, all its tensors together; 0: as long as it is.
    pub clip: f64,
    /// The share that is dropped in training, where the family drops any.
    pub dropout: f64,
    /// The share of each label that is spread over all classes of its softmax; never in validation.
    pub smoothing: f64,
    /// The share of tokens that masked language modelling and replaced-token detection hide.
    pub masked: f64,
    /// Whether training images are cropped at random after padding by an eighth, and mirrored by chance.
    pub augment: bool,
    /// Steps between validations; 0: only in the end.
    pub validate_every: u64,
    /// Samples of a validation, spread evenly over what there is.
    pub validate_samples: usize,
    /// Validations without a new best after which it stops; 0: never.
    pub patience: u64,
    /// Of every draw: weights, samples, dropout.
    pub seed: u64,
    /// What fills in hidden tokens in replaced-token detection.
    #[serde(skip_serializing_if = "Generator::is_usual")]
    pub generator: Generator,
    /// The weights that the network starts from, to fine-tune it: a file, or the folder of a run. Heads are drawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<PathBuf>,
    /// What the rate is multiplied by from each block to the one below it; 1: all blocks move alike. Heads have the whole rate,
    /// and what lies outside the blocks beside them, such as embeddings, the lowest.
    #[serde(skip_serializing_if = "is_one")]
    pub layer_decay: f64,
}

fn is_one(value: &f64) -> bool {
    *value == 1.0
}

/// The most samples of a batch or a validation, and tokens of a sample.
const MOST: usize = 1 << 20;

impl Default for Recipe {
    fn default() -> Self {
        Recipe {
            task: None,
            steps: 500,
            batch: 16,
            part: 4,
            tokens: 128,
            optimiser: Optimiser::AdamW,
            rate: 3e-3,
            betas: [0.9, 0.99],
            eps: 1e-8,
            decay: 0.01,
            schedule: Schedule::Cosine,
            warmup: 50,
            floor: 0.0,
            clip: 1.0,
            dropout: 0.0,
            smoothing: 0.0,
            masked: 0.15,
            augment: true,
            validate_every: 100,
            validate_samples: 64,
            patience: 0,
            seed: 0,
            generator: Generator::Fixed,
            start: None,
            layer_decay: 1.0,
        }
    }
}

impl Recipe {
    /// Reads a recipe file; what it does not say is as usual.
    pub fn parse(text: &str) -> Result<Self> {
        let recipe: Recipe = toml::from_str(text).map_err(|e| Error::option("", e.to_string()))?;
        recipe.check()?;
        Ok(recipe)
    }

    /// The same recipe for another number of steps; warm-up takes at most a fifth of them.
    pub fn for_steps(&self, steps: u64) -> Self {
        Recipe { steps, warmup: self.warmup.min(steps / 5), ..self.clone() }
    }

    /// Tokens of all batches; without meaning for images.
    pub fn tokens_seen(&self) -> u64 {
        self.steps.saturating_mul(self.batch as u64).saturating_mul(self.tokens as u64)
    }

    /// Refuses what makes no sense, by name.
    pub fn check(&self) -> Result<()> {
        let wrong = |key: &str, message: String| Err(Error::option(format!("recipe, {key}"), message));
        if self.steps == 0 || self.steps > 1 << 40 {
            return wrong("steps", format!("{} is not a number of steps from 1 on", self.steps));
        }
        if self.part == 0 || self.batch == 0 || !self.batch.is_multiple_of(self.part) {
            let message = format!(
                "a batch of {} samples cannot be collected from parts of {}: take a divisor",
                self.batch, self.part
            );
            return wrong("part", message);
        }
        if self.tokens < 2 || self.validate_samples == 0 {
            return wrong("tokens, validate_samples", "take at least 2 tokens and a sample".into());
        }
        for (key, value) in
            [("batch", self.batch), ("tokens", self.tokens), ("validate_samples", self.validate_samples)]
        {
            if value > MOST {
                return wrong(key, format!("{value} is more than {MOST}"));
            }
        }
        let [first, second] = self.betas;
        for (key, value, most) in [
            ("betas", first, 1.0),
            ("betas", second, 1.0),
            ("dropout", self.dropout, 1.0),
            ("smoothing", self.smoothing, 1.0),
        ] {
            if !(0.0..most).contains(&value) {
                return wrong(key, format!("{value} is not at least 0 and below {most}"));
            }
        }
        if !(self.masked > 0.0 && self.masked < 1.0) {
            return wrong("masked", format!("{} is not between 0 and 1", self.masked));
        }
        if !(self.layer_decay > 0.0 && self.layer_decay <= 1.0) {
            return wrong("layer_decay", format!("{} is not above 0 and at most 1", self.layer_decay));
        }
        if !(0.0..=1.0).contains(&self.floor) {
            return wrong("floor", format!("{} is not from 0 to 1", self.floor));
        }
        for (key, value) in [("rate", self.rate), ("eps", self.eps)] {
            if !(value.is_finite() && value > 0.0) {
                return wrong(key, format!("{value} is not a number above 0"));
            }
        }
        for (key, value) in [("clip", self.clip), ("decay", self.decay)] {
            if !(value.is_finite() && value >= 0.0) {
                return wrong(key, format!("{value} is not a number from 0 on"));
            }
        }
        Ok(())
    }

    /// Parts of a batch.
    pub(super) fn parts(&self) -> usize {
        self.batch / self.part
    }
}
