//! Uniform networks that the winner of a study is compared with.

use super::View;
use super::answer::{Answer, Reference, ReferenceKind};
use super::context::{Ceilings, known, within};
use crate::architecture::{Architecture, Counter};
use crate::error::Result;
use crate::latency::{Model, Phase};
use crate::score::{Options, Scorer};
use crate::space;

/// What finding references takes.
pub(super) struct References<'r> {
    pub(super) scorer: &'r Scorer,
    /// Limits beside those on parameters and multiply-adds.
    pub(super) ceilings: &'r Ceilings,
    /// Models of latency objectives.
    pub(super) models: &'r [(Phase, Model)],
}

/// The answer of a study that no run ended, such as one united from shards.
pub(super) fn answer_of(view: &View, options: Options) -> Result<Answer> {
    let scorer = Scorer::new(super::Objective::requests(view.objectives()), options);
    let ceilings = Ceilings::of(&view.settings);
    let mut answer = view.decide();
    References { scorer: &scorer, ceilings: &ceilings, models: &[] }.add(view, &mut answer)?;
    Ok(answer)
}

impl References<'_> {
    /// Adds the best uniform network, the one nearest in size, and whether the winner beats the best.
    pub(super) fn add(&self, view: &View, answer: &mut Answer) -> Result<()> {
        let Some(winner) = answer.winner.map(|trial| trial as usize) else { return Ok(()) };
        let network = view.architecture(winner)?;
        answer.value = view.value(winner, 0);
        let Some(grid) = view.settings.space.as_grid() else { return Ok(()) };
        let limits = &view.settings.limits;
        let keeps = |point: &Architecture| self.ceilings.keeps(point);
        if let Some((uniform, value)) = self.best_uniform(view, winner, answer)? {
            let first = &view.settings.objectives[0];
            let own = answer.value.map(|own| if first.is_cost() { -own } else { own });
            let other = value.map(|value| if first.is_cost() { -value } else { value });
            answer.beats_uniform = own.zip(other).map(|(own, other)| own > other);
            answer.references.push(reference(ReferenceKind::Best, &uniform, value));
        }
        if let Some(nearest) = grid.nearest_uniform(limits, &keeps, network.params().total) {
            let value = self.shape_value(view, &nearest);
            answer.references.push(reference(ReferenceKind::Nearest, &nearest, value));
        }
        Ok(())
    }

    /// The best uniform network and its value: exactly where that takes no pass, else the best of the largest per depth.
    fn best_uniform(
        &self,
        view: &View,
        winner: usize,
        answer: &mut Answer,
    ) -> Result<Option<(Architecture, Option<f64>)>> {
        let grid = view.settings.space.as_grid().expect("uniform networks are those of a grid");
        let limits = &view.settings.limits;
        let keeps = |point: &Architecture| self.ceilings.keeps(point);
        let objective = &view.settings.objectives[0];
        let request = self.scorer.requests().first().map(|request| &**request);
        if let Some(score) = known(objective, self.models) {
            let best = grid.best_uniform(limits, &keeps, &score)?;
            return Ok(best.map(|(value, point)| (point, Some(objective.shown(value)))));
        }
        let request = request.expect("costs take no pass");
        let uniform = grid.largest_uniform(limits, &keeps);
        let table = self.scorer.table(&uniform, &view.settings.seed_list(), &|| ())?;
        let scored =
            uniform.iter().zip(&table).filter_map(|(point, row)| Some((point, row.cells[0].mean().ok()?)));
        let scored: Vec<_> = scored.collect();
        if !request.is_set_score() {
            let best = scored.into_iter().max_by(|a, b| a.1.value.total_cmp(&b.1.value));
            return Ok(best.map(|(point, score)| (point.clone(), Some(score.value))));
        }
        // Values exist only within a set: that of all trials and the uniform networks.
        let mut parts: Vec<Option<Vec<f64>>> = Vec::new();
        for trial in 0..view.trials {
            let score = view.trial(trial)?.scores.into_iter().next();
            parts.push(score.filter(|score| score.status == "ok").map(|score| score.parts));
        }
        parts.extend(scored.iter().map(|(_, score)| Some(score.parts.clone())));
        let values = within(request, &parts);
        answer.value = Some(values[winner]);
        let best = (view.trials..values.len()).max_by(|a, b| values[*a].total_cmp(&values[*b]));
        Ok(best.map(|place| (scored[place - view.trials].0.clone(), Some(values[place]))))
    }

    /// The first objective of a network where that takes no pass.
    fn shape_value(&self, view: &View, point: &Architecture) -> Option<f64> {
        let objective = &view.settings.objectives[0];
        let score = known(objective, self.models)?;
        Some(objective.shown(score(point).ok()?))
    }
}

fn reference(kind: ReferenceKind, point: &Architecture, value: Option<f64>) -> Reference {
    Reference {
        kind,
        architecture: space::write_architecture(point),
        value,
        params: point.params().total,
        flops: point.flops(Counter::Exact).unwrap_or(0),
        memory: point.memory().total(),
    }
}
