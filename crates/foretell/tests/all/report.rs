//! Reports of small studies: the same bytes every time, the study's own answer, safe whatever a study is called.

use foretell::benchmark::Evidence;
use foretell::report::{self, Report};
use foretell::space::{self, Bound};
use foretell::store::{Evaluation, Measurement, Score, Store, Trial};
use foretell::study::{self, Baseline, LatencyModel, Objective, Reason, Settings, StudyBuilder, View};
use serde_json::{Value, json};

const SMALL: &str = "name = \"small\"\nfamily = \"vit\"\n[fixed]\nimage_size = 32\npatch_size = 8\nnum_classes = 10\n[choices]\n\
                     embed_dim = [48, 64]\ndepth = [3, 4, 5]\nnum_heads = [2, 4]\nmlp_ratio = [2.0, 3.0, 4.0]\n";

fn settings(space: &str, algorithm: &str, proxy: &str, budget: u64) -> Settings {
    let space = if space == "small" { space::parse("small", SMALL) } else { space::preset(space) };
    Settings { budget: Some(budget), ..Settings::new(space.unwrap()).search(algorithm, proxy).unwrap() }
}

fn run(store: &mut Store, settings: &Settings, name: &str) {
    StudyBuilder::from(settings.clone()).in_store(store).name(name).command("search --here").run().unwrap();
}

fn report(store: &Store, name: &str) -> Report {
    report_of(store, &View::load(store, name).unwrap(), &[])
}

fn report_of(store: &Store, view: &View, evidence: &[(String, Vec<Evidence>)]) -> Report {
    let random = Baseline::of(store, &view.study).unwrap();
    report::write(view, &store.hash(&view.study).unwrap(), &random, None, evidence).unwrap()
}

/// An exact search, whose winner is trial 0.
fn exact() -> Store {
    let mut store = Store::memory().unwrap();
    let mut settings = settings("autoformer-tiny", "dp", "nsc", 10);
    settings.limits.params.max = 6_000_000;
    run(&mut store, &settings, "exact");
    store
}

/// A study of these networks, each with its values.
fn by_hand(settings: &Settings, networks: &[(Value, Vec<f64>)]) -> Store {
    let mut store = Store::memory().unwrap();
    let study = store.create("by hand", &settings.config().unwrap(), "").unwrap();
    let trial = |(number, (genes, values)): (usize, &(Value, Vec<f64>))| Trial {
        number: number as u64,
        id: space::read_architecture(genes).unwrap().id(),
        genes: genes.to_string(),
        objectives: values.clone(),
        scores: vec![Score {
            proxy: "nsc".into(),
            status: "ok".into(),
            value: values[0],
            ..Score::default()
        }],
        ..Trial::default()
    };
    let trials: Vec<Trial> = networks.iter().enumerate().map(trial).collect();
    let (_, digest) = store.trials(&study).unwrap();
    store.append(&study, &trials, 0, &digest).unwrap();
    store
}

fn gpt2(n_head: [u64; 2], d_inner: [u64; 2]) -> Value {
    json!({
        "space": "gpt2", "n_layer": 2, "d_model": 128, "d_embed": 512, "div_val": 1, "n_head": n_head, "d_inner": d_inner,
    })
}

fn measured(trial: u64, predicted: f64, seconds: f64) -> Measurement {
    let latency =
        json!({"seconds": seconds, "predicted": predicted, "interval": [0.98 * seconds, 1.02 * seconds]});
    Measurement { stage: 10, trial: Some(trial), genes: String::new(), phase: "prefill".into(), latency }
}

#[track_caller]
fn says(page: &str, texts: &[&str]) {
    let page = page.replace('\u{a0}', " ");
    for text in texts {
        assert!(page.contains(text), "{text:?} is not in {page}");
    }
}

#[test]
fn the_same_study_gives_the_same_bytes_and_names_no_machine() {
    let mut reports = Vec::new();
    for _ in 0..2 {
        let mut store = Store::memory().unwrap();
        run(&mut store, &settings("gpt2", "evolution", "nsc", 120), "study");
        reports.push(report(&store, "study"));
        let provenance = &store.find("study").unwrap().unwrap().provenance;
        let host = provenance["host"].as_str().unwrap();
        assert!(host.len() < 4 || !reports[0].html.contains(host), "the page names the machine");
    }
    assert_eq!(reports[0], reports[1]);
    let names: Vec<&str> = reports[0].charts.iter().map(|chart| chart.0).collect();
    assert_eq!(names, ["network", "front", "history", "agreement"]);
    assert!(!reports[0].html.contains("://"), "the page names an address");
    assert!(reports[0].html.contains("foretell search --here"));
    assert!(reports[0].html.find(report::MARK).unwrap() < 1024);
    assert!(reports[0].charts.iter().all(|chart| chart.1.find(report::MARK).unwrap() < 1024));
}

#[test]
fn a_hostile_name_stays_text() {
    let name = "</title><script>alert(1)</script><img src=x onerror='alert(2)'>\"&\u{1}";
    let mut store = Store::memory().unwrap();
    run(&mut store, &settings("autoformer-tiny", "random", "nsc", 20), name);
    let page = report(&store, name).html;
    assert_eq!(page.matches("<script>").count(), 1);
    assert!(!page.contains("<img") && !page.contains('\u{1}'));
    assert!(page.contains("&lt;/title&gt;&lt;script&gt;alert(1)"));
}

#[test]
fn settings_come_back_from_what_is_stored() {
    let mut all = vec![settings("small", "pareto", "dss++", 5), settings("gpt2", "etas", "nsc", 5)];
    all[0].objectives.extend([Objective::Flops, Objective::Memory]);
    all[0].limits.params = Bound { min: 10, max: 2_000_000 };
    all[0].memory = Some(1 << 30);
    all[1].limits.flops = Bound { min: 0, max: 1 << 40 };
    all[1].seed = 9;
    let mut published = settings("autoformer-tiny", "random", "nsc", 5);
    published.limits.flops.max = 1 << 31;
    published.limits.counter = foretell::architecture::Counter::Published;
    all.push(published);
    for settings in all {
        let config = settings.config().unwrap();
        assert_eq!(Settings::of(&config).unwrap().config().unwrap(), config);
    }
}

#[test]
fn random_search_is_drawn_where_it_is_cheap_and_taken_from_the_store_where_it_is_not() {
    let mut store = Store::memory().unwrap();
    fn baseline<'s>(store: &'s Store, name: &str) -> Baseline<'s> {
        Baseline::of(store, &store.find(name).unwrap().unwrap()).unwrap()
    }
    run(&mut store, &settings("autoformer-tiny", "evolution", "nsc", 60), "cheap");
    let Baseline::Drawn(draws) = baseline(&store, "cheap") else { panic!("not drawn") };
    let trials = (0..draws.len()).map(|number| draws.trial(number).unwrap()).collect();
    run(&mut store, &settings("autoformer-tiny", "random", "nsc", 60), "by hand");
    let by_hand = store.trials(&store.find("by hand").unwrap().unwrap()).unwrap().0;
    let without_time = |trials: Vec<Trial>| -> Vec<Trial> {
        trials.into_iter().map(|trial| Trial { seconds: 0.0, ..trial }).collect()
    };
    assert_eq!(without_time(trials), without_time(by_hand));
    assert!(matches!(baseline(&store, "by hand"), Baseline::Itself));

    run(&mut store, &settings("small", "evolution", "dss++", 12), "costly");
    assert!(matches!(baseline(&store, "costly"), Baseline::Absent));
    let page = report(&store, "costly").html;
    let command = "foretell search --space small.toml --proxy dss++ --algorithm random --seed 0 --budget 12";
    assert!(page.contains(command), "{page}");
    // One of another space, proxy or limit is none of ours.
    run(&mut store, &settings("small", "random", "nsc", 12), "another");
    assert!(matches!(baseline(&store, "costly"), Baseline::Absent));
    run(&mut store, &settings("small", "random", "dss++", 14), "beside");
    let Baseline::Stored { name, draws } = baseline(&store, "costly") else { panic!("not found") };
    assert_eq!((name.as_str(), draws.len(), draws.ranks().unwrap().len()), ("beside", 12, 12));
    assert!(report(&store, "costly").html.contains("candidates of study &#39;beside&#39;"));
}

#[test]
fn every_family_has_a_report() {
    let mut store = Store::memory().unwrap();
    for (space, _) in space::PRESETS {
        let mut settings = settings(space, "random", "params", 8);
        settings.objectives.push(Objective::Flops);
        run(&mut store, &settings, space);
        let report = report(&store, space);
        assert_eq!(report.charts.len(), 4, "{space}");
        assert_eq!(report.html.matches("<svg").count(), 4, "{space}");
        assert!(!report.html.contains("NaN"), "{space}");
    }
}

#[test]
fn failures_are_counted_by_kind_and_a_study_of_nothing_else_has_a_page() {
    let mut store = Store::memory().unwrap();
    let config = settings("gpt2", "random", "nsc", 3).config().unwrap();
    let study = store.create("failing", &config, "").unwrap();
    let (_, digest) = store.trials(&study).unwrap();
    let failed = |number, status: &str| Trial {
        number,
        objectives: vec![f64::NAN],
        scores: vec![Score {
            proxy: "nsc".into(),
            status: status.into(),
            message: "gave <NaN>".into(),
            value: f64::NAN,
            ..Score::default()
        }],
        ..Trial::default()
    };
    let trials = [failed(0, "degenerate"), failed(1, "non-finite"), failed(2, "non-finite")];
    store.append(&study, &trials, 0, &digest).unwrap();
    let report = report(&store, "failing");
    assert!(report.html.contains(
        "<td>non-finite</td><td>nsc</td><td data-v=\"2\">2</td><td>trial 1: gave &lt;NaN&gt;</td>"
    ));
    says(&report.html, &["There is no winner: no candidate was scored."]);
    assert_eq!(report.charts, []);
    assert_eq!(json!(store.find("failing").unwrap().unwrap().trials), 3);
}

/// A hundred thousand candidates, thinned.
#[test]
fn a_large_study_stays_small() {
    let mut store = Store::memory().unwrap();
    let mut settings = settings("autoformer-tiny", "random", "sept", 100_000);
    settings.objectives.push(Objective::Flops);
    run(&mut store, &settings, "large");
    let report = report(&store, "large");
    assert!(report.html.len() < 2_000_000, "{} bytes", report.html.len());
    assert!(report.html.contains("Points are thinned"));
}

#[test]
fn the_winner_is_the_study_s_with_its_reason_and_uniform_networks() {
    let store = exact();
    let mut view = View::load(&store, "exact").unwrap();
    let page = report_of(&store, &view, &[]).html;
    says(
        &page,
        &[
            "Trial 0 wins: best value of the objective, proved optimal",
            "The winner beats the best uniform network in nsc.",
            "<td>best uniform network</td><td data-v=",
            "<td>uniform, nearest in size</td>",
            "num_heads 3 ×13  mlp_ratio 3.5 ×13",
        ],
    );
    view.answer.proved = false;
    view.answer.beats_uniform = Some(false);
    let page = report_of(&store, &view, &[]).html;
    says(&page, &["The winner does not beat the best uniform network in nsc."]);
    assert!(!page.contains("proved optimal"));
    let winner = view.architecture(0).unwrap();
    view.answer.references[0].architecture = space::write_architecture(&winner);
    says(&report_of(&store, &view, &[]).html, &["The winner is itself the best uniform network"]);
    view.answer.references.clear();
    says(&report_of(&store, &view, &[]).html, &["no uniform network inside the limits"]);
}

#[test]
fn the_winner_of_several_objectives_is_marked_on_the_front() {
    let mut store = Store::memory().unwrap();
    let mut settings = settings("small", "pareto", "nsc", 60);
    settings.objectives.push(Objective::Memory);
    run(&mut store, &settings, "front");
    let view = View::load(&store, "front").unwrap();
    let report = report_of(&store, &view, &[]);
    let front = &report.charts.iter().find(|chart| chart.0 == "front").unwrap().1;
    assert_eq!(front.matches(">winner</text>").count(), 1);
    assert!(!front.contains("knee"));
    says(front, &["memory (MB)"]);
    let winner = view.winner().unwrap();
    assert_eq!(view.leaderboard.knee, Some(winner));
    says(&report.html, &[&format!("Trial {winner} wins: knee of the Pareto front")]);
    let tile = report.html.split("</b> <span>memory (MB) of the winner").next().unwrap();
    let shown: f64 = tile.rsplit("<b>").next().unwrap().parse().unwrap();
    let megabytes = view.value(winner, 1).unwrap() / 1e6;
    assert!((shown / megabytes - 1.0).abs() < 1e-3, "{shown} is not {megabytes}");
}

/// 20.2134 ms, stored as nanoseconds with its sign turned.
#[test]
fn latency_is_shown_in_milliseconds() {
    let mut settings = settings("gpt2", "random", "nsc", 2);
    settings.objectives.push(Objective::Latency);
    let networks = [
        (gpt2([2, 4], [730, 1220]), vec![5.0, -20_213_400.0]),
        (gpt2([2, 2], [730, 1220]), vec![4.0, -19_000_000.0]),
    ];
    let store = by_hand(&settings, &networks);
    let page = report_of_unmeasured(&store);
    says(&page, &["latency (ms)", "<td data-v=\"20.2134\">20.21</td>"]);
    assert!(!page.contains("nanosecond") && !page.contains("20213400"));
}

/// A page without random search, which a latency objective would have to measure.
fn report_of_unmeasured(store: &Store) -> String {
    let view = View::load(store, "by hand").unwrap();
    report::write(&view, "", &Baseline::Absent, None, &[]).unwrap().html
}

#[test]
fn the_command_can_be_typed() {
    let network = [(gpt2([2, 4], [730, 1220]), vec![5.0])];
    let page = |proxy: &str| {
        let settings = settings("gpt2", "random", proxy, 1);
        report_of_unmeasured(&by_hand(&Settings { seeds: 1, latency: Some(0.02), ..settings }, &network))
    };
    says(&page("dss"), &["--max-latency 0.02s --seed 0 --seeds 1 --budget 1<"]);
    says(&page("nsc"), &["--max-latency 0.02s --seed 0 --budget 1<"]);
}

#[test]
fn networks_with_the_same_layers_in_another_order_share_a_row() {
    let settings = settings("gpt2", "random", "nsc", 4);
    let mut networks = vec![
        (gpt2([2, 2], [730, 730]), vec![4.0]),
        (gpt2([2, 4], [730, 1220]), vec![5.0]),
        (gpt2([4, 2], [1220, 730]), vec![5.0]),
    ];
    let rows =
        |page: &str| page.split("aria-label=\"Best candidates\"").nth(1).unwrap().matches("<tr").count() - 1;
    let page = report_of_unmeasured(&by_hand(&settings, &networks));
    says(
        &page,
        &["n_head 2, 4  d_inner 730, 1220\n×2 permutations", "<span class=\"mark\">winner</span> 1</td>"],
    );
    assert_eq!(rows(&page), 2);
    // Heads and widths in another combination are no permutation of layers, but tie.
    networks.push((gpt2([4, 2], [730, 1220]), vec![5.0]));
    let page = report_of_unmeasured(&by_hand(&settings, &networks));
    says(&page, &["×3 ties"]);
    // An evaluation sets a candidate apart, and the winner comes first whatever its score.
    let store = by_hand(&settings, &networks);
    let mut view = View::load(&store, "by hand").unwrap();
    view.evaluations =
        vec![Evaluation { trial: 0, value: 0.5, status: "ok".into(), ..Evaluation::default() }];
    (view.answer.winner, view.answer.reason) = (Some(0), Reason::Evaluated);
    let page = report_of(&store, &view, &[]).html;
    says(
        &page,
        &[
            "<tr class=\"won\"><td data-v=\"1\">1</td><td data-v=\"0\"><span class=\"mark\">winner</span> 0</td>",
        ],
    );
    says(&page, &["trial 0 wins: best evaluated value", "The best value decides the winner"]);
}

#[test]
fn failed_evaluations_are_shown_with_their_message() {
    let store = exact();
    let mut view = View::load(&store, "exact").unwrap();
    view.evaluations = vec![Evaluation {
        trial: 1,
        value: f64::NAN,
        evaluator: "command a <b>".into(),
        status: "no-number".into(),
        message: "the last line is 'x'".into(),
        ..Evaluation::default()
    }];
    let page = report_of(&store, &view, &[]).html;
    says(
        &page,
        &[
            "no-number: the last line is &#39;x&#39;",
            "1 of 1 failed",
            "command a &lt;b&gt;",
            "not decided by",
        ],
    );
}

#[test]
fn limits_show_what_was_counted_predicted_and_measured() {
    let store = exact();
    let mut view = View::load(&store, "exact").unwrap();
    let page = report_of(&store, &view, &[]).html;
    says(&page, &["<td>≤ 6,000,000</td><td>5,979,016</td><td>kept</td>"]);
    assert!(!page.contains("latency of one input"));
    view.settings.latency = Some(0.02);
    view.settings.memory = Some(90_000_000);
    view.measurements = vec![measured(3, 0.0190, 0.0212), measured(0, 0.0189, 0.0195)];
    view.answer.latency = vec![LatencyModel {
        phase: "prefill".into(),
        limit: Some(0.02),
        measured: 62,
        candidates: 2,
        error: 0.03,
        error_90: 0.1,
        guard: 0.25,
        quiet: false,
    }];
    let page = report_of(&store, &view, &[]).html;
    says(
        &page,
        &[
            "<td>memory</td><td>≤ 90.00 MB</td><td>85.88 MB</td><td></td><td>kept</td>",
            "<td>latency of one input</td><td>≤ 20 ms</td><td>18.9 ms</td><td>19.5 ms</td><td>kept</td>",
            "On 2 candidates of this search its median error is 3.0 %, and nine in ten errors are below 10.0 %.",
            "The guard band is 25.0 %: to meet the limit of 20 ms, candidates had to be predicted at 16 ms or less.",
            "the machine was busy",
            "<td>19 ms</td><td>21.2 ms</td><td>20.78 ms to 21.62 ms</td><td>broken</td>",
            "<span class=\"mark\">winner</span> 0</td><td>18.9 ms</td><td>19.5 ms</td>",
        ],
    );
    view.answer.latency[0].quiet = true;
    assert!(!report_of(&store, &view, &[]).html.contains("the machine was busy"));
}

#[test]
fn without_a_winner_the_nearest_is_shown() {
    let store = exact();
    let mut view = View::load(&store, "exact").unwrap();
    view.settings.latency = Some(0.02);
    view.measurements = vec![measured(3, 0.0190, 0.0250), measured(0, 0.0189, 0.0300)];
    view.answer =
        study::Answer { reason: Reason::NothingKeepsTheLimits, nearest: Some(3), ..study::Answer::default() };
    let report = report_of(&store, &view, &[]);
    says(
        &report.html,
        &[
            "<h2>No winner</h2>",
            "There is no winner: no candidate keeps the limits as measured. Trial 3 comes nearest, 25.0 % above its limit",
            "Values are those of the nearest candidate",
            "<td>19 ms</td><td>25 ms</td><td>broken</td>",
            "candidates, best first by nsc; those that break a limit as measured come last",
        ],
    );
    assert!(!report.html.contains("class=\"mark\"") && !report.html.contains(">winner</text>"));
    assert_eq!(report.charts.len(), 4);
}

#[test]
fn evidence_warns_where_the_score_is_weak_or_unknown() {
    let store = exact();
    let view = View::load(&store, "exact").unwrap();
    let table = |agreement: Option<f64>| Evidence {
        benchmark: "a-table".into(),
        networks: 1200,
        pairs: 3456,
        agreement,
        best_count: Some(("width".into(), 0.83)),
    };
    let page = |tables: Vec<Evidence>| report_of(&store, &view, &[("nsc".to_owned(), tables)]).html;
    let strong = page(vec![table(Some(0.71))]);
    says(
        &strong,
        &["nsc orders 71 % of 3,456 pairs of equal size as training did on a-table (1,200 networks)."],
    );
    says(&strong, &["The best count, width, orders 83 %."]);
    assert!(!strong.contains("Warning:"));
    assert_eq!(strong, page(vec![table(Some(0.71))]));
    let weak = page(vec![table(Some(0.54))]);
    says(&weak, &["Warning:</b> nsc orders 54 %", "hardly better than guessing"]);
    let unknown = page(vec![table(None)]);
    says(&unknown, &["Warning:</b> no table of trained vit networks shows what nsc is worth"]);
    assert!(report_of(&store, &view, &[]).html.matches("What is the score worth?").count() == 0);
}

/// Cards say what the page says, without its script, and their style concerns nothing else of a page.
#[test]
fn cards_stand_in_a_page_of_others() {
    let store = exact();
    let view = View::load(&store, "exact").unwrap();
    let cards = report::cards(&view, &store.hash(&view.study).unwrap()).unwrap();
    let page = report(&store, "exact").html;
    let tiles = page.split("<ul class=\"tiles\">").nth(1).unwrap().split("</ul>").next().unwrap();
    assert!(cards.contains(tiles), "the page and the cards differ");
    assert!(
        cards.contains(&view.architecture(0).unwrap().id()) && cards.contains("data:image/svg+xml,%3Csvg")
    );
    assert!(!cards.contains("<script") && !cards.contains("<button"));
    let style = cards.split("<style>").nth(1).unwrap().split("</style>").next().unwrap();
    assert!(style.lines().all(|line| line.starts_with(".foretell-cards ")), "{style}");
    assert_eq!(cards.matches("<tr>").count() + cards.matches("<tr class").count(), 1 + 5);
}
