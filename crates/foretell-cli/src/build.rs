//! `foretell benchmark`: builds or imports tables of trained networks, or prints the benchmark folder.

use crate::args::{BenchmarkArgs, BenchmarkCommand, BenchmarkPath, Build};
use crate::progress::Progress;
use crate::{output, places};
use foretell::benchmark::Plan;
use foretell::error::{Error, Result};
use serde_json::json;
use std::path::{Path, PathBuf};

pub fn run(args: &BenchmarkArgs, json: bool) -> Result<()> {
    match &args.command {
        BenchmarkCommand::Build(args) => build(args, json),
        BenchmarkCommand::Import(args) => crate::import::run(args, json),
        BenchmarkCommand::Path(args) => path(args, json),
    }
}

/// The benchmark folder, whether it exists or not.
pub fn folder(given: Option<&Path>) -> Result<PathBuf> {
    places::benchmark_path(given).ok_or_else(|| {
        Error::option("benchmark folder", "this user has no data folder: set FORETELL_BENCHMARKS")
    })
}

fn path(args: &BenchmarkPath, json: bool) -> Result<()> {
    let path = folder(args.data.data.as_deref())?;
    if json {
        output::line(json!({"path": path, "exists": path.is_dir()}));
    } else {
        output::line(path.display());
    }
    Ok(())
}

fn build(args: &Build, json: bool) -> Result<()> {
    let plan = Plan::read(&args.config)?;
    let folder = args.output.as_deref().or(args.config.parent()).unwrap_or(Path::new("."));
    let shard = args.shard.map(|shard| (shard.index() - 1, shard.of()));
    let open = plan.open(folder, shard);
    if args.dry_run {
        if json {
            output::line(json!({
                "dry_run": true, "networks": plan.networks().len(), "runs": plan.jobs().len(), "open": open, "writes": [folder],
            }));
        } else {
            output::line(format!(
                "dry run: benchmark build would make {open} of {} runs of {} networks\nwrites       {}",
                plan.jobs().len(),
                plan.networks().len(),
                folder.display()
            ));
        }
        return Ok(());
    }
    let progress = Progress::new("runs", open as u64);
    let table = plan.build(folder, shard, &|_, _| progress.step())?;
    progress.finish();
    if json {
        output::line(json!({"networks": plan.networks().len(), "runs": plan.jobs().len(), "table": table}));
        return Ok(());
    }
    match table {
        Some(table) => output::line(format!(
            "{} networks, {} runs: {}",
            plan.networks().len(),
            plan.jobs().len(),
            table.display()
        )),
        None => output::line("this shard is finished; the table is written when all runs are in one folder"),
    }
    Ok(())
}
