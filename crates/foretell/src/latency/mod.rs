//! How long a network takes on this machine: measured, or predicted by a model that was fitted to measurements.
//!
//! A measurement runs one input on one thread of our own engine. It is no promise for another runtime, but it orders
//! networks by what their shape costs here. A search asks thousands of times, so it asks a [`Model`], whose error is
//! stated, and measures its winners again.
//!
//! [`measure`] gives the time of a quiet machine, on a busy one too: it counts the CPU time of its thread and
//! uses the quickest repeats, of several sittings where the result decides. [`Latency::quiet`] says whether the machine was quiet.

mod clock;
mod errors;
mod model;
mod repeats;
mod terms;

pub use errors::ErrorSummary;
pub use model::Model;

use crate::architecture::Architecture;
use crate::engine::buffer::Workspace;
use crate::error::{Error, Result};
use crate::network::{self, Decoder, Input, Tape, Weights};
use crate::probe::{self, Pass, Setting};
use crate::seed::Seed;
use serde::{Deserialize, Serialize};

/// Which work is timed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// The pass over one whole input: an image, or all tokens of a context. The output layer of a language model is left
    /// out, since nobody needs the scores of every position.
    #[default]
    Prefill,
    /// One further token of a decoder at the end of its context: keys and values of all tokens before it are kept, and
    /// every word is scored.
    Decode,
}

impl Phase {
    /// The name in JSON and tables.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Prefill => "prefill",
            Phase::Decode => "decode",
        }
    }

    /// Refuses a phase that the network does not have.
    pub fn check(self, architecture: &Architecture) -> Result<()> {
        match self {
            Phase::Decode if !architecture.is_decoder() => {
                Err(Error::NotDecoder { family: architecture.family().to_string() })
            }
            _ => Ok(()),
        }
    }
}

/// Seconds of one run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// The time on a quiet machine: the median of the quickest repeats, in CPU time where the system counts it.
    pub seconds: f64,
    /// From the quickest repeat to the slowest of those used, or to the median of all where that is larger.
    pub interval: (f64, f64),
    /// Repeats timed.
    pub runs: usize,
    /// Threads that worked on it.
    pub threads: usize,
    /// The share of repeats that waited for a core or were slower than the quickest ones.
    pub disturbed: f64,
    /// Whether enough repeats were undisturbed.
    pub quiet: bool,
}

/// How far above its time a network may be found when it is measured again, at least and at most. Five measurements of one
/// network by five processes lay within 1.8 % of each other.
const AGAIN: (f64, f64) = (1.02, 1.05);

impl Latency {
    /// The time that a limit must allow: the slowest of the repeats used, so that the limit holds when the network is
    /// measured again. It is 2 to 5 % above the time.
    pub fn upper(&self) -> f64 {
        self.interval.1.clamp(AGAIN.0 * self.seconds, AGAIN.1 * self.seconds)
    }
}

/// How carefully a network is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Care {
    /// Once: for the many networks that a model is fitted to.
    Once,
    /// In several sittings with pauses between them, of which the quickest counts: a core may be slower for seconds, which
    /// no repeat inside them can tell. For networks whose time decides.
    Sittings,
}

/// Sittings of a careful measurement.
const SITTINGS: usize = 5;
/// The pause between two sittings.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(400);

/// Measures one phase of a network on one input; `memory` is what it may take, in bytes.
pub fn measure(
    architecture: &Architecture,
    phase: Phase,
    memory: Option<u64>,
    care: Care,
) -> Result<Latency> {
    let mut best = sitting(architecture, phase, memory)?;
    for _ in 1..if care == Care::Sittings { SITTINGS } else { 1 } {
        std::thread::sleep(PAUSE);
        let next = sitting(architecture, phase, memory)?;
        if next.seconds < best.seconds {
            best = next;
        }
    }
    Ok(best)
}

fn sitting(architecture: &Architecture, phase: Phase, memory: Option<u64>) -> Result<Latency> {
    phase.check(architecture)?;
    let (pass, setting) = (Pass { batch: 1, ..Pass::forward() }, Setting::new(architecture, Seed(0)));
    if let Some(budget) = memory {
        let needed = match phase {
            Phase::Prefill => probe::peak_bytes::<f32>(&setting, &pass)?,
            Phase::Decode => network::decoding_bytes::<f32>(architecture)?,
        };
        if needed > budget {
            return Err(Error::Memory { needed, budget });
        }
    }
    let input = probe::input(&setting, &pass)?;
    let weights: Weights<f32> = Weights::shared(architecture, Seed(0));
    match phase {
        Phase::Prefill => prefill(architecture, &input, &weights),
        Phase::Decode => decode(architecture, &input, &weights),
    }
}

fn prefill(architecture: &Architecture, input: &Input<f32>, weights: &Weights<f32>) -> Result<Latency> {
    let mut space = Workspace::new();
    repeats::measure(|| {
        let mut tape = Tape::new(weights, &mut space, false);
        tape.without_head();
        network::forward(architecture, input, &mut tape);
        tape.close();
        Ok(())
    })
}

fn decode(architecture: &Architecture, input: &Input<f32>, weights: &Weights<f32>) -> Result<Latency> {
    let Input::Tokens { ids, .. } = input else {
        return Err(Error::NotDecoder { family: architecture.family().to_string() });
    };
    let mut decoder = Decoder::new(architecture, weights)?;
    let (last, prompt) = ids.split_last().ok_or_else(|| Error::option("tokens", "the context has none"))?;
    if !prompt.is_empty() {
        decoder.feed(prompt)?;
    }
    repeats::measure(|| decoder.peek(*last).map(drop))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space;
    use serde_json::json;

    /// Four times the layers cannot be faster; a budget of one byte is refused before anything is drawn.
    #[test]
    fn more_layers_take_longer() {
        let network = |layers: u32| {
            let value = json!({"space": "gpt2", "n_layer": layers, "d_model": 128, "n_head": 2, "d_inner": 512,
                "vocab_size": 200});
            space::read_architecture(&value).unwrap()
        };
        for phase in [Phase::Prefill, Phase::Decode] {
            let [one, four] =
                [2, 8].map(|layers| measure(&network(layers), phase, None, Care::Once).unwrap());
            assert!(four.seconds > 1.5 * one.seconds, "{one:?} {four:?}");
            assert_eq!(measure(&network(2), phase, Some(1), Care::Once).unwrap_err().kind(), "memory");
        }
    }

    #[test]
    fn an_encoder_has_no_next_token() {
        let bert = space::read_architecture(&json!({"family": "bert", "vocab_size": 4, "context_len": 2,
            "hidden_size": 4, "num_layers": 1, "num_heads": 1, "ffn_dim": 4}))
        .unwrap();
        assert_eq!(measure(&bert, Phase::Decode, None, Care::Once).unwrap_err().kind(), "not-decoder");
        assert!(measure(&bert, Phase::Prefill, None, Care::Once).unwrap().seconds > 0.0);
    }
}
