//! What the machine does is never a verdict on a network: the candidate stays open, and the resumed study is the same.

use foretell::architecture::Architecture;
use foretell::error::Error;
use foretell::prelude::*;
use foretell::store::Store;
use foretell::study::{Evaluator, Failure, Settings, StudyBuilder};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts parameters; the machine fails at one of the calls.
struct Unlucky {
    calls: AtomicU64,
    fails_at: u64,
}

impl Evaluator for Unlucky {
    fn label(&self) -> String {
        "unlucky".to_owned()
    }
    fn evaluate(&self, architecture: &Architecture) -> Result<f64, Failure> {
        if self.calls.fetch_add(1, Ordering::Relaxed) == self.fails_at {
            return Err(Error::write("full", std::io::ErrorKind::StorageFull.into()).into());
        }
        Ok(-(architecture.params().total as f64))
    }
}

fn unlucky(fails_at: u64) -> Settings {
    let settings = Settings::new(space::preset("flexibert").unwrap()).search("random", "nsc").unwrap();
    let evaluator = Unlucky { calls: AtomicU64::new(0), fails_at };
    Settings { budget: Some(20), evaluator: Some(Arc::new(evaluator)), ..settings }
}

#[test]
fn an_evaluation_that_the_machine_ended_is_made_again() {
    let whole = StudyBuilder::from(unlucky(u64::MAX)).run().unwrap();
    for fails_at in 0..5 {
        let mut store = Store::memory().unwrap();
        let mut run = |settings| StudyBuilder::from(settings).in_store(&mut store).name("s").run();
        assert_eq!(run(unlucky(fails_at)).unwrap_err().kind(), "write");
        let resumed = run(unlucky(u64::MAX)).unwrap();
        assert_eq!(resumed.hash, whole.hash);
        let study = store.find("s").unwrap().unwrap();
        let (rows, _) = store.evaluations(&study).unwrap();
        assert_eq!(rows.len(), 5);
        assert!(rows.iter().all(|row| row.value().is_some()), "{rows:?}");
    }
}

/// A candidate that needs more memory than there is ends the run, and is scored where there is enough; one that has to wait
/// for others gets the same score as alone.
#[test]
fn memory_decides_nothing() {
    let settings =
        Settings::new(space::preset("flexibert").unwrap()).search("random", "snip[batch=1]").unwrap();
    let settings = Settings { budget: Some(5), seeds: 1, ..settings };
    let whole = StudyBuilder::from(settings.clone()).run().unwrap();
    let mut store = Store::memory().unwrap();
    let mut run = |memory: u64, threads: usize| {
        let options = Options { memory: Some(memory), ..Options::default() };
        let builder = StudyBuilder::from(settings.clone()).scoring(options).in_store(&mut store).name("s");
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| builder.run())
    };
    // Too little for any, for the larger ones, for more than a few at once.
    let refused = (24..40).take_while(|bits| match run(1 << bits, 8) {
        Err(error) => error.kind() == "memory",
        Ok(resumed) => resumed.hash != whole.hash,
    });
    assert!((1..15).contains(&refused.count()));
    let study = store.find("s").unwrap().unwrap();
    assert_eq!(study.trials, 5);
}

/// A request that never fits fails alone.
#[test]
fn a_huge_request_does_not_fail_its_neighbours() {
    let network =
        space::preset("flexibert").unwrap().sample(&mut foretell::seed::Seed(0).stream("sample", 0));
    let requests = Request::parse_list("nsc,snip[batch=2],ntkt[batch=4096]").unwrap();
    let options = Options { memory: Some(2 << 30), ..Options::default() };
    let rows = Scorer::new(requests, options).table(&[network], &[0], &|| ()).unwrap();
    let kinds: Vec<_> = rows[0].cells.iter().map(|cell| cell.mean().map_err(|e| e.kind()).err()).collect();
    assert_eq!(kinds, [None, None, Some("memory")]);
}
