//! Searches inside a table: the label of what each finds.

use super::work::plain;
use super::{Drawn, Figure, Outcome, Reproduce, Target};
use crate::error::{Error, Result};
use crate::report::{Curve, curves};
use crate::store::Store;
use crate::study::{Labels, Settings, StudyBuilder, Table, View};

/// Seeds unless a scale says otherwise.
const SEEDS: u64 = 3;

/// `searcher proxy` of a row.
pub(super) fn parts<'r>(run: &Reproduce, ours: &'r str) -> Result<(&'r str, &'r str)> {
    let wrong = || Error::data(format!("{}: {ours}", run.entry.id), "is not SEARCHER PROXY");
    ours.split_once(' ').ok_or_else(wrong)
}

/// What the searches of a row found, a seed each.
struct Found {
    /// Label of the winner.
    winner: Vec<f64>,
    /// Best label that the search saw.
    best: Vec<f64>,
    labels: Vec<Labels>,
}

/// Runs every search with every seed.
pub(super) fn run(run: &Reproduce, target: &Target) -> Result<Drawn> {
    let (benchmark, column) = run.part(target)?;
    let seeds = run.seeds(SEEDS);
    let settings = |ours: &str, seed: u64| -> Result<Settings> {
        let (searcher, proxy) = parts(run, ours)?;
        let proxy = run.request(proxy)?;
        let base = Settings::inside(Table::of(&benchmark, &column, false))?;
        let base = base.search(searcher, proxy.label())?;
        Ok(Settings { seed, seeds: 1, budget: run.scale().budget, ..base })
    };
    let named = run.named();
    let folder = run.folder();
    let path = folder.join("studies.db");
    let name = |ours: &str, seed: u64| format!("{}-{seed}", plain(ours));
    let mut seconds = 0.0;
    for ours in &named {
        let builder = StudyBuilder::from(settings(ours, seeds[0])?).scoring(run.options());
        let plan = builder.store(&path).name(name(ours, seeds[0]).as_str()).plan()?;
        seconds += plan.estimate.map_or(0.0, |estimate| estimate.seconds()) * seeds.len() as f64;
    }
    run.watch.estimated(seconds);
    let mut store = Store::open(&path)?;
    let total = named.len() as u64 * seeds.len() as u64;
    let (mut done, mut all) = (0, Vec::new());
    for ours in &named {
        let mut found = Found { winner: Vec::new(), best: Vec::new(), labels: Vec::new() };
        for seed in &seeds {
            let study = name(ours, *seed);
            let builder = StudyBuilder::from(settings(ours, *seed)?).scoring(run.options());
            builder.in_store(&mut store).name(study.as_str()).run()?;
            let view = View::load(&store, &study)?;
            let label = view.winner().and_then(|trial| crate::study::given_value(view.evaluation(trial)?));
            found.winner.extend(label);
            if let Some(labels) = view.labels()? {
                found.best.extend(labels.best.last().map(|stop| stop.1));
                found.labels.push(labels);
            }
            done += 1;
            run.watch.part(done, total, "searches");
        }
        all.push((*ours, found));
    }
    let better = if column.lower_is_better { "lower" } else { "higher" };
    let said = format!(
        "Searches of {} candidates inside {} labelled networks of {}, {} is better; mean ± deviation over {} seeds{}.",
        run.scale().budget.map_or("all".to_owned(), |budget| budget.to_string()),
        column.values.iter().flatten().count(),
        benchmark.name,
        better,
        seeds.len(),
        run.with()
    );
    let measured = vec![format!("{} of the winner", column.name), format!("best {} seen", column.name)];
    let mut outcome = Outcome::of(run.entry, run.size, said, measured);
    for row in &mut outcome.rows {
        if let Some((_, found)) = all.iter().find(|(ours, _)| *ours == row.ours) {
            row.measured = vec![over(&found.winner), over(&found.best)];
        }
    }
    let values: Vec<f64> = column.values.iter().flatten().copied().collect();
    let pick = if column.lower_is_better { f64::min } else { f64::max };
    let best = values.iter().copied().reduce(pick).unwrap_or(f64::NAN);
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    let named = |value: f64| Figure::from(value).text();
    outcome.notes.push(format!("Of the table the best is {}, the mean {}.", named(best), named(mean)));
    Ok(Drawn { charts: charts(&outcome, &all, &column.name), outcome })
}

fn over(values: &[f64]) -> Figure {
    if values.is_empty() { Figure::default() } else { Figure::over(values) }
}

/// The best label seen against evaluations, and that of the best by score against candidates.
fn charts(outcome: &Outcome, all: &[(&str, Found)], column: &str) -> Vec<(String, crate::report::Chart)> {
    let name = |ours: &str| {
        let row = outcome.rows.iter().find(|row| row.ours == ours);
        row.map_or(ours.to_owned(), |row| row.name.clone())
    };
    let draw = |file: &str, count: &str, what: &str, of: &dyn Fn(&Labels) -> Vec<(f64, f64)>| {
        let curve = |(ours, found): &(&str, Found)| {
            let runs = found.labels.iter().map(of).filter(|run| !run.is_empty()).collect();
            Curve { name: name(ours), runs }
        };
        let drawn: Vec<Curve> = all.iter().map(curve).filter(|curve| !curve.runs.is_empty()).collect();
        let axis = format!("{what}, {column}");
        let label = format!("{}: {axis} against {count}, bands over seeds", outcome.entry);
        curves(&drawn, [count, &axis], false, label).map(|chart| (file.to_owned(), chart))
    };
    let best = draw("best", "evaluations", "best so far", &|labels| labels.to_end(&labels.best));
    let leader =
        draw("leader", "candidates", "of the best by score", &|labels| labels.to_end(&labels.leader));
    leader.into_iter().chain(best).collect()
}
