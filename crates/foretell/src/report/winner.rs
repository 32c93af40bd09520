//! The winner, why it won, and the uniform networks it is compared with.

use super::markup::{Cell, Row, note, table, terms};
use super::text::{self, bytes, escape, grouped, percent, short};
use super::{Candidate, Counts, Subject};
use crate::architecture::{Architecture, Part};
use crate::error::Result;
use crate::space;
use crate::study::{Objective, ReferenceKind};

impl Subject<'_> {
    /// Who won and why, its drawing and facts, and the comparison; where nothing won, why, and what comes nearest.
    pub(super) fn winner_section(&self, drawing: Option<&str>) -> Result<String> {
        let mut html = format!("<p class=\"verdict\">{}</p>", escape(&self.verdict()));
        if let Some(trial) = self.presented() {
            let drawing = drawing.unwrap_or_default();
            html += &format!("<div class=\"pair\">{drawing}{}</div>", terms(&self.facts(trial)?, false));
        }
        if let Some(winner) = self.winner() {
            html += &self.comparison(winner)?;
        }
        Ok(html)
    }

    /// The answer in one or two sentences.
    pub(super) fn verdict(&self) -> String {
        let answer = &self.view.answer;
        let reason = answer.reason.text();
        if let Some(winner) = self.winner() {
            let proved = if answer.proved {
                ", proved optimal: no other network inside the limits has a better value"
            } else {
                ""
            };
            let so_far = if self.view.decided { "" } else { "So far, " };
            let trial = if so_far.is_empty() { "Trial" } else { "trial" };
            return format!("{so_far}{trial} {winner} wins: {reason}{proved}.");
        }
        let Some(nearest) = self.presented() else { return format!("There is no winner: {reason}.") };
        let share = self.view.limit_shares().get(&nearest).copied();
        let above = share.map_or(String::new(), |share| {
            format!(", {} above its limit as measured", percent((share - 1.0).max(0.0), 1))
        });
        format!(
            "There is no winner: {reason}. Trial {nearest} comes nearest{above}. Raise the limit, or search again on a quiet \
             machine."
        )
    }

    /// A candidate in numbers.
    pub(super) fn facts(&self, trial: usize) -> Result<Vec<(String, String)>> {
        let Candidate { architecture, .. } = &self.candidate(trial)?;
        let Counts { params, flops, .. } = self.counts(trial);
        let mut rows = vec![("id".to_owned(), architecture.id()), ("trial".to_owned(), trial.to_string())];
        for (place, objective) in self.objectives.iter().enumerate() {
            let counted = matches!(objective, Objective::Params | Objective::Flops | Objective::Memory);
            if !counted {
                rows.push((self.axis(place), self.value_text(place, self.shown(trial, place))));
            }
        }
        if let Some(row) = self.view.evaluation(trial) {
            let value = crate::study::given_value(row).map_or(row.status.clone(), text::number);
            rows.push(("evaluated".into(), value));
        }
        rows.push(("parameters".into(), grouped(params)));
        let counts = architecture.params();
        for part in Part::ALL.into_iter().filter(|part| counts.part(*part) > 0) {
            rows.push((format!("in {}", part.name()), grouped(counts.part(part))));
        }
        if self.counts_work() {
            rows.push(("multiply-adds".into(), grouped(flops)));
            rows.push(("memory".into(), bytes(architecture.memory().total())));
        }
        rows.extend(architecture.cache_bytes().map(|cache| ("cache".to_owned(), bytes(cache))));
        let genes = self.space.write(architecture);
        rows.extend(text::gene_list(&genes).into_iter().map(|(key, value, _)| (key.to_owned(), value)));
        Ok(rows)
    }

    /// The winner and uniform networks side by side, and in words which is better.
    fn comparison(&self, winner: usize) -> Result<String> {
        let answer = &self.view.answer;
        let candidate = self.candidate(winner)?;
        let architecture = &candidate.architecture;
        let Counts { params, flops, .. } = self.counts(winner);
        if self.view.settings.time.is_some() {
            return Ok(note("The section Training compares it with the best uniform network."));
        }
        let sentence = self.against_uniform(architecture);
        if answer.references.is_empty() {
            return Ok(note(&sentence));
        }
        let value = |value: Option<f64>| match value.map(|value| value / self.unit(0)) {
            Some(value) => Cell::Number(self.value_text(0, value), value),
            None => Cell::Text("not measured".to_owned()),
        };
        let row = |name: &str, counts: [u64; 3], own: Option<f64>, genes: String| {
            let [params, flops, memory] = counts;
            Row::plain(vec![
                Cell::Text(name.to_owned()),
                value(own),
                Cell::Number(grouped(params), params as f64),
                Cell::Number(short(flops), flops as f64),
                Cell::Number(bytes(memory), memory as f64),
                Cell::Genes(genes),
            ])
        };
        let counts = [params, flops, architecture.memory().total()];
        let mut rows = vec![row("winner", counts, answer.value, self.genes(&candidate))];
        for other in &answer.references {
            let counts = [other.params, other.flops, other.memory];
            rows.push(row(other.kind.text(), counts, other.value, text::genes(&other.architecture)));
        }
        let mut names = vec![String::new(), self.axis(0)];
        names.extend(["parameters", "multiply-adds", "memory", "architecture"].map(str::to_owned));
        Ok(format!(
            "<h3>Compared with uniform networks</h3><p>{}</p>{}{}",
            escape(&sentence),
            table("Winner and uniform networks", false, &names, &rows),
            note(
                "A uniform network has the same choices at every layer. Memory is that of a forward and backward pass of \
                 one input in f32."
            )
        ))
    }

    /// Whether the winner beats the best uniform network, in words.
    fn against_uniform(&self, winner: &Architecture) -> String {
        let answer = &self.view.answer;
        let best = answer.references.iter().find(|other| other.kind == ReferenceKind::Best);
        let Some(best) = best else {
            return if self.view.decided {
                "This space has no uniform network inside the limits to compare with.".to_owned()
            } else {
                "Uniform networks are compared with the winner when the study ends.".to_owned()
            };
        };
        if space::write_architecture(winner) == best.architecture {
            return "The winner is itself the best uniform network: it has the same choices at every layer."
                .to_owned();
        }
        let uniform = if is_uniform(winner) { "The winner is itself uniform. " } else { "" };
        let axis = self.axis(0);
        let sentence = match answer.beats_uniform {
            Some(true) => format!("The winner beats the best uniform network in {axis}."),
            Some(false) => format!("The winner does not beat the best uniform network in {axis}."),
            None => format!("The best uniform network has no {axis} to compare with."),
        };
        format!("{uniform}{sentence}")
    }
}

/// Whether every layer has the same choices.
fn is_uniform(architecture: &Architecture) -> bool {
    (1..architecture.positions()).all(|position| architecture.row(position) == architecture.row(0))
}
