//! `foretell verify`: trains the best candidates of a study and random networks of the same size.

use crate::args::Verify;
use crate::output::{self, grouped};
use crate::progress::Progress;
use crate::studies;
use foretell::architecture::Architecture;
use foretell::error::{Error, Result};
use foretell::file;
use foretell::study::{self, Verification, View};
use serde_json::json;
use std::path::{Path, PathBuf};

pub fn run(args: &Verify, json: bool) -> Result<()> {
    let store = studies::open(&args.store)?;
    let view = View::load(&store, &args.study)?;
    let settings = &view.settings;
    let best = view.best(args.k as usize).into_iter().map(|trial| view.architecture(trial));
    let best = best.collect::<Result<Vec<_>>>()?;
    let recipe = args.training.recipe()?;
    let data = args.training.open_for(settings.space.definition().family, args.dry_run)?;
    let folder = args.output.clone().unwrap_or_else(|| PathBuf::from(format!("{}.verified", args.study)));
    let runs = 2 * best.len() as u64 * args.seeds;
    if args.dry_run {
        return plan(args, &best, runs, recipe.steps, &folder, json);
    }
    let progress = Progress::new("runs", runs);
    let request = study::Verify { name: &args.study, settings, best: &best, seeds: args.seeds };
    let told = request.run(&data, &recipe, &folder.join("runs"), &|_, _| progress.step())?;
    progress.finish();
    let path = folder.join("verification.json");
    file::replace(&path, file::seal_pretty(&told))?;
    if json {
        output::line(serde_json::to_string(&told).expect("a verification is plain data"));
        return Ok(());
    }
    let loss =
        |trials: &study::Trials| trials.mean().map_or("diverged".to_owned(), |loss| format!("{loss:.4}"));
    let row = |(place, [found, random]): (usize, &[study::Trials; 2])| {
        vec![
            (place + 1).to_string(),
            grouped(found.params),
            loss(found),
            grouped(random.params),
            loss(random),
        ]
    };
    let rows = told.pairs.iter().enumerate().map(row).collect();
    let names = ["pair", "parameters", "loss", "random: parameters", "loss"];
    output::line(output::table(&names, rows));
    output::line(format!("\n{}", told.verdict()));
    output::note(format!(
        "\nNext:\n  foretell report {} --verification {}   write a report with this as a section",
        args.study,
        path.display()
    ));
    Ok(())
}

/// Prints what the verification would do.
fn plan(
    args: &Verify,
    best: &[Architecture],
    runs: u64,
    steps: u64,
    folder: &Path,
    json: bool,
) -> Result<()> {
    if best.is_empty() {
        return Err(Error::option(format!("study '{}'", args.study), "has no candidate to verify"));
    }
    let ids: Vec<String> = best.iter().map(Architecture::id).collect();
    if json {
        output::line(json!({
            "dry_run": true, "study": args.study, "candidates": ids, "runs": runs, "steps": steps, "writes": [folder],
        }));
        return Ok(());
    }
    output::line(format!(
        "dry run: verify would train {runs} networks for {steps} steps each: {} candidates and as many random networks, with \
         {} seeds each",
        best.len(),
        args.seeds
    ));
    output::line(format!("candidates   {}", ids.join(", ")));
    let state =
        if folder.exists() { "exists; finished runs in it are not repeated" } else { "would be created" };
    output::line(format!("writes       {} ({state})", folder.display()));
    Ok(())
}

/// Reads the result of a verification.
pub fn read(path: &Path) -> Result<Verification> {
    let damaged = "is damaged, or no result of foretell verify: run the verification again";
    file::unseal(file::text(path)?.as_bytes()).ok_or_else(|| Error::data(path.display().to_string(), damaged))
}
