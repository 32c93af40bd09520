//! What the scores are worth on tables of trained networks.

use super::Subject;
use super::markup::{note, warning};
use super::text::{grouped, percent, prose};
use crate::benchmark::Evidence;

impl Subject<'_> {
    /// One line for each table, and a warning where a score is worth little or nothing is known; nothing where no score is
    /// searched for.
    pub(super) fn evidence(&self) -> Option<String> {
        if self.evidence.is_empty() {
            return None;
        }
        let family = self.space.definition().family.to_string();
        let mut html = String::new();
        for (score, tables) in self.evidence {
            if tables.iter().all(|table| table.agreement.is_none()) {
                html += &warning(&format!(
                    "no table of trained {family} networks shows what {score} is worth. Train a few of the best candidates \
                     before you rely on this order."
                ));
            }
            html += &tables.iter().filter_map(|table| line(score, table)).collect::<String>();
        }
        let known = self.evidence.iter().flat_map(|(_, tables)| tables);
        if known.into_iter().any(|table| table.agreement.is_some()) {
            html += &note(
                "Pairs are of equal size if their parameters differ by less than 10\u{a0}%. Guessing orders 50\u{a0}% of them.",
            );
        }
        Some(html)
    }
}

/// What a score is worth on one table.
fn line(score: &str, table: &Evidence) -> Option<String> {
    let share = table.agreement?;
    let count = table.best_count.as_ref().map_or(String::new(), |(name, share)| {
        format!(" The best count, {name}, orders {}.", percent(*share, 0))
    });
    let text = format!(
        "{score} orders {} of {} pairs of equal size as training did on {} ({} networks)",
        percent(share, 0),
        grouped(table.pairs),
        table.benchmark,
        grouped(table.networks as u64)
    );
    Some(match table.is_weak() {
        true => warning(&format!("{text}, which is hardly better than guessing or worse.{count}")),
        false => format!("<p>{}</p>", prose(&format!("{text}.{count}"))),
    })
}
