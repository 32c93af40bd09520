//! Random search beside a study: what the same number of blind draws would have found.

use super::{Objective, Settings, StudyBuilder};
use crate::error::Result;
use crate::proxy::Request;
use crate::store::{Ranks, Store, Study, Trial};
use std::sync::Arc;

/// Candidates that are drawn for the occasion at most: what random search finds grows slowly, and these take memory.
const MOST_DRAWN: u64 = 100_000;

/// What random search found in the same space, for the same objectives, under the same limits.
pub enum Baseline<'s> {
    /// The study is a random search itself.
    Itself,
    /// A study of the same store.
    Stored {
        /// Its name.
        name: String,
        /// Its trials, as many as the study has at most.
        draws: Draws<'s>,
    },
    /// Drawn for the occasion, since no objective takes a pass: as many trials, a hundred thousand at most, with the same
    /// seed.
    Drawn(Draws<'s>),
    /// Nothing: a candidate takes a pass, and nobody ran a random search of this kind.
    Absent,
}

/// The trials of a random search, read one by one as they are asked for.
pub struct Draws<'s> {
    store: Place<'s>,
    study: Study,
    count: usize,
}

enum Place<'s> {
    Beside(&'s Store),
    Own(Box<Store>),
}

impl Draws<'_> {
    fn store(&self) -> &Store {
        match &self.store {
            Place::Beside(store) => store,
            Place::Own(store) => store,
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// One of them.
    pub fn trial(&self, number: usize) -> Result<Trial> {
        self.store().trial(&self.study, number as u64)
    }

    /// What they are ranked by.
    pub fn ranks(&self) -> Result<Ranks> {
        let mut ranks = self.store().ranks(&self.study)?;
        ranks.truncate(self.count);
        Ok(ranks)
    }
}

impl<'s> Baseline<'s> {
    /// The baseline of a study: taken from its store, else drawn where that takes no pass and can be done.
    pub fn of(store: &'s Store, study: &Study) -> Result<Self> {
        let is_random = |study: &Study| {
            let algorithm = study.config["algorithm"].as_str().unwrap_or_default();
            algorithm.split('[').next() == Some("random")
        };
        if is_random(study) {
            return Ok(Baseline::Itself);
        }
        let alike = |other: &&Study| {
            let keys = ["space", "space_file", "networks", "objectives", "limits"];
            is_random(other) && keys.iter().all(|key| other.config.get(key) == study.config.get(key))
        };
        let studies = store.studies()?;
        // Of several the longest, of equals the oldest.
        let longest = studies.iter().filter(alike).rev().max_by_key(|other| other.trials.min(study.trials));
        let draws = |store: Place<'s>, other: &Study| Draws {
            store,
            study: other.clone(),
            count: usize::try_from(other.trials.min(study.trials)).unwrap_or(usize::MAX),
        };
        if let Some(other) = longest.filter(|other| other.trials > 0) {
            return Ok(Baseline::Stored {
                name: other.name.clone(),
                draws: draws(Place::Beside(store), other),
            });
        }
        let settings = Settings {
            algorithm: "random".into(),
            budget: Some(study.trials.min(MOST_DRAWN)),
            time: None,
            work: None,
            ..Settings::of(&study.config)?
        };
        let costly = |request: &Arc<Request>| request.about().drawn() || request.is_set_score();
        let drawable = settings.space.check_source().is_ok();
        if !drawable || Objective::requests(&settings.objectives).iter().any(costly) {
            return Ok(Baseline::Absent);
        }
        let mut memory = Store::memory()?;
        let summary = StudyBuilder::from(settings).in_store(&mut memory).run()?;
        Ok(match memory.find(&summary.name)? {
            Some(drawn) => Baseline::Drawn(draws(Place::Own(Box::new(memory)), &drawn)),
            None => Baseline::Absent,
        })
    }

    /// Its trials, if there are any beside the study's own.
    pub fn draws(&self) -> Option<&Draws<'s>> {
        match self {
            Baseline::Stored { draws, .. } | Baseline::Drawn(draws) => Some(draws),
            Baseline::Itself | Baseline::Absent => None,
        }
    }
}
