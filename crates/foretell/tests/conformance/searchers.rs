//! What every searcher must do: keep its card, its limits, its seed; never ask twice; go on where it was stopped.

use foretell::architecture::Architecture;
use foretell::score::Options;
use foretell::search::catalogue;
use foretell::space::{self, Bound, Limits, Space};
use foretell::store::{Ranks, Store, Trial};
use foretell::study::{self, Objective, Settings, Summary};
use serde_json::Value;
use std::collections::HashSet;
use std::sync::Arc;

fn small() -> Arc<dyn Space> {
    super::shrunken().find(|space| space.name() == "small-gpt2").unwrap()
}

/// Small generations, so that a short study has several.
fn quick(name: &str) -> String {
    let options = match name {
        "random" => "batch=7",
        "exhaustive" => "batch=9",
        "evolution" => "population=8,parents=4,mutants=4,crossovers=3",
        "etas" => "warmup=10,pool=6,patience=0",
        "block-wise" => "population=6,oversample=2,mutants=4,crossovers=4",
        "pareto" => "population=10,parents=4,mutants=4,crossovers=4",
        other => panic!("say what small generations of {other} are"),
    };
    format!("{name}[{options}]")
}

fn settings(algorithm: &str, proxy: &str) -> Settings {
    let limits = Limits { params: Bound { min: 0, max: 40_000 }, ..Limits::default() };
    Settings { limits, seed: 3, ..Settings::new(small(), algorithm, proxy) }
}

fn run(settings: &Settings, store: &mut Store) -> Summary {
    study::run(settings, Options::default(), store, Some("test"), "", &()).unwrap()
}

fn trials(store: &Store) -> Vec<Trial> {
    store.trials(&store.find("test").unwrap().unwrap()).unwrap().0
}

fn whole(settings: &Settings) -> (Summary, Vec<Trial>) {
    let mut store = Store::memory().unwrap();
    let summary = run(settings, &mut store);
    (summary, trials(&store))
}

#[test]
fn cards_are_complete_and_say_the_true_defaults() {
    let mut names = HashSet::new();
    for entry in catalogue::<u8>() {
        let about = entry.about;
        assert!(names.insert(about.name), "{} is there twice", about.name);
        let fields = [about.sentence, about.steps, about.paper, about.departures];
        assert!(fields.iter().all(|text| !text.is_empty()), "{}", about.name);
        let defaults = entry.defaults();
        let defaults = defaults.as_object().unwrap();
        assert_eq!(defaults.len(), about.options.len(), "{}", about.name);
        for (name, default, _) in about.options {
            let said = serde_json::from_str(default).unwrap_or(Value::String((*default).to_owned()));
            assert_eq!(defaults[*name], said, "{} {name}", about.name);
        }
        let error = foretell::search::parse::<u8>(&format!("{}[nonsense=1]", about.name)).err().unwrap();
        assert!(error.to_string().contains("nonsense"), "{error}");
    }
}

#[test]
fn nothing_is_asked_twice_or_outside_the_limits_and_the_seed_decides() {
    for entry in catalogue::<Architecture>() {
        let name = entry.about.name;
        let settings = Settings { budget: Some(60), ..settings(&quick(name), "nsc") };
        let (summary, trials) = whole(&settings);
        assert_eq!(summary.progress.done, 60, "{name}");
        let ids: HashSet<&str> = trials.iter().map(|trial| trial.id.as_str()).collect();
        assert_eq!(ids.len(), 60, "{name} asked twice");
        for trial in &trials {
            let genes = serde_json::from_str(&trial.genes).unwrap();
            let architecture = space::read_architecture(&genes).unwrap();
            assert_eq!(architecture.id(), trial.id, "{name}");
            assert!(architecture.params().total <= 40_000, "{name}");
        }
        assert_eq!(whole(&settings).0.hash, summary.hash, "{name}");
        if name != "exhaustive" {
            let other = Settings { seed: 4, ..settings };
            assert_ne!(whole(&other).0.hash, summary.hash, "{name} ignores the seed");
        }
    }
}

/// Stopped after any number of trials and continued, with any number of threads, a study is the same.
#[test]
fn a_study_goes_on_where_it_was_stopped() {
    for entry in catalogue::<Architecture>() {
        let name = entry.about.name;
        for proxy in ["nsc", "dss++"] {
            let settings = Settings { budget: Some(30), ..settings(&quick(name), proxy) };
            let undisturbed = whole(&settings).0;
            let mut store = Store::memory().unwrap();
            for (stop, threads) in [(1, 1), (9, 3), (10, 1), (11, 2), (17, 4), (29, 1), (30, 3)] {
                let settings = Settings { budget: Some(stop), ..settings_of(&settings) };
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| assert_eq!(run(&settings, &mut store).progress.done, stop, "{name}"));
            }
            let again = run(&settings, &mut store);
            assert_eq!((again.hash, again.resumed), (undisturbed.hash, 30), "{name} {proxy}");
            assert_eq!(again.progress, undisturbed.progress, "{name} {proxy}");
        }
    }
}

fn settings_of(other: &Settings) -> Settings {
    Settings {
        space: other.space.clone(),
        algorithm: other.algorithm.clone(),
        objectives: other.objectives.clone(),
        evaluator: other.evaluator.clone(),
        ..*other
    }
}

/// A space of 20 networks is searched to its end by everyone, and all agree on the best of it.
#[test]
fn small_spaces_are_exhausted() {
    let text = "name = \"few\"\nfamily = \"bert\"\n[fixed]\nvocab_size = 50\nhidden_size = 16\n[choices]\nnum_layers = [1, 2]\n\
                num_heads = [2, 4]\nffn_dim = [16, 32]\n";
    let space = space::parse("test", text).unwrap();
    for entry in catalogue::<Architecture>() {
        let name = entry.about.name;
        let mut store = Store::memory().unwrap();
        let summary = run(&Settings::new(space.clone(), &quick(name), "params"), &mut store);
        assert_eq!(summary.progress.done, 20, "{name} stopped: {}", summary.stopped);
    }
}

/// A candidate that fails is recorded with its kind; the study goes on.
#[test]
fn failures_are_recorded_and_end_nothing() {
    let cells = space::preset("nasbench-nlp").unwrap();
    let settings =
        Settings { budget: Some(12), ..Settings::new(cells, "random[batch=5]", "attention-confidence") };
    let (summary, trials) = whole(&settings);
    assert_eq!((summary.progress.failed, trials.len()), (12, 12));
    assert!(trials.iter().all(|trial| trial.scores[0].status == "not-defined"), "{:?}", trials[0]);
    assert!(trials.iter().all(|trial| trial.scores[0].value.is_nan() && !trial.scores[0].message.is_empty()));
}

#[test]
fn limits_that_nothing_meets_are_refused_before_anything_is_stored() {
    let mut store = Store::memory().unwrap();
    let limits = Limits { params: Bound { min: 0, max: 10 }, ..Limits::default() };
    for settings in [
        Settings { limits, ..Settings::new(small(), "random", "nsc") },
        Settings { memory: Some(10), ..Settings::new(small(), "random", "nsc") },
    ] {
        let error = study::run(&settings, Options::default(), &mut store, None, "", &()).unwrap_err();
        assert_eq!(error.kind(), "infeasible", "{error}");
    }
    assert!(store.studies().unwrap().is_empty());
}

/// Another study under the same name is refused with what differs.
#[test]
fn a_name_belongs_to_its_settings() {
    let mut store = Store::memory().unwrap();
    run(&Settings { budget: Some(5), ..settings("random", "nsc") }, &mut store);
    let other = Settings { budget: Some(5), ..settings("random", "zerolm") };
    let error =
        study::run(&other, Options::default(), &mut store, Some("test"), "", &()).unwrap_err().to_string();
    assert!(error.contains("objectives was") && error.contains("--name"), "{error}");
}

#[test]
fn several_objectives_give_a_front() {
    let objectives = vec![Objective::Proxy("nsc".into()), Objective::Params, Objective::Memory];
    let settings = Settings { objectives, budget: Some(60), ..settings(&quick("pareto"), "nsc") };
    let (_, trials) = whole(&settings);
    let standing = study::Standing::new(&settings.objectives, &Ranks::of(&trials).unwrap()).unwrap();
    assert!(standing.front.len() > 3 && (0.0..=1.0).contains(&standing.hypervolume), "{standing:?}");
    assert!(standing.knee.is_some_and(|knee| standing.front.contains(&knee)));
}
