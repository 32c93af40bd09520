//! How much a proxy's order depends on what is drawn: weights, inputs, initialisation, kind of input, size of the batch.
//!
//! One source of variation changes from draw to draw, and everything else stays the same. Every draw is a request of its own,
//! so that scores are cached and shared as all others are.

use super::{Benchmark, Column};
use crate::catalogue;
use crate::error::{Error, Result};
use crate::network::Initialisation;
use crate::proxy::Request;
use crate::rank::kendall_tau_b;
use crate::score::{Cell, Scorer};
use serde::Serialize;

/// What changes from draw to draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Variation {
    /// Seeds of the weights; inputs stay.
    Weights,
    /// Seeds of inputs and of all that is drawn beside the weights; weights stay.
    Inputs,
    /// Distributions that maps are filled from.
    Init,
    /// What the network is fed: ones, normal noise, uniform noise.
    Feed,
    /// Samples at once.
    Batch,
}

/// Kinds of input that are compared.
const FEEDS: [&str; 3] = ["ones", "data", "uniform"];
/// Sizes of a batch that are compared; the largest is also the largest of the papers.
const BATCHES: [&str; 5] = ["4", "8", "16", "32", "64"];

impl Variation {
    /// All of them.
    pub const ALL: [Variation; 5] =
        [Variation::Weights, Variation::Inputs, Variation::Init, Variation::Feed, Variation::Batch];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Variation::Weights => "weights",
            Variation::Inputs => "inputs",
            Variation::Init => "init",
            Variation::Feed => "feed",
            Variation::Batch => "batch",
        }
    }

    /// The variation of this name.
    pub fn named(name: &str) -> Result<Self> {
        let known = Self::ALL.into_iter().find(|variation| variation.name() == name);
        known.ok_or_else(|| {
            catalogue::unknown("source of variation", name, Self::ALL.iter().map(|known| known.name()))
        })
    }

    /// Name and options of each draw; `seeds` are those of variations that are seeds.
    pub fn draws(self, seeds: &[u64]) -> Vec<(String, String)> {
        let one = |option: &str, value: &str| (value.to_owned(), format!("{option}={value}"));
        match self {
            Variation::Weights => seeds.iter().map(|seed| one("weights-seed", &seed.to_string())).collect(),
            Variation::Inputs => seeds.iter().map(|seed| one("inputs-seed", &seed.to_string())).collect(),
            Variation::Init => Initialisation::ALL.iter().map(|init| one("init", init.name())).collect(),
            Variation::Feed => FEEDS.iter().map(|feed| one("feed", feed)).collect(),
            Variation::Batch => BATCHES.iter().map(|batch| one("batch", batch)).collect(),
        }
    }
}

/// A proxy under one source of variation.
#[derive(Debug, Serialize)]
pub struct Stability {
    /// The proxy as asked for.
    pub proxy: String,
    /// What was varied.
    pub variation: Variation,
    /// Every draw.
    pub draws: Vec<Draw>,
    /// Mean over draws of the tau-b with the target.
    pub mean: Option<f64>,
    /// Its standard deviation over draws.
    pub deviation: Option<f64>,
    /// Mean tau-b between the orders of two draws; none if there are not two.
    pub between: Option<f64>,
    /// Mean over networks of the deviation of the score over draws, divided by the size of its mean. None where one draw failed
    /// or a mean is zero.
    pub relative_deviation: Option<f64>,
}

/// One draw of a [`Stability`].
#[derive(Debug, Serialize)]
pub struct Draw {
    /// The seed, initialisation, input or size.
    pub name: String,
    /// Tau-b of the scores with the target, oriented so that higher is better.
    pub kendall: Option<f64>,
    /// Networks without a score.
    pub failed: usize,
    /// The first failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// The score of every labelled network, in the order of the table.
    #[serde(skip)]
    pub scores: Vec<Option<f64>>,
}

/// The requests of every draw of every proxy, proxy by proxy.
pub fn requests(proxies: &[Request], variation: Variation, seeds: &[u64]) -> Result<Vec<Request>> {
    let mut requests = Vec::new();
    for proxy in proxies {
        if !proxy.about().drawn() {
            let message = "looks at the shape of a network alone, so nothing that is drawn changes it";
            return Err(Error::option(proxy.label(), message));
        }
        for (_, options) in variation.draws(seeds) {
            requests.push(proxy.further(&options)?);
        }
    }
    Ok(requests)
}

/// Measures proxies on a table with a scorer of their [`requests`]; everything that does not vary is drawn with the first seed.
/// `done` is told after each network.
pub fn stability(
    benchmark: &Benchmark,
    target: &Column,
    scorer: &Scorer,
    (proxies, variation, seeds): (&[Request], Variation, &[u64]),
    done: &(dyn Fn() + Sync),
) -> Result<Vec<Stability>> {
    let labelled: Vec<usize> = (0..target.values.len()).filter(|i| target.values[*i].is_some()).collect();
    let networks: Vec<_> = labelled.iter().map(|i| benchmark.architectures[*i].clone()).collect();
    let sign = if target.lower_is_better { -1.0 } else { 1.0 };
    let truth: Vec<f64> =
        labelled.iter().filter_map(|i| target.values[*i]).map(|value| sign * value).collect();
    let rows = scorer.table(&networks, &seeds[..seeds.len().min(1)], done)?;
    let names: Vec<String> = variation.draws(seeds).into_iter().map(|(name, _)| name).collect();
    let one = |(place, proxy): (usize, &Request)| {
        let draw = |(nth, name): (usize, &String)| {
            let request = place * names.len() + nth;
            let column: Vec<&Cell> = rows.iter().map(|row| &row.cells[request]).collect();
            Draw::of(name, &scorer.order(request, &column), &truth)
        };
        Stability::of(proxy.label(), variation, names.iter().enumerate().map(draw).collect())
    };
    Ok(proxies.iter().enumerate().map(one).collect())
}

impl Draw {
    fn of(name: &str, scores: &[Result<f64>], truth: &[f64]) -> Self {
        let known: Vec<Option<f64>> = scores.iter().map(|score| score.as_ref().ok().copied()).collect();
        let failures: Vec<&Error> = scores.iter().filter_map(|score| score.as_ref().err()).collect();
        let pairs = known.iter().zip(truth).filter_map(|(score, truth)| Some(((*score)?, *truth)));
        let (ours, theirs): (Vec<f64>, Vec<f64>) = pairs.unzip();
        Draw {
            name: name.to_owned(),
            kendall: kendall_tau_b(&ours, &theirs),
            failed: failures.len(),
            failure: failures.first().map(ToString::to_string),
            scores: known,
        }
    }
}

impl Stability {
    fn of(proxy: &str, variation: Variation, draws: Vec<Draw>) -> Self {
        let taus: Vec<f64> = draws.iter().filter_map(|draw| draw.kendall).collect();
        let mut between = Vec::new();
        for (i, a) in draws.iter().enumerate() {
            between.extend(draws[..i].iter().filter_map(|b| agreement(a, b)));
        }
        let networks = draws.first().map_or(0, |draw| draw.scores.len());
        let relative = |network: usize| {
            let scores: Option<Vec<f64>> = draws.iter().map(|draw| draw.scores[network]).collect();
            let (mean, deviation) = spread(&scores?);
            deviation.zip(mean.filter(|mean| *mean != 0.0)).map(|(deviation, mean)| deviation / mean.abs())
        };
        let relative: Option<Vec<f64>> = (0..networks).map(relative).collect();
        let (mean, deviation) = spread(&taus);
        Stability {
            proxy: proxy.to_owned(),
            variation,
            draws,
            mean,
            deviation,
            between: spread(&between).0,
            relative_deviation: relative.and_then(|relative| spread(&relative).0),
        }
    }
}

/// Tau-b of the networks that both draws score.
fn agreement(a: &Draw, b: &Draw) -> Option<f64> {
    let both = a.scores.iter().zip(&b.scores).filter_map(|(a, b)| Some(((*a)?, (*b)?)));
    let (a, b): (Vec<f64>, Vec<f64>) = both.unzip();
    kendall_tau_b(&a, &b)
}

/// Mean and standard deviation, where they exist.
fn spread(values: &[f64]) -> (Option<f64>, Option<f64>) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let deviation = (values.len() > 1).then(|| (squares / (n - 1.0)).sqrt());
    ((!values.is_empty()).then_some(mean), deviation)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(scores: &[f64]) -> Draw {
        Draw::of("x", &scores.iter().map(|score| Ok(*score)).collect::<Vec<_>>(), &[1.0, 2.0, 3.0])
    }

    /// Orders 1 2 3, 1 3 2 and 3 2 1 have tau 1, 1/3 and -1 with the truth, and 1/3, -1 and -1/3 with each other.
    #[test]
    fn figures_by_hand() {
        let draws = vec![draw(&[1.0, 2.0, 3.0]), draw(&[1.0, 3.0, 2.0]), draw(&[3.0, 2.0, 1.0])];
        let found = Stability::of("p", Variation::Init, draws);
        let close = |a: Option<f64>, b: f64| assert!((a.unwrap() - b).abs() < 1e-12, "{a:?} is not {b}");
        close(found.mean, 1.0 / 9.0);
        close(
            found.deviation,
            (((8.0 / 9.0_f64).powi(2) + (2.0 / 9.0_f64).powi(2) + (10.0 / 9.0_f64).powi(2)) / 2.0).sqrt(),
        );
        close(found.between, -1.0 / 3.0);
        // Scores (1, 1, 3), (2, 3, 2), (3, 2, 1): deviations 1.1547, .57735, 1 and means 5/3, 7/3, 2.
        close(
            found.relative_deviation,
            (1.154_700_538_379_251_5 * 0.6 + 0.577_350_269_189_625_7 * 3.0 / 7.0 + 0.5) / 3.0,
        );
    }

    #[test]
    fn what_is_not_drawn_has_no_stability() {
        let error = requests(&[Request::parse("nsc").unwrap()], Variation::Weights, &[0, 1]).unwrap_err();
        assert!(error.to_string().contains("nothing that is drawn changes it"), "{error}");
        let made =
            requests(&[Request::parse("snip[batch=2]").unwrap()], Variation::Weights, &[0, 1]).unwrap();
        let labels: Vec<&str> = made.iter().map(Request::label).collect();
        assert_eq!(labels, ["snip[batch=2,weights-seed=0]", "snip[batch=2,weights-seed=1]"]);
        assert!(Variation::named("wieghts").unwrap_err().to_string().contains("did you mean 'weights'"));
    }
}
