//! Work stops soon after its cancel token, from any thread, and resumes. On a quiet machine that is within half a second
//! (`cargo bench --bench cancel`); here other tests run at the same time.

use foretell::cancel::CancelToken;
use foretell::data::{Data, Tokeniser};
use foretell::prelude::*;
use foretell::store::Store;
use foretell::study::{Settings, StudyBuilder};
use foretell::train::{self, Recipe};
use std::time::{Duration, Instant};

/// Runs work whose token is cancelled after a while; how long it went on after that, and what came of it.
fn cancelled<T>(after: Duration, work: impl FnOnce(CancelToken) -> T) -> (Duration, T) {
    let token = CancelToken::default();
    let other = token.clone();
    let stopper = std::thread::spawn(move || {
        std::thread::sleep(after);
        other.cancel();
        Instant::now()
    });
    let result = work(token);
    let ended = Instant::now();
    (ended.saturating_duration_since(stopper.join().unwrap()), result)
}

const SOON: Duration = Duration::from_secs(5);

#[test]
fn scoring_stops_inside_a_pass() {
    let wide =
        serde_json::json!({"family": "vit", "embed_dim": 384, "depth": 16, "num_heads": 6, "mlp_ratio": 4});
    let networks = vec![space::read_architecture(&wide).unwrap(); 8];
    let (late, table) = cancelled(Duration::from_millis(300), |cancel| {
        let options = Options { cancel, ..Options::default() };
        Scorer::new(Request::parse_list("snip[batch=16]").unwrap(), options).table(&networks, &[0], &|| ())
    });
    assert_eq!(table.unwrap_err().kind(), "cancelled");
    assert!(late < SOON, "{late:?}");
}

#[test]
fn a_cancelled_study_resumes_to_the_same_hash() {
    let settings =
        Settings::new(space::preset("flexibert").unwrap()).search("random", "snip[batch=2]").unwrap();
    let settings = Settings { budget: Some(24), seeds: 1, ..settings };
    let whole = StudyBuilder::from(settings.clone()).run().unwrap();
    let mut store = Store::memory().unwrap();
    let (late, stopped) = cancelled(Duration::from_millis(200), |cancel| {
        StudyBuilder::from(Settings { budget: Some(100_000), ..settings.clone() })
            .in_store(&mut store)
            .name("s")
            .cancel(cancel)
            .run()
    });
    assert_eq!(stopped.unwrap_err().kind(), "cancelled");
    assert!(late < SOON, "{late:?}");
    let stored = store.find("s").unwrap().map(|study| study.trials).unwrap_or_default();
    assert!(stored < 100_000);
    let mut fresh = Store::memory().unwrap();
    let (_, stopped) = cancelled(Duration::from_millis(30), |cancel| {
        StudyBuilder::from(settings.clone()).in_store(&mut fresh).name("s").cancel(cancel).run()
    });
    let resumed = StudyBuilder::from(settings).in_store(&mut fresh).name("s").run().unwrap();
    assert_eq!(resumed.hash, whole.hash, "{stopped:?}");
}

#[test]
fn an_exact_search_stops() {
    let limits = Limits { params: Bound { min: 0, max: 100_000_000 }, ..Limits::default() };
    let builder = Study::builder(space::preset("gpt2-public").unwrap()).limits(limits);
    let (late, stopped) = cancelled(Duration::from_millis(300), |cancel| builder.cancel(cancel).run());
    assert!(late < SOON, "{late:?}");
    // A quick machine may be done before the token is cancelled.
    assert!(stopped.map_or_else(|error| error.kind() == "cancelled", |study| study.answer.proved));
}

#[test]
fn training_stops_inside_a_step() {
    let data = Data::demo(Tokeniser::Bytes).unwrap();
    let network = serde_json::json!({"family": "gpt2", "vocab_size": 257, "context_len": 64, "d_model": 96, "n_layer": 3,
        "n_head": 4, "d_inner": 256});
    let network = train::fit(&space::read_architecture(&network).unwrap(), &data).unwrap();
    let recipe = Recipe { steps: 100_000, batch: 16, ..Recipe::default() };
    let (late, stopped) =
        cancelled(Duration::from_millis(400), |cancel| cancel.run(|| train::run(&network, &data, &recipe)));
    assert!(late < SOON, "{late:?}");
    let error = stopped.and_then(|outcome| outcome).unwrap_err();
    assert!(["cancelled", "interrupted"].contains(&error.kind()), "{error}");
}
