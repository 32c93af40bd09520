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

#[cfg(test)]
mod tests {
    use super::super::toy::Toy;
    use crate::architecture::Role;

    /// Attention 6, feed-forward 2, cell 3: 11. The norm's 4 and the word table's 5 are left out.
    #[test]
    fn parts_by_hand() {
        let toy = Toy::new()
            .table("words", Role::Embedding, None, [[0.0; 5]])
            .matrix("q", Role::Query, 0, [[0.0; 3]; 2])
            .matrix("fc1", Role::FfnIn, 0, [[0.0; 2]])
            .matrix("cell", Role::CellLinear, 1, [[0.0; 3]])
            .table("norm", Role::Norm, 1, [[0.0; 4]]);
        assert_eq!(toy.value("decoder-params"), 11.0);
    }
}
