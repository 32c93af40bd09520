//! Who is ahead: the order of all trials, the Pareto front, its volume and its knee.

use super::ground::within;
use super::objective::{Objective, outcome};
use crate::error::Result;
use crate::rank;
use crate::store::Trial;

/// The trials of a study against each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    /// For each trial one value per objective, larger is better; none if it failed.
    pub values: Vec<Option<Vec<f64>>>,
    /// Trials that did not fail, best first in the first objective; of equals the earlier.
    pub order: Vec<usize>,
    /// Trials that no other beats, best first in the first objective.
    pub front: Vec<usize>,
    /// The share of the box from the worst to the best value of each objective that the front covers.
    pub hypervolume: f64,
    /// The member of the front nearest to the best value of every objective, each scaled to what the front spans.
    pub knee: Option<usize>,
}

impl Standing {
    /// The standing of all trials of a study.
    pub fn new(objectives: &[Objective], trials: &[Trial]) -> Result<Self> {
        let outcomes: Vec<_> = trials.iter().map(|trial| outcome(objectives, trial)).collect();
        let mut requests = Objective::requests(objectives)?.into_iter();
        let mut columns: Vec<Vec<f64>> = Vec::new();
        for (place, objective) in objectives.iter().enumerate() {
            let numbers: Vec<Option<Vec<f64>>> = outcomes
                .iter()
                .map(|outcome| outcome.as_ref().map(|outcome| outcome.objectives[place].clone()))
                .collect();
            let request = matches!(objective, Objective::Proxy(_)).then(|| requests.next()).flatten();
            columns.push(match request.filter(|request| request.is_set_score()) {
                Some(request) => within(&request, &numbers),
                None => {
                    numbers.into_iter().map(|numbers| numbers.map_or(f64::NEG_INFINITY, |n| n[0])).collect()
                }
            });
        }
        let row = |i: usize| columns.iter().map(|column| column[i]).collect::<Vec<f64>>();
        let values: Vec<Option<Vec<f64>>> =
            outcomes.iter().enumerate().map(|(i, outcome)| outcome.as_ref().map(|_| row(i))).collect();
        let mut order: Vec<usize> = (0..trials.len()).filter(|i| values[*i].is_some()).collect();
        let points: Vec<Vec<f64>> = order.iter().map(|i| row(*i)).collect();
        let mut front: Vec<usize> =
            rank::pareto_front(&points).into_iter().map(|place| order[place]).collect();
        let first = |a: &usize, b: &usize| columns[0][*b].total_cmp(&columns[0][*a]);
        order.sort_by(first);
        front.sort_by(first);
        let scaled = scale(&points, &points);
        let reached: Vec<Vec<f64>> =
            scaled.iter().map(|point| point.iter().map(|x| x + 1e-9).collect()).collect();
        let hypervolume = rank::hypervolume(&reached, &vec![0.0; objectives.len()]).min(1.0);
        let members: Vec<Vec<f64>> = front.iter().map(|i| row(*i)).collect();
        let gaps = scale(&members, &members);
        let distance = |point: &Vec<f64>| point.iter().map(|x| (1.0 - x).powi(2)).sum::<f64>();
        let knee = gaps.iter().enumerate().min_by(|a, b| distance(a.1).total_cmp(&distance(b.1)));
        let knee = knee.map(|(place, _)| front[place]);
        Ok(Standing { values, order, front, hypervolume, knee })
    }
}

/// Points with each objective scaled so that `all` spans 0 to 1; an objective without span is 1.
fn scale(points: &[Vec<f64>], all: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let count = all.first().map_or(0, Vec::len);
    let span = |axis: usize| {
        let values = || all.iter().map(|point| point[axis]);
        (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max))
    };
    let spans: Vec<(f64, f64)> = (0..count).map(span).collect();
    let unit =
        |(x, (low, high)): (&f64, &(f64, f64))| if high > low { (x - low) / (high - low) } else { 1.0 };
    points.iter().map(|point| point.iter().zip(&spans).map(unit).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Score;

    fn trial(number: u64, score: f64, params: f64, status: &str) -> Trial {
        let score = Score { status: status.into(), value: score, ..Score::default() };
        Trial { number, objectives: vec![score.value, -params], scores: vec![score], ..Trial::default() }
    }

    /// (score, size): (1, 1) (3, 2) (4, 4) are the front, (2, 3) is under (3, 2). Scaled to the unit box with size turned:
    /// (0, 1) (2/3, 2/3) (1, 0): area 2/3 · 2/3 = 4/9, and the knee is the middle one. The failed one counts nowhere.
    #[test]
    fn front_volume_and_knee_by_hand() {
        let trials = [
            trial(0, 1.0, 1.0, "ok"),
            trial(1, 2.0, 3.0, "ok"),
            trial(2, 3.0, 2.0, "ok"),
            trial(3, f64::NAN, 0.0, "non-finite"),
            trial(4, 4.0, 4.0, "ok"),
        ];
        let standing = Standing::new(&[Objective::Proxy("nsc".into()), Objective::Params], &trials).unwrap();
        assert_eq!((&standing.order[..], &standing.front[..]), (&[4, 2, 1, 0][..], &[4, 2, 0][..]));
        assert!((standing.hypervolume - 4.0 / 9.0).abs() < 1e-6, "{}", standing.hypervolume);
        assert_eq!((standing.knee, &standing.values[3]), (Some(2), &None));
    }
}
