//! How far the scores agree with each other and with mere counts, as a matrix of Kendall's tau.

use super::Subject;
use super::chart::{Chart, WIDTH};
use super::text::escape;
use crate::rank;
use crate::study::Objective;
use std::fmt::Write;

/// Agreement with a count beyond which a score is said to be little else.
const MERE_COUNT: f64 = 0.9;

/// The matrix and what is to be said under it; nothing for fewer than two candidates.
pub(super) fn chart(subject: &Subject) -> Option<(Chart, String)> {
    let trials = &subject.order;
    if trials.len() < 2 {
        return None;
    }
    let mut columns: Vec<(String, Vec<f64>)> = Vec::new();
    for (place, objective) in subject.objectives.iter().enumerate() {
        let value = |trial: &usize| subject.shown(*trial, place);
        if matches!(objective, Objective::Proxy(_) | Objective::Memory) {
            columns.push((objective.to_string(), trials.iter().map(value).collect()));
        }
    }
    let proxies =
        subject.objectives.iter().filter(|objective| matches!(objective, Objective::Proxy(_))).count();
    let params = columns.len();
    let count =
        |of: &dyn Fn(usize) -> u64| trials.iter().map(|trial| of(*trial) as f64).collect::<Vec<f64>>();
    columns.push(("parameters".into(), count(&|trial| subject.params(trial))));
    columns.push(("multiply-adds".into(), count(&|trial| subject.flops(trial))));
    columns.push(("layers".into(), count(&|trial| subject.depth(trial))));
    let tau = |a: usize, b: usize| rank::kendall_tau_b(&columns[a].1, &columns[b].1);
    let mut said: Vec<String> = Vec::new();
    for (place, (name, _)) in columns.iter().enumerate().take(params) {
        let is_proxy =
            subject.objectives.iter().any(|o| matches!(o, Objective::Proxy(label) if label == name));
        let closest = (params..columns.len())
            .filter_map(|count| tau(place, count).map(|tau| (count, tau)))
            .max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
        let closest = closest.map(|(count, tau)| (columns[count].0.as_str(), tau));
        said.extend(is_proxy.then(|| verdict(name, closest)));
    }
    if proxies == 0 {
        said.push("No proxy was searched by.".to_owned());
    }
    said.push(format!(
        "Kendall's tau-b over the {} candidates that this search scored; they are no fair sample of the space.",
        super::text::grouped(trials.len() as u64)
    ));
    let names: Vec<&str> = columns.iter().map(|column| column.0.as_str()).collect();
    let caption = said.join(" ");
    let label = format!("Rank agreement of {}. {caption}", names.join(", "));
    Some((matrix(&names, &tau, label), caption))
}

/// What a score's agreement with the count that is closest to it means.
fn verdict(name: &str, closest: Option<(&str, f64)>) -> String {
    match closest {
        None => format!("{name}: agreement with mere counts is not defined here."),
        Some((count, tau)) if tau.abs() > MERE_COUNT => format!(
            "{name} orders these candidates almost as their {count} do{} (tau {tau:.2}): a search by it is little more than \
             a search for the {} {count}.",
            if tau < 0.0 { ", turned round" } else { "" },
            if tau < 0.0 { "fewest" } else { "most" }
        ),
        Some((count, tau)) => format!("{name} is no mere count here; {count} come closest (tau {tau:.2})."),
    }
}

/// A square per pair; the fuller, the stronger the agreement.
fn matrix(names: &[&str], tau: &dyn Fn(usize, usize) -> Option<f64>, label: String) -> Chart {
    const LEFT: f64 = 130.0;
    const ROW: f64 = 40.0;
    const TOP: f64 = 34.0;
    let cell = (WIDTH - LEFT - 10.0) / names.len() as f64;
    let room = ((cell / 8.0) as usize).max(4);
    let cut = |name: &str, room: usize| {
        let whole = name.chars().count() <= room;
        escape(&if whole { name.to_owned() } else { name.chars().take(room - 1).chain(['…']).collect() })
    };
    let mut body = String::new();
    for (row, name) in names.iter().enumerate() {
        let (middle, y) = (LEFT + cell * (row as f64 + 0.5), TOP + ROW * row as f64);
        let _ = write!(
            body,
            "<text x=\"{middle:.1}\" y=\"{}\" class=\"mid\">{}</text>",
            TOP - 10.0,
            cut(name, room)
        );
        let _ = write!(
            body,
            "<text x=\"{}\" y=\"{:.1}\" class=\"end\">{}</text>",
            LEFT - 8.0,
            y + 25.0,
            cut(name, 15)
        );
        for (column, other) in names.iter().enumerate() {
            let x = LEFT + cell * column as f64;
            let value = if row == column { Some(1.0) } else { tau(row, column) };
            let class = if value.is_some_and(|tau| tau < 0.0) { "b" } else { "a" };
            let text = value.map_or("–".to_owned(), |tau| format!("{tau:.2}"));
            let _ = write!(
                body,
                "<g class=\"p\"><title>{} and {}: tau {text}</title><rect class=\"cell {class}\" x=\"{:.1}\" y=\"{:.1}\" \
                 width=\"{:.1}\" height=\"{:.1}\" style=\"fill-opacity:{:.2}\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" class=\"mid value\">{text}</text></g>",
                escape(name),
                escape(other),
                x + 1.0,
                y + 1.0,
                cell - 2.0,
                ROW - 2.0,
                0.5 * value.map_or(0.0, f64::abs),
                x + cell / 2.0,
                y + 25.0
            );
        }
    }
    Chart { label, height: TOP + ROW * names.len() as f64 + 10.0, body }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mere_count_is_called_one() {
        assert!(verdict("nsc", Some(("parameters", 0.95))).contains("search for the most parameters"));
        assert!(verdict("nsc", Some(("parameters", -0.95))).contains("search for the fewest parameters"));
        assert!(verdict("nsc", Some(("parameters", 0.9))).contains("no mere count"));
        assert!(verdict("nsc", None).contains("not defined"));
    }

    #[test]
    fn every_pair_has_its_square_and_long_names_are_cut() {
        let chart = matrix(&["a-very-long-name[of=map]", "b"], &|_, _| Some(-0.5), String::new());
        assert_eq!(chart.body.matches("<rect").count(), 4);
        assert!(chart.body.contains("-0.50") && chart.body.contains("a-very-long-na…"), "{}", chart.body);
    }
}
