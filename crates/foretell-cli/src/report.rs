//! `foretell report`: a study as one page, and its charts as SVG files.

use crate::args::Report;
use crate::output;
use crate::studies;
use foretell::error::{Error, Result};
use foretell::study::{Baseline, View};
use foretell::{file, report};
use serde_json::json;
use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::Path;

/// A report is recognised by its first bytes, this many.
const BEGINNING: u64 = 1024;

pub fn run(args: &Report, json: bool) -> Result<()> {
    let store = studies::open(&args.store)?;
    let view = View::load(&store, &args.study)?;
    if view.trials == 0 {
        let cure = "has no candidates yet: run its search first";
        return Err(Error::option(format!("study '{}'", args.study), cure));
    }
    let page = args.output.clone().unwrap_or_else(|| file_name(&args.study).into());
    let random = Baseline::of(&store, &view.study)?;
    let hash = store.hash(&view.study)?;
    let verification = args.verification.as_deref().map(crate::verify::read).transpose()?;
    if let Some(other) = verification.as_ref().filter(|other| other.study != args.study) {
        let message = format!("belongs to study '{}'", other.study);
        return Err(Error::option("--verification", message));
    }
    let evidence = crate::search::evidence(&view, None)?;
    let report = report::write(&view, &hash, &random, verification.as_ref(), &evidence)?;
    let mut files = vec![(page, report.html)];
    if let Some(folder) = &args.svg {
        fs::create_dir_all(folder).map_err(|source| Error::write(folder.clone(), source))?;
        files.extend(report.charts.into_iter().map(|(name, svg)| (folder.join(format!("{name}.svg")), svg)));
    }
    // Nothing is written if any file would be lost.
    if !args.force {
        files.iter().try_for_each(|(path, _)| refuse_foreign(path))?;
    }
    for (path, text) in &files {
        file::replace(path, text)?;
    }
    let paths: Vec<&Path> = files.iter().map(|(path, _)| path.as_path()).collect();
    if json {
        output::line(json!({
            "study": args.study, "report": paths[0], "charts": &paths[1..], "bytes": files[0].1.len(), "hash": hash,
        }));
        return Ok(());
    }
    files.iter().for_each(|(path, text)| {
        output::line(format!("{}  {}B", path.display(), output::short(text.len() as u64)));
    });
    Ok(())
}

/// A file name in this folder, whatever the study is called.
fn file_name(study: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let name: String = study.chars().take(100).map(plain).collect();
    let name = name.trim_start_matches(['.', '-']);
    format!("{}.html", if name.is_empty() { "report" } else { name })
}

/// Refuses to replace a file that is not a report.
pub fn refuse_foreign(path: &Path) -> Result<()> {
    let read = |source| Error::read(path, source);
    let file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        file => file.map_err(read)?,
    };
    let mut beginning = Vec::new();
    file.take(BEGINNING).read_to_end(&mut beginning).map_err(read)?;
    if beginning.is_empty() || String::from_utf8_lossy(&beginning).contains(report::MARK) {
        return Ok(());
    }
    let place = path.display().to_string();
    Err(Error::option(place, "exists and is not a report: choose another file, or replace it with --force"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_never_leaves_the_folder() {
        assert_eq!(file_name("../../etc/<b>passwd"), "etc--b-passwd.html");
        assert_eq!(
            file_name("autoformer-tiny-block-wise-559b1a1f"),
            "autoformer-tiny-block-wise-559b1a1f.html"
        );
        assert_eq!(file_name(".."), "report.html");
    }
}
