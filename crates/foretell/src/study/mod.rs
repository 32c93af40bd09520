//! The conductor, owner of the only loop: ask, refuse what breaks a limit, score in parallel, tell, remember.
//!
//! A study is decided by its [`Settings`] alone. Trials that the store holds already are told instead of scored, so
//! the same call continues a study that was killed, and ends with the same trials, the same standing and the same hash.
//! A candidate that fails is recorded with its kind and never ends a study.

mod baseline;
mod ground;
mod objective;
mod standing;

pub use baseline::Baseline;
pub use objective::Objective;
pub use standing::Standing;

use crate::architecture::{Architecture, Counter};
use crate::error::{Error, Result};
use crate::proxy::Request;
use crate::score::{Cell, Options, Scorer};
use crate::search::{self, Told};
use crate::seed::Seed;
use crate::space::{self, Bound, Limits, Space};
use crate::store::{self, Store, Trial};
use ground::SpaceGround;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// All that decides which trials a study has.
pub struct Settings {
    /// Where to search.
    pub space: Arc<dyn Space>,
    /// How to search: `name` or `name[key=value,…]`.
    pub algorithm: String,
    /// What to search for; the first decides where an algorithm looks at one only.
    pub objectives: Vec<Objective>,
    /// Hard limits on parameters and multiply-adds.
    pub limits: Limits,
    /// The most bytes that one forward and backward of one input may need in f32.
    pub memory: Option<u64>,
    /// How many candidates are scored; as many as the algorithm plans if absent.
    pub budget: Option<u64>,
    /// The seed of every draw.
    pub seed: u64,
}

impl Settings {
    /// Settings with one proxy as objective and no limits.
    pub fn new(space: Arc<dyn Space>, algorithm: &str, proxy: &str) -> Self {
        let (objectives, algorithm) = (vec![Objective::Proxy(proxy.to_owned())], algorithm.to_owned());
        Settings {
            space,
            algorithm,
            objectives,
            limits: Limits::default(),
            memory: None,
            budget: None,
            seed: 0,
        }
    }

    /// The settings as canonical JSON; the budget is left out, since a study may go on.
    pub fn config(&self) -> Result<Value> {
        let definition = self.space.definition();
        let mut objectives = Vec::new();
        for objective in &self.objectives {
            objectives.push(match objective {
                Objective::Proxy(label) => {
                    json!({"proxy": label, "version": Request::parse(label)?.about().version})
                }
                cost => json!({"least": cost.to_string()}),
            });
        }
        let mut limits = Map::new();
        let bounds = [("params", self.limits.params), ("flops", self.limits.flops)];
        for (name, bound) in bounds {
            if bound.min > 0 {
                limits.insert(format!("min_{name}"), bound.min.into());
            }
            if bound.max < u64::MAX {
                limits.insert(format!("max_{name}"), bound.max.into());
            }
        }
        if limits.contains_key("min_flops") || limits.contains_key("max_flops") {
            limits.insert("flops".into(), format!("{:?}", self.limits.counter).to_lowercase().into());
        }
        limits.extend(self.memory.map(|bytes| ("max_memory".to_owned(), bytes.into())));
        let mut config = json!({
            "space": definition.name, "algorithm": self.algorithm, "objectives": objectives, "limits": limits,
            "seed": self.seed,
        });
        if !space::is_preset(&definition.name) {
            config["space_file"] = definition.text.as_str().into();
        }
        Ok(config)
    }

    /// The settings of a stored study: the inverse of [`config`](Self::config), without a budget.
    pub fn of(config: &Value) -> Result<Self> {
        let text = |key: &str| config[key].as_str().unwrap_or_default();
        let space = match config["space_file"].as_str() {
            Some(file) => space::parse(text("space"), file)?,
            None => space::preset(text("space"))?,
        };
        let limit = |key: String| config["limits"][key].as_u64();
        let bound = |name: &str| Bound {
            min: limit(format!("min_{name}")).unwrap_or(0),
            max: limit(format!("max_{name}")).unwrap_or(u64::MAX),
        };
        let published = config["limits"]["flops"] == "published";
        let counter = if published { Counter::Published } else { Counter::Exact };
        Ok(Settings {
            space,
            algorithm: text("algorithm").to_owned(),
            objectives: Objective::of(config)?,
            limits: Limits { params: bound("params"), flops: bound("flops"), counter },
            memory: limit("max_memory".to_owned()),
            budget: None,
            seed: config["seed"].as_u64().unwrap_or(0),
        })
    }

    /// A name that the same settings always get.
    pub fn name(&self) -> Result<String> {
        let hash = blake3::hash(self.config()?.to_string().as_bytes()).to_hex();
        let algorithm = self.algorithm.split('[').next().unwrap_or_default();
        Ok(format!("{}-{algorithm}-{}", self.space.name(), &hash[..8]))
    }
}

/// Who looks on.
pub trait Watch: Sync {
    /// A candidate was scored; called from any thread.
    fn scored(&self) {}
    /// A generation is stored.
    fn generation(&self, _progress: &Progress) {}
}

/// Nobody looks on.
impl Watch for () {}

/// How far a study is.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// Candidates stored, failed ones included.
    pub done: u64,
    /// Candidates that will be.
    pub total: u64,
    /// Candidates refused before scoring, since they break a limit.
    pub rejected: u64,
    /// Candidates that failed.
    pub failed: u64,
    /// The best so far: its trial, and its score or, for scores within a set, its place value.
    pub best: Option<(u64, f64)>,
}

/// How a study ended.
#[derive(Debug, Clone)]
pub struct Summary {
    /// Its name.
    pub name: String,
    /// Why it ended.
    pub stopped: &'static str,
    /// Where it ended.
    pub progress: Progress,
    /// How many trials were there before.
    pub resumed: u64,
    /// A hash of all trials: equal hashes, equal studies.
    pub hash: String,
}

/// Runs a study to its end, or on from where it was left.
pub fn run(
    settings: &Settings,
    options: Options,
    store: &mut Store,
    name: Option<&str>,
    command: &str,
    watch: &dyn Watch,
) -> Result<Summary> {
    let mut searcher = search::parse::<Architecture>(&settings.algorithm)?;
    let config = settings.config()?;
    let scorer = Scorer::new(Objective::requests(&settings.objectives)?, options);
    let mut ground = SpaceGround::new(settings, &scorer)?;
    let name = name.map_or_else(|| settings.name(), |name| Ok(name.to_owned()))?;
    let study = store.create(&name, &config, command)?;
    if study.config != config {
        return Err(conflict(&name, &study.config, &config));
    }
    let _lease = store.lease(&study)?;
    let (known, mut digest) = store.trials(&study)?;
    let resumed = known.len() as u64;
    store.stop(&study, None)?;
    let total = settings.budget.unwrap_or_else(|| searcher.planned()).min(ground.size());
    let mut progress = Progress { done: 0, total, rejected: 0, failed: 0, best: None };
    let mut known = known.into_iter();
    let mut told: Vec<Told<Architecture>> = Vec::new();
    let mut generation = 0;
    let stopped = loop {
        if progress.done >= total {
            break "budget";
        }
        let mut rng = Seed(settings.seed).stream("search", generation);
        let mut asked = searcher.ask(&mut ground, &mut rng);
        generation += 1;
        if let Some(refusal) = ground.refusal.take() {
            return Err(refusal);
        }
        if asked.is_empty() {
            break if ground.exhausted { "exhausted" } else { "converged" };
        }
        asked.truncate(usize::try_from(total - progress.done).unwrap_or(usize::MAX));
        let mut trials: Vec<Trial> = known.by_ref().take(asked.len()).collect();
        for (trial, point) in trials.iter().zip(&asked) {
            if trial.id != point.id() {
                let reason = "was begun by a release that searched otherwise: choose another --name";
                return Err(Error::input(format!("study '{name}'"), reason));
            }
        }
        let fresh = &asked[trials.len()..];
        let table = scorer.table(fresh, &[settings.seed], &|| watch.scored());
        let from = progress.done + trials.len() as u64;
        let new: Vec<Trial> = fresh
            .iter()
            .zip(table)
            .enumerate()
            .map(|(i, (point, row))| trial(settings, &scorer, point, &row.cells, from + i as u64))
            .collect();
        if !new.is_empty() {
            digest = store.append(&study, &new, ground.rejected, &digest)?;
        }
        trials.extend(new);
        progress.done += trials.len() as u64;
        progress.rejected = ground.rejected;
        progress.failed += trials.iter().filter(|trial| !trial.ok()).count() as u64;
        let batch: Vec<Told<Architecture>> = asked
            .into_iter()
            .zip(&trials)
            .map(|(point, trial)| Told { outcome: objective::outcome(&settings.objectives, trial), point })
            .collect();
        let from = told.len();
        told.extend(batch.iter().cloned());
        progress.best = ground.leader(&told, from, progress.best);
        if known.len() == 0 {
            watch.generation(&progress);
        }
        searcher.tell(batch);
    };
    store.stop(&study, Some(stopped))?;
    Ok(Summary { name, stopped, progress, resumed, hash: hash(digest) })
}

/// The hash of a stored study: what [`Summary::hash`] says.
pub fn hash(digest: [u8; 32]) -> String {
    blake3::Hash::from_bytes(digest).to_hex().to_string()
}

/// One candidate as it is stored.
fn trial(settings: &Settings, scorer: &Scorer, point: &Architecture, cells: &[Cell], number: u64) -> Trial {
    let score = |(request, cell): (&Request, &Cell)| {
        let mut score = store::Score {
            proxy: request.label().to_owned(),
            version: request.about().version,
            seed: settings.seed,
            value: f64::NAN,
            ..store::Score::default()
        };
        match cell.scores.first() {
            Some(Ok(found)) => {
                score.status = "ok".to_owned();
                score.value = found.value;
                score.parts = found.parts.clone();
                score.blocks = objective::blocks(point, request, found);
            }
            Some(Err(error)) => {
                score.status = error.kind().to_owned();
                score.message = error.to_string();
            }
            None => score.status = "missing".to_owned(),
        }
        score
    };
    let scores: Vec<store::Score> = scorer.requests().iter().zip(cells).map(score).collect();
    let mut said = scores.iter();
    let value = |objective: &Objective| match objective.cost(point) {
        Some(cost) => -(cost as f64),
        None => {
            said.next().map_or(f64::NAN, |score| if score.parts.is_empty() { score.value } else { f64::NAN })
        }
    };
    let objectives = settings.objectives.iter().map(value).collect();
    let genes = Value::Object(space::write_architecture(point)).to_string();
    let seconds = cells.iter().map(|cell| cell.seconds).sum();
    Trial { number, id: point.id(), genes, objectives, scores, seconds }
}

fn conflict(name: &str, stored: &Value, wanted: &Value) -> Error {
    let differs = |(key, value): (&String, &Value)| {
        let before = stored.get(key).unwrap_or(&Value::Null);
        (before != value).then(|| format!("{key} was {before} and is {value}"))
    };
    let wanted = wanted.as_object().into_iter().flatten();
    let differences: Vec<String> = wanted.filter_map(differs).collect();
    let message = format!("exists with other settings ({}): choose another --name", differences.join(", "));
    Error::input(format!("study '{name}'"), message)
}
