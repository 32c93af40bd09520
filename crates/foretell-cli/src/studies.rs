//! `foretell studies`, `show`, `best`, `front`, `verify-store`, `repair`, `merge`: what a store holds.

use crate::args::{Merge, Repair, Shown, StoreArgs};
use crate::output::{self, grouped, number, short};
use foretell::architecture::{Architecture, Counter};
use foretell::catalogue;
use foretell::error::{Error, Result};
use foretell::proxy::Request;
use foretell::space;
use foretell::store::{self, Evaluation, Store, Study, Trial};
use foretell::study::{self, Objective, Standing};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The store: given, else `FORETELL_STORE`, else `foretell.db`.
pub fn path(given: Option<&Path>) -> PathBuf {
    let set = std::env::var_os("FORETELL_STORE").filter(|value| !value.is_empty()).map(PathBuf::from);
    given.map(Path::to_owned).or(set).unwrap_or_else(|| "foretell.db".into())
}

/// A study and who is ahead in it; trials are read one by one as they are shown.
pub struct Loaded<'s> {
    store: &'s Store,
    pub study: Study,
    pub objectives: Vec<Objective>,
    pub standing: Standing,
    /// How many trials there are, failed ones included.
    pub trials: usize,
    pub evaluations: Vec<Evaluation>,
}

pub fn load<'s>(store: &'s Store, name: &str) -> Result<Loaded<'s>> {
    let studies = store.studies()?;
    let names = || studies.iter().map(|study| study.name.as_str());
    let study = studies.iter().find(|study| study.name == name);
    let study = study.ok_or_else(|| catalogue::unknown("study", name, names()))?.clone();
    let objectives = Objective::of(&study.config)?;
    let ranks = store.ranks(&study)?;
    let standing = Standing::new(&objectives, &ranks)?;
    let (evaluations, _) = store.evaluations(&study)?;
    Ok(Loaded { store, study, objectives, standing, trials: ranks.len(), evaluations })
}

impl Loaded<'_> {
    /// The best: by what an evaluator said, else in the first objective.
    pub fn best(&self) -> Option<usize> {
        let values = self.evaluations.iter().filter_map(|said| Some((said.value()?, said.trial as usize)));
        let evaluated = values.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
        evaluated.map(|(_, trial)| trial).or_else(|| self.standing.best(1).first().copied())
    }

    /// The best `k`: those that an evaluator spoke well of first, then the others in the first objective.
    pub fn ahead(&self, k: usize) -> Vec<usize> {
        let mut said: Vec<(f64, usize)> =
            self.evaluations.iter().filter_map(|said| Some((said.value()?, said.trial as usize))).collect();
        said.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut trials: Vec<usize> = said.into_iter().map(|(_, trial)| trial).collect();
        for trial in self.standing.best(k) {
            if !trials.contains(&trial) {
                trials.push(trial);
            }
        }
        trials.truncate(k);
        trials
    }

    pub fn trial(&self, trial: usize) -> Result<Trial> {
        self.store.trial(&self.study, trial as u64)
    }

    pub fn architecture(&self, trial: usize) -> Result<Architecture> {
        let genes = serde_json::from_str(&self.trial(trial)?.genes)
            .map_err(|e| Error::input(format!("trial {trial}"), e.to_string()))?;
        space::read_architecture(&genes)
    }

    /// How many failed in which way.
    pub fn failures(&self) -> Result<String> {
        let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
        for trial in (0..self.trials).filter(|trial| self.standing.values(*trial).is_none()) {
            for score in self.trial(trial)?.scores.into_iter().filter(|score| score.status != "ok") {
                *kinds.entry(score.status).or_default() += 1;
            }
        }
        Ok(kinds.iter().map(|(kind, count)| format!("{count} {kind}")).collect::<Vec<_>>().join(", "))
    }

    /// What the evaluator said of a trial, as it said it.
    fn evaluated(&self, trial: usize) -> Option<&Evaluation> {
        self.evaluations.iter().find(|said| said.trial == trial as u64)
    }

    pub fn score_text(&self, trial: usize) -> String {
        self.standing.values(trial).map_or("failed".to_owned(), |values| number(values[0]))
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
        let mut object = space::write_architecture(&architecture);
        object.insert("id".into(), architecture.id().into());
        let values = self.standing.values(trial);
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
        let mut object = json!({
            "trial": trial, "architecture": object, "objectives": objectives, "params": architecture.params().total,
            "flops": architecture.flops(Counter::Exact), "memory_bytes": architecture.memory().total(),
        });
        if let Some(said) = self.evaluated(trial) {
            object["evaluated"] = match said.value() {
                Some(value) => {
                    json!({"by": said.evaluator, "value": study::as_given(&said.evaluator, value)})
                }
                None => json!({"by": said.evaluator, "kind": said.status, "error": said.message}),
            };
        }
        Ok(object)
    }

    fn row(&self, trial: usize) -> Result<Vec<String>> {
        let architecture = self.architecture(trial)?;
        let values = self.standing.values(trial);
        let mut row = vec![trial.to_string(), architecture.id()];
        for (i, objective) in self.objectives.iter().enumerate() {
            let cost = !matches!(objective, Objective::Proxy(_));
            let shown = |values: &Vec<f64>| number(if cost { -values[i] } else { values[i] });
            row.push(values.as_ref().map_or("failed".to_owned(), shown));
        }
        if !self.evaluations.is_empty() {
            row.push(self.evaluated(trial).map_or(String::new(), |said| {
                said.value()
                    .map_or(said.status.clone(), |value| number(study::as_given(&said.evaluator, value)))
            }));
        }
        row.push(grouped(architecture.params().total));
        row.push(short(architecture.flops(Counter::Exact).unwrap_or(0)));
        row.push(output::genes(&architecture));
        Ok(row)
    }

    pub fn table(&self, trials: &[usize]) -> Result<comfy_table::Table> {
        let names: Vec<String> = self.objectives.iter().map(Objective::to_string).collect();
        let mut header = vec!["trial", "id"];
        header.extend(names.iter().map(String::as_str));
        header.extend((!self.evaluations.is_empty()).then_some("evaluated"));
        header.extend(["parameters", "multiply-adds", "architecture"]);
        Ok(output::table(&header, trials.iter().map(|trial| self.row(*trial)).collect::<Result<_>>()?))
    }
}

pub fn print_front(loaded: &Loaded) -> Result<()> {
    let standing = &loaded.standing;
    output::line(format!(
        "Pareto front: {} of {} candidates, covering {:.3} of the box from worst to best",
        standing.front.len(),
        standing.sound(),
        standing.hypervolume
    ));
    output::line(loaded.table(&standing.front)?);
    if let Some(knee) = standing.knee {
        output::line(format!("knee: trial {knee}, {}", loaded.trial(knee)?.id));
    }
    Ok(())
}

/// The store as it is now, to read.
pub fn open(args: &StoreArgs) -> Result<Store> {
    let store = Store::read(&path(args.store.as_deref()))?;
    store.hold()?;
    Ok(store)
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
    let store = open(&args.store)?;
    let loaded = load(&store, &args.study)?;
    let trials = loaded.standing.best(args.n);
    if json {
        return trials.iter().try_for_each(|trial| loaded.object(*trial).map(output::line));
    }
    let study = &loaded.study;
    let state = study.stopped.as_deref().unwrap_or("unfinished");
    output::line(format!("{}: {} candidates, {state}", study.name, loaded.trials));
    output::line(format!("settings    {}", study.config));
    output::line(format!("provenance  {}", study.provenance));
    output::line(format!("hash        {}\n", store.hash(study)?));
    if loaded.standing.sound() < loaded.trials {
        output::line(format!("failures    {}\n", loaded.failures()?));
    }
    if let Some(said) = loaded.evaluations.first() {
        output::line(format!("evaluated   {} by {}\n", loaded.evaluations.len(), said.evaluator));
    }
    output::line(loaded.table(&trials)?);
    Ok(())
}

pub fn best(args: &Shown, json: bool) -> Result<()> {
    let store = open(&args.store)?;
    let loaded = load(&store, &args.study)?;
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
    let store = open(&args.store)?;
    let loaded = load(&store, &args.study)?;
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

pub fn repair(args: &Repair, json: bool) -> Result<()> {
    let file = args.file.display();
    let Some(done) = store::repair(&args.file)? else {
        if json {
            output::line(json!({"store": args.file, "repaired": false}));
        } else {
            output::line(format!("{file}: nothing to repair, all as written"));
        }
        return Ok(());
    };
    if json {
        let study = |study: &store::Recovered| json!({"study": study.name, "kept": study.kept, "salvaged": study.salvaged, "lost": study.lost});
        let studies: Vec<Value> = done.studies.iter().map(study).collect();
        output::line(json!({"store": args.file, "repaired": true, "aside": done.aside, "studies": studies}));
        return Ok(());
    }
    output::line(format!("{file}: repaired; as it was: {}\n", done.aside.display()));
    let row = |study: &store::Recovered| {
        vec![study.name.clone(), grouped(study.kept), grouped(study.salvaged), grouped(study.lost)]
    };
    let rows = done.studies.iter().map(row).collect();
    output::line(output::table(&["study", "candidates kept", "salvaged behind a gap", "lost"], rows));
    output::line(
        "\nThe search command of a study scores again what is lost; salvaged ones are NAME-salvaged.",
    );
    Ok(())
}

pub fn merge(args: &Merge, json: bool) -> Result<()> {
    let mut into = Store::open(&args.into)?;
    let mut done = BTreeMap::new();
    for from in &args.from {
        for merged in into.merge(&Store::read(from)?)? {
            let before = done.get(&merged.name).map_or(merged.before, |(before, _)| *before);
            done.insert(merged.name, (before, merged.trials));
        }
    }
    if json {
        for (name, (before, trials)) in done {
            output::line(json!({"study": name, "trials": trials, "before": before}));
        }
        return Ok(());
    }
    let row = |(name, (before, trials)): (String, (u64, u64))| vec![name, grouped(before), grouped(trials)];
    output::line(output::table(&["study", "candidates before", "now"], done.into_iter().map(row).collect()));
    Ok(())
}
