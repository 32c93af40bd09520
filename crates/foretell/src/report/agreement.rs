//! How far each score agrees with the other scores and with counts, as bars of Kendall's tau.

use super::Subject;
use super::chart::{Chart, LETTER, WIDTH};
use super::text::{cut, escape, grouped};
use crate::rank;
use crate::study::Objective;
use std::fmt::Write;

/// Agreement with a count beyond which a score adds little to it.
const ONLY_A_COUNT: f64 = 0.9;

/// A name and one number per candidate.
type Column = (String, Vec<f64>);

/// A score, and its tau with each other column.
struct Group {
    score: String,
    bars: Vec<(String, Option<f64>)>,
}

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
        let bars = scores[place + 1..].iter().map(tau).chain(counts.iter().cloned()).collect();
        groups.push(Group { score: score.clone(), bars });
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

/// A bar for each pair: the longer, the stronger the agreement.
fn bars(groups: &[Group], label: String) -> Chart {
    const LEFT: f64 = 122.0;
    const ROW: f64 = 24.0;
    let span = WIDTH - LEFT - 50.0;
    let mut body = String::new();
    let mut y = 14.0;
    for Group { score, bars } in groups {
        let title = cut(&format!("{score} compared with"), (WIDTH / LETTER) as usize);
        let _ = write!(body, "<text x=\"2\" y=\"{y:.1}\" class=\"strong\">{}</text>", escape(&title));
        y += 8.0;
        for (other, tau) in bars {
            let text = tau.map_or("–".to_owned(), |tau| format!("{tau:.2}"));
            let class = if tau.is_some_and(|tau| tau < 0.0) { "b" } else { "a" };
            let _ = write!(
                body,
                "<g class=\"p\"><title>{} and {}: tau {text}</title>\
                 <text x=\"{:.1}\" y=\"{:.1}\" class=\"end\">{}</text>\
                 <rect class=\"stream\" x=\"{LEFT}\" y=\"{:.1}\" width=\"{span}\" height=\"12\"/>\
                 <rect class=\"bar {class}\" x=\"{LEFT}\" y=\"{:.1}\" width=\"{:.1}\" height=\"12\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" class=\"value\">{text}</text></g>",
                escape(score),
                escape(other),
                LEFT - 7.0,
                y + 16.0,
                escape(&cut(other, ((LEFT - 8.0) / LETTER) as usize)),
                y + 6.0,
                y + 6.0,
                span * tau.map_or(0.0, f64::abs),
                LEFT + span + 7.0,
                y + 16.0
            );
            y += ROW;
        }
        y += 20.0;
    }
    Chart { label, height: y - 10.0, body }
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

    #[test]
    fn every_pair_has_its_bar_and_long_names_are_cut() {
        let bars_of = vec![("a-very-long-name[of=map]".to_owned(), Some(-0.5)), ("layers".to_owned(), None)];
        let chart = bars(&[Group { score: "nsc".into(), bars: bars_of }], String::new());
        assert_eq!(chart.body.matches("class=\"bar").count(), 2);
        assert!(chart.body.contains("-0.50") && chart.body.contains("a-very-long-n…"), "{}", chart.body);
    }
}
