//! A benchmark of one's own: networks of a space, spread evenly over sizes, each trained for the same budget.
//!
//! ```text
//! for each of `strata` ranges of parameters, equal in logarithm: so many random networks inside it, all different
//! train each by the recipe; one in `repeat` again with further seeds, which tells noise from difference
//! with `budgets`: all of that for each number of steps
//! ```
//!
//! The table names no time and no machine, so every build gives the same bits, however often it was stopped.

use crate::architecture::Architecture;
use crate::data::{Data, Tokeniser};
use crate::error::{Error, Result};
use crate::seed::Seed;
use crate::space::{self, Bound, Limits, Space};
use crate::train::{Finished, Job, Recipe, jobs};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What to build.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// A preset, or a space file beside the configuration.
    pub space: String,
    /// How many networks.
    pub networks: usize,
    /// Least and most parameters.
    pub params: [u64; 2],
    /// Ranges of parameters, equal in logarithm, from which equally many come.
    #[serde(default = "ten")]
    pub strata: usize,
    /// Every how-manieth network is trained with further seeds; 0: none.
    #[serde(default = "ten")]
    pub repeat: usize,
    /// How many seeds these are trained with.
    #[serde(default = "two")]
    pub seeds: u64,
    /// Text or images; absent: the text that ships with the project.
    pub data: Option<PathBuf>,
    /// `bytes` or `bpe:N`.
    #[serde(default = "bytes")]
    pub tokeniser: String,
    /// Of the draw of networks.
    #[serde(default)]
    pub seed: u64,
    /// Numbers of steps that each is trained for, each in a run of its own, instead of the recipe's. The table then has a row
    /// for each network and budget, with its `steps` and `tokens`. Warm-up takes at most a fifth of the steps.
    #[serde(default)]
    pub budgets: Vec<u64>,
    /// How each is trained; its seed is that of the first run.
    pub recipe: Recipe,
}

fn ten() -> usize {
    10
}

fn two() -> u64 {
    2
}

fn bytes() -> String {
    "bytes".to_owned()
}

/// Draws without a new network, for each that was found, after which a range is taken to have no further one; and how many
/// at least.
const DRAWS: [u64; 2] = [20, 1000];

/// More networks than this are a slip of the pen.
const MOST: usize = 1_000_000;

/// And more seeds than this.
const MOST_SEEDS: u64 = 1000;

/// A benchmark that is being built.
pub struct Plan {
    data: Data,
    networks: Vec<Architecture>,
    /// Runs of one recipe but for the seed, each with the folder of its runs.
    parts: Vec<Part>,
    jobs: Vec<Job>,
}

/// The runs with one budget: their places in the list of all jobs.
struct Part {
    steps: Option<u64>,
    jobs: Range<usize>,
}

impl Part {
    fn folder(&self, folder: &Path) -> PathBuf {
        let runs = folder.join("runs");
        self.steps.map_or(runs.clone(), |steps| runs.join(steps.to_string()))
    }
}

impl Plan {
    /// Reads a configuration, its space and its data, and draws the networks.
    pub fn read(path: &Path) -> Result<Self> {
        let place = path.display().to_string();
        let text = crate::file::text(path)?;
        let config: Config = toml::from_str(&text).map_err(|e| Error::data(place.as_str(), e.to_string()))?;
        let beside = path.parent().unwrap_or(Path::new("."));
        let space = match space::is_preset(&config.space) {
            true => space::preset(&config.space)?,
            false => space::open(&beside.join(&config.space).to_string_lossy())?,
        };
        let tokeniser: Tokeniser = config.tokeniser.parse()?;
        let data = match &config.data {
            Some(data) => Data::open(&beside.join(data), tokeniser, None, None)?,
            None => Data::demo(tokeniser)?,
        };
        Self::new(config, space, data).map_err(|e| match e {
            Error::Input { .. } => e.at(place),
            other => other,
        })
    }

    /// Draws the networks of a space.
    pub fn new(config: Config, space: Arc<dyn Space>, data: Data) -> Result<Self> {
        config.recipe.check()?;
        let wrong = |message: String| Err(Error::data("", message));
        let [least, most] = config.params;
        if config.networks == 0 || config.strata == 0 || least == 0 || least >= most {
            return wrong(
                "networks, strata and params must be numbers above 0, the least parameters first".into(),
            );
        }
        if config.strata > config.networks {
            return wrong(format!(
                "{} ranges for {} networks: take fewer strata",
                config.strata, config.networks
            ));
        }
        if config.seeds > MOST_SEEDS {
            return wrong(format!(
                "{} seeds are more than anybody trains: at most {MOST_SEEDS}",
                config.seeds
            ));
        }
        if config.networks > MOST {
            return wrong(format!(
                "{} networks are more than anybody trains: at most {MOST}",
                config.networks
            ));
        }
        if most - least < config.strata as u64 {
            return wrong(format!(
                "{least} to {most} parameters are not {} ranges: take fewer strata",
                config.strata
            ));
        }
        let edge = |i: usize| {
            let share = i as f64 / config.strata as f64;
            (least as f64 * (most as f64 / least as f64).powf(share)).round() as u64
        };
        let (mut networks, mut seen) = (Vec::new(), HashSet::new());
        for stratum in 0..config.strata {
            let count =
                config.networks * (stratum + 1) / config.strata - config.networks * stratum / config.strata;
            let params =
                Bound { min: edge(stratum), max: edge(stratum + 1) - u64::from(stratum + 1 < config.strata) };
            let inside = space.within(&Limits { params, ..Limits::default() })?;
            let (mut draws, mut newest, mut found) = (0_u64, 0, 0);
            while found < count {
                if draws - newest >= DRAWS[1].max(DRAWS[0] * found as u64) {
                    return wrong(format!(
                        "only {found} of {count} networks of {} to {} parameters were found: take fewer strata or a larger space",
                        params.min, params.max
                    ));
                }
                let mut rng = Seed(config.seed).stream("benchmark", ((stratum as u64) << 32) + draws);
                let network = inside.sample(false, &mut rng)?;
                draws += 1;
                if seen.insert(network.id()) {
                    networks.push(network);
                    (newest, found) = (draws, found + 1);
                }
            }
        }
        for network in &networks {
            if crate::train::fit(network, &data)? != *network {
                return wrong(
                    "the space has another vocabulary, or other classes, than the data: set them in its file"
                        .into(),
                );
            }
        }
        let recipes: Vec<(Option<u64>, Recipe)> = match config.budgets.is_empty() {
            true => vec![(None, config.recipe.clone())],
            false => {
                config.budgets.iter().map(|steps| (Some(*steps), config.recipe.for_steps(*steps))).collect()
            }
        };
        let (mut parts, mut jobs) = (Vec::new(), Vec::new());
        for (steps, recipe) in recipes {
            recipe.check()?;
            let first = jobs.len();
            for (place, network) in networks.iter().enumerate() {
                let again = config.repeat > 0 && place % config.repeat == 0;
                for seed in 0..if again { config.seeds.max(1) } else { 1 } {
                    let recipe = Recipe { seed: recipe.seed.wrapping_add(seed), ..recipe.clone() };
                    jobs.push(Job { architecture: network.clone(), recipe });
                }
            }
            parts.push(Part { steps, jobs: first..jobs.len() });
        }
        Ok(Plan { data, networks, parts, jobs })
    }

    /// Every run there is.
    pub fn jobs(&self) -> &[Job] {
        &self.jobs
    }

    /// The networks, small ranges first.
    pub fn networks(&self) -> &[Architecture] {
        &self.networks
    }

    /// The jobs of a part that belong to a share. Neighbours are of one size, so that every share has all sizes.
    fn share(&self, part: &Part, shard: Option<(u64, u64)>) -> Vec<Job> {
        let (index, of) = shard.unwrap_or((0, 1));
        self.jobs[part.jobs.clone()].iter().skip(index as usize).step_by(of as usize).cloned().collect()
    }

    /// How many jobs of a share are not done.
    pub fn open(&self, folder: &Path, shard: Option<(u64, u64)>) -> usize {
        let open = |part: &Part| {
            self.share(part, shard).iter().filter(|job| !job.done(&part.folder(folder))).count()
        };
        self.parts.iter().map(open).sum()
    }

    /// Trains what is not done of one share of the jobs, all if there is none, in `folder/runs`; `each` is told of every
    /// job that gets done. If none is left over the table is written, and its path given.
    pub fn build(
        &self,
        folder: &Path,
        shard: Option<(u64, u64)>,
        each: &(dyn Fn(&Job, &Finished) + Sync),
    ) -> Result<Option<PathBuf>> {
        for part in &self.parts {
            jobs(&self.share(part, shard), &self.data, &part.folder(folder), each)?;
        }
        if self.open(folder, None) > 0 {
            return Ok(None);
        }
        let mut all = Vec::with_capacity(self.jobs.len());
        for part in &self.parts {
            all.extend(jobs(&self.jobs[part.jobs.clone()], &self.data, &part.folder(folder), &|_, _| {})?);
        }
        self.write(folder, &all).map(Some)
    }

    /// Each network's first run is a row of the table; all runs of those with several are rows of the repeats.
    fn write(&self, folder: &Path, all: &[Finished]) -> Result<PathBuf> {
        let budget = if self.parts.iter().any(|part| part.steps.is_some()) { "steps,tokens," } else { "" };
        let (mut table, mut repeats) = (String::new(), format!("id,seed,{budget}{}\n", RESULTS.join(",")));
        for part in &self.parts {
            let runs: Vec<(&Job, &Finished)> =
                part.jobs.clone().map(|at| (&self.jobs[at], &all[at])).collect();
            for group in runs.chunk_by(|a, b| a.0.architecture == b.0.architecture) {
                let (first, said) = group[0];
                let row = row(
                    &first.architecture,
                    said,
                    part.steps.map(|steps| (steps, first.recipe.tokens_seen())),
                );
                table += &serde_json::to_string(&row).expect("a row is plain data");
                table.push('\n');
                for (job, said) in group.iter().filter(|_| group.len() > 1) {
                    let mut cells = vec![job.architecture.id(), job.recipe.seed.to_string()];
                    let budget = part.steps.map(|steps| format!("{steps},{}", job.recipe.tokens_seen()));
                    cells.extend(budget);
                    let results = results(said);
                    let cell = |name: &&str| results.get(*name).map(Value::to_string).unwrap_or_default();
                    cells.extend(RESULTS.iter().map(cell));
                    repeats += &(cells.join(",") + "\n");
                }
            }
        }
        let target = folder.join("architectures.jsonl");
        for (path, text) in [(folder.join("repeats.csv"), repeats), (target.clone(), table)] {
            crate::file::replace(&path, text)?;
        }
        Ok(target)
    }
}

/// A network and what became of it, as a benchmark's table has it.
fn row(network: &Architecture, said: &Finished, budget: Option<(u64, u64)>) -> Map<String, Value> {
    let (genes, params) = (network.to_json(), network.params());
    let mut row = Map::new();
    row.insert("id".into(), network.id().into());
    row.extend(genes.into_iter().filter(|(key, _)| !["space", "family"].contains(&key.as_str())));
    if let Some((steps, tokens)) = budget {
        row.extend([("steps".to_owned(), steps.into()), ("tokens".to_owned(), tokens.into())]);
    }
    row.extend(results(said));
    row.insert("params_total".into(), params.total.into());
    row.insert("params_decoder".into(), params.decoder().into());
    row
}

/// The columns of results. A run that diverged has none of them.
const RESULTS: [&str; 4] = ["valid_ppl", "valid_loss", "valid_accuracy", "train_loss"];

fn results(said: &Finished) -> Map<String, Value> {
    let language = said.valid_accuracy.is_none();
    let perplexity = said.valid_loss.filter(|_| language).map(f64::exp);
    let values = [perplexity, said.valid_loss, said.valid_accuracy, said.train_loss];
    let named = RESULTS.into_iter().zip(values);
    named.filter_map(|(name, value)| Some((name.to_owned(), json!(value?)))).collect()
}
