//! Depth times width: the number of residual features over all blocks.
//!
//! ```text
//! s = sum over blocks of the residual width
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
pub struct DepthTimesWidth {}

pub(super) const ABOUT: &About = &About {
    name: "depth-times-width",
    sentence: "Depth times width: the number of residual features over all blocks.",
    formula: "s = sum over blocks of the residual width",
    published: "FlexiBERT .745/.875, GPT-2 WikiText-103 .838/.957 (tau/rho)",
    ..About::BASELINE
};

impl Proxy for DepthTimesWidth {
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        let mut sum = 0;
        input.subject.blocks(&mut |block| sum += block.width);
        Ok(Score::from(sum as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::super::toy::Toy;

    /// Widths 2, 3 and 7: 2 + 3 + 7 = 12.
    #[test]
    fn three_blocks() {
        assert_eq!(Toy::new().block(2, 1).block(3, 1).block(7, None).value("depth-times-width"), 12.0);
    }
}
