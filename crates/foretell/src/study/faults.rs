//! A disk that fails at any one call of the store: the study stops with a typed error, and the same call ends it as if
//! nothing had happened once the disk works again.

use super::{Evaluator, Failure, Settings, StudyBuilder};
use crate::architecture::Architecture;
use crate::error::{Error, Result};
use crate::space;
use crate::store::Store;
use crate::store::failpoint::faulty;
use std::path::Path;
use std::sync::Arc;

struct Sizes;

impl Evaluator for Sizes {
    fn label(&self) -> String {
        "sizes".to_owned()
    }

    fn evaluate(&self, architecture: &Architecture) -> Result<f64, Failure> {
        Ok(architecture.params().total as f64)
    }
}

fn run(path: &Path) -> Result<(String, Option<u64>)> {
    let mut settings = Settings::new(space::preset("autoformer-tiny")?).search("random[batch=3]", "nsc")?;
    (settings.budget, settings.evaluate_top) = (Some(5), 2);
    settings.evaluator = Some(Arc::new(Sizes));
    let study = StudyBuilder::from(settings).store(path).name("a").run()?;
    Ok((study.hash, study.answer.winner))
}

#[test]
fn a_study_survives_a_disk_that_fails_at_any_call() {
    // In memory where there is such a place: a real disk would be waited for hundreds of times.
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    let folder = folder.join(format!("foretell-faults-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.canonicalize().unwrap().join("store.db");
    let whole = run(&path).unwrap();
    let mut calls = 0;
    for nth in 1.. {
        for side in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{}{side}", path.display()));
        }
        faulty::fail_from(&path, nth);
        let first = run(&path);
        let failed = faulty::failed(&path);
        faulty::fail_from(&path, 0);
        if !failed {
            assert_eq!(first.unwrap(), whole);
            break;
        }
        calls = nth;
        let error = first.expect_err("a fault is not an answer");
        assert!(matches!(error, Error::Store { .. }), "call {nth}: {error}");
        assert_eq!(run(&path).unwrap(), whole, "after a fault at call {nth}");
        Store::read(&path).unwrap().verify().unwrap();
    }
    println!("{calls} calls of the store failed, each once");
    assert!(calls > 40, "only {calls} calls");
    std::fs::remove_dir_all(&folder).unwrap();
}
