//! Files that a measurement leaves: the scores of every network, and scatter plots.

use crate::args::Bench;
use crate::output;
use foretell::benchmark::{Report, scores_csv, scores_json};
use foretell::error::{Error, Result};
use foretell::report::scatter;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// How reports become the text of a file.
type Text = fn(&[&Report]) -> String;

/// What is to be written where.
pub struct Files<'a> {
    scores: Option<(&'a Path, Text)>,
    plots: Option<&'a Path>,
}

impl<'a> Files<'a> {
    /// Checks the places before anything is measured.
    pub fn of(args: &'a Bench) -> Result<Self> {
        let scores = args.scores.as_deref().map(|path| match path.extension().and_then(|end| end.to_str()) {
            Some("json") => Ok((path, scores_json as Text)),
            Some("csv") => Ok((path, scores_csv as Text)),
            _ => Err(Error::option("--scores", format!("{} ends in neither .json nor .csv", path.display()))),
        });
        let files = Files { scores: scores.transpose()?, plots: args.plots.as_deref() };
        match &args.benchmark {
            None if files.scores.is_some() => {
                Err(Error::option("--scores", "has no effect without a benchmark"))
            }
            None if files.plots.is_some() => {
                Err(Error::option("--plots", "has no effect without a benchmark"))
            }
            _ => Ok(files),
        }
    }

    /// Writes what was measured; nothing if nothing was.
    pub fn write(&self, reports: &[&Report]) -> Result<()> {
        if reports.is_empty() {
            return Ok(());
        }
        if let Some((path, text)) = self.scores {
            write(path, &text(reports))?;
        }
        let Some(folder) = self.plots else { return Ok(()) };
        std::fs::create_dir_all(folder).map_err(|source| Error::write(folder.to_path_buf(), source))?;
        let mut taken = HashSet::new();
        for report in reports {
            for (proxy, chart) in scatter(report) {
                let stem = plain(&format!("{}-{}-{}", report.benchmark, report.family, proxy.name));
                write(&free(folder, &stem, &mut taken), &chart.alone())?;
            }
        }
        Ok(())
    }
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).map_err(|source| Error::write(path.to_path_buf(), source))?;
    output::detail(format!("wrote {}", path.display()));
    Ok(())
}

/// A name for a file: letters, digits, `-`, `.`, `+` and `=`, whatever else is `-`.
fn plain(name: &str) -> String {
    let one = |c: char| if c.is_ascii_alphanumeric() || "-.+=".contains(c) { c } else { '-' };
    let name: String = name.chars().map(one).collect();
    name.trim_matches('-').to_owned()
}

/// A file that was not written yet: names that differ in other characters alone are numbered.
fn free(folder: &Path, stem: &str, taken: &mut HashSet<String>) -> PathBuf {
    let mut name = stem.to_owned();
    for nth in 2.. {
        if taken.insert(name.clone()) {
            break;
        }
        name = format!("{stem}-{nth}");
    }
    folder.join(format!("{name}.svg"))
}
