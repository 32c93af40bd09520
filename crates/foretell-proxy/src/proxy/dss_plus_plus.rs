//! DSS++: the rank of diversity plus the rank of saliency within a set.
//!
//! ```text
//! s(A) = rank(Σ_l D_l(A)) + rank(Σ_l S_l(A))        D, S: as in dss    rank 1: the worst of the set
//! ```
//!
//! - Paper: *T-Razor* eq. 10.
//! - Direction: higher is better. Cost: as [dss](super::dss); ranks are taken again whenever the set grows.
//! - Departures from the paper: ties share their average rank. Diversity and saliency depart as in dss, and
//!   so do the options.
use super::dss::{Dss, OPTIONS};
use super::prelude::*;

/// See the [module documentation](self).
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
pub struct DssPlusPlus(Dss);

pub(super) const ABOUT: &About = &About {
    name: "dss++",
    version: 3,
    sentence: "DSS++: the rank of diversity plus the rank of saliency within a set.",
    formula: "s(A) = rank(Σ_l D_l) + rank(Σ_l S_l)",
    paper: "T-Razor eq. 10",
    cost: Cost::Backward,
    options: OPTIONS,
    ranges: super::dss::RANGES,
    parts: &["diversity", "saliency"],
    departures: "ties share their average rank; diversity and saliency depart as in dss",
    published: "AutoFormer .716, .664, .431 (T-Razor)",
    ..About::SHAPE
};

impl Proxy for DssPlusPlus {
    fn needs(&self, subject: &dyn Subject) -> Vec<Pass> {
        vec![self.0.pass(subject)]
    }
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        let (mut terms, salient) = self.0.terms(ABOUT, input)?;
        let total = |terms: &[Term]| terms.iter().map(|term| term.value).sum();
        let parts = vec![total(&terms), total(&salient)];
        terms.extend(salient);
        Ok(Score::set(parts, terms).note(input.trap(&self.0.pass(input.subject))))
    }
    fn within(&self, set: &[Vec<f64>]) -> Vec<f64> {
        let [diversity, saliency] = [0, 1].map(|part| ranks(set.iter().map(|parts| parts[part])));
        diversity.iter().zip(saliency).map(|(d, s)| d + s).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::toy::{Toy, near};
    use super::*;

    /// Parts: diversity 2 · 3 = 6 and saliency |1·1| + |−2·(−1)| = 3. Within a set of parts (6, 3), (5, 4), (1, 4): ranks
    /// 3, 2, 1 of diversity and 1, 2.5, 2.5 of saliency, so 4, 4.5, 3.5.
    #[test]
    fn three_networks_by_hand() {
        let toy = Toy::new()
            .kind(NetworkKind::Vision)
            .matrix("q", Role::Query, 0, [[1.0, 1.0], [1.0, -1.0]])
            .matrix("fc1", Role::FfnIn, 0, [[1.0, -2.0]])
            .pass(Pass::linearised(), |seen| {
                seen.gradient("q", [[1.0, 0.0], [0.0, 2.0]]).gradient("fc1", [[1.0, -1.0]])
            });
        let score = toy.score("dss++").unwrap();
        near(score.parts[0], 6.0);
        assert_eq!((score.parts[1], score.parts.len(), score.value), (3.0, 2, 0.0));
        let within = DssPlusPlus::default().within(&[vec![6.0, 3.0], vec![5.0, 4.0], vec![1.0, 4.0]]);
        assert_eq!(within, [4.0, 4.5, 3.5]);
    }
}
