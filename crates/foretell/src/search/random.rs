//! Random search: the yardstick of every other.
//!
//! ```text
//! draw points until the budget ends; the best is the answer
//! ```
//!
//! - Paper: TF-TAS and AZ-NAS search their spaces with 8,000 random draws.
//! - Departures from the paper: no point is drawn twice.
use super::{About, Build, SearchContext, Searcher, Told, counts};
use crate::seed::Rng;
use serde::{Deserialize, Serialize};

/// See the [module documentation](self).
pub struct Random {
    options: Options,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    samples: usize,
    batch: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options { samples: 8000, batch: 50 }
    }
}

pub(super) const ABOUT: &About = &About {
    name: "random",
    sentence: "Random search: the yardstick of every other.",
    steps: "draw points until the budget ends; the best is the answer",
    paper: "none: a baseline; 8,000 draws as in TF-TAS and AZ-NAS",
    several: true,
    options: &[
        ("samples", "8000", "points drawn unless a budget is given"),
        ("batch", "50", "points drawn at a time"),
    ],
    departures: "no point is drawn twice",
};

impl<P> Build<P> for Random {
    type Options = Options;
    fn build(options: Options) -> Result<Self, String> {
        counts(&[("samples", options.samples), ("batch", options.batch)])?;
        Ok(Random { options })
    }
}

impl<P> Searcher<P> for Random {
    fn ask(&mut self, context: &mut dyn SearchContext<P>, rng: &mut Rng) -> Vec<P> {
        (0..self.options.batch)
            .map_while(|_| context.propose(rng, &mut |operators, rng| operators.sample(rng)))
            .collect()
    }
    fn tell(&mut self, _generation: Vec<Told<P>>) {}
    fn planned(&self) -> u64 {
        self.options.samples as u64
    }
}
