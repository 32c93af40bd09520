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

/// Where tables come from: the beginning of their names, and the public project that holds them.
const SOURCES: [(&str, &str); 7] = [
    ("flexibert-glue", "github.com/aaronserianni/training-free-nas"),
    ("nasbench-nlp-ptb", "github.com/aaronserianni/training-free-nas"),
    ("nasbench-nlp-wikitext2", "github.com/fmsnew/nas-bench-nlp-release"),
    ("gpt2-wikitext103", "github.com/microsoft/archai, branch neurips-lts"),
    ("transformer-xl-wikitext103", "github.com/microsoft/archai, branch neurips-lts"),
    ("lts-pareto", "github.com/microsoft/archai, branch neurips-lts"),
    ("", "github.com/lilujunai/Auto-Prox-AAAI24"),
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
    let source = SOURCES.iter().find(|(start, _)| table.starts_with(start)).map_or("", |(_, source)| source);
    let message = format!(
        "{} needs this table, and the benchmark folder has no folder '{table}'. Its public source is {source}; \
         docs/benchmarks.md says how to turn a clone into the table. {} names the folder",
        entry.id,
        crate::benchmark::FOLDER_VARIABLE
    );
    Error::data(format!("table {table}"), message)
}

#[cfg(test)]
mod tests;
