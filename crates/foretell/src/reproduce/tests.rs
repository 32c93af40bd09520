//! The catalogue is whole, and its requests are understood.

use super::*;
use crate::benchmark::COLUMN;
use crate::proxy::Request;
use std::collections::HashSet;

/// Tables and figures that each paper numbers.
const NUMBERED: [(&str, usize, usize); 4] =
    [("etas", 4, 1), ("t-razor", 12, 7), ("lpzero", 8, 13), ("serianni-kalita", 3, 11)];

#[test]
fn every_numbered_table_and_figure_has_an_entry() {
    let mut seen = HashSet::new();
    assert!(entries().all(|entry| seen.insert(entry.id.as_str())), "every name once");
    for (paper, tables, figures) in NUMBERED {
        let tables = (1..=tables).map(|number| format!("{paper}/table-{number}"));
        let figures = (1..=figures).map(|number| format!("{paper}/figure-{number}"));
        tables.chain(figures).for_each(|id| assert!(seen.contains(id.as_str()), "{id} is missing"));
    }
    // ZeroLM: the abstract and the captions at hand.
    (1..=5).for_each(|number| assert!(seen.contains(format!("zerolm/figure-{number}").as_str())));
}

#[test]
fn entries_are_understood() {
    for entry in entries() {
        let id = &entry.id;
        assert!(!entry.title.is_empty() && !entry.claim.is_empty(), "{id}");
        for row in &entry.rows {
            assert!(
                row.paper.len() <= entry.columns.len(),
                "{id}: {} has more figures than columns",
                row.name
            );
            let (searcher, proxy) = match &entry.experiment {
                Experiment::Agreement { .. } | Experiment::Stability { .. } => (None, row.ours.as_str()),
                Experiment::Search { .. } | Experiment::Training { .. } => {
                    let (searcher, proxy) = row.ours.split_once(' ').unwrap_or_default();
                    (Some(searcher).filter(|text| !text.is_empty()), proxy)
                }
                _ => continue,
            };
            if let Some(searcher) = searcher {
                crate::search::about(searcher).unwrap_or_else(|e| panic!("{id}: {e}"));
            }
            if !proxy.is_empty() && !proxy.starts_with(COLUMN) {
                Request::parse(proxy).unwrap_or_else(|e| panic!("{id}: {e}"));
            }
        }
    }
}

#[test]
fn a_missing_table_is_named_with_its_source() {
    let nowhere = std::env::temp_dir().join("no such folder");
    let run = |id: &str, size| {
        let entry = entry(id).unwrap();
        let to = nowhere.join("out");
        let run = Reproduce {
            entry,
            size,
            tables: &nowhere,
            to: &to,
            memory: None,
            cancel: Default::default(),
            watch: &(),
        };
        run.check().map_err(|e| e.to_string())
    };
    let said = run("etas/table-3", Size::Quick).unwrap_err();
    assert!(said.contains("gpt2-wikitext103") && said.contains("archai"), "{said}");
    assert_eq!(run("etas/table-3", Size::Smallest), Ok(()), "tables that ship are enough");
    assert!(run("t-razor/figure-3", Size::Full).unwrap_err().contains("foretell algorithms"));
    assert!(run("t-razor/table-8", Size::Full).unwrap_err().contains("cannot be run here"));
    assert!(entry("etas/table-33").unwrap_err().to_string().contains("etas/table-3"));
}
