//! A blend: several proxies as one ranking, the weighted mean of their ranks.
//!
//! ```text
//! s = Σ_i w_i rank_i        rank_i: place of a candidate by proxy i within the set, 0 to 1
//! ```
//!
//! Written `blend(0.6 * nsc, 0.4 * depth)`; what `foretell calibrate` yields.
//!
//! - Paper: none. A set score, as dss++ and NTSR are.
//! - Direction: higher is better. Cost: that of its members together.
//! - Departures: members set no fields of the architecture unless they look at the shape alone.
use super::formula::call;
use super::prelude::*;
use super::split;
use super::{Request, ranks};

/// The word that introduces a blend.
pub(super) const NAME: &str = "blend";

/// See the [module documentation](self).
pub(super) struct Blend {
    members: Vec<(f64, Request)>,
}

/// The largest magnitude of a weight.
const MOST: f64 = 1e6;

const SHAPE: &About = &About {
    name: NAME,
    sentence: "A blend: several proxies as one ranking, the weighted mean of their ranks.",
    formula: "s = Σ w_i rank_i within the set,  written as blend(0.6 * nsc, 0.4 * depth)",
    paper: "none: foretell calibrate",
    parts: &["the rank by each member"],
    ..About::SHAPE
};
const DRAWN: &About = &About { cost: Cost::Backward, ..*SHAPE };

impl Blend {
    /// The blend that a text describes, with its card.
    pub(super) fn parse(text: &str) -> Result<(Self, &'static About)> {
        let (_, inside) = call(text).map_err(|e| e.at(text))?;
        let member = |part: &str| {
            let wrong = || Error::option(text, format!("'{part}' is not of the form weight * proxy"));
            let (weight, proxy) = part.split_once('*').ok_or_else(wrong)?;
            let weight: f64 = weight.trim().parse().map_err(|_| wrong())?;
            let request = Request::parse(proxy)?;
            // Members look at one network with one draw of its weights.
            let drawn = request.about().drawn()
                && (!request.overrides.is_empty() || request.pass_overrides.draws_apart());
            if weight.is_nan() || weight.abs() > MOST || drawn || request.is_set_score() {
                let message = format!(
                    "'{part}': a member has a weight of at most {MOST}, a score of its own, and sets no field, seed or init"
                );
                return Err(Error::option(text, message));
            }
            Ok((weight, request))
        };
        let members = split(inside).into_iter().map(member).collect::<Result<Vec<_>>>()?;
        let drawn = members.iter().any(|(_, request)| request.about().drawn());
        Ok((Blend { members }, if drawn { DRAWN } else { SHAPE }))
    }
}

impl Proxy for Blend {
    fn needs(&self, subject: &dyn Subject) -> Vec<Pass> {
        self.members.iter().flat_map(|(_, request)| request.needs(subject)).collect()
    }
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        let part = |(_, request): &(f64, Request)| match request.about().drawn() {
            true => Ok(request.score(input)?.value),
            false => request.of_shape(input.subject),
        };
        Ok(Score::set(self.members.iter().map(part).collect::<Result<_>>()?, Vec::new()))
    }
    fn within(&self, set: &[Vec<f64>]) -> Vec<f64> {
        let mut sums = vec![0.0; set.len()];
        for (place, (weight, _)) in self.members.iter().enumerate() {
            let ranks = ranks(set.iter().map(|parts| parts[place]));
            sums.iter_mut().zip(ranks).for_each(|(sum, rank)| *sum += weight * rank / set.len() as f64);
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::super::toy::Toy;
    use super::*;

    /// Ranks of (1, 2, 3) and (5, 9, 5) over three: 1/3, 2/3, 1 and 1.5/3, 1, 1.5/3; 0.75 and 0.25 of them.
    #[test]
    fn ranks_are_weighted() {
        let request = Request::parse("blend(0.75 * params, 0.25 * depth)").unwrap();
        let scores = [[1.0, 5.0], [2.0, 9.0], [3.0, 5.0]].map(|parts| Score::set(parts.to_vec(), Vec::new()));
        let within = request.within(&scores.iter().collect::<Vec<_>>());
        for (found, expected) in within.iter().zip([0.375, 0.75, 0.875]) {
            assert!((found - expected).abs() < 1e-12);
        }
        assert!(Request::parse("blend(params)").is_err());
        assert!(Request::parse("blend(1 * dss++)").is_err());
    }

    /// Parts are the members' own scores: SNIP |2·(−3)| = 6 and a depth of 2.
    #[test]
    fn members_by_hand() {
        let toy = Toy::new()
            .block(1, 1)
            .block(1, 1)
            .matrix("q", Role::Query, 0, [[2.0]])
            .pass(Pass::backward(Loss::Natural), |seen| seen.gradient("q", [[-3.0]]));
        let score = toy.score("blend(0.5 * snip, 0.5 * depth)").unwrap();
        assert_eq!(score.parts, [6.0, 2.0]);
    }
}
