//! What is searched: a preset, a limit on parameters, a score of the shape, and the best network there is.

use foretell::architecture::Architecture;
use foretell::proxy::Request;
use foretell::space::{self, Bound, Grid, Limits, Size, Space};
use foretell::store::Store;
use foretell::study::{Settings, StudyBuilder};
use num_bigint::BigUint;
use std::sync::Arc;

/// Spaces with at most so many networks are walked where a score is no sum over layers.
const WALKED: u64 = 11_000_000;
/// Gaps below this share are rounding.
const SAME: f64 = 1e-12;

/// One search with a known answer.
pub struct Case {
    pub space: Arc<dyn Space>,
    pub score: &'static str,
    /// How far the limit stands between the least and the most parameters, in percent.
    pub share: u64,
    pub limits: Limits,
    /// The best score inside the limit, and how that is known.
    pub optimum: f64,
    pub proof: &'static str,
    /// The best score of a network whose layers are all alike, if there is one inside the limit.
    pub uniform: Option<f64>,
}

/// Every score of the shape that stands alone.
pub fn scores() -> impl Iterator<Item = &'static str> {
    let names = foretell::proxy::CATALOGUE.iter().map(|entry| entry.about.name);
    names.filter(|name| Request::parse(name).is_ok_and(|request| alone(&request)))
}

fn alone(request: &Request) -> bool {
    !request.about().drawn() && !request.is_set_score()
}

impl Case {
    /// The case, or why its answer is not known.
    pub fn new(preset: &str, share: u64, score: &'static str) -> Result<Self, String> {
        let space = space::preset(preset).map_err(|error| error.to_string())?;
        let request = Request::parse(score).map_err(|error| error.to_string())?;
        let grid = space.as_grid().ok_or("is no grid")?;
        let [(least, most), _] = space.extremes().ok_or("cannot be counted")?;
        let bound = Bound { min: 0, max: least + (most - least) / 100 * share };
        let limits = Limits { params: bound, ..Limits::default() };
        let value = |point: &Architecture| request.of_shape(point);
        let (optimum, proof) = match grid.optimum(&limits, 1, &value, &|_| {}) {
            Ok(points) => (value(points.first().ok_or("nothing is inside")?), "dp"),
            Err(_) if matches!(space.size(), Size::Exact(size) if size <= WALKED.into()) => {
                (Ok(walked(grid, bound, &value)), "walk")
            }
            Err(error) => return Err(error.to_string()),
        };
        let optimum = optimum.map_err(|error| error.to_string())?;
        let uniform = grid.best_uniform(&limits, &|_| true, &value).map_err(|error| error.to_string())?;
        let uniform = uniform.map(|(value, _)| value);
        Ok(Case { space: space.clone(), score, share, limits, optimum, proof, uniform })
    }

    /// The best score that a search finds. A study begins with the same candidates whatever its budget, so that one which
    /// reaches the optimum with part of the budget is spared the rest.
    pub fn run(&self, algorithm: &str, seed: u64, budget: u64) -> f64 {
        let mut budgets = [budget / 40, budget / 8, budget].into_iter();
        let mut found = f64::NEG_INFINITY;
        while let Some(budget) = budgets.next().filter(|_| self.gap(found) > SAME) {
            found = self.study(algorithm, seed, budget);
        }
        found
    }

    fn study(&self, algorithm: &str, seed: u64, budget: u64) -> f64 {
        let settings = Settings {
            limits: self.limits,
            seed,
            budget: Some(budget),
            ..Settings::new(self.space.clone()).search(algorithm, self.score).unwrap()
        };
        let mut store = Store::memory().expect("memory holds a store");
        let done = StudyBuilder::from(settings.clone()).in_store(&mut store).run();
        let done = done.unwrap_or_else(|error| panic!("{} by {algorithm}: {error}", self.space.name()));
        done.progress.best.map_or(f64::NEG_INFINITY, |(_, value)| value)
    }

    /// By what share of itself the optimum is missed.
    pub fn gap(&self, value: f64) -> f64 {
        (self.optimum - value) / self.optimum.abs().max(f64::MIN_POSITIVE)
    }
}

/// The best score of all networks inside a bound.
fn walked(grid: &Grid, bound: Bound, value: &dyn Fn(&Architecture) -> foretell::error::Result<f64>) -> f64 {
    let mut walk = grid.walk(&BigUint::ZERO, u128::MAX);
    let mut best = f64::NEG_INFINITY;
    while let Some(point) = walk.next() {
        if point.params().total <= bound.max {
            best = best.max(value(point).unwrap_or(f64::NEG_INFINITY));
        }
    }
    best
}
