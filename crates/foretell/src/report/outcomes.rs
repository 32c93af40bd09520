//! What evaluators said of candidates, and which candidates failed.

use super::Subject;
use super::markup::{Cell, Row, note, table};
use super::text::{grouped, number};
use crate::store::{Evaluation, Trial};
use crate::study::{Reason, given_value};
use std::collections::BTreeMap;

/// Evaluated candidates that are listed.
const SHOWN: usize = 50;

impl Subject<'_> {
    /// Evaluated candidates, best first; nothing where none was evaluated.
    pub(super) fn evaluated(&self) -> Option<String> {
        let evaluations = &self.view.evaluations;
        let by = &evaluations.first()?.evaluator;
        let mut order: Vec<_> = evaluations.iter().collect();
        let value = |row: &Evaluation| row.value().unwrap_or(f64::NEG_INFINITY);
        order.sort_by(|a, b| value(b).total_cmp(&value(a)).then(a.trial.cmp(&b.trial)));
        let row = |row: &&Evaluation| {
            let won = self.winner() == Some(row.trial as usize);
            let own = given_value(row);
            let status = if row.message.is_empty() {
                row.status.clone()
            } else {
                format!("{}: {}", row.status, row.message.trim())
            };
            let first = self.shown(row.trial as usize, 0);
            Row {
                class: if won { "won" } else { "" },
                cells: vec![
                    Cell::trial(row.trial as usize, won),
                    own.map_or(Cell::Text("–".to_owned()), |own| Cell::Number(number(own), own)),
                    Cell::Number(self.value_text(0, first), first),
                    Cell::Text(status),
                ],
            }
        };
        let rows: Vec<Row> = order.iter().take(SHOWN).map(row).collect();
        let names = ["trial".to_owned(), "value".to_owned(), self.axis(0), "status".to_owned()];
        let failed = evaluations.iter().filter(|row| row.value().is_none()).count();
        let failed =
            if failed > 0 { format!(" {failed} of {} failed.", evaluations.len()) } else { String::new() };
        let all = evaluations.len();
        let shown =
            if all > SHOWN { format!(" The best {SHOWN} of {all} are shown.") } else { String::new() };
        let decides = match self.view.answer.reason {
            Reason::Evaluated => " The best value decides the winner.",
            _ => " The winner was not decided by these values.",
        };
        Some(
            table("Evaluated candidates", false, &names, &rows)
                + &note(&format!("Evaluated by `{by}`.{failed}{shown}{decides}")),
        )
    }

    /// How many candidates failed in which way, each with the first message; nothing where none failed.
    pub(super) fn failures(&self) -> Option<String> {
        let kinds = &self.failures.kinds;
        if kinds.is_empty() {
            return None;
        }
        let row = |((kind, proxy), (count, trial, message)): (&(String, String), &(u64, u64, String))| {
            Row::plain(vec![
                Cell::Text(kind.clone()),
                Cell::Text(proxy.clone()),
                Cell::Number(grouped(*count), *count as f64),
                Cell::Text(format!("trial {trial}: {message}")),
            ])
        };
        let rows: Vec<Row> = kinds.iter().map(row).collect();
        let names = ["kind", "proxy", "candidates", "first message"].map(str::to_owned);
        Some(table("Failed candidates", false, &names, &rows))
    }
}

/// Candidates that failed.
#[derive(Default)]
pub(super) struct Failures {
    /// By kind and proxy: how many, the first of them, and what it said.
    kinds: BTreeMap<(String, String), (u64, u64, String)>,
}

impl Failures {
    pub(super) fn add(&mut self, trial: Trial) {
        for score in trial.scores.into_iter().filter(|score| score.status != "ok") {
            let first = (0, trial.number, score.message);
            self.kinds.entry((score.status, score.proxy)).or_insert(first).0 += 1;
        }
    }
}
