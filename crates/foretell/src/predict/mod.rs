//! Prediction from a little evidence: a few trained networks tell how good others will be, with honest uncertainty.
//!
//! A [`Predictor`] is an average of models of rising freedom, fitted to the labels of a few networks:
//!
//! - **count**: a line over one size (depth, parameters by part, …) or one score;
//! - **choices**: a Gaussian process over depth, width and the other sizes that are chosen, linear and smooth;
//! - **sizes**: the same with parameters by part and scores, which leans on the parameters of attention;
//! - **shape**: the same with profiles over layers and the operations that they use.
//!
//! Labels of several budgets are compared with the course of training that all networks share, and each model learns how much
//! near and far budgets have in common. So short runs say what long ones will be as far as they do.
//!
//! Labels are transformed to look normal, and each model weighs as much as the labels are likely under it when each is left
//! out in turn. So a handful of labels gives little more than the best count, and fifty give the interplay of sizes.

mod course;
mod design;
mod features;
mod labels;
mod law;
mod listed;
mod minimise;
mod process;
mod saved;
mod transform;

pub use design::{design, improvements, pool, propose};
pub use features::{Feature, Group, features};
use labels::FEWEST;
pub use labels::{Labels, ScoreColumn};
pub use listed::listed;
pub use saved::{Saved, load, name_proxy};

use crate::architecture::{self, Architecture};
use crate::error::{Error, Result};
use crate::rank;
use course::Course;
use features::{ANCHORS, LAW, Law, mean, spread};
use process::{Normal, Process, Shape, Term};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use transform::Transform;

/// How much a difference in the likelihood of left-out labels counts: more is more even weights.
const TEMPERATURE: f64 = 2.0;
/// Networks that are predicted at once.
const CHUNK: usize = 64;
/// Features that agree with an earlier one up to this are left out.
const SAME: f64 = 0.9999;
/// Deviations of the normal distribution that hold half and nine tenths of it.
const HALF: f64 = 0.674_489_750_196_081_7;
const NINE_TENTHS: f64 = 1.644_853_626_951_472_2;
/// Priors of the logarithms of amplitudes: mean and deviation.
const ONE: [f64; 2] = [0.0, 0.7];
const SIZES: [[f64; 2]; 2] = [[-0.7, 1.0], [-1.5, 1.0]];
const PROFILES: [[f64; 2]; 2] = [[-1.5, 1.0], [-2.0, 1.0]];

/// Says how good networks will be, from labels of others.
#[derive(Debug, Clone)]
pub struct Predictor {
    facts: Facts,
    models: Vec<Model>,
}

/// What a predictor was fitted to.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Facts {
    /// The name of the family.
    family: String,
    /// The scores it needs of every network, as requests.
    scores: Vec<String>,
    /// If budgets are known: the tokens that it predicts for, and the course of training.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    budget: Option<(f64, Course)>,
    /// The law of the shape that it leans on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    law: Option<Law>,
    columns: Vec<Column>,
    transform: Transform,
    /// The labelled networks and their labels as models see them.
    rows: Vec<Vec<f64>>,
    truth: Vec<f64>,
    check: Check,
}

/// A feature that models use, as they see it.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Column {
    name: String,
    group: Group,
    mean: f64,
    deviation: f64,
}

/// A model and its share in predictions.
#[derive(Debug, Clone)]
struct Model {
    name: String,
    weight: f64,
    process: Process,
}

/// How well a predictor predicts labels that are left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// Labels used.
    pub labels: usize,
    /// Kendall's tau between labels and what is predicted without those of the same network.
    pub tau: Option<f64>,
    /// The share of labels inside their 50 % and 90 % intervals.
    pub inside: [f64; 2],
}

/// What is predicted of a network, in the units of the labels.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Prediction {
    /// The expected label: half of such networks are better.
    pub value: f64,
    /// The standard deviation of a label around it.
    pub deviation: f64,
    /// The interval that holds nine of ten labels.
    pub interval: [f64; 2],
    /// The value and the deviation as models see them, where labels are normal: what expected improvement is taken over.
    #[serde(skip)]
    pub normal: [f64; 2],
}

impl Predictor {
    /// Fits a predictor. Everything that it needs is checked by [`Labels`].
    pub fn fit(labels: &Labels) -> Result<Self> {
        let table = labels.features();
        let columns = columns(&table);
        if columns.is_empty() {
            let message = "all labelled networks look the same: label networks of different sizes";
            return Err(Error::data("labels", message));
        }
        let budget = labels.course();
        let values = labels.values().iter().enumerate();
        let values: Vec<f64> = match &budget {
            Some((_, course)) => {
                values.map(|(row, value)| course.apply(*value, labels.tokens()[row])).collect()
            }
            None => labels.values().to_vec(),
        };
        let transform = Transform::fit(&values);
        let truth: Vec<f64> = values.iter().map(|value| transform.apply(*value)).collect();
        let rows: Vec<Vec<f64>> = table.iter().map(|row| standard(&columns, row)).collect();
        let groups = labels.groups();
        let fit = |(name, terms): (String, Vec<Term>)| {
            let process = Process::fit(&terms, &rows, &truth).ok()?;
            let left_out = process.left_out(&truth, &groups).ok()?;
            Some((name, process, left_out))
        };
        let fitted: Vec<(String, Process, Vec<Normal>)> =
            candidates(&columns, labels.score_names()).into_par_iter().filter_map(fit).collect();
        // What counts is the largest budget, once a few labels tell of it.
        let full = labels.full();
        let counts = |row: &usize| full[*row] || full.iter().filter(|full| **full).count() < FEWEST;
        let density = |left_out: &[Normal]| -> f64 {
            (0..truth.len()).filter(counts).map(|row| left_out[row].log_density(truth[row])).sum()
        };
        let densities: Vec<f64> = fitted.iter().map(|(_, _, left_out)| density(left_out)).collect();
        let most = densities.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if !most.is_finite() {
            return Err(Error::data("labels", "no model fits them: look for values that are far off"));
        }
        let shares: Vec<f64> =
            densities.iter().map(|density| ((density - most) / TEMPERATURE).exp()).collect();
        let all: f64 = shares.iter().sum();
        let weights: Vec<f64> = shares.iter().map(|share| share / all).collect();
        let left_out: Vec<Normal> = (0..truth.len())
            .map(|row| mixed(fitted.iter().zip(&weights).map(|((_, _, each), weight)| (each[row], *weight))))
            .collect();
        let at_full = |row: &usize| full[*row];
        let kept: Vec<usize> = (0..truth.len()).filter(at_full).collect();
        let check = Check::of(
            &kept.iter().map(|row| left_out[*row]).collect::<Vec<_>>(),
            &kept.iter().map(|row| truth[*row]).collect::<Vec<_>>(),
            truth.len(),
        );
        let models = fitted.into_iter().zip(weights);
        let models = models.map(|((name, process, _), weight)| Model { name, weight, process });
        let models = models.filter(|model| model.weight > 1e-4).collect();
        let family = labels.architectures()[0].family().to_string();
        let scores = labels.score_names().to_vec();
        let law = budget.is_some().then(|| labels.law());
        let facts = Facts { family, scores, budget, law, columns, transform, rows, truth, check };
        Ok(Predictor { facts, models })
    }

    /// How well it predicts networks that are left out, after the largest budget if there are several.
    pub fn check(&self) -> &Check {
        &self.facts.check
    }

    /// The tokens that it predicts for, if its labels differ in them: the most that a labelled network saw, unless
    /// [`at`](Self::at) asked for others.
    pub fn tokens(&self) -> Option<f64> {
        self.facts.budget.as_ref().map(|(tokens, _)| *tokens)
    }

    /// The same predictor for another number of tokens.
    pub fn at(mut self, tokens: f64) -> Result<Self> {
        if !(tokens.is_finite() && tokens >= 1.0) {
            return Err(Error::option("tokens", format!("{tokens} is not a number from 1 on")));
        }
        let Some((asked, _)) = &mut self.facts.budget else {
            let message = "was fitted to labels of one budget, and says nothing about others";
            return Err(Error::option("predictor", message));
        };
        *asked = tokens;
        Ok(self)
    }

    /// The scores that it needs of every network, as requests.
    pub fn scores(&self) -> &[String] {
        &self.facts.scores
    }

    /// The models by their share, largest first.
    pub fn models(&self) -> Vec<(&str, f64)> {
        let mut models: Vec<(&str, f64)> =
            self.models.iter().map(|model| (model.name.as_str(), model.weight)).collect();
        models.sort_by(|a, b| b.1.total_cmp(&a.1));
        models
    }

    /// What is predicted of a network; `scores` in the order of [`scores`](Self::scores).
    pub fn predict(&self, architecture: &Architecture, scores: &[f64]) -> Prediction {
        self.of_rows(&[self.row(architecture, scores)]).remove(0)
    }

    /// The same of many networks, where no scores are needed, in a fraction of the time.
    pub fn predict_all(&self, networks: &[Architecture]) -> Vec<Prediction> {
        let chunk = |networks: &[Architecture]| {
            let rows: Vec<Vec<f64>> = networks.iter().map(|network| self.row(network, &[])).collect();
            self.of_rows(&rows)
        };
        networks.par_chunks(CHUNK).flat_map_iter(chunk).collect()
    }

    fn of_rows(&self, rows: &[Vec<f64>]) -> Vec<Prediction> {
        let said: Vec<(Vec<Normal>, f64)> =
            self.models.iter().map(|model| (model.process.predict(rows), model.weight)).collect();
        let mixed = |row: usize| mixed(said.iter().map(|(said, weight)| (said[row], *weight)));
        (0..rows.len()).map(|row| self.prediction(mixed(row))).collect()
    }

    /// The expected label of a network as models see it: [`Prediction::normal`] without its deviation, in a fraction of the
    /// time.
    pub fn expect(&self, architecture: &Architecture, scores: &[f64]) -> f64 {
        let row = [self.row(architecture, scores)];
        let all: f64 = self.models.iter().map(|model| model.weight).sum();
        self.models.iter().map(|model| model.weight / all * model.process.expect(&row)[0]).sum()
    }

    fn row(&self, architecture: &Architecture, scores: &[f64]) -> Vec<f64> {
        let mut list = features(architecture);
        list.extend(
            self.facts.scores.iter().zip(scores).map(|(name, score)| labels::score_feature(name, *score)),
        );
        if let Some((tokens, law)) = self.tokens().zip(self.facts.law.as_ref()) {
            list.extend(features::trained(architecture, tokens, law));
        }
        standard(&self.facts.columns, &list)
    }

    /// Refuses networks of another family than the labelled ones.
    pub fn check_family(&self, architecture: &Architecture) -> Result<()> {
        let own = architecture::family(&self.facts.family)?;
        if own.is(architecture.family()) {
            return Ok(());
        }
        let message =
            format!("was fitted to {own} networks and says nothing about {}", architecture.family());
        Err(Error::option("predictor", message))
    }

    /// The label of a value as models see it; see [`Prediction::normal`].
    pub fn label(&self, value: f64) -> f64 {
        let value = self.facts.transform.invert(value);
        self.facts.budget.as_ref().map_or(value, |(tokens, course)| course.invert(value, *tokens))
    }

    fn prediction(&self, said: Normal) -> Prediction {
        let deviation = said.variance.sqrt();
        let at = |deviations: f64| self.label(said.mean + deviations * deviation);
        Prediction {
            value: at(0.0),
            deviation: (at(1.0) - at(-1.0)) / 2.0,
            interval: [at(-NINE_TENTHS), at(NINE_TENTHS)],
            normal: [said.mean, deviation],
        }
    }
}

impl Check {
    fn of(left_out: &[Normal], truth: &[f64], labels: usize) -> Self {
        let means: Vec<f64> = left_out.iter().map(|normal| normal.mean).collect();
        let inside = |deviations: f64| {
            let held = left_out.iter().zip(truth).filter(|(normal, truth)| {
                (*truth - normal.mean).abs() <= deviations * normal.variance.sqrt()
            });
            held.count() as f64 / truth.len() as f64
        };
        Check { labels, tau: rank::kendall_tau_b(&means, truth), inside: [inside(HALF), inside(NINE_TENTHS)] }
    }
}

/// The mean and variance of a mixture.
fn mixed(parts: impl Iterator<Item = (Normal, f64)>) -> Normal {
    let (mut mean, mut square, mut all) = (0.0, 0.0, 0.0);
    for (normal, weight) in parts {
        mean += weight * normal.mean;
        square += weight * (normal.variance + normal.mean * normal.mean);
        all += weight;
    }
    mean /= all;
    Normal { mean, variance: (square / all - mean * mean).max(1e-12) }
}

/// The features that tell labelled networks apart, without those that repeat others.
fn columns(table: &[Vec<Feature>]) -> Vec<Column> {
    let mut kept: Vec<(Column, Vec<f64>)> = Vec::new();
    for feature in table.first().map_or(&[][..], |row| row) {
        let find = |row: &Vec<Feature>| row.iter().find(|other| other.name == feature.name).map(|f| f.value);
        let Some(values) = table.iter().map(find).collect::<Option<Vec<f64>>>() else { continue };
        let (mean, deviation) = (mean(&values), spread(&values));
        if deviation < 1e-9 * mean.abs().max(1.0) {
            continue;
        }
        let scaled: Vec<f64> = values.iter().map(|value| (value - mean) / deviation).collect();
        let n = scaled.len() as f64;
        let repeats = |(_, other): &(Column, Vec<f64>)| {
            (other.iter().zip(&scaled).map(|(a, b)| a * b).sum::<f64>() / n).abs() > SAME
        };
        if !kept.iter().any(repeats) {
            let column = Column { name: feature.name.clone(), group: feature.group, mean, deviation };
            kept.push((column, scaled));
        }
    }
    kept.into_iter().map(|(column, _)| column).collect()
}

/// A network as models see it. A feature that it does not have counts as the usual value.
fn standard(columns: &[Column], list: &[Feature]) -> Vec<f64> {
    let value = |column: &Column| {
        let found = list.iter().find(|feature| feature.name == column.name);
        found.map_or(0.0, |feature| (feature.value - column.mean) / column.deviation)
    };
    columns.iter().map(value).collect()
}

/// The models to average, by name.
fn candidates(columns: &[Column], scores: &[String]) -> Vec<(String, Vec<Term>)> {
    let of = |groups: &[Group]| -> Vec<usize> {
        (0..columns.len()).filter(|place| groups.contains(&columns[*place].group)).collect()
    };
    let (choices, sizes) = (of(&[Group::Choice]), of(&[Group::Count, Group::Choice]));
    let (profiles, budget) = (of(&[Group::Profile]), of(&[Group::Budget]).first().copied());
    let linear = |columns: Vec<usize>, prior| Term { shape: Shape::Linear, columns, budget: None, prior };
    let smooth = |columns: Vec<usize>, prior| Term { shape: Shape::Smooth, columns, budget: None, prior };
    let single = |place: &usize| (columns[*place].name.clone(), vec![linear(vec![*place], ONE)]);
    let named = |name: &&str| columns.iter().position(|column| column.name == **name);
    let (anchor, law) = (ANCHORS.iter().find_map(named), named(&LAW));
    let mut models: Vec<(String, Vec<Term>)> = sizes.iter().map(single).collect();
    if choices.len() > 1 {
        let mut terms = vec![linear(choices.clone(), ONE), smooth(choices, SIZES[1])];
        terms.extend(law.map(|place| linear(vec![place], ONE)));
        models.push(("choices".to_owned(), terms));
    }
    let mut terms: Vec<Term> =
        [anchor, law].into_iter().flatten().map(|place| linear(vec![place], ONE)).collect();
    let scored = scores.iter().filter_map(|name| named(&name.as_str()));
    terms.extend(scored.map(|place| linear(vec![place], SIZES[0])));
    if !sizes.is_empty() {
        terms.push(linear(sizes.clone(), SIZES[0]));
        terms.push(smooth(sizes, SIZES[1]));
        models.push(("sizes".to_owned(), terms.clone()));
    }
    if !profiles.is_empty() {
        terms.push(linear(profiles, PROFILES[0]));
        terms.push(smooth((0..columns.len()).collect(), PROFILES[1]));
        models.push(("shape".to_owned(), terms));
    }
    match budget {
        Some(budget) => {
            let several = models.into_iter().filter(|(name, terms)| terms.len() > 1 || name == LAW);
            several.flat_map(|(name, terms)| with_budget(name, terms, budget)).collect()
        }
        None => models,
    }
}

/// Models of labels that differ in their budget: of each term a part is shared by all budgets and a part by near ones; or all of
/// it by near ones. The course of training is taken off before, so the budget itself says nothing. Of single sizes the law
/// alone is such a model: others would cost as much as the rest and say less.
fn with_budget(name: String, mut terms: Vec<Term>, budget: usize) -> [(String, Vec<Term>); 2] {
    terms.iter_mut().for_each(|term| term.columns.retain(|column| *column != budget));
    let near: Vec<Term> = terms.iter().map(|term| Term { budget: Some(budget), ..term.clone() }).collect();
    terms.extend(near.iter().cloned());
    [(format!("{name}, near budgets"), near), (name, terms)]
}
