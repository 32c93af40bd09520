//! Candidates → scores: draws or reads weights, runs the union of all passes once, asks every proxy.
//!
//! A [`Scorer`] holds what many candidates share: the super-network their weights are slices of, nuclear norms of these
//! slices, the cache of scores. Candidates are scored in parallel, each by one thread, so results do not depend on how
//! many there are.

mod cache;
mod executor;
mod foreign;
mod memory;

pub use cache::Cache;
pub use executor::{Batch, Executor, Threads};
pub use foreign::{Foreign, score_foreign};
use memory::Gate;
pub use memory::{free_memory, pass_memory};

use crate::architecture::{Architecture, Tensor};
use crate::cancel::CancelToken;
use crate::error::{Error, Result};
use crate::network::{Initialisation, Supernet, Weights};
use crate::probe::{self, AnyWeights, Inputs, Number, Pass, PassResult, Setting, Worker};
use crate::proxy::{Drawing, Given, PassOverrides, ProxyInput, Request, Score, Spectra};
use crate::rank;
use crate::seed::Seed;
use rustc_hash::FxHashMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// The numbers passes compute with; those that need more take it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Precision {
    /// Single.
    #[default]
    F32,
    /// Double.
    F64,
}

/// Where weights come from.
#[derive(Debug, Clone, Default)]
pub enum Source {
    /// Slices of one super-network: similar candidates get similar weights, and comparisons mean something.
    #[default]
    Shared,
    /// A draw of its own for every candidate.
    Standalone,
    /// A safetensors file with the candidate's tensors by name.
    File(PathBuf),
    /// Weights at hand, of the one candidate they belong to.
    Given(Weights<f64>),
}

/// How candidates are scored.
#[derive(Debug, Default)]
pub struct Options {
    /// The numbers passes compute with.
    pub precision: Precision,
    /// Where weights come from.
    pub weights: Source,
    /// What networks are fed; drawn if absent.
    pub inputs: Option<Inputs>,
    /// Bytes that all passes together may take; no limit if absent. A pass waits for memory that others hold, and fails if it
    /// needs more than this alone, so results do not depend on the number of threads.
    pub memory: Option<u64>,
    /// Scores known from before; new ones are added.
    pub cache: Option<Cache>,
    /// Stops scoring, from any thread.
    pub cancel: CancelToken,
}

/// Scores candidates by several proxies at once.
pub struct Scorer {
    requests: Vec<Arc<Request>>,
    options: Options,
    executor: Arc<dyn Executor>,
    gate: Gate,
    draws: Mutex<FxHashMap<WeightsKey, Arc<Draw>>>,
}

/// Seed of the weights, and how they are filled.
type WeightsKey = (u64, Option<Initialisation>);

/// What all candidates of one draw of weights share.
struct Draw {
    single: Supernet<f32>,
    double: Supernet<f64>,
    spectra: Spectra,
}

/// What came of one candidate with one seed.
#[derive(Debug)]
pub struct Scored {
    /// One result per proxy, in the order asked for.
    pub scores: Vec<Result<Score>>,
    /// Passes that were run, with their seconds.
    pub passes: Vec<(Pass, f64)>,
    /// Seconds each proxy took beside the passes.
    pub seconds: Vec<f64>,
}

/// What came of one candidate and proxy with every seed.
#[derive(Debug, Default)]
pub struct Cell {
    /// One result per seed; a single one where nothing is drawn.
    pub scores: Vec<Result<Score>>,
    /// Seconds per seed: the proxy's share of the passes it looked at, and its own; 0 for what was known from before.
    pub seconds: f64,
}

impl Cell {
    /// The mean over all seeds, term by term; the first failure if any seed failed.
    pub fn mean(&self) -> Result<Score> {
        let scores = self.scores.iter().map(|score| score.as_ref().map_err(Error::clone));
        let scores = scores.collect::<Result<Vec<&Score>>>()?;
        let Some((first, others)) = scores.split_first() else {
            return Err(Error::option("score", "nothing was scored"));
        };
        let mut mean = (*first).clone();
        if others.is_empty() {
            return Ok(mean);
        }
        let n = scores.len() as f64;
        let average = |of: &dyn Fn(&Score) -> f64| scores.iter().map(|score| of(score)).sum::<f64>() / n;
        mean.value = average(&|score| score.value);
        for part in 0..mean.parts.len() {
            mean.parts[part] = average(&|score| score.parts.get(part).copied().unwrap_or(f64::NAN));
        }
        for term in 0..mean.terms.len() {
            mean.terms[term].value =
                average(&|score| score.terms.get(term).map_or(f64::NAN, |term| term.value));
        }
        Ok(mean)
    }

    /// The standard deviation of the value over seeds; none if there is one seed or a failure.
    pub fn deviation(&self) -> Option<f64> {
        let values = self.scores.iter().map(|score| score.as_ref().ok().map(|score| score.value));
        let values = values.collect::<Option<Vec<f64>>>()?;
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        (values.len() > 1).then(|| (squares / (n - 1.0)).sqrt())
    }
}

/// What came of one candidate.
#[derive(Debug, Default)]
pub struct Row {
    /// One cell per proxy, in the order asked for.
    pub cells: Vec<Cell>,
    /// Passes that were run, with their seconds over all seeds; none for what was known from before.
    pub passes: Vec<(Pass, f64)>,
}

/// Reusable memory of a thread.
#[derive(Default)]
pub struct Workers {
    single: Worker<f32>,
    double: Worker<f64>,
}

impl Scorer {
    /// A scorer of these proxies.
    pub fn new(requests: impl IntoIterator<Item = impl Into<Arc<Request>>>, options: Options) -> Self {
        let requests = requests.into_iter().map(Into::into).collect();
        Scorer {
            requests,
            options,
            executor: Arc::new(Threads),
            gate: Gate::default(),
            draws: Mutex::default(),
        }
    }

    /// The same with somebody else to do the work.
    pub fn executed_by(self, executor: Arc<dyn Executor>) -> Self {
        Scorer { executor, ..self }
    }

    /// How candidates are scored.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// How many candidates are scored at a time.
    pub fn width(&self) -> usize {
        self.executor.width()
    }

    /// Bytes that scoring a candidate takes: its weights, and the largest of its passes.
    pub fn peak_bytes(&self, architecture: &Architecture) -> Result<u64> {
        let needs = self.requests.iter().flat_map(|request| request.needs(architecture));
        let setting = Setting { inputs: self.options.inputs.as_ref(), ..Setting::new(architecture, Seed(0)) };
        let mut most = 0;
        for pass in probe::union(needs) {
            let double = pass.double || self.options.precision == Precision::F64;
            most = most.max(match double {
                true => probe::peak_bytes::<f64>(&setting, &pass)?,
                false => probe::peak_bytes::<f32>(&setting, &pass)?,
            });
        }
        Ok(most + architecture.memory().weights)
    }

    /// Bytes that all passes together may take.
    pub fn memory(&self) -> Option<u64> {
        self.options.memory
    }

    /// The token that stops it.
    pub fn cancel(&self) -> &CancelToken {
        &self.options.cancel
    }

    /// The proxies, in the order of all results.
    pub fn requests(&self) -> &[Arc<Request>] {
        &self.requests
    }

    fn draw(&self, drawing: Drawing) -> Arc<Draw> {
        let (seed, init) = (Seed(drawing.weights), drawing.init);
        let make = || {
            // Some initialisations depend on the size of a map, so that narrower ones are no slices of wider ones.
            let shared = matches!(self.options.weights, Source::Shared) && init.is_none();
            Arc::new(Draw {
                single: Supernet::new(seed).initialised(init),
                double: Supernet::new(seed).initialised(init),
                spectra: if shared { Spectra::shared() } else { Spectra::default() },
            })
        };
        let key = (drawing.weights, init);
        self.draws.lock().expect("no holder panics").entry(key).or_insert_with(make).clone()
    }

    /// What is given instead of drawn.
    fn given(&self) -> Given {
        Given {
            weights: matches!(self.options.weights, Source::File(_) | Source::Given(_)),
            inputs: self.options.inputs.is_some(),
        }
    }

    /// The score of one candidate by every proxy, with one seed.
    pub fn score(&self, architecture: &Architecture, seed: u64, workers: &mut Workers) -> Scored {
        let all: Vec<usize> = (0..self.requests.len()).collect();
        self.score_by(architecture, seed, &all, workers)
    }

    /// The same by some of the proxies.
    fn score_by(
        &self,
        architecture: &Architecture,
        seed: u64,
        chosen: &[usize],
        workers: &mut Workers,
    ) -> Scored {
        let mut scored = Scored { scores: Vec::new(), passes: Vec::new(), seconds: vec![0.0; chosen.len()] };
        let mut scores: Vec<Option<Result<Score>>> = chosen.iter().map(|_| None).collect();
        // Requests that set fields of the architecture look at another network, those that set seeds at another draw.
        let mut groups: Vec<(Architecture, Drawing, Vec<usize>)> = Vec::new();
        for (place, index) in chosen.iter().enumerate() {
            let request = &self.requests[*index];
            let network = request.overridden(architecture).and_then(|changed| {
                let network = changed.unwrap_or_else(|| architecture.clone());
                request.check_draws(&network, self.given()).map(|()| network)
            });
            match network {
                Err(error) => scores[place] = Some(Err(error)),
                Ok(network) => {
                    let drawing = request.drawing(seed);
                    match groups.iter_mut().find(|(known, drawn, _)| *known == network && *drawn == drawing) {
                        Some((.., members)) => members.push(place),
                        None => groups.push((network, drawing, vec![place])),
                    }
                }
            }
        }
        for (network, drawing, members) in groups {
            let requests: Vec<&Request> =
                members.iter().map(|place| &*self.requests[chosen[*place]]).collect();
            let group = self.score_group(&network, drawing, &requests, workers);
            scored.passes.extend(group.passes);
            for ((place, score), seconds) in members.into_iter().zip(group.scores).zip(group.seconds) {
                scores[place] = Some(score);
                scored.seconds[place] = seconds;
            }
        }
        scored.scores = scores.into_iter().map(|score| score.expect("every request is in a group")).collect();
        scored
    }

    fn score_group(
        &self,
        architecture: &Architecture,
        drawing: Drawing,
        requests: &[&Request],
        workers: &mut Workers,
    ) -> Scored {
        let passes = probe::union(requests.iter().flat_map(|request| request.needs(architecture)));
        let draw = self.draw(drawing);
        let double = self.options.precision == Precision::F64;
        let drawn = requests.iter().any(|request| request.about().drawn());
        let single = (drawn && !double).then(|| self.weights(architecture, &draw.single)).transpose();
        let fine = drawn && (double || passes.iter().any(|pass| pass.double));
        let fine = fine.then(|| self.weights(architecture, &draw.double)).transpose();
        let (single, fine) = match (single, fine) {
            (Ok(single), Ok(fine)) => (single, fine),
            (Err(error), _) => {
                return self.score_without(architecture, drawing, requests, workers, &error, |request| {
                    request.about().drawn()
                });
            }
            (_, Err(error)) => {
                return self.score_without(architecture, drawing, requests, workers, &error, |request| {
                    let doubles = || request.needs(architecture).iter().any(|pass| pass.double);
                    request.about().drawn() && (double || doubles())
                });
            }
        };
        let setting = Setting {
            inputs: self.options.inputs.as_ref(),
            weights_seed: Seed(drawing.weights),
            ..Setting::new(architecture, Seed(drawing.inputs))
        };
        let mut seen: Vec<(Pass, Result<PassResult>)> = Vec::new();
        for pass in passes {
            let result = match (&single, &fine) {
                (Some(weights), _) if !pass.double => {
                    self.pass(&setting, weights, &pass, &mut workers.single)
                }
                (_, Some(weights)) => self.pass(&setting, weights, &pass, &mut workers.double),
                _ => unreachable!("a pass is asked for only where weights are drawn"),
            };
            seen.push((pass, result));
        }
        let (single, fine) = (single.as_ref().map(AnyWeights::F32), fine.as_ref().map(AnyWeights::F64));
        let layout = single.or(fine).map(|weights| weights.layout().clone());
        let signals = ProxyInput {
            subject: architecture,
            weights: [single.or(fine), fine],
            layout: layout.as_ref(),
            passes: &seen,
            pass_overrides: &PassOverrides::default(),
            looked: &AtomicBool::new(false),
            spectra: &draw.spectra,
        };
        let mut seconds = Vec::new();
        let timed = |request: &&Request| {
            let start = Instant::now();
            let score = request.score(&signals);
            seconds.push(start.elapsed().as_secs_f64());
            score
        };
        let scores = requests.iter().map(timed).collect();
        let mut passes = Vec::new();
        for (pass, seen) in seen {
            if let Ok(seen) = seen {
                passes.push((pass.clone(), seen.seconds));
                match pass.double || double {
                    true => workers.double.give(seen),
                    false => workers.single.give(seen),
                }
            }
        }
        workers.single.trim();
        workers.double.trim();
        Scored { scores, passes, seconds }
    }

    /// Scores a group whose weights cannot be had: those that need them fail, and the others do not.
    fn score_without(
        &self,
        architecture: &Architecture,
        drawing: Drawing,
        requests: &[&Request],
        workers: &mut Workers,
        error: &Error,
        fails: impl Fn(&Request) -> bool,
    ) -> Scored {
        let others: Vec<&Request> = requests.iter().copied().filter(|request| !fails(request)).collect();
        let rest = self.score_group(architecture, drawing, &others, workers);
        let mut scored = rest.scores.into_iter().zip(rest.seconds);
        let (scores, seconds) = requests
            .iter()
            .map(|request| match fails(request) {
                true => (Err(error.clone()), 0.0),
                false => scored.next().expect("every other request is scored"),
            })
            .unzip();
        Scored { scores, passes: rest.passes, seconds }
    }

    fn weights<S: Number>(&self, architecture: &Architecture, net: &Supernet<S>) -> Result<Weights<S>> {
        // Before anything is drawn: a network beyond memory is one candidate's refusal, not the end of the process.
        let entries = architecture.tensors().iter().map(Tensor::len).sum::<u64>();
        let needed = entries.saturating_mul(size_of::<S>() as u64);
        if let Some(budget) = self.options.memory.filter(|budget| needed > *budget) {
            return Err(Error::Memory { needed, budget });
        }
        match &self.options.weights {
            Source::Shared => Ok(net.weights(architecture)),
            Source::Standalone => Ok(net.standalone(architecture)),
            Source::File(path) => Weights::read(architecture, path),
            Source::Given(weights) => Ok(weights.cast()),
        }
    }

    fn pass<S: Number>(
        &self,
        setting: &Setting,
        weights: &Weights<S>,
        pass: &Pass,
        worker: &mut Worker<S>,
    ) -> Result<PassResult> {
        let _permit = match self.options.memory {
            Some(budget) => Some(self.gate.enter(probe::within::<S>(setting, pass, budget)?, budget)?),
            None => None,
        };
        worker.run(setting, weights, pass)
    }

    /// What identifies a score on any machine.
    fn key(&self, architecture: &Architecture, request: &Request, seed: u64) -> Option<String> {
        let Options { precision, weights, inputs, .. } = &self.options;
        // What is read from files is not known by its name.
        if inputs.is_some() || matches!(weights, Source::File(_) | Source::Given(_)) {
            return None;
        }
        let about = request.about();
        let seed = if about.drawn() { format!("{seed} {precision:?} {weights:?}") } else { String::new() };
        Some(format!("{} {} {} {seed}", architecture.id(), request.label(), about.version))
    }

    /// A candidate's score by one of the proxies, if it is cached for every one of some seeds.
    pub fn cached(&self, architecture: &Architecture, seeds: &[u64], request: usize) -> Option<Cell> {
        let get = |seed: &u64| {
            let key = self.key(architecture, &self.requests[request], *seed)?;
            self.options.cache.as_ref()?.get(&key)
        };
        let scores: Option<Vec<Score>> = seeds.iter().map(get).collect();
        Some(Cell { scores: scores?.into_iter().map(Ok).collect(), seconds: 0.0 })
    }

    /// Scores many candidates with several seeds; `done` is told after each candidate.
    pub fn table(
        &self,
        architectures: &[Architecture],
        seeds: &[u64],
        done: &(dyn Fn() + Sync),
    ) -> Result<Vec<Row>> {
        let rows: Mutex<Vec<Option<Row>>> = Mutex::new(architectures.iter().map(|_| None).collect());
        self.in_order(architectures, seeds, &|index, row| {
            rows.lock().expect("no holder panics")[index].get_or_insert(row);
            done();
            true
        })?;
        let rows = rows.into_inner().expect("no holder panics").into_iter();
        rows.collect::<Option<_>>().ok_or_else(|| Error::option("score", "the executor left out a candidate"))
    }

    /// Scores candidates in about their order by the scorer's [`Executor`]; `each` is told of every one as it comes, and
    /// says whether to go on.
    pub fn in_order(
        &self,
        architectures: &[Architecture],
        seeds: &[u64],
        each: &(dyn Fn(usize, Row) -> bool + Sync),
    ) -> Result<()> {
        self.executor.score(&Batch { scorer: self, architectures, seeds }, each)?;
        self.options.cancel.check()
    }

    /// One candidate by every proxy with every seed.
    pub fn row(&self, architecture: &Architecture, seeds: &[u64], workers: &mut Workers) -> Row {
        let mut row =
            Row { cells: self.requests.iter().map(|_| Cell::default()).collect(), passes: Vec::new() };
        let cells = &mut row.cells;
        for (nth, seed) in seeds.iter().enumerate() {
            let due = (0..self.requests.len()).filter(|i| nth == 0 || self.requests[*i].about().drawn());
            let (mut unknown, mut keys) = (Vec::new(), Vec::new());
            for index in due {
                let key = self.key(architecture, &self.requests[index], *seed);
                match key.as_ref().and_then(|key| self.options.cache.as_ref()?.get(key)) {
                    Some(score) => cells[index].scores.push(Ok(score)),
                    None => {
                        unknown.push(index);
                        keys.push(key);
                    }
                }
            }
            if unknown.is_empty() {
                continue;
            }
            let scored = self.score_by(architecture, *seed, &unknown, workers);
            let shares = shares(&self.requests, architecture, &unknown, &scored.passes);
            for (pass, seconds) in scored.passes {
                match row.passes.iter_mut().find(|(known, _)| *known == pass) {
                    Some((_, sum)) => *sum += seconds,
                    None => row.passes.push((pass, seconds)),
                }
            }
            for (((index, score), key), seconds) in
                unknown.into_iter().zip(scored.scores).zip(keys).zip(scored.seconds.iter().zip(shares))
            {
                if let (Some(cache), Some(key), Ok(score)) = (&self.options.cache, key, &score) {
                    cache.put(key, score);
                }
                cells[index].scores.push(score);
                cells[index].seconds += seconds.0 + seconds.1;
            }
        }
        cells.iter_mut().for_each(|cell| cell.seconds /= cell.scores.len().max(1) as f64);
        row
    }

    /// What candidates are ranked by: the score; within a set or drawn with several seeds, the mean over seeds of ranks.
    pub fn order(&self, request: usize, column: &[&Cell]) -> Vec<Result<f64>> {
        let request = &self.requests[request];
        let failure = |cell: &Cell| cell.scores.iter().find_map(|score| score.as_ref().err().cloned());
        let whole: Vec<usize> = (0..column.len()).filter(|i| failure(column[*i]).is_none()).collect();
        let seeds = whole.first().map_or(0, |i| column[*i].scores.len());
        let mut sums = vec![0.0; whole.len()];
        for seed in 0..seeds {
            let of = |i: &usize| column[*i].scores[seed].as_ref().expect("failures were left out");
            let values = request.within(&whole.iter().map(of).collect::<Vec<_>>());
            let values = if seeds > 1 { rank::average_ranks(&values) } else { values };
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value / seeds as f64);
        }
        let mut results: Vec<Result<f64>> =
            column.iter().map(|cell| failure(cell).map_or(Ok(f64::NAN), Err)).collect();
        whole.into_iter().zip(sums).for_each(|(i, sum)| results[i] = Ok(sum));
        results
    }
}

/// Seconds of the passes that each of some proxies looked at, every pass shared equally by those who did.
fn shares(
    requests: &[Arc<Request>],
    architecture: &Architecture,
    chosen: &[usize],
    passes: &[(Pass, f64)],
) -> Vec<f64> {
    let needs: Vec<Vec<Pass>> = chosen
        .iter()
        .map(|index| {
            let changed = requests[*index].overridden(architecture).ok().flatten();
            requests[*index].needs(changed.as_ref().unwrap_or(architecture))
        })
        .collect();
    let users =
        |pass: &Pass| needs.iter().filter(|needs| needs.iter().any(|need| pass.serves(need))).count().max(1);
    let counted: Vec<(&Pass, f64)> =
        passes.iter().map(|(pass, seconds)| (pass, seconds / users(pass) as f64)).collect();
    let share = |needs: &Vec<Pass>| {
        let used = counted.iter().filter(|(pass, _)| needs.iter().any(|need| pass.serves(need)));
        used.map(|(_, seconds)| seconds).sum()
    };
    needs.iter().map(share).collect()
}
