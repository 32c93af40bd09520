//! `foretell benchmark import`: a clone of a public repository becomes tables.

use crate::args::Import;
use crate::{build, output};
use foretell::benchmark::import::{IMPORTERS, Imported, Source, Table, import};
use foretell::error::Result;
use serde_json::{Value, json};
use std::path::Path;

/// Rows left out of a table that are named one by one.
const NAMED: usize = 5;

pub fn run(args: &Import, json: bool) -> Result<()> {
    let (Some(source), Some(clone), false) = (&args.source, &args.clone, args.list) else {
        list(json);
        return Ok(());
    };
    let imported = import(source, clone, args.with.as_deref())?;
    let folder = build::folder(args.to.as_deref())?;
    if !args.dry_run {
        imported.write(&folder, args.force)?;
    }
    if json {
        output::line(as_json(&imported, &folder, args.dry_run));
    } else {
        print(&imported, &folder, args.dry_run);
    }
    Ok(())
}

fn list(json: bool) {
    let sources: Vec<&Source> = IMPORTERS.iter().map(|importer| importer.source()).collect();
    if json {
        let source = |source: &&Source| {
            json!({
                "name": source.name, "repository": source.repository, "branch": source.branch, "tables": source.tables,
                "further": source.further.map(|[repository, _]| repository),
            })
        };
        output::line(sources.iter().map(source).collect::<Value>());
        return;
    }
    for source in sources {
        let branch = source.branch.map(|branch| format!(", branch {branch}")).unwrap_or_default();
        output::line(format!("{:<20}{}{branch}", source.name, source.repository));
        output::line(format!("{:<20}{}", "", source.tables));
        if let Some([repository, columns]) = source.further {
            output::line(format!("{:<20}{columns}: --with a clone of {repository}", ""));
        }
    }
}

fn as_json(imported: &Imported, folder: &Path, dry_run: bool) -> Value {
    let table = |table: &Table| {
        let omitted =
            table.omitted.iter().map(|omitted| json!({"row": omitted.row, "reason": omitted.reason}));
        json!({
            "path": folder.join(&table.name), "rows": table.rows, "counts": table.counts,
            "omitted": omitted.collect::<Value>(),
        })
    };
    let tables: Value = imported.tables.iter().map(table).collect();
    json!({"dry_run": dry_run, "tables": tables, "absent": imported.absent})
}

fn print(imported: &Imported, folder: &Path, dry_run: bool) {
    for table in &imported.tables {
        let counts = match table.counts {
            0 => ", no published counts to compare".to_owned(),
            n => format!(", {n} published {}", if n == 1 { "count agrees" } else { "counts agree" }),
        };
        let rows = if table.rows == 1 { "row" } else { "rows" };
        output::line(format!("{:<52}{} {rows}{counts}", table.name, table.rows));
        if !table.omitted.is_empty() {
            output::line(format!("  left out: {}", table.omitted.len()));
        }
        for omitted in table.omitted.iter().take(NAMED) {
            output::line(format!("    {}: {}", omitted.row, omitted.reason));
        }
        if table.omitted.len() > NAMED {
            output::line(format!("    and {} more; --json lists all", table.omitted.len() - NAMED));
        }
    }
    for absent in &imported.absent {
        output::line(format!("not in this clone: {absent}"));
    }
    let does = if dry_run { "dry run: would write to" } else { "written to" };
    output::line(format!("{does} {}", folder.display()));
}
