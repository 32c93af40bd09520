//! Which rows make a network uniform.

use super::super::Column;
use super::super::file::position_in;
use super::super::grid::{Frame, Grid, Menu};
use crate::architecture::{Positions, Scope};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Positions with the same menu and the same lists of choices, by their first.
pub(super) struct Kinds {
    first: Vec<usize>,
    /// The kind of each position.
    pub(super) of: Vec<usize>,
}

/// The uniform rows of a frame: for each network one row of each kind of position.
pub(super) struct Pattern {
    kinds: usize,
    rows: Vec<u32>,
}

impl Pattern {
    /// How many networks there are.
    pub(super) fn len(&self) -> usize {
        self.rows.len() / self.kinds.max(1)
    }
    /// The row of each kind of position.
    pub(super) fn rows(&self, network: u32) -> &[u32] {
        &self.rows[network as usize * self.kinds..][..self.kinds]
    }
}

impl Grid {
    /// The uniform rows of each of these frames that is uniform itself.
    pub(super) fn patterns(&self, frames: &[usize]) -> FxHashMap<u32, (Kinds, Arc<Pattern>)> {
        let mut known: FxHashMap<Vec<(usize, *const Menu)>, Arc<Pattern>> = FxHashMap::default();
        let mut patterns = FxHashMap::default();
        for &frame in frames.iter().filter(|frame| self.is_uniform(&self.frames[**frame])) {
            let menus = &self.frames[frame].menus;
            let kinds = self.kinds(menus);
            let key = kinds.first.iter().map(|position| (*position, Arc::as_ptr(&menus[*position])));
            let pattern = known.entry(key.collect()).or_insert_with(|| Arc::new(self.pattern(menus, &kinds)));
            patterns.insert(frame as u32, (kinds, pattern.clone()));
        }
        patterns
    }

    fn kinds(&self, menus: &[Arc<Menu>]) -> Kinds {
        let layers = matches!(self.definition.family.card().positions, Positions::Layers(_));
        let mut kinds = Kinds { first: Vec::new(), of: Vec::with_capacity(menus.len()) };
        for (position, menu) in menus.iter().enumerate() {
            let same = |first: &usize| {
                layers
                    && Arc::ptr_eq(&menus[*first], menu)
                    && self.definition.columns.iter().all(|column| column.at(*first) == column.at(position))
            };
            let kind = kinds.first.iter().position(same).unwrap_or_else(|| {
                kinds.first.push(position);
                kinds.first.len() - 1
            });
            kinds.of.push(kind);
        }
        kinds
    }

    /// Every combination of one level per field that is admissible at all positions.
    fn pattern(&self, menus: &[Arc<Menu>], kinds: &Kinds) -> Pattern {
        let columns = &self.definition.columns;
        let longest = |column: &Column| {
            kinds.first.iter().map(|position| column.at(*position).len()).max().unwrap_or(1)
        };
        let levels: Vec<usize> = columns.iter().map(longest).collect();
        let index = |position: &usize| -> FxHashMap<&[u32], u32> {
            menus[*position].iter().enumerate().map(|(i, row)| (row, i as u32)).collect()
        };
        let index: Vec<_> = kinds.first.iter().map(index).collect();
        let mut rows = Vec::new();
        let (mut level, mut row) = (vec![0; levels.len()], vec![0; levels.len()]);
        for combination in 0..levels.iter().product::<usize>() {
            let mut rest = combination;
            for (level, levels) in level.iter_mut().zip(&levels).rev() {
                (*level, rest) = (rest % levels, rest / levels);
            }
            let before = rows.len();
            for (position, index) in kinds.first.iter().zip(&index) {
                for (i, column) in columns.iter().enumerate() {
                    let choices = column.at(*position);
                    row[i] = choices[scaled(level[i], choices.len(), levels[i])];
                }
                rows.extend(index.get(row.as_slice()));
            }
            if rows.len() < before + kinds.first.len() {
                rows.truncate(before);
            }
        }
        Pattern { kinds: kinds.first.len(), rows }
    }

    /// Whether lists outside the positions that have an entry for each stage take the same place everywhere.
    fn is_uniform(&self, frame: &Frame) -> bool {
        let Positions::Stages(stages) = self.definition.family.card().positions else { return true };
        let family = self.definition.family;
        family.fields().iter().filter(|field| field.scope == Scope::List(stages)).all(|field| {
            let at = position_in(family, field);
            let lists = &self.definition.globals[at..at + stages];
            let longest = lists.iter().map(Vec::len).max().unwrap_or(1);
            (0..longest).any(|level| {
                lists
                    .iter()
                    .zip(&frame.values[at..])
                    .all(|(list, value)| list[scaled(level, list.len(), longest)] == *value)
            })
        })
    }
}

/// The place in a list of `len` choices at a level of the longest list, rounded half up.
fn scaled(level: usize, len: usize, longest: usize) -> usize {
    let steps = longest.saturating_sub(1).max(1);
    (2 * level * (len - 1) + steps) / (2 * steps)
}
