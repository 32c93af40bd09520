//! `foretell studies`, `show`, `best`, `front`, `verify-store`, `repair`, `merge`: the content of a store.

use crate::args::{
    Best, DeleteStudy, Front, Merge, Repair, Shown, StoreArgs, Studies, StudiesCommand, UnlockStudy,
};
use crate::output::{self, grouped, number, short};
use foretell::architecture::{Architecture, Counter};
use foretell::catalogue;
use foretell::error::{Error, Result};
use foretell::score::Options;
use foretell::space;
use foretell::store::{self, Store};
use foretell::study::{self, Objective, View};
use serde_json::{Map, Value, json};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// The store: given, else `FORETELL_STORE`, else `foretell.db`.
pub fn path(given: Option<&Path>) -> PathBuf {
    given
        .map(Path::to_owned)
        .or_else(|| crate::places::variable("FORETELL_STORE"))
        .unwrap_or_else(|| "foretell.db".into())
}

/// The store as it is now, to read.
pub fn open(args: &StoreArgs) -> Result<Store> {
    read(args.store.as_deref())
}

fn read(given: Option<&Path>) -> Result<Store> {
    let path = path(given);
    output::detail(format!("studies are read from {}", path.display()));
    let store = Store::read(&path)?;
    store.hold()?;
    Ok(store)
}

/// The winner, or why there is none.
pub fn winner(view: &View) -> Result<usize> {
    match view.winner() {
        Some(winner) => Ok(winner),
        None => Err(Error::option(format!("study '{}'", view.study.name), view.why_no_winner()?)),
    }
}

/// The first objective of a trial in words.
pub fn score_text(view: &View, trial: usize) -> String {
    view.value(trial, 0).map_or("failed".to_owned(), number)
}

/// A trial as JSON.
pub fn object(view: &View, trial: usize) -> Result<Value> {
    let architecture = view.architecture(trial)?;
    let mut genes = space::write_architecture(&architecture);
    genes.insert("id".into(), architecture.id().into());
    let objectives = view.objectives().iter().enumerate();
    let objectives: Map<String, Value> =
        objectives.map(|(i, objective)| (objective.to_string(), json!(view.value(trial, i)))).collect();
    let mut object = json!({
        "trial": trial, "winner": view.winner() == Some(trial), "architecture": genes, "objectives": objectives,
        "params": architecture.params().total, "flops": architecture.flops(Counter::Exact),
        "memory_bytes": architecture.memory().total(),
    });
    if let Some(bytes) = architecture.cache_bytes() {
        object["cache_bytes"] = json!(bytes);
    }
    if let Some(row) = view.evaluation(trial) {
        object["evaluated"] = match study::given_value(row) {
            Some(value) => json!({"by": row.evaluator, "value": value}),
            None => json!({"by": row.evaluator, "kind": row.status, "error": row.message}),
        };
    }
    let measured = view.measured(trial).map(|row| (row.phase.clone(), row.latency.clone()));
    let measured: Map<String, Value> = measured.collect();
    if !measured.is_empty() {
        object["latency"] = Value::Object(measured);
    }
    Ok(object)
}

fn row(view: &View, trial: usize) -> Result<Vec<String>> {
    let architecture = view.architecture(trial)?;
    let mark = if view.winner() == Some(trial) { " *" } else { "" };
    let mut row = vec![format!("{trial}{mark}"), architecture.id()];
    for objective in 0..view.objectives().len() {
        row.push(view.value(trial, objective).map_or("failed".to_owned(), number));
    }
    if !view.evaluations.is_empty() {
        row.push(
            view.evaluation(trial)
                .map_or(String::new(), |row| study::given_value(row).map_or(row.status.clone(), number)),
        );
    }
    row.push(grouped(architecture.params().total));
    row.push(short(architecture.flops(Counter::Exact).unwrap_or(0)));
    row.push(output::genes(&architecture));
    Ok(row)
}

/// Trials as a table; the winner is marked.
pub fn table(view: &View, trials: &[usize]) -> Result<comfy_table::Table> {
    let names: Vec<String> = view.objectives().iter().map(Objective::to_string).collect();
    let mut header = vec!["trial", "id"];
    header.extend(names.iter().map(String::as_str));
    header.extend((!view.evaluations.is_empty()).then_some("evaluated"));
    header.extend(["parameters", "multiply-adds", "architecture"]);
    Ok(output::table(&header, trials.iter().map(|trial| row(view, *trial)).collect::<Result<_>>()?))
}

/// The Pareto front, at most `n` rows of it.
pub fn print_front(view: &View, n: usize) -> Result<()> {
    let front = &view.leaderboard.front;
    output::line(format!(
        "Pareto front: {} of {} candidates, dominating {:.3} of the box between the worst and the best values",
        front.len(),
        view.leaderboard.succeeded().len(),
        view.leaderboard.hypervolume
    ));
    output::line(table(view, &front[..n.min(front.len())])?);
    if front.len() > n {
        output::line(format!(
            "… and {} more: foretell front {} -n {}",
            front.len() - n,
            view.study.name,
            front.len()
        ));
    }
    if let Some(winner) = view.winner() {
        output::line(format!("winner (*): trial {winner}, {}", view.answer.reason.text()));
    }
    Ok(())
}

pub fn run(args: &Studies, json: bool) -> Result<()> {
    match &args.command {
        None => list(args.store.as_deref(), json),
        Some(StudiesCommand::Delete(delete)) => self::delete(delete, args.store.as_deref(), json),
        Some(StudiesCommand::Unlock(unlock)) => self::unlock(unlock, args.store.as_deref(), json),
    }
}

/// The study of this name. The store is opened to read: one that does not exist must not be created.
fn find(path: &Path, name: &str) -> Result<store::Study> {
    let studies = Store::read(path)?.studies()?;
    let study = studies.iter().find(|study| study.name == name).cloned();
    study.ok_or_else(|| catalogue::unknown("study", name, studies.iter().map(|study| study.name.as_str())))
}

fn unlock(args: &UnlockStudy, store: Option<&Path>, json: bool) -> Result<()> {
    let path = path(store);
    let study = find(&path, &args.name)?;
    let holder = Store::open(&path)?.unlock(&study)?;
    if json {
        let holder = holder.map(|holder| json!({"pid": holder.pid, "host": holder.host}));
        output::line(json!({"study": study.name, "unlocked": holder.is_some(), "holder": holder}));
        return Ok(());
    }
    output::line(match holder {
        Some(holder) => format!(
            "unlocked study '{}', which process {} on {} held; if it still runs, it stops at its next write",
            study.name, holder.pid, holder.host
        ),
        None => format!("study '{}' is not locked", study.name),
    });
    Ok(())
}

fn delete(args: &DeleteStudy, store: Option<&Path>, json: bool) -> Result<()> {
    let path = path(store);
    let study = find(&path, &args.name)?;
    let what =
        format!("study '{}' with {} candidates from {}", study.name, grouped(study.trials), path.display());
    if !args.yes && !confirmed(&what)? {
        output::failure("not-deleted", "nothing was deleted", 1);
        std::process::exit(1);
    }
    Store::open(&path)?.delete(&study.name)?;
    if json {
        output::line(json!({"deleted": study.name, "trials": study.trials, "store": path}));
    } else {
        output::line(format!("deleted {what}"));
    }
    Ok(())
}

/// Asks on a terminal; an error where nobody can answer.
fn confirmed(what: &str) -> Result<bool> {
    if !std::io::stdin().is_terminal() {
        return Err(Error::option("--yes", format!("is required to delete {what}: stdin is not a terminal")));
    }
    eprint!("Delete {}? [y/N] ", output::escaped(what));
    let mut answer = String::new();
    let read = std::io::stdin().read_line(&mut answer);
    read.map_err(|source| Error::read("-", source))?;
    Ok(["y", "yes"].contains(&answer.trim().to_lowercase().as_str()))
}

fn list(store: Option<&Path>, json: bool) -> Result<()> {
    let mut rows = Vec::new();
    for study in read(store)?.studies()? {
        let text = |key: &str| study.config[key].as_str().unwrap_or_default().to_owned();
        let state = study.stopped.clone().unwrap_or_else(|| "unfinished".to_owned());
        if json {
            output::line(json!({
                "study": study.name, "trials": study.trials, "stopped": study.stopped, "rejected": study.rejected,
                "config": study.config, "provenance": study.provenance,
            }));
            continue;
        }
        let objectives: Vec<String> =
            Objective::of(&study.config)?.iter().map(Objective::to_string).collect();
        rows.push(vec![
            study.name.clone(),
            grouped(study.trials),
            state,
            text("space"),
            text("algorithm"),
            objectives.join(", "),
        ]);
    }
    if !json {
        output::line(output::table(
            &["study", "candidates", "state", "space", "algorithm", "objectives"],
            rows,
        ));
    }
    Ok(())
}

pub fn show(args: &Shown, json: bool) -> Result<()> {
    let store = open(&args.store)?;
    let view = View::load(&store, &args.study)?;
    let trials = view.best(args.n as usize);
    if json {
        return trials.iter().try_for_each(|trial| object(&view, *trial).map(output::line));
    }
    let study = &view.study;
    let state = study.stopped.as_deref().unwrap_or("unfinished");
    output::line(format!("{}: {} candidates, {state}", study.name, view.trials));
    output::line(format!("settings    {}", study.config));
    output::line(format!("provenance  {}", study.provenance));
    output::line(format!("hash        {}", store.hash(study)?));
    if view.leaderboard.succeeded().len() < view.trials {
        output::line(format!("failures    {}", view.failures_in_words()?));
    }
    if let Some(row) = view.evaluations.first() {
        output::line(format!("evaluated   {} by {}", view.evaluations.len(), row.evaluator));
    }
    output::line(match view.winner() {
        Some(winner) => format!("winner (*)  trial {winner}: {}\n", reason(&view)),
        None => format!("winner      none: {}\n", view.answer.reason.text()),
    });
    output::line(table(&view, &trials)?);
    Ok(())
}

/// Why this candidate is the winner.
pub fn reason(view: &View) -> String {
    let decided = if view.decided { "" } else { ", so far" };
    let proved = if view.answer.proved { ", proved optimal" } else { "" };
    format!("{}{proved}{decided}", view.answer.reason.text())
}

pub fn best(args: &Best, json: bool) -> Result<()> {
    let store = open(&args.store)?;
    let view = View::load(&store, &args.study)?;
    let first = winner(&view)?;
    let trials = view.best(args.n as usize);
    if json {
        return trials.iter().try_for_each(|trial| {
            output::line(Value::Object(space::write_architecture(&view.architecture(*trial)?)));
            Ok(())
        });
    }
    output::line(table(&view, &trials)?);
    output::line(format!("winner (*): {}", reason(&view)));
    output::line(format!("\n{}", crate::search::drawing(&view.architecture(first)?)));
    Ok(())
}

pub fn front(args: &Front, json: bool) -> Result<()> {
    let store = open(&args.store)?;
    let view = View::load(&store, &args.study)?;
    if json {
        let front = &view.leaderboard.front;
        let n = args.n.map_or(front.len(), |n| n as usize).min(front.len());
        return front[..n].iter().try_for_each(|trial| {
            let mut object = object(&view, *trial)?;
            object["knee"] = json!(view.leaderboard.knee == Some(*trial));
            output::line(object);
            Ok(())
        });
    }
    print_front(&view, args.n.map_or(ROWS, |n| n as usize))
}

/// Default number of rows of a front.
pub const ROWS: usize = 20;

pub fn verify(args: &StoreArgs, json: bool) -> Result<()> {
    let store = open(args)?;
    let (studies, trials) = store.verify()?;
    if json {
        output::line(json!({"store": store.path(), "studies": studies, "trials": trials, "ok": true}));
    } else {
        output::line(format!(
            "{}: {studies} studies, {trials} candidates, all intact",
            store.path().display()
        ));
    }
    Ok(())
}

pub fn repair(args: &Repair, json: bool) -> Result<()> {
    let file = args.file.display();
    let Some(done) = store::repair(&args.file)? else {
        if json {
            output::line(json!({"store": args.file, "repaired": false}));
        } else {
            output::line(format!("{file}: nothing to repair, all intact"));
        }
        return Ok(());
    };
    if json {
        let study = |study: &store::Recovered| json!({"study": study.name, "kept": study.kept, "salvaged": study.salvaged, "lost": study.lost});
        let studies: Vec<Value> = done.studies.iter().map(study).collect();
        output::line(json!({"store": args.file, "repaired": true, "aside": done.aside, "studies": studies}));
        return Ok(());
    }
    output::line(format!("{file}: repaired; the damaged file is now {}\n", done.aside.display()));
    let row = |study: &store::Recovered| {
        vec![study.name.clone(), grouped(study.kept), grouped(study.salvaged), grouped(study.lost)]
    };
    let rows = done.studies.iter().map(row).collect();
    output::line(output::table(&["study", "candidates intact", "recovered after a gap", "lost"], rows));
    output::note(
        "\nThe search command of a study scores lost candidates again. Recovered ones are in study NAME-salvaged.",
    );
    Ok(())
}

pub fn merge(args: &Merge, json: bool) -> Result<()> {
    let mut into = Store::open(&args.into)?;
    let from = args.from.iter().map(|path| Store::read(path)).collect::<Result<Vec<_>>>()?;
    let options = || Options { memory: foretell::score::pass_memory(), ..Options::default() };
    let done = study::merge(&mut into, &from, options)?;
    if json {
        for merged in done {
            output::line(json!({"study": merged.name, "trials": merged.trials, "before": merged.before}));
        }
        return Ok(());
    }
    let row = |merged: store::Merged| vec![merged.name, grouped(merged.before), grouped(merged.trials)];
    output::line(output::table(&["study", "candidates before", "now"], done.into_iter().map(row).collect()));
    Ok(())
}

/// An architecture in the rows of a comparison: parameters, multiply-adds, memory.
pub fn counts(architecture: &Architecture) -> [String; 3] {
    let flops = architecture.flops(Counter::Exact).unwrap_or(0);
    [grouped(architecture.params().total), short(flops), format!("{}B", short(architecture.memory().total()))]
}
