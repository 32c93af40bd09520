//! The networks of a table as a space of their own, so that what a search finds is known to the last digit.
//!
//! ```text
//! child = what a space would make of its parents, values drawn being those of another network of the table
//! candidate = the network nearest to the child among those not asked for yet
//! distance = Σ over values outside layers |a − b| / range + 1/layers Σ over layers |a − b| / range + ½ for each layer lacking
//! ```

use crate::architecture::{Architecture, Counter, Family};
use crate::error::{Error, Result};
use crate::seed::Rng;
use crate::space::{self, Definition, Feasible, Limits, Rate, Size, Space};
use num_bigint::BigUint;
use rand::RngExt;
use rand::seq::IndexedRandom;
use serde_json::Value;

/// The networks of a table.
pub struct Pool {
    definition: Definition,
    networks: Vec<Architecture>,
    ids: Vec<String>,
    /// By how much each value outside the positions differs over the table, then each column of a position.
    ranges: Vec<f64>,
}

/// What a child would be if there were no table.
pub(super) struct Wish {
    globals: Vec<u32>,
    rows: Vec<Vec<u32>>,
}

fn rows(network: &Architecture) -> Vec<Vec<u32>> {
    (0..network.positions()).map(|position| network.row(position).to_vec()).collect()
}

impl Wish {
    /// The first parent with some blocks as the second has them.
    pub(super) fn grafted(a: &Architecture, b: &Architecture, blocks: &[usize]) -> Self {
        let mut wanted = Wish { globals: a.globals().to_vec(), rows: rows(a) };
        for block in blocks.iter().filter(|block| **block < a.positions().min(b.positions())) {
            wanted.rows[*block] = b.row(*block).to_vec();
        }
        wanted
    }

    /// A child of two networks: `global` and `row` say which values come from the second, and `deep` whether its depth does.
    fn of(
        a: &Architecture,
        b: &Architecture,
        global: &mut dyn FnMut(usize) -> bool,
        row: &mut dyn FnMut(usize) -> bool,
        deep: bool,
    ) -> Self {
        let pick = |slot: usize, other: bool| if other { b.globals()[slot] } else { a.globals()[slot] };
        let globals = (0..a.globals().len()).map(|slot| pick(slot, global(slot))).collect();
        let depth = if deep { b.positions() } else { a.positions() };
        let mut value = |position: usize, column: usize| {
            let theirs = (position < b.positions()).then(|| b.row(position)[column]);
            let own = (position < a.positions()).then(|| a.row(position)[column]);
            match (own, theirs) {
                (Some(own), Some(theirs)) => {
                    if row(position) {
                        theirs
                    } else {
                        own
                    }
                }
                (own, theirs) => own.or(theirs).unwrap_or(0),
            }
        };
        let width = a.family().row_width();
        let rows = (0..depth).map(|at| (0..width).map(|column| value(at, column)).collect()).collect();
        Wish { globals, rows }
    }
}

impl Pool {
    /// These networks, which must be of one family. Equal ones count once.
    pub fn new(name: &str, networks: Vec<Architecture>) -> Result<Self> {
        let Some(first) = networks.first() else {
            return Err(Error::data(name, "has no labelled network to search among"));
        };
        let family: &'static dyn Family = first.family();
        if networks.iter().any(|network| !network.family().is(family)) {
            let message = "holds networks of several families: search in a table of one family";
            return Err(Error::data(name, message));
        }
        let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
        let name: String = format!("in-{name}").chars().map(plain).collect();
        let definition = Definition::of_networks(&name, family, &networks);
        let range = |values: &[u32]| {
            let ends = values.iter().min().zip(values.iter().max());
            ends.map_or(0.0, |(low, high)| f64::from(high - low)).max(1e-9)
        };
        let columns = definition.columns.iter().map(|column| range(column.at(0)));
        let ranges = definition.globals.iter().map(|values| range(values)).chain(columns).collect();
        let ids = networks.iter().map(Architecture::id).collect();
        Ok(Pool { definition, networks, ids, ranges })
    }

    /// The pool that a study's settings hold: the inverse of [`json`](Self::json).
    pub(super) fn read(name: &str, networks: &Value) -> Result<Self> {
        let rows = networks.as_array().map(Vec::as_slice).unwrap_or_default();
        let rows = rows.iter().map(space::read_architecture).collect::<Result<Vec<_>>>()?;
        Self::new(name.strip_prefix("in-").unwrap_or(name), rows)
    }

    /// Its networks as JSON.
    pub(super) fn json(&self) -> Value {
        self.networks.iter().map(|network| Value::Object(space::write_architecture(network))).collect()
    }

    /// The networks, in the order of the table.
    pub fn networks(&self) -> &[Architecture] {
        &self.networks
    }

    /// The id of a network.
    pub(super) fn id(&self, row: usize) -> &str {
        &self.ids[row]
    }

    /// A parent with values of another network of the table: outside the positions with the probability of the slot, inside
    /// with that of the position. A child as deep as the other lacks nothing of it.
    pub(super) fn redrawn(&self, parent: &Architecture, frame: Rate, row: Rate, rng: &mut Rng) -> Wish {
        let other = self.networks.choose(rng).unwrap_or(parent).clone();
        let slots = parent.globals().len().max(1);
        let mean = (0..slots).map(frame).sum::<f64>() / slots as f64;
        let deep = rng.random_bool(mean.clamp(0.0, 1.0));
        let global: Vec<bool> = (0..slots).map(|slot| rng.random_bool(frame(slot).clamp(0.0, 1.0))).collect();
        Wish::of(
            parent,
            &other,
            &mut |slot| global[slot],
            &mut |position| rng.random_bool(row(position).clamp(0.0, 1.0)),
            deep,
        )
    }

    /// A child that takes each value from either parent.
    pub(super) fn crossed(&self, a: &Architecture, b: &Architecture, rng: &mut Rng) -> Wish {
        let deep = rng.random_bool(0.5);
        let global: Vec<bool> = a.globals().iter().map(|_| rng.random_bool(0.5)).collect();
        Wish::of(a, b, &mut |slot| global[slot], &mut |_| rng.random_bool(0.5), deep)
    }

    /// The nearest network to a wish among those that are free; of equals the first of the table.
    pub(super) fn nearest(&self, wish: &Wish, free: &dyn Fn(usize) -> bool) -> Option<usize> {
        let open = (0..self.networks.len()).filter(|row| free(*row));
        let distances = open.map(|row| (self.distance(wish, &self.networks[row]), row));
        distances.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))).map(|(_, row)| row)
    }

    /// How far a network is from a wish: see the module's documentation.
    fn distance(&self, wish: &Wish, network: &Architecture) -> f64 {
        let outside = wish.globals.len();
        let gap = |a: u32, b: u32, range: usize| (f64::from(a) - f64::from(b)).abs() / self.ranges[range];
        let globals = wish.globals.iter().zip(network.globals()).enumerate();
        let mut distance: f64 = globals.map(|(slot, (a, b))| gap(*a, *b, slot)).sum();
        let layers = wish.rows.len().max(1) as f64;
        for (position, row) in wish.rows.iter().enumerate().take(network.positions()) {
            let columns = row.iter().zip(network.row(position)).enumerate();
            distance += columns.map(|(column, (a, b))| gap(*a, *b, outside + column)).sum::<f64>() / layers;
        }
        let lacking = wish.rows.len().abs_diff(network.positions()) * network.family().row_width();
        distance + 0.5 * lacking as f64 / layers
    }
}

impl Space for Pool {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn sample(&self, rng: &mut Rng) -> Architecture {
        self.networks.choose(rng).expect("a pool has networks").clone()
    }

    fn mutate(&self, parent: &Architecture, rate: f64, rng: &mut Rng) -> Architecture {
        self.redraw(parent, &|_| rate, &|_| rate, rng)
    }

    fn cross(&self, a: &Architecture, b: &Architecture, rng: &mut Rng) -> Architecture {
        self.named(self.nearest(&self.crossed(a, b, rng), &|_| true))
    }

    fn redraw(&self, parent: &Architecture, frame: Rate, row: Rate, rng: &mut Rng) -> Architecture {
        self.named(self.nearest(&self.redrawn(parent, frame, row, rng), &|_| true))
    }

    fn graft(&self, a: &Architecture, b: &Architecture, positions: &[usize], _rng: &mut Rng) -> Architecture {
        self.named(self.nearest(&Wish::grafted(a, b, positions), &|_| true))
    }

    fn validate(&self, architecture: &Architecture) -> Result<()> {
        let id = architecture.id();
        match self.ids.contains(&id) {
            true => Ok(()),
            false => Err(Error::data(id, format!("is not among the networks of {}", self.definition.name))),
        }
    }

    fn size(&self) -> Size {
        Size::Exact(self.networks.len().into())
    }

    fn at(&self, index: &BigUint) -> Option<Architecture> {
        self.networks.get(usize::try_from(index).ok()?).cloned()
    }

    fn feasible(&self, limits: &Limits) -> Result<Box<dyn Feasible + '_>> {
        let keeps = |network: &&Architecture| {
            let flops = || network.flops(limits.counter).unwrap_or(u64::MAX);
            let inside = |bound: space::Bound, value: u64| (bound.min..=bound.max).contains(&value);
            inside(limits.params, network.params().total)
                && (limits.flops == space::Bound::default() || inside(limits.flops, flops()))
        };
        let kept: Vec<&Architecture> = self.networks.iter().filter(keeps).collect();
        if kept.is_empty() {
            let count = |network: &Architecture| network.params().total;
            let least = self.networks.iter().map(count).min().unwrap_or(0);
            let flops = self.networks.iter().filter_map(|network| network.flops(Counter::Exact)).min();
            let reason = format!(
                "no network of the table is inside; they have {least} parameters and {} multiply-adds at least",
                flops.unwrap_or(0)
            );
            return Err(Error::Infeasible { space: self.definition.name.clone(), reason });
        }
        Ok(Box::new(Inside { kept, all: self.networks.len() }))
    }
}

impl Pool {
    fn named(&self, row: Option<usize>) -> Architecture {
        self.networks[row.unwrap_or(0)].clone()
    }
}

/// The networks inside limits.
struct Inside<'p> {
    kept: Vec<&'p Architecture>,
    all: usize,
}

impl Feasible for Inside<'_> {
    fn sample(&self, _uniform: bool, rng: &mut Rng) -> Result<Architecture> {
        Ok((*self.kept.choose(rng).expect("it is never empty")).clone())
    }

    fn share(&self) -> Option<f64> {
        Some(self.kept.len() as f64 / self.all as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Settings, StudyBuilder, Table, View};
    use super::*;
    use crate::benchmark::Benchmark;
    use crate::store::Store;
    use std::path::Path;

    fn table(networks: usize) -> Table {
        let benchmark = Benchmark::load(Path::new(""), "gpt2-pentateuch").unwrap().limit(networks);
        Table::of(&benchmark, benchmark.default_target().unwrap(), false)
    }

    /// Every network is nearest to itself, and once it is taken the next one is another.
    #[test]
    fn the_nearest_network_is_itself_until_it_is_taken() {
        let pool = table(20).pool().unwrap();
        for (row, network) in pool.networks().iter().enumerate() {
            let wish = Wish::grafted(network, network, &[]);
            let first = pool.nearest(&wish, &|_| true).unwrap();
            assert_eq!(pool.networks()[first], *network);
            assert_ne!(pool.nearest(&wish, &|other| other != first), Some(first), "{row}");
        }
        assert_eq!(
            pool.nearest(&Wish::grafted(&pool.networks()[0], &pool.networks()[1], &[]), &|_| false),
            None
        );
    }

    /// Every searcher asks for all networks once and for no other; labels are stored and decide nothing unless the
    /// algorithm evaluates; a study reads back.
    #[test]
    fn every_searcher_stays_inside() {
        let small = [
            ("random", 16),
            ("exhaustive", 16),
            ("evolution[population=8,parents=4,mutants=4,crossovers=4]", 16),
            ("steady-state[population=6,generations=30]", 16),
            ("etas[warmup=6,pool=6,chosen=2,patience=0]", 16),
            ("block-wise[population=6,oversample=2,mutants=3,crossovers=3]", 16),
            ("memetic[generation=8,population=6]", 16),
            ("pareto[population=10,parents=4,mutants=4,crossovers=4]", 16),
        ];
        for (algorithm, budget) in small {
            let settings = Settings::inside(table(16)).unwrap().search(algorithm, "nsc").unwrap();
            let settings = Settings { budget: Some(budget), ..settings };
            let mut store = Store::memory().unwrap();
            let run = || StudyBuilder::from(settings.clone());
            let done =
                run().in_store(&mut store).name("s").run().unwrap_or_else(|e| panic!("{algorithm}: {e}"));
            let view = View::load(&store, "s").unwrap();
            let pool = view.settings.pool.as_ref().expect("a study says its table");
            for trial in 0..view.trials {
                pool.validate(&view.architecture(trial).unwrap()).unwrap();
            }
            let evaluates = algorithm.starts_with("etas");
            if !evaluates {
                assert_eq!((view.trials, view.evaluations.len()), (16, 16), "{algorithm}");
                assert_eq!(view.winner(), view.leaderboard.best(1).first().copied(), "{algorithm}");
            }
            assert!(!view.evaluations.is_empty() && view.evaluations.iter().all(|row| row.value().is_some()));
            let again = run().in_store(&mut Store::memory().unwrap()).name("s").run().unwrap();
            assert_eq!(
                (&done.hash, done.winner.map(|w| w.trial)),
                (&again.hash, again.winner.map(|w| w.trial))
            );
            let resumed = run().in_store(&mut store).name("s").run().unwrap();
            assert_eq!((resumed.resumed, &resumed.hash), (view_trials(&store), &done.hash), "{algorithm}");
        }
    }

    fn view_trials(store: &Store) -> u64 {
        View::load(store, "s").unwrap().trials as u64
    }
}
