//! A study as one page that needs nothing else, and its charts as drawings of their own.
//!
//! Pure functions from what a store holds to text: no model is run, no file is touched, and the same study gives the same
//! bytes. Charts are SVG; `page.js` only reads out what their marks say and sorts the table, so the page is whole
//! without it. Every text that comes from a study passes through [`text::escape`].

mod agreement;
mod chart;
mod drawing;
mod front;
mod history;
mod how;
mod reproduce;
mod table;
pub mod text;
mod verified;

use crate::architecture::{Architecture, Counter, Part};
use crate::error::{Error, Result};
use crate::space::{self, Space};
use crate::store::{Evaluation, Ranks, Study, Trial};
use crate::study::{Baseline, Objective, Standing, Verification, View};
use chart::Chart;
use std::fmt::Write;
use std::sync::Arc;
use text::{escape, grouped, number, short};

/// Stands near the beginning of every file that is made here.
pub const MARK: &str = "foretell report";

/// The page and its charts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The page, whole.
    pub html: String,
    /// Each chart as a drawing of its own, by name.
    pub charts: Vec<(&'static str, String)>,
}

/// A candidate that did not fail, with its counts.
struct Candidate {
    architecture: Architecture,
    params: u64,
    flops: u64,
    depth: u64,
}

/// A study with all that follows from its trials.
struct Subject<'a> {
    view: &'a View<'a>,
    study: &'a Study,
    trials: &'a [Trial],
    evaluations: &'a [Evaluation],
    hash: &'a str,
    random: &'a Baseline,
    verification: Option<&'a Verification>,
    objectives: &'a [Objective],
    standing: &'a Standing,
    /// Trials that did not fail, best first.
    order: Vec<usize>,
    space: Arc<dyn Space>,
    /// By trial; none where it failed.
    candidates: Vec<Option<Candidate>>,
}

/// The report of a study: its trials, their hash, random search to compare with, and what training said of its best
/// against random ones.
pub fn write(
    view: &View,
    trials: &[Trial],
    hash: &str,
    random: &Baseline,
    verification: Option<&Verification>,
) -> Result<Report> {
    let candidate = |trial: &Trial| trial.ok().then(|| Candidate::read(trial)).transpose();
    let candidates = trials.iter().map(candidate).collect::<Result<_>>()?;
    let subject = Subject {
        view,
        study: &view.study,
        trials,
        evaluations: &view.evaluations,
        hash,
        random,
        verification,
        objectives: view.objectives(),
        standing: &view.standing,
        order: view.standing.best(usize::MAX),
        space: view.settings.space.clone(),
        candidates,
    };
    let mut charts = Vec::new();
    let html = subject.page(&mut charts)?;
    Ok(Report { html, charts: charts.into_iter().map(|(name, chart)| (name, chart.alone())).collect() })
}

/// The standing of some trials among themselves.
fn standing(objectives: &[Objective], trials: &[Trial]) -> Result<Standing> {
    let ranks = Ranks::of(trials).ok_or_else(|| Error::input("trials", "are not of one study"))?;
    Standing::new(objectives, &ranks)
}

impl Candidate {
    fn read(trial: &Trial) -> Result<Self> {
        let place = || format!("trial {}", trial.number);
        let genes = serde_json::from_str(&trial.genes).map_err(|e| Error::input(place(), e.to_string()))?;
        let architecture = space::read_architecture(&genes).map_err(|e| e.at(place()))?;
        let (params, depth) = (architecture.params().total, architecture.depth());
        let flops = architecture.flops(Counter::Exact).unwrap_or(0);
        Ok(Candidate { architecture, params, flops, depth })
    }
}

impl Subject<'_> {
    fn candidate(&self, trial: usize) -> &Candidate {
        self.candidates[trial].as_ref().expect("only what did not fail is ranked")
    }
    fn params(&self, trial: usize) -> u64 {
        self.candidate(trial).params
    }
    fn flops(&self, trial: usize) -> u64 {
        self.candidate(trial).flops
    }
    fn depth(&self, trial: usize) -> u64 {
        self.candidate(trial).depth
    }

    /// Costs are stored with their sign turned.
    fn sign(&self, objective: usize) -> f64 {
        if matches!(self.objectives[objective], Objective::Proxy(_)) { 1.0 } else { -1.0 }
    }

    /// An objective's value as people know it.
    fn shown(&self, trial: usize, objective: usize) -> f64 {
        self.standing.values(trial).map_or(f64::NAN, |values| self.sign(objective) * values[objective])
    }

    fn axis(&self, objective: usize) -> String {
        match &self.objectives[objective] {
            Objective::Proxy(label) => label.clone(),
            Objective::Params => "parameters".into(),
            Objective::Flops => "multiply-adds".into(),
            Objective::Memory => "bytes of memory".into(),
            Objective::Cache => "bytes of keys and values".into(),
            Objective::Latency => "nanoseconds".into(),
            Objective::TokenLatency => "nanoseconds per token".into(),
        }
    }

    /// A value of an objective in words.
    fn value_text(&self, objective: usize, value: f64) -> String {
        if self.sign(objective) < 0.0 { grouped(value.max(0.0) as u64) } else { number(value) }
    }

    /// The winner that the study decided.
    fn winner(&self) -> Option<usize> {
        self.view.winner()
    }

    /// What a mark of a trial says.
    fn title(&self, trial: usize) -> String {
        let values = (0..self.objectives.len()).map(|place| {
            format!("{} {}", self.axis(place), self.value_text(place, self.shown(trial, place)))
        });
        self.words(&self.trials[trial], self.candidate(trial), values.collect::<Vec<_>>().join("  "))
    }

    /// The same for any trial, given its first value.
    fn title_of(&self, trial: &Trial, value: f64) -> String {
        let values = format!("{} {}", self.axis(0), self.value_text(0, value));
        match Candidate::read(trial) {
            Ok(candidate) => self.words(trial, &candidate, values),
            Err(_) => format!("trial {}  {}\n{values}", trial.number, trial.id),
        }
    }

    fn words(&self, trial: &Trial, candidate: &Candidate, values: String) -> String {
        format!(
            "trial {}  {}\n{values}\n{} parameters  {} multiply-adds\n{}",
            trial.number,
            trial.id,
            grouped(candidate.params),
            short(candidate.flops),
            text::gene_lines(&self.space.write(&candidate.architecture))
        )
    }

    /// The whole page; the charts in it are added to `charts`.
    fn page(&self, charts: &mut Vec<(&'static str, Chart)>) -> Result<String> {
        let mut sections = vec![("What was searched, and how", self.how()?)];
        let mut figure = |name: &'static str, drawn: Option<(Chart, String)>| {
            let (chart, caption) = drawn?;
            let html = format!(
                "<figure>{}<figcaption>{}</figcaption></figure>",
                chart.inside(),
                text::prose(&caption)
            );
            charts.push((name, chart));
            Some(html)
        };
        let several = self.objectives.len() > 1;
        let front = figure("front", front::chart(self));
        let history = figure("history", history::chart(self)?);
        let agreement = figure("agreement", agreement::chart(self));
        let network = self.winner().map(|winner| {
            let architecture = &self.candidate(winner).architecture;
            let genes = self.space.write(architecture);
            let plain = text::gene_list(&genes).into_iter().filter(|gene| !gene.2);
            let head = plain.map(|(key, value, _)| format!("{key} {value}")).collect::<Vec<_>>().join("  ");
            (drawing::chart(architecture, &head), head)
        });
        let network = figure("network", network.map(|(chart, head)| (chart, self.network_caption(&head))));
        if let (Some(front), Some(history)) = (front, history) {
            let name = if several { "Pareto front" } else { "Best for each size" };
            let front = format!("<div><h3>{name}</h3>{front}</div>");
            let history = format!("<div><h3>Best so far</h3>{history}</div>");
            sections.push(("Found", format!("<div class=\"pair\">{front}{history}</div>")));
        }
        if let (Some(network), Some(winner)) = (network, self.winner()) {
            sections.push((
                "Winner",
                format!("<div class=\"pair\">{network}<dl>{}</dl></div>", self.facts(winner)),
            ));
        }
        if let Some(agreement) = agreement {
            sections.push(("Is the score a mere count?", format!("<div class=\"beside\">{agreement}</div>")));
        }
        if !self.evaluations.is_empty() {
            sections.push(("Evaluated", self.evaluated()));
        }
        if let Some(verified) = figure("verified", self.verification.and_then(verified::chart)) {
            sections.push(("Does it beat chance?", format!("<div class=\"beside\">{verified}</div>")));
        }
        if !self.order.is_empty() {
            sections.push(("Best candidates", self.table()));
        }
        sections.push(("Failures", self.failures()));
        sections.push(("Reproduce", reproduce::section(self)));
        let body: String = sections.iter().fold(String::new(), |mut body, (name, html)| {
            let _ = writeln!(body, "<section><h2>{name}</h2>{html}</section>");
            body
        });
        let name = escape(&self.study.name);
        let objectives: Vec<String> = (0..self.objectives.len()).map(|place| self.axis(place)).collect();
        let subtitle = format!(
            "{} searched for {} by {}",
            escape(self.space.name()),
            escape(&objectives.join(" and ")),
            escape(self.study.config["algorithm"].as_str().unwrap_or_default())
        );
        Ok(format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<meta name=\"generator\" content=\"{MARK}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
             script-src 'unsafe-inline'; img-src data:\">\n<link rel=\"icon\" href=\"data:,\">\n<title>{name}</title>\n\
             <style>\n{}{}</style></head>\n<body><main>\n<header><h1>{name}</h1><p>{subtitle}</p>{}</header>\n{body}</main>\n\
             <div id=\"tip\" role=\"status\" aria-live=\"polite\" hidden></div>\n<script>\n{}</script>\n</body></html>\n",
            include_str!("chart.css"),
            include_str!("page.css"),
            self.tiles(),
            include_str!("page.js")
        ))
    }

    /// The few numbers that matter most.
    fn tiles(&self) -> String {
        let failed = self.trials.len() - self.order.len();
        let mut tiles = Vec::new();
        if let Some(winner) = self.winner() {
            for place in 0..self.objectives.len().min(2) {
                let cost = self.sign(place) < 0.0;
                let value = self.shown(winner, place);
                let text = if cost { short(value.max(0.0) as u64) } else { number(value) };
                tiles.push((text, format!("{} of the winner", self.axis(place))));
            }
            if !self.objectives.contains(&Objective::Params) {
                tiles.push((short(self.params(winner)), "its parameters".into()));
            }
            if !self.objectives.contains(&Objective::Flops) {
                tiles.push((short(self.flops(winner)), "its multiply-adds".into()));
            }
        }
        tiles.push((grouped(self.trials.len() as u64), "candidates scored".into()));
        tiles.push((grouped(failed as u64), "of them failed".into()));
        tiles.iter().fold("<ul class=\"tiles\">".to_owned(), |html, (value, name)| {
            html + &format!("<li><b>{}</b> <span>{}</span></li>", escape(value), escape(name))
        }) + "</ul>"
    }

    /// The winner in numbers.
    fn facts(&self, winner: usize) -> String {
        let Candidate { architecture, params, flops, .. } = self.candidate(winner);
        let mut rows = vec![("id".to_owned(), architecture.id()), ("trial".to_owned(), winner.to_string())];
        for (place, objective) in self.objectives.iter().enumerate() {
            if matches!(objective, Objective::Proxy(_)) {
                rows.push((self.axis(place), self.value_text(place, self.shown(winner, place))));
            }
        }
        rows.push(("parameters".into(), grouped(*params)));
        let counts = architecture.params();
        for part in Part::ALL {
            if counts.part(part) > 0 {
                rows.push((format!("in {}", part.name()), grouped(counts.part(part))));
            }
        }
        rows.push(("multiply-adds".into(), grouped(*flops)));
        rows.push(("memory".into(), format!("{}B", short(architecture.memory().total()))));
        rows.extend(
            text::gene_list(&self.space.write(architecture))
                .into_iter()
                .map(|(key, value, _)| (key.to_owned(), value)),
        );
        let row = |(name, value): &(String, String)| {
            format!("<dt>{}</dt><dd class=\"code\">{}</dd>", escape(name), escape(value))
        };
        rows.iter().map(row).collect()
    }

    fn network_caption(&self, head: &str) -> String {
        let nodes = self
            .winner()
            .is_some_and(|winner| self.candidate(winner).architecture.family().name() == "recurrent");
        if nodes {
            return format!("{head}. Each row is a node of the cell, as wide as its weights.");
        }
        format!(
            "{head}. Input above, output below, all widths to one scale: pale the residual stream, blue the token mixing \
             cut into its heads, orange the feed-forward maps."
        )
    }
}
