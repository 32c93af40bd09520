//! What a study would do, found without doing it.

use super::context::StudyContext;
use super::{Estimate, Objective, Settings, conflict, estimate};
use crate::architecture::Architecture;
use crate::error::Result;
use crate::score::{Options, Scorer};
use crate::search;
use crate::store::Store;

/// What a study would do.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The study's name.
    pub name: String,
    /// The algorithm that would search.
    pub algorithm: String,
    /// Candidates in the end, as far as the algorithm knows.
    pub candidates: u64,
    /// Candidates that the store holds already.
    pub stored: u64,
    /// How long the others would take, where they take passes.
    pub estimate: Option<Estimate>,
}

/// Checks everything that can be checked before a search; `store` is only read. Latencies are not measured, so a limit on
/// them is not checked. Where scores take passes, two candidates are timed.
pub(super) fn plan(
    settings: &Settings,
    options: Options,
    store: Option<&Store>,
    name: Option<&str>,
) -> Result<Plan> {
    if settings.time.is_some() {
        return timed(settings, store, name);
    }
    settings.check()?;
    let (settings, solution) = settings.resolved(&());
    let searcher = search::parse::<Architecture>(&settings.algorithm)?;
    let config = settings.config()?;
    let scorer = Scorer::new(Objective::requests(&settings.objectives), options);
    let context = StudyContext::new(&settings, solution, &())?;
    let name = settings.full_name(name)?;
    let mut known = Vec::new();
    if let Some((store, study)) = store.and_then(|store| Some((store, store.find(&name).transpose()?))) {
        let study = study?;
        if study.config != config {
            return Err(conflict(&name, &study.config, &config));
        }
        known = store.trials(&study)?.0;
    }
    let candidates = settings.candidates(searcher.planned(), context.size());
    let estimate = estimate(&settings, &scorer, &context, &known, candidates);
    let stored = known.len() as u64;
    Ok(Plan { name, algorithm: settings.algorithm.clone(), candidates, stored, estimate })
}

/// The same of a timed search: how many networks it will train is not known before the rate of training is.
fn timed(settings: &Settings, store: Option<&Store>, name: Option<&str>) -> Result<Plan> {
    let name = settings.full_name(name)?;
    let settings = &settings.with_prior(None)?;
    settings.check()?;
    StudyContext::new(settings, None, &())?;
    let study = store.map(|store| store.find(&name)).transpose()?.flatten();
    let stored = study.map_or(0, |study| study.trials);
    Ok(Plan { name, algorithm: settings.algorithm.clone(), candidates: stored, stored, estimate: None })
}

#[cfg(test)]
mod tests {
    use super::super::StudyBuilder;
    use super::*;
    use crate::space;

    #[test]
    fn a_plan_is_what_the_search_does() {
        let settings = Settings::new(space::preset("gpt2").unwrap()).search("random", "nsc").unwrap();
        let settings = Settings { budget: Some(12), ..settings };
        let builder = || StudyBuilder::from(settings.clone());
        let mut store = Store::memory().unwrap();
        let first = builder().in_store(&mut store).plan().unwrap();
        assert!(store.studies().unwrap().is_empty(), "a plan writes nothing");
        let done = builder().in_store(&mut store).run().unwrap();
        assert_eq!((&first.name, first.candidates, first.stored), (&done.name, done.progress.done, 0));
        let again = builder().in_store(&mut store).plan().unwrap();
        assert_eq!((again.stored, again.estimate), (12, None));
        let other = StudyBuilder::from(Settings { seed: 1, ..settings.clone() });
        let refused = other.in_store(&mut store).name(done.name.as_str()).plan().unwrap_err();
        assert!(refused.to_string().contains("other settings"), "{refused}");
    }
}
