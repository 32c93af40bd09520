//! Labelled networks, checked.

use super::course::Course;
use super::features::{Feature, Group, Law, features, spread, trained};
use crate::architecture::Architecture;
use crate::error::{Error, Result};
use crate::proxy::SHAPE_LAW;
use rayon::prelude::*;
use std::collections::{HashMap, HashSet};

/// The fewest networks that a predictor is fitted to.
pub(super) const FEWEST: usize = 5;

/// A score as a further feature.
#[derive(Debug, Clone)]
pub struct ScoreColumn {
    /// The request.
    pub name: String,
    /// One value per network.
    pub values: Vec<f64>,
}

/// Networks and how good training made them, larger is better. A network may have several labels, one for each budget.
#[derive(Debug, Clone)]
pub struct Labels {
    architectures: Vec<Architecture>,
    values: Vec<f64>,
    /// The tokens that each label was trained on; empty if labels do not differ in it.
    tokens: Vec<f64>,
    scores: Vec<ScoreColumn>,
    names: Vec<String>,
    law: Law,
}

impl Labels {
    /// Networks with their labels. Labels of one network are averaged; they are refused if they contradict each other, and so
    /// are too few labels, equal ones and those that are not finite.
    pub fn new(architectures: &[Architecture], values: &[f64]) -> Result<Self> {
        Self::with_tokens(architectures, values, &[])
    }

    /// The same where it is known on how many tokens each network was trained: one number for all, or labels of several
    /// budgets.
    pub fn at_budgets(architectures: &[Architecture], values: &[f64], tokens: &[f64]) -> Result<Self> {
        if tokens.len() != values.len() {
            return Err(Error::data("tokens", format!("{} for {} labels", tokens.len(), values.len())));
        }
        if let Some(row) = tokens.iter().position(|tokens| !(tokens.is_finite() && *tokens >= 1.0)) {
            let message = format!("network {} was trained on {} tokens", row + 1, tokens[row]);
            return Err(Error::data("tokens", message));
        }
        Self::with_tokens(architectures, values, tokens)
    }

    fn with_tokens(architectures: &[Architecture], values: &[f64], tokens: &[f64]) -> Result<Self> {
        if architectures.len() != values.len() {
            let message = format!("{} for {} networks", values.len(), architectures.len());
            return Err(Error::data("labels", message));
        }
        if let Some(row) = values.iter().position(|value| !value.is_finite()) {
            let message = format!("network {} has the label {}", row + 1, values[row]);
            return Err(Error::data("labels", message));
        }
        if let Some(strange) = architectures.iter().find(|network| !network.family().counts_work()) {
            let message = format!(
                "{} networks have no features: nobody here knows what they are made of",
                strange.family()
            );
            return Err(Error::data("labels", message));
        }
        if let Some(other) = architectures.iter().find(|other| !other.family().is(architectures[0].family()))
        {
            let (one, two) = (architectures[0].family(), other.family());
            let message = format!("networks of {one} and {two} cannot be compared: label one family");
            return Err(Error::data("labels", message));
        }
        let at = |row: usize| tokens.get(row).copied().unwrap_or_default();
        let mut places: HashMap<(String, u64), usize> = HashMap::new();
        let mut groups: Vec<(usize, Vec<f64>)> = Vec::new();
        for (row, (architecture, value)) in architectures.iter().zip(values).enumerate() {
            let place = *places.entry((architecture.id(), at(row).to_bits())).or_insert(groups.len());
            match groups.get_mut(place) {
                Some((_, group)) => group.push(*value),
                None => groups.push((row, vec![*value])),
            }
        }
        if let Some((row, group)) = contradiction(&groups) {
            let id = architectures[row].id();
            let message = format!(
                "network {id} is labelled {group:?}, which contradict each other: remove the wrong ones"
            );
            return Err(Error::data("labels", message));
        }
        let means: Vec<f64> =
            groups.iter().map(|(_, group)| group.iter().sum::<f64>() / group.len() as f64).collect();
        let networks = places.keys().map(|(id, _)| id).collect::<HashSet<_>>().len();
        if networks < FEWEST {
            let message = format!("{networks} labelled networks are too few: give {FEWEST} or more");
            return Err(Error::data("labels", message));
        }
        if spread(&means) <= 1e-12 * means[0].abs() {
            return Err(Error::data(
                "labels",
                format!("all are {}: nothing can be learned from them", means[0]),
            ));
        }
        let architectures = groups.iter().map(|(row, _)| architectures[*row].clone()).collect();
        let tokens =
            if tokens.is_empty() { Vec::new() } else { groups.iter().map(|(row, _)| at(*row)).collect() };
        Ok(Labels {
            architectures,
            values: means,
            tokens,
            scores: Vec::new(),
            names: Vec::new(),
            law: SHAPE_LAW,
        })
    }

    /// The same with scores as further features, each with a value per network of [`architectures`](Self::architectures).
    pub fn with_scores(mut self, scores: Vec<ScoreColumn>) -> Result<Self> {
        for score in &scores {
            if score.values.len() != self.values.len() {
                let message = format!("has {} values for {} networks", score.values.len(), self.values.len());
                return Err(Error::data(&score.name, message));
            }
            if let Some(row) = score.values.iter().position(|value| !value.is_finite()) {
                let id = self.architectures[row].id();
                return Err(Error::data(&score.name, format!("is {} for network {id}", score.values[row])));
            }
        }
        self.names = scores.iter().map(|score| score.name.clone()).collect();
        self.scores = scores;
        Ok(self)
    }

    /// The same with other weights of the law of the shape, e.g. learned without the tables that are to be predicted.
    pub fn with_law(self, law: [f64; 11]) -> Self {
        Labels { law, ..self }
    }

    /// The labelled networks, each once for every budget.
    pub fn architectures(&self) -> &[Architecture] {
        &self.architectures
    }

    /// Their labels.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The scores used as features.
    pub(super) fn score_names(&self) -> &[String] {
        &self.names
    }

    /// The weights of the law of the shape.
    pub(super) fn law(&self) -> Law {
        self.law
    }

    /// The tokens that each label was trained on; empty if that is not known.
    pub(super) fn tokens(&self) -> &[f64] {
        &self.tokens
    }

    fn most_tokens(&self) -> Option<f64> {
        self.tokens.iter().copied().reduce(f64::max)
    }

    /// The largest budget, and the course of training up to it, if budgets are known.
    pub(super) fn course(&self) -> Option<(f64, Course)> {
        Some((self.most_tokens()?, Course::fit(&self.values, &self.tokens, &self.groups())))
    }

    /// Whether each label is one of the largest budget.
    pub(super) fn full(&self) -> Vec<bool> {
        let most = self.most_tokens();
        (0..self.values.len()).map(|row| self.tokens.get(row).copied() == most).collect()
    }

    /// The labels of each network: places in the list of labels.
    pub(super) fn groups(&self) -> Vec<Vec<usize>> {
        let mut of: HashMap<String, usize> = HashMap::new();
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for (row, architecture) in self.architectures.iter().enumerate() {
            let place = *of.entry(architecture.id()).or_insert(groups.len());
            match groups.get_mut(place) {
                Some(group) => group.push(row),
                None => groups.push(vec![row]),
            }
        }
        groups
    }

    /// All features of all networks.
    pub(super) fn features(&self) -> Vec<Vec<Feature>> {
        let row = |row: usize| {
            let mut list = features(&self.architectures[row]);
            list.extend(self.scores.iter().map(|score| score_feature(&score.name, score.values[row])));
            let known = self.tokens.get(row);
            list.extend(
                known.into_iter().flat_map(|tokens| trained(&self.architectures[row], *tokens, &self.law)),
            );
            list
        };
        (0..self.values.len()).into_par_iter().map(row).collect()
    }
}

/// The first network whose labels differ by more than those of all others together.
fn contradiction(groups: &[(usize, Vec<f64>)]) -> Option<(usize, &[f64])> {
    let range = |values: &mut dyn Iterator<Item = f64>| {
        let ends = [f64::INFINITY, f64::NEG_INFINITY];
        let [low, high] = values.fold(ends, |[low, high], value| [value.min(low), value.max(high)]);
        high - low
    };
    let repeated = groups.iter().enumerate().filter(|(_, (_, group))| group.len() > 1);
    let found = repeated.map(|(place, (row, group))| (place, *row, group)).find(|(place, _, group)| {
        let others = groups.iter().enumerate().filter(|(other, _)| other != place);
        let mut others = others.flat_map(|(_, (_, group))| group.iter().copied());
        groups.len() > 2 && range(&mut group.iter().copied()) > range(&mut others)
    });
    found.map(|(_, row, group)| (row, &group[..]))
}

/// A score as a feature: its logarithm with its sign, since scores grow over many powers of ten.
pub(super) fn score_feature(name: &str, score: f64) -> Feature {
    Feature { name: name.to_owned(), group: Group::Count, value: score.asinh() }
}
