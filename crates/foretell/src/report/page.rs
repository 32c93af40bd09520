//! The page: its sections in order, its head, and the few numbers that matter most.

use super::chart::Chart;
use super::markup::{table, terms};
use super::text::{escape, grouped, prose, short};
use super::{MARK, Subject};
use super::{agreement, drawing, front, history, labels, reproduce, verified};
use crate::architecture::Positions;
use crate::error::Result;
use crate::study::{Objective, Timed};

/// Charts that are also written as files, by name.
type Charts = Vec<(&'static str, Chart)>;

/// The heading of the table of candidates.
const BEST: &str = "Best candidates";
/// Rows of the table of candidates among cards.
const BEST_CARDS: usize = 5;
/// The heading of the last section.
const REPRODUCE: &str = "Reproduce";

/// A chart with its caption as part of the page.
fn figure(charts: &mut Charts, name: &'static str, drawn: Option<(Chart, String)>) -> Option<String> {
    let (chart, caption) = drawn?;
    let html = format!("<figure>{}<figcaption>{}</figcaption></figure>", chart.inside(), prose(&caption));
    charts.push((name, chart));
    Some(html)
}

/// A whole page with this title and this body, which is markup.
pub(super) fn document(title: &str, body: &str, mark: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<meta name=\"generator\" content=\"{mark}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src 'unsafe-inline'; img-src data:\">\n<link rel=\"icon\" href=\"data:,\">\n<title>{}</title>\n\
         <style>\n{}{}</style></head>\n<body><main>\n{body}</main>\n\
         <div id=\"tip\" role=\"status\" aria-live=\"polite\" hidden></div>\n<script>\n{}</script>\n</body></html>\n",
        escape(title),
        include_str!("chart.css"),
        include_str!("page.css"),
        include_str!("page.js")
    )
}

impl Subject<'_> {
    /// The whole page; the charts in it are added to `charts`.
    pub(super) fn page(&self, charts: &mut Charts) -> Result<String> {
        let body: String = self
            .sections(charts)?
            .iter()
            .map(|(name, html)| {
                // Sections that may be divided between printed pages.
                let class = if [BEST, REPRODUCE].contains(name) { " class=\"long\"" } else { "" };
                format!("<section{class}><h2>{name}</h2>{html}</section>\n")
            })
            .collect();
        let name = escape(&self.study.name);
        let objectives: Vec<String> = (0..self.objectives.len()).map(|place| self.axis(place)).collect();
        let subtitle = format!(
            "{} searched for {} by {}",
            escape(self.space.name()),
            escape(&objectives.join(" and ")),
            escape(self.study.config["algorithm"].as_str().unwrap_or_default())
        );
        let head = format!("<header><h1>{name}</h1><p>{subtitle}</p>{}</header>\n", self.tiles());
        Ok(document(&self.study.name, &(head + &body), MARK))
    }

    /// Headings with what stands under them.
    fn sections(&self, charts: &mut Charts) -> Result<Vec<(&'static str, String)>> {
        let mut sections = Vec::new();
        let drawn = self.presented().map(|trial| self.network(trial)).transpose()?.flatten();
        let network = figure(charts, "network", drawn);
        let heading = if self.winner().is_some() { "Winner" } else { "No winner" };
        sections.push((heading, self.winner_section(network.as_deref())?));
        sections.extend(self.limits()?.map(|limits| ("Limits", limits)));
        // What a timed search scores decides nothing.
        let timed = Timed::of(self.view)?;
        let scored = timed.is_none();
        let front = figure(charts, "front", if scored { front::chart(self)? } else { None });
        let history = figure(charts, "history", if scored { history::chart(self)? } else { None });
        if let (Some(front), Some(history)) = (front, history) {
            let name = if self.objectives.len() > 1 { "Pareto front" } else { "Best for each size" };
            let front = format!("<div><h3>{name}</h3>{front}</div>");
            let history = format!("<div><h3>Compared with random search</h3>{history}</div>");
            sections.push(("Search", format!("<div class=\"pair\">{front}{history}</div>")));
        }
        if let Some(timed) = &timed {
            let runs = figure(charts, "runs", self.runs(timed));
            let runs = runs.map_or(String::new(), |runs| format!("<div class=\"beside\">{runs}</div>"));
            sections.push(("Training", runs + &self.training(timed)?));
        }
        let labels = if scored { labels::chart(self)? } else { None };
        let labels = figure(charts, "labels", labels);
        let labels = labels.map_or(String::new(), |labels| format!("<div class=\"beside\">{labels}</div>"));
        sections.extend(self.evaluated().map(|evaluated| ("Evaluated candidates", labels + &evaluated)));
        if let Some(verified) = figure(charts, "verified", self.verification.and_then(verified::chart)) {
            let html = format!("<div class=\"beside\">{verified}</div>");
            sections.push(("Trained against random networks", html));
        }
        sections.extend(self.evidence().map(|evidence| ("What is the score worth?", evidence)));
        if let Some(agreement) = figure(charts, "agreement", agreement::chart(self)) {
            let html = format!("<div class=\"beside\">{agreement}</div>");
            sections.push(("Does the score add anything to a count?", html));
        }
        if !self.order.is_empty() {
            sections.push((BEST, self.table()?));
        }
        sections.extend(self.failures().map(|failures| ("Failed candidates", failures)));
        sections.push(("Setup", self.setup()?));
        sections.push((REPRODUCE, reproduce::section(self)?));
        Ok(sections)
    }

    /// The few numbers that matter most, the winner and the best candidates, to stand in a page of others.
    pub(super) fn cards(&self) -> Result<String> {
        let mut html = format!(
            "<div class=\"foretell-cards\"><style>{}</style><h4>{}</h4>{}<p>{}</p>",
            include_str!("cards.css"),
            escape(&self.study.name),
            self.tiles(),
            escape(&self.verdict())
        );
        if let Some(trial) = self.presented() {
            let drawn = self.network(trial)?.map(|(chart, _)| chart.picture()).unwrap_or_default();
            html += &format!("<div class=\"pair\">{drawn}{}</div>", terms(&self.facts(trial)?, false));
        }
        if !self.order.is_empty() {
            let (names, rows) = self.best_rows(BEST_CARDS)?;
            html += &table(BEST, false, &names, &rows);
        }
        Ok(html + "</div>")
    }

    /// The drawing of a network and its caption; none of one whose layers nobody here knows.
    fn network(&self, trial: usize) -> Result<Option<(Chart, String)>> {
        let architecture = &self.candidate(trial)?.architecture;
        if architecture.family().card().positions == Positions::Choices {
            return Ok(None);
        }
        let genes = self.space.write(architecture);
        let plain = super::text::gene_list(&genes).into_iter().filter(|gene| !gene.2);
        let head = plain.map(|(key, value, _)| format!("{key} {value}")).collect::<Vec<_>>().join(", ");
        let caption = if architecture.family().card().positions == Positions::Nodes {
            format!("{head}. Each row is a node of the cell, as wide as its number of weights.")
        } else {
            format!(
                "{head}. One row per layer, input at the top, all widths to one scale. Grey: residual stream. Blue: token \
                 mixing, divided into heads. Orange: feed-forward maps."
            )
        };
        Ok(Some((drawing::chart(architecture, &head), caption)))
    }

    /// The few numbers that matter most.
    fn tiles(&self) -> String {
        let failed = self.view.trials - self.order.len();
        let mut tiles = Vec::new();
        match self.winner() {
            Some(winner) => {
                for place in 0..self.objectives.len().min(2) {
                    let value = self.shown(winner, place);
                    let count = matches!(self.objectives[place], Objective::Params | Objective::Flops);
                    let text =
                        if count { short(value.max(0.0) as u64) } else { self.value_text(place, value) };
                    tiles.push((text, format!("{} of the winner", self.axis(place))));
                }
                if !self.objectives.contains(&Objective::Params) {
                    tiles.push((short(self.counts(winner).params), "parameters".into()));
                }
                if self.counts_work() && !self.objectives.contains(&Objective::Flops) {
                    tiles.push((short(self.counts(winner).flops), "multiply-adds".into()));
                }
            }
            None => tiles.push(("none".to_owned(), "winner".into())),
        }
        tiles.push((grouped(self.view.trials as u64), "candidates scored".into()));
        if failed > 0 {
            tiles.push((grouped(failed as u64), "of them failed".into()));
        }
        tiles.iter().fold("<ul class=\"tiles\">".to_owned(), |html, (value, name)| {
            html + &format!("<li><b>{}</b> <span>{}</span></li>", escape(value), escape(name))
        }) + "</ul>"
    }
}
