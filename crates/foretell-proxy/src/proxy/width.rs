//! Width: how wide a block is on average.
//!
//! ```text
//! s = mean over blocks of the residual width
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
pub struct Width {}

pub(super) const ABOUT: &About = &About {
    name: "width",
    sentence: "Width: how wide a block is on average.",
    formula: "s = mean over blocks of the residual width",
    ..About::BASELINE
};

impl Proxy for Width {
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        let (mut sum, mut blocks) = (0, 0u64);
        input.subject.blocks(&mut |block| {
            sum += block.width;
            blocks += 1;
        });
        Ok(Score::from(sum as f64 / blocks as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::super::toy::Toy;

    /// Widths 2, 3 and 7: 12 / 3 = 4.
    #[test]
    fn three_blocks() {
        assert_eq!(Toy::new().block(2, 1).block(3, 1).block(7, None).value("width"), 4.0);
    }
}
