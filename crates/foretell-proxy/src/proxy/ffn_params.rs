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

#[cfg(test)]
mod tests {
    use super::super::toy::Toy;
    use crate::architecture::Role;

    /// Into the layer 6, its gate 2, out of it 3: 11. The queries' 5 are left out.
    #[test]
    fn feed_forward_by_hand() {
        let toy = Toy::new()
            .matrix("q", Role::Query, 0, [[0.0; 5]])
            .matrix("fc1", Role::FfnIn, 0, [[0.0; 3]; 2])
            .matrix("gate", Role::FfnGate, 0, [[0.0; 2]])
            .matrix("fc2", Role::FfnOut, 1, [[0.0; 3]]);
        assert_eq!(toy.value("ffn-params"), 11.0);
    }
}
