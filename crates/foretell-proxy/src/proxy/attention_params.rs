//! Attention parameters: the weights of all token mixers.
//!
//! ```text
//! s = attention weights
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
pub struct AttentionParams {}

pub(super) const ABOUT: &About = &About {
    name: "attention-params",
    sentence: "Attention parameters: the weights of all token mixers.",
    formula: "s = attention weights",
    published: "GPT-2 WikiText-103 .883/.977 (tau/rho)",
    ..About::BASELINE
};

impl Proxy for AttentionParams {
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        Ok(Score::from(input.subject.params().part(Part::Attention) as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::super::toy::Toy;
    use crate::architecture::Role;

    /// Queries 6, their bias 2, the output map 4: 12. The feed-forward layer's 5 are left out.
    #[test]
    fn attention_by_hand() {
        let toy = Toy::new()
            .matrix("q", Role::Query, 0, [[0.0; 3]; 2])
            .table("q.bias", Role::Query, 0, [[0.0; 2]])
            .matrix("out", Role::AttentionOut, 1, [[0.0; 2]; 2])
            .matrix("fc1", Role::FfnIn, 1, [[0.0; 5]]);
        assert_eq!(toy.value("attention-params"), 12.0);
    }
}
