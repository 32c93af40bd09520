//! `foretell benchmark build`: a table of trained networks of one's own.

use crate::args::{BenchmarkArgs, BenchmarkCommand, Build};
use crate::output;
use crate::progress::Progress;
use foretell::benchmark::Plan;
use foretell::error::Result;
use serde_json::json;
use std::path::Path;

pub fn run(args: &BenchmarkArgs, json: bool) -> Result<()> {
    let BenchmarkCommand::Build(args) = &args.command;
    build(args, json)
}

fn build(args: &Build, json: bool) -> Result<()> {
    let plan = Plan::read(&args.config)?;
    let folder = args.output.as_deref().or(args.config.parent()).unwrap_or(Path::new("."));
    let shard = args.shard.map(|shard| (shard.index() - 1, shard.of()));
    let progress = Progress::new("runs", plan.open(folder, shard) as u64);
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
        None => output::line("this share is done; the table is written once all runs are in one folder"),
    }
    Ok(())
}
