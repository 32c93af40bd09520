//! Searches for formulas as LPZero makes them.

use super::{Drawn, Figure, Outcome, Reproduce, Target};
use crate::discover::{self, Bank, Evolution, Method, Plan, Settings, Statistics};
use crate::error::{Error, Result};
use crate::file;
use crate::report::{Curve, curves};
use serde::{Deserialize, Serialize};

/// Splits unless a scale says otherwise.
const SPLITS: u64 = 5;
/// Entries of each tensor that are kept.
const ENTRIES: usize = 1024;
/// Networks that fitness is measured on and validated by, at most.
const SAMPLE: usize = 50;

/// Networks that are left to test on, at least.
const LEFT: usize = 10;

/// What a search came to, kept as soon as it is known, and what it was a search of.
#[derive(Serialize, Deserialize)]
struct Kept {
    of: String,
    found: Found,
}

/// What the search of a row came to, a value per split.
#[derive(Serialize, Deserialize)]
struct Found {
    fitness: Vec<f64>,
    test: Vec<f64>,
    chosen: Vec<f64>,
    winning: Vec<f64>,
    curves: Vec<Vec<(f64, f64)>>,
}

/// Runs the searches that rows name, each over several splits.
pub(super) fn run(run: &Reproduce, target: &Target) -> Result<Drawn> {
    let (table, column) = run.part(target)?;
    let sign = if column.lower_is_better { -1.0 } else { 1.0 };
    let rows = table.architectures.iter().zip(&column.values);
    let (networks, truth): (Vec<_>, Vec<f64>) =
        rows.filter_map(|(network, label)| Some((network.clone(), sign * (*label)?))).unzip();
    let settings = Settings { entries: ENTRIES, seed: 0, options: run.scale().options.clone() };
    let known = Evolution::ablations();
    let total = run.named().len() as u64;
    let folder = run.folder();
    let options =
        crate::score::Options { memory: run.memory, cancel: run.cancel.clone(), ..Default::default() };
    let path = folder.join("statistics");
    run.watch.estimated(seconds(run, &networks, &settings, path.exists())?);
    let statistics = Statistics::of(&networks, &settings, options, Some(&path), &|| ())?;
    let bank = Bank::new(statistics.networks);
    let part = SAMPLE.min(networks.len().saturating_sub(LEFT) / 2);
    let (mut all, mut done) = (Vec::new(), 0);
    for ours in run.named() {
        let (_, evolution) = known.iter().find(|(name, _)| name == ours).ok_or_else(|| {
            crate::catalogue::unknown(
                "search for formulas",
                ours,
                known.iter().map(|(name, _)| name.as_str()),
            )
        })?;
        let budget = run.scale().budget.unwrap_or(evolution.budget);
        let evolution = Evolution { budget, ..evolution.clone() };
        let plan = Plan {
            method: Method::Search,
            evolution,
            sample: part,
            validation: part,
            splits: run.scale().seeds.unwrap_or(SPLITS),
        };
        let kept = folder.join(format!("{}.json", super::work::plain(ours)));
        let before = file::bytes(&kept).ok().and_then(|bytes| file::unseal::<Kept>(&bytes));
        let key = format!("{plan:?} {} {}", networks.len(), settings.options);
        let found = match before.filter(|kept| kept.of == key) {
            Some(kept) => kept.found,
            None => {
                let report = discover::run(&bank, &networks, &truth, &plan, &|| ())?;
                let found = Kept { of: key, found: Found::of(&report) };
                file::replace(&kept, file::seal(&found))?;
                found.found
            }
        };
        all.push((ours, found));
        done += 1;
        run.watch.part(done, total, "searches");
    }
    let said = format!(
        "{} networks of {}: fitness on {part}, chosen by {part} others, tested on the rest; mean ± deviation over {} splits{}.",
        networks.len(),
        table.name,
        run.scale().seeds.unwrap_or(SPLITS),
        run.with()
    );
    let measured = ["fitness (rho)", "test tau", "test tau of the chosen", "winning rate (%)"];
    let mut outcome = Outcome::of(run.entry, run.size, said, measured.map(str::to_owned).to_vec());
    for row in &mut outcome.rows {
        if let Some((_, found)) = all.iter().find(|(ours, _)| *ours == row.ours) {
            let over =
                |values: &[f64]| if values.is_empty() { Figure::default() } else { Figure::over(values) };
            row.measured =
                [&found.fitness, &found.test, &found.chosen, &found.winning].map(|v| over(v)).to_vec();
        }
    }
    let name = |ours: &str| {
        let row = outcome.rows.iter().find(|row| row.ours == ours);
        row.map_or(ours.to_owned(), |row| row.name.clone())
    };
    let drawn: Vec<Curve> =
        all.iter().map(|(ours, found)| Curve { name: name(ours), runs: found.curves.clone() }).collect();
    let label = format!("{}: best fitness against formulas evaluated, bands over splits", run.entry.id);
    let chart = curves(&drawn, ["formulas evaluated (log scale)", "best fitness so far (rho)"], true, label);
    Ok(Drawn { charts: chart.map(|chart| ("fitness".to_owned(), chart)).into_iter().collect(), outcome })
}

impl Found {
    fn of(report: &discover::Report) -> Self {
        let over = |of: &dyn Fn(&discover::Part) -> Option<f64>| report.parts.iter().filter_map(of).collect();
        Found {
            fitness: over(&|part| Some(part.fittest.sample)),
            test: over(&|part| part.fittest.tau),
            chosen: over(&|part| part.chosen.tau),
            winning: over(&|part| Some(100.0 * part.winning_rate?)),
            curves: report
                .parts
                .iter()
                .map(|part| part.curve.iter().map(|(at, best)| (*at as f64, *best)).collect())
                .collect(),
        }
    }
}

/// About how long the statistics take: those of a network of middle size are timed.
fn seconds(
    run: &Reproduce,
    networks: &[crate::architecture::Architecture],
    settings: &Settings,
    known: bool,
) -> Result<f64> {
    let mut sorted: Vec<_> = networks.to_vec();
    sorted.sort_by_key(|network| network.params().total);
    let Some(middle) = sorted.get(sorted.len() / 2).filter(|_| !known) else { return Ok(0.0) };
    let options =
        crate::score::Options { memory: run.memory, cancel: run.cancel.clone(), ..Default::default() };
    let start = std::time::Instant::now();
    Statistics::of(std::slice::from_ref(middle), settings, options, None, &|| ())?;
    let threads = rayon::current_num_threads() as f64;
    if networks.is_empty() {
        return Err(Error::data(run.entry.id.as_str(), "has no labelled network"));
    }
    Ok(start.elapsed().as_secs_f64() * networks.len() as f64 / threads)
}
