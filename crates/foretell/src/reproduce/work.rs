//! What every kind of experiment needs: tables, a scorer with a cache, places for what is finished.

use super::checkpoints::{self, Checkpoints};
use super::training::{self, Trains};
use super::{Drawn, Entry, Experiment, Outcome, Scale, Size, Target, missing};
use super::{agreement, counts, formulas, search, stability};
use crate::architecture::Architecture;
use crate::benchmark::{self, Benchmark, Column};
use crate::cancel::CancelToken;
use crate::error::{Error, Result};
use crate::file;
use crate::proxy::Request;
use crate::score::{Cache, Options, Scorer, Workers};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Who looks on.
pub trait Watch: Sync {
    /// The run is about to begin and will take so many seconds.
    fn estimated(&self, _seconds: f64) {}
    /// So many parts of all are done; the parts are named.
    fn part(&self, _done: u64, _total: u64, _what: &'static str) {}
}

/// Nobody looks on.
impl Watch for () {}

/// A run of an entry.
pub struct Reproduce<'a> {
    /// The entry.
    pub entry: &'a Entry,
    /// How large the run is.
    pub size: Size,
    /// The folder of benchmarks.
    pub tables: &'a Path,
    /// Where results go, and what is finished of them.
    pub to: &'a Path,
    /// The most bytes that passes may take.
    pub memory: Option<u64>,
    /// Stops the run, from any thread.
    pub cancel: CancelToken,
    /// Who looks on.
    pub watch: &'a dyn Watch,
}

impl<'a> Reproduce<'a> {
    /// The folder of the results: `etas/table-3/quick`.
    pub fn folder(&self) -> PathBuf {
        self.to.join(&self.entry.id).join(self.size.to_string())
    }

    /// Runs the experiment and writes its figures and charts; the files that were written, the figures first.
    pub fn run(&self) -> Result<(Outcome, Vec<PathBuf>)> {
        self.check()?;
        let folder = self.folder();
        std::fs::create_dir_all(&folder).map_err(|source| Error::write(&folder, source))?;
        let _lock = file::Lock::of(&folder)?;
        let Drawn { outcome, charts } = self.cancel.clone().run(|| self.experiment())??;
        let mut written = vec![folder.join("result.json"), folder.join("result.csv")];
        file::replace(&written[0], outcome.json())?;
        file::replace(&written[1], outcome.csv())?;
        for (name, chart) in charts {
            let path = folder.join(format!("{}.svg", plain(&name)));
            file::replace(&path, chart.alone())?;
            written.push(path);
        }
        Ok((outcome, written))
    }

    /// The figures of a run that has ended.
    pub fn stored(&self) -> Result<Outcome> {
        let path = self.folder().join("result.json");
        serde_json::from_str(&file::text(&path)?).map_err(|e| {
            Error::data(path.display().to_string(), format!("is no result of a run ({e}): run it again"))
        })
    }

    /// Refuses a run whose tables are missing, or that there is none of.
    pub fn check(&self) -> Result<()> {
        match &self.entry.experiment {
            Experiment::Illustration { command } => {
                let message =
                    format!("is a drawing: there is nothing to measure. `{command}` shows the same here");
                return Err(Error::option(self.entry.id.as_str(), message));
            }
            Experiment::Impossible { why } => {
                return Err(Error::option(self.entry.id.as_str(), format!("cannot be run here: {why}")));
            }
            _ => {}
        }
        let known = benchmark::names(self.tables)?;
        match self.entry.tables(self.size).into_iter().find(|table| !known.iter().any(|name| name == table)) {
            Some(table) => Err(missing(table, self.entry)),
            None => Ok(()),
        }
    }

    fn experiment(&self) -> Result<Drawn> {
        match &self.entry.experiment {
            Experiment::Agreement { targets, bands, draw } => agreement::run(self, targets, bands, *draw),
            Experiment::Search { target } => search::run(self, target),
            Experiment::Stability { target, settings } => stability::run(self, target, settings),
            Experiment::Counts => counts::networks(self),
            Experiment::Spaces => counts::spaces(self),
            Experiment::Discover { target } => formulas::run(self, target),
            Experiment::Training { space, max_params, data, top } => {
                training::run(self, &Trains { space, max_params: *max_params, data, top: *top })
            }
            Experiment::Checkpoints { table, file, length, result } => {
                checkpoints::run(self, &Checkpoints { table, file, length, result })
            }
            Experiment::Illustration { .. } | Experiment::Impossible { .. } => {
                unreachable!("what cannot be run is refused before")
            }
        }
    }

    /// How much is run.
    pub(super) fn scale(&self) -> &'a Scale {
        self.entry.scale(self.size)
    }

    /// The seeds of a run, `usual` many unless its scale says otherwise.
    pub(super) fn seeds(&self, usual: u64) -> Vec<u64> {
        (0..self.scale().seeds.unwrap_or(usual)).collect()
    }

    /// What the rows of the entry name, each once.
    pub(super) fn named(&self) -> Vec<&'a str> {
        let mut named: Vec<&str> = Vec::new();
        for row in self.entry.rows.iter().filter(|row| !row.ours.is_empty()) {
            if !named.contains(&row.ours.as_str()) {
                named.push(&row.ours);
            }
        }
        named
    }

    /// The networks of a target and its column. A scale may put another table in its place.
    pub(super) fn part(&self, target: &Target) -> Result<(Benchmark, Column)> {
        let other = Target { table: self.scale().table.clone(), ..Target::default() };
        let target = if other.table.is_empty() { target } else { &other };
        let mut table = Benchmark::load(self.tables, &target.table)?;
        let split = |text: &'_ str| {
            let wrong = || Error::option(format!("{}: {text}", self.entry.id), "is not KEY=VALUE");
            text.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned())).ok_or_else(wrong)
        };
        if !target.rows.is_empty() {
            let (key, value) = split(&target.rows)?;
            table = table.filter(&key, &value)?;
        }
        if !target.set.is_empty() {
            let (key, value) = split(&target.set)?;
            table = table.with(&key, &Value::String(value))?;
        }
        let networks = self.scale().networks.unwrap_or(usize::MAX);
        table = table.limit(networks);
        let column = match target.column.as_str() {
            "" => table.default_target()?,
            name => table.column(name)?,
        };
        let column = column.clone();
        Ok((table, column))
    }

    /// A proxy with the options of the scale, where it runs a network and does not say them itself.
    pub(super) fn request(&self, label: &str) -> Result<Request> {
        let request = Request::parse(label)?;
        let options = &self.scale().options;
        if options.is_empty() || !request.about().runs() {
            return Ok(request);
        }
        let no_batch = self.entry.rows.iter().any(|row| row.no_batch && row.ours.ends_with(label));
        let (name, own) = match label.strip_suffix(']').and_then(|label| label.split_once('[')) {
            Some((name, own)) => (name, own.to_owned()),
            None => (label, String::new()),
        };
        let known = |option: &&str| {
            let key = option.split('=').next().unwrap_or_default();
            (no_batch && key == "batch") || own.split(',').any(|own| own.split('=').next() == Some(key))
        };
        let added: Vec<&str> = options.split(',').filter(|option| !known(option)).collect();
        let all: Vec<&str> = own.split(',').filter(|own| !own.is_empty()).chain(added).collect();
        Request::parse(&if all.is_empty() { name.to_owned() } else { format!("{name}[{}]", all.join(",")) })
    }

    /// How networks are scored, without a cache.
    pub(super) fn options(&self) -> Options {
        Options { memory: self.memory, cancel: self.cancel.clone(), ..Options::default() }
    }

    /// What is said of the options of the scale, at the end of a sentence.
    pub(super) fn with(&self) -> String {
        match self.scale().options.as_str() {
            "" => String::new(),
            options => format!("; passes with `{options}`"),
        }
    }

    /// A scorer of these proxies that keeps every score beside the results.
    pub(super) fn scorer(&self, requests: Vec<Request>) -> Result<Scorer> {
        std::fs::create_dir_all(self.to).map_err(|source| Error::write(self.to, source))?;
        let cache = Some(Cache::open(&self.to.join("scores.jsonl"))?);
        Ok(Scorer::new(requests, Options { cache, ..self.options() }))
    }

    /// About how many seconds scoring these networks takes: one of middle size is timed twice, those whose scores are kept take none.
    pub(super) fn seconds(&self, scorer: &Scorer, networks: &[Architecture], seeds: &[u64]) -> f64 {
        let drawn: Vec<usize> =
            (0..scorer.requests().len()).filter(|i| scorer.requests()[*i].about().drawn()).collect();
        let open = |network: &&Architecture| {
            drawn.iter().any(|request| scorer.cached(network, seeds, *request).is_none())
        };
        let mut open: Vec<_> = networks.iter().filter(open).collect();
        open.sort_by_key(|network| network.params().total);
        let Some(middle) = open.get(open.len() / 2) else { return 0.0 };
        let requests = drawn.iter().map(|request| scorer.requests()[*request].clone());
        let uncached = Scorer::new(requests.collect::<Vec<_>>(), self.options());
        let mut workers = Workers::default();
        let mut time = || {
            let start = Instant::now();
            uncached.row(middle, &seeds[..1], &mut workers);
            start.elapsed().as_secs_f64()
        };
        // The first time pays for weights that all networks share.
        let one = [time(), time()].into_iter().fold(f64::INFINITY, f64::min);
        one * (seeds.len() * open.len()) as f64 / rayon::current_num_threads() as f64
    }
}

/// A name for a file.
pub(super) fn plain(name: &str) -> String {
    let one = |c: char| if c.is_ascii_alphanumeric() || "-.+=".contains(c) { c } else { '-' };
    name.chars().map(one).collect::<String>().trim_matches('-').to_owned()
}
