//! `foretell search`: the best architecture of a space within limits.

use crate::args::Search;
use crate::output::{self, number, short};
use crate::progress::{Searching, duration};
use crate::{ray, studies};
use foretell::architecture::{Architecture, Family};
use foretell::benchmark::{self, Evidence};
use foretell::error::Result;
use foretell::proxy::Request;
use foretell::score::Options;
use foretell::space;
use foretell::store::Store;
use foretell::study::{
    self, LatencyModel, Objective, Reason, ReferenceKind, Settings, Study, StudyBuilder, Table, Time, Timed,
    View,
};
use serde_json::json;
use std::ffi::OsString;
use std::path::Path;

/// The default proxy.
const USUAL_PROXY: &str = "nsc";
/// The default space.
const USUAL_SPACE: &str = "autoformer-tiny";
/// The maximum number of parameters there, unless a limit on them is given.
const USUAL_PARAMS: u64 = 6_000_000;
/// The same of a search that trains networks on text.
const USUAL_TEXT_PARAMS: u64 = 2_000_000;

pub fn run(args: &Search, words: &[OsString], json: bool) -> Result<u8> {
    let settings = settings(args)?;
    let path = studies::path(args.store.as_deref());
    // Scores are not taken from the cache: it does not hold the contributions of single blocks.
    let options = Options { memory: foretell::score::pass_memory(), ..Options::default() };
    if args.dry_run {
        return plan(args, &settings, options, &path, json).map(|()| 0);
    }
    let remote = args.on_ray.as_deref().map(|address| ray::executor(address, words)).transpose()?;
    output::detail(format!("the study is stored in {}", path.display()));
    let mut store = Store::open(&path)?;
    let command = words.iter().skip(1).map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
    let watch = Searching::new(remote.clone());
    let mut builder = StudyBuilder::from(settings.clone()).scoring(options);
    if let Some(remote) = remote {
        builder = builder.executor(remote);
    }
    let summary =
        builder.in_store(&mut store).name(args.name.as_deref()).command(&command).watch(&watch).run()?;
    watch.finish();
    let view = View::load(&store, &summary.name)?;
    output::detail(format!(
        "algorithm {}; {} of {} candidates were stored before",
        view.study.config["algorithm"], summary.resumed, summary.progress.done
    ));
    let evidence = evidence(&view, args.evaluator.data.data.as_deref())?;
    if json {
        print_json(&view, &summary, &evidence)?;
    } else {
        print(&view, &summary, &evidence)?;
    }
    let code = exit_code(&view, &summary);
    if view.winner().is_none() {
        let message = format!("study '{}': {}", summary.name, view.why_no_winner()?);
        output::failure("no-winner", &message, code);
    }
    Ok(code)
}

/// Prints what the search would do.
fn plan(args: &Search, settings: &Settings, options: Options, path: &Path, json: bool) -> Result<()> {
    let builder = StudyBuilder::from(settings.clone()).scoring(options).store(path);
    let plan = builder.name(args.name.as_deref()).plan()?;
    let left = plan.candidates.saturating_sub(plan.stored);
    if let Some(time) = args.time.filter(|_| !json) {
        let time = match time {
            Time::Seconds(seconds) => format!("for about {}", duration(seconds)),
            Time::Steps(steps) => format!("for as long as {steps} steps of the largest take"),
        };
        output::line(format!("dry run: search would train networks of {} {time}", settings.space.name()));
        output::line(format!("study        {}", plan.name));
        let state = if path.exists() { "exists" } else { "would be created" };
        output::line(format!("writes       {} ({state})", path.display()));
        return Ok(());
    }
    if json {
        output::line(json!({
            "dry_run": true, "study": plan.name, "space": settings.space.name(), "algorithm": plan.algorithm,
            "candidates": plan.candidates, "stored": plan.stored, "evaluations": evaluations(args, settings),
            "seconds": plan.estimate.map(|estimate| estimate.seconds()), "writes": [path],
        }));
        return Ok(());
    }
    output::line(format!("dry run: search would score {left} candidates of {}", settings.space.name()));
    output::line(format!("study        {}", plan.name));
    output::line(format!("algorithm    {}", plan.algorithm));
    if plan.stored > 0 {
        output::line(format!("resumes      {} candidates are stored already", plan.stored));
    }
    let latency = !settings.phases().is_empty();
    output::line(match plan.estimate {
        Some(estimate) => format!("time         about {}", duration(estimate.seconds())),
        None if latency => "time         unknown: networks are measured first".to_owned(),
        None => "time         short: no passes through networks".to_owned(),
    });
    if let Some(count) = evaluations(args, settings) {
        output::line(format!("evaluations  {count}, whose time is not known"));
    }
    let state = if path.exists() { "exists" } else { "would be created" };
    output::line(format!("writes       {} ({state})", path.display()));
    Ok(())
}

/// How many candidates would be evaluated, in words; none without an evaluator.
fn evaluations(args: &Search, settings: &Settings) -> Option<String> {
    let evaluator = settings.evaluator.as_ref()?;
    if settings.pool.is_some() {
        return Some(format!("looked up in {}", evaluator.label()));
    }
    Some(format!("the best {} by {}", args.evaluator.evaluate_top, evaluator.label()))
}

/// 3 if most candidates or all evaluations failed, 4 if no candidate is within the limits as measured.
fn exit_code(view: &View, summary: &Study) -> u8 {
    let evaluations_failed =
        !view.evaluations.is_empty() && view.evaluations.iter().all(|row| row.value().is_none());
    match summary.answer.reason {
        Reason::NothingKeepsTheLimits => 4,
        _ if summary.progress.failed * 2 > summary.progress.done || evaluations_failed => 3,
        _ => 0,
    }
}

fn settings(args: &Search) -> Result<Settings> {
    let usual = ["proxy".to_owned()];
    let asked = if args.objectives.is_empty() { &usual[..] } else { &args.objectives };
    if let Some(algorithm) = &args.algorithm {
        foretell::search::about(algorithm)?;
    }
    let mut limits = args.limits.limits();
    let usual_space = args.space.is_none() && args.inside.is_none();
    let base = match (&args.inside, args.time) {
        (Some(table), _) => Settings::inside(Table::open(&args.evaluator.data.folder()?, table, false)?)?,
        (None, Some(time)) => {
            let (space, trainer) = args.evaluator.trainer(args.space.as_deref(), args.dry_run)?;
            Settings { evaluator: Some(trainer), ..Settings::new(space) }.timed(time)
        }
        (None, None) => {
            let space = space::open(args.space.as_deref().unwrap_or(USUAL_SPACE))?;
            let evaluator = args.evaluator.evaluator(&*space, args.dry_run)?;
            Settings { evaluator, ..Settings::new(space) }
        }
    };
    if usual_space && args.limits.max_params.is_none() && args.limits.min_params.is_none() {
        let text = base.space.definition().family.knows("vocab_size");
        limits.params.max = if text { USUAL_TEXT_PARAMS } else { USUAL_PARAMS };
    }
    let proxy = match args.train_tokens {
        Some(tokens) => study::score_for(base.space.definition().family, tokens)?,
        None => foretell::predict::listed(args.proxy.as_deref().unwrap_or(USUAL_PROXY))?,
    };
    // A search that trains knows for how long, and so which score suits.
    let open = args.time.is_some() && args.proxy.is_none() && args.train_tokens.is_none();
    let asked = if open { &[] } else { asked };
    let objectives: Vec<Objective> =
        asked.iter().map(|text| Objective::parse(text, &proxy)).collect::<Result<_>>()?;
    Ok(Settings {
        algorithm: args.algorithm.clone().unwrap_or(base.algorithm),
        objectives,
        limits,
        memory: args.max_memory,
        cache: args.max_cache,
        latency: args.max_latency,
        token_latency: args.max_token_latency,
        budget: args.budget,
        seed: args.seed,
        seeds: args.seeds,
        shard: args.shard,
        evaluate_top: args.evaluator.evaluate_top,
        retry_failed: args.evaluator.retry_failed,
        ..base
    })
}

/// How well the scores rank trained networks, by tables of these.
pub fn evidence(view: &View, data: Option<&Path>) -> Result<Vec<(String, Vec<Evidence>)>> {
    let family = view.settings.space.definition().family;
    let requests = Objective::requests(view.objectives());
    requests
        .iter()
        .map(|request| Ok((request.label().to_owned(), of_score(family, request, data)?)))
        .collect()
}

/// How well one score ranks trained networks of a family.
pub fn of_score(family: &dyn Family, request: &Request, data: Option<&Path>) -> Result<Vec<Evidence>> {
    let folder = crate::places::benchmarks(data)?;
    let cache = crate::scoring::cache_file(None);
    Ok(benchmark::evidence(family, request, &folder, cache.as_deref()))
}

/// One line for each table, and a warning if the score is weak or there is no table.
pub fn print_evidence(family: &str, score: &str, evidence: &[Evidence]) {
    if evidence.iter().all(|row| row.agreement.is_none()) {
        output::note(format!(
            "warning: there is no table of trained {family} networks to test {score} with: train some of the best \
             (foretell verify), or set the benchmark folder (FORETELL_BENCHMARKS)"
        ));
    }
    for row in evidence {
        let Some(share) = row.agreement else { continue };
        let count = row.best_count.as_ref().map_or(String::new(), |(name, share)| {
            format!("; {name}, the best plain count: {:.0} %", 100.0 * share)
        });
        let warning = if row.is_weak() { "warning: " } else { "" };
        let weak = if row.is_weak() { ", hardly better than chance" } else { "" };
        output::note(format!(
            "{warning}{score} orders {:.0} % of pairs of equal size as training does on {} ({} networks){weak}{count}",
            100.0 * share,
            row.benchmark,
            row.networks
        ));
    }
}

fn print_json(view: &View, summary: &Study, evidence: &[(String, Vec<Evidence>)]) -> Result<()> {
    let mut object = match view.winner() {
        Some(winner) => studies::object(view, winner)?,
        None => json!({"winner": false, "trial": null}),
    };
    let progress = &summary.progress;
    object["study"] = json!(summary.name);
    object["algorithm"] = view.study.config["algorithm"].clone();
    object["stopped"] = json!(summary.stopped);
    object["hash"] = json!(summary.hash);
    object["trials"] = json!(progress.done);
    object["resumed"] = json!(summary.resumed);
    object["rejected"] = json!(progress.rejected);
    object["failed"] = json!(progress.failed);
    object["answer"] = json!(summary.answer);
    if let Some(timed) = Timed::of(view)? {
        object["timed"] = json!(timed);
    }
    object["evidence"] =
        evidence.iter().map(|(score, rows)| json!({"score": score, "tables": rows})).collect();
    if view.objectives().len() > 1 {
        object["front"] = json!(view.leaderboard.front.len());
        object["hypervolume"] = json!(view.leaderboard.hypervolume);
    }
    output::line(object);
    Ok(())
}

fn print(view: &View, summary: &Study, evidence: &[(String, Vec<Evidence>)]) -> Result<()> {
    let progress = &summary.progress;
    let resumed = if summary.resumed > 0 {
        format!(" ({} of them in earlier runs)", summary.resumed)
    } else {
        String::new()
    };
    output::line(format!(
        "study {}: {} candidates scored{resumed}, {} rejected before scoring, {} failed; stopped: {}",
        summary.name, progress.done, progress.rejected, progress.failed, summary.stopped
    ));
    if progress.failed > 0 {
        output::line(format!("failures: {}", view.failures_in_words()?));
    }
    print_news(view, summary);
    if view.objectives().len() > 1 {
        output::line("");
        studies::print_front(view, studies::ROWS)?;
    }
    print_evaluations(view)?;
    print_latencies(view);
    match view.winner() {
        Some(winner) => print_winner(view, winner)?,
        None => print_no_winner(view)?,
    }
    if !output::is_quiet() {
        output::line("");
    }
    let family = view.settings.space.definition().family.to_string();
    evidence.iter().for_each(|(score, rows)| print_evidence(&family, score, rows));
    if view.winner().is_some() {
        print_next(view);
    }
    Ok(())
}

/// What a larger budget changed.
fn print_news(view: &View, summary: &Study) {
    let Some(before) = summary.previous.as_ref().and_then(|answer| answer.winner) else { return };
    let new = summary.progress.done.saturating_sub(summary.resumed);
    if new == 0 {
        return;
    }
    let score = |trial: u64| studies::score_text(view, trial as usize);
    output::line(match summary.answer.winner {
        Some(now) if now == before => format!("{new} new candidates; the winner is still trial {now}"),
        Some(now) => {
            format!(
                "{new} new candidates; trial {now} ({}) replaces trial {before} ({})",
                score(now),
                score(before)
            )
        }
        None => format!("{new} new candidates"),
    });
}

/// How many of the best of a timed search are shown.
const BEST_TRAINED: usize = 8;

/// What a timed search trained and learned.
fn print_timed(view: &View, timed: &Timed) -> Result<()> {
    let [short, middle, full] = timed.rungs;
    let of = |steps: u64| timed.runs.iter().filter(|run| run.steps == steps).count();
    output::prose(format!(
        "\ntrained by {}: {} runs of {short} steps, {} of {middle}, {} of {full}",
        timed.evaluator,
        of(short),
        of(middle),
        of(full)
    ));
    output::line(studies::table(view, &view.best(BEST_TRAINED))?);
    let named = |list: &[(String, f64)]| {
        let some = list.iter().take(4).map(|(name, value)| format!("{name} {value:+.2}"));
        some.collect::<Vec<_>>().join(", ")
    };
    if !timed.slopes.is_empty() {
        output::prose(format!(
            "what the predictor learned, in deviations per deviation of each size: {}",
            named(&timed.slopes)
        ));
    }
    if let Some(check) = &timed.check {
        let tau = check.tau.map_or(String::new(), |tau| format!("tau {tau:.2}, "));
        output::prose(format!(
            "fully trained networks left out in turn: {tau}{:.0} % inside their 50 % intervals, {:.0} % inside 90 %",
            100.0 * check.inside[0],
            100.0 * check.inside[1]
        ));
    }
    Ok(())
}

fn print_evaluations(view: &View) -> Result<()> {
    if let Some(timed) = Timed::of(view)? {
        return print_timed(view, &timed);
    }
    let Some(first) = view.evaluations.first() else { return Ok(()) };
    if let Some(labels) = view.labels()?.filter(|_| view.looked_up) {
        let last = |curve: &[(f64, f64)]| curve.last().map_or("none".to_owned(), |stop| number(stop.1));
        output::line(format!(
            "\nlabels by {}: {} of the winner, {} at best among {} candidates",
            labels.evaluator,
            last(&labels.leader),
            last(&labels.best),
            view.evaluations.len()
        ));
        return Ok(());
    }
    let mut trials: Vec<usize> = view.evaluations.iter().map(|row| row.trial as usize).collect();
    let failed: Vec<_> = view.evaluations.iter().filter(|row| row.value().is_none()).collect();
    let order = view.best(trials.len());
    trials.sort_by_key(|trial| order.iter().position(|other| other == trial).unwrap_or(usize::MAX));
    output::line(format!(
        "\nevaluated by {}: {}, {} failed",
        first.evaluator,
        view.evaluations.len(),
        failed.len()
    ));
    output::line(studies::table(view, &trials)?);
    for row in &failed {
        output::line(format!("trial {} failed ({}): {}", row.trial, row.status, row.message));
    }
    if !failed.is_empty() {
        output::note("The same command with --retry-failed repeats them.");
    }
    Ok(())
}

/// Number of trials whose measurements are shown.
const MEASURED: usize = 20;

fn print_latencies(view: &View) {
    let ms = |seconds: f64| format!("{:.2} ms", 1e3 * seconds);
    for model in &view.answer.latency {
        let LatencyModel { phase, limit, measured, candidates, error, error_90, guard, quiet } = model;
        let what = match phase.as_str() {
            "decode" => "latency of one further token on one thread",
            _ => "latency of one input on one thread",
        };
        let on = match candidates {
            0 => "networks that were not used for the fit".to_owned(),
            n => format!("{n} candidates of this search"),
        };
        output::prose(format!(
            "\n{what}: predicted by a model fitted to {measured} measured networks; on {on} the median error is {:.1} %, and \
             90 % of errors are below {:.1} %",
            100.0 * error,
            100.0 * error_90
        ));
        if let Some(limit) = limit {
            output::line(format!(
                "limit {}, safety margin {:.1} %: candidates are predicted to take at most {}",
                ms(*limit),
                100.0 * guard,
                ms(limit / (1.0 + guard))
            ));
        }
        if !quiet {
            output::line(
                "warning: the machine was busy; times are the shortest of many repeats and may still be too high",
            );
        }
        let rows = view.measurements.iter().rev().filter(|row| row.phase == *phase && row.trial.is_some());
        let row = |row: &foretell::store::Measurement| {
            let seconds = row.latency["seconds"].as_f64().unwrap_or(f64::NAN);
            let end = |end: usize| row.latency["interval"][end].as_f64().map_or(String::new(), ms);
            let kept = limit.map_or("", |limit| if seconds <= limit { "yes" } else { "no" });
            vec![
                row.trial.map_or(String::new(), |trial| trial.to_string()),
                row.latency["predicted"].as_f64().map_or(String::new(), ms),
                ms(seconds),
                format!("{} to {}", end(0), end(1)),
                kept.to_owned(),
            ]
        };
        let mut rows: Vec<Vec<String>> = rows.take(MEASURED).map(row).collect();
        rows.reverse();
        let names = ["trial", "predicted", "measured", "interval", "within the limit"];
        output::line(output::table(&names, rows));
    }
}

fn print_no_winner(view: &View) -> Result<()> {
    output::line(format!("\nno winner: {}", view.answer.reason.text()));
    if let Some(nearest) = view.answer.nearest.map(|trial| trial as usize) {
        let share = view.limit_shares().get(&nearest).copied().unwrap_or(f64::NAN);
        output::prose(format!(
            "nearest: trial {nearest}, measured {:.1} % above the limit; raise the limit, or run again on an idle machine",
            100.0 * (share - 1.0)
        ));
        output::line(studies::table(view, &[nearest])?);
    }
    Ok(())
}

fn print_winner(view: &View, winner: usize) -> Result<()> {
    let architecture = view.architecture(winner)?;
    let objective = view.objectives()[0].to_string();
    output::line(format!("\nwinner {} (trial {winner}): {}\n", architecture.id(), studies::reason(view)));
    output::line(drawing(&architecture));
    let answer = &view.answer;
    let value = |value: Option<f64>| value.map_or("–".to_owned(), number);
    let named = |name: &str, counts: [String; 3], score: String| {
        let mut row = vec![name.to_owned()];
        row.extend(counts);
        row.push(score);
        row
    };
    let mut rows = vec![named("winner", studies::counts(&architecture), value(answer.value))];
    for reference in &answer.references {
        let counts = [
            output::grouped(reference.params),
            short(reference.flops),
            format!("{}B", short(reference.memory)),
        ];
        rows.push(named(reference.kind.text(), counts, value(reference.value)));
    }
    output::line(output::table(&["", "parameters", "multiply-adds", "memory", &objective], rows));
    let best = answer.references.iter().find(|reference| reference.kind == ReferenceKind::Best);
    if let Some(timed) = Timed::of(view)? {
        print_against(view, &timed)?;
    } else if let Some(best) = best {
        let itself = space::write_architecture(&architecture) == best.architecture;
        match answer.beats_uniform {
            _ if itself => output::line("The winner is the best uniform network."),
            Some(false) => output::prose(format!(
                "The winner is not better than the best uniform network: {}",
                foretell::report::text::genes(&best.architecture)
            )),
            _ => output::prose(format!(
                "best uniform network: {}",
                foretell::report::text::genes(&best.architecture)
            )),
        }
    } else {
        output::line("This space has no uniform network within the limits to compare with.");
    }
    Ok(())
}

/// The winner of a timed search against the best uniform network.
fn print_against(view: &View, timed: &Timed) -> Result<()> {
    output::prose(timed.verdict());
    let Some(against) = &timed.against else { return Ok(()) };
    let uniform = &view.architecture(against.trials[1])?;
    let losses = |values: &[f64]| values.iter().map(|value| number(*value)).collect::<Vec<_>>().join(", ");
    let row = |name: &str, place: usize| {
        vec![name.to_owned(), losses(&against.values[place]), output::grouped(against.params[place])]
    };
    let rows = vec![row("winner", 0), row("best uniform network", 1)];
    output::line(output::table(&["", "after full training", "parameters"], rows));
    output::prose(format!("best uniform network: {}", output::genes(uniform)));
    Ok(())
}

fn print_next(view: &View) {
    let store = match view.store_path().to_str() {
        Some("foretell.db") | None => String::new(),
        Some(path) => format!(" --store {path}"),
    };
    if output::is_quiet() {
        return;
    }
    output::line(format!(
        "\nNext:\n  foretell export {name}{store} --to winner    write a folder for transformers, with weights and train.py\n  \
         foretell best {name}{store} --json > winner.json && foretell score winner.json\n  \
         foretell show {name}{store}                 show all candidates, best first\n  \
         foretell report {name}{store}               write a page with charts, to open in a browser\n  \
         foretell search … --proxy dss++{store}      search by the score of T-Razor, which takes passes\n  \
         foretell search … --objective proxy --objective params{store}   search for a Pareto front",
        name = view.study.name
    ));
}

/// An architecture as text, one line per layer.
pub fn drawing(architecture: &Architecture) -> String {
    use foretell::architecture::{Positions, Scope};
    let object = space::write_architecture(architecture);
    let (mut head, mut columns) = (Vec::new(), Vec::new());
    for field in architecture.family().fields() {
        let Some(value) = object.get(field.key) else { continue };
        match (field.scope, value.as_array()) {
            (Scope::Position, Some(list)) => columns.push((field.key, list.clone())),
            _ => head.push(format!("{} {value}", field.key)),
        }
    }
    if architecture.family().card().positions == Positions::Nodes || columns.is_empty() {
        return format!("  {}\n", output::genes(architecture));
    }
    let mut params = vec![0_u64; architecture.positions()];
    for (position, sum) in params.iter_mut().enumerate() {
        let mut add = |tensor: &foretell::architecture::Tensor| *sum += tensor.len();
        let mut visitor = foretell::architecture::Visitor::new(&mut add);
        architecture.family().position(architecture, position, &mut visitor);
    }
    let most = params.iter().copied().max().unwrap_or(1).max(1);
    let mut text = format!("  {}\n", head.join("  "));
    for (position, count) in params.iter().enumerate() {
        let values: Vec<String> = columns
            .iter()
            .map(|(key, list)| {
                let value = list
                    .get(position)
                    .map_or(String::new(), |value| value.as_str().map_or(value.to_string(), str::to_owned));
                format!("{key} {value:<4}")
            })
            .collect();
        let bar = "█".repeat((24 * count).div_ceil(most) as usize);
        text += &format!("  {:>3}  {}  {bar} {}\n", position + 1, values.join("  "), short(*count));
    }
    text
}
