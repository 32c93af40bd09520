//! Merging stores: studies and shards are united by the store, and united ones get an answer.

use super::View;
use super::reference::answer_of;
use crate::error::Result;
use crate::score::Options;
use crate::store::{Merged, Store};

/// Takes over every study of other stores, unites shards, and decides what each study found. Nothing is written unless all
/// other stores are intact.
pub fn merge(into: &mut Store, from: &[Store], options: impl Fn() -> Options) -> Result<Vec<Merged>> {
    from.iter().try_for_each(|other| other.verify().map(drop))?;
    let mut done: Vec<Merged> = Vec::new();
    for other in from {
        for merged in into.merge(other)? {
            match done.iter_mut().find(|known| known.name == merged.name) {
                Some(known) => known.trials = merged.trials,
                None => done.push(merged),
            }
        }
    }
    for merged in &done {
        let Some(study) = into.find(&merged.name)? else { continue };
        let view = View::of(into, &study)?;
        if !view.decided && study.stopped.is_some() {
            let answer = answer_of(&view, options())?;
            into.set_answer(&study, &serde_json::json!(answer))?;
        }
    }
    done.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(done)
}
