//! The conductor, owner of the only loop: ask, refuse what breaks a limit, score in parallel, tell, remember.
//!
//! A study is decided by its [`Settings`] alone. Trials that the store holds already are told instead of scored, so
//! the same call continues a study that was killed, and ends with the same trials, the same standing and the same hash.
//! Candidates are stored in their order as they are scored: whoever is killed loses the one that each thread is at, and
//! half a second of others. A candidate that fails is recorded with its kind and never ends a study.

mod baseline;
mod evaluate;
mod ground;
mod objective;
mod scoring;
mod shard;
mod standing;
mod trained;
mod verify;

pub use baseline::Baseline;
pub use evaluate::{Evaluator, External, Failure, Table, abandon, as_given};
pub use objective::Objective;
pub use shard::Shard;
pub use standing::Standing;
pub use trained::Trained;
pub use verify::{Trials, Verification, Verify};

use crate::architecture::{Architecture, Counter};
use crate::error::{Error, Result};
use crate::latency::Model;
use crate::proxy::Request;
use crate::score::{Options, Scorer};
use crate::search::{self, Ground, Told};
use crate::seed::Seed;
use crate::space::{self, Bound, Limits, Space};
use crate::store::{Store, Trial};
use ground::{Evaluations, SpaceGround};
use scoring::Scoring;
use serde_json::{Map, Value, json};
use std::sync::{Arc, Mutex};

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
    /// The most seconds that a forward pass of one input may take, as foretold.
    pub latency: Option<f64>,
    /// What foretells latency: fitted where the study began and stored with it, so that it can be continued anywhere.
    pub model: Option<Model>,
    /// How many candidates are scored; as many as the algorithm plans if absent.
    pub budget: Option<u64>,
    /// The seed of every draw.
    pub seed: u64,
    /// The part of the search that this study is.
    pub shard: Option<Shard>,
    /// Who says how good networks really are.
    pub evaluator: Option<Arc<dyn Evaluator>>,
    /// How many of the best it is asked about in the end, unless the algorithm asks itself.
    pub evaluate_top: usize,
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
            latency: None,
            model: None,
            budget: None,
            seed: 0,
            shard: None,
            evaluator: None,
            evaluate_top: 5,
        }
    }

    /// The settings as canonical JSON; the budget is left out, since a study may go on.
    pub fn config(&self) -> Result<Value> {
        let definition = self.space.definition();
        let searcher = search::parse::<Architecture>(&self.algorithm)?;
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
        limits.extend(self.latency.map(|seconds| ("max_latency".to_owned(), seconds.into())));
        let mut config = json!({
            "space": definition.name, "algorithm": self.algorithm, "objectives": objectives, "limits": limits,
            "seed": self.seed,
        });
        if let Some(evaluator) = self.evaluator.as_ref().filter(|_| searcher.evaluates()) {
            config["evaluator"] = evaluator.label().into();
        }
        if let Some(model) = &self.model {
            config["latency"] = json!(model);
        }
        if let Some(shard) = self.shard {
            config["shards"] = shard.of().into();
            config["shard"] = shard.index().into();
        }
        if !space::is_preset(&definition.name) {
            config["space_file"] = definition.text.as_str().into();
        }
        Ok(config)
    }

    /// Whether latency is limited or an objective, so that a model is needed.
    pub fn foretells(&self) -> bool {
        self.latency.is_some() || self.objectives.contains(&Objective::Latency)
    }

    /// What an architecture costs, for objectives that are a cost: parameters, multiply-adds, bytes or nanoseconds.
    pub fn cost(&self, objective: &Objective, architecture: &Architecture) -> Option<u64> {
        match (objective, &self.model) {
            (Objective::Latency, Some(model)) => Some((1e9 * model.predict(architecture)).round() as u64),
            _ => objective.cost(architecture),
        }
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
            algorithm: text("algorithm").to_owned(),
            objectives: Objective::of(config)?,
            limits: Limits { params: bound("params"), flops: bound("flops"), counter },
            memory: limit("max_memory".to_owned()),
            latency: config["limits"]["max_latency"].as_f64(),
            model: Model::of(config)?,
            seed: config["seed"].as_u64().unwrap_or(0),
            ..Settings::new(space, "", "")
        })
    }

    /// A name that the same settings always get; shards of a search share its beginning.
    pub fn name(&self) -> Result<String> {
        let mut config = self.config()?;
        for key in ["shard", "latency"] {
            config.as_object_mut().and_then(|config| config.shift_remove(key));
        }
        let hash = blake3::hash(config.to_string().as_bytes()).to_hex();
        let algorithm = self.algorithm.split('[').next().unwrap_or_default();
        Ok(format!("{}-{algorithm}-{}", self.space.name(), &hash[..8]))
    }

    /// The name of the study: what was given or follows from the settings, and which shard it is.
    pub fn full_name(&self, given: Option<&str>) -> Result<String> {
        let name = given.map_or_else(|| self.name(), |name| Ok(name.to_owned()))?;
        Ok(self.shard.map_or(name.clone(), |shard| format!("{name}-{shard}")))
    }
}

/// Who looks on.
pub trait Watch: Sync {
    /// A candidate was scored; called from any thread.
    fn scored(&self) {}
    /// A generation is stored.
    fn generation(&self, _progress: &Progress) {}
    /// A trial was evaluated, with the value as it was given; no value if that failed.
    fn evaluated(&self, _trial: u64, _value: Option<f64>) {}
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
    if settings.foretells() && settings.model.is_none() {
        return Err(Error::input(
            "latency",
            "is limited or an objective, and there is no model to foretell it",
        ));
    }
    let mut searcher = search::parse::<Architecture>(&settings.algorithm)?;
    let config = settings.config()?;
    let scorer = Scorer::new(Objective::requests(&settings.objectives)?, options);
    let ground = SpaceGround::new(settings, &scorer)?;
    let name = settings.full_name(name)?;
    let study = store.create(&name, &config, command)?;
    if study.config != config {
        return Err(conflict(&name, &study.config, &config));
    }
    let _lease = store.lease(&study)?;
    let (known, digest) = store.trials(&study)?;
    let resumed = known.len() as u64;
    let evaluated = store.evaluations(&study)?;
    store.stop(&study, None)?;
    let store = Mutex::new(store);
    let evaluator = settings.evaluator.as_deref();
    let evaluations = evaluator.map(|asked| Evaluations::new(asked, &store, &study, evaluated, watch));
    let mut ground = ground.with(evaluations.transpose()?);
    let mut scoring = Scoring { settings, scorer: &scorer, store: &store, study: &study, watch, digest };
    let total = settings.budget.unwrap_or_else(|| searcher.planned()).min(ground.size());
    let total = settings.shard.map_or(total, |shard| shard.share(total));
    let purpose = settings.shard.map_or("search".to_owned(), |shard| format!("search {shard}"));
    let mut progress = Progress { done: 0, total, rejected: 0, failed: 0, best: None };
    let mut known = known.into_iter();
    let mut told: Vec<Told<Architecture>> = Vec::new();
    let mut generation = 0;
    let stopped = loop {
        let mut rng = Seed(settings.seed).stream(&purpose, generation);
        if progress.done >= total {
            searcher.end(&mut ground, &mut rng);
            ground.sound()?;
            break "budget";
        }
        let mut asked = searcher.ask(&mut ground, &mut rng);
        ground.sound()?;
        generation += 1;
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
        let from = progress.done + trials.len() as u64;
        trials.extend(scoring.run(&asked[trials.len()..], from, ground.rejected)?);
        progress.done += trials.len() as u64;
        progress.rejected = ground.rejected;
        progress.failed += trials.iter().filter(|trial| !trial.ok()).count() as u64;
        let batch: Vec<Told<Architecture>> = asked
            .into_iter()
            .zip(&trials)
            .map(|(point, trial)| Told { outcome: objective::outcome(&settings.objectives, trial), point })
            .collect();
        ground.number(&trials);
        let from = told.len();
        told.extend(batch.iter().cloned());
        progress.best = ground.leader(&told, from, progress.best);
        if known.len() == 0 {
            watch.generation(&progress);
        }
        searcher.tell(batch);
    };
    if settings.evaluator.is_some() && !searcher.evaluates() {
        for place in ground.best(&told, settings.evaluate_top) {
            ground.worth(&told[place].point);
            ground.sound()?;
        }
    }
    let mut store = store.lock().expect("no holder panics");
    store.stop(&study, Some(stopped))?;
    Ok(Summary { name, stopped, progress, resumed, hash: store.hash(&study)? })
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
