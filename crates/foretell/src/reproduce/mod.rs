//! Every numbered table and figure of the papers behind the library, each by one call.
//!
//! An entry of the catalogue is data: what the paper claims, the figures it prints, and the nearest experiment, which is one
//! of a few kinds. One file per paper is in `papers/`; a new entry is a few lines there. A run stores its figures as JSON
//! and CSV and its charts as SVG. What a run has finished is kept, scores in a cache, searches in a store, trainings in
//! a folder, so that one that was killed resumes and one that is repeated gives the same bytes.

mod agreement;
mod checkpoints;
mod counts;
mod entry;
mod formulas;
mod outcome;
mod page;
mod search;
mod shapes;
mod stability;
mod training;
mod work;

pub use entry::{Draw, Entry, Experiment, Paper, Published, Scale, Size, Target};
pub use outcome::{Drawn, Figure, Outcome, Row};
pub use page::page;
pub use work::{Reproduce, Watch};

use crate::benchmark::import::IMPORTERS;
use crate::catalogue;
use crate::error::{Error, Result};
use std::sync::OnceLock;

/// The papers, by the first part of their entries' names.
const FILES: [(&str, &str); 5] = [
    ("etas", include_str!("papers/etas.toml")),
    ("t-razor", include_str!("papers/t-razor.toml")),
    ("lpzero", include_str!("papers/lpzero.toml")),
    ("serianni-kalita", include_str!("papers/serianni-kalita.toml")),
    ("zerolm", include_str!("papers/zerolm.toml")),
];

/// All papers.
pub fn papers() -> &'static [Paper] {
    static PAPERS: OnceLock<Vec<Paper>> = OnceLock::new();
    PAPERS.get_or_init(|| FILES.iter().map(|(name, text)| read(name, text)).collect())
}

fn read(name: &'static str, text: &str) -> Paper {
    let mut paper: Paper =
        toml::from_str(text).unwrap_or_else(|e| panic!("the catalogue of {name} is broken: {e}"));
    paper.name = name;
    for entry in &mut paper.entries {
        entry.id = format!("{name}/{}", entry.name);
    }
    paper
}

/// All entries, paper by paper.
pub fn entries() -> impl Iterator<Item = &'static Entry> {
    papers().iter().flat_map(|paper| &paper.entries)
}

/// The entry of this name: `etas/table-3`.
pub fn entry(id: &str) -> Result<&'static Entry> {
    let names = || entries().map(|entry| entry.id.as_str());
    entries().find(|entry| entry.id == id).ok_or_else(|| catalogue::unknown("entry", id, names()))
}

/// That a table is missing, and where it comes from.
fn missing(table: &str, entry: &Entry) -> Error {
    let folder = table.split('/').next().unwrap_or(table);
    let sources = IMPORTERS.iter().map(|importer| importer.source());
    let source = sources.filter(|source| source.tables.contains(folder)).map(|source| {
        let branch = source.branch.map(|branch| format!(", branch {branch}")).unwrap_or_default();
        format!(
            "Its public source is {}{branch}, a clone of which can be imported as '{}'. ",
            source.repository, source.name
        )
    });
    let message = format!(
        "{} needs this table, and the benchmark folder has no folder '{folder}'. {}{} names the folder",
        entry.id,
        source.collect::<String>(),
        crate::benchmark::FOLDER_VARIABLE
    );
    Error::data(format!("table {table}"), message)
}

#[cfg(test)]
mod tests;
