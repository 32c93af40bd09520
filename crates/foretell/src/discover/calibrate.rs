//! One ranking from a handful of labels: the simplest proxy that the labels cannot tell from a better one.
//!
//! Three steps of a ladder are fitted: the best trivial count, the best single proxy, and a blend of at most three proxies
//! by ranks (ridge regression of ranks on ranks). Labels give the direction too: where large networks train worse, a count
//! is turned round. Each is estimated by leaving one label out at a time, the choice and the weights made again without it.
//! A step is taken only if its gain over the one below is above zero with 97.5 % of bootstrap resamples: a gain inside the
//! noise is not claimed.

use crate::error::{Error, Result};
use crate::rank;
use crate::seed::Seed;
use rand::RngExt;
use rayon::prelude::*;
use serde::Serialize;

/// How much weights are held back, per label.
const RIDGE: f64 = 0.1;
/// Proxies in a blend.
const MEMBERS: usize = 3;
/// Bootstrap resamples of the labels.
const RESAMPLES: u64 = 1000;

/// A proxy to choose from, with its score of every labelled network.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// The proxy as it is asked for.
    pub label: String,
    /// Whether it is only a count.
    pub trivial: bool,
    /// Its scores, higher is better.
    pub scores: Vec<f64>,
}

/// One step of the ladder.
#[derive(Debug, Clone, Serialize)]
pub struct Step {
    /// What it is: `count`, `single` or `blend`.
    pub kind: &'static str,
    /// The proxy that all labels give.
    pub proxy: String,
    /// Kendall's tau on the labels it was fitted to, which is optimistic.
    pub fitted: Option<f64>,
    /// Tau of predictions made without the label.
    pub left_out: Option<f64>,
    /// Its 95 % interval over resampled labels.
    pub interval: Option<[f64; 2]>,
    /// Gain over the simpler step taken so far, its 95 % interval.
    pub gain: Option<[f64; 2]>,
}

/// What labels gave.
#[derive(Debug, Clone, Serialize)]
pub struct Calibration {
    /// Labels used.
    pub labels: usize,
    /// The ladder, simplest first.
    pub steps: Vec<Step>,
    /// The step that was taken.
    pub taken: usize,
}

impl Calibration {
    /// The proxy to use.
    pub fn proxy(&self) -> &str {
        &self.steps[self.taken].proxy
    }
}

/// Fits the ladder to labels, larger is better; at least five and two different ones.
pub fn calibrate(candidates: &[Candidate], truth: &[f64], seed: u64) -> Result<Calibration> {
    let varied = |values: &[f64]| values.iter().all(|x| x.is_finite()) && rank::distinct(values) > 1;
    if truth.len() < 5 || !varied(truth) {
        let message =
            format!("{} labels, of which two at least differ, are too few: give five or more", truth.len());
        return Err(Error::option("labels", message));
    }
    let turned = |candidate: &Candidate| {
        [1.0, -1.0].map(|sign| Turned {
            label: candidate.label.clone(),
            trivial: candidate.trivial,
            sign,
            scores: candidate.scores.iter().map(|score| sign * score).collect(),
        })
    };
    let usable: Vec<Turned> =
        candidates.iter().filter(|candidate| varied(&candidate.scores)).flat_map(turned).collect();
    if !usable.iter().any(|candidate| candidate.trivial) {
        return Err(Error::option("proxies", "no count among them tells the labelled networks apart"));
    }
    let all: Vec<usize> = (0..truth.len()).collect();
    let kinds = ["count", "single", "blend"];
    let draws = resamples(truth.len(), seed);
    let mut steps: Vec<Step> = Vec::new();
    let mut taus: Vec<Vec<f64>> = Vec::new();
    for kind in kinds {
        let whole = fit(kind, &usable, truth, &all);
        let left_out: Vec<f64> = all
            .par_iter()
            .map(|row| {
                let others: Vec<usize> = all.iter().copied().filter(|other| other != row).collect();
                predict(&fit(kind, &usable, truth, &others), &usable, &others, *row)
            })
            .collect();
        let fitted: Vec<f64> = all.iter().map(|row| predict(&whole, &usable, &all, *row)).collect();
        let resampled: Vec<f64> = draws.par_iter().map(|rows| tau_of(&left_out, truth, rows)).collect();
        steps.push(Step {
            kind,
            proxy: text(&whole, &usable),
            fitted: rank::kendall_tau_b(&fitted, truth),
            left_out: rank::kendall_tau_b(&left_out, truth),
            interval: Some(interval(resampled.clone())),
            gain: None,
        });
        taus.push(resampled);
    }
    let mut taken = 0;
    for above in 1..steps.len() {
        let gains = taus[above].iter().zip(&taus[taken]).map(|(above, below)| above - below).collect();
        let gain = interval(gains);
        steps[above].gain = Some(gain);
        if gain[0] > 0.0 {
            taken = above;
        }
    }
    Ok(Calibration { labels: truth.len(), steps, taken })
}

/// A candidate in one direction.
struct Turned {
    label: String,
    trivial: bool,
    sign: f64,
    scores: Vec<f64>,
}

/// Weights of candidates.
type Weights = Vec<(usize, f64)>;

fn fit(kind: &str, candidates: &[Turned], truth: &[f64], rows: &[usize]) -> Weights {
    let pick = |column: &[f64]| rows.iter().map(|row| column[*row]).collect::<Vec<f64>>();
    let labels = pick(truth);
    let tau = |place: usize| rank::kendall_tau_b(&pick(&candidates[place].scores), &labels).unwrap_or(-1.0);
    let best = |among: &mut dyn Iterator<Item = usize>| {
        let mut best: Option<(usize, f64)> = None;
        for place in among {
            let tau = tau(place);
            if best.is_none_or(|(_, most)| tau > most) {
                best = Some((place, tau));
            }
        }
        best.expect("there is a candidate").0
    };
    let mut every = 0..candidates.len();
    match kind {
        "count" => vec![(best(&mut every.filter(|place| candidates[*place].trivial)), 1.0)],
        "single" => vec![(best(&mut every), 1.0)],
        _ => {
            let column = |values: &[f64]| centred(&rank::average_ranks(values));
            let target = column(&labels);
            let columns: Vec<Vec<f64>> =
                candidates.iter().map(|candidate| column(&pick(&candidate.scores))).collect();
            let mut weights = ridge(&columns, &target, &every.clone().collect::<Vec<_>>());
            weights.sort_by(|a, b| b.1.total_cmp(&a.1));
            let kept: Vec<usize> = weights.iter().take(MEMBERS).map(|(place, _)| *place).collect();
            let mut weights = ridge(&columns, &target, &kept);
            weights.retain(|(_, weight)| *weight > 1e-3);
            match weights.is_empty() {
                true => vec![(best(&mut every), 1.0)],
                false => {
                    let sum: f64 = weights.iter().map(|(_, weight)| weight).sum();
                    weights.iter().map(|(place, weight)| (*place, weight / sum)).collect()
                }
            }
        }
    }
}

/// Ranks from −1 to 1 around zero.
fn centred(ranks: &[f64]) -> Vec<f64> {
    let middle = (ranks.len() as f64 + 1.0) / 2.0;
    ranks.iter().map(|rank| (rank - middle) / middle).collect()
}

/// Non-negative ridge regression by coordinate descent.
fn ridge(columns: &[Vec<f64>], target: &[f64], places: &[usize]) -> Weights {
    let n = target.len() as f64;
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>() / n;
    let mut weights = vec![0.0; places.len()];
    let mut left = target.to_vec();
    for _ in 0..200 {
        for (weight, place) in weights.iter_mut().zip(places) {
            let column = &columns[*place];
            let square = dot(column, column);
            let wanted = ((dot(column, &left) + square * *weight) / (square + RIDGE)).max(0.0);
            let change = wanted - *weight;
            left.iter_mut().zip(column).for_each(|(left, x)| *left -= change * x);
            *weight = wanted;
        }
    }
    places.iter().copied().zip(weights).collect()
}

/// The place of a network among those that were fitted to, −1 to 1, by each proxy in its weight.
fn predict(weights: &Weights, candidates: &[Turned], rows: &[usize], row: usize) -> f64 {
    let place = |candidate: &Turned| {
        let score = candidate.scores[row];
        let others = rows.iter().filter(|other| **other != row).map(|other| candidate.scores[*other]);
        let (mut below, mut count) = (0.0, 0.0);
        for other in others {
            below += if other < score { 1.0 } else { 0.5 * f64::from(u8::from(other == score)) };
            count += 1.0;
        }
        2.0 * below / count - 1.0
    };
    weights.iter().map(|(candidate, weight)| weight * place(&candidates[*candidate])).sum()
}

/// The proxy as it is asked for.
fn text(weights: &Weights, candidates: &[Turned]) -> String {
    match weights[..] {
        [(only, _)] if candidates[only].sign > 0.0 => candidates[only].label.clone(),
        _ => {
            let member = |(place, weight): &(usize, f64)| {
                format!("{:.3} * {}", candidates[*place].sign * weight, candidates[*place].label)
            };
            format!("blend({})", weights.iter().map(member).collect::<Vec<_>>().join(", "))
        }
    }
}

fn resamples(n: usize, seed: u64) -> Vec<Vec<usize>> {
    let draw = |nth| {
        let mut rng = Seed(seed).stream("labels", nth);
        (0..n).map(|_| rng.random_range(0..n)).collect()
    };
    (0..RESAMPLES).map(draw).collect()
}

fn tau_of(scores: &[f64], truth: &[f64], rows: &[usize]) -> f64 {
    let pick = |column: &[f64]| rows.iter().map(|row| column[*row]).collect::<Vec<f64>>();
    rank::kendall_tau_b(&pick(scores), &pick(truth)).unwrap_or(0.0)
}

fn interval(values: Vec<f64>) -> [f64; 2] {
    [0.025, 0.975].map(|share| rank::quantile(&values, share).unwrap_or(f64::NAN))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(name: &str, n: usize) -> Vec<f64> {
        let mut rng = Seed(5).stream(name, 0);
        (0..n).map(|_| rng.random::<f64>()).collect()
    }

    fn candidate(label: &str, trivial: bool, scores: Vec<f64>) -> Candidate {
        Candidate { label: label.to_owned(), trivial, scores }
    }

    #[test]
    fn noise_is_no_gain() {
        let truth = noise("truth", 30);
        let candidates: Vec<Candidate> =
            (0..20).map(|i| candidate(&format!("p{i}"), i < 3, noise(&format!("p{i}"), 30))).collect();
        let found = calibrate(&candidates, &truth, 0).unwrap();
        assert_eq!(found.taken, 0, "{found:?}");
        assert!(found.steps[2].fitted.unwrap() > found.steps[2].left_out.unwrap());
    }

    #[test]
    fn what_two_proxies_know_together_is_found() {
        let (a, b, c) = (noise("a", 50), noise("b", 50), noise("c", 50));
        let truth: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
        let candidates = [candidate("c", true, c), candidate("a", false, a), candidate("b", false, b)];
        let found = calibrate(&candidates, &truth, 0).unwrap();
        assert_eq!(found.taken, 2, "{found:?}");
        assert!(found.proxy().starts_with("blend(") && found.steps[2].left_out.unwrap() > 0.8);
    }

    #[test]
    fn labels_turn_a_count_round() {
        let truth: Vec<f64> = (0..12).map(f64::from).collect();
        let count = candidate("params", true, truth.iter().map(|x| -x).collect());
        let found = calibrate(&[count], &truth, 0).unwrap();
        assert_eq!((found.proxy(), found.steps[0].left_out), ("blend(-1.000 * params)", Some(1.0)));
    }

    #[test]
    fn too_few_labels_are_refused() {
        let candidates = [candidate("c", true, vec![1.0, 2.0, 3.0])];
        assert!(calibrate(&candidates, &[1.0, 2.0, 3.0], 0).is_err());
        assert!(calibrate(&candidates, &[1.0; 6], 0).is_err());
    }
}
