//! `foretell studies`, `show`, `best`, `front`, `verify-store`: what a store holds.

use crate::args::{Shown, StoreArgs};
use crate::output::{self, grouped, number, short};
use foretell::architecture::{Architecture, Counter};
use foretell::catalogue;
use foretell::error::{Error, Result};
use foretell::proxy::Request;
use foretell::space;
use foretell::store::{Store, Study, Trial};
use foretell::study::{self, Objective, Standing};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The store: given, else `FORETELL_STORE`, else `foretell.db`.
pub fn path(given: Option<&Path>) -> PathBuf {
    let set = std::env::var_os("FORETELL_STORE").filter(|value| !value.is_empty()).map(PathBuf::from);
    given.map(Path::to_owned).or(set).unwrap_or_else(|| "foretell.db".into())
}

/// A study with all that follows from its trials.
pub struct Loaded {
    pub study: Study,
    pub trials: Vec<Trial>,
    pub hash: String,
    pub objectives: Vec<Objective>,
    pub standing: Standing,
}

pub fn load(store: &Store, name: &str) -> Result<Loaded> {
    let studies = store.studies()?;
    let names = || studies.iter().map(|study| study.name.as_str());
    let study = studies.iter().find(|study| study.name == name);
    let study = study.ok_or_else(|| catalogue::unknown("study", name, names()))?.clone();
    let (trials, digest) = store.trials(&study)?;
    let objectives = Objective::of(&study.config)?;
    let standing = Standing::new(&objectives, &trials)?;
    Ok(Loaded { study, trials, hash: study::hash(digest), objectives, standing })
}

impl Loaded {
    pub fn best(&self) -> Option<usize> {
        self.standing.order.first().copied()
    }

    pub fn architecture(&self, trial: usize) -> Result<Architecture> {
        let genes = serde_json::from_str(&self.trials[trial].genes)
            .map_err(|e| Error::input(format!("trial {trial}"), e.to_string()))?;
        space::read_architecture(&genes)
    }

    /// How many failed in which way.
    pub fn failures(&self) -> String {
        let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
        for score in self.trials.iter().flat_map(|trial| &trial.scores).filter(|score| score.status != "ok") {
            *kinds.entry(&score.status).or_default() += 1;
        }
        kinds.iter().map(|(kind, count)| format!("{count} {kind}")).collect::<Vec<_>>().join(", ")
    }

    pub fn score_text(&self, trial: usize) -> String {
        self.standing.values[trial].as_ref().map_or("failed".to_owned(), |values| number(values[0]))
    }

    /// The first objective of another network, where it takes no pass.
    pub fn shape_score(&self, architecture: &Architecture) -> String {
        let score = || -> Option<f64> {
            let Objective::Proxy(label) = &self.objectives[0] else { return None };
            let request = Request::parse(label).ok()?;
            if request.about().drawn() || request.is_set_score() {
                return None;
            }
            request.of_shape(architecture).ok()
        };
        score().map_or("–".to_owned(), number)
    }

    pub fn object(&self, trial: usize) -> Result<Value> {
        let architecture = self.architecture(trial)?;
        let mut object = serde_json::from_str::<Value>(&self.trials[trial].genes).unwrap_or_default();
        if let Some(map) = object.as_object_mut() {
            map.insert("id".into(), architecture.id().into());
        }
        let values = self.standing.values[trial].clone();
        let objectives: serde_json::Map<String, Value> = self
            .objectives
            .iter()
            .enumerate()
            .map(|(i, objective)| {
                let value = values.as_ref().map(|values| values[i]);
                let cost = !matches!(objective, Objective::Proxy(_));
                (objective.to_string(), json!(value.map(|value| if cost { -value } else { value })))
            })
            .collect();
        Ok(json!({
            "trial": trial, "architecture": object, "objectives": objectives, "params": architecture.params().total,
            "flops": architecture.flops(Counter::Exact), "memory_bytes": architecture.memory().total(),
        }))
    }

    fn row(&self, trial: usize) -> Result<Vec<String>> {
        let architecture = self.architecture(trial)?;
        let values = self.standing.values[trial].as_ref();
        let mut row = vec![trial.to_string(), architecture.id()];
        for (i, objective) in self.objectives.iter().enumerate() {
            let cost = !matches!(objective, Objective::Proxy(_));
            row.push(
                values
                    .map_or("failed".to_owned(), |values| number(if cost { -values[i] } else { values[i] })),
            );
        }
        row.push(grouped(architecture.params().total));
        row.push(short(architecture.flops(Counter::Exact).unwrap_or(0)));
        row.push(output::genes(&architecture));
        Ok(row)
    }

    fn table(&self, trials: &[usize]) -> Result<comfy_table::Table> {
        let names: Vec<String> = self.objectives.iter().map(Objective::to_string).collect();
        let mut header = vec!["trial", "id"];
        header.extend(names.iter().map(String::as_str));
        header.extend(["parameters", "multiply-adds", "architecture"]);
        Ok(output::table(&header, trials.iter().map(|trial| self.row(*trial)).collect::<Result<_>>()?))
    }
}

pub fn print_front(loaded: &Loaded) -> Result<()> {
    let standing = &loaded.standing;
    output::line(format!(
        "Pareto front: {} of {} candidates, covering {:.3} of the box from worst to best",
        standing.front.len(),
        standing.order.len(),
        standing.hypervolume
    ));
    output::line(loaded.table(&standing.front)?);
    if let Some(knee) = standing.knee {
        output::line(format!("knee: trial {knee}, {}", loaded.trials[knee].id));
    }
    Ok(())
}

pub fn open(args: &StoreArgs) -> Result<Store> {
    Store::read(&path(args.store.as_deref()))
}

pub fn list(args: &StoreArgs, json: bool) -> Result<()> {
    let mut rows = Vec::new();
    for study in open(args)?.studies()? {
        let text = |key: &str| study.config[key].as_str().unwrap_or_default().to_owned();
        let state = study.stopped.clone().unwrap_or_else(|| "unfinished".to_owned());
        if json {
            output::line(json!({
                "study": study.name, "trials": study.trials, "stopped": study.stopped, "rejected": study.rejected,
                "config": study.config, "provenance": study.provenance,
            }));
            continue;
        }
        let objectives: Vec<String> =
            Objective::of(&study.config)?.iter().map(Objective::to_string).collect();
        rows.push(vec![
            study.name.clone(),
            grouped(study.trials),
            state,
            text("space"),
            text("algorithm"),
            objectives.join(", "),
        ]);
    }
    if !json {
        output::line(output::table(
            &["study", "candidates", "state", "space", "algorithm", "objectives"],
            rows,
        ));
    }
    Ok(())
}

pub fn show(args: &Shown, json: bool) -> Result<()> {
    let loaded = load(&open(&args.store)?, &args.study)?;
    let trials: Vec<usize> = loaded.standing.order.iter().copied().take(args.n).collect();
    if json {
        return trials.iter().try_for_each(|trial| loaded.object(*trial).map(output::line));
    }
    let study = &loaded.study;
    let state = study.stopped.as_deref().unwrap_or("unfinished");
    output::line(format!("{}: {} candidates, {state}", study.name, loaded.trials.len()));
    output::line(format!("settings    {}", study.config));
    output::line(format!("provenance  {}", study.provenance));
    output::line(format!("hash        {}\n", loaded.hash));
    if loaded.standing.order.len() < loaded.trials.len() {
        output::line(format!("failures    {}\n", loaded.failures()));
    }
    output::line(loaded.table(&trials)?);
    Ok(())
}

pub fn best(args: &Shown, json: bool) -> Result<()> {
    let loaded = load(&open(&args.store)?, &args.study)?;
    let best =
        loaded.best().ok_or_else(|| Error::input(format!("study '{}'", args.study), "has no result yet"))?;
    let architecture = loaded.architecture(best)?;
    if json {
        output::line(Value::Object(space::write_architecture(&architecture)));
        return Ok(());
    }
    output::line(loaded.table(&[best])?);
    output::line(format!("\n{}", crate::search::drawing(&architecture)));
    Ok(())
}

pub fn front(args: &Shown, json: bool) -> Result<()> {
    let loaded = load(&open(&args.store)?, &args.study)?;
    if json {
        return loaded.standing.front.iter().try_for_each(|trial| {
            let mut object = loaded.object(*trial)?;
            object["knee"] = json!(loaded.standing.knee == Some(*trial));
            output::line(object);
            Ok(())
        });
    }
    print_front(&loaded)
}

pub fn verify(args: &StoreArgs, json: bool) -> Result<()> {
    let store = open(args)?;
    let (studies, trials) = store.verify()?;
    if json {
        output::line(json!({"store": store.path(), "studies": studies, "trials": trials, "ok": true}));
    } else {
        output::line(format!(
            "{}: {studies} studies, {trials} candidates, all as written",
            store.path().display()
        ));
    }
    Ok(())
}
