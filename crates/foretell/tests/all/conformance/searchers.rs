//! What every searcher must do: keep its card, its limits, its seed; never ask twice; go on where it was stopped.

use foretell::architecture::Architecture;
use foretell::error::Error;
use foretell::proxy::{self, About, Proxy, ProxyInput, Score};
use foretell::search::catalogue;
use foretell::space::{self, Bound, Limits, Space};
use foretell::store::{Ranks, Store, Trial};
use foretell::study::{self, Evaluator, Failure, Objective, Settings, Shard, Study, StudyBuilder};
use serde_json::Value;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

fn small() -> Arc<dyn Space> {
    super::shrunken().find(|space| space.name() == "small-gpt2").unwrap()
}

/// Small generations, so that a short study has several.
fn quick(name: &str) -> String {
    let options = match name {
        "random" => "batch=7",
        "exhaustive" => "batch=9",
        "dp" => "top=60",
        "evolution" => "population=8,parents=4,mutants=4,crossovers=3",
        "steady-state" => "population=8",
        "etas" => "warmup=10,pool=6,patience=0",
        "block-wise" => "population=6,oversample=2,mutants=4,crossovers=4",
        "memetic" => "generation=8,population=6,patience=2",
        "pareto" => "population=10,parents=4,mutants=4,crossovers=4",
        other => panic!("say what small generations of {other} are"),
    };
    format!("{name}[{options}]")
}

fn settings(algorithm: &str, proxy: &str) -> Settings {
    let limits = Limits { params: Bound { min: 0, max: 40_000 }, ..Limits::default() };
    Settings { limits, seed: 3, ..Settings::new(small()).search(algorithm, proxy).unwrap() }
}

fn run(settings: &Settings, store: &mut Store) -> Study {
    StudyBuilder::from(settings.clone()).in_store(store).name("test").run().unwrap()
}

fn trials(store: &Store) -> Vec<Trial> {
    store.trials(&store.find("test").unwrap().unwrap()).unwrap().0
}

fn whole(settings: &Settings) -> (Study, Vec<Trial>) {
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
        if let Some((count, ..)) =
            about.options.iter().find(|(_, default, _)| default.parse::<u64>().is_ok_and(|n| n > 1))
        {
            let huge = format!("{}[{count}={}]", about.name, u64::MAX);
            let error =
                foretell::search::parse::<u8>(&huge).err().unwrap_or_else(|| panic!("{huge} was accepted"));
            assert!(error.to_string().contains("1000000"), "{error}");
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
            if (name, proxy) == ("dp", "dss++") {
                continue;
            }
            let settings = Settings { budget: Some(30), ..settings(&quick(name), proxy) };
            let undisturbed = whole(&settings).0;
            let mut store = Store::memory().unwrap();
            for (stop, threads) in [(1, 1), (9, 3), (10, 1), (11, 2), (17, 4), (29, 1), (30, 3)] {
                let settings = Settings { budget: Some(stop), ..settings.clone() };
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| assert_eq!(run(&settings, &mut store).progress.done, stop, "{name}"));
            }
            let again = run(&settings, &mut store);
            assert_eq!((again.hash, again.resumed), (undisturbed.hash, 30), "{name} {proxy}");
            assert_eq!(again.progress, undisturbed.progress, "{name} {proxy}");
        }
    }
}

/// What is exact says so of what it cannot do, and finds what enumeration finds.
#[test]
fn the_exact_search_is_exact_or_refuses() {
    let refused = |proxy: &str| {
        let settings = Settings { budget: Some(5), ..settings("dp", proxy) };
        let error = StudyBuilder::from(settings.clone()).in_store(&mut Store::memory().unwrap()).run();
        error.unwrap_err().to_string()
    };
    assert!(refused("dss++").contains("more than the shape"));
    let sharded = Settings { shard: Some(Shard::parse("1/2").unwrap()), ..settings("dp", "nsc") };
    let error = StudyBuilder::from(sharded.clone()).in_store(&mut Store::memory().unwrap()).run();
    assert!(error.unwrap_err().to_string().contains("one job"));
    let value = |algorithm: &str| {
        let (_, trials) = whole(&settings(algorithm, "nsc"));
        trials.iter().map(|trial| trial.objectives[0]).fold(f64::NEG_INFINITY, f64::max)
    };
    assert_eq!(value("dp[top=1]"), value("exhaustive"));
}

/// A space of 20 networks is searched to its end by everyone but who needs not look.
#[test]
fn small_spaces_are_exhausted() {
    let text = "name = \"few\"\nfamily = \"bert\"\n[fixed]\nvocab_size = 50\nhidden_size = 16\n[choices]\nnum_layers = [1, 2]\n\
                num_heads = [2, 4]\nffn_dim = [16, 32]\n";
    let space = space::parse("test", text).unwrap();
    for entry in catalogue::<Architecture>().iter().filter(|entry| entry.about.name != "dp") {
        let name = entry.about.name;
        let mut store = Store::memory().unwrap();
        let summary = run(&Settings::new(space.clone()).search(&quick(name), "params").unwrap(), &mut store);
        assert_eq!(summary.progress.done, 20, "{name} stopped: {}", summary.stopped);
    }
}

/// A candidate that fails is recorded with its kind; the study goes on.
#[test]
fn failures_are_recorded_and_end_nothing() {
    let cells = space::preset("nasbench-nlp").unwrap();
    let settings = Settings {
        budget: Some(12),
        ..Settings::new(cells).search("random[batch=5]", "attention-confidence[batch=1,tokens=2]").unwrap()
    };
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
        Settings { limits, ..Settings::new(small()).search("random", "nsc").unwrap() },
        Settings { memory: Some(10), ..Settings::new(small()).search("random", "nsc").unwrap() },
    ] {
        let error = StudyBuilder::from(settings.clone()).in_store(&mut store).run().unwrap_err();
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
        StudyBuilder::from(other.clone()).in_store(&mut store).name("test").run().unwrap_err().to_string();
    assert!(error.contains("objectives was") && error.contains("another name"), "{error}");
}

#[test]
fn several_objectives_give_a_front() {
    let objectives = vec![Objective::proxy("nsc").unwrap(), Objective::Params, Objective::Memory];
    let settings = Settings { objectives, budget: Some(60), ..settings(&quick("pareto"), "nsc") };
    let (_, trials) = whole(&settings);
    let leaderboard = study::Leaderboard::new(&settings.objectives, &Ranks::of(&trials).unwrap()).unwrap();
    assert!(leaderboard.front.len() > 3 && (0.0..=1.0).contains(&leaderboard.hypervolume), "{leaderboard:?}");
    assert!(leaderboard.knee.is_some_and(|knee| leaderboard.front.contains(&knee)));
}

fn shards(algorithm: &str, count: u64) -> Vec<Store> {
    let shard = |index: u64| {
        let shard = Some(Shard::parse(&format!("{index}/{count}")).unwrap());
        let mut store = Store::memory().unwrap();
        run(&Settings { shard, budget: Some(61), ..settings(algorithm, "nsc") }, &mut store);
        store
    };
    (1..=count).map(shard).collect()
}

/// The study that shards were united into: its trials and its hash.
fn united(order: &[usize], shards: &[Store]) -> (Vec<Trial>, String) {
    let mut store = Store::memory().unwrap();
    order.iter().for_each(|shard| drop(store.merge(&shards[*shard]).unwrap()));
    store.verify().unwrap();
    (trials(&store), store.hash(&store.find("test").unwrap().unwrap()).unwrap())
}

/// Every architecture is drawn by one shard, budgets add up, and merging knows neither order nor number.
#[test]
fn shards_share_a_search_and_merge_in_any_order() {
    // An exact search has nothing to share.
    for entry in catalogue::<Architecture>().iter().filter(|entry| entry.about.name != "dp") {
        let name = entry.about.name;
        let shards = shards(&quick(name), 3);
        let parts: Vec<Vec<Trial>> = (1..=3)
            .map(|i| {
                let store = &shards[i - 1];
                store.trials(&store.find(&format!("test-{i}of3")).unwrap().unwrap()).unwrap().0
            })
            .collect();
        assert_eq!(parts.iter().map(Vec::len).collect::<Vec<_>>(), [21, 20, 20], "{name}");
        let mut all: Vec<&str> = parts.iter().flatten().map(|trial| trial.id.as_str()).collect();
        all.sort_unstable();
        all.dedup();
        if ["random", "exhaustive"].contains(&name) {
            assert_eq!(all.len(), 61, "{name}: shards drew the same");
        }
        let (merged, hash) = united(&[0, 1, 2], &shards);
        assert_eq!(merged.iter().map(|trial| trial.id.as_str()).collect::<Vec<_>>(), all, "{name}");
        for order in [&[2, 1, 0][..], &[1, 0, 2, 1, 1, 0]] {
            assert_eq!(united(order, &shards).1, hash, "{name} {order:?}");
        }
        assert_ne!(united(&[0, 1], &shards).1, hash);
        // Stores that were merged before are merged again.
        let mut some = Store::memory().unwrap();
        some.merge(&shards[2]).unwrap();
        some.merge(&shards[0]).unwrap();
        let mut store = Store::memory().unwrap();
        store.merge(&shards[1]).unwrap();
        store.merge(&some).unwrap();
        assert_eq!(store.hash(&store.find("test").unwrap().unwrap()).unwrap(), hash, "{name}");
    }
    // All shards of an exhaustive search together are the whole.
    let mut whole = whole(&settings("exhaustive", "nsc")).1;
    let shards: Vec<Store> = (1..=4)
        .map(|i| {
            let shard = Some(Shard::parse(&format!("{i}/4")).unwrap());
            let mut store = Store::memory().unwrap();
            run(&Settings { shard, ..settings("exhaustive", "nsc") }, &mut store);
            store
        })
        .collect();
    whole.sort_by(|a, b| a.id.cmp(&b.id));
    let ids = |trials: &[Trial]| trials.iter().map(|trial| trial.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&united(&[3, 1, 0, 2], &shards).0), ids(&whole));
}

/// Counts how often it is asked; fails for every fourth network.
#[derive(Default)]
struct Oracle(AtomicU64);

impl Evaluator for Oracle {
    fn label(&self) -> String {
        "oracle".to_owned()
    }
    fn evaluate(&self, architecture: &Architecture) -> Result<f64, Failure> {
        self.0.fetch_add(1, Ordering::Relaxed);
        match architecture.params().total % 4 {
            0 => Err(Failure::verdict("four", "divisible by 4")),
            _ => Ok(-(architecture.params().total as f64)),
        }
    }
}

/// Etas evaluates the few that the proxy lets through, three at first and three of each pool, and its parents are the best
/// of these; other searchers ask about their best. Nothing is asked twice, and resuming asks nothing again.
#[test]
fn evaluators_are_asked_about_few_and_once() {
    let entries = catalogue::<Architecture>();
    for entry in &entries {
        let name = entry.about.name;
        let oracle = Arc::new(Oracle::default());
        let evaluator: Option<Arc<dyn Evaluator>> = Some(oracle.clone());
        let settings =
            Settings { evaluator, evaluate_top: 4, budget: Some(28), ..settings(&quick(name), "nsc") };
        let expected = if name == "etas" { 3 + 3 * 3 } else { 4 };
        let asked = || oracle.0.swap(0, Ordering::Relaxed);
        let undisturbed = whole(&settings).0;
        assert_eq!(asked(), expected, "{name}");
        let mut store = Store::memory().unwrap();
        let first = Settings { budget: Some(10), evaluate_top: 0, ..settings.clone() };
        run(&first, &mut store);
        let before = asked();
        let again = run(&settings, &mut store);
        assert_eq!(again.hash, undisturbed.hash, "{name}");
        assert_eq!(before + asked(), expected, "{name}");
        run(&settings, &mut store);
        assert_eq!(asked(), 0, "{name} asked again");
        let study = store.find("test").unwrap().unwrap();
        let (said, _) = store.evaluations(&study).unwrap();
        let sound = |status: &str| status == "ok" || status == "four";
        assert!(said.iter().all(|said| sound(&said.status) && said.value.is_nan() != (said.status == "ok")));
        if name != "etas" {
            let ranks = store.ranks(&study).unwrap();
            let best = study::Leaderboard::new(&settings.objectives, &ranks).unwrap().best(4);
            assert_eq!(said.iter().map(|said| said.trial as usize).collect::<Vec<_>>(), best, "{name}");
        }
        let other: Option<Arc<dyn Evaluator>> =
            Some(Arc::new(foretell::study::External::new("x {dir}", Duration::MAX, 0, false).unwrap()));
        let other = Settings { evaluator: other, ..settings.clone() };
        let error = StudyBuilder::from(other.clone()).in_store(&mut store).name("test").run().unwrap_err();
        assert!(error.to_string().contains("oracle"), "{error}");
    }
}

/// The parameters; not finite for every third network.
#[derive(serde::Deserialize)]
struct Picky {}

static PICKY: About =
    About { name: "picky", sentence: "Fails for every third network.", by_name: true, ..About::SHAPE };

impl Proxy for Picky {
    fn score(&self, input: &ProxyInput) -> foretell::error::Result<Score> {
        match input.subject.params().total {
            params if params % 3 == 0 => {
                Err(Error::NonFinite { proxy: "picky", value: "NaN".to_owned(), place: "a third".to_owned() })
            }
            params => Ok(Score::from(params as f64)),
        }
    }
}

/// About a third of the candidates fails: the study ends as planned, and the others are ranked.
#[test]
fn a_third_of_the_candidates_may_fail() {
    proxy::register::<Picky>(&PICKY).unwrap();
    for algorithm in ["random[batch=7]".to_owned(), quick("evolution"), quick("pareto")] {
        let settings = Settings { budget: Some(40), ..settings(&algorithm, "picky") };
        let mut store = Store::memory().unwrap();
        let builder = StudyBuilder::from(settings.clone()).in_store(&mut store).name("test");
        let done = builder.run().unwrap();
        assert_eq!(done.progress.done, 40);
        println!("{algorithm}: {} of 40 failed", done.progress.failed);
        assert!((1..40).contains(&done.progress.failed), "{algorithm}");
        let ranks = store.ranks(&store.find("test").unwrap().unwrap()).unwrap();
        let leaderboard = study::Leaderboard::new(&settings.objectives, &ranks).unwrap();
        assert_eq!(leaderboard.succeeded().len() as u64, 40 - done.progress.failed);
        assert!(leaderboard.best(40).iter().all(|trial| trials(&store)[*trial].ok()));
        store.verify().unwrap();
    }
}
