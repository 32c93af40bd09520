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
mod reproduce;
pub mod text;

use crate::architecture::{Architecture, Counter, Part};
use crate::error::{Error, Result};
use crate::proxy::Request;
use crate::search;
use crate::space::{self, Size, Space};
use crate::store::{Study, Trial};
use crate::study::{Baseline, Objective, Settings, Standing};
use chart::Chart;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;
use text::{escape, grouped, number, short};

/// Stands near the beginning of every file that is made here.
pub const MARK: &str = "foretell report";
/// Rows of the table.
const TOP: usize = 50;

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
    study: &'a Study,
    trials: &'a [Trial],
    hash: &'a str,
    random: &'a Baseline,
    objectives: &'a [Objective],
    standing: Standing,
    space: Arc<dyn Space>,
    /// By trial; none where it failed.
    candidates: Vec<Option<Candidate>>,
}

/// The report of a study: its trials, their hash, and random search beside it.
pub fn write(study: &Study, trials: &[Trial], hash: &str, random: &Baseline) -> Result<Report> {
    let settings = Settings::of(&study.config)?;
    let standing = Standing::new(&settings.objectives, trials)?;
    let candidate = |(trial, values): (&Trial, &Option<Vec<f64>>)| {
        values.as_ref().map(|_| Candidate::read(trial)).transpose()
    };
    let candidates = trials.iter().zip(&standing.values).map(candidate).collect::<Result<_>>()?;
    let objectives = &settings.objectives;
    let subject =
        Subject { study, trials, hash, random, objectives, standing, space: settings.space, candidates };
    let mut charts = Vec::new();
    let html = subject.page(&mut charts)?;
    Ok(Report { html, charts: charts.into_iter().map(|(name, chart)| (name, chart.alone())).collect() })
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
        self.standing.values[trial]
            .as_ref()
            .map_or(f64::NAN, |values| self.sign(objective) * values[objective])
    }

    fn axis(&self, objective: usize) -> String {
        match &self.objectives[objective] {
            Objective::Proxy(label) => label.clone(),
            Objective::Params => "parameters".into(),
            Objective::Flops => "multiply-adds".into(),
            Objective::Memory => "bytes of memory".into(),
        }
    }

    /// A value of an objective in words.
    fn value_text(&self, objective: usize, value: f64) -> String {
        if self.sign(objective) < 0.0 { grouped(value.max(0.0) as u64) } else { number(value) }
    }

    /// The knee of several objectives, else the best.
    fn winner(&self) -> Option<usize> {
        let knee = self.standing.knee.filter(|_| self.objectives.len() > 1);
        knee.or(self.standing.order.first().copied())
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
            sections.push(("Found", format!("<div class=\"pair\"><div><h3>{name}</h3>{front}</div><div><h3>Best so far</h3>{history}</div></div>")));
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
        if !self.standing.order.is_empty() {
            sections.push(("Best candidates", self.table()));
        }
        sections.push(("Failures", self.failures()));
        sections.push(("Reproduce", reproduce::section(self)));
        let body: String = sections.iter().fold(String::new(), |mut body, (name, html)| {
            let _ = write!(body, "<section><h2>{name}</h2>{html}</section>\n");
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
        let failed = self.trials.len() - self.standing.order.len();
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

    /// What was searched, for what, by what, within which limits.
    fn how(&self) -> Result<String> {
        let config = &self.study.config;
        let definition = self.space.definition();
        let size = match self.space.size() {
            Size::Exact(size) => {
                let digits = size.to_string();
                if digits.len() <= 9 {
                    grouped(digits.parse().unwrap_or(0))
                } else {
                    format!("{}.{} × 10<sup>{}</sup>", &digits[..1], &digits[1..2], digits.len() - 1)
                }
            }
            Size::Open => "unbounded many".to_owned(),
        };
        let cited = |paper: &str| {
            if paper.is_empty() { String::new() } else { format!(" <cite>{}</cite>", escape(paper)) }
        };
        let mut rows = vec![(
            "Space",
            format!(
                "<b>{}</b>, {size} architectures. {}{}",
                escape(&definition.name),
                escape(&definition.about),
                cited(&definition.paper)
            ),
        )];
        for objective in self.objectives {
            rows.push((
                "Objective",
                match objective {
                    Objective::Proxy(label) => {
                        let about = Request::parse(label)?.about();
                        format!(
                            "large <b>{}</b>: {} <code>{}</code>{}",
                            escape(label),
                            escape(about.sentence),
                            escape(about.formula),
                            cited(about.paper)
                        )
                    }
                    Objective::Params => "few <b>parameters</b>".into(),
                    Objective::Flops => "few <b>multiply-adds</b>, counted exactly".into(),
                    Objective::Memory => {
                        "little <b>memory</b> for a forward and backward of one input in f32".into()
                    }
                },
            ));
        }
        let algorithm = config["algorithm"].as_str().unwrap_or_default();
        let about = search::about(algorithm)?;
        rows.push((
            "Algorithm",
            format!("<b>{}</b>: {}{}", escape(algorithm), escape(about.sentence), cited(about.paper)),
        ));
        let limits: Vec<String> = config["limits"]
            .as_object()
            .into_iter()
            .flatten()
            .filter_map(|(key, value)| {
                let (bound, name) = key.split_once('_')?;
                let name = match name {
                    "params" => "parameters",
                    "flops" => "multiply-adds",
                    _ => "bytes of memory",
                };
                let bound = if bound == "min" { "at least" } else { "at most" };
                Some(format!("{bound} {} {name}", grouped(value.as_u64()?)))
            })
            .collect();
        let limits = if limits.is_empty() { "none".to_owned() } else { limits.join(", ") };
        rows.push((
            "Limits",
            format!("{limits}; {} candidates were refused before scoring", grouped(self.study.rejected)),
        ));
        let ended = match self.study.stopped.as_deref() {
            None => "not yet: the same command goes on".to_owned(),
            Some("budget") => "when as many candidates were scored as were asked for".to_owned(),
            Some("exhausted") => "when no new candidate was left".to_owned(),
            Some(reason) => escape(reason),
        };
        rows.push(("Ended", ended));
        Ok(rows
            .iter()
            .fold("<dl>".to_owned(), |html, (name, text)| html + &format!("<dt>{name}</dt><dd>{text}</dd>"))
            + "</dl>")
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

    /// The best candidates, to be sorted by any column.
    fn table(&self) -> String {
        let mut names = vec!["rank".to_owned(), "trial".to_owned()];
        names.extend((0..self.objectives.len()).map(|place| self.axis(place)));
        let counts: Vec<(&str, fn(&Self, usize) -> u64)> =
            vec![("parameters", Self::params), ("multiply-adds", Self::flops), ("depth", Self::depth)];
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
        for (rank, trial) in self.standing.order.iter().copied().take(TOP).enumerate() {
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
                let value = count(self, trial);
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
        let shown = self.standing.order.len().min(TOP);
        let marked = if self.objectives.len() > 1 { " Marked rows are on the front." } else { "" };
        let _ = write!(
            html,
            "<p class=\"note\">The {shown} best of {} by {}.{marked} A column's name sorts by it.</p>",
            grouped(self.standing.order.len() as u64),
            escape(&self.axis(0))
        );
        html
    }

    /// How many failed in which way, each with the first such message.
    fn failures(&self) -> String {
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
