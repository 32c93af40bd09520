//! Parameter count: how large the network is.
//!
//! ```text
//! s = number of weights
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
pub struct Params {}

pub(super) const ABOUT: &About = &About {
    name: "params",
    sentence: "Parameter count: how large the network is.",
    formula: "s = number of weights",
    published: "GPT-2 WikiText-103 .582/.737 (tau/rho); FlexiBERT .454/.653 as published, .485/.676 as described, .573/.765 as trained",
    ..About::BASELINE
};

impl Proxy for Params {
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        Ok(Score::from(input.subject.params().total as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::super::toy::Toy;
    use crate::architecture::{Form, Init, Role, Tensor};

    /// A 2 x 3 map, two biases and a table of 3: 6 + 2 + 3 = 11. A head of 4 that published counts leave out adds nothing.
    #[test]
    fn tensors_that_count_by_hand() {
        let tied = Tensor::new("head", Role::Head, Form::Linear, &[1, 4], Init::Zeros).uncounted();
        let toy = Toy::new()
            .matrix("q", Role::Query, 0, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
            .table("q.bias", Role::Query, 0, [[1.0, 2.0]])
            .table("words", Role::Embedding, None, [[1.0, 2.0, 3.0]])
            .tensor(tied, &[0.0; 4]);
        assert_eq!(toy.value("params"), 11.0);
    }
}
