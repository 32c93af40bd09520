//! The best candidates as a table that can be sorted; networks that differ only in the order of their layers share a row.

use super::markup::{Cell, Row, note, table};
use super::text::{grouped, number, short};
use super::{Counts, Subject};
use crate::architecture::Architecture;
use crate::error::Result;
use crate::study::given_value;
use std::collections::HashMap;

/// Rows of the table.
const ROWS: usize = 20;
/// Candidates looked through to fill them.
pub(super) const LOOKED_AT: usize = 2000;

type Count = fn(&Counts) -> u64;

/// What candidates that share a row have in common: every objective, parameters and multiply-adds, what they were
/// evaluated with and the share of a limit they take as measured.
type Key = (Vec<u64>, u64, u64, Option<u64>, Option<u64>);

/// Candidates that share a row.
struct Tie {
    first: usize,
    network: Architecture,
    count: u64,
    /// Whether all have the layers of the first in some order.
    permutations: bool,
}

impl Tie {
    /// How many candidates share the row; nothing for one.
    fn text(&self) -> String {
        match (self.count, self.permutations) {
            (1, _) => String::new(),
            (count, true) => format!("×{} permutations", grouped(count)),
            (count, false) => format!("×{} ties", grouped(count)),
        }
    }
}

impl Subject<'_> {
    /// The best candidates, winner first.
    pub(super) fn table(&self) -> Result<String> {
        let ties = self.ties(ROWS)?;
        let (names, rows) = self.rows(&ties)?;
        let shared = ties.iter().any(|tie| tie.count > 1);
        let shared = if shared {
            " Networks with equal values and counts share a row; the first of them is shown."
        } else {
            ""
        };
        let marked = if self.objectives.len() > 1 { " A bar marks the Pareto front." } else { "" };
        let shown: u64 = ties.iter().map(|tie| tie.count).sum();
        let note = note(&format!(
            "The best {} of {} candidates{}.{shared}{marked} Select a column name to sort.",
            grouped(shown),
            grouped(self.order.len() as u64),
            self.order_text()
        ));
        Ok(table("Best candidates", true, &names, &rows) + &note)
    }

    /// Names of the columns and the best candidates, so many rows at most.
    pub(super) fn best_rows(&self, most: usize) -> Result<(Vec<String>, Vec<Row>)> {
        self.rows(&self.ties(most)?)
    }

    fn rows(&self, ties: &[Tie]) -> Result<(Vec<String>, Vec<Row>)> {
        let mut names = vec!["rank".to_owned(), "trial".to_owned()];
        names.extend((0..self.objectives.len()).map(|place| self.axis(place)));
        let evaluated = !self.view.evaluations.is_empty();
        names.extend(evaluated.then(|| "evaluated".to_owned()));
        let counts: [(&str, Count); 2] = [("parameters", |c| c.params), ("multiply-adds", |c| c.flops)];
        let counts = &counts[..if self.counts_work() { 2 } else { 1 }];
        let counts: Vec<_> =
            counts.iter().copied().filter(|(name, _)| names.iter().all(|known| known != name)).collect();
        names.extend(counts.iter().map(|(name, _)| (*name).to_owned()));
        names.extend(["id".to_owned(), "architecture".to_owned()]);
        let row = |(rank, tie): (usize, &Tie)| self.row(rank, tie, &counts, evaluated);
        let rows = ties.iter().enumerate().map(row).collect::<Result<Vec<Row>>>()?;
        Ok((names, rows))
    }

    /// How the rows are ordered, in words.
    fn order_text(&self) -> String {
        let mut text = if self.winner().is_some() { ": the winner, then" } else { ", best first" }.to_owned();
        if !self.view.evaluations.is_empty() {
            text += " by evaluated value, then";
        }
        text += &format!(" by {}", self.axis(0));
        if self.view.limit_shares().values().any(|share| *share > 1.0) {
            text += "; those that break a limit as measured come last";
        }
        text
    }

    fn row(&self, rank: usize, tie: &Tie, counts: &[(&str, Count)], evaluated: bool) -> Result<Row> {
        let trial = tie.first;
        let candidate = self.candidate(trial)?;
        let won = self.winner() == Some(trial);
        let on_front = self.objectives.len() > 1 && self.leaderboard.front.contains(&trial);
        let mut cells =
            vec![Cell::Number((rank + 1).to_string(), rank as f64 + 1.0), Cell::trial(trial, won)];
        for place in 0..self.objectives.len() {
            let value = self.shown(trial, place);
            cells.push(Cell::Number(self.value_text(place, value), value));
        }
        if evaluated {
            let row = self.view.evaluation(trial);
            cells.push(match row.map(|row| (given_value(row), &row.status)) {
                None => Cell::Text(String::new()),
                Some((None, status)) => Cell::Text(status.clone()),
                Some((Some(value), _)) => Cell::Number(number(value), value),
            });
        }
        for (name, count) in counts {
            let value = count(&self.counts(trial));
            let text = if *name == "multiply-adds" { short(value) } else { grouped(value) };
            cells.push(Cell::Number(text, value as f64));
        }
        let (genes, others) = (self.genes(&candidate), tie.text());
        cells.push(Cell::Code(candidate.id));
        cells.push(Cell::Genes(if others.is_empty() { genes } else { format!("{genes}\n{others}") }));
        let class = match (won, on_front) {
            (true, true) => "won front",
            (true, false) => "won",
            (false, true) => "front",
            (false, false) => "",
        };
        Ok(Row { class, cells })
    }

    /// The best candidates, those with equal values and counts together, so many rows at most.
    fn ties(&self, most: usize) -> Result<Vec<Tie>> {
        let shares = self.view.limit_shares();
        let key = |trial: usize| -> Key {
            let values = self.leaderboard.values(trial).unwrap_or_default();
            let evaluated = self.view.evaluation(trial).map(|row| row.value.to_bits());
            (
                values.iter().map(|value| value.to_bits()).collect(),
                self.counts(trial).params,
                self.counts(trial).flops,
                evaluated,
                shares.get(&trial).map(|share| share.to_bits()),
            )
        };
        let mut places: HashMap<Key, usize> = HashMap::new();
        let mut ties: Vec<Tie> = Vec::new();
        for trial in self.view.best(LOOKED_AT) {
            let key = key(trial);
            if ties.len() < most && !places.contains_key(&key) {
                let network = self.candidate(trial)?.architecture;
                places.insert(key, ties.len());
                ties.push(Tie { first: trial, network, count: 0, permutations: true });
            }
        }
        for trial in self.order.iter().copied() {
            let Some(tie) = places.get(&key(trial)).and_then(|place| ties.get_mut(*place)) else { continue };
            tie.count += 1;
            tie.permutations =
                tie.permutations && layers(&tie.network) == layers(&self.candidate(trial)?.architecture);
        }
        Ok(ties)
    }
}

/// What two networks that differ only in the order of their layers share.
fn layers(architecture: &Architecture) -> (&[u32], Vec<&[u32]>) {
    let mut rows: Vec<&[u32]> =
        (0..architecture.positions()).map(|position| architecture.row(position)).collect();
    rows.sort_unstable();
    (architecture.globals(), rows)
}
