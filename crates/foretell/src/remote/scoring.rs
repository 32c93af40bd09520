//! Scoring by units: the [`Dispatcher`] as an [`Executor`].

use super::dispatcher::{Dispatcher, Run};
use super::task::{Answer, Reply};
use super::{Item, Task, VERSION};
use crate::architecture::{Architecture, Counter};
use crate::error::{Error, Result};
use crate::score::{Batch, Executor, Precision, Row, Source};
use std::sync::Mutex;

/// A batch on its way to workers.
struct Scored<'b> {
    batch: &'b Batch<'b>,
    task: Task,
    passes: bool,
}

impl Scored<'_> {
    fn weight(&self, network: &Architecture) -> f64 {
        match self.passes {
            // Weights are drawn and decomposed, too.
            true => 1.0 + network.flops(Counter::Exact).unwrap_or(0) as f64,
            false => 1.0,
        }
    }
}

impl Run for Scored<'_> {
    fn task(&self) -> &Task {
        &self.task
    }

    fn weights(&self) -> Vec<f64> {
        self.batch.architectures.iter().map(|network| self.weight(network)).collect()
    }

    fn item(&self, index: usize) -> Item {
        Item { index, architecture: self.batch.architectures[index].to_json() }
    }

    fn id(&self, index: usize) -> Option<String> {
        self.batch.architectures.get(index).map(Architecture::id)
    }

    fn memory(&self, indices: &[usize]) -> u64 {
        if !self.passes {
            return 0;
        }
        let networks = indices.iter().map(|index| &self.batch.architectures[*index]);
        // Modules of torch are not counted.
        let counted = networks.filter(|network| network.flops(Counter::Exact).is_some());
        let largest = counted.max_by_key(|network| network.memory().total());
        // One that cannot be counted is refused by name when it is scored.
        largest.and_then(|network| self.batch.scorer.peak_bytes(network).ok()).unwrap_or(0)
    }
}

impl Executor for Dispatcher {
    fn score(&self, batch: &Batch, each: &(dyn Fn(usize, Row) -> bool + Sync)) -> Result<()> {
        let options = batch.scorer.options();
        let standalone = match &options.weights {
            Source::Shared => false,
            Source::Standalone => true,
            Source::File(_) | Source::Given(_) => {
                let message =
                    "of a file belong to one network: it is scored on this machine, without an executor";
                return Err(Error::option("weights", message));
            }
        };
        if options.cache.is_some() {
            let message = "is read and written on this machine and has no effect where others score";
            return Err(Error::option("cache", message));
        }
        let requests = batch.scorer.requests();
        if let Some(request) = requests.iter().find(|request| request.about().name == "predicted") {
            let message = "is known to this process only, and quick: search without an executor";
            return Err(Error::option(request.label(), message));
        }
        let task = Task::Score {
            proxies: requests.iter().map(|request| request.label().to_owned()).collect(),
            seeds: batch.seeds.to_vec(),
            double: options.precision == Precision::F64,
            standalone,
            inputs: options.inputs.clone(),
        };
        let passes = requests.iter().any(|request| request.about().drawn());
        let run = Scored { batch, task, passes };
        let processors = Mutex::new(super::processors::Processors::default());
        let settle = |reply: &Header, answer: Answer| {
            let index = answer.index;
            let row = answer.row();
            let mut processors = processors.lock().expect("no holder panics");
            if let Some(said) = processors.note(&reply.processor, &reply.host, batch, index, &row) {
                log::warn!("{said}");
                self.say(said);
            }
            each(index, row)
        };
        self.run(&run, batch.scorer.cancel(), &settle)
    }

    fn width(&self) -> usize {
        self.status().slots.max(1)
    }
}

/// A reply without its rows.
pub(super) struct Header {
    pub(super) processor: String,
    pub(super) host: String,
    pub(super) seconds: f64,
}

impl Header {
    /// A reply in its two halves; one of another release is refused by the name of its machine.
    pub(super) fn of(bytes: &[u8]) -> Result<(Self, Vec<Answer>)> {
        let reply: Reply = serde_json::from_slice(bytes)
            .map_err(|error| Error::data("reply of a worker", error.to_string()))?;
        let Reply { version, processor, host, seconds, rows } = reply;
        if version != VERSION {
            let message =
                format!("has foretell {version} and this one is {VERSION}: install the same release");
            return Err(Error::option(format!("worker on {host}"), message));
        }
        Ok((Header { processor, host, seconds }, rows))
    }
}
