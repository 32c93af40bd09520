//! All that decides which trials a study has.

use super::{Evaluator, Objective, Pool, Shard, Table, Time, Work, rungs};
use crate::architecture::{Architecture, Counter};
use crate::error::{Error, Result};
use crate::latency::Phase;
use crate::search;
use crate::space::{self, Bound, Limits, Space};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The algorithm that stands for the best one available: the exact optimum where the score is a sum over layers, `memetic`
/// where it is not, `pareto` for several objectives.
pub const AUTO: &str = "auto";
/// The algorithm of a search that spends a time on training.
pub(super) const TIMED: &str = "timed";
/// The setting that says how much work a time is.
const WORK: &str = "work";
/// How many draws of weights and inputs a score is averaged over unless another number is given.
pub const SEEDS: u64 = 3;
/// The most draws.
const MOST_SEEDS: u64 = 1000;
/// The most objectives; what trials are ranked by is stored with their number in one byte.
const MOST_OBJECTIVES: usize = 16;

/// All that decides which trials a study has.
#[derive(Clone)]
pub struct Settings {
    /// Where to search.
    pub space: Arc<dyn Space>,
    /// The networks of a table, where only these are searched: the same as the space. Every candidate's label is then looked
    /// up; it decides nothing unless the algorithm evaluates.
    pub pool: Option<Arc<Pool>>,
    /// How to search: `name` or `name[key=value,…]`, or [`AUTO`].
    pub algorithm: String,
    /// What to search for; the first decides where an algorithm looks at one only.
    pub objectives: Vec<Objective>,
    /// Hard limits on parameters and multiply-adds.
    pub limits: Limits,
    /// The most bytes that one forward and backward of one input may need in f32.
    pub memory: Option<u64>,
    /// The most bytes that the keys and values of a whole context may take in f32.
    pub cache: Option<u64>,
    /// The most seconds that a pass over one whole input may take on one thread.
    pub latency: Option<f64>,
    /// The most seconds that one further token may take on one thread.
    pub token_latency: Option<f64>,
    /// How many candidates are scored; as many as the algorithm plans if absent.
    pub budget: Option<u64>,
    /// The seed of every draw.
    pub seed: u64,
    /// How many draws of weights and inputs a score is averaged over, where it depends on them.
    pub seeds: u64,
    /// The part of the search that this study is.
    pub shard: Option<Shard>,
    /// Who says how good networks really are.
    pub evaluator: Option<Arc<dyn Evaluator>>,
    /// How many of the best it is asked about in the end, unless the algorithm asks itself.
    pub evaluate_top: usize,
    /// Whether evaluations that failed are made again.
    pub retry_failed: bool,
    /// The time that a search by training may take; see [`Settings::timed`].
    pub time: Option<Time>,
    /// The same as work; measured when the search begins, and then stored.
    pub work: Option<Work>,
}

impl Settings {
    /// Settings without objective and limits.
    pub fn new(space: Arc<dyn Space>) -> Self {
        Settings {
            space,
            pool: None,
            algorithm: AUTO.to_owned(),
            objectives: Vec::new(),
            limits: Limits::default(),
            memory: None,
            cache: None,
            latency: None,
            token_latency: None,
            budget: None,
            seed: 0,
            seeds: SEEDS,
            shard: None,
            evaluator: None,
            evaluate_top: 5,
            retry_failed: false,
            time: None,
            work: None,
        }
    }

    /// Settings of a search among the networks of a table.
    pub fn inside(table: Table) -> Result<Self> {
        let pool = Arc::new(table.pool()?);
        Ok(Settings { pool: Some(pool.clone()), evaluator: Some(Arc::new(table)), ..Self::new(pool) })
    }

    /// Whether labels are looked up for everybody to see, and decide nothing.
    pub(super) fn looks_up(&self) -> Result<bool> {
        Ok(self.pool.is_some() && !search::parse::<Architecture>(&self.algorithm)?.evaluates())
    }

    /// The same by this algorithm, for this proxy alone.
    pub fn search(self, algorithm: &str, proxy: &str) -> Result<Self> {
        Ok(Settings { algorithm: algorithm.to_owned(), objectives: vec![Objective::proxy(proxy)?], ..self })
    }

    /// The same as a search that spends a time on training networks, which the evaluator does.
    pub fn timed(self, time: Time) -> Self {
        Settings { algorithm: TIMED.to_owned(), time: Some(time), ..self }
    }

    /// Whether evaluations decide where the search goes, or are looked up for all candidates.
    fn evaluates(&self) -> Result<bool> {
        let searches = || search::parse::<Architecture>(&self.algorithm).map(|searcher| searcher.evaluates());
        Ok(self.time.is_some() || searches()? || self.pool.is_some())
    }

    /// The settings as canonical JSON; the budget is left out, since a study may go on.
    pub fn config(&self) -> Result<Value> {
        let definition = self.space.definition();
        let evaluates = self.evaluates()?;
        let mut objectives = Vec::new();
        for objective in &self.objectives {
            objectives.push(match objective {
                Objective::Proxy(request) => {
                    json!({"proxy": request.label(), "version": request.about().version})
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
        limits.extend(self.cache.map(|bytes| ("max_cache".to_owned(), bytes.into())));
        limits.extend(self.latency.map(|seconds| ("max_latency".to_owned(), seconds.into())));
        limits.extend(self.token_latency.map(|seconds| ("max_token_latency".to_owned(), seconds.into())));
        let mut config = json!({
            "space": definition.name, "algorithm": self.algorithm, "objectives": objectives, "limits": limits,
            "seed": self.seed,
        });
        if let Some(evaluator) = self.evaluator.as_ref().filter(|_| evaluates) {
            let label = evaluator.label();
            config["evaluator"] = self.time.map_or(label.clone(), |_| rungs::unsaid(&label)).into();
        }
        if let Some(time) = self.time {
            config["time"] = json!(time);
        }
        if let Some(work) = self.work {
            config[WORK] = json!(work);
        }
        if self.draws() > 1 {
            config["seeds"] = self.draws().into();
        }
        if let Some(shard) = self.shard {
            config["shards"] = shard.of().into();
            config["shard"] = shard.index().into();
        }
        if let Some(pool) = &self.pool {
            config["networks"] = pool.json();
        } else if !space::is_preset(&definition.name) {
            config["space_file"] = definition.text.as_str().into();
        }
        Ok(config)
    }

    /// How many draws every candidate is scored with: one where no score depends on them.
    pub fn draws(&self) -> u64 {
        let drawn =
            |objective: &Objective| objective.request().is_some_and(|request| request.about().drawn());
        if self.objectives.iter().any(drawn) { self.seeds.max(1) } else { 1 }
    }

    /// The seeds of these draws.
    pub(super) fn seed_list(&self) -> Vec<u64> {
        (0..self.draws()).map(|draw| self.seed.wrapping_add(draw)).collect()
    }

    /// The limits on measured time, by what is timed.
    pub fn latency_limits(&self) -> Vec<(Phase, f64)> {
        let limit = |phase: Phase, seconds: Option<f64>| seconds.map(|seconds| (phase, seconds));
        [limit(Phase::Prefill, self.latency), limit(Phase::Decode, self.token_latency)]
            .into_iter()
            .flatten()
            .collect()
    }

    /// What must be timed: limited, or an objective.
    pub fn phases(&self) -> Vec<Phase> {
        let wanted = |phase: &Phase| {
            self.latency_limits().iter().any(|(limited, _)| limited == phase)
                || self.objectives.iter().any(|objective| objective.phase() == Some(*phase))
        };
        [Phase::Prefill, Phase::Decode].into_iter().filter(wanted).collect()
    }

    /// Refuses what cannot be searched, before anything is drawn.
    pub fn check(&self) -> Result<()> {
        if self.objectives.is_empty() || self.objectives.len() > MOST_OBJECTIVES {
            let message = format!("there are {}; 1 to {MOST_OBJECTIVES} are handled", self.objectives.len());
            return Err(Error::option("objectives", message));
        }
        if !(1..=MOST_SEEDS).contains(&self.seeds) {
            return Err(Error::option("seeds", format!("is {}, not 1 to {MOST_SEEDS}", self.seeds)));
        }
        self.space.check_source()?;
        self.check_counted()?;
        self.time.map_or(Ok(()), |time| time.check(self))?;
        let decodes = self.cache.is_some()
            || self.phases().contains(&Phase::Decode)
            || self.objectives.contains(&Objective::Cache);
        let sample = self.space.sample(&mut crate::seed::Seed(0).stream("sample", 0));
        if decodes && sample.cache_bytes().is_none() {
            let family = self.space.definition().family;
            let message =
                format!("{family} networks are no decoders: they have no further token and no cache");
            return Err(Error::option(self.space.name(), message));
        }
        Ok(())
    }

    /// Refuses limits and objectives that nobody counts for networks of the space.
    fn check_counted(&self) -> Result<()> {
        let family = self.space.definition().family;
        let limited = self.limits.flops != Bound::default() || self.memory.is_some() || self.cache.is_some();
        let costs = [Objective::Flops, Objective::Memory, Objective::Cache];
        let wanted = self.objectives.iter().any(|objective| costs.contains(objective));
        if family.counts_work() || !(limited || wanted || !self.phases().is_empty()) {
            return Ok(());
        }
        let message = format!("of {family} networks only parameters are counted: limit these alone");
        Err(Error::option(self.space.name(), message))
    }

    /// The settings of a stored study: the inverse of [`config`](Self::config), without a budget.
    pub fn of(config: &Value) -> Result<Self> {
        let text = |key: &str| config[key].as_str().unwrap_or_default();
        let pool = config.get("networks").map(|networks| Pool::read(text("space"), networks)).transpose()?;
        let pool = pool.map(Arc::new);
        let space: Arc<dyn Space> = match (&pool, config["space_file"].as_str()) {
            (Some(pool), _) => pool.clone(),
            (None, Some(file)) => space::parse(text("space"), file)?,
            (None, None) => space::preset(text("space"))?,
        };
        let limit = |key: String| config["limits"][key].as_u64();
        let bound = |name: &str| Bound {
            min: limit(format!("min_{name}")).unwrap_or(0),
            max: limit(format!("max_{name}")).unwrap_or(u64::MAX),
        };
        let published = config["limits"]["flops"] == "published";
        let counter = if published { Counter::Published } else { Counter::Exact };
        Ok(Settings {
            pool,
            algorithm: text("algorithm").to_owned(),
            objectives: Objective::of(config)?,
            limits: Limits { params: bound("params"), flops: bound("flops"), counter },
            memory: limit("max_memory".to_owned()),
            cache: limit("max_cache".to_owned()),
            latency: config["limits"]["max_latency"].as_f64(),
            token_latency: config["limits"]["max_token_latency"].as_f64(),
            seed: config["seed"].as_u64().unwrap_or(0),
            seeds: config["seeds"].as_u64().unwrap_or(1),
            time: config.get("time").and_then(|time| Time::deserialize(time).ok()),
            work: config.get(WORK).and_then(|work| Work::deserialize(work).ok()),
            ..Settings::new(space)
        })
    }

    /// A name that the same settings always get; shards of a search share its beginning.
    pub fn name(&self) -> Result<String> {
        let mut config = self.config()?;
        // What was measured is another number each time.
        for part in ["shard", WORK] {
            config.as_object_mut().and_then(|config| config.shift_remove(part));
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
