//! What a timed search learned, to be shown.

use super::proposals::{first_uniform, predictor};
use super::runs::TimedRun;
use super::stages::is_uniform;
use super::{RUNGS, Work};
use crate::architecture::Architecture;
use crate::error::Result;
use crate::predict::Check;
use crate::rank::Interval;
use crate::study::View;
use crate::study::evaluate::{LEAST, as_given};
use crate::study::rungs::unsaid;
use serde::Serialize;

/// A timed search as everything that shows it reads it. Values are as the evaluator gave them.
#[derive(Debug, Clone, Serialize)]
pub struct Timed {
    /// What is measured after training.
    pub evaluator: String,
    /// Whether small values are good.
    pub lower: bool,
    /// Steps of short, middle and full runs.
    pub rungs: [u64; 3],
    /// Every run, in order.
    pub runs: Vec<TimedRun>,
    /// The models of the predictor after all runs, and their shares.
    pub models: Vec<(String, f64)>,
    /// How much each size matters to what it expects after full training; see
    /// [`Predictor::slopes`](crate::predict::Predictor::slopes).
    pub slopes: Vec<(String, f64)>,
    /// How well it predicts networks that are left out, after full training.
    pub check: Option<Check>,
    /// Whether the winner has the same choices at every layer.
    pub uniform: bool,
    /// The winner against the best uniform network beside it.
    pub against: Option<Against>,
}

/// The winner against the best uniform network, both fully trained with the same draws.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Against {
    /// Both trials: the winner, the uniform network.
    pub trials: [usize; 2],
    /// Their parameters.
    pub params: [u64; 2],
    /// The values of both with every draw.
    pub values: [Vec<f64>; 2],
    /// By how much the winner is better, in the mean.
    pub gain: f64,
    /// Its 95 % interval, by Student's t over draws.
    pub interval: Option<Interval>,
}

impl Timed {
    /// What a stored study learned; nothing where it is no timed search or trained nothing yet.
    pub fn of(view: &View) -> Result<Option<Self>> {
        let Some(work) = view.settings.work else { return Ok(None) };
        let rows = view.all_evaluations()?;
        let Some(first) = rows.first() else { return Ok(None) };
        let label = unsaid(&first.evaluator);
        let networks: Vec<Architecture> =
            (0..view.trials).map(|trial| view.architecture(trial)).collect::<Result<_>>()?;
        let stored: Vec<TimedRun> = rows.iter().map(TimedRun::of).collect();
        let given = |value: f64| as_given(&label, value);
        let learned = predictor(&stored, &networks, &work);
        let trained: Vec<Architecture> = {
            let mut trials: Vec<usize> = stored.iter().map(|run| run.trial).collect();
            trials.sort_unstable();
            trials.dedup();
            trials.into_iter().map(|trial| networks[trial].clone()).collect()
        };
        let models = learned.as_ref().map(|learned| learned.models()).unwrap_or_default();
        let shown = |run: &TimedRun| TimedRun { value: run.value.map(given), ..run.clone() };
        Ok(Some(Timed {
            evaluator: label.trim_end_matches(LEAST).to_owned(),
            lower: label.ends_with(LEAST),
            rungs: work.rungs(),
            models: models.into_iter().map(|(name, share)| (name.to_owned(), share)).collect(),
            slopes: learned.as_ref().map(|learned| learned.slopes(&trained)).unwrap_or_default(),
            check: learned.as_ref().map(|learned| learned.check().clone()),
            uniform: view.winner().is_some_and(|winner| is_uniform(&networks[winner])),
            against: view.winner().and_then(|winner| against(&stored, &networks, &work, winner, &given)),
            runs: stored.iter().map(shown).collect(),
        }))
    }

    /// What the comparison with the best uniform network says, in words.
    pub fn verdict(&self) -> String {
        let itself = if self.uniform { "The winner is uniform itself. " } else { "" };
        let Some(Against { gain, interval, values, .. }) = &self.against else {
            return format!("{itself}No other uniform network was trained as long and as often.");
        };
        let side = |(low, high): (f64, f64)| match () {
            () if low > 0.0 => "is better than",
            () if high < 0.0 => "is worse than",
            () => "cannot be told from",
        };
        let ends = interval.map(|Interval { low, high }| (low, high));
        let middle = ends.map_or("was trained beside", side);
        let other = if self.uniform { "the next uniform network" } else { "the best uniform network" };
        let said =
            ends.map_or(String::new(), |(low, high)| format!(" (95 % interval {low:.4} to {high:.4})"));
        format!(
            "{itself}The winner {middle} {other}: by {gain:.4}{said}, over {} draws each.",
            values[0].len()
        )
    }
}

/// The values of full runs of a trial, by draw.
fn full(runs: &[TimedRun], work: &Work, trial: usize) -> Vec<f64> {
    let steps = work.rungs()[RUNGS.len() - 1];
    let mut own: Vec<&TimedRun> =
        runs.iter().filter(|run| run.trial == trial && run.steps == steps).collect();
    own.sort_by_key(|run| run.draw);
    own.into_iter().filter_map(|run| run.value).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The winner against the best of the uniform networks that were trained as often; against the best other one where it is
/// uniform itself.
fn against(
    runs: &[TimedRun],
    networks: &[Architecture],
    work: &Work,
    winner: usize,
    given: &dyn Fn(f64) -> f64,
) -> Option<Against> {
    let own = full(runs, work, winner);
    let mut others: Vec<usize> = runs.iter().map(|run| run.trial).filter(|trial| *trial != winner).collect();
    others.sort_unstable();
    others.dedup();
    others.retain(|trial| full(runs, work, *trial).len() == own.len());
    others.sort_by(|a, b| mean(&full(runs, work, *b)).total_cmp(&mean(&full(runs, work, *a))));
    let other = first_uniform(networks, &others)?;
    let values = full(runs, work, other);
    let gains: Vec<f64> = own.iter().zip(&values).map(|(a, b)| a - b).collect();
    Some(Against {
        trials: [winner, other],
        params: [winner, other].map(|trial| networks[trial].params().total),
        gain: mean(&gains),
        interval: student(&gains),
        values: [own, values].map(|values| values.into_iter().map(given).collect()),
    })
}

/// The 95 % interval of a mean; nothing of fewer than two values.
fn student(values: &[f64]) -> Option<Interval> {
    /// The 97.5 % point of Student's distribution by degrees of freedom from 1 on.
    const POINTS: [f64; 5] = [12.706, 4.303, 3.182, 2.776, 2.571];
    let n = values.len();
    let middle = mean(values);
    let squares: f64 = values.iter().map(|value| (value - middle).powi(2)).sum();
    let point = POINTS.get(n.checked_sub(2)?).copied().unwrap_or(1.96);
    let half = point * (squares / (n - 1) as f64 / n as f64).sqrt();
    Some(Interval { low: middle - half, high: middle + half })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values 1, 2 and 3: mean 2, deviation 1, half width 4.303 / √3.
    #[test]
    fn intervals_by_hand() {
        let Interval { low, high } = student(&[1.0, 2.0, 3.0]).unwrap();
        assert!(
            (high - low - 2.0 * 4.303 / 3f64.sqrt()).abs() < 1e-12
                && ((high + low) / 2.0 - 2.0).abs() < 1e-12
        );
        assert!(student(&[1.0]).is_none());
    }
}
