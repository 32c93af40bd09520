//! Does a search beat chance? Its best networks against random ones of the same space, the same limits and the same size,
//! all really trained on the same number of tokens.
//!
//! ```text
//! for each of the k best: a random feasible network with as many parameters, within 2 % (or 5, 10, 25 where there is none)
//! gain of a pair = mean validation loss over seeds of the random one − that of the one found
//! ```
//!
//! The interval is a bootstrap over pairs. With a handful of pairs it is wide, and says so.

use super::Settings;
use crate::architecture::Architecture;
use crate::data::Data;
use crate::error::{Error, Result};
use crate::rank::{Interval, bootstrap};
use crate::seed::Seed;
use crate::space::{Bound, Limits};
use crate::train::{self, Finished, Job, Recipe};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::path::Path;

/// One network, trained with every seed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trials {
    /// The network.
    pub architecture: Map<String, Value>,
    /// Its parameters, with the vocabulary or classes of the data.
    pub params: u64,
    /// Validation loss with each seed; absent where training diverged.
    pub losses: Vec<Option<f64>>,
}

impl Trials {
    /// The mean loss of the seeds that did not diverge.
    pub fn mean(&self) -> Option<f64> {
        let sound: Vec<f64> = self.losses.iter().flatten().copied().collect();
        (!sound.is_empty()).then(|| sound.iter().sum::<f64>() / sound.len() as f64)
    }
}

/// What became of all pairs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verification {
    /// The study.
    pub study: String,
    /// The best it found, each with the random network of its size.
    pub pairs: Vec<[Trials; 2]>,
    /// Mean gain in nats: how much lower the loss of what was found is.
    pub gain: Option<f64>,
    /// Its 95 % interval.
    pub interval: Option<Interval>,
    /// The gain in standard deviations of the random networks' losses.
    pub effect: Option<f64>,
    /// The share of pairs in which what was found is better.
    pub won: Option<f64>,
    /// The recipe, but for its seed.
    pub recipe: Recipe,
}

/// Resamples behind the interval.
const RESAMPLES: usize = 2000;

/// What to verify.
pub struct Verify<'a> {
    /// The study's name.
    pub name: &'a str,
    /// Its settings.
    pub settings: &'a Settings,
    /// Its best networks, best first.
    pub best: &'a [Architecture],
    /// How many seeds each is trained with.
    pub seeds: u64,
}

impl Verify<'_> {
    /// Trains the best networks beside random ones; runs are remembered in `folder`, and `each` is told of every one.
    pub fn run(
        &self,
        data: &Data,
        recipe: &Recipe,
        folder: &Path,
        each: &(dyn Fn(&Job, &Finished) + Sync),
    ) -> Result<Verification> {
        if self.best.is_empty() || self.seeds == 0 {
            let message = "has no candidate to verify, or no seed was asked for";
            return Err(Error::option(format!("study '{}'", self.name), message));
        }
        let mut seen: HashSet<String> = self.best.iter().map(Architecture::id).collect();
        let mut pairs = Vec::new();
        for (place, found) in self.best.iter().enumerate() {
            pairs.push([found.clone(), partner(self.settings, found, place as u64, &mut seen)?]);
        }
        let mut jobs = Vec::new();
        for network in pairs.iter().flatten() {
            let architecture = train::fit(network, data)?;
            for seed in 0..self.seeds {
                let recipe = Recipe { seed: recipe.seed.wrapping_add(seed), ..recipe.clone() };
                jobs.push(Job { architecture: architecture.clone(), recipe });
            }
        }
        let said = train::jobs(&jobs, data, folder, each)?;
        let mut trials =
            jobs.chunks(self.seeds as usize).zip(said.chunks(self.seeds as usize)).map(|(jobs, said)| {
                Trials {
                    architecture: crate::space::write_architecture(&jobs[0].architecture),
                    params: jobs[0].architecture.params().total,
                    losses: said.iter().map(|said| said.valid_loss).collect(),
                }
            });
        let mut next = || trials.next().expect("every network was trained");
        let told = pairs.iter().map(|_| [next(), next()]).collect();
        Ok(Verification::of(self.name, told, recipe))
    }
}

impl Verification {
    fn of(study: &str, pairs: Vec<[Trials; 2]>, recipe: &Recipe) -> Self {
        let gains: Vec<f64> = pairs.iter().filter_map(|[a, b]| Some(b.mean()? - a.mean()?)).collect();
        let mean = |x: &[f64]| (!x.is_empty()).then(|| x.iter().sum::<f64>() / x.len() as f64);
        let random: Vec<f64> = pairs.iter().filter_map(|[_, b]| b.mean()).collect();
        let spread = mean(&random).filter(|_| random.len() > 1).map(|middle| {
            let squares = random.iter().map(|x| (x - middle).powi(2)).sum::<f64>();
            (squares / (random.len() - 1) as f64).sqrt()
        });
        let drawn = |rows: &[usize]| mean(&rows.iter().map(|row| gains[*row]).collect::<Vec<_>>());
        let gain = mean(&gains);
        Verification {
            study: study.to_owned(),
            interval: (gains.len() > 1).then(|| bootstrap(gains.len(), RESAMPLES, 0, drawn)).flatten(),
            effect: gain.zip(spread).filter(|(_, spread)| *spread > 0.0).map(|(gain, spread)| gain / spread),
            won: mean(&gains.iter().map(|gain| f64::from(u8::from(*gain > 0.0))).collect::<Vec<_>>()),
            gain,
            pairs,
            recipe: recipe.clone(),
        }
    }

    /// The answer in words.
    pub fn verdict(&self) -> String {
        let Some((gain, Interval { low, high })) = self.gain.zip(self.interval) else {
            return "Too few pairs were trained to say anything.".to_owned();
        };
        let pairs = self.pairs.len();
        let middle = match () {
            () if low > 0.0 => "beats chance",
            () if high < 0.0 => "does worse than chance",
            () => "cannot be told from chance",
        };
        let how = if gain < 0.0 { "worse" } else { "better" };
        format!(
            "The search {middle}: over {pairs} pairs its networks are {:.4} nats {how} than random networks of the same size \
             (95 % interval of the gain {low:.4} to {high:.4}), and win {:.0} % of the pairs.",
            gain.abs(),
            100.0 * self.won.unwrap_or(0.0)
        )
    }
}

/// A random network of the same space and limits, about as large and new.
fn partner(
    settings: &Settings,
    found: &Architecture,
    place: u64,
    seen: &mut HashSet<String>,
) -> Result<Architecture> {
    let size = found.params().total as f64;
    let Bound { min, max } = settings.limits.params;
    for slack in [0.02, 0.05, 0.1, 0.25] {
        let params = Bound {
            min: min.max((size * (1.0 - slack)) as u64),
            max: max.min((size * (1.0 + slack)).ceil() as u64),
        };
        let Ok(inside) = settings.space.within(&Limits { params, ..settings.limits }) else { continue };
        for draw in 0..200 {
            let mut rng = Seed(settings.seed).stream("verify", (place << 32) + draw);
            let network = inside.sample(false, &mut rng)?;
            let fits = settings.memory.is_none_or(|most| network.memory().total() <= most);
            if fits && seen.insert(network.id()) {
                return Ok(network);
            }
        }
    }
    let reason = format!("no other network has about the {size} parameters of {}", found.id());
    Err(Error::Infeasible { space: settings.space.name().to_owned(), reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(found: &[f64], random: &[f64]) -> [Trials; 2] {
        [found, random].map(|losses| Trials {
            architecture: Map::new(),
            params: 1,
            losses: losses.iter().map(|x| Some(*x)).collect(),
        })
    }

    /// Gains 1, 2 and 3: mean 2, all won; the random losses 3, 4 and 5 have deviation 1.
    #[test]
    fn a_gain_is_told_from_nothing() {
        let pairs = vec![pair(&[1.0, 3.0], &[3.0]), pair(&[2.0], &[4.0]), pair(&[2.0], &[5.0, 5.0])];
        let told = Verification::of("s", pairs, &Recipe::default());
        assert_eq!((told.gain, told.won, told.effect), (Some(2.0), Some(1.0), Some(2.0)));
        assert!(
            told.interval.is_some_and(|i| i.low >= 1.0 && i.high <= 3.0)
                && told.verdict().contains("beats chance")
        );
        let mixed = vec![pair(&[1.0], &[2.0]), pair(&[2.0], &[1.0]), pair(&[1.0], &[1.5])];
        assert!(Verification::of("s", mixed, &Recipe::default()).verdict().contains("cannot be told"));
        assert!(
            Verification::of("s", vec![pair(&[1.0], &[2.0])], &Recipe::default())
                .verdict()
                .contains("Too few")
        );
    }
}
