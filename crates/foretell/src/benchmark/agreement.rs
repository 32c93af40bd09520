//! How well proxies rank a benchmark, beside the trivial baselines.

use super::{Bands, Benchmark, Column, Noise};
use crate::error::{Error, Result};
use crate::proxy::{Request, Score};
use crate::rank::{self, Band, Interval, PairAgreement};
use crate::score::{Cell, Scorer};
use serde::Serialize;
use serde_json::Value;

/// How the comparison is made.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Bootstrap resamples behind each interval; 0 for none.
    pub resamples: usize,
    /// Seeds of weights and inputs, for scores that depend on them.
    pub seeds: Vec<u64>,
    /// Seed of the resamples.
    pub seed: u64,
    /// Pairs whose parameters differ by less than this share count as close in size.
    pub close: f64,
    /// Bands of parameters.
    pub bands: Bands,
    /// Columns of the table that stand in the comparison as scores of their own, by name.
    pub columns: Vec<String>,
}

/// How a column of the table is asked for where a proxy is.
pub const COLUMN: &str = "column:";

impl Default for Settings {
    fn default() -> Self {
        Settings {
            resamples: 1000,
            seeds: vec![0, 1, 2],
            seed: 0,
            close: 0.1,
            bands: Bands::Equal(3),
            columns: Vec::new(),
        }
    }
}

/// A benchmark's table of proxies.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The benchmark.
    pub benchmark: String,
    /// The family of its networks.
    pub family: String,
    /// The column ranked against.
    pub target: String,
    /// Whether smaller values of it are better.
    pub lower_is_better: bool,
    /// Labelled networks.
    pub n: usize,
    /// Networks without a label, left out.
    pub unlabelled: usize,
    /// How much of the ranking is chance, where networks were trained more than once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise: Option<Noise>,
    /// What should be known before the figures are trusted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// One entry per proxy, best tau first.
    pub proxies: Vec<Agreement>,
    /// Every labelled network with its scores.
    #[serde(skip)]
    pub networks: Vec<Scored>,
}

impl Report {
    /// Keeps some proxies alone, with their scores.
    pub fn retain(&mut self, keep: impl Fn(&Agreement) -> bool) {
        let kept: Vec<bool> = self.proxies.iter().map(keep).collect();
        for network in &mut self.networks {
            let mut at = kept.iter();
            network.scores.retain(|_| at.next() == Some(&true));
        }
        let mut at = kept.iter();
        self.proxies.retain(|_| at.next() == Some(&true));
    }
}

/// A labelled network with its scores.
#[derive(Debug, Clone)]
pub struct Scored {
    /// Its id.
    pub id: String,
    /// Its name in the table, where it has one.
    pub name: Option<String>,
    /// Its parameters.
    pub params: u64,
    /// The target as the table gives it.
    pub target: f64,
    /// A score per entry of [`Report::proxies`], none where there is none.
    pub scores: Vec<Option<f64>>,
}

/// How well one proxy ranks. A statistic that is not defined, such as one of a constant score, is absent.
#[derive(Debug, Serialize)]
pub struct Agreement {
    /// The proxy as asked for.
    pub name: String,
    /// Whether it is only a count.
    pub trivial: bool,
    /// Kendall's tau-b.
    pub kendall: Option<f64>,
    /// Its 95 % interval.
    pub kendall_ci: Option<[f64; 2]>,
    /// Tau-b with each seed alone, where the score depends on a draw.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kendall_seeds: Vec<f64>,
    /// Spearman's rho with each seed alone, where the score depends on a draw.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub spearman_seeds: Vec<f64>,
    /// Kendall's tau-a.
    pub kendall_a: Option<f64>,
    /// Spearman's rho on average ranks.
    pub spearman: Option<f64>,
    /// Its 95 % interval.
    pub spearman_ci: Option<[f64; 2]>,
    /// Pearson's r.
    pub pearson: Option<f64>,
    /// Tau-b with the parameter count held fixed.
    pub kendall_given_params: Option<f64>,
    /// Tau-b with depth held fixed.
    pub kendall_given_depth: Option<f64>,
    /// Ordered pairs right among networks whose parameters differ by less than 10 %.
    pub close_pairs: Option<PairAgreement>,
    /// Agreement within bands of parameters.
    pub bands: Vec<Band>,
    /// Share of the true best found among the proxy's best: 10, 30 and 50 %.
    pub top_overlap: [Option<f64>; 3],
    /// The best true rank among the proxy's best 10 %.
    pub best_true_rank: Option<f64>,
    /// Different scores.
    pub distinct: usize,
    /// Networks it could not score.
    pub failed: usize,
    /// What the first failure was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Wall time of scoring, per network.
    pub seconds_per_architecture: f64,
}

impl Agreement {
    /// Mean and standard deviation of tau over single seeds; none for fewer than two.
    pub fn over_seeds(&self) -> Option<(f64, f64)> {
        let n = self.kendall_seeds.len() as f64;
        let mean = self.kendall_seeds.iter().sum::<f64>() / n;
        let squares: f64 = self.kendall_seeds.iter().map(|tau| (tau - mean).powi(2)).sum();
        (n > 1.0).then(|| (mean, (squares / (n - 1.0)).sqrt()))
    }
}

/// Scores every labelled network and compares the order with the target's.
///
/// The [`baselines`] belong among the scorer's proxies. `done` is told after every network.
pub fn evaluate(
    benchmark: &Benchmark,
    target: &Column,
    scorer: &Scorer,
    settings: &Settings,
    done: &(dyn Fn() + Sync),
) -> Result<Report> {
    let labelled: Vec<usize> = (0..target.values.len()).filter(|i| target.values[*i].is_some()).collect();
    let sign = if target.lower_is_better { -1.0 } else { 1.0 };
    let truth: Vec<f64> =
        labelled.iter().filter_map(|i| target.values[*i]).map(|value| sign * value).collect();
    let size: Vec<f64> = labelled.iter().map(|i| benchmark.architectures[*i].params().total as f64).collect();
    let depth: Vec<f64> = labelled.iter().map(|i| benchmark.architectures[*i].depth() as f64).collect();
    let architectures: Vec<_> = labelled.iter().map(|i| benchmark.architectures[*i].clone()).collect();
    // Unknown columns are named before anything is scored.
    let given = settings.columns.iter().map(|name| own_scores(benchmark, name, &labelled));
    let given = given.collect::<Result<Vec<_>>>()?;
    let table = scorer.table(&architectures, &settings.seeds, done)?;
    let known = Known { truth: &truth, size: &size, depth: &depth };
    let mut proxies = Vec::new();
    for (index, request) in scorer.requests().iter().enumerate() {
        let column: Vec<&Cell> = table.iter().map(|row| &row.cells[index]).collect();
        let scores = scorer.order(index, &column);
        let seconds = column.iter().map(|cell| cell.seconds).sum::<f64>() / column.len().max(1) as f64;
        let found = Agreement {
            trivial: request.about().trivial,
            kendall_seeds: by_seed(request, &column, &truth, rank::kendall_tau_b),
            spearman_seeds: by_seed(request, &column, &truth, rank::spearman),
            seconds_per_architecture: seconds,
            ..agreement(request.label().to_owned(), &scores, known, settings)
        };
        proxies.push((found, scores));
    }
    for (name, scores) in settings.columns.iter().zip(given) {
        proxies.push((agreement(format!("{COLUMN}{name}"), &scores, known, settings), scores));
    }
    proxies.sort_by(|(a, _), (b, _)| b.kendall.unwrap_or(-2.0).total_cmp(&a.kendall.unwrap_or(-2.0)));
    let (proxies, scores): (Vec<Agreement>, Vec<Vec<Result<f64>>>) = proxies.into_iter().unzip();
    let network = |(place, row): (usize, &usize)| Scored {
        id: benchmark.architectures[*row].id(),
        name: benchmark.name_of(*row),
        params: size[place] as u64,
        target: sign * truth[place],
        scores: scores.iter().map(|column| column[place].as_ref().ok().copied()).collect(),
    };
    Ok(Report {
        benchmark: benchmark.name.clone(),
        family: benchmark.architectures.first().map_or(String::new(), |a| a.family().to_string()),
        target: target.name.clone(),
        lower_is_better: target.lower_is_better,
        n: labelled.len(),
        unlabelled: target.values.len() - labelled.len(),
        noise: Noise::of(benchmark, target, settings.seed),
        notes: benchmark.notes.clone(),
        proxies,
        networks: labelled.iter().enumerate().map(network).collect(),
    })
}

/// The scores that a column holds, larger for what is better; a network without a value has none.
pub(super) fn own_scores(benchmark: &Benchmark, name: &str, rows: &[usize]) -> Result<Vec<Result<f64>>> {
    let column = benchmark.column(name)?;
    let sign = if column.lower_is_better { -1.0 } else { 1.0 };
    let missing = || Error::data(format!("{COLUMN}{name}"), "the table has no value for this network");
    Ok(rows.iter().map(|row| column.values[*row].map(|value| sign * value).ok_or_else(missing)).collect())
}

/// What is known of networks beside their scores.
#[derive(Clone, Copy)]
struct Known<'a> {
    truth: &'a [f64],
    size: &'a [f64],
    depth: &'a [f64],
}

/// A measure of agreement.
type Measure = fn(&[f64], &[f64]) -> Option<f64>;

/// Agreement with each seed alone.
fn by_seed(request: &Request, column: &[&Cell], truth: &[f64], measure: Measure) -> Vec<f64> {
    let seeds = column.iter().map(|cell| cell.scores.len()).max().unwrap_or(0);
    let one = |seed: usize| {
        let scored: Vec<(&Score, f64)> = column
            .iter()
            .zip(truth)
            .filter_map(|(cell, truth)| Some((cell.scores.get(seed)?.as_ref().ok()?, *truth)))
            .collect();
        let (scores, truth): (Vec<&Score>, Vec<f64>) = scored.into_iter().unzip();
        measure(&request.within(&scores), &truth)
    };
    if seeds < 2 { Vec::new() } else { (0..seeds).filter_map(one).collect() }
}

/// The trivial proxies that were not asked for, and the parameter count in each mode of the family.
pub fn baselines(benchmark: &Benchmark, requests: &[Request]) -> Result<Vec<Request>> {
    let mut labels: Vec<String> = Vec::new();
    labels
        .extend(crate::proxy::CATALOGUE.iter().filter(|e| e.about.trivial).map(|e| e.about.name.to_owned()));
    if let Some(architecture) = benchmark.architectures.first()
        && let Ok(field) = architecture.family().field("mode")
        && let crate::architecture::Kind::Name(modes) = field.kind
    {
        let mode =
            |a: &crate::architecture::Architecture| a.to_json().get("mode").cloned().unwrap_or(Value::Null);
        labels
            .extend(modes.iter().filter(|m| mode(architecture) != **m).map(|m| format!("params[mode={m}]")));
    }
    labels.retain(|label| !requests.iter().any(|request| request.label() == label));
    labels.iter().map(|label| Request::parse(label)).collect()
}

fn agreement(name: String, scores: &[Result<f64>], known: Known, settings: &Settings) -> Agreement {
    let failure = scores.iter().find_map(|score| score.as_ref().err().map(ToString::to_string));
    let scored: Vec<usize> = (0..scores.len()).filter(|i| scores[*i].is_ok()).collect();
    let pick = |column: &[f64]| scored.iter().map(|i| column[*i]).collect::<Vec<f64>>();
    let score: Vec<f64> = scores.iter().filter_map(|score| score.as_ref().ok().copied()).collect();
    let (truth, size, depth) = (pick(known.truth), pick(known.size), pick(known.depth));
    let pair = |interval: Interval| [interval.low, interval.high];
    let (resamples, seed) = (settings.resamples, settings.seed);
    let share = |percent: usize| (score.len() * percent).div_ceil(100);
    Agreement {
        name,
        trivial: false,
        kendall: rank::kendall_tau_b(&score, &truth),
        kendall_seeds: Vec::new(),
        spearman_seeds: Vec::new(),
        kendall_ci: rank::kendall_interval(&score, &truth, resamples, seed).map(pair),
        kendall_a: rank::kendall_tau_a(&score, &truth),
        spearman: rank::spearman(&score, &truth),
        spearman_ci: rank::spearman_interval(&score, &truth, resamples, seed).map(pair),
        pearson: rank::pearson(&score, &truth),
        kendall_given_params: rank::partial_kendall(&score, &truth, &size),
        kendall_given_depth: rank::partial_kendall(&score, &truth, &depth),
        close_pairs: rank::close_pair_agreement(&score, &truth, &size, settings.close),
        bands: settings.bands.of(&score, &truth, &size),
        top_overlap: [10, 30, 50].map(|percent| rank::top_k_overlap(&score, &truth, share(percent))),
        best_true_rank: rank::best_true_rank(&score, &truth, share(10)),
        distinct: rank::distinct(&score),
        failed: scores.len() - score.len(),
        failure,
        seconds_per_architecture: 0.0,
    }
}
