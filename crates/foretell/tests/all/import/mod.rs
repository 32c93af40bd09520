//! Importers: the rows of samples are those of the published tables, byte for byte; tables survive being turned back into the
//! layout of their source; and what is damaged or hostile is a named error.

mod hostile;
mod layouts;

use crate::support::{Folder, benchmarks, originals};
use foretell::benchmark::import::{self, IMPORTERS, Imported, Table, importer};
use std::collections::HashSet;
use std::fs;
use std::path::Path;

fn import(source: &str, clone: &Path) -> Imported {
    import::import(source, clone, None).unwrap()
}

fn table<'i>(imported: &'i Imported, name: &str) -> &'i Table {
    imported.tables.iter().find(|table| table.name == name).unwrap_or_else(|| panic!("{name} is missing"))
}

/// Every line of an imported table whose first cell stands in the shared one is there as it is, up to what `part` leaves out.
/// Some rows of the sources are in no shared table; `rows` are.
#[track_caller]
fn all_in(imported: &Imported, folder: &Path, name: &str, rows: usize, part: impl Fn(&str) -> String) {
    let found = table(imported, name);
    let key = |line: &str| line.split(',').next().unwrap().to_owned();
    let shared = fs::read_to_string(folder.join(name)).unwrap();
    let keys: HashSet<String> = shared.lines().map(key).collect();
    let shared: HashSet<String> = shared.lines().map(&part).collect();
    let known: Vec<&str> = found.text.lines().filter(|line| keys.contains(&key(line))).collect();
    for line in &known {
        assert!(shared.contains(&part(line)), "{name} has no line {line}");
    }
    let header = usize::from(name.ends_with(".csv"));
    assert_eq!(known.len() - header, rows, "{name}: {:?}", found.omitted);
}

fn whole(line: &str) -> String {
    line.to_owned()
}

/// LPZero published two columns of its own for the encoders; no sample of it is at hand.
fn without_lpzero(line: &str) -> String {
    line.split(", \"ref_lpzero").next().unwrap().trim_end_matches('}').to_owned()
}

/// A sample has not all runs of a cell.
fn without_runs(line: &str) -> String {
    line.split(", \"num_runs").next().unwrap().to_owned()
}

/// Columns of a run that do not depend on the other file of the source.
fn without_metrics(line: &str) -> String {
    line.split(',').take(6).collect::<Vec<_>>().join(",")
}

#[test]
fn samples_give_the_published_rows() {
    let (Some(originals), Some(shared)) = (originals(), benchmarks()) else { return };
    let nas = import("training-free-nas", &originals.join("training-free-nas"));
    all_in(&nas, &shared, "flexibert-glue/architectures.jsonl", 20, without_lpzero);
    assert_eq!(table(&nas, "flexibert-glue/architectures.jsonl").counts, 20);
    all_in(&nas, &shared, "nasbench-nlp-ptb/recipes.jsonl", 34, without_runs);
    // The two files of the sample name different runs, so only one of them gives metrics, the other counts.
    all_in(&nas, &shared, "nasbench-nlp-ptb/runs.csv", 34, without_metrics);

    let archai = import("archai", &originals.join("archai"));
    all_in(&archai, &shared, "gpt2-wikitext103/architectures.jsonl", 12, whole);
    assert_eq!(table(&archai, "gpt2-wikitext103/architectures.jsonl").counts, 60);
    assert_eq!(archai.absent.len(), 8, "{:?}", archai.absent);

    let prox = import("auto-prox", &originals.join("auto-prox"));
    all_in(&prox, &shared, "autoformer-vit/architectures.jsonl", 100, whole);
    all_in(&prox, &shared, "pit-vit/architectures.jsonl", 100, whole);
    // This source counts nothing: its column of parameters is ours.
    assert_eq!(table(&prox, "pit-vit/architectures.jsonl").counts, 0);
}

#[test]
fn written_tables_are_benchmarks_and_are_not_replaced_unasked() {
    let Some(originals) = originals() else { return };
    let folder = Folder::new("import-written");
    let prox = import("auto-prox", &originals.join("auto-prox"));
    let written = prox.write(&folder.0, false).unwrap();
    assert_eq!(written.len(), 2);
    let loaded = foretell::benchmark::Benchmark::load(&folder.0, "pit-vit").unwrap();
    assert_eq!(loaded.architectures.len(), 100);
    assert_eq!(prox.write(&folder.0, false).unwrap_err().kind(), "exists");
    prox.write(&folder.0, true).unwrap();
}

#[test]
fn sources_are_found_by_name() {
    let error = import::import("archai", Path::new("."), Some(Path::new("."))).unwrap_err().to_string();
    assert!(error.contains("no other repository adds columns"), "{error}");
    let error = importer("archay").err().unwrap().to_string();
    assert!(error.contains("did you mean 'archai'"), "{error}");
    let names: Vec<&str> = IMPORTERS.iter().map(|importer| importer.source().name).collect();
    assert_eq!(names, ["training-free-nas", "archai", "auto-prox", "nas-bench-nlp"]);
}
