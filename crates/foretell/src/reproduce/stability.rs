//! How far scores move with the seed and with settings of the passes, and with them their agreement.

use super::{Drawn, Figure, Outcome, Reproduce, Target};
use crate::architecture::Architecture;
use crate::error::Result;
use crate::proxy::{Request, Score};
use crate::rank;
use crate::report::{Bar, Chart, Dot, bars, dots};
use crate::score::{Cell, Row as Scored};

/// Seeds unless a scale says otherwise.
const SEEDS: u64 = 5;

/// What one proxy gives with one setting.
struct Given {
    ours: String,
    setting: usize,
    /// For each seed a score per network.
    scores: Vec<Vec<Option<f64>>>,
    /// For each seed the tau with the label.
    taus: Vec<f64>,
    /// The share of the variance that lies between networks, as opposed to between seeds of one.
    between: Option<f64>,
}

/// Scores the table with every seed and setting.
pub(super) fn run(run: &Reproduce, target: &Target, settings: &[String]) -> Result<Drawn> {
    let (table, column) = run.part(target)?;
    let labelled: Vec<usize> = (0..column.values.len()).filter(|row| column.values[*row].is_some()).collect();
    let networks: Vec<Architecture> = labelled.iter().map(|row| table.architectures[*row].clone()).collect();
    let sign = if column.lower_is_better { -1.0 } else { 1.0 };
    let truth: Vec<f64> =
        labelled.iter().filter_map(|row| column.values[*row]).map(|label| sign * label).collect();
    let seeds = run.seeds(SEEDS);
    let none = [String::new()];
    let settings = if settings.is_empty() { &none[..] } else { settings };
    let mut asked: Vec<(String, usize, Request)> = Vec::new();
    for ours in run.named() {
        for (place, setting) in settings.iter().enumerate() {
            let label = if setting.is_empty() { ours.to_owned() } else { with(ours, setting) };
            asked.push((ours.to_owned(), place, run.request(&label)?));
        }
    }
    let requests =
        asked.iter().map(|(_, _, request)| Request::parse(request.label())).collect::<Result<Vec<_>>>()?;
    let scorer = run.scorer(requests)?;
    run.watch.estimated(run.seconds(&scorer, &networks, &seeds));
    let done = std::sync::atomic::AtomicU64::new(0);
    let total = networks.len() as u64;
    let rows = scorer.table(&networks, &seeds, &|| {
        let now = 1 + done.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        run.watch.part(now, total, "networks");
    })?;
    let given: Vec<Given> = asked
        .into_iter()
        .enumerate()
        .map(|(place, (ours, setting, request))| {
            one(ours, setting, &request, place, &rows, &truth, seeds.len())
        })
        .collect();
    let outcome = outcome(
        run,
        &given,
        settings,
        &format!("{} networks of {}, target `{}`", networks.len(), table.name, column.name),
        seeds.len(),
    );
    let charts = if settings.len() > 1 {
        vec![("agreement".to_owned(), groups(&outcome, &given, settings))]
    } else {
        given.iter().filter_map(|given| scatter(&outcome, given, &truth)).collect()
    };
    Ok(Drawn { outcome, charts })
}

/// A proxy with further options.
fn with(label: &str, options: &str) -> String {
    match label.strip_suffix(']') {
        Some(open) => format!("{open},{options}]"),
        None => format!("{label}[{options}]"),
    }
}

fn one(
    ours: String,
    setting: usize,
    request: &Request,
    place: usize,
    rows: &[Scored],
    truth: &[f64],
    seeds: usize,
) -> Given {
    let column: Vec<&Cell> = rows.iter().map(|row| &row.cells[place]).collect();
    // A score without a draw has one entry whatever the number of seeds.
    let of_seed = |seed: usize| -> Vec<Option<f64>> {
        let score = |cell: &&Cell| {
            cell.scores.get(seed.min(cell.scores.len().saturating_sub(1)))?.as_ref().ok().cloned()
        };
        let scores: Vec<Option<Score>> = column.iter().map(score).collect();
        let mut values = request.within(&scores.iter().flatten().collect::<Vec<_>>()).into_iter();
        scores.iter().map(|score| score.as_ref().and_then(|_| values.next())).collect()
    };
    let scores: Vec<Vec<Option<f64>>> = (0..seeds).map(of_seed).collect();
    let tau = |scores: &Vec<Option<f64>>| {
        let pairs = scores.iter().zip(truth).filter_map(|(score, truth)| Some(((*score)?, *truth)));
        let (scores, truth): (Vec<f64>, Vec<f64>) = pairs.unzip();
        rank::kendall_tau_b(&scores, &truth)
    };
    let taus = scores.iter().filter_map(tau).collect();
    Given { between: between(&scores), ours, setting, scores, taus }
}

/// The share of the variance of scores that lies between networks.
fn between(scores: &[Vec<Option<f64>>]) -> Option<f64> {
    let networks = scores.first()?.len();
    let of = |network: usize| -> Option<Vec<f64>> { scores.iter().map(|seed| seed[network]).collect() };
    let whole: Vec<Vec<f64>> = (0..networks).filter_map(of).collect();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let means: Vec<f64> = whole.iter().map(|values| mean(values)).collect();
    let all = mean(&means);
    let apart: f64 = means.iter().map(|value| (value - all).powi(2)).sum::<f64>() * scores.len() as f64;
    let inside: f64 = whole
        .iter()
        .zip(&means)
        .flat_map(|(values, mean)| values.iter().map(move |x| (x - mean).powi(2)))
        .sum();
    (scores.len() > 1 && apart + inside > 0.0).then(|| apart / (apart + inside))
}

fn outcome(run: &Reproduce, given: &[Given], settings: &[String], of: &str, seeds: usize) -> Outcome {
    let mut measured = Vec::new();
    for setting in settings {
        let name = if setting.is_empty() { String::new() } else { format!("{setting}: ") };
        measured.extend([format!("{name}tau"), format!("{name}between networks")]);
    }
    let said = format!(
        "{of}; mean ± deviation of tau over {seeds} seeds of weights and inputs, or of what a setting leaves free{}. Between \
         networks: the share of the variance of scores that is not between seeds of one network.",
        run.with()
    );
    let mut outcome = Outcome::of(run.entry, run.size, said, measured);
    for row in &mut outcome.rows {
        for setting in 0..settings.len() {
            let found = given.iter().find(|given| given.ours == row.ours && given.setting == setting);
            row.measured.extend(found.map_or([Figure::default(); 2], |found| {
                let tau = if found.taus.is_empty() { Figure::default() } else { Figure::over(&found.taus) };
                [tau, found.between.into()]
            }));
        }
    }
    outcome
}

/// Every score of every network, networks in the order of their labels.
fn scatter(outcome: &Outcome, given: &Given, truth: &[f64]) -> Option<(String, Chart)> {
    let mut order: Vec<usize> = (0..truth.len()).collect();
    order.sort_by(|a, b| truth[*a].total_cmp(&truth[*b]));
    let name = outcome.rows.iter().find(|row| row.ours == given.ours).map_or("", |row| row.name.as_str());
    let mut points = Vec::new();
    for (place, network) in order.iter().enumerate() {
        for (seed, scores) in given.scores.iter().enumerate() {
            points.extend(scores[*network].map(|score| Dot {
                x: (place + 1) as f64,
                y: score,
                title: format!("network {}, seed {seed}: {score}", place + 1),
            }));
        }
    }
    let label =
        format!("{}: {name} of networks in the order of their labels, a point per seed", outcome.entry);
    let chart = dots(&[(String::new(), points)], ["networks, worst label first", name], false, label)?;
    Some((name.to_owned(), chart))
}

/// Bars of tau, a group per setting.
fn groups(outcome: &Outcome, given: &[Given], settings: &[String]) -> Chart {
    let group = |(place, setting): (usize, &String)| {
        let bar = |row: &super::Row| {
            let found = given.iter().find(|given| given.ours == row.ours && given.setting == place);
            let taus = found.map_or(&[][..], |found| &found.taus);
            let ends = taus.iter().copied().reduce(f64::min).zip(taus.iter().copied().reduce(f64::max));
            let value = row.measured.get(2 * place).and_then(|figure| figure.value);
            Bar { name: row.name.clone(), value, interval: ends.map(|(low, high)| [low, high]), mark: None }
        };
        let name = if setting.is_empty() { "as usual" } else { setting };
        (format!("Kendall's tau, {name}"), outcome.rows.iter().map(bar).collect())
    };
    let groups: Vec<(String, Vec<Bar>)> = settings.iter().enumerate().map(group).collect();
    bars(&groups, format!("{}: Kendall's tau with the range over seeds", outcome.entry))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two networks with scores (1, 3) and (5, 7): means 2 and 6, all 4. Between 2 · (4 + 4) = 16, inside 4 · 1 = 4.
    #[test]
    fn variance_is_split() {
        let scores = [vec![Some(1.0), Some(5.0), None], vec![Some(3.0), Some(7.0), Some(1.0)]];
        assert_eq!(between(&scores), Some(0.8));
        assert_eq!(between(&[vec![Some(1.0)]]), None);
        assert_eq!(with("dss[batch=2]", "feed=ones"), "dss[batch=2,feed=ones]");
    }
}
