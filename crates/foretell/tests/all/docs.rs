//! Keeps the documentation true: generated tables, the list of pages, links, the length of the README.
//!
//! `FORETELL_UPDATE=1 cargo test --test docs` writes the generated tables.

use foretell::architecture::{FAMILIES, Field, Kind, Positions, Scope};
use foretell::proxy::{About, CATALOGUE, Cost, SHARED, SHARED_RANGES};
use foretell::reproduce::{self, Entry, Outcome};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const MAX_README_LINES: usize = 120;
const COSTS: [Cost; 7] =
    [Cost::Shape, Cost::Weights, Cost::Forward, Cost::Backward, Cost::Passes, Cost::Samples, Cost::Hessian];
const GENERATED: &str =
    "<!-- Generated: FORETELL_UPDATE=1 cargo test -p foretell --test all docs::. Do not edit. -->\n";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The Markdown pages of `docs/` and of its folder of papers, by file name.
fn pages() -> Vec<PathBuf> {
    let folders = ["docs", "docs/papers"].map(|folder| fs::read_dir(root().join(folder)).unwrap());
    let entries = folders.into_iter().flatten().map(|entry| entry.unwrap().path());
    let mut pages: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|e| e == "md")).collect();
    pages.sort();
    pages
}

/// Compares a generated page with the file, or writes the file if `FORETELL_UPDATE` is 1.
fn generated(name: &str, text: &str) {
    let path = root().join("docs").join(name);
    if std::env::var("FORETELL_UPDATE").is_ok_and(|value| value == "1") {
        fs::write(&path, text).unwrap();
    }
    let same = fs::read_to_string(&path).is_ok_and(|old| old == text);
    assert!(same, "docs/{name} is out of date: run FORETELL_UPDATE=1 cargo test --test docs");
}

/// Text for a cell of a Markdown table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

fn code(text: &str) -> String {
    format!("`{}`", cell(text))
}

#[test]
fn the_table_of_proxies_is_that_of_the_catalogue() {
    let mut text = format!("{GENERATED}\n# The table of proxies\n");
    for cost in COSTS {
        text +=
            &format!("\n### {}\n\n| proxy | formula | source | options |\n|---|---|---|---|\n", cost.text());
        let entries = CATALOGUE.iter().map(|entry| entry.about).filter(|about| about.cost == cost);
        entries.for_each(|about| text += &proxy_row(about));
    }
    text += "\n### Options common to all proxies that depend on weights\n\n";
    text += "| option | default | meaning |\n|---|---|---|\n";
    for (name, default, meaning) in SHARED {
        let range = SHARED_RANGES.iter().find(|range| range.option == *name);
        let range = range.map_or(String::new(), |range| format!("; {} to {}", range.least, range.most));
        text += &format!("| {} | {} | {}{range} |\n", code(name), cell(default), cell(meaning));
    }
    generated("proxies-table.md", &text);
}

fn proxy_row(about: &About) -> String {
    let mut name = format!("**{}**", about.name);
    if !about.aliases.is_empty() {
        name += &format!(" ({})", about.aliases.join(", "));
    }
    name += &format!("<br>{}", cell(about.sentence));
    let marks = [
        (about.trivial, "Baseline."),
        (about.flipped, "Sign changed: the original is lower-is-better."),
        (!about.parts.is_empty(), "Has a value only within a set."),
    ];
    marks.iter().filter(|(holds, _)| *holds).for_each(|(_, text)| name += &format!(" *{text}*"));
    let options = about.options.iter().map(|(name, default, _)| code(&format!("{name}={default}")));
    let variants = about.variants.iter().map(|(name, _)| code(&format!("variant={name}")));
    let options: Vec<String> = options.chain(variants).collect();
    format!("| {name} | {} | {} | {} |\n", code(about.formula), cell(about.paper), options.join(" "))
}

#[test]
fn the_tables_of_fields_are_those_of_the_families() {
    let mut text = format!("{GENERATED}\n# The fields of every family\n");
    for family in FAMILIES {
        let card = family.card();
        text += &format!(
            "\n### {}\n\nKind of network: {}. {}\n\n",
            card.name,
            card.about,
            positions(card.positions)
        );
        text += "| field | holds | values | default | other names | meaning |\n|---|---|---|---|---|---|\n";
        card.fields.iter().for_each(|field| text += &field_row(field));
    }
    generated("spaces-fields.md", &text);
}

fn positions(positions: Positions) -> String {
    match positions {
        Positions::Layers(field) => format!("A position is a layer; `{field}` says how many there are."),
        Positions::Stages(n) => format!("A position is a stage; there are {n}."),
        Positions::Nodes => "A position is a node of the cell.".to_owned(),
        Positions::Choices => "A position is a choice.".to_owned(),
    }
}

fn field_row(field: &Field) -> String {
    let scope = match field.scope {
        Scope::Whole => "one value".to_owned(),
        Scope::List(n) => format!("a list of {n}"),
        Scope::Position => "one value per position".to_owned(),
    };
    let values = match field.kind {
        Kind::Count(least, most) => format!("{least} to {most}"),
        Kind::Optional(least, most) => format!("none, or {least} to {most}"),
        Kind::Ratio(least, most) => {
            format!("{} to {}, three decimals", f64::from(least) / 1e3, f64::from(most) / 1e3)
        }
        Kind::Name(names) => {
            names.iter().map(|name| code(&format!("{name:?}"))).collect::<Vec<_>>().join(" ")
        }
        Kind::Flag => "`true` `false`".to_owned(),
    };
    let write = |value: u32| match field.write(value) {
        serde_json::Value::Null => "none".to_owned(),
        value => value.to_string(),
    };
    let default = match (field.list_default, field.default) {
        ([], None) => "–".to_owned(),
        ([], Some(value)) => write(value),
        (list, _) => list.iter().map(|value| write(*value)).collect::<Vec<_>>().join(", "),
    };
    let aliases = field.aliases.iter().map(|alias| code(alias)).collect::<Vec<_>>().join(" ");
    let (key, doc) = (code(field.key), cell(field.doc.trim()));
    format!("| {key} | {scope} | {values} | {default} | {aliases} | {doc} |\n")
}

/// What was measured lies beside the pages: `papers/results/ENTRY.json` is the result of a run, `papers/ENTRY.svg` its chart.
#[test]
fn the_pages_of_the_papers_are_those_of_the_catalogue_and_of_the_runs() {
    let folder = root().join("docs/papers");
    let name = |entry: &Entry| entry.id.replace('/', "-");
    let mut known: BTreeSet<String> = BTreeSet::new();
    for paper in reproduce::papers() {
        let result = |entry: &Entry| {
            let path = folder.join("results").join(format!("{}.json", name(entry)));
            let outcome: Outcome = serde_json::from_str(&fs::read_to_string(&path).ok()?)
                .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            assert_eq!(outcome.entry, entry.id, "{}", path.display());
            Some(outcome)
        };
        let chart = |entry: &Entry| {
            let file = format!("{}.svg", name(entry));
            folder.join(&file).exists().then_some(file)
        };
        known.extend(paper.entries.iter().map(name));
        generated(&format!("papers/{}.md", paper.name), &reproduce::page(paper, &result, &chart));
    }
    for file in fs::read_dir(folder.join("results")).unwrap().map(|file| file.unwrap().path()) {
        let stem = file.file_stem().unwrap().to_string_lossy().into_owned();
        assert!(known.contains(&stem), "{} belongs to no entry", file.display());
    }
}

#[test]
fn every_page_is_in_the_summary_once() {
    let summary = root().join("docs/SUMMARY.md");
    let linked: Vec<String> = links(&read(&summary)).into_iter().map(|(_, target)| target).collect();
    let listed: BTreeSet<String> = linked.iter().cloned().collect();
    assert_eq!(listed.len(), linked.len(), "SUMMARY.md lists a page twice");
    let docs = root().join("docs");
    let names =
        pages().into_iter().map(|path| path.strip_prefix(&docs).unwrap().to_string_lossy().into_owned());
    let expected: BTreeSet<String> = names.filter(|name| name != "SUMMARY.md").collect();
    assert_eq!(listed, expected, "SUMMARY.md (left) and docs/*.md (right) differ");
}

#[test]
fn every_relative_link_leads_to_a_file() {
    let mut files = pages();
    files.extend(
        ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "CHANGELOG.md"].map(|name| root().join(name)),
    );
    let mut broken = Vec::new();
    for file in files {
        for (line, target) in links(&read(&file)) {
            let target = target.split('#').next().unwrap_or_default();
            let outside = target.contains("://") || target.starts_with("mailto:");
            if !target.is_empty() && !outside && !file.with_file_name("").join(target).exists() {
                broken.push(format!("{}:{line}: {target}", file.display()));
            }
        }
    }
    assert!(broken.is_empty(), "links that lead nowhere:\n{}", broken.join("\n"));
}

/// The inline links and includes outside code, each with its line.
fn links(text: &str) -> Vec<(usize, String)> {
    let (mut found, mut fenced) = (Vec::new(), false);
    for (i, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        let plain: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
        let targets = plain.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0));
        let included = plain.split("{{#include ").skip(1).filter_map(|rest| rest.split([':', '}']).next());
        found.extend(targets.chain(included).map(|target| (i + 1, target.trim().to_owned())));
    }
    found
}

#[test]
fn links_are_found_outside_code_only() {
    let text = "[a](b.md) `[c](d.md)` [`e`](f.md#g)\n```\n[h](i.md)\n```\n{{#include j.md:5:}}";
    let found: Vec<(usize, String)> =
        [(1, "b.md"), (1, "f.md#g"), (5, "j.md")].map(|(n, t)| (n, t.to_owned())).into();
    assert_eq!(links(text), found);
}

#[test]
fn the_readme_is_short() {
    let lines = read(&root().join("README.md")).lines().count();
    assert!(
        lines <= MAX_README_LINES,
        "README.md has {lines} lines; move what is not needed to start to docs/"
    );
}
