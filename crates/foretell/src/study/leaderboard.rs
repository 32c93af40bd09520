//! Who is ahead: the order of all trials, the Pareto front, its volume and its knee.

use super::context::within;
use super::objective::Objective;
use crate::error::Result;
use crate::rank;
use crate::store::Ranks;

/// The trials of a study against each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Leaderboard {
    /// For each objective one value per trial.
    columns: Vec<Vec<f64>>,
    /// Trials that did not fail, ascending.
    succeeded: Vec<usize>,
    /// Trials that no other beats, best first in the first objective.
    pub front: Vec<usize>,
    /// The share of the box from the worst to the best value of each objective that the front covers.
    pub hypervolume: f64,
    /// The member of the front nearest to the best value of every objective, each scaled to what the front spans.
    pub knee: Option<usize>,
}

impl Leaderboard {
    /// The leaderboard of all trials of a study.
    pub fn new(objectives: &[Objective], ranks: &Ranks) -> Result<Self> {
        let mut columns: Vec<Vec<f64>> = Vec::new();
        let succeeded: Vec<usize> = (0..ranks.len()).filter(|trial| !ranks.failed(*trial)).collect();
        for (place, objective) in objectives.iter().enumerate() {
            let numbers = ranks.objective(place);
            columns.push(match objective.request().filter(|request| request.is_set_score()) {
                Some(request) => {
                    let parts =
                        |(trial, parts): (usize, &[f64])| (!ranks.failed(trial)).then(|| parts.to_vec());
                    within(request, &numbers.enumerate().map(parts).collect::<Vec<_>>())
                }
                None => numbers.map(|numbers| numbers[0]).collect(),
            });
        }
        let mut leaderboard =
            Leaderboard { columns, succeeded, front: Vec::new(), hypervolume: 0.0, knee: None };
        leaderboard.front = leaderboard.front_of(&leaderboard.succeeded);
        leaderboard.knee = leaderboard.knee_of(&leaderboard.front);
        // Members decide what the front covers, all trials where the box begins.
        let span = |column: &Vec<f64>| spanned(leaderboard.succeeded.iter().map(|trial| column[*trial]));
        let spans: Vec<(f64, f64)> = leaderboard.columns.iter().map(span).collect();
        let members: Vec<Vec<f64>> = leaderboard.front.iter().map(|trial| leaderboard.row(*trial)).collect();
        let reached: Vec<Vec<f64>> =
            scale(&members, &spans).iter().map(|point| point.iter().map(|x| x + 1e-9).collect()).collect();
        leaderboard.hypervolume = rank::hypervolume(&reached, &vec![0.0; objectives.len()]).min(1.0);
        Ok(leaderboard)
    }

    fn row(&self, trial: usize) -> Vec<f64> {
        self.columns.iter().map(|column| column[trial]).collect()
    }

    /// Those of some trials that no other of them beats, best first in the first objective.
    pub fn front_of(&self, trials: &[usize]) -> Vec<usize> {
        let mut members = front(&self.columns, trials);
        members.sort_by(|a, b| self.columns[0][*b].total_cmp(&self.columns[0][*a]));
        members
    }

    /// The member of a front nearest to the best value of every objective, each scaled to what the front spans.
    pub fn knee_of(&self, front: &[usize]) -> Option<usize> {
        let members: Vec<Vec<f64>> = front.iter().map(|trial| self.row(*trial)).collect();
        let span = |axis: usize| spanned(members.iter().map(|point| point[axis]));
        let gaps = scale(&members, &(0..self.columns.len()).map(span).collect::<Vec<_>>());
        let distance = |point: &Vec<f64>| point.iter().map(|x| (1.0 - x).powi(2)).sum::<f64>();
        let knee = gaps.iter().enumerate().min_by(|a, b| distance(a.1).total_cmp(&distance(b.1)));
        knee.map(|(place, _)| front[place])
    }

    /// Trials that did not fail, ascending.
    pub fn succeeded(&self) -> &[usize] {
        &self.succeeded
    }

    /// The first objective of a trial, larger is better; minus infinity if it failed.
    pub fn first(&self, trial: usize) -> f64 {
        self.values(trial).map_or(f64::NEG_INFINITY, |values| values[0])
    }

    /// The values of a trial, one per objective, larger is better; none if it failed.
    pub fn values(&self, trial: usize) -> Option<Vec<f64>> {
        self.succeeded.binary_search(&trial).ok()?;
        Some(self.columns.iter().map(|column| column[trial]).collect())
    }

    /// The best `n` trials in the first objective; of equals the earlier.
    pub fn best(&self, n: usize) -> Vec<usize> {
        let column = &self.columns[0];
        let first = |a: &usize, b: &usize| column[*b].total_cmp(&column[*a]).then(a.cmp(b));
        // Now and then all but the best are dropped, and what comes after must beat the last of these.
        let (mut best, mut bar): (Vec<usize>, Option<f64>) = (Vec::new(), None);
        let drop_rest = |best: &mut Vec<usize>| {
            best.sort_unstable_by(first);
            best.truncate(n);
        };
        for trial in &self.succeeded {
            if bar.is_some_and(|bar| column[*trial].total_cmp(&bar).is_le()) {
                continue;
            }
            best.push(*trial);
            if best.len() >= n.saturating_mul(2).max(1000) {
                drop_rest(&mut best);
                bar = best.last().filter(|_| best.len() == n).map(|last| column[*last]);
            }
        }
        drop_rest(&mut best);
        best
    }
}

/// Those of some rows that no other beats, ascending.
fn front(columns: &[Vec<f64>], among: &[usize]) -> Vec<usize> {
    let beats = |a: usize, b: usize| {
        columns.iter().all(|column| column[a] >= column[b])
            && columns.iter().any(|column| column[a] > column[b])
    };
    // The best by the sum of scaled values beat most others, which saves sorting them.
    let spans: Vec<(f64, f64)> =
        columns.iter().map(|column| spanned(among.iter().map(|row| column[*row]))).collect();
    let sum = |row: usize| -> f64 {
        let unit =
            |(column, (low, high)): (&Vec<f64>, &(f64, f64))| (column[row] - low) / (high - low).max(1e-300);
        columns.iter().zip(&spans).map(unit).sum()
    };
    let mut strong: Vec<(f64, usize)> = among.iter().map(|row| (sum(*row), *row)).collect();
    if strong.len() > STRONG {
        strong.select_nth_unstable_by(STRONG, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        strong.truncate(STRONG);
        strong.sort_by(|a, b| b.0.total_cmp(&a.0));
    }
    let left: Vec<usize> =
        among.iter().copied().filter(|row| !strong.iter().any(|(_, strong)| beats(*strong, *row))).collect();
    let points: Vec<Vec<f64>> =
        left.iter().map(|row| columns.iter().map(|column| column[*row]).collect()).collect();
    rank::pareto_front(&points).into_iter().map(|place| left[place]).collect()
}

/// Rows that all others are compared with first.
const STRONG: usize = 8;

fn spanned(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)))
}

/// Points with each objective scaled so that its span becomes 0 to 1; an objective without span is 1.
fn scale(points: &[Vec<f64>], spans: &[(f64, f64)]) -> Vec<Vec<f64>> {
    let unit =
        |(x, (low, high)): (&f64, &(f64, f64))| if high > low { (x - low) / (high - low) } else { 1.0 };
    points.iter().map(|point| point.iter().zip(spans).map(unit).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Score, Trial};

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
        let ranks = Ranks::of(&trials).unwrap();
        let leaderboard =
            Leaderboard::new(&[Objective::proxy("nsc").unwrap(), Objective::Params], &ranks).unwrap();
        assert_eq!((&leaderboard.best(9)[..], &leaderboard.front[..]), (&[4, 2, 1, 0][..], &[4, 2, 0][..]));
        assert_eq!(leaderboard.best(2), [4, 2]);
        assert!((leaderboard.hypervolume - 4.0 / 9.0).abs() < 1e-6, "{}", leaderboard.hypervolume);
        assert_eq!((leaderboard.knee, leaderboard.values(3)), (Some(2), None));
    }
}
