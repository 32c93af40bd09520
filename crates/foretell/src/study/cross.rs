//! The winners of several studies by each other's proxies.

use super::{Objective, View};
use crate::architecture::Architecture;
use crate::error::Result;
use crate::proxy::Request;
use crate::score::{Options, Scorer};
use std::sync::Arc;

/// Every winner by every proxy.
#[derive(Debug, Clone, PartialEq)]
pub struct Cross {
    /// The proxies, each once.
    pub proxies: Vec<String>,
    /// For each study its winner's value by each proxy; none where it has no winner or no score. Scores within a set are
    /// those within the winners.
    pub values: Vec<Vec<Option<f64>>>,
}

/// Scores the winners of studies by the proxies of all, with the seeds of the first.
pub fn cross(views: &[&View], options: Options) -> Result<Cross> {
    let mut requests: Vec<Arc<Request>> = Vec::new();
    for request in views.iter().flat_map(|view| Objective::requests(view.objectives())) {
        if !requests.iter().any(|known| known.label() == request.label()) {
            requests.push(request);
        }
    }
    let winners = views.iter().map(|view| view.winner().map(|trial| view.architecture(trial)).transpose());
    let winners: Vec<Option<Architecture>> = winners.collect::<Result<_>>()?;
    let scorer = Scorer::new(requests, options);
    let networks: Vec<Architecture> = winners.iter().flatten().cloned().collect();
    let seeds = views.first().map_or(vec![0], |view| view.settings.seed_list());
    let table = scorer.table(&networks, &seeds, &|| ())?;
    let mut values: Vec<Vec<Option<f64>>> = vec![Vec::new(); views.len()];
    for request in 0..scorer.requests().len() {
        let column: Vec<_> = table.iter().map(|row| &row.cells[request]).collect();
        let mut scores = scorer.order(request, &column).into_iter();
        for (values, winner) in values.iter_mut().zip(&winners) {
            values.push(winner.as_ref().and_then(|_| scores.next()?.ok()));
        }
    }
    let proxies = scorer.requests().iter().map(|request| request.label().to_owned()).collect();
    Ok(Cross { proxies, values })
}
