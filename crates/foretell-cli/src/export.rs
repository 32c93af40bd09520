//! `foretell export`: a network as something that trains today.

use crate::args::Export;
use crate::output::{self, short};
use crate::studies;
use foretell::architecture::Architecture;
use foretell::error::{Error, Result};
use foretell::export;
use foretell::network::Weights;
use foretell::seed::Seed;
use foretell::study::View;
use serde_json::json;
use std::path::Path;

/// Where a network comes from, line by line.
type Origin = Vec<(&'static str, String)>;

pub fn run(args: &Export, json: bool) -> Result<()> {
    let format = export::format(&args.target)?;
    let (architecture, mut origin) = find(args)?;
    let weights = (!args.no_weights && format.name() != "json").then(|| draw(&architecture, args.seed));
    let weights = weights.transpose()?;
    if weights.is_some() {
        origin.push(("weights", format!("initial, shared draw of seed {}", args.seed)));
    }
    origin.push(("written by", format!("foretell {}", env!("CARGO_PKG_VERSION"))));
    let request = export::Export { architecture: &architecture, weights: weights.as_ref(), origin: &origin };
    let files = export::write(&request, format, &args.to, args.force)?;
    let stock = format.name() == "huggingface" && export::Stock::of(&architecture).is_some();
    if json {
        let list: Vec<_> = files.iter().map(|(name, bytes)| json!({"name": name, "bytes": bytes})).collect();
        output::line(json!({
            "id": architecture.id(), "to": args.to, "target": format.name(), "stock": stock,
            "params": architecture.params().total, "files": list,
        }));
        return Ok(());
    }
    for (name, bytes) in &files {
        output::line(format!("{}  {}B", args.to.join(name).display(), short(*bytes)));
    }
    let next = match format.name() {
        "huggingface" | "pytorch" => {
            "Next: its README.md says how to load it, and python train.py how to train it."
        }
        "timm" => "Next: its README.md says how to load it.",
        _ => return Ok(()),
    };
    output::line(format!("\n{}{next}", if stock { "A stock model of transformers. " } else { "" }));
    Ok(())
}

/// The architecture of a file or folder, else the best or another candidate of a study.
fn find(args: &Export) -> Result<(Architecture, Origin)> {
    let source = args.source.as_str();
    // A study comes before a folder of its name, which may well be its own export.
    let named = || {
        let studies = studies::open(&args.store).and_then(|store| store.studies());
        studies.is_ok_and(|studies| studies.iter().any(|study| study.name == source))
    };
    if source == "-" || source.ends_with(".json") || Path::new(source).exists() && !named() {
        if args.trial.is_some() {
            return Err(Error::input("--trial", format!("has no effect: {source} is no study")));
        }
        let mut found = crate::count::read(source)?;
        return match found.len() {
            1 => Ok((found.remove(0), vec![("read from", "an architecture's file".to_owned())])),
            n => {
                Err(Error::input(source, format!("holds {n} architectures, one is exported: cut out a line")))
            }
        };
    }
    let store = studies::open(&args.store)?;
    let view = View::load(&store, source)?;
    let trial = match args.trial {
        Some(trial) if trial < view.trials as u64 => trial as usize,
        Some(trial) => {
            let message = format!("has {} candidates, none is {trial}", view.trials);
            return Err(Error::input(format!("study '{source}'"), message));
        }
        None => studies::winner(&view)?,
    };
    let objective = view.objectives()[0].to_string();
    let origin = vec![
        ("study", source.to_owned()),
        ("candidate", format!("{trial} of {}", view.trials)),
        ("objective", format!("{objective} = {}", studies::score_text(&view, trial))),
        ("settings", view.study.config.to_string().replace('"', "").replace(['{', '}'], "")),
        ("study's hash", store.hash(&view.study)?),
    ];
    Ok((view.architecture(trial)?, origin))
}

/// The weights that `foretell score` draws. They stand in memory twice, and once more as a file.
fn draw(architecture: &Architecture, seed: u64) -> Result<Weights<f32>> {
    let needed = 3 * architecture.memory().weights;
    match crate::doctor::memory() {
        Some(budget) if needed > budget => Err(Error::input(
            "weights",
            format!("take {}B, {}B are free: say --no-weights", short(needed), short(budget)),
        )),
        _ => Ok(Weights::shared(architecture, Seed(seed))),
    }
}
