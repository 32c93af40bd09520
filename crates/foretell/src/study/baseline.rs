//! Random search beside a study: what the same number of blind draws would have found.

use super::{Objective, Settings, StudyBuilder};
use crate::error::Result;
use crate::proxy::Request;
use crate::store::{Store, Study, Trial};
use std::sync::Arc;

/// What random search found in the same space, for the same objectives, under the same limits.
#[derive(Debug, Clone, PartialEq)]
pub enum Baseline {
    /// The study is a random search itself.
    Itself,
    /// A study of the same store.
    Stored {
        /// Its name.
        name: String,
        /// Its trials, as many as the study has at most.
        trials: Vec<Trial>,
    },
    /// Drawn for the occasion, since no objective takes a pass: as many trials, with the same seed.
    Drawn(Vec<Trial>),
    /// Nothing: a candidate takes a pass, and nobody ran a random search of this kind.
    Absent,
}

impl Baseline {
    /// The baseline of a study: taken from its store, else drawn where that takes no pass.
    pub fn of(store: &Store, study: &Study) -> Result<Self> {
        let is_random = |study: &Study| {
            let algorithm = study.config["algorithm"].as_str().unwrap_or_default();
            algorithm.split('[').next() == Some("random")
        };
        if is_random(study) {
            return Ok(Baseline::Itself);
        }
        let alike = |other: &&Study| {
            let keys = ["space", "space_file", "objectives", "limits"];
            is_random(other) && keys.iter().all(|key| other.config.get(key) == study.config.get(key))
        };
        let studies = store.studies()?;
        // Of several the longest, of equals the oldest.
        let longest = studies.iter().filter(alike).rev().max_by_key(|other| other.trials.min(study.trials));
        if let Some(other) = longest.filter(|other| other.trials > 0) {
            let (mut trials, _) = store.trials(other)?;
            trials.truncate(usize::try_from(study.trials).unwrap_or(usize::MAX));
            return Ok(Baseline::Stored { name: other.name.clone(), trials });
        }
        let settings = Settings {
            algorithm: "random".into(),
            budget: Some(study.trials),
            ..Settings::of(&study.config)?
        };
        let costly = |request: &Arc<Request>| request.about().drawn() || request.is_set_score();
        if Objective::requests(&settings.objectives).iter().any(costly) {
            return Ok(Baseline::Absent);
        }
        let mut memory = Store::memory()?;
        let summary = StudyBuilder::from(settings).in_store(&mut memory).run()?;
        let drawn = memory.find(&summary.name)?.map(|study| memory.trials(&study)).transpose()?;
        Ok(Baseline::Drawn(drawn.map(|(trials, _)| trials).unwrap_or_default()))
    }

    /// Its trials, if there are any beside the study's own.
    pub fn trials(&self) -> Option<&[Trial]> {
        match self {
            Baseline::Stored { trials, .. } | Baseline::Drawn(trials) => Some(trials),
            Baseline::Itself | Baseline::Absent => None,
        }
    }
}
