//! How well proxies rank tables of trained networks.

use super::{Draw, Drawn, Figure, Outcome, Reproduce, Target};
use crate::benchmark::{self, Agreement, Bands, COLUMN, Report, Settings, evaluate};
use crate::error::Result;
use crate::proxy::Request;
use crate::report::{Bar, Chart, bars, scatter};

/// Seeds unless a scale says otherwise.
const SEEDS: u64 = 3;
/// Resamples behind each interval.
const RESAMPLES: usize = 1000;

/// Scores every table by the proxies that rows name: tau and rho, and tau within bands of parameters where they are cut.
pub(super) fn run(run: &Reproduce, targets: &[Target], cuts: &[u64], draw: Draw) -> Result<Drawn> {
    let (columns, proxies): (Vec<&str>, Vec<&str>) =
        run.named().into_iter().partition(|name| name.starts_with(COLUMN));
    let seeds = run.seeds(SEEDS);
    let bands = if cuts.is_empty() { Bands::Equal(3) } else { Bands::at(cuts)? };
    let columns: Vec<String> = columns.iter().map(|name| name[COLUMN.len()..].to_owned()).collect();
    let some = if run.scale().table.is_empty() { run.scale().tables.unwrap_or(targets.len()) } else { 1 };
    let targets = &targets[..some.min(targets.len())];
    let (mut parts, mut seconds) = (Vec::new(), 0.0);
    for target in targets {
        let (table, column) = run.part(target)?;
        let requests = proxies.iter().map(|name| run.request(name)).collect::<Result<Vec<Request>>>()?;
        let scorer = run.scorer(requests)?;
        seconds += run.seconds(&scorer, &table.architectures, &seeds);
        parts.push((target, table, column, scorer));
    }
    run.watch.estimated(seconds);
    let total = parts.iter().map(|part| part.1.architectures.len() as u64).sum();
    let done = std::sync::atomic::AtomicU64::new(0);
    let step = || {
        let now = 1 + done.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        run.watch.part(now, total, "networks");
    };
    let mut reports = Vec::new();
    for (target, table, column, scorer) in &parts {
        let own = |name: &&String| table.columns.iter().any(|column| column.name == **name);
        let settings = Settings {
            seeds: seeds.clone(),
            resamples: RESAMPLES,
            bands: bands.clone(),
            columns: columns.iter().filter(own).cloned().collect(),
            ..Settings::default()
        };
        reports.push((*target, evaluate(table, column, scorer, &settings, &step)?));
    }
    let outcome = outcome(run, &reports, cuts, seeds.len());
    let charts = match draw {
        Draw::Bars => vec![("agreement".to_owned(), chart(&outcome, &reports))],
        Draw::Scatter => scatters(&reports),
    };
    Ok(Drawn { outcome, charts })
}

fn outcome(run: &Reproduce, reports: &[(&Target, Report)], cuts: &[u64], seeds: usize) -> Outcome {
    let mut measured = Vec::new();
    for (target, report) in reports {
        let label = if reports.len() > 1 { format!("{} ", target.label()) } else { String::new() };
        measured.extend(["tau", "rho"].map(|of| format!("{label}{of}")));
        if !cuts.is_empty() {
            measured.extend(band_names(report).map(|band| format!("{label}tau, {band}")));
        }
    }
    let said = reports.iter().map(|(_, report)| {
        format!("{} {} networks of {}, target `{}`", report.n, report.family, report.benchmark, report.target)
    });
    let said = said.collect::<Vec<_>>().join(" and ");
    let seeds =
        if seeds == 1 { "one seed".to_owned() } else { format!("mean ± deviation over {seeds} seeds") };
    let mut outcome = Outcome::of(run.entry, run.size, format!("{said}; {seeds}{}.", run.with()), measured);
    for row in outcome.rows.iter_mut().filter(|row| !row.ours.is_empty()) {
        for (_, report) in reports {
            let asked =
                if row.ours.starts_with(COLUMN) { Ok(row.ours.clone()) } else { label(run, &row.ours) };
            let found =
                report.proxies.iter().find(|proxy| asked.as_ref().is_ok_and(|name| *name == proxy.name));
            match found {
                Some(found) => row.measured.extend(figures(found, !cuts.is_empty())),
                None => {
                    let bands = if cuts.is_empty() { 0 } else { band_names(report).count() };
                    row.measured.extend(vec![Figure::default(); 2 + bands]);
                }
            }
        }
    }
    for (_, report) in reports {
        outcome.notes.extend(report.proxies.iter().filter(|proxy| proxy.failed > 0).map(|proxy| {
            let why = proxy.failure.as_deref().unwrap_or("for no reason given");
            format!("{} fails on {} of {} networks: {why}.", proxy.name, proxy.failed, report.n)
        }));
    }
    outcome
}

fn label(run: &Reproduce, name: &str) -> Result<String> {
    Ok(run.request(name)?.label().to_owned())
}

fn band_names(report: &Report) -> impl Iterator<Item = String> {
    let bands = report.proxies.first().map_or(&[][..], |proxy| &proxy.bands);
    bands.iter().map(|band| format!("{:.1}–{:.1} M ({})", band.low / 1e6, band.high / 1e6, band.n))
}

/// Tau and rho: over single seeds where there are several, and then within bands if asked.
fn figures(found: &Agreement, bands: bool) -> Vec<Figure> {
    let one = |value: Option<f64>, seeds: &[f64], interval: Option<[f64; 2]>| {
        let figure = if seeds.len() > 1 { Figure::over(seeds) } else { Figure::from(value) };
        Figure { interval, ..figure }
    };
    let mut figures = vec![
        one(found.kendall, &found.kendall_seeds, found.kendall_ci),
        one(found.spearman, &found.spearman_seeds, found.spearman_ci),
    ];
    if bands {
        figures.extend(found.bands.iter().map(|band| Figure::from(band.kendall)));
    }
    figures
}

/// Bars of tau, a group per table, with the published tau beside them where a column of the paper is called so.
fn chart(outcome: &Outcome, reports: &[(&Target, Report)]) -> Chart {
    let published: Vec<usize> =
        (0..outcome.columns.len()).filter(|i| outcome.columns[*i].starts_with("tau")).collect();
    let ours: Vec<usize> =
        (0..outcome.measured.len()).filter(|i| outcome.measured[*i].ends_with("tau")).collect();
    let group = |(place, (target, _)): (usize, &(&Target, Report))| {
        let bar = |row: &super::Row| {
            let figure = row.measured.get(ours[place]).copied().unwrap_or_default();
            let mark = published.get(place).and_then(|column| row.paper.get(*column).copied().flatten());
            Bar { name: row.name.clone(), value: figure.value, interval: figure.interval, mark }
        };
        let rows = outcome.rows.iter().filter(|row| !row.ours.is_empty());
        (format!("Kendall's tau, {}", target.label()), rows.map(bar).collect())
    };
    let groups: Vec<(String, Vec<Bar>)> = reports.iter().enumerate().map(group).collect();
    bars(&groups, format!("{}: Kendall's tau with 95 % intervals", outcome.entry))
}

fn scatters(reports: &[(&Target, Report)]) -> Vec<(String, Chart)> {
    let several = reports.len() > 1;
    let name = |target: &Target, proxy: &benchmark::Agreement| match several {
        true => format!("{}-{}", target.label(), proxy.name),
        false => proxy.name.clone(),
    };
    let one = |(target, report): &(&Target, Report)| -> Vec<(String, Chart)> {
        scatter(report).into_iter().map(|(proxy, chart)| (name(target, proxy), chart)).collect()
    };
    reports.iter().flat_map(one).collect()
}
