//! `foretell reproduce`: the tables and figures of the papers.

use crate::args::Reproduce;
use crate::output;
use crate::progress::{Progress, duration, plain};
use foretell::error::{Error, Result};
use foretell::reproduce::{self, Entry, Experiment, Figure, Outcome, Watch};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The exit code: 1 if some of several entries could not be run.
pub fn run(args: &Reproduce, json: bool) -> Result<u8> {
    let asked = match args.entry.as_deref() {
        None | Some("all") => reproduce::entries().collect(),
        Some(name) => match reproduce::papers().iter().find(|paper| paper.name == name) {
            Some(paper) => paper.entries.iter().collect::<Vec<_>>(),
            None => vec![reproduce::entry(name)?],
        },
    };
    if args.list || args.entry.is_none() {
        list(&asked, json);
        return Ok(0);
    }
    let tables = args.data.folder()?;
    if let [one] = asked[..] {
        return one_entry(one, args, &tables, json).map(|()| 0);
    }
    let mut code = 0;
    for entry in asked {
        match &entry.experiment {
            Experiment::Illustration { .. } | Experiment::Impossible { .. } => continue,
            _ => output::detail(format!("running {}", entry.id)),
        }
        match one_entry(entry, args, &tables, json) {
            Ok(()) => {}
            Err(error @ Error::Interrupted { .. }) => return Err(error),
            Err(error) => {
                code = 1;
                output::failure(error.kind(), &error.to_string(), code);
            }
        }
    }
    Ok(code)
}

fn list(entries: &[&'static Entry], json: bool) {
    let needs = |entry: &Entry| match &entry.experiment {
        Experiment::Illustration { .. } | Experiment::Impossible { .. } => "–".to_owned(),
        _ => match entry.tables(reproduce::Size::Quick).join(", ") {
            none if none.is_empty() => "nothing".to_owned(),
            tables => tables,
        },
    };
    if json {
        for entry in entries {
            output::line(json!({
                "entry": entry.id, "title": entry.title, "claim": entry.claim, "experiment": entry.experiment.kind(),
                "tables": entry.tables(reproduce::Size::Quick), "stand_in": entry.stand_in,
            }));
        }
        return;
    }
    let row = |entry: &&'static Entry| {
        vec![entry.id.clone(), entry.experiment.kind().to_owned(), needs(entry), entry.title.clone()]
    };
    let rows = entries.iter().map(row).collect();
    output::line(output::table(&["entry", "experiment", "needs", "shows"], rows));
    output::note(
        "\nneeds: folders of the benchmark folder; docs/benchmarks.md says how to get them. illustration: a drawing, the entry \
         names a command that shows the same. Run one: foretell reproduce etas/table-3 --quick --to reproduced",
    );
}

fn one_entry(entry: &Entry, args: &Reproduce, tables: &Path, json: bool) -> Result<()> {
    let looking = Looking::default();
    let request = reproduce::Reproduce {
        entry,
        size: args.size(),
        tables,
        to: &args.to,
        memory: foretell::score::pass_memory(),
        cancel: Default::default(),
        watch: &looking,
    };
    if args.dry_run {
        request.check()?;
        let folder = request.folder();
        if json {
            output::line(json!({"dry_run": true, "entry": entry.id, "experiment": entry.experiment.kind(),
                "tables": entry.tables(args.size()), "writes": [folder]}));
            return Ok(());
        }
        let (kind, size) = (entry.experiment.kind(), args.size());
        output::line(format!("dry run: reproduce would run {} ({kind}, {size})", entry.id));
        output::line(format!("writes       {}", folder.display()));
        return Ok(());
    }
    let (outcome, written) = request.run()?;
    looking.finish();
    print(entry, &outcome, &written, args, json);
    Ok(())
}

fn print(entry: &Entry, outcome: &Outcome, written: &[PathBuf], args: &Reproduce, json: bool) {
    if json {
        output::line(serde_json::to_string(outcome).expect("an outcome is plain data"));
        return;
    }
    if args.markdown {
        output::bytes(outcome.markdown().as_bytes());
        return;
    }
    output::line(format!("{}: {}", entry.id, entry.title));
    output::prose(format!("Claim: {}", entry.claim.trim()));
    if !entry.stand_in.is_empty() {
        output::prose(format!("Stand-in: {}", entry.stand_in.trim()));
    }
    output::prose(&outcome.run);
    let mut header = vec![String::new()];
    header.extend(outcome.columns.iter().map(|column| format!("paper: {column}")));
    header.extend(outcome.measured.iter().map(|column| format!("here: {column}")));
    let number = |figure: Option<f64>| Figure::from(figure).text();
    let row = |row: &reproduce::Row| {
        let mut cells = vec![row.name.clone()];
        cells.extend((0..outcome.columns.len()).map(|i| number(row.paper.get(i).copied().flatten())));
        cells.extend(
            (0..outcome.measured.len()).map(|i| row.measured.get(i).map_or("–".into(), Figure::text)),
        );
        cells
    };
    let names: Vec<&str> = header.iter().map(String::as_str).collect();
    output::line(format!("\n{}\n", output::table(&names, outcome.rows.iter().map(row).collect())));
    outcome.notes.iter().for_each(output::prose);
    for path in written {
        output::note(format!("wrote {}", path.display()));
    }
}

/// Progress of a run.
#[derive(Default)]
struct Looking {
    progress: Mutex<Option<(Progress, u64)>>,
}

impl Looking {
    fn finish(&self) {
        if let Some((progress, _)) = &*self.progress.lock().expect("no holder panics") {
            progress.finish();
        }
    }
}

impl Watch for Looking {
    fn estimated(&self, seconds: f64) {
        plain(&format!("this takes about {}", duration(seconds)));
    }

    fn part(&self, done: u64, total: u64, what: &'static str) {
        let mut progress = self.progress.lock().expect("no holder panics");
        let (bar, known) = progress.get_or_insert_with(|| (Progress::new(what, total), 0));
        while *known < done {
            bar.step();
            *known += 1;
        }
    }
}
