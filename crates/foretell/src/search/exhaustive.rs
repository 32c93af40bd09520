//! Every point of a space that can be counted, in its own order.
//!
//! ```text
//! for each index: score the point if it is inside the limits
//! ```
//!
//! - Paper: none; NSC and PiT's benchmark enumerate their spaces.
//! - Departures from the paper: none known.
use super::{About, Build, Nth, SearchContext, Searcher, Told, counts};
use crate::seed::Rng;
use serde::{Deserialize, Serialize};

/// See the [module documentation](self).
pub struct Exhaustive {
    options: Options,
    next: u64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    batch: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options { batch: 1000 }
    }
}

pub(super) const ABOUT: &About = &About {
    name: "exhaustive",
    sentence: "Every point of a space that can be counted, in its own order.",
    steps: "for each index: score the point if it is inside the limits",
    paper: "none",
    several: true,
    options: &[("batch", "1000", "points scored at a time")],
    departures: "none",
};

impl<P> Build<P> for Exhaustive {
    type Options = Options;
    fn build(options: Options) -> Result<Self, String> {
        counts(&[("batch", options.batch)])?;
        Ok(Exhaustive { options, next: 0 })
    }
}

impl<P> Searcher<P> for Exhaustive {
    fn ask(&mut self, context: &mut dyn SearchContext<P>, _rng: &mut Rng) -> Vec<P> {
        let mut points = Vec::new();
        while points.len() < self.options.batch {
            match context.nth(self.next) {
                Nth::Fresh(point) => points.push(point),
                Nth::Refused => {}
                Nth::End => break,
            }
            self.next += 1;
        }
        points
    }
    fn tell(&mut self, _generation: Vec<Told<P>>) {}
    fn planned(&self) -> u64 {
        u64::MAX
    }
}
