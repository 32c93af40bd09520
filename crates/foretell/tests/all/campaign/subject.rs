//! A store with studies of every kind, and what every reading command says of it.

use super::damage::Damage;
use foretell::architecture::Architecture;
use foretell::error::{Error, Result};
use foretell::report;
use foretell::score::Options;
use foretell::space;
use foretell::store::{Measurement, Store};
use foretell::study::{self, Baseline, Evaluator, Failure, Objective, Settings, Shard, StudyBuilder, View};
use rusqlite::Connection;
use serde_json::json;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The store, its bytes, and what every command says of it.
pub struct Subject {
    folder: PathBuf,
    pub path: PathBuf,
    pub bytes: Vec<u8>,
    said: Vec<(String, String)>,
    round: Cell<usize>,
}

/// What a command says of a damaged store.
pub enum Outcome {
    Same,
    /// The kind of the error.
    Refused(&'static str),
    Other(String),
}

/// Says something of every network, and fails on some.
struct Sizes;

impl Evaluator for Sizes {
    fn label(&self) -> String {
        "sizes".to_owned()
    }

    fn evaluate(&self, architecture: &Architecture) -> Result<f64, Failure> {
        match architecture.params().total {
            few if few % 5 < 2 => Err(Failure { status: "exit", message: format!("{few} parameters") }),
            other => Ok(-(other as f64)),
        }
    }
}

fn settings(algorithm: &str, proxy: &str, budget: u64) -> Settings {
    let space = space::preset("autoformer-tiny").unwrap();
    Settings { budget: Some(budget), ..Settings::new(space).search(algorithm, proxy).unwrap() }
}

fn run(store: &mut Store, settings: Settings, name: &str) {
    StudyBuilder::from(settings).in_store(store).name(name).command("search").run().unwrap();
}

/// A study with latencies that were measured; these are made up, so that they are the same on every machine.
fn timed(store: &mut Store) {
    let mut settings = settings("random", "nsc", 8);
    run(store, settings.clone(), "untimed");
    settings.latency = Some(0.02);
    let other = store.find("untimed").unwrap().unwrap();
    let trials = store.trials(&other).unwrap().0;
    let study = store.create("timed", &settings.config().unwrap(), "").unwrap();
    let digest = store.trials(&study).unwrap().1;
    store.append(&study, &trials, 3, &digest).unwrap();
    let mut digest = store.measurements(&study).unwrap().1;
    for (number, trial) in trials.iter().take(4).enumerate() {
        let seconds = 0.018 + 0.001 * number as f64;
        let latency =
            json!({"seconds": seconds, "upper": seconds, "predicted": 0.02, "interval": [0.01, 0.03]});
        let (genes, phase) = (trial.genes.clone(), "prefill".to_owned());
        let row = Measurement { stage: 8, trial: Some(trial.number), genes, phase, latency };
        digest = store.measured(&study, number as u64, &row, &digest).unwrap();
    }
    let answer = json!({"winner": 1, "reason": "objective"});
    store.set_answer(&study, &answer).unwrap();
    store.stop(&study, Some("budget")).unwrap();
}

impl Subject {
    /// Builds the store; `name` keeps those of different tests apart.
    pub fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("foretell-campaign-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("store.db");
        let mut store = Store::open(&path).unwrap();
        let mut evaluated = settings("evolution[population=5]", "nsc", 14);
        evaluated.evaluator = Some(Arc::new(Sizes));
        run(&mut store, evaluated, "evaluated");
        let mut several = settings("pareto[population=5]", "nsc", 14);
        several.objectives.push(Objective::Params);
        run(&mut store, several, "several");
        timed(&mut store);
        // Shards of stores of their own, which merging makes into one study more.
        for shard in ["1/2", "2/2"] {
            let mut other = Store::memory().unwrap();
            let shard = Some(Shard::parse(shard).unwrap());
            run(&mut other, Settings { shard, ..settings("random", "nsc", 12) }, "job");
            study::merge(&mut store, &[other], Options::default).unwrap();
        }
        drop(store);
        let bytes = std::fs::read(&path).unwrap();
        let mut subject = Subject { folder, path, bytes, said: Vec::new(), round: Cell::new(0) };
        let names = subject.names();
        assert_eq!(names.len(), 7, "{names:?}");
        subject.said = subject
            .commands(&subject.path, None)
            .into_iter()
            .map(|(command, said)| {
                let said = said.unwrap_or_else(|error| panic!("{command}: {error}"));
                (command, said)
            })
            .collect();
        subject
    }

    fn names(&self) -> Vec<String> {
        let store = Store::read(&self.path).unwrap();
        store.studies().unwrap().into_iter().map(|study| study.name).collect()
    }

    /// A damaged copy; none if the database itself refuses the damage or nothing changes.
    pub fn copy(&self, damage: &Damage) -> Option<PathBuf> {
        let path = self.folder.join("copy.db");
        for side in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{}{side}", path.display()));
        }
        let bytes = damage.apply(&self.bytes);
        std::fs::write(&path, &bytes).unwrap();
        let Damage::Said(sql) = damage else { return (bytes != self.bytes).then_some(path) };
        let connection = Connection::open(&path).unwrap();
        let relaxed =
            "PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON; PRAGMA synchronous = OFF;";
        connection.execute_batch(relaxed).unwrap();
        connection.execute_batch(sql).ok()?;
        (connection.total_changes() > 0 || sql.starts_with("DROP")).then_some(path)
    }

    /// What every command says of a copy; the slow ones for one study only, and only where it is to be thorough.
    pub fn ask(&self, copy: &Path, thorough: bool) -> Vec<(String, Outcome)> {
        self.round.set(self.round.get() + 1);
        let slow = if thorough { self.round.get() } else { usize::MAX };
        let compare = |(command, said): (String, Result<String>)| {
            let known = self.said.iter().find(|(known, _)| *known == command).map(|(_, said)| said);
            let outcome = match said {
                Ok(said) if Some(&said) == known => Outcome::Same,
                Ok(said) => Outcome::Other(said),
                Err(error) => Outcome::Refused(error.kind()),
            };
            (command, outcome)
        };
        self.commands(copy, Some(slow)).into_iter().map(compare).collect()
    }

    /// Everything that reads a store, by name. Of slow commands one in turn, or all.
    fn commands(&self, path: &Path, slow: Option<usize>) -> Vec<(String, Result<String>)> {
        let names = ["evaluated", "several", "untimed", "timed", "job-1of2", "job-2of2", "job"];
        let mut said = vec![("verify".to_owned(), guarded(|| verify(path)))];
        said.push(("list".to_owned(), guarded(|| list(path))));
        for (place, name) in names.into_iter().enumerate() {
            said.push((format!("show {name}"), guarded(|| show(path, name))));
            if slow.is_none_or(|round| round != usize::MAX && round % names.len() == place) {
                said.push((format!("report {name}"), guarded(|| page(path, name))));
            }
        }
        if slow.is_none_or(|round| round != usize::MAX) {
            said.push(("merge".to_owned(), guarded(|| merged(path))));
        }
        said
    }
}

impl Drop for Subject {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A panic is an answer that no command may give.
fn guarded(command: impl FnOnce() -> Result<String>) -> Result<String> {
    catch_unwind(AssertUnwindSafe(command)).unwrap_or_else(|_| Ok("a panic".to_owned()))
}

fn verify(path: &Path) -> Result<String> {
    Ok(format!("{:?}", Store::read(path)?.verify()?))
}

fn list(path: &Path) -> Result<String> {
    let store = Store::read(path)?;
    let studies = store.studies()?;
    let said: Result<Vec<String>> = studies
        .iter()
        .map(|study| {
            let hash = store.hash(study)?;
            Ok(format!("{} {:?} {} {} {hash}", study.name, study.stopped, study.rejected, study.provenance))
        })
        .collect();
    Ok(said?.join("\n"))
}

/// What `best`, `show` and `front` print.
fn show(path: &Path, name: &str) -> Result<String> {
    let store = Store::read(path)?;
    let Some(study) = store.find(name)? else { return Err(Error::data(name, "is not there")) };
    let view = View::of(&store, &study)?;
    let mut said = format!(
        "{:?} {} {:?} {:?} {:?} {:?}\n",
        view.answer,
        view.decided,
        view.leaderboard.front,
        view.leaderboard.knee,
        view.evaluations,
        view.measurements
    );
    said += &format!("{:?} {} {}\n", view.study.stopped, view.trials, store.hash(&study)?);
    for trial in view.best(5).into_iter().chain(view.leaderboard.front.iter().copied().take(3)) {
        let found = view.trial(trial)?;
        said += &format!("{found:?} {:?}\n", view.value(trial, 0));
    }
    // The seconds of trials are no part of any answer but this one.
    store.each_trial(&study, &mut |trial| {
        said += &format!("{} {:?}\n", trial.id, trial.seconds);
        Ok(())
    })?;
    Ok(said)
}

fn page(path: &Path, name: &str) -> Result<String> {
    let store = Store::read(path)?;
    let Some(study) = store.find(name)? else { return Err(Error::data(name, "is not there")) };
    let view = View::of(&store, &study)?;
    // A random search for a study with a limit on latency would have to measure.
    let random = if name == "timed" { Baseline::Absent } else { Baseline::of(&store, &study)? };
    Ok(report::write(&view, &store.hash(&study)?, &random, None, &[])?.html)
}

/// What a store holds after it took over all that another has.
fn merged(path: &Path) -> Result<String> {
    let mut into = Store::memory()?;
    let done = study::merge(&mut into, &[Store::read(path)?], Options::default)?;
    into.verify()?;
    let mut said = format!("{done:?}");
    for study in into.studies()? {
        let view = View::of(&into, &study)?;
        said += &format!("\n{} {:?} {:?} {}", study.name, study.stopped, view.answer, into.hash(&study)?);
    }
    Ok(said)
}
