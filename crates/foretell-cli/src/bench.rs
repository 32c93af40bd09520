//! `foretell bench`: how well proxies rank trained networks.

mod checkpoints;
mod files;
mod format;
mod stability;

use crate::args::{Bench, BenchFormat};
use crate::output::{self, decimals, seconds};
use crate::progress::Progress;
use files::Files;
use foretell::benchmark::{self, Agreement, Benchmark, Column, Noise, Report, Settings, baselines, evaluate};
use foretell::error::{Error, Result};
use foretell::proxy::Request;
use foretell::score::Scorer;
use serde_json::json;
use std::path::Path;

/// The exit code: 1 if some of several tables could not be read or measured.
pub fn run(args: &Bench, json: bool) -> Result<u8> {
    let folder = args.table.data.folder()?;
    if let Some(source) = &args.stability {
        return stability::run(args, source, &folder, json).map(|()| 0);
    }
    if args.checkpoints {
        return checkpoints::run(args, &folder, json).map(|()| 0);
    }
    let files = Files::of(args)?;
    let mut reports = Vec::new();
    let code = match args.benchmark.as_deref() {
        None => list(&folder, json)?,
        Some("all") => {
            each(&benchmark::names(&folder)?, |name| match args.table.rows(&folder, name)?.budget() {
                Some(budget) => {
                    let column = &budget.name;
                    output::note(format!(
                        "{name}: skipped, pick one budget by name: bench {name} --where {column}=…"
                    ));
                    Ok(())
                }
                None => one(&folder, name, args, json, &mut reports),
            })?
        }
        Some(name) => one(&folder, name, args, json, &mut reports).map(|()| 0)?,
    };
    let reports: Vec<&Report> = reports.iter().collect();
    if args.format == BenchFormat::Csv && !json && !reports.is_empty() {
        output::bytes(benchmark::figures(&reports).as_bytes());
    }
    files.write(&reports)?;
    Ok(code)
}

/// Does something with every table; one that fails is reported and does not hide the others. The exit code.
fn each(names: &[String], mut with: impl FnMut(&str) -> Result<()>) -> Result<u8> {
    let mut code = 0;
    for name in names {
        match with(name) {
            Err(error @ Error::Interrupted { .. }) => return Err(error),
            Err(error) => {
                code = 1;
                output::failure(error.kind(), &format!("{name}: {error}"), code);
            }
            Ok(()) => {}
        }
    }
    Ok(code)
}

fn one(folder: &Path, name: &str, args: &Bench, json: bool, reports: &mut Vec<Report>) -> Result<()> {
    // By default everything that needs no pass.
    let (_, columns) = args.scoring.requests_and_columns("shape,weights")?;
    let mut settings =
        Settings { resamples: args.resamples, seeds: args.scoring.seeds(), columns, ..Settings::default() };
    if let Some(bands) = args.bands()? {
        settings.bands = bands;
    }
    for part in args.table.parts(folder, name)? {
        let target = args.table.target(&part)?;
        let (mut requests, _) = args.scoring.requests_and_columns("shape,weights")?;
        requests.extend(baselines(&part, &requests)?);
        if args.dry_run {
            plan(&part, target, &requests, args, json)?;
            continue;
        }
        let scorer = Scorer::new(requests, args.scoring.options()?);
        let progress = Progress::new("networks", part.architectures.len() as u64);
        let mut report = evaluate(&part, target, &scorer, &settings, &|| progress.step())?;
        progress.finish();
        let undefined = if args.scoring.by_name() { Vec::new() } else { take_undefined(&mut report) };
        match args.format {
            _ if json => output::line(serde_json::to_string(&report).expect("a report is plain data")),
            BenchFormat::Table => {
                print(&report, &part, &undefined, &settings);
                if !args.bands.is_empty() {
                    bands(&report);
                }
            }
            BenchFormat::Markdown => format::markdown(&report, !args.bands.is_empty()),
            BenchFormat::Latex => format::latex(&report, !args.bands.is_empty()),
            // One table of all reports, at the end.
            BenchFormat::Csv => {}
        }
        reports.push(report);
    }
    Ok(())
}

/// Agreement within the bands of parameters that were asked for.
fn bands(report: &Report) {
    output::line(format!("{}\n", output::table(&format::BANDS, format::bands(report))));
}

/// Prints what the measurement would do.
fn plan(part: &Benchmark, target: &Column, requests: &[Request], args: &Bench, json: bool) -> Result<()> {
    args.scoring.dry_options()?;
    let (networks, seeds) = (part.architectures.len(), args.scoring.seeds);
    let labels: Vec<&str> = requests.iter().map(Request::label).collect();
    let cache = args.scoring.cached().then(|| args.scoring.cache_file()).flatten();
    let writes: Vec<&Path> =
        [&cache, &args.scores, &args.plots].into_iter().flatten().map(|p| p.as_path()).collect();
    if json {
        output::line(json!({
            "dry_run": true, "benchmark": part.name, "target": target.name, "networks": networks, "proxies": labels,
            "seeds": seeds, "writes": writes,
        }));
        return Ok(());
    }
    output::line(format!(
        "dry run: bench would score {networks} networks of {} by {} proxies with up to {seeds} seeds each; target {}",
        part.name,
        labels.len(),
        target.name
    ));
    output::prose(format!("proxies      {}", labels.join(", ")));
    let named: Vec<String> = writes.iter().map(|path| path.display().to_string()).collect();
    let named = if named.is_empty() { "nothing".to_owned() } else { named.join(", ") };
    output::line(format!("writes       {named}"));
    Ok(())
}

fn ceiling(noise: &Noise) -> String {
    format!(
        "Noise ceiling: tau {}. One run deviates by {:.2e} ({} networks trained more than once; tau of their first with \
        their second runs {}).",
        decimals(noise.ceiling),
        noise.deviation,
        noise.networks,
        decimals(noise.retest)
    )
}

/// Mean and deviation of tau over single seeds.
fn spread(proxy: &Agreement) -> String {
    let shown = |(mean, deviation)| format!("{} ± {}", decimals(Some(mean)), decimals(Some(deviation)));
    proxy.over_seeds().map_or(String::new(), shown)
}

fn interval(ci: Option<[f64; 2]>) -> String {
    ci.map_or(String::new(), |[low, high]| format!("[{} {}]", decimals(Some(low)), decimals(Some(high))))
}

/// Takes out proxies that are not defined for the family, unless they were requested by name.
fn take_undefined(report: &mut Report) -> Vec<String> {
    let n = report.n;
    let undefined = |p: &Agreement| n > 0 && p.failed == n;
    let names = report.proxies.iter().filter(|p| undefined(p)).map(|p| p.name.clone()).collect();
    report.retain(|p| !undefined(p));
    names
}

/// The one benchmark that an option is about.
fn named<'a>(args: &'a Bench, option: &str) -> Result<&'a str> {
    let name = args.benchmark.as_deref().filter(|name| *name != "all");
    name.ok_or_else(|| Error::option(option, "needs the name of one benchmark"))
}

/// Prints a table in the format that was asked for.
fn print_table(title: &str, header: &[&str], rows: Vec<Vec<String>>, how: BenchFormat) {
    match how {
        BenchFormat::Table => {
            output::prose(title);
            output::line(format!("\n{}\n", output::table(header, rows)));
        }
        BenchFormat::Markdown => {
            output::line(format!("### {title}\n"));
            format::lines(header, rows);
        }
        BenchFormat::Latex => format::tabular(title, header, rows),
        BenchFormat::Csv => {
            output::line(header.join(","));
            rows.iter().for_each(|row| output::line(row.join(",")));
        }
    }
}

fn list(folder: &Path, json: bool) -> Result<u8> {
    let mut rows = Vec::new();
    let code = each(&benchmark::names(folder)?, |name| {
        let benchmark = Benchmark::load(folder, name)?;
        let targets: Vec<&str> =
            benchmark.columns.iter().filter(|c| c.is_label()).map(|c| c.name.as_str()).collect();
        let families: Vec<String> =
            benchmark.by_family().iter().map(|part| part.architectures[0].family().to_string()).collect();
        if json {
            output::line(json!({"benchmark": name, "networks": benchmark.architectures.len(),
                "families": families, "targets": targets}));
        } else {
            let networks = benchmark.architectures.len().to_string();
            rows.push(vec![name.to_owned(), networks, families.join(", "), targets.join(", ")]);
        }
        Ok(())
    })?;
    if !json {
        output::line(output::table(&["benchmark", "networks", "family", "targets"], rows));
    }
    Ok(code)
}

fn print(report: &Report, benchmark: &Benchmark, undefined: &[String], settings: &Settings) {
    let better = if report.lower_is_better { "lower" } else { "higher" };
    output::prose(format!(
        "{}: {} {} networks, target {} ({better} is better)",
        report.benchmark, report.n, report.family, report.target
    ));
    if report.unlabelled > 0 {
        output::prose(format!("{} networks have no {} and are not used", report.unlabelled, report.target));
    }
    if let Some(noise) = &report.noise {
        output::prose(ceiling(noise));
    }
    report.notes.iter().for_each(output::prose);
    let rows = report.proxies.iter().map(|p| {
        vec![
            p.name.clone(),
            if p.trivial { "baseline".into() } else { String::new() },
            decimals(p.kendall),
            interval(p.kendall_ci),
            decimals(p.spearman),
            interval(p.spearman_ci),
            decimals(p.pearson),
            decimals(p.kendall_given_params),
            decimals(p.kendall_given_depth),
            decimals(p.close_pairs.map(|pairs| pairs.agreement)),
            decimals(p.top_overlap[0]),
            p.best_true_rank.map_or("–".into(), |rank| format!("{rank:.0}")),
            p.distinct.to_string(),
            p.failed.to_string(),
            spread(p),
            seconds(p.seconds_per_architecture),
        ]
    });
    let header = [
        "proxy",
        "",
        "tau",
        "95 %",
        "rho",
        "95 %",
        "r",
        "tau|params",
        "tau|depth",
        "close pairs",
        "top 10 %",
        "best",
        "distinct",
        "failed",
        "seeds",
        "each",
    ];
    output::line(format!("\n{}\n", output::table(&header, rows.collect())));
    output::note(format!(
        "tau: Kendall's tau-b, rho: Spearman, r: Pearson, with the target oriented so that higher is better. 95 %: \
         bootstrap interval, {} resamples. tau|x: partial tau given x. close pairs: share of correctly ordered pairs among \
         those whose parameters differ by less than 10 %. top 10 %: share of the truly best tenth that is in the best tenth \
         of the proxy. best: best true rank in the best tenth of the proxy. seeds: mean ± standard deviation of tau over single seeds. each: \
         time per network and seed. baseline: a plain count, which a useful proxy must beat.",
        settings.resamples
    ));
    if !undefined.is_empty() {
        output::note(format!("Not defined for {}: {}.", report.family, undefined.join(", ")));
    }
    for p in report.proxies.iter().filter(|p| p.failed > 0) {
        output::prose(format!(
            "{}: {} failed, first: {}",
            p.name,
            p.failed,
            p.failure.as_deref().unwrap_or("?")
        ));
    }
    let others: Vec<&str> = benchmark
        .columns
        .iter()
        .filter(|c| c.is_label() && c.name != report.target)
        .map(|c| c.name.as_str())
        .collect();
    if !others.is_empty() {
        output::note(format!("Other targets: {}.", others.join(", ")));
    }
}
