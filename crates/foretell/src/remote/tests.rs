//! Workers in this process that lose, repeat and delay units.

use super::*;
use crate::error::{Error, Result};
use crate::score::Executor;
use crate::space;
use crate::study::{Settings, Study, StudyBuilder};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What happens to the nth unit.
type Fate = fn(u64, &Parcel) -> &'static str;

/// A carrier that computes on the calling thread.
struct Here {
    fate: Fate,
    state: Mutex<Past>,
}

/// Units so far, the task, and what is on its way back.
type Past = (u64, Vec<u8>, VecDeque<(u64, Outcome)>);

impl Here {
    fn dispatcher(fate: Fate, hang: Option<f64>) -> Arc<Dispatcher> {
        let carrier = Here { fate, state: Mutex::default() };
        Arc::new(Dispatcher::new(Box::new(carrier), Limits { seconds: 0.02, hang }).unwrap())
    }
}

impl Carrier for Here {
    fn slots(&self) -> Result<usize> {
        Ok(3)
    }

    fn share(&self, _: &str, task: &[u8]) -> Result<()> {
        self.state.lock().unwrap().1 = task.to_vec();
        Ok(())
    }

    fn exchange(&self, units: Vec<Parcel>, _: &[u64], _: Duration) -> Result<Vec<(u64, Outcome)>> {
        let mut state = self.state.lock().unwrap();
        for parcel in units {
            state.0 += 1;
            let reply = || Outcome::Reply(work(&state.1, &parcel.unit, None).unwrap());
            let outcome = match (self.fate)(state.0, &parcel) {
                "lost" => Outcome::Lost("a test".into()),
                "hangs" => continue,
                "refused" => Outcome::Refused("has another release".into()),
                "crashes" if parcel.guarded => {
                    Outcome::Reply(crashed(&state.1, &parcel.unit, "signal SIGSEGV").unwrap())
                }
                "crashes" => Outcome::Lost("a crash".into()),
                "twice" => {
                    let reply = reply();
                    state.2.push_back((parcel.number, reply.clone()));
                    reply
                }
                _ => reply(),
            };
            state.2.push_back((parcel.number, outcome));
        }
        // The last comes first.
        Ok(state.2.drain(..).rev().collect())
    }
}

fn searched(executor: Option<Arc<Dispatcher>>) -> Result<Study> {
    let settings = Settings::new(space::preset("gpt2").unwrap()).search("evolution", "nsc")?;
    let builder = StudyBuilder::from(Settings { budget: Some(120), ..settings });
    match executor {
        Some(executor) => builder.executor(executor as Arc<dyn Executor>).run(),
        None => builder.run(),
    }
}

#[test]
fn a_study_has_the_same_bits_whatever_happens_to_its_workers() {
    let alone = searched(None).unwrap();
    let fates: [(Fate, Option<f64>); 4] = [
        (|_, _| "done", None),
        (|nth, _| if nth % 3 == 0 { "lost" } else { "done" }, None),
        (|nth, _| if nth % 2 == 0 { "twice" } else { "done" }, None),
        (|nth, parcel| if nth % 7 == 0 && !parcel.guarded { "hangs" } else { "done" }, Some(0.1)),
    ];
    for (nth, (fate, hang)) in fates.into_iter().enumerate() {
        let executor = Here::dispatcher(fate, hang);
        let study = searched(Some(executor.clone())).unwrap();
        assert_eq!((&study.hash, study.progress.failed), (&alone.hash, 0), "fate {nth}");
        let status = executor.status();
        let seen = [status.lost > 0, status.twice > 0, status.hung > 0];
        assert_eq!(seen, [nth == 1, nth == 2, nth == 3], "fate {nth}: {status:?}");
    }
}

/// A network that crashes every process fails alone, after two tries; the others are scored.
#[test]
fn a_crashing_candidate_fails_alone() {
    let fate: Fate = |_, parcel| {
        let unit: Unit = serde_json::from_slice(&parcel.unit).unwrap();
        if unit.items.iter().any(|item| item.index == 7) { "crashes" } else { "done" }
    };
    let settings = Settings::new(space::preset("gpt2").unwrap()).search("random", "nsc").unwrap();
    let executor = Here::dispatcher(fate, None);
    let builder = StudyBuilder::from(Settings { budget: Some(40), ..settings }).executor(executor.clone());
    let study = builder.run().unwrap();
    assert_eq!((study.progress.done, study.progress.failed), (40, 1));
    assert_eq!((executor.status().crashed, executor.status().lost), (1, 1));
}

#[test]
fn workers_that_cannot_work_end_the_run() {
    let refused = searched(Some(Here::dispatcher(|_, _| "refused", None))).unwrap_err();
    assert_eq!(refused.to_string(), "workers: has another release");
    let hanging = searched(Some(Here::dispatcher(|_, _| "hangs", Some(0.05)))).unwrap_err();
    assert!(hanging.is_of_machine(), "{hanging}");
}

/// A worker of another release refuses a unit, and says both.
#[test]
fn another_release_is_refused_by_name() {
    let unit = Unit { version: "9.9.9".into(), task: String::new(), number: 0, items: Vec::new() };
    let error = work(b"", &serde_json::to_vec(&unit).unwrap(), None).unwrap_err().to_string();
    assert!(error.contains("worker on ") && error.contains(VERSION) && error.contains("9.9.9"), "{error}");
}

/// Scores keep their bits, and failures their kind and their words.
#[test]
fn rows_survive_the_journey() {
    let networks: Vec<_> = ["gpt2", "autoformer-tiny"]
        .map(|name| space::preset(name).unwrap().sample(&mut crate::seed::Seed(1).stream("test", 0)))
        .into();
    let proxies = ["nsc", "params", "attention-confidence[field=1]"];
    let task = |proxies: &[&str]| Task::Score {
        proxies: proxies.iter().map(|name| (*name).to_owned()).collect(),
        seeds: vec![3, 4],
        double: false,
        standalone: false,
        inputs: None,
    };
    assert!(matches!(
        work(&task(&proxies).written().0, &unit("a", &networks), None),
        Err(Error::Unknown { .. } | Error::Input { .. })
    ));
    let proxies = ["nsc", "shape-law[tokens=1000000]", "params"];
    let reply = work(&task(&proxies).written().0, &unit("b", &networks), None).unwrap();
    let reply: Reply = serde_json::from_slice(&reply).unwrap();
    let requests = proxies.map(|text| crate::proxy::Request::parse(text).unwrap());
    let here =
        crate::score::Scorer::new(requests, Default::default()).table(&networks, &[3, 4], &|| ()).unwrap();
    let mut failed = 0;
    for (there, here) in reply.rows.into_iter().zip(here) {
        for (there, here) in there.row().cells.iter().zip(&here.cells) {
            match (there.mean(), here.mean()) {
                (Ok(there), Ok(here)) => assert_eq!(there, here),
                (Err(there), Err(here)) => {
                    failed += 1;
                    assert_eq!((there.kind(), there.to_string()), (here.kind(), here.to_string()));
                    assert_eq!(there.is_of_machine(), here.is_of_machine());
                }
                other => panic!("{other:?}"),
            }
        }
    }
    assert_eq!(failed, 1, "a law of decoders says nothing of a vision network");
}

fn unit(task: &str, networks: &[crate::architecture::Architecture]) -> Vec<u8> {
    let item = |(index, network): (usize, &crate::architecture::Architecture)| Item {
        index,
        architecture: network.to_json(),
    };
    let items = networks.iter().enumerate().map(item).collect();
    serde_json::to_vec(&Unit { version: VERSION.into(), task: task.into(), number: 0, items }).unwrap()
}
