//! How far each score agrees with the other scores and with counts, as bars of Kendall's tau.

use super::Subject;
use super::bars::{Bar, bars};
use super::chart::Chart;
use super::text::grouped;
use crate::rank;
use crate::study::Objective;

/// Agreement with a count beyond which a score adds little to it.
const ONLY_A_COUNT: f64 = 0.9;

/// A name and one number per candidate.
type Column = (String, Vec<f64>);

/// The bars and their caption; nothing for fewer than two candidates or without a score.
pub(super) fn chart(subject: &Subject) -> Option<(Chart, String)> {
    let trials = &subject.order;
    let (scores, others) = columns(subject);
    if trials.len() < 2 || scores.is_empty() {
        return None;
    }
    let (mut groups, mut said) = (Vec::new(), Vec::new());
    for (place, (score, values)) in scores.iter().enumerate() {
        let tau = |column: &Column| (column.0.clone(), rank::kendall_tau_b(values, &column.1));
        let counts: Vec<_> = others.iter().map(tau).collect();
        let defined = counts.iter().filter_map(|(name, tau)| Some((name.as_str(), (*tau)?)));
        said.push(verdict(score, defined.max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))));
        let pairs = scores[place + 1..].iter().map(tau).chain(counts.iter().cloned());
        let bars = pairs.map(|(name, value)| Bar { name, value, ..Bar::default() });
        groups.push((format!("{score} compared with"), bars.collect()));
    }
    said.push(format!(
        "Kendall's tau-b over the {} candidates that this search scored, which are not a fair sample of the space.",
        grouped(trials.len() as u64)
    ));
    let caption = said.join(" ");
    let label = format!("Rank agreement. {caption}");
    Some((bars(&groups, label), caption))
}

/// The scores, and what they are compared with: counts and further costs.
fn columns(subject: &Subject) -> (Vec<Column>, Vec<Column>) {
    let trials = &subject.order;
    let objective = |place: usize| trials.iter().map(|trial| subject.shown(*trial, place)).collect();
    let count = |of: &dyn Fn(usize) -> u64| trials.iter().map(|trial| of(*trial) as f64).collect();
    let mut scores: Vec<Column> = Vec::new();
    let mut others: Vec<Column> = vec![
        ("parameters".into(), count(&|trial| subject.counts(trial).params)),
        ("multiply-adds".into(), count(&|trial| subject.counts(trial).flops)),
        ("layers".into(), count(&|trial| subject.counts(trial).depth)),
    ];
    for (place, kind) in subject.objectives.iter().enumerate() {
        match kind {
            Objective::Proxy(request) => scores.push((request.label().to_owned(), objective(place))),
            Objective::Params | Objective::Flops => {}
            cost => others.push((cost.to_string(), objective(place))),
        }
    }
    (scores, others)
}

/// What a score's agreement with the count that is closest to it means.
fn verdict(name: &str, closest: Option<(&str, f64)>) -> String {
    match closest {
        None => format!("The agreement of {name} with counts is not defined here."),
        Some((count, tau)) if tau.abs() > ONLY_A_COUNT => format!(
            "{name} orders these candidates almost as their {count} do{} (tau {tau:.2}): a search by it is little more than \
             a search for the {} {count}.",
            if tau < 0.0 { ", in reverse" } else { "" },
            if tau < 0.0 { "fewest" } else { "most" }
        ),
        Some((count, tau)) => {
            format!("{name} is more than a count here; {count} come closest (tau {tau:.2}).")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_that_is_only_a_count_is_called_one() {
        assert!(verdict("nsc", Some(("parameters", 0.95))).contains("search for the most parameters"));
        assert!(verdict("nsc", Some(("parameters", -0.95))).contains("search for the fewest parameters"));
        assert!(verdict("nsc", Some(("parameters", 0.9))).contains("more than a count"));
        assert!(verdict("nsc", None).contains("not defined"));
    }
}
