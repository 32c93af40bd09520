//! A study as one self-contained page, and its charts as separate SVG files.
//!
//! Pure functions from what a store holds to text: no model runs, no file is touched, and the same study with the same
//! evidence gives the same bytes. Charts are SVG; `page.js` only shows what their marks say and sorts tables, so the page
//! is complete without it. Every text that comes from a study passes through [`text::escape`].

mod agreement;
mod bars;
mod chart;
mod compare;
mod curves;
mod dots;
mod drawing;
mod evidence;
mod front;
mod history;
mod labels;
mod limits;
mod markup;
mod outcomes;
mod page;
mod reproduce;
mod scale;
mod scatter;
mod setup;
mod table;
pub mod text;
mod training;
mod verified;
mod winner;

pub use bars::{Bar, bars};
pub use chart::Chart;
pub use compare::{Comparison, compare};
pub use curves::{Curve, Spot, best_so_far, curves};
pub use dots::{Dot, dots};
pub use scatter::scatter;

use crate::architecture::{Architecture, Counter};
use crate::benchmark::Evidence;
use crate::error::{Error, Result};
use crate::space::{self, Space};
use crate::store::{Study, Trial};
use crate::study::{Baseline, Leaderboard, Objective, Verification, View};
use outcomes::Failures;
use std::sync::Arc;
use text::{grouped, number, short, significant};

/// Appears near the beginning of every file that is made here.
pub const MARK: &str = "foretell report";

/// The page and its charts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The page.
    pub html: String,
    /// Each chart as a separate SVG file, by name.
    pub charts: Vec<(&'static str, String)>,
}

/// A candidate.
struct Candidate {
    id: String,
    architecture: Architecture,
}

/// The counts of a candidate.
#[derive(Clone, Copy)]
struct Counts {
    params: u64,
    flops: u64,
    depth: u64,
}

/// A study with all that follows from its trials. These are read one by one; only their counts are kept.
struct Subject<'a> {
    view: &'a View<'a>,
    study: &'a Study,
    hash: &'a str,
    random: &'a Baseline<'a>,
    verification: Option<&'a Verification>,
    evidence: &'a [(String, Vec<Evidence>)],
    objectives: &'a [Objective],
    leaderboard: &'a Leaderboard,
    /// Trials that did not fail, best first.
    order: Vec<usize>,
    space: Arc<dyn Space>,
    /// By trial; none where the trial failed.
    counts: Vec<Option<Counts>>,
    failures: Failures,
}

/// The report of a study: the hash of its trials, a random search to compare with, what training its best and random networks
/// showed, and what each of its scores is worth on tables of trained networks.
pub fn write(
    view: &View,
    hash: &str,
    random: &Baseline,
    verification: Option<&Verification>,
    evidence: &[(String, Vec<Evidence>)],
) -> Result<Report> {
    let (mut counts, mut failures) = (Vec::with_capacity(view.trials), Failures::default());
    view.each_trial(&mut |trial| {
        counts.push(trial.ok().then(|| Candidate::read(&trial)).transpose()?.map(|found| found.counts()));
        failures.add(trial);
        Ok(())
    })?;
    let subject = Subject { verification, evidence, ..Subject::new(view, hash, random, counts, failures) };
    let mut charts = Vec::new();
    let html = subject.page(&mut charts)?;
    Ok(Report { html, charts: charts.into_iter().map(|(name, chart)| (name, chart.alone())).collect() })
}

/// The few numbers that matter most, the winner and the best candidates of a study as markup to stand in a page of others, such
/// as a notebook.
pub fn cards(view: &View, hash: &str) -> Result<String> {
    let mut counts = vec![None; view.trials];
    for trial in view.best(table::LOOKED_AT) {
        counts[trial] = Some(Candidate::read(&view.trial(trial)?)?.counts());
    }
    Subject::new(view, hash, &Baseline::Absent, counts, Failures::default()).cards()
}

impl Candidate {
    fn read(trial: &Trial) -> Result<Self> {
        let place = || format!("trial {}", trial.number);
        let genes = serde_json::from_str(&trial.genes).map_err(|e| Error::data(place(), e.to_string()))?;
        let architecture = space::read_architecture(&genes).map_err(|e| e.at(place()))?;
        Ok(Candidate { id: trial.id.clone(), architecture })
    }

    fn counts(&self) -> Counts {
        let flops = self.architecture.flops(Counter::Exact).unwrap_or(0);
        Counts { params: self.architecture.params().total, flops, depth: self.architecture.depth() }
    }
}

impl<'a> Subject<'a> {
    fn new(
        view: &'a View<'a>,
        hash: &'a str,
        random: &'a Baseline<'a>,
        counts: Vec<Option<Counts>>,
        failures: Failures,
    ) -> Self {
        Subject {
            view,
            study: &view.study,
            hash,
            random,
            verification: None,
            evidence: &[],
            objectives: view.objectives(),
            leaderboard: &view.leaderboard,
            order: view.leaderboard.best(usize::MAX),
            space: view.settings.space.clone(),
            counts,
            failures,
        }
    }
}

impl Subject<'_> {
    /// Whether multiply-adds and memory of its networks are known.
    fn counts_work(&self) -> bool {
        self.space.definition().family.counts_work()
    }

    fn candidate(&self, trial: usize) -> Result<Candidate> {
        Candidate::read(&self.view.trial(trial)?)
    }
    /// The counts of a trial that is ranked; all are 0 for one that failed.
    fn counts(&self, trial: usize) -> Counts {
        self.counts.get(trial).copied().flatten().unwrap_or(Counts { params: 0, flops: 0, depth: 0 })
    }

    /// A cost is stored with its sign turned.
    fn sign(&self, objective: usize) -> f64 {
        if self.objectives[objective].is_cost() { -1.0 } else { 1.0 }
    }

    /// How many stored units make one that is shown: bytes in a megabyte, nanoseconds in a millisecond.
    fn unit(&self, objective: usize) -> f64 {
        match &self.objectives[objective] {
            Objective::Proxy(_) | Objective::Params | Objective::Flops => 1.0,
            Objective::Memory | Objective::Cache | Objective::Latency | Objective::TokenLatency => 1e6,
        }
    }

    /// The value of an objective in the unit that is shown.
    fn shown(&self, trial: usize, objective: usize) -> f64 {
        let scale = self.sign(objective) / self.unit(objective);
        self.leaderboard.values(trial).map_or(f64::NAN, |values| scale * values[objective])
    }

    /// The name of an objective, with its unit.
    fn axis(&self, objective: usize) -> String {
        match &self.objectives[objective] {
            Objective::Proxy(request) => request.label().to_owned(),
            Objective::Params => "parameters".into(),
            Objective::Flops => "multiply-adds".into(),
            Objective::Memory => "memory (MB)".into(),
            Objective::Cache => "cache (MB)".into(),
            Objective::Latency => "latency (ms)".into(),
            Objective::TokenLatency => "token latency (ms)".into(),
        }
    }

    /// A value of an objective, in the unit that is shown, as text.
    fn value_text(&self, objective: usize, value: f64) -> String {
        match &self.objectives[objective] {
            Objective::Proxy(_) => number(value),
            Objective::Params | Objective::Flops => grouped(value.max(0.0) as u64),
            _ => significant(value, 4),
        }
    }

    /// The winner that the study decided.
    fn winner(&self) -> Option<usize> {
        self.view.winner()
    }

    /// The winner; where nothing keeps the limits as measured, the candidate that comes nearest.
    fn presented(&self) -> Option<usize> {
        self.winner().or(self.view.answer.nearest.map(|trial| trial as usize))
    }

    /// What a mark of a trial says.
    fn title(&self, trial: usize) -> Result<String> {
        let values = (0..self.objectives.len()).map(|place| {
            format!("{} {}", self.axis(place), self.value_text(place, self.shown(trial, place)))
        });
        let values = values.collect::<Vec<_>>().join("  ");
        Ok(self.words(trial as u64, &self.candidate(trial)?, &values))
    }

    /// The same for any trial, given its first value.
    fn title_of(&self, trial: &Trial, value: f64) -> String {
        let values = format!("{} {}", self.axis(0), self.value_text(0, value));
        match Candidate::read(trial) {
            Ok(candidate) => self.words(trial.number, &candidate, &values),
            Err(_) => format!("trial {}  {}\n{values}", trial.number, trial.id),
        }
    }

    fn words(&self, number: u64, candidate: &Candidate, values: &str) -> String {
        let counts = candidate.counts();
        let flops = format!("  {} multiply-adds", short(counts.flops));
        format!(
            "trial {number}  {}\n{values}\n{} parameters{}\n{}",
            candidate.id,
            grouped(counts.params),
            if self.counts_work() { flops.as_str() } else { "" },
            text::gene_lines(&self.space.write(&candidate.architecture))
        )
    }

    /// The genes of a candidate on one line.
    fn genes(&self, candidate: &Candidate) -> String {
        text::genes(&self.space.write(&candidate.architecture))
    }
}
