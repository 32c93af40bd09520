//! Damaged copies of a store with studies of every kind. Every reading command gives the answer that it gave before the
//! damage, or a typed error; never another answer, never a panic.
//!
//! `FORETELL_CAMPAIGN=5000 cargo test -p foretell --test all campaign:: -- --nocapture` damages five thousand copies.

mod damage;
mod subject;

use damage::{Damage, Kind};
use foretell::seed::Seed;
use std::collections::BTreeMap;
use subject::{Outcome, Subject};

/// How many copies are damaged; more with `FORETELL_CAMPAIGN`.
fn copies() -> u64 {
    std::env::var("FORETELL_CAMPAIGN").ok().and_then(|n| n.parse().ok()).unwrap_or(48)
}

/// What became of the copies of one kind of damage.
#[derive(Default)]
struct Figures {
    copies: u64,
    same: u64,
    refused: u64,
    answers: u64,
    errors: u64,
}

fn try_all(damages: impl Iterator<Item = Damage>, subject: &Subject, thorough: bool) {
    let mut figures: BTreeMap<Kind, Figures> = BTreeMap::new();
    for damage in damages {
        let Some(copy) = subject.copy(&damage) else { continue };
        let figures = figures.entry(damage.kind()).or_default();
        figures.copies += 1;
        let mut refused = false;
        for (command, outcome) in subject.ask(&copy, thorough) {
            match outcome {
                Outcome::Same => figures.answers += 1,
                Outcome::Refused(kind) => {
                    let typed = ["store-corrupt", "store", "store-version", "store-foreign"];
                    assert!(typed.contains(&kind), "{command} after {damage:?} fails as '{kind}'");
                    figures.errors += 1;
                    refused = true;
                }
                Outcome::Other(said) => panic!("{command} gives another answer after {damage:?}: {said}"),
            }
        }
        *if refused { &mut figures.refused } else { &mut figures.same } += 1;
    }
    for (kind, Figures { copies, same, refused, answers, errors }) in &figures {
        println!(
            "{kind:?}: {copies} copies, {same} answered as before, {refused} refused; {answers} answers as before and \
             {errors} typed errors, no other answer"
        );
    }
    let sum = |of: fn(&Figures) -> u64| figures.values().map(of).sum::<u64>();
    println!(
        "in all {} copies: {} answered as before, {} refused",
        sum(|f| f.copies),
        sum(|f| f.same),
        sum(|f| f.refused)
    );
    assert!(sum(|f| f.refused) > 0);
}

/// Flipped bits, pages copied over others, files cut off, rows changed and deleted.
#[test]
fn damage_never_changes_an_answer() {
    let subject = Subject::new("random");
    let mut rng = Seed(7).stream("campaign", 0);
    let damages = (0..copies()).map(|round| Damage::draw(round, &mut rng, &subject.bytes));
    try_all(damages.collect::<Vec<_>>().into_iter(), &subject, true);
}

/// Every column of every table is changed in every way that its type allows, in one row or another, and every table loses
/// rows. With `FORETELL_CAMPAIGN` each change is made in every place.
#[test]
fn no_column_can_be_changed_unnoticed() {
    let subject = Subject::new("columns");
    let everywhere = std::env::var_os("FORETELL_CAMPAIGN").is_some();
    try_all(damage::of_every_column(&subject.path, everywhere).into_iter(), &subject, false);
}
