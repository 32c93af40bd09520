//! The best candidates as a table that can be sorted, and the failures by kind.

use super::text::{self, escape, grouped, short};
use super::{Candidate, Subject};
use crate::store::Trial;
use crate::study::as_given;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Rows of the table.
const TOP: usize = 50;

type Count = fn(&Candidate) -> u64;

impl Subject<'_> {
    /// What an evaluator said, in the order it was asked.
    pub(super) fn evaluated(&self) -> String {
        let mut html =
            "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Evaluated\"><table><thead><tr>\
            <th scope=\"col\">trial</th><th scope=\"col\">value</th><th scope=\"col\">status</th>\
            </tr></thead><tbody>\n"
                .to_owned();
        for said in self.evaluations {
            let value =
                said.value().map_or("–".to_owned(), |value| text::number(as_given(&said.evaluator, value)));
            let _ = writeln!(
                html,
                "<tr><td>{}</td><td>{value}</td><td>{}</td></tr>",
                said.trial,
                escape(&said.status)
            );
        }
        html += "</tbody></table></div>";
        let by = self.evaluations.first().map_or("", |said| &said.evaluator);
        let _ = write!(html, "<p class=\"note\">By {}. The winner is the best of these.</p>", escape(by));
        html
    }

    /// The best candidates, to be sorted by any column.
    pub(super) fn table(&self) -> String {
        let mut names = vec!["rank".to_owned(), "trial".to_owned()];
        names.extend((0..self.objectives.len()).map(|place| self.axis(place)));
        let counts: [(&str, Count); 3] =
            [("parameters", |c| c.params), ("multiply-adds", |c| c.flops), ("depth", |c| c.depth)];
        let counts: Vec<_> =
            counts.into_iter().filter(|(name, _)| names.iter().all(|known| known != name)).collect();
        names.extend(counts.iter().map(|(name, _)| (*name).to_owned()));
        names.extend(["id".to_owned(), "architecture".to_owned()]);
        let mut html = "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Best candidates\"><table><thead><tr>".to_owned();
        for (i, name) in names.iter().enumerate() {
            let sorted = if i == 0 { " aria-sort=\"ascending\"" } else { "" };
            let class = if i < names.len() - 2 { " class=\"count\"" } else { "" };
            let _ = write!(
                html,
                "<th scope=\"col\"{class}{sorted}><button type=\"button\">{}</button></th>",
                escape(name)
            );
        }
        html += "</tr></thead><tbody>\n";
        for (rank, trial) in self.order.iter().copied().take(TOP).enumerate() {
            let on_front = self.objectives.len() > 1 && self.standing.front.contains(&trial);
            html += if on_front { "<tr class=\"front\">" } else { "<tr>" };
            let mut cell = |value: f64, text: String| {
                let _ = write!(html, "<td data-v=\"{value}\">{}</td>", escape(&text));
            };
            cell(rank as f64 + 1.0, (rank + 1).to_string());
            cell(trial as f64, trial.to_string());
            for place in 0..self.objectives.len() {
                let value = self.shown(trial, place);
                cell(value, self.value_text(place, value));
            }
            for (name, count) in &counts {
                let value = count(self.candidate(trial));
                cell(value as f64, if *name == "multiply-adds" { short(value) } else { grouped(value) });
            }
            let _ = writeln!(
                html,
                "<td class=\"code\">{}</td><td class=\"code genes\">{}</td></tr>",
                escape(&self.trials[trial].id),
                escape(&text::genes(&self.space.write(&self.candidate(trial).architecture)))
            );
        }
        html += "</tbody></table></div>";
        let shown = self.order.len().min(TOP);
        let marked = if self.objectives.len() > 1 { " Marked rows are on the front." } else { "" };
        let _ = write!(
            html,
            "<p class=\"note\">The {shown} best of {} by {}.{marked} A column's name sorts by it.</p>",
            grouped(self.order.len() as u64),
            escape(&self.axis(0))
        );
        html
    }

    /// How many failed in which way, each with the first such message.
    pub(super) fn failures(&self) -> String {
        let mut kinds: BTreeMap<(&str, &str), (u64, &Trial, &str)> = BTreeMap::new();
        for trial in self.trials {
            for score in trial.scores.iter().filter(|score| score.status != "ok") {
                let first = kinds.entry((&score.status, &score.proxy)).or_insert((0, trial, &score.message));
                first.0 += 1;
            }
        }
        if kinds.is_empty() {
            return "<p>No candidate failed.</p>".to_owned();
        }
        let mut html = "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Failures\"><table><thead><tr><th scope=\"col\">kind</th>\
                        <th scope=\"col\">proxy</th><th scope=\"col\">candidates</th><th scope=\"col\">the first</th></tr></thead><tbody>"
            .to_owned();
        for ((kind, proxy), (count, trial, message)) in kinds {
            let _ = write!(
                html,
                "<tr><td>{}</td><td>{}</td><td>{}</td><td>trial {}: {}</td></tr>",
                escape(kind),
                escape(proxy),
                grouped(count),
                trial.number,
                escape(message)
            );
        }
        html + "</tbody></table></div>"
    }
}
