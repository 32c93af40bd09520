//! Feed-forward parameters: the weights of all feed-forward layers.
//!
//! ```text
//! s = feed-forward weights
//! ```
//!
//! - Paper: none; a baseline that every proxy has to beat.
//! - Direction: higher is better. Cost: the architecture alone.
//! - Departures from the paper: none known.
use super::{About, Proxy, ProxyInput, Score};
use crate::architecture::Part;
use crate::error::Result;
use serde::Deserialize;

/// See the [module documentation](self).
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FfnParams {}

pub(super) const ABOUT: &About = &About {
    name: "ffn-params",
    sentence: "Feed-forward parameters: the weights of all feed-forward layers.",
    formula: "s = feed-forward weights",
    ..About::BASELINE
};

impl Proxy for FfnParams {
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        Ok(Score::from(input.subject.params().part(Part::Ffn) as f64))
    }
}
