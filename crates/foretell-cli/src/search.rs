//! `foretell search`: the best architecture of a space inside limits.

use crate::args::Search;
use crate::output::{self, grouped, short};
use crate::progress::Searching;
use crate::studies;
use foretell::architecture::Architecture;
use foretell::error::Result;
use foretell::score::Options;
use foretell::space;
use foretell::store::Store;
use foretell::study::{self, Objective, Settings, Summary};
use serde_json::json;

/// Parameters allowed where nothing at all is asked for.
const USUAL_PARAMS: u64 = 6_000_000;

pub fn run(args: &Search, json: bool) -> Result<u8> {
    let settings = settings(args)?;
    let path = studies::path(args.store.as_deref());
    let mut store = Store::open(&path)?;
    // Scores are not taken from the cache: it does not know what single blocks add.
    let memory = crate::doctor::memory().map(|bytes| bytes / rayon::current_num_threads() as u64);
    let options = Options { memory, ..Options::default() };
    let command = std::env::args().skip(1).collect::<Vec<_>>().join(" ");
    let watch = Searching::new();
    let summary = study::run(&settings, options, &mut store, args.name.as_deref(), &command, &watch)?;
    watch.finish();
    report(&settings, &store, &summary, json)?;
    // Half of the candidates failing is no search any more.
    Ok(if summary.progress.failed * 2 > summary.progress.done { 3 } else { 0 })
}

fn settings(args: &Search) -> Result<Settings> {
    let usual = ["proxy".to_owned()];
    let asked = if args.objectives.is_empty() { &usual[..] } else { &args.objectives };
    let objectives: Vec<Objective> =
        asked.iter().map(|text| Objective::parse(text, &args.proxy)).collect::<Result<_>>()?;
    Objective::requests(&objectives)?;
    let algorithm = match (&args.algorithm, objectives.len()) {
        (Some(algorithm), _) => algorithm.as_str(),
        (None, 1) => "block-wise",
        (None, _) => "pareto",
    };
    foretell::search::about(algorithm)?;
    let mut limits = args.limits.limits();
    if !args.limits.given() && args.max_memory.is_none() && args.space == "autoformer-tiny" {
        limits.params.max = USUAL_PARAMS;
    }
    Ok(Settings {
        space: space::open(&args.space)?,
        algorithm: algorithm.to_owned(),
        objectives,
        limits,
        memory: args.max_memory,
        budget: args.budget,
        seed: args.seed,
        shard: args.shard,
        evaluator: args.evaluator.evaluator()?,
        evaluate_top: args.evaluator.evaluate_top,
    })
}

fn report(settings: &Settings, store: &Store, summary: &Summary, json: bool) -> Result<()> {
    let loaded = studies::load(store, &summary.name)?;
    let knee =
        loaded.standing.knee.filter(|_| settings.objectives.len() > 1 && loaded.evaluations.is_empty());
    let Some(winner) = knee.or(loaded.best()) else {
        eprintln!("foretell: study '{}': nothing was found; failures: {}", summary.name, loaded.failures()?);
        return Ok(());
    };
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
    output::line(format!(
        "\nNext:\n  foretell best {name}{store} --json > winner.json && foretell score winner.json\n  \
         foretell show {name}{store}                 all candidates, best first\n  \
         foretell search … --proxy dss++{store}      by the score of T-Razor: a pass per candidate\n  \
         foretell search … --objective proxy --objective params{store}   a Pareto front",
        name = summary.name
    ));
    Ok(())
}

/// The uniform network of the same space, inside the limits, that is nearest in parameters.
fn reference(settings: &Settings, winner: &Architecture) -> Option<Architecture> {
    let size = winner.params().total;
    let grid = settings.space.as_grid()?;
    let inside = |a: &Architecture| {
        (settings.limits.params.min..=settings.limits.params.max).contains(&a.params().total)
    };
    grid.uniform().take(100_000).filter(inside).min_by_key(|a| a.params().total.abs_diff(size))
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
