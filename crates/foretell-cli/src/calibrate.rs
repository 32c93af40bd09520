//! `foretell calibrate`: fits a proxy to a few labelled networks.

use crate::args::Calibrate;
use crate::discover::Labelled;
use crate::output::{self, decimals};
use crate::progress::Progress;
use crate::scoring;
use foretell::discover::{Calibration, Candidate, Split, calibrate};
use foretell::error::Result;
use foretell::proxy::{CATALOGUE, Request};
use foretell::rank;
use foretell::score::{Cell, Options, Scorer};
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;

pub fn run(args: &Calibrate, json: bool) -> Result<()> {
    args.labels.labelled()?.iter().try_for_each(|labelled| one(args, labelled, json))
}

fn one(args: &Calibrate, labelled: &Labelled, json: bool) -> Result<()> {
    let n = labelled.truth.len();
    let split = Split::labels(n, args.count as usize, args.scoring.seed)?;
    let mut requests = args.scoring.requests("shape")?;
    let asked = |name: &str, requests: &[Request]| requests.iter().any(|request| request.label() == name);
    for about in CATALOGUE.iter().map(|entry| entry.about).filter(|about| about.trivial) {
        if !asked(about.name, &requests) {
            requests.push(Request::parse(about.name)?);
        }
    }
    requests.retain(|request| !request.is_set_score());
    if args.dry_run {
        dry_run(args, labelled, &requests, &split, json);
        return Ok(());
    }
    let scorer = Scorer::new(requests, args.scoring.options()?);
    let candidates = candidates(args, labelled, &scorer, &split.sample)?;
    let pick = |rows: &[usize]| rows.iter().map(|row| labelled.truth[*row]).collect::<Vec<f64>>();
    let found = calibrate(&candidates, &pick(&split.sample), args.scoring.seed)?;
    let proxies: Vec<String> = found.steps.iter().map(|step| step.proxy.clone()).collect();
    let tested = tested(args, labelled, &proxies, &split.test, &pick(&split.test))?;
    if let Some(path) = &args.output {
        let step = &found.steps[found.taken];
        let remarks = [
            format!("{} of {} labels of {} {}", step.kind, found.labels, labelled.name, labelled.target),
            format!("tau {} by leave-one-out validation", decimals(step.left_out)),
        ];
        scoring::write(path, found.proxy(), &remarks)?;
    }
    if json {
        output::line(json!({"benchmark": labelled.name, "family": labelled.family, "calibration": found,
            "proxy": found.proxy(), "test_networks": split.test.len(), "test_tau": tested}));
        return Ok(());
    }
    print(labelled, &found, &tested, split.test.len());
    Ok(())
}

/// Prints what the calibration would do.
fn dry_run(args: &Calibrate, labelled: &Labelled, requests: &[Request], split: &Split, json: bool) {
    let cache = args.scoring.cached().then(|| args.scoring.cache_file()).flatten();
    let writes: Vec<PathBuf> = args.output.iter().cloned().chain(cache).collect();
    let (labels, test) = (split.sample.len(), split.test.len());
    if json {
        output::line(json!({
            "dry_run": true, "benchmark": labelled.name, "family": labelled.family, "labels": labels,
            "test_networks": test, "proxies": requests.len(), "writes": writes,
        }));
        return;
    }
    output::line(format!(
        "dry run: calibrate would score {labels} labelled networks of {} by {} proxies and test the result on {test} others",
        labelled.name,
        requests.len()
    ));
    let names: Vec<String> = writes.iter().map(|path| path.display().to_string()).collect();
    output::line(format!(
        "writes       {}",
        if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
    ));
}

/// All proxies that score every labelled network.
fn candidates(
    args: &Calibrate,
    labelled: &Labelled,
    scorer: &Scorer,
    rows: &[usize],
) -> Result<Vec<Candidate>> {
    let architectures: Vec<_> = rows.iter().map(|row| labelled.architectures[*row].clone()).collect();
    let progress = Progress::new("networks", rows.len() as u64);
    let table = scorer.table(&architectures, &args.scoring.seeds(), &|| progress.step())?;
    progress.finish();
    let requests = scorer.requests().iter().enumerate();
    let candidate = |(place, request): (usize, &Arc<Request>)| {
        let column: Vec<&Cell> = table.iter().map(|row| &row.cells[place]).collect();
        let scores = scorer.order(place, &column).into_iter().collect::<Result<Vec<f64>>>().ok()?;
        Some(Candidate { label: request.label().to_owned(), trivial: request.about().trivial, scores })
    };
    Ok(requests.filter_map(candidate).collect())
}

/// Tau of some proxies on the test networks.
fn tested(
    args: &Calibrate,
    labelled: &Labelled,
    proxies: &[String],
    rows: &[usize],
    truth: &[f64],
) -> Result<Vec<Option<f64>>> {
    if rows.is_empty() {
        return Ok(vec![None; proxies.len()]);
    }
    let requests = proxies.iter().map(|proxy| Request::parse(proxy)).collect::<Result<Vec<_>>>()?;
    let scorer = Scorer::new(requests, Options { cache: None, ..args.scoring.options()? });
    let architectures: Vec<_> = rows.iter().map(|row| labelled.architectures[*row].clone()).collect();
    let table = scorer.table(&architectures, &args.scoring.seeds(), &|| {})?;
    let tau = |place: usize| {
        let column: Vec<&Cell> = table.iter().map(|row| &row.cells[place]).collect();
        let scores = scorer.order(place, &column).into_iter().collect::<Result<Vec<f64>>>().ok()?;
        rank::kendall_tau_b(&scores, truth)
    };
    Ok((0..proxies.len()).map(tau).collect())
}

fn print(labelled: &Labelled, found: &Calibration, tested: &[Option<f64>], rest: usize) {
    output::line(format!(
        "{}: {} labels of {} {} networks, target {}; {rest} test networks\n",
        labelled.name,
        found.labels,
        labelled.truth.len(),
        labelled.family,
        labelled.target
    ));
    let range = |interval: Option<[f64; 2]>| {
        interval.map_or(String::new(), |[low, high]| {
            format!("[{} {}]", decimals(Some(low)), decimals(Some(high)))
        })
    };
    let rows = found.steps.iter().zip(tested).enumerate().map(|(place, (step, test))| {
        vec![
            step.kind.to_owned(),
            decimals(step.fitted),
            decimals(step.left_out),
            range(step.interval),
            range(step.gain),
            decimals(*test),
            if place == found.taken { "taken".to_owned() } else { String::new() },
            step.proxy.clone(),
        ]
    });
    let header = ["", "fitted", "left out", "95 %", "gain", "test", "", "proxy"];
    output::line(output::table(&header, rows.collect()));
    output::note(
        "\nfitted: tau on the labels. left out: tau by leave-one-out validation. test: tau on the test networks. gain: 95 % \
         interval of the gain over the simpler step taken so far; a step is taken only if the whole interval is above zero.",
    );
    output::note(format!("\nNext:\n  foretell search --proxy '{}'", found.proxy()));
}
