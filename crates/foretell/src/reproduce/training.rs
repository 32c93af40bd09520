//! Searches whose best networks are really trained, beside random networks of the same size.

use super::search::parts;
use super::work::plain;
use super::{Drawn, Figure, Outcome, Reproduce, shapes};
use crate::architecture::Architecture;
use crate::data::{Data, Tokeniser};
use crate::error::{Error, Result};
use crate::report::{Curve, Dot, curves, dots};
use crate::search;
use crate::space::{self, Bound, Limits, Space};
use crate::store::Store;
use crate::study::{Settings, StudyBuilder, Trained, Verification, Verify, View};
use crate::train::{self, Recipe};
use std::sync::Arc;
use std::time::Instant;

/// Seeds unless a scale says otherwise.
const SEEDS: u64 = 3;
/// Steps of a training unless a scale says otherwise.
const STEPS: u64 = 350;
/// Steps that are timed.
const TIMED: u64 = 3;

/// Small spaces: their name, and their file.
const SPACES: [(&str, &str); 2] = [
    ("gpt2-small", include_str!("../benchmark/shipped/gpt2-pentateuch/space.toml")),
    ("vit-small", include_str!("spaces/vit-small.toml")),
];

/// What is trained, and on what.
pub(super) struct Trains<'t> {
    pub(super) space: &'t str,
    pub(super) max_params: u64,
    pub(super) data: &'t str,
    /// Networks of a search that are trained.
    pub(super) top: usize,
}

fn space(name: &str) -> Result<Arc<dyn Space>> {
    match SPACES.iter().find(|(known, _)| *known == name) {
        Some((name, text)) => space::parse(name, text),
        None => space::preset(name),
    }
}

/// Runs every search with every seed and trains what it finds.
pub(super) fn run(run: &Reproduce, trains: &Trains) -> Result<Drawn> {
    let space = space(trains.space)?;
    let (data, recipe) = match trains.data {
        "text" => (Data::demo(Tokeniser::Bpe(512))?, recipe(run, 3e-3)),
        "shapes" => (shapes::open(&run.to.join("shapes"))?, recipe(run, 1e-3)),
        other => return Err(Error::data(run.entry.id.as_str(), format!("knows no data '{other}'"))),
    };
    let seeds = run.seeds(SEEDS);
    let named = run.named();
    run.watch.estimated(seconds(run, trains, &*space, &data, &recipe, seeds.len() as u64)?);
    let folder = run.folder();
    let mut store = Store::open(&folder.join("studies.db"))?;
    let limits = Limits { params: Bound { min: 0, max: trains.max_params }, ..Limits::default() };
    let total = named.len() as u64 * seeds.len() as u64;
    let (mut done, mut all) = (0, Vec::new());
    for ours in &named {
        let (searcher, proxy) = parts(run, ours)?;
        let evaluates = search::parse::<Architecture>(searcher)?.evaluates();
        let (mut told, mut bests) = (Vec::new(), Vec::new());
        for seed in &seeds {
            let recipe = Recipe { seed: *seed, ..recipe.clone() };
            let base = Settings::new(space.clone()).search(searcher, run.request(proxy)?.label())?;
            let mut settings = Settings { limits, seed: *seed, seeds: 1, budget: run.scale().budget, ..base };
            if evaluates {
                settings.evaluator = Some(Arc::new(Trained::new(data.clone(), recipe.clone(), &*space)?));
            }
            let name = format!("{}-{seed}", plain(ours));
            let builder = StudyBuilder::from(settings.clone()).scoring(run.options());
            builder.in_store(&mut store).name(name.as_str()).run()?;
            let view = View::load(&store, &name)?;
            let best = view.best(trains.top).into_iter().map(|trial| view.architecture(trial));
            let best = best.collect::<Result<Vec<_>>>()?;
            bests.extend(view.labels()?.map(|labels| labels.to_end(&labels.best)));
            let verify = Verify { name: &name, settings: &settings, best: &best, seeds: 1 };
            told.push(verify.run(&data, &recipe, &folder.join("runs"), &|_, _| ())?);
            done += 1;
            run.watch.part(done, total, "searches");
        }
        all.push((*ours, told, bests));
    }
    let said = format!(
        "Searches of {} candidates of {} within {} parameters; the best {} trained for {} steps on {}, each beside a random \
         network of the same size; mean ± deviation over {} seeds{}.",
        run.scale().budget.map_or("all planned".to_owned(), |budget| budget.to_string()),
        trains.space,
        trains.max_params,
        trains.top,
        recipe.steps,
        if trains.data == "text" { "the text that ships" } else { "drawn shapes" },
        seeds.len(),
        run.with()
    );
    let measured = ["validation loss (nats)", "gain on random of its size", "params (M)"];
    let mut outcome = Outcome::of(run.entry, run.size, said, measured.map(str::to_owned).to_vec());
    for row in &mut outcome.rows {
        if let Some((_, told, _)) = all.iter().find(|(ours, ..)| *ours == row.ours) {
            row.measured = figures(told);
        }
    }
    Ok(Drawn { charts: charts(&outcome, &all), outcome })
}

/// Least loss of the best, mean gain and parameters, over seeds.
fn figures(told: &[Verification]) -> Vec<Figure> {
    let over = |of: &dyn Fn(&Verification) -> Option<f64>| {
        let values: Vec<f64> = told.iter().filter_map(of).collect();
        if values.is_empty() { Figure::default() } else { Figure::over(&values) }
    };
    let best = |told: &Verification| {
        let losses = told.pairs.iter().filter_map(|[found, _]| Some((found.mean()?, found.params)));
        losses.min_by(|a, b| a.0.total_cmp(&b.0))
    };
    vec![
        over(&|told| best(told).map(|(loss, _)| loss)),
        over(&|told| told.gain),
        over(&|told| best(told).map(|(_, params)| params as f64 / 1e6)),
    ]
}

type All<'a> = [(&'a str, Vec<Verification>, Vec<Vec<(f64, f64)>>)];

/// Loss against size of all that was trained, and the best loss against evaluations where searches evaluate.
fn charts(outcome: &Outcome, all: &All) -> Vec<(String, crate::report::Chart)> {
    let name = |ours: &str| {
        let row = outcome.rows.iter().find(|row| row.ours == ours);
        row.map_or(ours.to_owned(), |row| row.name.clone())
    };
    let dot = |trials: &crate::study::Trials| {
        let (loss, size) = (trials.mean()?, trials.params as f64 / 1e6);
        Some(Dot { x: size, y: loss, title: format!("{size:.3} M parameters, loss {loss:.4}") })
    };
    let mut groups: Vec<(String, Vec<Dot>)> = Vec::new();
    let mut random = Vec::new();
    for (ours, told, _) in all {
        let pairs = || told.iter().flat_map(|told| &told.pairs);
        groups.push((name(ours), pairs().filter_map(|[found, _]| dot(found)).collect()));
        random.extend(pairs().filter_map(|[_, random]| dot(random)));
    }
    groups.push(("random networks of the same sizes".to_owned(), random));
    let label = format!("{}: validation loss against size", outcome.entry);
    let size = dots(&groups, ["parameters (M)", "validation loss (nats)"], false, label);
    let runs = all.iter().filter(|(_, _, runs)| runs.iter().any(|run| !run.is_empty()));
    let drawn: Vec<Curve> =
        runs.map(|(ours, _, runs)| Curve { name: name(ours), runs: runs.clone() }).collect();
    let label = format!("{}: best validation loss against networks trained, bands over seeds", outcome.entry);
    let best = curves(&drawn, ["networks trained", "best validation loss so far"], false, label);
    let named = |name: &str, chart: Option<crate::report::Chart>| chart.map(|chart| (name.to_owned(), chart));
    named("best", best).into_iter().chain(named("size", size)).collect()
}

fn recipe(run: &Reproduce, rate: f64) -> Recipe {
    let steps = run.scale().steps.unwrap_or(STEPS);
    Recipe {
        steps,
        batch: 8,
        part: 4,
        rate,
        warmup: steps / 10,
        validate_every: 0,
        validate_samples: 256.min(8 + steps as usize),
        ..Recipe::default()
    }
}

/// About how long all trainings take: a few steps of a random network within the limit are timed.
fn seconds(
    run: &Reproduce,
    trains: &Trains,
    space: &dyn Space,
    data: &Data,
    recipe: &Recipe,
    seeds: u64,
) -> Result<f64> {
    let limits =
        Limits { params: Bound { min: trains.max_params / 2, max: trains.max_params }, ..Limits::default() };
    let network = space.within(&limits)?.sample(false, &mut crate::seed::Seed(0).stream("timed", 0))?;
    let short = Recipe { steps: TIMED, warmup: 1, ..recipe.clone() };
    let start = Instant::now();
    train::run(&train::fit(&network, data)?, data, &short)?;
    let step = start.elapsed().as_secs_f64() / TIMED as f64;
    let mut trained = 0;
    for ours in run.named() {
        let (searcher, _) = parts(run, ours)?;
        let searcher = search::parse::<Architecture>(searcher)?;
        let budget = run.scale().budget.unwrap_or(searcher.planned());
        // ETAS trains about three of twenty candidates.
        trained += 2 * trains.top as u64 + if searcher.evaluates() { budget.div_ceil(6) } else { 0 };
    }
    Ok(step * (recipe.steps * trained * seeds) as f64)
}
