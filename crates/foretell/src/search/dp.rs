//! The exact optimum of a score that is a sum over layers, by dynamic programming.
//!
//! ```text
//! for each head: states = what was spent after each layer, with the best sums that reach it
//! ask for the best points inside the limits, once
//! ```
//!
//! - Paper: *NSC* solves its search so; the bounded knapsack is older.
//! - Departures from the paper: whether a score is such a sum is tried on networks before it is believed; of points that
//!   differ in the order of their layers alone one is given.
use super::{About, Build, SearchContext, Searcher, Told, counts};
use crate::seed::Rng;
use serde::{Deserialize, Serialize};

/// See the [module documentation](self).
pub struct Dp {
    options: Options,
    asked: bool,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    top: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options { top: 10 }
    }
}

pub(super) const ABOUT: &About = &About {
    name: "dp",
    sentence: "The exact optimum of a score that is a sum over layers, by dynamic programming.",
    steps: "states = what was spent after each layer, with the best sums that reach it; ask for the best points, once",
    paper: "NSC-DP; bounded knapsack",
    several: false,
    options: &[("top", "10", "how many of the best points are asked for")],
    departures: "sums are tried before they are believed; one point per order of layers",
};

impl<P> Build<P> for Dp {
    type Options = Options;
    fn build(options: Options) -> Result<Self, String> {
        counts(&[("top", options.top)])?;
        Ok(Dp { options, asked: false })
    }
}

impl<P> Searcher<P> for Dp {
    fn ask(&mut self, context: &mut dyn SearchContext<P>, _rng: &mut Rng) -> Vec<P> {
        if std::mem::replace(&mut self.asked, true) { Vec::new() } else { context.optimum(self.options.top) }
    }
    fn tell(&mut self, _generation: Vec<Told<P>>) {}
    fn planned(&self) -> u64 {
        self.options.top as u64
    }
}
