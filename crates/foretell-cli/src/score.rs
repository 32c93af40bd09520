//! `foretell score`: architectures → training-free scores.

use crate::args;
use crate::count::read;
use crate::output::{self, grouped, seconds};
use crate::progress::Progress;
use foretell::architecture::Architecture;
use foretell::error::{Error, Result};
use foretell::proxy::{Request, Score};
use foretell::score::{Cell, Row, Scorer};
use foretell::study::{Failure, Program};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;

/// The exit code: 3 if no score at all succeeded.
pub fn run(args: &args::Score, json: bool) -> Result<u8> {
    let mut architectures = Vec::new();
    for source in &args.architectures {
        architectures.extend(read(source)?);
    }
    let limit = Duration::from_secs_f64(args.proxy_timeout);
    let program = args.proxy_with.as_deref().map(|command| Program::new(command, limit)).transpose()?;
    let alone = program.is_some() && args.scoring.proxies.is_none();
    let requests = if alone { Vec::new() } else { args.scoring.requests("all")? };
    let mut options = args.scoring.options()?;
    if args.terms {
        // Terms are not cached.
        options.cache = None;
    }
    let scorer = Scorer::new(requests, options);
    let seeds = args.scoring.seeds();
    let progress = Progress::new("architectures", architectures.len() as u64);
    let table = scorer.table(&architectures, &seeds, &|| progress.step())?;
    progress.finish();
    let (cached, all) = (table.iter().flat_map(|row| &row.cells), table.len() * scorer.requests().len());
    let cached = cached.filter(|cell| cell.seconds == 0.0 && cell.scores.iter().all(Result::is_ok)).count();
    output::detail(format!("{cached} of {all} scores were cached"));
    let mut answered = false;
    for (architecture, row) in architectures.iter().zip(&table) {
        let answer = program.as_ref().map(|program| (program.command(), program.score(architecture)));
        answered = answered || matches!(answer, Some((_, Ok(_))));
        if json {
            output::line(object(architecture, scorer.requests(), row, args.terms, answer.as_ref()));
        } else {
            print(architecture, scorer.requests(), row, args, answer.as_ref());
        }
    }
    Ok(if answered { 0 } else { exit_code(&table) })
}

/// 3 if no score at all succeeded, else 0.
pub fn exit_code(table: &[Row]) -> u8 {
    let mut scores = table.iter().flat_map(|row| &row.cells).flat_map(|cell| &cell.scores);
    if scores.any(Result::is_ok) { 0 } else { 3 }
}

/// A command and what it said of a network.
type Answer<'a> = (&'a str, std::result::Result<f64, Failure>);

fn object(
    architecture: &Architecture,
    requests: &[Arc<Request>],
    row: &Row,
    terms: bool,
    answer: Option<&Answer>,
) -> Value {
    let own = answer.map(|(command, value)| {
        let entry = match value {
            Ok(value) => json!({"value": value}),
            Err(failure) => json!({"error": failure.to_string(), "kind": failure.kind()}),
        };
        ((*command).to_owned(), entry)
    });
    let scores = requests
        .iter()
        .zip(&row.cells)
        .map(|(request, cell)| (request.label().to_owned(), entry(request, cell, terms)));
    json!({
        "id": architecture.id(), "space": architecture.space(), "params": architecture.params().total,
        "scores": scores.chain(own).collect::<Map<_, _>>(),
        "passes": row.passes.iter().map(|(pass, seconds)| json!({"pass": output::pass(pass), "seconds": seconds})).collect::<Vec<_>>(),
    })
}

fn entry(request: &Request, cell: &Cell, terms: bool) -> Value {
    let good: Vec<&Score> = match cell.scores.iter().map(Result::as_ref).collect() {
        Ok(good) => good,
        Err(error) => return failure(error),
    };
    let mean = match cell.mean() {
        Ok(mean) => mean,
        Err(error) => return failure(&error),
    };
    let first = good[0];
    let mut entry = Map::new();
    if request.is_set_score() {
        let parts = request.about().parts.iter().zip(&mean.parts);
        let parts = parts.map(|(name, part)| ((*name).to_owned(), json!(part)));
        entry.insert("parts".into(), Value::Object(parts.collect()));
    } else {
        entry.insert("value".into(), json!(mean.value));
        if let Some(deviation) = cell.deviation() {
            entry.insert("deviation".into(), json!(deviation));
            entry.insert("values".into(), good.iter().map(|score| score.value).collect());
        }
    }
    if let Some(error) = first.error {
        entry.insert("standard_error".into(), json!(error));
    }
    if !first.terms.is_empty() {
        entry.insert("term_count".into(), json!(first.terms.len()));
    }
    if terms {
        let term = |term: &foretell::proxy::Term| json!({"name": term.name, "block": term.block, "value": term.value});
        entry.insert("terms".into(), first.terms.iter().map(term).collect());
    }
    if !first.notes.is_empty() {
        entry.insert("notes".into(), json!(first.notes));
    }
    Value::Object(entry)
}

fn failure(error: &Error) -> Value {
    json!({"error": error.to_string(), "kind": error.kind()})
}

fn print(
    architecture: &Architecture,
    requests: &[Arc<Request>],
    row: &Row,
    args: &args::Score,
    answer: Option<&Answer>,
) {
    output::line(format!(
        "{}  {}  {} parameters\n{}",
        architecture.id(),
        architecture.space(),
        grouped(architecture.params().total),
        output::genes(architecture)
    ));
    let (mut rows, mut undefined, mut notes) = (Vec::new(), Vec::new(), Vec::new());
    for (request, cell) in requests.iter().zip(&row.cells) {
        let good: Vec<&Score> = match cell.scores.iter().map(Result::as_ref).collect() {
            Ok(good) => good,
            Err(Error::NotDefined { .. }) if !args.scoring.by_name() => {
                undefined.push(request.label());
                continue;
            }
            Err(error) => {
                rows.push(vec![
                    request.label().to_owned(),
                    error.kind().to_owned(),
                    String::new(),
                    String::new(),
                ]);
                notes.push(format!("{}: {error}", request.label()));
                continue;
            }
        };
        let mean = cell.mean().expect("no seed failed");
        let value = match request.is_set_score() {
            true => {
                let parts = request.about().parts.iter().zip(&mean.parts);
                parts
                    .map(|(name, part)| format!("{name} {}", output::number(*part)))
                    .collect::<Vec<_>>()
                    .join(", ")
            }
            false => output::number(mean.value),
        };
        let spread = cell.deviation().filter(|_| !request.is_set_score());
        let spread = spread.map_or(String::new(), |deviation| format!("± {}", output::number(deviation)));
        rows.push(vec![request.label().to_owned(), value, spread, seconds(cell.seconds)]);
        notes.extend(good[0].notes.iter().map(|note| format!("{}: {note}", request.label())));
        if let Some(error) = good[0].error {
            notes.push(format!(
                "{}: standard error of the estimate {}",
                request.label(),
                output::number(error)
            ));
        }
        if args.terms {
            let term = |term: &foretell::proxy::Term| {
                vec![format!("  {}", term.name), output::number(term.value), String::new(), String::new()]
            };
            rows.extend(good[0].terms.iter().map(term));
        }
    }
    if let Some((command, value)) = answer {
        let shown = value.as_ref().map_or_else(|e| e.kind().to_owned(), |value| output::number(*value));
        rows.push(vec![(*command).to_owned(), shown, String::new(), String::new()]);
        notes.extend(value.as_ref().err().map(|failure| format!("{command}: {failure}")));
    }
    output::line(format!("\n{}", output::table(&["proxy", "score", "over seeds", "time"], rows)));
    notes.iter().for_each(output::line);
    if !row.passes.is_empty() {
        let passes = row.passes.iter().map(|(pass, time)| vec![output::pass(pass), seconds(*time)]);
        let seeds = format!("time, {} seeds", args.scoring.seeds);
        output::line(format!(
            "\n{}",
            output::table(&["passes, shared by all proxies", &seeds], passes.collect())
        ));
    }
    if !undefined.is_empty() {
        output::line(format!("Not defined for {}: {}.", architecture.family(), undefined.join(", ")));
    }
    output::line("");
}
