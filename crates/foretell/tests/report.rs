//! Reports of small studies: the same bytes every time, safe whatever a study is called, honest about random search.

use foretell::report::{self, Report};
use foretell::score::Options;
use foretell::space::{self, Bound};
use foretell::store::{Score, Store, Trial};
use foretell::study::{self, Baseline, Objective, Settings};
use serde_json::json;

const SMALL: &str = "name = \"small\"\nfamily = \"vit\"\n[fixed]\nimage_size = 32\npatch_size = 8\nnum_classes = 10\n[choices]\n\
                     embed_dim = [48, 64]\ndepth = [3, 4, 5]\nnum_heads = [2, 4]\nmlp_ratio = [2.0, 3.0, 4.0]\n";

fn settings(space: &str, algorithm: &str, proxy: &str, budget: u64) -> Settings {
    let space = if space == "small" { space::parse("small", SMALL) } else { space::preset(space) };
    Settings { budget: Some(budget), ..Settings::new(space.unwrap(), algorithm, proxy) }
}

fn run(store: &mut Store, settings: &Settings, name: &str) {
    study::run(settings, Options::default(), store, Some(name), "search --here", &()).unwrap();
}

fn report(store: &Store, name: &str) -> Report {
    let study = store.find(name).unwrap().unwrap();
    let trials = store.trials(&study).unwrap().0;
    let random = Baseline::of(store, &study).unwrap();
    report::write(&study, &trials, &[], &store.hash(&study).unwrap(), &random, None).unwrap()
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
    assert_eq!(names, ["front", "history", "agreement", "network"]);
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
    let baseline =
        |store: &Store, name: &str| Baseline::of(store, &store.find(name).unwrap().unwrap()).unwrap();
    run(&mut store, &settings("autoformer-tiny", "evolution", "nsc", 60), "cheap");
    let Baseline::Drawn(trials) = baseline(&store, "cheap") else { panic!("not drawn") };
    run(&mut store, &settings("autoformer-tiny", "random", "nsc", 60), "by hand");
    let by_hand = store.trials(&store.find("by hand").unwrap().unwrap()).unwrap().0;
    let without_time = |trials: Vec<Trial>| -> Vec<Trial> {
        trials.into_iter().map(|trial| Trial { seconds: 0.0, ..trial }).collect()
    };
    assert_eq!(without_time(trials), without_time(by_hand));
    assert_eq!(baseline(&store, "by hand"), Baseline::Itself);

    run(&mut store, &settings("small", "evolution", "dss++", 12), "costly");
    assert_eq!(baseline(&store, "costly"), Baseline::Absent);
    let page = report(&store, "costly").html;
    let command = "foretell search --space small.toml --proxy dss++ --algorithm random --seed 0 --budget 12";
    assert!(page.contains(command), "{page}");
    // One of another space, proxy or limit is none of ours.
    run(&mut store, &settings("small", "random", "nsc", 12), "another");
    assert_eq!(baseline(&store, "costly"), Baseline::Absent);
    run(&mut store, &settings("small", "random", "dss++", 14), "beside");
    let Baseline::Stored { name, trials } = baseline(&store, "costly") else { panic!("not found") };
    assert_eq!((name.as_str(), trials.len()), ("beside", 12));
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
    assert!(
        report.html.contains("<td>non-finite</td><td>nsc</td><td>2</td><td>trial 1: gave &lt;NaN&gt;</td>")
    );
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
