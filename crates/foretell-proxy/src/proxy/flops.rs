//! FLOPs: how much work one forward pass of one input is.
//!
//! ```text
//! s = multiply-adds of one forward pass
//! ```
//!
//! - Paper: none; a baseline that every proxy has to beat.
//! - Direction: higher is better. Cost: the architecture alone.
//! - Departures from the paper: none known. `counter = published` follows AutoFormer's released counter, which adds a
//!   token twice; other families have no published counter worth following.
use super::{About, Proxy, ProxyInput, Score};
use crate::architecture::Counter;
use crate::error::{Error, Result};
use serde::Deserialize;

/// See the [module documentation](self).
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Flops {
    counter: Which,
}

#[derive(Debug, Deserialize, Clone, Copy)]
#[serde(rename_all = "kebab-case")]
enum Which {
    Exact,
    Published,
}

impl Default for Flops {
    fn default() -> Self {
        Flops { counter: Which::Exact }
    }
}

pub(super) const ABOUT: &About = &About {
    name: "flops",
    sentence: "FLOPs: how much work one forward pass of one input is.",
    formula: "s = multiply-adds of one forward pass",
    options: &[("counter", "exact", "exact, or published: as AutoFormer's released code counts")],
    published: "ETAS prints .49/.68, .58/.78, .52/.74 on AutoFormer tiny, small, base (tau/rho)",
    ..About::BASELINE
};

impl Proxy for Flops {
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        let counter = match self.counter {
            Which::Exact => Counter::Exact,
            Which::Published => Counter::Published,
        };
        let count = input.subject.flops(counter).ok_or_else(|| Error::NotDefined {
            proxy: ABOUT.name,
            reason: format!(
                "the {} family has no published counter: use counter=exact",
                input.subject.name()
            ),
        })?;
        Ok(Score::from(count as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::super::toy::Toy;
    use super::*;

    /// Both counts as the network gives them: 70 exactly, 50 as published; without the second, no score.
    #[test]
    fn both_counters() {
        let toy = Toy::new().flops(Counter::Exact, 70);
        assert_eq!(toy.value("flops"), 70.0);
        assert_eq!(toy.score("flops[counter=published]").unwrap_err().kind(), "not-defined");
        assert_eq!(toy.flops(Counter::Published, 50).value("flops[counter=published]"), 50.0);
    }
}
