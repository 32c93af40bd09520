//! `foretell bench --stability`: how much a ranking depends on what is drawn.

use crate::args::{Bench, BenchFormat};
use crate::output::{self, decimals};
use crate::progress::Progress;
use foretell::benchmark::stability::{Stability, Variation, requests, stability};
use foretell::error::{Error, Result};
use foretell::score::Scorer;
use serde_json::json;
use std::path::Path;

pub fn run(args: &Bench, source: &str, folder: &Path, json: bool) -> Result<()> {
    let variation = Variation::named(source)?;
    let name = super::named(args, "--stability")?;
    let (proxies, columns) = args.scoring.requests_and_columns("")?;
    if let Some(column) = columns.first() {
        return Err(Error::option(column, "is a column of the table, and nothing of it is drawn"));
    }
    let seeds = args.scoring.seeds();
    for part in args.table.parts(folder, name)? {
        let target = args.table.target(&part)?;
        let scorer = Scorer::new(requests(&proxies, variation, &seeds)?, args.scoring.options()?);
        let progress = Progress::new("networks", part.architectures.len() as u64);
        let found = stability(&part, target, &scorer, (&proxies, variation, &seeds), &|| progress.step())?;
        progress.finish();
        let family = part.architectures[0].family().to_string();
        if json {
            let object = json!({
                "benchmark": part.name, "family": family, "target": target.name, "variation": variation.name(), "proxies": found,
            });
            output::line(object);
            continue;
        }
        let title = format!("{}: {family} networks, target {}, varied: {source}", part.name, target.name);
        print(&title, &found, args.format);
    }
    Ok(())
}

fn print(title: &str, found: &[Stability], how: BenchFormat) {
    let draws =
        found.first().map_or(Vec::new(), |one| one.draws.iter().map(|draw| draw.name.clone()).collect());
    let header: Vec<&str> = ["proxy"]
        .into_iter()
        .chain(draws.iter().map(String::as_str))
        .chain(["mean", "deviation", "between draws", "score deviates", "failed"])
        .collect();
    let percent =
        |share: Option<f64>| share.map_or("–".to_owned(), |share| format!("{:.1} %", 100.0 * share));
    let row = |one: &Stability| -> Vec<String> {
        let taus = one.draws.iter().map(|draw| decimals(draw.kendall));
        let failed: usize = one.draws.iter().map(|draw| draw.failed).sum();
        [one.proxy.clone()]
            .into_iter()
            .chain(taus)
            .chain([one.mean, one.deviation, one.between].map(decimals))
            .chain([percent(one.relative_deviation), failed.to_string()])
            .collect()
    };
    let rows: Vec<Vec<String>> = found.iter().map(row).collect();
    super::print_table(title, &header, rows, how);
    if how != BenchFormat::Table {
        return;
    }
    output::note(
        "tau-b with the target for every draw, their mean and standard deviation; between draws: mean tau-b of the \
         orders of two draws; score deviates: mean over networks of the deviation of the score over draws, in percent \
         of its mean; failed: scores that could not be computed, over all draws.",
    );
    for one in found {
        let failure = one.draws.iter().find_map(|draw| Some((&draw.name, draw.failure.as_ref()?)));
        if let Some((draw, failure)) = failure {
            output::prose(format!("{}, {draw}: {failure}", one.proxy));
        }
    }
}
