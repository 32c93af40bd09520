//! Depth: how many blocks there are.
//!
//! ```text
//! s = number of blocks (nodes of a recurrent cell)
//! ```
//!
//! - Paper: none; a baseline that every proxy has to beat.
//! - Direction: higher is better. Cost: the architecture alone.
//! - Departures from the paper: none known.
use super::{About, Proxy, ProxyInput, Score};
use crate::error::Result;
use serde::Deserialize;

/// See the [module documentation](self).
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Depth {}

pub(super) const ABOUT: &About = &About {
    name: "depth",
    sentence: "Depth: how many blocks there are.",
    formula: "s = number of blocks (nodes of a recurrent cell)",
    published: "FlexiBERT .682/.834 (tau/rho)",
    ..About::BASELINE
};

impl Proxy for Depth {
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        Ok(Score::from(input.subject.depth() as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::super::toy::Toy;

    /// Three blocks, whatever their width.
    #[test]
    fn three_blocks() {
        assert_eq!(Toy::new().block(2, 1).block(3, 1).block(7, None).value("depth"), 3.0);
    }
}
