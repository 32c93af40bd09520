//! `foretell bench --checkpoints`: agreement with results after more and more training.

use super::{named, print_table};
use crate::args::{Bench, BenchFormat};
use crate::output::{self, decimals};
use crate::progress::Progress;
use foretell::benchmark::checkpoints::{Checkpoint, Checkpoints, checkpoints};
use foretell::error::Result;
use foretell::score::Scorer;
use std::path::Path;

pub fn run(args: &Bench, folder: &Path, json: bool) -> Result<()> {
    for part in args.table.parts(folder, named(args, "--checkpoints")?)? {
        let target = args.table.target(&part)?;
        let (requests, columns) = args.scoring.requests_and_columns("params,depth")?;
        let scorer = Scorer::new(requests, args.scoring.options()?);
        let progress = Progress::new("networks", part.architectures.len() as u64);
        let seeds = args.scoring.seeds();
        let found = checkpoints(&part, &target.name, &scorer, (&seeds, &columns), &|| progress.step())?;
        progress.finish();
        if json {
            output::line(serde_json::to_string(&found).expect("checkpoints are plain data"));
        } else {
            print(&found, args.format);
        }
    }
    Ok(())
}

fn print(found: &Checkpoints, how: BenchFormat) {
    let title = format!(
        "{}: {} networks, {} after more and more training",
        found.benchmark,
        found.networks.len(),
        found.target
    );
    let header: Vec<&str> = ["steps", "mean", "tau with last"]
        .into_iter()
        .chain(found.proxies.iter().map(String::as_str))
        .collect();
    let row = |one: &Checkpoint| -> Vec<String> {
        let mean = one.mean.map_or("–".to_owned(), |mean| format!("{mean:.2}"));
        [one.steps.to_string(), mean, decimals(one.kendall_last)]
            .into_iter()
            .chain(one.kendall.iter().map(|tau| decimals(*tau)))
            .collect()
    };
    print_table(&title, &header, found.checkpoints.iter().map(row).collect(), how);
    for one in found.checkpoints.iter().filter(|one| one.copy_of.is_some()) {
        let later = one.copy_of.unwrap_or_default();
        output::note(format!("The results at {} steps are those at {later}, digit by digit.", one.steps));
    }
}
