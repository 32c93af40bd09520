//! `foretell search`: the best architecture of a space inside limits.

use crate::args::Search;
use crate::output::{self, grouped, short};
use crate::progress::Searching;
use crate::studies;
use foretell::architecture::Architecture;
use foretell::error::Result;
use foretell::latency::{self, Latency, Model};
use foretell::score::Options;
use foretell::space;
use foretell::store::Store;
use foretell::study::{self, Objective, Settings, Summary};
use serde_json::json;

/// Parameters allowed where nothing at all is asked for.
const USUAL_PARAMS: u64 = 6_000_000;

pub fn run(args: &Search, json: bool) -> Result<u8> {
    let mut settings = settings(args)?;
    let path = studies::path(args.store.as_deref());
    let mut store = Store::open(&path)?;
    // Scores are not taken from the cache: it does not know what single blocks add.
    let memory = crate::doctor::memory().map(|bytes| bytes / rayon::current_num_threads() as u64);
    if settings.foretells() {
        settings.model = Some(model(&settings, &store, args.name.as_deref(), memory)?);
    }
    let options = Options { memory, ..Options::default() };
    let command = std::env::args().skip(1).collect::<Vec<_>>().join(" ");
    let watch = Searching::new();
    let summary = study::run(&settings, options, &mut store, args.name.as_deref(), &command, &watch)?;
    watch.finish();
    report(&settings, &store, &summary, memory, json)?;
    // Half of the candidates failing is no search any more.
    Ok(if summary.progress.failed * 2 > summary.progress.done { 3 } else { 0 })
}

fn settings(args: &Search) -> Result<Settings> {
    let usual = ["proxy".to_owned()];
    let asked = if args.objectives.is_empty() { &usual[..] } else { &args.objectives };
    let proxy = crate::scoring::written(&args.proxy)?;
    let objectives: Vec<Objective> =
        asked.iter().map(|text| Objective::parse(text, &proxy)).collect::<Result<_>>()?;
    Objective::requests(&objectives)?;
    let algorithm = match (&args.algorithm, objectives.len()) {
        (Some(algorithm), _) => algorithm.as_str(),
        (None, 1) => "block-wise",
        (None, _) => "pareto",
    };
    foretell::search::about(algorithm)?;
    let mut limits = args.limits.limits();
    if !args.limits.given()
        && args.max_memory.is_none()
        && args.max_latency.is_none()
        && args.space == "autoformer-tiny"
    {
        limits.params.max = USUAL_PARAMS;
    }
    let space = space::open(&args.space)?;
    let evaluator = args.evaluator.evaluator(&*space)?;
    Ok(Settings {
        space,
        algorithm: algorithm.to_owned(),
        objectives,
        limits,
        memory: args.max_memory,
        latency: args.max_latency,
        model: None,
        budget: args.budget,
        seed: args.seed,
        shard: args.shard,
        evaluator,
        evaluate_top: args.evaluator.evaluate_top,
    })
}

fn print_latencies(settings: &Settings, model: &Model, rows: &[Measured]) {
    output::line(format!(
        "\nlatency of one input on one thread; foretold from {} measured networks, median error {:.1} %, nine in ten below {:.1} %",
        model.samples,
        100.0 * model.error,
        100.0 * model.error_90
    ));
    let ms = |seconds: f64| format!("{:.2} ms", 1e3 * seconds);
    let row = |(trial, foretold, found): &Measured| {
        let held = settings.latency.map_or("", |most| if found.seconds <= most { "yes" } else { "no" });
        let interval = format!("{} to {}", ms(found.interval.0), ms(found.interval.1));
        vec![trial.to_string(), ms(*foretold), ms(found.seconds), interval, held.to_owned()]
    };
    let names = ["trial", "foretold", "measured", "96 % interval", "keeps the limit"];
    output::line(output::table(&names, rows.iter().map(row).collect()));
}

/// What foretells latency: that of the study, if it was begun, else one that is fitted now.
fn model(settings: &Settings, store: &Store, name: Option<&str>, memory: Option<u64>) -> Result<Model> {
    let name = settings.full_name(name)?;
    if let Some(study) = store.find(&name)?
        && let Some(model) = Model::of(&study.config)?
    {
        return Ok(model);
    }
    let done = |done: u64, all: u64| {
        if done.is_multiple_of(8) {
            eprintln!("measuring latency: {done} of {all} networks");
        }
    };
    let model = Model::fit(&*settings.space, &settings.limits, settings.seed, memory, &done)?;
    eprintln!("latency is foretold with a median error of {:.1} %", 100.0 * model.error);
    Ok(model)
}

/// A trial, the seconds foretold, the latency measured.
type Measured = (usize, f64, Latency);

/// Trials measured again in the end, at most.
const MEASURED: usize = 20;

/// What was foretold, measured: the front, or the best until one keeps the limit. The winner is the first that does.
fn measured(
    settings: &Settings,
    loaded: &studies::Loaded,
    winner: usize,
    memory: Option<u64>,
) -> Result<(usize, Vec<Measured>)> {
    let Some(model) = &settings.model else { return Ok((winner, Vec::new())) };
    let several = settings.objectives.len() > 1;
    let mut order = if several { loaded.standing.front.clone() } else { loaded.standing.best(MEASURED) };
    if !several && let Some(place) = order.iter().position(|trial| *trial == winner) {
        order.swap(0, place);
    }
    let keeps = |latency: &Latency| settings.latency.is_none_or(|most| latency.seconds <= most);
    let mut rows: Vec<Measured> = Vec::new();
    for trial in order.into_iter().take(MEASURED) {
        let architecture = loaded.architecture(trial)?;
        let found = latency::measure(&architecture, memory)?;
        rows.push((trial, model.predict(&architecture), found));
        if !several && keeps(&found) {
            break;
        }
    }
    let held = |trial: usize| rows.iter().any(|(other, _, found)| *other == trial && keeps(found));
    let other = rows.iter().find(|(.., found)| keeps(found)).map(|(trial, ..)| *trial);
    Ok((if held(winner) { winner } else { other.unwrap_or(winner) }, rows))
}

fn report(
    settings: &Settings,
    store: &Store,
    summary: &Summary,
    memory: Option<u64>,
    json: bool,
) -> Result<()> {
    let loaded = studies::load(store, &summary.name)?;
    let knee =
        loaded.standing.knee.filter(|_| settings.objectives.len() > 1 && loaded.evaluations.is_empty());
    let Some(winner) = knee.or(loaded.best()) else {
        eprintln!("foretell: study '{}': nothing was found; failures: {}", summary.name, loaded.failures()?);
        return Ok(());
    };
    let (winner, latencies) = measured(settings, &loaded, winner, memory)?;
    let architecture = loaded.architecture(winner)?;
    let reference = reference(settings, &architecture);
    if json {
        let mut object = loaded.object(winner)?;
        let progress = &summary.progress;
        object["study"] = json!(summary.name);
        object["stopped"] = json!(summary.stopped);
        object["hash"] = json!(summary.hash);
        object["trials"] = json!(progress.done);
        object["resumed"] = json!(summary.resumed);
        object["rejected"] = json!(progress.rejected);
        object["failed"] = json!(progress.failed);
        if settings.objectives.len() > 1 {
            object["front"] = json!(loaded.standing.front.len());
            object["hypervolume"] = json!(loaded.standing.hypervolume);
        }
        let latency = |(trial, foretold, found): &Measured| json!({"trial": trial, "foretold": foretold, "measured": found});
        if !latencies.is_empty() {
            object["latency"] = latencies.iter().map(latency).collect();
        }
        output::line(object);
        return Ok(());
    }
    let progress = &summary.progress;
    let resumed =
        if summary.resumed > 0 { format!(", {} known before", summary.resumed) } else { String::new() };
    output::line(format!(
        "study {}: {} candidates scored{resumed}, {} refused before scoring, {} failed; stopped: {}",
        summary.name, progress.done, progress.rejected, progress.failed, summary.stopped
    ));
    if progress.failed > 0 {
        output::line(format!("failures: {}", loaded.failures()?));
    }
    if settings.objectives.len() > 1 {
        output::line("");
        studies::print_front(&loaded)?;
    }
    if let Some(said) = loaded.evaluations.first() {
        let trials: Vec<usize> = loaded.evaluations.iter().map(|said| said.trial as usize).collect();
        output::line(format!("\nevaluated by {}", said.evaluator));
        output::line(loaded.table(&trials)?);
    }
    if let Some(model) = &settings.model {
        print_latencies(settings, model, &latencies);
    }
    output::line(format!("\nwinner {}\n", architecture.id()));
    output::line(drawing(&architecture));
    let named = |name: &str, architecture: &Architecture, score: String| {
        let flops = architecture.flops(foretell::architecture::Counter::Exact).unwrap_or(0);
        let memory = format!("{}B", short(architecture.memory().total()));
        vec![name.to_owned(), grouped(architecture.params().total), short(flops), memory, score]
    };
    let mut rows = vec![named("winner", &architecture, loaded.score_text(winner))];
    if let Some(reference) = &reference {
        rows.push(named("uniform, nearest in size", reference, loaded.shape_score(reference)));
    }
    output::line(output::table(
        &["", "parameters", "multiply-adds", "memory", &loaded.objectives[0].to_string()],
        rows,
    ));
    if let Some(reference) = &reference {
        output::line(format!("uniform: {}", output::genes(reference)));
    }
    let store = match store.path().to_str() {
        Some("foretell.db") | None => String::new(),
        Some(path) => format!(" --store {path}"),
    };
    // The knee of a front, or what was measured to be faster, is not what `best` says.
    let trial = if loaded.best() == Some(winner) { String::new() } else { format!(" --trial {winner}") };
    output::line(format!(
        "\nNext:\n  foretell export {name}{store}{trial} --to winner    a folder for transformers, with weights and train.py\n  \
         foretell best {name}{store} --json > winner.json && foretell score winner.json\n  \
         foretell show {name}{store}                 all candidates, best first\n  \
         foretell report {name}{store}               one page with charts, to open in a browser\n  \
         foretell search … --proxy dss++{store}      by the score of T-Razor: a pass per candidate\n  \
         foretell search … --objective proxy --objective params{store}   a Pareto front",
        name = summary.name
    ));
    Ok(())
}

/// The uniform network of the same space, inside the limits, that is nearest in parameters.
fn reference(settings: &Settings, winner: &Architecture) -> Option<Architecture> {
    let size = winner.params().total;
    settings.space.as_grid()?.nearest_uniform(&settings.limits, &|_| true, size)
}

/// An architecture as text, a line per layer.
pub fn drawing(architecture: &Architecture) -> String {
    use foretell::architecture::Scope;
    let object = space::write_architecture(architecture);
    let (mut head, mut columns) = (Vec::new(), Vec::new());
    for field in architecture.family().fields() {
        let Some(value) = object.get(field.key) else { continue };
        match (field.scope, value.as_array()) {
            (Scope::Position, Some(list)) => columns.push((field.key, list.clone())),
            _ => head.push(format!("{} {value}", field.key)),
        }
    }
    if architecture.family().name() == "recurrent" || columns.is_empty() {
        return format!("  {}\n", output::genes(architecture));
    }
    let mut params = vec![0_u64; architecture.positions()];
    for (position, sum) in params.iter_mut().enumerate() {
        let mut add = |tensor: &foretell::architecture::Tensor| *sum += tensor.len();
        let mut visitor = foretell::architecture::Visitor::new(&mut add);
        architecture.family().position(architecture, position, &mut visitor);
    }
    let most = params.iter().copied().max().unwrap_or(1).max(1);
    let mut text = format!("  {}\n", head.join("  "));
    for (position, count) in params.iter().enumerate() {
        let values: Vec<String> = columns
            .iter()
            .map(|(key, list)| {
                let value = list
                    .get(position)
                    .map_or(String::new(), |value| value.as_str().map_or(value.to_string(), str::to_owned));
                format!("{key} {value:<4}")
            })
            .collect();
        let bar = "█".repeat((24 * count).div_ceil(most) as usize);
        text += &format!("  {:>3}  {}  {bar} {}\n", position + 1, values.join("  "), short(*count));
    }
    text
}
