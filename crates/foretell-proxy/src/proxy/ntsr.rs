//! NTSR: trainability and expressivity combined by rank.
//!
//! ```text
//! s(A) = ½ (rank NTKT(A) + rank SEPT(A))        within the set, rank 1: the worst
//! ```
//!
//! - Paper: *ETAS* eq. 17.
//! - Direction: higher is better. Cost: as [ntkt](super::ntkt).
//! - Departures from the paper: ties share their average rank; else as ntkt. Options as for ntkt. `tokens` is the paper's T:
//!   the exponent of SEPT, and for text the length of what NTKT is computed on.
use super::ntkt::Ntkt;
use super::prelude::*;
use super::sept::Sept;

/// See the [module documentation](self).
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Ntsr {
    #[serde(flatten)]
    ntkt: Ntkt,
    tokens: Option<u32>,
}

pub(super) const ABOUT: &About = &About {
    name: "ntsr",
    version: 2,
    sentence: "NTSR: trainability and expressivity combined by rank.",
    formula: "s(A) = ½ (rank NTKT + rank SEPT)",
    paper: "ETAS eq. 17",
    cost: Cost::Passes,
    options: &OPTIONS,
    ranges: &RANGES,
    parts: &["ntkt", "sept"],
    departures: "ties share their average rank; else as ntkt",
    published: "AutoFormer .74/.90, .74/.91, .75/.92; GPT-2 WikiText-103 .81/.98 (ETAS, own networks)",
    ..About::SHAPE
};

const OPTIONS: [(&str, &str, &str); 5] = {
    let [eq, probes, exact, of] = *super::ntkt::OPTIONS;
    [eq, probes, exact, of, ("tokens", "the network's own", "T of SEPT, and the length of the texts of NTKT")]
};

const RANGES: [Range; 3] = {
    let [eq, probes] = *super::ntkt::RANGES;
    [eq, probes, Range::whole("tokens", 1, 1_048_576)]
};

impl Ntsr {
    fn pass(&self, subject: &dyn Subject) -> Pass {
        let pass = self.ntkt.pass();
        match self.tokens.filter(|_| subject.kind() != NetworkKind::Vision) {
            Some(tokens) => Pass { tokens: tokens as usize, ..pass },
            None => pass,
        }
    }
}

impl Proxy for Ntsr {
    fn needs(&self, subject: &dyn Subject) -> Vec<Pass> {
        vec![self.pass(subject)]
    }
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        let ntkt = self.ntkt.seen(input, &self.pass(input.subject))?;
        let sept = Sept::of_tokens(self.tokens.map(u64::from)).score(input)?;
        Ok(Score::set(vec![ntkt.value, sept.value], ntkt.terms))
    }
    fn within(&self, set: &[Vec<f64>]) -> Vec<f64> {
        let [trainable, expressive] = [0, 1].map(|part| ranks(set.iter().map(|parts| parts[part])));
        trainable.iter().zip(expressive).map(|(t, e)| 0.5 * (t + e)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::toy::{Toy, near};
    use super::*;

    /// Parts: a trace of (1 + 3) / 2 = 2, and for a width of 2 with two tokens ln 2 + ln 7. Within a set of parts (2, 1),
    /// (4, 3), (3, 3): ranks 1, 3, 2 and 1, 2.5, 2.5, halved sums 1, 2.75, 2.25.
    #[test]
    fn three_networks_by_hand() {
        let trace = Trace { mean: true, logits: false, probes: Some(8) };
        let toy = Toy::new()
            .block(2, 1)
            .tokens(2)
            .matrix("q", Role::Query, 0, [[1.0]])
            .pass(Pass { derivative: Derivative::Trace(trace), ..Pass::forward() }, |seen| {
                seen.traces(&[[1.0], [3.0]])
            });
        let score = toy.score("ntsr").unwrap();
        assert_eq!((score.parts[0], score.parts.len()), (2.0, 2));
        near(score.parts[1], 14f64.ln());
        // With one token of width 2: ln 2 + ln 3, and NTKT looks at passes of one token.
        let short = Pass { derivative: Derivative::Trace(trace), tokens: 1, ..Pass::forward() };
        let toy = toy.pass(short, |seen| seen.traces(&[[5.0], [7.0]]));
        let score = toy.score("ntsr[tokens=1]").unwrap();
        assert_eq!(score.parts[0], 6.0);
        near(score.parts[1], 6f64.ln());
        let within = Ntsr::default().within(&[vec![2.0, 1.0], vec![4.0, 3.0], vec![3.0, 3.0]]);
        assert_eq!(within, [1.0, 2.75, 2.25]);
    }
}
