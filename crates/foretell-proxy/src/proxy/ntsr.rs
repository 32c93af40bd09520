//! NTSR: trainability and expressivity combined by rank.
//!
//! ```text
//! s(A) = ½ (rank NTKT(A) + rank SEPT(A))        within the set, rank 1: the worst
//! ```
//!
//! - Paper: *ETAS* eq. 17.
//! - Direction: higher is better. Cost: as [ntkt](super::ntkt).
//! - Departures from the paper: ties share their average rank. Options as for ntkt, and `tokens` as for sept.
use super::ntkt::Ntkt;
use super::prelude::*;
use super::sept::Sept;

/// See the [module documentation](self).
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
pub struct Ntsr(Ntkt);

pub(super) const ABOUT: &About = &About {
    name: "ntsr",
    sentence: "NTSR: trainability and expressivity combined by rank.",
    formula: "s(A) = ½ (rank NTKT + rank SEPT)",
    paper: "ETAS eq. 17",
    cost: Cost::Passes,
    options: super::ntkt::OPTIONS,
    ranges: super::ntkt::RANGES,
    parts: &["ntkt", "sept"],
    departures: "ties share their average rank",
    published: "AutoFormer .74/.90, .74/.91, .75/.92; GPT-2 WikiText-103 .81/.98 (ETAS, own networks)",
    ..About::SHAPE
};

impl Proxy for Ntsr {
    fn needs(&self, subject: &dyn Subject) -> Vec<Pass> {
        self.0.needs(subject)
    }
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        let (ntkt, sept) = (self.0.score(input)?, Sept::default().score(input)?);
        Ok(Score::set(vec![ntkt.value, sept.value], ntkt.terms))
    }
    fn within(&self, set: &[Vec<f64>]) -> Vec<f64> {
        let [trainable, expressive] = [0, 1].map(|part| ranks(set.iter().map(|parts| parts[part])));
        trainable.iter().zip(expressive).map(|(t, e)| 0.5 * (t + e)).collect()
    }
}
