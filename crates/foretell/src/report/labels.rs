//! Evaluated values over a search: the best so far, and that of the best by score.

use super::Subject;
use super::chart::Chart;
use super::curves::{Curve, curves};
use super::text::number;
use crate::error::Result;

/// The chart and its caption; nothing where fewer than two candidates were evaluated.
pub(super) fn chart(subject: &Subject) -> Result<Option<(Chart, String)>> {
    let Some(labels) = subject.view.labels()?.filter(|_| subject.view.evaluations.len() > 1) else {
        return Ok(None);
    };
    let better = if labels.lower { "lower" } else { "higher" };
    let mut drawn = vec![Curve { name: "best seen".into(), runs: vec![labels.to_end(&labels.best)] }];
    let mut caption = labels.best.last().map_or(String::new(), |stop| {
        format!("The best value that the search saw is {} ({better} is better).", number(stop.1))
    });
    if let Some(last) = labels.leader.last() {
        drawn.push(Curve { name: "best by score".into(), runs: vec![labels.to_end(&labels.leader)] });
        caption += &format!(
            " That of the best by score is {} in the end. Values were looked up in a table and decided nothing.",
            number(last.1)
        );
    }
    let count = if labels.leader.is_empty() { "evaluations" } else { "candidates" };
    let label = format!("{} against {count}. {caption}", labels.evaluator);
    Ok(curves(&drawn, [count, &labels.evaluator], false, label).map(|chart| (chart, caption)))
}
