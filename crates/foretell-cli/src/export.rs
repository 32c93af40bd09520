//! `foretell export`: a network as a model that can be trained.

use crate::args::{Export, no_effect};
use crate::output::{self, short};
use crate::studies;
use foretell::architecture::Architecture;
use foretell::error::{Error, Result};
use foretell::network::Weights;
use foretell::score::free_memory;
use foretell::seed::Seed;
use foretell::study::{View, journal};
use foretell::{export, file};
use serde_json::json;
use std::path::Path;

/// Where a network comes from, line by line.
type Origin = Vec<(&'static str, String)>;

pub fn run(args: &Export, json: bool) -> Result<()> {
    if let Some(file) = &args.to_optuna {
        return write_journal(args, file, json);
    }
    let to = args.to.as_deref().ok_or_else(|| {
        Error::option(
            "--to",
            "is missing: name the folder to write, e.g. --to winner, or a journal (--to-optuna FILE)",
        )
    })?;
    let format = export::format(&args.target)?;
    let (architecture, mut origin) = find(args)?;
    let weights = (!args.no_weights && format.name() != "json").then(|| draw(&architecture, args.seed));
    let weights = weights.transpose()?;
    if weights.is_some() {
        origin.push(("weights", format!("initial, shared draw of seed {}", args.seed)));
    }
    origin.push(("written by", format!("foretell {}", env!("CARGO_PKG_VERSION"))));
    let request = export::Export { architecture: &architecture, weights: weights.as_ref(), origin: &origin };
    let files = export::write(&request, format, to, args.force)?;
    let stock = format.name() == "huggingface" && export::Stock::of(&architecture).is_some();
    if json {
        let list: Vec<_> = files.iter().map(|(name, bytes)| json!({"name": name, "bytes": bytes})).collect();
        output::line(json!({
            "id": architecture.id(), "to": to, "target": format.name(), "stock": stock,
            "params": architecture.params().total, "files": list,
        }));
        return Ok(());
    }
    for (name, bytes) in &files {
        output::line(format!("{}  {}B", to.join(name).display(), short(*bytes)));
    }
    let next = match format.name() {
        "huggingface" | "pytorch" => {
            "Next: README.md in the folder explains how to load it; python train.py trains it."
        }
        "timm" => "Next: README.md in the folder explains how to load it.",
        _ => return Ok(()),
    };
    output::note(format!(
        "\n{}{next}",
        if stock { "This is a standard model of transformers. " } else { "" }
    ));
    Ok(())
}

/// The best candidates of a study as a journal of Optuna.
fn write_journal(args: &Export, to: &Path, json: bool) -> Result<()> {
    if to.exists() && !args.force {
        return Err(Error::Exists { path: to.to_owned() });
    }
    let store = studies::open(&args.store)?;
    let view = View::load(&store, &args.source)?;
    file::replace(to, journal(&view, args.top, None)?)?;
    if json {
        output::line(json!({"study": args.source, "to": to, "candidates": args.top.min(view.trials)}));
        return Ok(());
    }
    output::line(to.display());
    output::note("\nNext: optuna-dashboard opens it.");
    Ok(())
}

/// The architecture of a file or folder, else the winner or another candidate of a study.
fn find(args: &Export) -> Result<(Architecture, Origin)> {
    let source = args.source.as_str();
    // A study has priority over a folder of the same name, which may be its own export.
    let named = || {
        let studies = studies::open(&args.store).and_then(|store| store.studies());
        studies.is_ok_and(|studies| studies.iter().any(|study| study.name == source))
    };
    if source == "-" || source.ends_with(".json") || Path::new(source).exists() && !named() {
        if args.trial.is_some() {
            no_effect("--trial", &format!("has no effect: {source} is not a study"))?;
        }
        let mut found = crate::count::read(source)?;
        return match found.len() {
            1 => Ok((found.remove(0), vec![("read from", "an architecture file".to_owned())])),
            n => Err(Error::option(source, format!("has {n} architectures; export one at a time"))),
        };
    }
    let store = studies::open(&args.store)?;
    let view = View::load(&store, source)?;
    let trial = match args.trial {
        Some(trial) if trial < view.trials as u64 => trial as usize,
        Some(trial) => {
            let message = format!("has {} candidates; there is no trial {trial}", view.trials);
            return Err(Error::option(format!("study '{source}'"), message));
        }
        None => studies::winner(&view)?,
    };
    let objective = view.objectives()[0].to_string();
    let origin = vec![
        ("study", source.to_owned()),
        ("candidate", format!("{trial} of {}", view.trials)),
        ("objective", format!("{objective} = {}", studies::score_text(&view, trial))),
        ("settings", view.study.config.to_string().replace('"', "").replace(['{', '}'], "")),
        ("hash of the study", store.hash(&view.study)?),
    ];
    Ok((view.architecture(trial)?, origin))
}

/// The weights that `foretell score` draws. They are in memory twice, and once more as a file.
fn draw(architecture: &Architecture, seed: u64) -> Result<Weights<f32>> {
    let needed = 3 * architecture.memory().weights;
    match free_memory() {
        Some(budget) if needed > budget => Err(Error::option(
            "weights",
            format!(
                "need {}B of memory, {}B are free; without weights (--no-weights) only code is written",
                short(needed),
                short(budget)
            ),
        )),
        _ => Ok(Weights::shared(architecture, Seed(seed))),
    }
}
