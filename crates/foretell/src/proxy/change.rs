//! Options common to all proxies that run a network: how the passes they ask for are changed.

use crate::architecture::Architecture;
use crate::probe::{Derivative, Feed, Layers, Loss, Pass, natural};
use serde::Deserialize;

/// Changes to the passes and layers of a proxy; what is not said stays as the proxy has it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Change {
    feed: Option<Feed>,
    loss: Option<Loss>,
    batch: Option<usize>,
    tokens: Option<usize>,
    train: Option<bool>,
    layers: Option<Layers>,
    normalise: bool,
}

/// The options of a [`Change`]: name, default, meaning.
pub const SHARED: &[(&str, &str, &str)] = &[
    ("feed", "the proxy's own", "data (given inputs, else noise or random tokens) or ones"),
    (
        "loss",
        "the proxy's own",
        "natural (cross-entropy; signs for encoders, half-square for cells), cross-entropy, sum, half-square, projection",
    ),
    ("batch", "8 images, 16 texts, 50 for cells", "samples at once"),
    ("tokens", "128 for encoders, up to 192 for decoders", "tokens of each text that is drawn"),
    ("train", "false", "draw dropout, as in training"),
    (
        "layers",
        "the proxy's own",
        "linear, first, attention, operator, ffn, kernel, embedded, biased, named, everything",
    ),
    ("normalise", "false", "divide by the number of terms summed"),
];

impl Change {
    /// A pass as it is to be run.
    pub fn apply(&self, mut pass: Pass, architecture: &Architecture) -> Pass {
        pass.feed = self.feed.unwrap_or(pass.feed);
        if pass.loss != Loss::None {
            pass.loss = natural(self.loss.unwrap_or(pass.loss), architecture);
        }
        pass.batch = self.batch.unwrap_or(pass.batch);
        pass.tokens = self.tokens.unwrap_or(pass.tokens);
        pass.train = self.train.unwrap_or(pass.train);
        if let (Derivative::Samples(_, layers), Some(wanted)) = (&mut pass.derivative, self.layers) {
            *layers = wanted;
        }
        pass
    }

    /// The layers to look at.
    pub(super) fn layers(&self, usual: Layers) -> Layers {
        self.layers.unwrap_or(usual)
    }

    pub(super) fn normalise(&self) -> bool {
        self.normalise
    }
}
