//! `foretell rank`: architectures ranked by several proxies, best first.

use crate::args;
use crate::count::read;
use crate::output::{self, grouped};
use crate::progress::Progress;
use crate::score::exit_code;
use foretell::architecture::Family;
use foretell::error::{Error, Result};
use foretell::rank;
use foretell::score::{Cell, Scorer};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Proxies that need no pass and rank trained networks best in the measured tables, and the count they have to beat.
const USUAL: &str = "nsc,zerolm,depth-times-width,params";

/// The exit code: 3 if no score at all succeeded.
pub fn run(args: &args::Rank, json: bool) -> Result<u8> {
    let mut architectures = Vec::new();
    for source in &args.architectures {
        architectures.extend(read(source)?);
    }
    if architectures.len() < 2 {
        return Err(Error::option("ranking", "needs at least two architectures; foretell score takes one"));
    }
    let mut usual = USUAL.to_owned();
    for (tokens, network) in
        args.train_tokens.iter().flat_map(|tokens| architectures.iter().map(move |a| (tokens, a)))
    {
        usual = foretell::study::score_for(network.family(), *tokens)?;
    }
    let scorer = Scorer::new(args.scoring.requests(&usual)?, args.scoring.options()?);
    let progress = Progress::new("architectures", architectures.len() as u64);
    let table = scorer.table(&architectures, &args.scoring.seeds(), &|| progress.step())?;
    progress.finish();
    // Ranks by each proxy, from 1 for the best; none where it could not score.
    let n = architectures.len();
    let mut columns: Vec<Vec<Option<f64>>> = Vec::new();
    let mut failures = Vec::new();
    for index in 0..scorer.requests().len() {
        let column: Vec<&Cell> = table.iter().map(|row| &row.cells[index]).collect();
        let order = scorer.order(index, &column);
        let scored: Vec<usize> = (0..n).filter(|i| order[*i].is_ok()).collect();
        let values: Vec<f64> = order.iter().filter_map(|score| score.as_ref().ok().copied()).collect();
        let ranks = rank::average_ranks(&values);
        let mut column = vec![None; n];
        scored
            .iter()
            .zip(ranks)
            .for_each(|(i, from_worst)| column[*i] = Some(scored.len() as f64 + 1.0 - from_worst));
        if let Some(error) = order.iter().find_map(|score| score.as_ref().err()) {
            failures.push(format!(
                "{}: {} failed, first: {error}",
                scorer.requests()[index].label(),
                n - scored.len()
            ));
        }
        columns.push(column);
    }
    let mean = |i: usize| {
        let known: Vec<f64> = columns.iter().filter_map(|column| column[i]).collect();
        (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
    };
    let mut places: Vec<usize> = (0..n).collect();
    places.sort_by(|a, b| mean(*a).unwrap_or(f64::MAX).total_cmp(&mean(*b).unwrap_or(f64::MAX)));
    if !json {
        let labels: Vec<&str> = scorer.requests().iter().map(|request| request.label()).collect();
        let header: Vec<&str> =
            [&["rank", "id", "parameters", "mean rank"], &labels[..], &["architecture"]].concat();
        let rows = places.iter().enumerate().map(|(place, i)| {
            let mut row = vec![
                (place + 1).to_string(),
                architectures[*i].id(),
                grouped(architectures[*i].params().total),
            ];
            row.push(mean(*i).map_or("–".into(), |mean| format!("{mean:.1}")));
            row.extend(columns.iter().map(|column| column[*i].map_or("–".into(), output::number)));
            row.push(output::genes(&architectures[*i]));
            row
        });
        output::line(output::table(&header, rows.collect()));
        output::note(
            "\nRank 1 is the best; equal scores share a rank. Rows are ordered by mean rank. If the columns disagree, the \
             order is uncertain.",
        );
        if let Some(tau) = agreement(&columns) {
            output::note(format!("Agreement between the proxies: mean tau {}.", output::decimals(Some(tau))));
        }
        failures.iter().for_each(output::prose);
        let families: BTreeMap<String, &dyn Family> =
            architectures.iter().map(|a| (a.family().to_string(), a.family() as _)).collect();
        if !output::is_quiet() {
            output::line("");
        }
        for (family, request) in
            families.values().flat_map(|family| scorer.requests().iter().map(move |r| (*family, r)))
        {
            if !request.about().trivial {
                let evidence = crate::search::of_score(family, request, None)?;
                crate::search::print_evidence(&family.to_string(), request.label(), &evidence);
            }
        }
        return Ok(exit_code(&table));
    }
    for (place, i) in places.iter().enumerate() {
        let ranks = scorer
            .requests()
            .iter()
            .zip(&columns)
            .map(|(request, column)| (request.label().to_owned(), json!(column[*i])));
        output::line(json!({
            "rank": place + 1, "id": architectures[*i].id(), "space": architectures[*i].space(),
            "params": architectures[*i].params().total, "mean_rank": mean(*i), "ranks": Value::Object(ranks.collect::<Map<_, _>>()),
        }));
    }
    Ok(exit_code(&table))
}

/// The mean tau-b of all pairs of proxies.
fn agreement(columns: &[Vec<Option<f64>>]) -> Option<f64> {
    let mut taus = Vec::new();
    for (i, a) in columns.iter().enumerate() {
        for b in &columns[i + 1..] {
            let both: (Vec<f64>, Vec<f64>) =
                a.iter().zip(b).filter_map(|(a, b)| Some(((*a)?, (*b)?))).unzip();
            taus.extend(rank::kendall_tau_b(&both.0, &both.1));
        }
    }
    (!taus.is_empty()).then(|| taus.iter().sum::<f64>() / taus.len() as f64)
}
