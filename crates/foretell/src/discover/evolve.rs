//! Searching formulas with the searchers that search architectures.

use super::pruning::{self, Census, Rule, canonical};
use super::{Bank, Measure, Yardstick};
use crate::error::Result;
use crate::proxy::{Aggregate, Binary, Branch, Formula, Statistic, Unary};
use crate::search::{self, Nth, Operators, Outcome, SearchContext, Told, Whole};
use crate::seed::{Rng, Seed};
use rand::RngExt;
use rand::seq::IndexedRandom;
use std::cell::RefCell;
use std::collections::HashSet;
use std::str::FromStr;

/// How often an invalid child is made again before a random formula takes its place.
const TRIES: usize = 100;
/// How often a random formula is drawn before there is taken to be none left.
const SAMPLES: usize = 10_000;

/// Which of two descriptions formulas are drawn by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Preset {
    /// The paper: six statistics, two different ones, every operator as likely as any other.
    #[default]
    Paper,
    /// The released code: no Jacobian, repeats allowed, `prune` twice as likely, joins with .6, .3, .05 and .05.
    Released,
}

impl FromStr for Preset {
    type Err = crate::error::Error;
    fn from_str(text: &str) -> Result<Self> {
        match text {
            "paper" => Ok(Preset::Paper),
            "released" => Ok(Preset::Released),
            other => Err(crate::catalogue::unknown("preset", other, ["paper", "released"])),
        }
    }
}

/// How formulas are searched.
#[derive(Debug, Clone)]
pub struct Evolution {
    /// The searcher with its options: `steady-state`, `random`, …
    pub algorithm: String,
    /// Which formulas there are.
    pub preset: Preset,
    /// Operators in a branch.
    pub unaries: usize,
    /// Whether rules decide without evaluation.
    pub pruning: bool,
    /// How fitness is measured.
    pub measure: Measure,
    /// Formulas evaluated.
    pub budget: u64,
    /// Seed of every draw.
    pub seed: u64,
}

impl Evolution {
    /// LPZero's: so many formulas to begin with and as many children, one a generation.
    pub fn lpzero(preset: Preset, population: u64, generations: u64) -> Self {
        let (pool, survivors) = if preset == Preset::Released { (0.5, "newest") } else { (0.1, "best") };
        let options =
            format!("population={population},generations={generations},pool={pool},survivors={survivors}");
        let algorithm = format!("steady-state[{options}]");
        Evolution { algorithm, preset, budget: population + generations, ..Evolution::default() }
    }

    /// As many formulas at random.
    pub fn random(preset: Preset, budget: u64) -> Self {
        Evolution { algorithm: "random".to_owned(), preset, budget, ..Evolution::default() }
    }

    /// The ablations of LPZero's paper: what is other than in it, and the search.
    pub fn ablations() -> Vec<(String, Self)> {
        let (preset, generations) = (Preset::Paper, 1000);
        let paper = Self::lpzero(preset, 80, generations);
        let mut all = vec![("as in the paper".to_owned(), paper.clone())];
        all.push(("without rules".to_owned(), Evolution { pruning: false, ..paper.clone() }));
        all.push(("random".to_owned(), Self::random(preset, paper.budget)));
        all.push((
            "random, without rules".to_owned(),
            Evolution { pruning: false, ..Self::random(preset, paper.budget) },
        ));
        for population in [100, 200] {
            all.push((format!("population {population}"), Self::lpzero(preset, population, generations)));
        }
        all.push(("as released".to_owned(), Self::lpzero(Preset::Released, 80, generations)));
        for unaries in 3..=5 {
            all.push((format!("{unaries} operators"), Evolution { unaries, ..paper.clone() }));
        }
        all
    }
}

impl Default for Evolution {
    fn default() -> Self {
        Evolution {
            algorithm: "steady-state".to_owned(),
            preset: Preset::Paper,
            unaries: 2,
            pruning: true,
            measure: Measure::Spearman,
            budget: 1080,
            seed: 42,
        }
    }
}

/// What a search came to.
#[derive(Debug, Clone)]
pub struct Found {
    /// The best formula, turned so that higher is better, and its fitness on the sample.
    pub best: Option<(Formula, f64)>,
    /// The best formulas, best first.
    pub top: Vec<(Formula, f64)>,
    /// The best fitness after each evaluation.
    pub curve: Vec<f64>,
    /// Share of children that are fitter than their parents.
    pub winning_rate: Option<f64>,
    /// What each rule decided.
    pub census: Census,
    /// Formulas evaluated.
    pub evaluated: u64,
}

/// Searches formulas whose scores of the networks in `rows` of the bank agree with `truth`, in either direction.
pub fn evolve(bank: &Bank, rows: &[usize], truth: &[f64], how: &Evolution) -> Result<Found> {
    let yardstick = Yardstick::new(truth, how.measure);
    let mut searcher = search::parse::<Formula>(&how.algorithm)?;
    let mut context = FormulaGround {
        operators: FormulaMoves { preset: how.preset, unaries: how.unaries, parents: RefCell::default() },
        pruning: how.pruning,
        seen: HashSet::new(),
        census: Census::new(),
        born: Vec::new(),
    };
    let mut found: Vec<(Formula, f64)> = Vec::new();
    let (mut curve, mut evaluated, mut wins, mut children) = (Vec::new(), 0, 0, 0);
    let mut fitness_of = rustc_hash::FxHashMap::default();
    for generation in 0.. {
        context.born.clear();
        let asked = searcher.ask(&mut context, &mut Seed(how.seed).stream("discover", generation));
        if asked.is_empty() || evaluated >= how.budget {
            break;
        }
        let born = std::mem::take(&mut context.born);
        let mut told = Vec::new();
        for (point, parents) in asked.into_iter().zip(born) {
            let formula = match how.pruning {
                true => canonical(&point, &mut Census::new()).expect("asked for only if canonical"),
                false => point.clone(),
            };
            let all = bank.scores(&formula);
            let scores: Vec<f64> = rows.iter().map(|row| all[*row]).collect();
            let agreement = match pruning::rejected(&scores).filter(|_| how.pruning) {
                Some(rule) => {
                    *context.census.entry(rule).or_insert(0) += 1;
                    None
                }
                None => yardstick.agreement(&scores, &mut Vec::new()),
            };
            let fitness = agreement.map_or(-1.0, f64::abs);
            if !parents.is_empty() {
                children += 1;
                let best = |parent: &Formula| fitness_of.get(parent).copied().unwrap_or(-1.0);
                wins += u64::from(parents.iter().all(|parent| fitness > best(parent)));
            }
            fitness_of.insert(point.clone(), fitness);
            if let Some(agreement) = agreement {
                found.push((Formula { turned: formula.turned != (agreement < 0.0), ..formula }, fitness));
            }
            let best = curve.last().copied().unwrap_or(-1.0_f64).max(fitness);
            if evaluated < how.budget {
                curve.push(best);
                evaluated += 1;
            }
            told.push(Told {
                point,
                outcome: Some(Outcome { objectives: vec![vec![fitness]], blocks: Vec::new() }),
            });
        }
        searcher.tell(told);
    }
    found.sort_by(|a, b| b.1.total_cmp(&a.1));
    found.truncate(100);
    Ok(Found {
        best: found.first().cloned(),
        top: found,
        curve,
        winning_rate: (children > 0).then(|| wins as f64 / children as f64),
        census: context.census,
        evaluated,
    })
}

struct FormulaMoves {
    preset: Preset,
    unaries: usize,
    /// The parents of the formula being made.
    parents: RefCell<Vec<Formula>>,
}

impl FormulaMoves {
    fn input(&self, rng: &mut Rng) -> Statistic {
        loop {
            let input = *Statistic::ALL.choose(rng).expect("there are six");
            if self.preset == Preset::Paper || input != Statistic::Jacobian {
                return input;
            }
        }
    }

    fn unary(&self, rng: &mut Rng) -> Unary {
        // Twenty operators weigh 1 each and the last one 2, or 1 as well.
        let weight = if self.preset == Preset::Released { 22 } else { 21 };
        Unary::ALL[rng.random_range(0..weight).min(20)]
    }

    fn join(&self, rng: &mut Rng) -> Binary {
        match self.preset {
            Preset::Paper => *Binary::ALL.choose(rng).expect("there are four"),
            Preset::Released => match rng.random_range(0..20) {
                0..12 => Binary::Sum,
                12..18 => Binary::Difference,
                18 => Binary::Product,
                _ => Binary::MatrixProduct,
            },
        }
    }

    /// The paper joins two different statistics: the second is drawn until it is one.
    fn apart(&self, mut formula: Formula, rng: &mut Rng) -> Formula {
        while self.preset == Preset::Paper && formula.branches[0].input == formula.branches[1].input {
            formula.branches[1].input = self.input(rng);
        }
        formula
    }
}

impl Operators<Formula> for FormulaMoves {
    fn sample(&self, rng: &mut Rng) -> Formula {
        let branches = [0, 1].map(|_| Branch {
            input: self.input(rng),
            chain: (0..self.unaries).map(|_| self.unary(rng)).collect(),
        });
        let (aggregate, join) = (Aggregate::Mean, self.join(rng));
        let formula = Formula { turned: false, aggregate, late: false, join, branches };
        self.apart(formula, rng)
    }

    fn redraw(&self, parent: &Formula, whole: Whole, block: &dyn Fn(usize) -> f64, rng: &mut Rng) -> Formula {
        if self.parents.borrow().is_empty() {
            self.parents.borrow_mut().push(parent.clone());
        }
        let mut child = parent.clone();
        let rate = match whole {
            Whole::Each(rate) => rate,
            Whole::One => 1.0,
            Whole::Keep => 0.0,
        };
        if rng.random_bool(rate) {
            child.join = self.join(rng);
        }
        for (side, branch) in child.branches.iter_mut().enumerate() {
            if rng.random_bool(block(side)) {
                branch.input = self.input(rng);
            }
            for unary in &mut branch.chain {
                if rng.random_bool(block(side)) {
                    *unary = self.unary(rng);
                }
            }
        }
        self.apart(child, rng)
    }

    fn cross(&self, a: &Formula, b: &Formula, rng: &mut Rng) -> Formula {
        *self.parents.borrow_mut() = vec![a.clone(), b.clone()];
        let mut child = a.clone();
        for (branch, other) in child.branches.iter_mut().zip(&b.branches) {
            if rng.random_bool(0.5) {
                branch.input = other.input;
            }
            for (unary, theirs) in branch.chain.iter_mut().zip(&other.chain) {
                if rng.random_bool(0.5) {
                    *unary = *theirs;
                }
            }
        }
        if !rng.random_bool(0.2) {
            child.join = b.join;
        }
        self.apart(child, rng)
    }

    fn graft(&self, a: &Formula, b: &Formula, blocks: &[usize], rng: &mut Rng) -> Formula {
        let mut child = a.clone();
        blocks.iter().for_each(|side| child.branches[*side] = b.branches[*side].clone());
        self.apart(child, rng)
    }

    fn blocks(&self, _: &Formula) -> usize {
        2
    }

    fn alike(&self, _: &Formula, _: &Formula) -> bool {
        true
    }
}

/// All formulas that were not asked for yet.
struct FormulaGround {
    operators: FormulaMoves,
    pruning: bool,
    seen: HashSet<Formula>,
    census: Census,
    /// The parents of each formula of the generation being asked for.
    born: Vec<Vec<Formula>>,
}

impl FormulaGround {
    /// Whether a formula is to be evaluated, which it is once.
    fn admits(&mut self, formula: &Formula) -> bool {
        let key = match self.pruning {
            true => canonical(formula, &mut self.census),
            false => Some(formula.clone()),
        };
        let Some(key) = key else { return false };
        let fresh = self.seen.insert(key);
        if !fresh {
            *self.census.entry(Rule::Known).or_insert(0) += 1;
        }
        fresh
    }
}

impl SearchContext<Formula> for FormulaGround {
    fn propose(
        &mut self,
        rng: &mut Rng,
        make: &mut dyn FnMut(&dyn Operators<Formula>, &mut Rng) -> Formula,
    ) -> Option<Formula> {
        for attempt in 0..TRIES + SAMPLES {
            self.operators.parents.borrow_mut().clear();
            let formula =
                if attempt < TRIES { make(&self.operators, rng) } else { self.operators.sample(rng) };
            if self.admits(&formula) {
                self.born.push(self.operators.parents.borrow().clone());
                return Some(formula);
            }
        }
        None
    }

    fn nth(&mut self, _: u64) -> Nth<Formula> {
        Nth::End
    }

    fn fitness(&self, objective: usize, told: &[Told<Formula>], of: &[usize]) -> Vec<f64> {
        let one = |index: &usize| match &told[*index].outcome {
            Some(outcome) => outcome.objectives[objective][0],
            None => f64::NEG_INFINITY,
        };
        of.iter().map(one).collect()
    }

    fn operators(&self) -> &dyn Operators<Formula> {
        &self.operators
    }
}
