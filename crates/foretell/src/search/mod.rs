//! What to try next. One file per searcher, ask and tell; it sees points, fitness and block scores, nothing else.
//!
//! A searcher asks for a generation at a time, is told what became of every point of it in the order asked, and asks
//! again. It is a pure function of its options, the generators it was handed and what it was told, so that a study is
//! continued by telling it the same again. Points may be anything that can be moved on a [`SearchContext`].
//!
//! A searcher is asked for by name, with options in brackets: `block-wise[population=20]`. A new one is one file and one
//! line in the catalogue below; help, documentation and conformance tests loop over it.

mod archive;

use crate::catalogue;
use crate::error::{Error, Result};
use crate::seed::Rng;
use rand::RngExt;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::any::Any;
use std::sync::RwLock;

/// What became of a point.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outcome {
    /// For each objective the numbers it is ranked by, larger is better: one, or the parts of a score that has a value
    /// only within a set.
    pub objectives: Vec<Vec<f64>>,
    /// For each block the numbers that rate it, larger is better; empty where scores are not made of blocks.
    pub blocks: Vec<Vec<f64>>,
}

/// A point and what became of it; nothing if it failed.
#[derive(Debug, Clone)]
pub struct Told<P> {
    /// The point.
    pub point: P,
    /// What became of it.
    pub outcome: Option<Outcome>,
}

/// Which values of the whole point, as opposed to a block, are redrawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Whole {
    /// None.
    Keep,
    /// One, chosen at random.
    One,
    /// Each with this probability.
    Each(f64),
}

/// A small change of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// One value of one block moves along its choices.
    Value,
    /// One value of one block moves, and other blocks give or take what the limits then demand or allow.
    Exchange,
    /// Several blocks get the same value.
    Together,
    /// Two blocks change places.
    Swap,
    /// A value of the whole point moves, and all blocks are scaled to what the limits then demand or allow.
    Whole,
}

/// How points come from points.
pub trait Operators<P> {
    /// A random point.
    fn sample(&self, rng: &mut Rng) -> P;
    /// A child with values redrawn, those of a block with the probability that `block` gives.
    fn redraw(&self, parent: &P, whole: Whole, block: &dyn Fn(usize) -> f64, rng: &mut Rng) -> P;
    /// A child that takes each value from either parent.
    fn cross(&self, a: &P, b: &P, rng: &mut Rng) -> P;
    /// The first parent with some blocks as the second has them.
    fn graft(&self, a: &P, b: &P, blocks: &[usize], rng: &mut Rng) -> P;
    /// How many blocks a point has.
    fn blocks(&self, point: &P) -> usize;
    /// Whether blocks of one would fit into the other unchanged.
    fn alike(&self, a: &P, b: &P) -> bool;
    /// A neighbour of a point, inside the limits if the point was and the step allows it. Where points have no neighbours
    /// of their own, a block or a value of the whole is redrawn.
    fn step(&self, parent: &P, step: Step, rng: &mut Rng) -> P {
        if step == Step::Whole {
            return self.redraw(parent, Whole::One, &|_| 0.0, rng);
        }
        let chosen = rng.random_range(0..self.blocks(parent).max(1));
        self.redraw(parent, Whole::Keep, &|block| f64::from(block == chosen), rng)
    }
    /// The point with all blocks scaled alike until it is inside the limits; with `fill` also until it uses what they
    /// allow. The point itself where blocks cannot be scaled.
    fn fit(&self, point: P, _fill: bool, _rng: &mut Rng) -> P {
        point
    }
}

/// What a point at an index is good for.
#[derive(Debug, Clone, PartialEq)]
pub enum Nth<P> {
    /// It can be scored.
    Fresh(P),
    /// It breaks a limit or was asked for before.
    Refused,
    /// There are no more, or the points cannot be counted.
    End,
}

/// Where a searcher searches.
pub trait SearchContext<P> {
    /// What `make` gives once it is inside all limits and was never asked for before; a random such point if it keeps
    /// failing, nothing if these have run out too.
    fn propose(&mut self, rng: &mut Rng, make: &mut dyn FnMut(&dyn Operators<P>, &mut Rng) -> P)
    -> Option<P>;
    /// The point with this index.
    fn nth(&mut self, index: u64) -> Nth<P>;
    /// The best points in the first objective, inside all limits and in order, where they can be known without scoring.
    fn optimum(&mut self, _count: usize) -> Vec<P> {
        Vec::new()
    }
    /// Good points to begin with, inside all limits and never asked for before, where some are known without a pass through a
    /// network: those whose blocks are all alike. The best one in the first objective comes first if it is known.
    fn starts(&mut self) -> Vec<P> {
        Vec::new()
    }
    /// The fitness in one objective of some points within all of `told`, larger is better; minus infinity if failed.
    fn fitness(&self, objective: usize, told: &[Told<P>], of: &[usize]) -> Vec<f64>;
    /// How points come from points.
    fn operators(&self) -> &dyn Operators<P>;
    /// How good a point that was told really is, larger is better: minus infinity if that could not be found out, nothing
    /// where nobody evaluates.
    fn evaluate(&mut self, _point: &P) -> Option<f64> {
        None
    }
}

/// A way to search.
pub trait Searcher<P>: Send {
    /// The next generation; empty if the searcher has nothing left to try.
    fn ask(&mut self, context: &mut dyn SearchContext<P>, rng: &mut Rng) -> Vec<P>;
    /// What became of the generation asked for last, in its order.
    fn tell(&mut self, generation: Vec<Told<P>>);
    /// How many points its options amount to: the budget unless another is given.
    fn planned(&self) -> u64;
    /// Whether it asks how good points really are, so that the answers decide where it goes.
    fn evaluates(&self) -> bool {
        false
    }
    /// No more is asked for: what is left to find out of the last generation.
    fn end(&mut self, _context: &mut dyn SearchContext<P>, _rng: &mut Rng) {}
}

/// The card of a searcher.
#[derive(Debug)]
pub struct About {
    /// Its name, stored in databases and never reused.
    pub name: &'static str,
    /// One plain sentence.
    pub sentence: &'static str,
    /// The algorithm in a few lines.
    pub steps: &'static str,
    /// Where it comes from.
    pub paper: &'static str,
    /// Whether it looks at all objectives; the others look at the first.
    pub several: bool,
    /// Options: name, default, meaning.
    pub options: &'static [(&'static str, &'static str, &'static str)],
    /// Where the code departs from the paper, or "none".
    pub departures: &'static str,
}

type Built<P> = std::result::Result<Box<dyn Searcher<P>>, String>;

/// A catalogue entry: the card, and how to build the searcher from options.
pub struct Entry<P> {
    /// The card.
    pub about: &'static About,
    build: fn(Map<String, Value>) -> Built<P>,
    defaults: fn() -> Value,
}

impl<P> Entry<P> {
    /// The default of every option.
    pub fn defaults(&self) -> Value {
        (self.defaults)()
    }
}

/// How a searcher is built: typed options, checked once.
pub trait Build<P>: Searcher<P> + Sized + 'static {
    /// Its options; their names and defaults are those on the card.
    type Options: DeserializeOwned + Serialize + Default;
    /// The searcher, or what is wrong with its options.
    fn build(options: Self::Options) -> std::result::Result<Self, String>;
}

/// Searchers that users brought: the card, and the entry for one kind of point.
type Brought = (&'static About, Box<dyn Any + Send + Sync>);
static BROUGHT: RwLock<Vec<Brought>> = RwLock::new(Vec::new());

/// Adds a searcher of your own: from then on its name can be asked for like any other, with its options in brackets. A
/// searcher that is known already is not added again; one with the name of another is refused.
pub fn register<P: Clone + Send + 'static, S: Build<P>>(about: &'static About) -> Result<()> {
    let mut brought = BROUGHT.write().expect("no holder panics");
    let mut known =
        builtin::<()>().into_iter().map(|entry| entry.about).chain(brought.iter().map(|(card, _)| *card));
    match known.find(|card| card.name == about.name) {
        Some(card) if std::ptr::eq(card, about) => Ok(()),
        Some(_) => Err(Error::option(about.name, "is the name of another algorithm: choose another")),
        None => {
            drop(known);
            brought.push((about, Box::new(entry::<P, S>(about))));
            Ok(())
        }
    }
}

/// Every searcher: those of the library, simplest first, then those that were registered for this kind of point.
pub fn catalogue<P: Clone + Send + 'static>() -> Vec<Entry<P>> {
    let brought = BROUGHT.read().expect("no holder panics");
    let own = brought.iter().filter_map(|(_, entry)| entry.downcast_ref::<Entry<P>>());
    builtin().into_iter().chain(own.map(|own| Entry { ..*own })).collect()
}

macro_rules! catalogue {
    ($($module:ident: $searcher:ty),* $(,)?) => {
        $(mod $module;)*
        /// The searchers of the library, simplest first.
        fn builtin<P: Clone + Send + 'static>() -> Vec<Entry<P>> {
            vec![$(entry::<P, $searcher>($module::ABOUT)),*]
        }
    };
}

catalogue! {
    random: random::Random,
    exhaustive: exhaustive::Exhaustive,
    dp: dp::Dp,
    evolution: evolution::Evolution<P>,
    steady_state: steady_state::SteadyState<P>,
    etas: etas::Etas<P>,
    block_wise: block_wise::BlockWise<P>,
    memetic: memetic::Memetic<P>,
    pareto: pareto::Pareto<P>,
}

fn entry<P, S: Build<P>>(about: &'static About) -> Entry<P> {
    Entry {
        about,
        build: |options| {
            let options = serde_json::from_value(Value::Object(options)).map_err(|e| e.to_string())?;
            Ok(Box::new(S::build(options)?))
        },
        defaults: || serde_json::to_value(S::Options::default()).expect("options are plain data"),
    }
}

/// Builds a searcher from `name` or `name[key=value,…]`.
///
/// ```
/// assert!(foretell::search::parse::<u8>("evolution[population=20]").is_ok());
/// let error = foretell::search::parse::<u8>("evolutoin").err().unwrap().to_string();
/// assert!(error.contains("did you mean 'evolution'"));
/// ```
pub fn parse<P: Clone + Send + 'static>(text: &str) -> Result<Box<dyn Searcher<P>>> {
    let (name, options) = catalogue::bracketed(text)?;
    let entries = catalogue::<P>();
    let names = || entries.iter().map(|entry| entry.about.name);
    let entry = entries.iter().find(|entry| entry.about.name == name);
    let entry = entry.ok_or_else(|| catalogue::unknown("algorithm", name, names()))?;
    let known = || entry.about.options.iter().map(|(known, ..)| *known);
    if let Some(key) = options.keys().find(|key| !known().any(|known| known == *key)) {
        return Err(catalogue::unknown("option", key, known()).at(text));
    }
    (entry.build)(options).map_err(|message| Error::option(text, message))
}

/// The card of the searcher that `text` names.
pub fn about(text: &str) -> Result<&'static About> {
    let (name, _) = catalogue::bracketed(text)?;
    let brought = BROUGHT.read().expect("no holder panics");
    let own = brought.iter().map(|(card, _)| *card);
    let cards: Vec<&'static About> =
        builtin::<()>().into_iter().map(|entry| entry.about).chain(own).collect();
    catalogue::find("algorithm", name, &cards, |card| card.name)
}

/// The most points of a generation, steps and the like.
const MOST: usize = 1_000_000;

/// Refuses counts of nothing, and those that no machine would come to the end of.
fn counts(counts: &[(&str, usize)]) -> std::result::Result<(), String> {
    match counts.iter().find(|(_, count)| !(1..=MOST).contains(count)) {
        Some((name, count)) => Err(format!("{name} is {count}, not 1 to {MOST}")),
        None => Ok(()),
    }
}

/// Refuses probabilities and shares outside 0 to 1.
fn shares(values: &[(&str, f64)]) -> std::result::Result<(), String> {
    match values.iter().find(|(_, value)| !(0.0..=1.0).contains(value)) {
        Some((name, value)) => Err(format!("{name} is {value}, not 0 to 1")),
        None => Ok(()),
    }
}
