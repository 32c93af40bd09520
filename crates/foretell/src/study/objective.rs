//! What a study searches for.

use crate::architecture::{Architecture, Counter, Visitor};
use crate::error::{Error, Result};
use crate::latency::{Model, Phase};
use crate::predict;
use crate::proxy::{Request, Score};
use crate::search::Outcome;
use crate::store::Trial;
use std::fmt;
use std::sync::Arc;

/// What a study searches for: the most of a proxy, or the least of a cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Objective {
    /// The largest score of this proxy.
    Proxy(Arc<Request>),
    /// The fewest parameters.
    Params,
    /// The fewest multiply-adds.
    Flops,
    /// The least memory of a forward and backward of one input.
    Memory,
    /// The fewest bytes of the keys and values of a whole context.
    Cache,
    /// The least time of a pass over one whole input, as the study's model predicts it.
    Latency,
    /// The least time of one further token, as the study's model predicts it.
    TokenLatency,
}

impl From<Request> for Objective {
    fn from(request: Request) -> Self {
        Objective::Proxy(Arc::new(request))
    }
}

impl Objective {
    /// The costs, by name; each is minimised.
    pub const COSTS: [(&'static str, Self); 6] = [
        ("params", Objective::Params),
        ("flops", Objective::Flops),
        ("memory", Objective::Memory),
        ("cache", Objective::Cache),
        ("latency", Objective::Latency),
        ("token-latency", Objective::TokenLatency),
    ];

    /// A cost by name, which is minimised, or a proxy, which is maximised; `proxy` stands for `usual`.
    pub fn parse(text: &str, usual: &str) -> Result<Self> {
        let text = text.trim();
        if let Some((_, cost)) = Self::COSTS.iter().find(|(name, _)| *name == text) {
            return Ok(cost.clone());
        }
        Self::proxy(if text == "proxy" { usual } else { text })
    }

    /// The largest score of a proxy, written as `name[key=value,…]`.
    pub fn proxy(label: &str) -> Result<Self> {
        Ok(Objective::Proxy(Arc::new(Request::parse(label)?)))
    }

    /// The proxy, if it is one.
    pub fn request(&self) -> Option<&Arc<Request>> {
        if let Objective::Proxy(request) = self { Some(request) } else { None }
    }

    /// Whether it is a cost, which is minimised and stored with its sign turned.
    pub fn is_cost(&self) -> bool {
        !matches!(self, Objective::Proxy(_))
    }

    /// What is timed for it.
    pub fn phase(&self) -> Option<Phase> {
        match self {
            Objective::Latency => Some(Phase::Prefill),
            Objective::TokenLatency => Some(Phase::Decode),
            _ => None,
        }
    }

    /// A stored value as people know it: costs without the turned sign.
    pub fn shown(&self, stored: f64) -> f64 {
        if self.is_cost() { -stored } else { stored }
    }

    /// The objectives of a stored study.
    pub fn of(config: &serde_json::Value) -> Result<Vec<Self>> {
        let wrong = || Error::option("objectives", "of the study cannot be read");
        // A study that maximised a prediction is read without its predictor.
        predict::name_proxy()?;
        let one = |entry: &serde_json::Value| {
            let text = |key: &str| entry.get(key).and_then(|value| value.as_str());
            match (text("proxy"), text("least")) {
                (Some(proxy), _) => Self::proxy(proxy),
                (None, Some(cost)) => Self::parse(cost, ""),
                _ => Err(wrong()),
            }
        };
        config["objectives"].as_array().ok_or_else(wrong)?.iter().map(one).collect()
    }

    /// The proxies among some objectives.
    pub fn requests(objectives: &[Self]) -> Vec<Arc<Request>> {
        objectives.iter().filter_map(Self::request).cloned().collect()
    }

    /// What an architecture costs, for objectives that are a cost: parameters, multiply-adds, bytes or, by a model of the
    /// phase, nanoseconds.
    pub(super) fn cost(&self, architecture: &Architecture, models: &[(Phase, Model)]) -> Option<u64> {
        if let Some(phase) = self.phase() {
            let (_, model) = models.iter().find(|(timed, _)| *timed == phase)?;
            return Some((1e9 * model.predict(architecture)).round() as u64);
        }
        match self {
            Objective::Proxy(_) | Objective::Latency | Objective::TokenLatency => None,
            Objective::Params => Some(architecture.params().total),
            Objective::Flops => architecture.flops(Counter::Exact),
            Objective::Memory => Some(architecture.memory().total()),
            Objective::Cache => architecture.cache_bytes(),
        }
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Objective::Proxy(request) => f.write_str(request.label()),
            cost => {
                f.write_str(Self::COSTS.iter().find(|(_, known)| known == cost).map_or("", |(name, _)| name))
            }
        }
    }
}

/// What searchers are told of a trial; nothing if it failed.
pub(super) fn outcome(objectives: &[Objective], trial: &Trial) -> Option<Outcome> {
    if !trial.ok() {
        return None;
    }
    let mut scores = trial.scores.iter();
    let numbers = |(objective, value): (&Objective, &f64)| match objective {
        Objective::Proxy(_) => match scores.next() {
            Some(score) if !score.parts.is_empty() => score.parts.clone(),
            _ => vec![*value],
        },
        _ => vec![*value],
    };
    let numbers = objectives.iter().zip(&trial.objectives).map(numbers).collect();
    let blocks = trial.scores.first().map_or(Vec::new(), |score| score.blocks.clone());
    Some(Outcome { objectives: numbers, blocks })
}

/// For each position of a network, the sum of a score's terms there; apart for each part that terms are named after.
pub(super) fn blocks(architecture: &Architecture, request: &Request, score: &Score) -> Vec<Vec<f64>> {
    let parts = request.about().parts;
    let part = |name: &str| parts.iter().position(|part| name.ends_with(part));
    let kinds = if score.terms.iter().any(|term| part(&term.name).is_some()) { parts.len() } else { 1 };
    if score.terms.iter().all(|term| term.block.is_none()) {
        return Vec::new();
    }
    let mut place = Vec::new();
    for position in 0..architecture.positions() {
        let mut note = |tensor: &crate::architecture::Tensor| {
            if let Some(block) = tensor.block.map(|block| block as usize) {
                if place.len() <= block {
                    place.resize(block + 1, None);
                }
                place[block] = Some(position);
            }
        };
        architecture.family().position(architecture, position, &mut Visitor::new(&mut note));
    }
    let mut sums = vec![vec![0.0; kinds]; architecture.positions()];
    for term in &score.terms {
        let position = term.block.and_then(|block| *place.get(block as usize)?);
        if let Some(position) = position {
            sums[position][part(&term.name).filter(|_| kinds > 1).unwrap_or(0)] += term.value;
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::score::{Options, Scorer, Workers};
    use serde_json::json;

    /// Every layer of a stack has the same cell: what a node contributes is the sum over all layers, under its own place.
    #[test]
    fn terms_of_a_cell_belong_to_their_nodes() {
        let cell = json!({"a": {"op": "linear", "input": ["x", "h_prev_0"]}, "t": {"op": "activation_tanh", "input": ["a"]},
            "b": {"op": "linear", "input": ["t", "h_prev_0"]}, "h_new_0": {"op": "activation_sigm", "input": ["b"]}});
        let cell = json!({"family": "recurrent", "vocab_size": 9, "embed_dim": 3, "hidden_size": 4, "num_layers": 3,
            "context_len": 4, "recipe": cell});
        let cell = crate::space::read_architecture(&cell).unwrap();
        let request = || Request::parse("synaptic-saliency[batch=2]").unwrap();
        let scorer = Scorer::new(vec![request()], Options::default());
        let score = scorer.score(&cell, 0, &mut Workers::default()).scores.remove(0).unwrap();
        let of = |node: usize| {
            let own = score.terms.iter().filter(|term| term.name.contains(&format!("node_{node}.")));
            own.map(|term| term.value).sum::<f64>()
        };
        let wanted: Vec<Vec<f64>> = (0..4).map(|node| vec![of(node)]).collect();
        assert!(wanted[0][0] > 0.0 && wanted[2][0] > 0.0 && wanted[1][0] == 0.0);
        assert_eq!(blocks(&cell, &request(), &score), wanted);
    }
}
