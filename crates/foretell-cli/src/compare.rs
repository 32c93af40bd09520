//! `foretell compare`: several studies side by side.

use crate::args::Compare;
use crate::output;
use crate::report::refuse_foreign;
use crate::studies;
use foretell::error::{Error, Result};
use foretell::score::Options;
use foretell::study::{View, cross};
use foretell::{file, report};
use serde_json::json;
use std::fs;

pub fn run(args: &Compare, json: bool) -> Result<()> {
    let store = studies::open(&args.store)?;
    let views = args.studies.iter().map(|name| View::load(&store, name)).collect::<Result<Vec<_>>>()?;
    if let Some(empty) = views.iter().find(|view| view.trials == 0) {
        let cure = "has no candidates yet: run its search first";
        return Err(Error::option(format!("study '{}'", empty.study.name), cure));
    }
    let views: Vec<&View> = views.iter().collect();
    let options = Options { memory: foretell::score::pass_memory(), ..Options::default() };
    let winners = cross(&views, options)?;
    let found = report::compare(&views, &winners)?;
    let mut files = vec![(args.output.clone(), found.html.clone())];
    if let Some(folder) = &args.svg {
        fs::create_dir_all(folder).map_err(|source| Error::write(folder.clone(), source))?;
        let chart =
            |(name, chart): &(&str, report::Chart)| (folder.join(format!("{name}.svg")), chart.alone());
        files.extend(found.charts.iter().map(chart));
    }
    if !args.force {
        files.iter().try_for_each(|(path, _)| refuse_foreign(path))?;
    }
    if let Some(folder) = &args.csv {
        fs::create_dir_all(folder).map_err(|source| Error::write(folder.clone(), source))?;
        file::replace(&folder.join("winners.csv"), found.winners_csv())?;
        file::replace(&folder.join("curves.csv"), &found.curves)?;
    }
    for (path, text) in &files {
        file::replace(path, text)?;
    }
    let written: Vec<_> = files.iter().map(|(path, _)| path).collect();
    if json {
        output::line(json!({"studies": args.studies, "proxies": winners.proxies, "values": winners.values,
            "files": written}));
        return Ok(());
    }
    let names: Vec<&str> = found.header.iter().map(String::as_str).collect();
    output::line(output::table(&names, found.winners));
    written.iter().for_each(|path| output::line(path.display()));
    Ok(())
}
