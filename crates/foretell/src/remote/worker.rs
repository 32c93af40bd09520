//! What a worker does: a unit in, rows out, and nothing else.

use super::task::{Answer, CellData, Reply, Task, Unit};
use super::{Item, VERSION};
use crate::architecture::Architecture;
use crate::cancel::CancelToken;
use crate::error::{Error, Result};
use crate::proxy::Request;
use crate::score::{Executor, Options, Scorer, Source, pass_memory};
use crate::space;
use crate::store;
use serde::Deserialize;
use serde_json::Value;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Who scores a task, by its digest, with which seeds.
type Known = (String, Arc<Scorer>, Vec<u64>);

/// The last of them: weights that all candidates share are drawn once.
static LAST: Mutex<Option<Known>> = Mutex::new(None);

/// What every unit of every release has.
#[derive(Deserialize)]
struct Envelope {
    version: String,
}

/// A unit as it was read, and what it needs.
struct Read {
    unit: Unit,
    architectures: Vec<Architecture>,
}

fn read(unit: &[u8]) -> Result<Read> {
    let wrong = |error: serde_json::Error| Error::data("unit", error.to_string());
    let Envelope { version } = serde_json::from_slice(unit).map_err(wrong)?;
    if version != VERSION {
        let message = format!(
            "has foretell {VERSION} and the study is run by {version}: install the same release on every machine"
        );
        return Err(Error::option(format!("worker on {}", host()), message));
    }
    let unit: Unit = serde_json::from_slice(unit).map_err(wrong)?;
    let read = |item: &Item| space::read_architecture(&Value::Object(item.architecture.clone()));
    let architectures = unit.items.iter().map(read).collect::<Result<_>>()?;
    Ok(Read { unit, architectures })
}

fn host() -> String {
    sysinfo::System::host_name().unwrap_or_else(|_| "this machine".to_owned())
}

/// Computes a unit of a task on the threads of the current pool, or by somebody else in this process.
pub fn work(task: &[u8], unit: &[u8], executor: Option<Arc<dyn Executor>>) -> Result<Vec<u8>> {
    let Read { unit, architectures } = read(unit)?;
    let (scorer, seeds) = scorer(task, &unit.task, executor)?;
    let start = Instant::now();
    // A scorer is kept for the next unit, whoever cancels this one.
    let rows = match CancelToken::current() {
        Some(token) => token.run(|| scorer.table(&architectures, &seeds, &|| ()))??,
        None => scorer.table(&architectures, &seeds, &|| ())?,
    };
    let answers = rows.iter().map(|row| row.cells.iter().map(CellData::from).collect());
    Ok(reply(&unit, &architectures, answers, start.elapsed().as_secs_f64()))
}

/// What is said of a unit whose process ended like this for the second time: every candidate failed.
pub fn crashed(task: &[u8], unit: &[u8], how: &str) -> Result<Vec<u8>> {
    let Read { unit, architectures } = read(unit)?;
    let (scorer, _) = scorer(task, &unit.task, None)?;
    let failed = CellData::failed(&Error::Crashed { how: how.to_owned() });
    let cells = vec![failed; scorer.requests().len()];
    Ok(reply(&unit, &architectures, architectures.iter().map(|_| cells.clone()), 0.0))
}

fn reply(
    unit: &Unit,
    architectures: &[Architecture],
    cells: impl Iterator<Item = Vec<CellData>>,
    seconds: f64,
) -> Vec<u8> {
    let answers = unit.items.iter().zip(architectures).zip(cells);
    let rows = answers.map(|((item, network), cells)| Answer { index: item.index, id: network.id(), cells });
    let reply = Reply {
        version: VERSION.to_owned(),
        processor: store::processor().to_owned(),
        host: host(),
        seconds,
        rows: rows.collect(),
    };
    serde_json::to_vec(&reply).expect("a reply is plain data")
}

fn scorer(task: &[u8], digest: &str, executor: Option<Arc<dyn Executor>>) -> Result<(Arc<Scorer>, Vec<u64>)> {
    let mut last = LAST.lock().expect("no holder panics");
    if let Some((known, scorer, seeds)) = &*last
        && known == digest
    {
        return Ok((scorer.clone(), seeds.clone()));
    }
    let task: Task =
        serde_json::from_slice(task).map_err(|error| Error::data("task of a unit", error.to_string()))?;
    let Task::Score { proxies, seeds, double, standalone, inputs } = task;
    let requests = proxies.iter().map(|text| Request::parse(text)).collect::<Result<Vec<_>>>()?;
    let options = Options {
        precision: Task::precision(double),
        weights: if standalone { Source::Standalone } else { Source::Shared },
        inputs,
        memory: pass_memory(),
        ..Options::default()
    };
    let mut scorer = Scorer::new(requests, options);
    if let Some(executor) = executor {
        scorer = scorer.executed_by(executor);
    }
    let scorer = Arc::new(scorer);
    *last = Some((digest.to_owned(), scorer.clone(), seeds.clone()));
    Ok((scorer, seeds))
}
