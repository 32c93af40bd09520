//! Decoder parameters: the weights of attention and feed-forward layers.
//!
//! ```text
//! s = attention weights + feed-forward weights
//! ```
//!
//! - Paper: LiteTransformerSearch (Javaheripi et al., NeurIPS 2022).
//! - Direction: higher is better. Cost: the architecture alone.
//! - Departures from the paper: cells of recurrent networks count as their one part.
use super::{About, Proxy, ProxyInput, Score};
use crate::architecture::Part;
use crate::error::Result;
use serde::Deserialize;

/// See the [module documentation](self).
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecoderParams {}

pub(super) const ABOUT: &About = &About {
    name: "decoder-params",
    sentence: "Decoder parameters: the weights of attention and feed-forward layers.",
    formula: "s = attention weights + feed-forward weights",
    paper: "LiteTransformerSearch (Javaheripi et al., NeurIPS 2022)",
    published: "GPT-2 WikiText-103 .847/.967 (tau/rho)",
    ..About::BASELINE
};

impl Proxy for DecoderParams {
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        let params = input.subject.params();
        Ok(Score::from(
            (params.part(Part::Attention) + params.part(Part::Ffn) + params.part(Part::Cell)) as f64,
        ))
    }
}
