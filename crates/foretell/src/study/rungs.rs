//! How long and how often a network was trained, as the labels of its evaluations say it.
//!
//! A search that trains networks for different lengths stores an evaluation for each. A label says ` after N steps`, and
//! `, seed K` from the second draw on. Of a network only its longest training counts, as the mean over draws; and what
//! was trained longer, or equally long and more often, comes before everything else.

use super::evaluate::LEAST;
use crate::store::Evaluation;
use std::collections::HashMap;

/// The part of a label that says how long was trained, and which draw it was.
pub(super) fn said(steps: u64, draw: u64) -> String {
    let draw = if draw > 0 { format!("{DRAW}{draw}") } else { String::new() };
    format!("{AFTER}{steps} steps{draw}")
}

const AFTER: &str = " after ";
const DRAW: &str = ", seed ";
const MEAN: &str = ", mean of ";

/// How much a label counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Standing {
    /// Steps trained; 0 where nobody says.
    pub(super) steps: u64,
    /// How many draws a value is the mean of.
    pub(super) draws: u64,
}

impl Standing {
    pub(super) fn of(label: &str) -> Self {
        Standing { steps: behind(label, AFTER).unwrap_or(0), draws: behind(label, MEAN).unwrap_or(1) }
    }
}

/// The number behind the last mark of a label.
fn behind(label: &str, mark: &str) -> Option<u64> {
    let rest = &label[label.rfind(mark)? + mark.len()..];
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..digits].parse().ok()
}

/// Which draw a label is of.
pub(super) fn draw(label: &str) -> u64 {
    behind(label, DRAW).unwrap_or(0)
}

/// A label without its length and draw.
pub(super) fn unsaid(label: &str) -> String {
    let length = said(Standing::of(label).steps, draw(label));
    match label.rfind(&length) {
        Some(at) => format!("{}{}", &label[..at], &label[at + length.len()..]),
        None => label.to_owned(),
    }
}

/// One evaluation per trial, by trial: the last of each label, and of labels the longest training, as the mean over draws.
pub(super) fn latest(rows: Vec<Evaluation>) -> Vec<Evaluation> {
    let mut trials: HashMap<u64, Vec<Evaluation>> = HashMap::new();
    for row in rows {
        let of = trials.entry(row.trial).or_default();
        // A label that was asked again replaces what it said before.
        of.retain(|other| other.evaluator != row.evaluator);
        of.push(row);
    }
    let mut found: Vec<Evaluation> = trials.into_values().map(longest).collect();
    found.sort_by_key(|row| row.trial);
    found
}

/// The longest training of a network as the mean of its draws; what failed only counts where nothing else is known.
fn longest(mut rows: Vec<Evaluation>) -> Evaluation {
    let steps = |row: &Evaluation| Standing::of(&row.evaluator).steps;
    if rows.iter().any(|row| row.value().is_some()) {
        rows.retain(|row| row.value().is_some());
    }
    let most = rows.iter().map(steps).max().unwrap_or(0);
    rows.retain(|row| steps(row) == most);
    rows.sort_by_key(|row| draw(&row.evaluator));
    let first = rows[0].clone();
    let draws = rows.len();
    if draws == 1 {
        return first;
    }
    let mean = |of: fn(&Evaluation) -> f64| rows.iter().map(of).sum::<f64>() / draws as f64;
    let (tail, end) =
        first.evaluator.strip_suffix(LEAST).map_or((first.evaluator.as_str(), ""), |tail| (tail, LEAST));
    let evaluator = format!("{tail}{MEAN}{draws} seeds{end}");
    Evaluation { evaluator, value: mean(|row| row.value), seconds: mean(|row| row.seconds), ..first }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(trial: u64, evaluator: &str, value: f64) -> Evaluation {
        let status = if value.is_nan() { "diverged" } else { "ok" };
        Evaluation {
            trial,
            evaluator: evaluator.into(),
            status: status.into(),
            value,
            ..Evaluation::default()
        }
    }

    #[test]
    fn labels_say_how_long_and_which_draw() {
        let label = format!("command ./a after 3 steps {{dir}}{}{LEAST}", said(40, 2));
        assert_eq!((Standing::of(&label).steps, draw(&label)), (40, 2));
        assert_eq!(unsaid(&label), format!("command ./a after 3 steps {{dir}}{LEAST}"));
        let trained = "valid_loss after 5 steps (recipe a, data b), least";
        assert_eq!((Standing::of(trained).steps, draw(trained)), (5, 0));
        assert_eq!(unsaid(trained), "valid_loss (recipe a, data b), least");
        assert_eq!(
            (Standing::of("table t:x"), unsaid("table t:x")),
            (Standing { steps: 0, draws: 1 }, "table t:x".into())
        );
    }

    /// Trial 1 was trained for 10 steps, then three times for 90 of which one diverged; trial 0 only for 10.
    #[test]
    fn the_longest_training_counts_as_the_mean_of_its_draws() {
        let rows = vec![
            row(1, "loss after 10 steps, least", -9.0),
            row(0, "loss after 10 steps, least", -8.0),
            row(1, "loss after 90 steps, least", -3.0),
            row(1, "loss after 90 steps, seed 1, least", f64::NAN),
            row(1, "loss after 90 steps, seed 2, least", -5.0),
        ];
        let said = latest(rows);
        assert_eq!((said.len(), said[0].value, said[1].value), (2, -8.0, -4.0));
        assert_eq!(said[1].evaluator, "loss after 90 steps, mean of 2 seeds, least");
        assert_eq!(Standing::of(&said[1].evaluator), Standing { steps: 90, draws: 2 });
        assert!(Standing::of(&said[1].evaluator) > Standing::of(&said[0].evaluator));
    }
}
