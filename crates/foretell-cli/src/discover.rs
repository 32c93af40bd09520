//! `foretell discover`: formulas as proxies, found on some trained networks and tested on others.

use crate::args::{Discover, LabelArgs};
use crate::output::{self, decimals, grouped};
use crate::progress::Progress;
use crate::scoring;
use foretell::architecture::Architecture;
use foretell::benchmark::Benchmark;
use foretell::discover::{
    self, Bank, Evolution, Judged, Method, Plan, Report, Settings, Split, Spread, Statistics, alpha,
};
use foretell::error::{Error, Result};
use foretell::score::Options;
use foretell::seed::Seed;
use foretell::space;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Labelled networks of one family; better networks have larger labels.
pub struct Labelled {
    pub name: String,
    pub family: String,
    pub target: String,
    pub lower_is_better: bool,
    pub architectures: Vec<Architecture>,
    pub truth: Vec<f64>,
    /// How long each was trained, if rows of one network differ in it.
    pub budget: Option<Vec<f64>>,
}

impl LabelArgs {
    /// The requested networks, one part per family.
    pub fn labelled(&self) -> Result<Vec<Labelled>> {
        self.read(|folder, name| self.table.parts(folder, name))
    }

    /// The requested networks, which may have labels of several budgets.
    pub fn at_budgets(&self) -> Result<Vec<Labelled>> {
        self.read(|folder, name| Ok(self.table.rows(folder, name)?.by_family()))
    }

    fn read(&self, parts: impl Fn(&Path, &str) -> Result<Vec<Benchmark>>) -> Result<Vec<Labelled>> {
        let missing = || Error::option("--benchmark", "is missing: name a table of trained networks");
        let name = self.benchmark.as_deref().ok_or_else(missing)?;
        let folder = self.table.data.folder()?;
        let parts = parts(&folder, name)?;
        // A guess of the family is said once; with JSON it is left to `bench`, whose report has notes.
        let notes = parts.first().filter(|_| !output::is_json()).map_or(&[][..], |part| &part.notes);
        notes.iter().for_each(|note| output::note(format!("{name}: {note}")));
        parts.iter().map(|part| self.part(part)).collect()
    }

    fn part(&self, part: &Benchmark) -> Result<Labelled> {
        let target = self.table.target(part)?;
        let sign = if target.lower_is_better { -1.0 } else { 1.0 };
        let budget = part.budget();
        let (mut architectures, mut truth, mut trained) = (Vec::new(), Vec::new(), Vec::new());
        for (row, architecture) in part.architectures.iter().enumerate() {
            let Some(value) = target.values[row] else { continue };
            // A label without a budget is refused by name when a predictor is fitted.
            trained.extend(budget.map(|column| column.values[row].unwrap_or(f64::NAN)));
            architectures.push(architecture.clone());
            truth.push(sign * value);
        }
        let family = part.architectures[0].family().to_string();
        Ok(Labelled {
            name: part.name.clone(),
            family,
            target: target.name.clone(),
            lower_is_better: target.lower_is_better,
            architectures,
            truth,
            budget: budget.map(|_| trained),
        })
    }
}

pub fn run(args: &Discover, json: bool) -> Result<()> {
    match &args.space {
        Some(space) if args.method == "alpha" => rules(args, space, json),
        Some(_) => Err(Error::option("--space", "has no labels; only --method alpha needs none")),
        None => args.labels.labelled()?.iter().try_for_each(|labelled| one(args, labelled, json)),
    }
}

fn one(args: &Discover, labelled: &Labelled, json: bool) -> Result<()> {
    if args.method == "alpha" {
        return balance(args, labelled, json);
    }
    let plan = plan(args)?;
    let named = format!("{}-{}.statistics", labelled.name.replace('/', "-"), labelled.family);
    let file = args.statistics.clone().unwrap_or_else(|| PathBuf::from(named));
    let settings = Settings { entries: args.entries as usize, seed: 0, options: args.options.clone() };
    if args.dry_run {
        return dry_run(args, labelled, &plan, &file, json);
    }
    output::detail(format!("statistics are stored in {}", file.display()));
    let memory = foretell::score::pass_memory();
    let progress = Progress::new("networks", labelled.architectures.len() as u64);
    let options = Options { memory, ..Options::default() };
    let statistics =
        Statistics::of(&labelled.architectures, &settings, options, Some(&file), &|| progress.step())?;
    progress.finish();
    let (probed, bytes) = (statistics.probed, statistics.bytes);
    let bank = Bank::new(statistics.networks);
    if args.method == "ablations" {
        return ablations(&bank, labelled, &plan, json);
    }
    let steps = if matches!(plan.method, Method::Exhaustive) { 15 * plan.splits } else { plan.splits };
    let progress = Progress::new("parts of the search", steps);
    let report = discover::run(&bank, &labelled.architectures, &labelled.truth, &plan, &|| progress.step())?;
    progress.finish();
    if let Some(path) = &args.output {
        let chosen = &report.parts[0].chosen;
        let options = if args.options.is_empty() { String::new() } else { format!("[{}]", args.options) };
        let remarks = [
            chosen.mathematics.clone(),
            format!("found on {} {}, {}", labelled.name, labelled.family, labelled.target),
            format!("tau {} rho {} on test networks", decimals(chosen.tau), decimals(chosen.rho)),
        ];
        scoring::write(path, &format!("{}{options}", chosen.formula), &remarks)?;
    }
    if json {
        output::line(
            json!({"benchmark": labelled.name, "family": labelled.family, "target": labelled.target,
            "statistics": file.display().to_string(), "bytes": bytes, "probed": probed, "report": report}),
        );
        return Ok(());
    }
    let known = labelled.architectures.len() - probed;
    output::line(format!(
        "{}: {} {} networks, target {}; statistics in {}: {} bytes, {probed} networks computed, {known} read\n",
        labelled.name,
        report.networks,
        labelled.family,
        labelled.target,
        file.display(),
        grouped(bytes)
    ));
    print(&report, &plan);
    Ok(())
}

/// Prints what the search would do.
fn dry_run(args: &Discover, labelled: &Labelled, plan: &Plan, file: &Path, json: bool) -> Result<()> {
    let networks = labelled.architectures.len();
    Split::draw(networks, plan.sample, plan.validation, args.seed)?;
    let formulas = match plan.method {
        Method::Exhaustive => discover::count(args.unaries.into()),
        Method::Search => args.population + args.generations,
    };
    let writes: Vec<&Path> = [Some(file), args.output.as_deref()].into_iter().flatten().collect();
    if json {
        output::line(json!({
            "dry_run": true, "benchmark": labelled.name, "family": labelled.family, "target": labelled.target,
            "networks": networks, "formulas": formulas, "splits": plan.splits, "writes": writes,
        }));
        return Ok(());
    }
    output::line(format!(
        "dry run: discover would evaluate up to {} formulas in each of {} splits of {networks} {} networks of {}; target {}",
        grouped(formulas),
        plan.splits,
        labelled.family,
        labelled.name,
        labelled.target
    ));
    let names: Vec<String> = writes.iter().map(|path| path.display().to_string()).collect();
    output::line(format!("writes       {}", names.join(", ")));
    Ok(())
}

fn plan(args: &Discover) -> Result<Plan> {
    let (preset, population, generations) = (args.preset.parse()?, args.population, args.generations);
    let evolution = Evolution::lpzero(preset, population, generations);
    let (method, evolution) = match args.method.as_str() {
        "evolution" | "ablations" => (Method::Search, evolution),
        "random" => (Method::Search, Evolution::random(preset, population + generations)),
        "exhaustive" if args.unaries <= 2 => (Method::Exhaustive, evolution),
        "exhaustive" => return Err(Error::option("--unaries", "must be 1 or 2 for --method exhaustive")),
        other => {
            let message =
                format!("'{other}' is not a method: evolution, random, exhaustive, ablations or alpha");
            return Err(Error::option("--method", message));
        }
    };
    let evolution = Evolution {
        unaries: args.unaries.into(),
        pruning: !args.no_pruning,
        measure: args.fitness.parse()?,
        seed: args.seed,
        ..evolution
    };
    Ok(Plan { method, evolution, sample: args.sample, validation: args.validation, splits: args.splits })
}

/// Compares the searches of the paper on the same splits.
fn ablations(bank: &Bank, labelled: &Labelled, plan: &Plan, json: bool) -> Result<()> {
    let all = Evolution::ablations();
    let progress = Progress::new("parts of the search", all.len() as u64 * plan.splits);
    let (mut rows, mut reports) = (Vec::new(), Vec::new());
    for (name, evolution) in all {
        let evolution = Evolution { seed: plan.evolution.seed, measure: plan.evolution.measure, ..evolution };
        let plan = Plan { evolution, ..plan.clone() };
        let report =
            discover::run(bank, &labelled.architectures, &labelled.truth, &plan, &|| progress.step())?;
        let over = |of: &dyn Fn(&discover::Part) -> f64| {
            Spread::of(&report.parts.iter().map(of).collect::<Vec<f64>>())
        };
        let at = |part: &discover::Part, most: u64| {
            part.curve.iter().rev().find(|(at, _)| *at <= most).map_or(0.0, |(_, best)| *best)
        };
        rows.push(vec![
            name.clone(),
            spread(over(&|part| at(part, 200))),
            spread(over(&|part| at(part, 500))),
            spread(over(&|part| part.fittest.sample)),
            spread(report.fittest),
            spread(report.chosen),
            format!("{:.1}", 100.0 * over(&|part| part.winning_rate.unwrap_or(0.0)).mean),
            format!("{:.1}", over(&|part| part.seconds).mean),
        ]);
        reports.push(json!({"ablation": name, "report": report}));
    }
    progress.finish();
    if json {
        output::line(json!({"benchmark": labelled.name, "ablations": reports}));
        return Ok(());
    }
    let header =
        ["", "fitness after 200", "after 500", "at the end", "test tau", "chosen", "improving %", "seconds"];
    output::line(output::table(&header, rows));
    output::note(
        "mean ± standard deviation over splits; improving: share of children that are fitter than their parents; seconds: time of \
         one search, without the branches",
    );
    Ok(())
}

fn spread(spread: Spread) -> String {
    format!("{} ± {}", decimals(Some(spread.mean)), decimals(Some(spread.deviation)))
}

fn print(report: &Report, plan: &Plan) {
    let row = |split: &str, who: &str, judged: &Judged, better: Option<u64>| {
        vec![
            split.to_owned(),
            who.to_owned(),
            decimals(Some(judged.sample)),
            decimals(judged.tau),
            decimals(judged.rho),
            decimals(judged.tau_given_params),
            decimals(judged.tau_given_depth),
            better.map_or(String::new(), grouped),
            judged.disguise.unwrap_or("").to_owned(),
            judged.formula.clone(),
        ]
    };
    let mut rows = Vec::new();
    for part in &report.parts {
        let seed = part.seed.to_string();
        rows.push(row(&seed, "fittest", &part.fittest, part.undefined.map(|_| 0)));
        rows.push(row(&seed, "chosen", &part.chosen, None));
        for other in &part.others {
            let published = discover::PUBLISHED.contains(&other.formula.as_str());
            let who = if published { "published" } else { "evolution" };
            rows.push(row(&seed, who, &other.judged, other.better));
        }
    }
    let header = [
        "split",
        "",
        "sample",
        "tau",
        "rho",
        "tau|params",
        "tau|depth",
        "fitter",
        "same as count",
        "formula",
    ];
    output::line(format!("{}\n", output::table(&header, rows)));
    let first = &report.parts[0];
    output::line(&first.chosen.mathematics);
    output::line(format!(
        "\ntest tau over {} splits: fittest {}, chosen by validation {}; best count, {}: {}",
        report.parts.len(),
        spread(report.fittest),
        spread(report.chosen),
        report.baseline.0,
        spread(report.baseline.1)
    ));
    let seconds: f64 = report.parts.iter().map(|part| part.seconds).sum();
    let evaluated: u64 = report.parts.iter().map(|part| part.evaluated).sum();
    output::line(format!("branches {:.1} s, {} formulas {seconds:.1} s", report.filled, grouped(evaluated)));
    if let Some(undefined) = first.undefined {
        output::line(format!("formulas that rank nothing in the first split: {}", grouped(undefined)));
    }
    let curve: Vec<String> =
        first.curve.iter().map(|(at, best)| format!("{at}: {}", decimals(Some(*best)))).collect();
    output::line(format!("best fitness of evolution by evaluations, first split: {}", curve.join(", ")));
    if let Some(rate) = first.winning_rate {
        output::line(format!("children fitter than their parents: {:.1} %", 100.0 * rate));
    }
    if plan.evolution.pruning {
        let census: Vec<String> =
            first.census.iter().map(|(rule, count)| format!("{rule} {count}")).collect();
        output::line(format!("rules, first split: {}", census.join(", ")));
    }
    output::note(
        "sample: fitness on the sample; tau, rho: on the test networks. fitter: number of fitter formulas among all. same as \
         count: the plain count that the formula is equal to.",
    );
}

/// The rules for the balance of ZeroLM that need no labels, on random networks.
fn rules(args: &Discover, name: &str, json: bool) -> Result<()> {
    let space = space::open(name)?;
    let sample = |index| space.sample(&mut Seed(args.seed).stream("sample", index));
    let capacities = alpha::Capacities::of(&(0..500).map(sample).collect::<Vec<_>>())?;
    let found = capacities.unlabelled();
    if json {
        let rows = found.map(|(rule, found)| json!({"rule": rule, "alpha": found.alpha}));
        output::line(json!({"space": name, "rows": rows, "warnings": warning(&capacities).as_slice()}));
        return Ok(());
    }
    let rows = found.map(|(rule, found)| vec![rule.to_owned(), decimals(Some(found.alpha))]);
    output::line(format!(
        "{name}: 500 random networks\n\n{}",
        output::table(&["rule", "alpha"], rows.into())
    ));
    warning(&capacities).iter().for_each(output::prose);
    Ok(())
}

/// What is said where the balance has nothing to balance.
fn warning(capacities: &alpha::Capacities) -> Option<String> {
    capacities.constant().map(|term| {
        format!(
            "warning: the {term} is the same for all of these networks, so there is nothing to balance: every alpha \
             between 0 and 1 ranks them alike, and the end at which this capacity is alone ranks nothing."
        )
    })
}

fn balance(args: &Discover, labelled: &Labelled, json: bool) -> Result<()> {
    let capacities = alpha::Capacities::of(&labelled.architectures)?;
    let rows = alpha::compare(&capacities, &labelled.truth, args.seed);
    if json {
        output::line(json!({"benchmark": labelled.name, "family": labelled.family, "rows": rows,
            "warnings": warning(&capacities).as_slice()}));
        return Ok(());
    }
    output::line(format!(
        "{}: {} {} networks, target {}",
        labelled.name,
        labelled.truth.len(),
        labelled.family,
        labelled.target
    ));
    let row = |row: &alpha::Row| {
        let labels = if row.labels == 0 { String::new() } else { row.labels.to_string() };
        vec![row.rule.to_owned(), labels, spread(row.alpha), spread(row.tau), spread(row.rho)]
    };
    let table = output::table(&["rule", "labels", "alpha", "tau", "rho"], rows.iter().map(row).collect());
    output::line(format!("\n{table}"));
    warning(&capacities).iter().for_each(output::prose);
    output::note("\nlabels: mean ± standard deviation over 20 draws, on all other networks.");
    Ok(())
}
