//! Spaces whose architectures are a frame (depth, widths, …) and one row of choices per layer or stage.
//!
//! Building a space enumerates every admissible frame once and, for each position, the *menu*: the rows that the
//! family's rules allow there. Everything else is counting: sampling, mutation and crossing draw from what is
//! admissible, so nothing is ever retried; the size is a sum of products; any index can be turned into its point.

use super::budget::{Budget, RowCosts};
use super::file::{Definition, position_in};
use super::{Feasible, Limits, Rate, Size, Space};
use crate::architecture::{Architecture, Card, Counter, Family, Field, Positions, Scope};
use crate::error::{Error, Result};
use crate::seed::Rng;
use num_bigint::BigUint;
use rand::RngExt;
use std::collections::HashMap;
use std::sync::Arc;

/// The most admissible frames a space may have.
const MAX_FRAMES: usize = 1 << 20;
/// The most combinations of frame and row that are checked while building.
const MAX_WORK: u128 = 10_000_000;

/// The rows admissible at a position, side by side.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct Menu {
    rows: Vec<u32>,
    width: usize,
}

impl Menu {
    pub(super) fn len(&self) -> usize {
        self.rows.len() / self.width
    }
    pub(super) fn row(&self, i: usize) -> &[u32] {
        &self.rows[i * self.width..][..self.width]
    }
    pub(super) fn iter(&self) -> impl Iterator<Item = &[u32]> {
        self.rows.chunks_exact(self.width)
    }
    fn pick(&self, rng: &mut Rng) -> &[u32] {
        self.row(rng.random_range(0..self.len()))
    }
    /// A row drawn among those that agree with `wanted` in the most entries.
    fn nearest(&self, wanted: &[Option<u32>], rng: &mut Rng) -> &[u32] {
        let agreement = |row: &[u32]| row.iter().zip(wanted).filter(|(a, b)| **b == Some(**a)).count();
        let best = self.iter().map(agreement).max().unwrap_or(0);
        let among = self.iter().filter(|row| agreement(row) == best).count();
        let chosen = rng.random_range(0..among);
        self.iter().filter(|row| agreement(row) == best).nth(chosen).expect("chosen among the best")
    }
}

/// One admissible choice of everything outside the positions.
pub(super) struct Frame {
    pub(super) values: Vec<u32>,
    pub(super) menus: Vec<Arc<Menu>>,
    pub(super) size: BigUint,
}

/// A space built from a [`Definition`].
pub struct Grid {
    pub(super) label: Arc<str>,
    pub(super) definition: Definition,
    pub(super) frames: Vec<Frame>,
    size: BigUint,
}

impl Grid {
    /// Builds the space, or says which choices contradict each other.
    pub fn new(definition: Definition) -> Result<Self> {
        let builder = Builder { definition: &definition, family: definition.family };
        let ruled = definition.family.ffn_and_width(&builder.scratch(builder.deepest()), 0).is_some();
        if definition.min_ffn_ratio.is_some() && !ruled {
            let message = format!("min_ffn_ratio has no meaning for the {} family", definition.family);
            return Err(Error::parse(definition.name.as_str(), message));
        }
        let frames = builder.frames()?;
        builder.refuse_dead_choices(&frames)?;
        let size = frames.iter().map(|frame| &frame.size).sum();
        Ok(Grid { label: definition.name.as_str().into(), frames, size, definition })
    }

    pub(super) fn architecture(&self, values: Vec<u32>) -> Architecture {
        Architecture::unchecked(self.label.clone(), self.definition.family, values)
    }

    /// A walk over `count` points from index `start` on, in index order.
    pub fn walk(&self, start: &BigUint, count: u128) -> Walk<'_> {
        let (frame, digits) = self.locate(start).unwrap_or((self.frames.len(), Vec::new()));
        let mut walk = Walk {
            space: self,
            frame,
            digits,
            left: count,
            fresh: true,
            point: self.architecture(Vec::new()),
        };
        walk.load();
        walk
    }

    /// The frame and the place in each menu of the point with this index.
    fn locate(&self, index: &BigUint) -> Option<(usize, Vec<usize>)> {
        let mut rest = index.clone();
        for (h, frame) in self.frames.iter().enumerate() {
            if rest >= frame.size {
                rest -= &frame.size;
                continue;
            }
            let mut digits = vec![0; frame.menus.len()];
            for (digit, menu) in digits.iter_mut().zip(&frame.menus).rev() {
                let radix = BigUint::from(menu.len());
                *digit = usize::try_from(&rest % &radix).expect("a remainder is below its divisor");
                rest /= radix;
            }
            return Some((h, digits));
        }
        None
    }

    pub(super) fn assemble(&self, frame: &Frame, row: impl FnMut(usize) -> Vec<u32>) -> Architecture {
        let mut values = frame.values.clone();
        values.extend((0..frame.menus.len()).flat_map(row));
        self.architecture(values)
    }

    /// Least and largest of parameters and multiply-adds.
    pub(super) fn extremes(&self, counter: Counter) -> [(u64, u64); 2] {
        let mut extremes = [(u64::MAX, 0); 2];
        let mut costs = RowCosts::new(self, counter);
        for frame in 0..self.frames.len() {
            let mut total = costs.outside(frame).map(|outside| (outside, outside));
            for position in 0..self.frames[frame].menus.len() {
                let rows = costs.rows(frame, position);
                for (metric, (low, high)) in total.iter_mut().enumerate() {
                    *low += rows.iter().map(|cost| cost[metric]).min().unwrap_or(0);
                    *high += rows.iter().map(|cost| cost[metric]).max().unwrap_or(0);
                }
            }
            for (extreme, (low, high)) in extremes.iter_mut().zip(total) {
                *extreme = (extreme.0.min(low), extreme.1.max(high));
            }
        }
        extremes
    }
}

impl Space for Grid {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    /// A frame drawn uniformly, then each row uniformly: depth, width and layers as the papers draw them.
    fn sample(&self, rng: &mut Rng) -> Architecture {
        let frame = &self.frames[rng.random_range(0..self.frames.len())];
        self.assemble(frame, |position| frame.menus[position].pick(rng).to_vec())
    }

    /// Redraws each value with probability `rate`, dependent ones from what remains admissible; a deeper child gets
    /// fresh rows, a shallower one loses the last.
    fn mutate(&self, parent: &Architecture, rate: f64, rng: &mut Rng) -> Architecture {
        self.redraw(parent, &|_| rate, &|_| rate, rng)
    }

    fn redraw(&self, parent: &Architecture, frame: Rate, row: Rate, rng: &mut Rng) -> Architecture {
        let keep = |rng: &mut Rng, value: &u32, rate: f64| (!rng.random_bool(rate)).then_some(*value);
        let wanted: Vec<Option<u32>> =
            parent.globals().iter().enumerate().map(|(slot, value)| keep(rng, value, frame(slot))).collect();
        let fits = |frame: &&Frame| frame.values.iter().zip(&wanted).all(|(a, b)| b.is_none_or(|b| *a == b));
        let candidates: Vec<&Frame> = self.frames.iter().filter(fits).collect();
        let frame = match candidates.len() {
            0 => &self.frames[rng.random_range(0..self.frames.len())],
            n => candidates[rng.random_range(0..n)],
        };
        self.assemble(frame, |position| {
            if position >= parent.positions() {
                return frame.menus[position].pick(rng).to_vec();
            }
            let wanted: Vec<_> =
                parent.row(position).iter().map(|value| keep(rng, value, row(position))).collect();
            frame.menus[position].nearest(&wanted, rng).to_vec()
        })
    }

    /// Takes each value from either parent; combinations that are not admissible give way to the nearest that are.
    fn cross(&self, a: &Architecture, b: &Architecture, rng: &mut Rng) -> Architecture {
        let either = |frame: &&Frame| {
            frame
                .values
                .iter()
                .zip(a.globals().iter().zip(b.globals()))
                .all(|(value, (a, b))| value == a || value == b)
        };
        let candidates: Vec<&Frame> = self.frames.iter().filter(either).collect();
        let frame = match candidates.len() {
            0 => &self.frames[rng.random_range(0..self.frames.len())],
            n => candidates[rng.random_range(0..n)],
        };
        self.assemble(frame, |position| {
            let parents: Vec<&Architecture> =
                [a, b].into_iter().filter(|p| position < p.positions()).collect();
            let wanted: Vec<Option<u32>> = (0..self.definition.columns.len())
                .map(|i| Some(parents.get(rng.random_range(0..parents.len().max(1)))?.row(position)[i]))
                .collect();
            frame.menus[position].nearest(&wanted, rng).to_vec()
        })
    }

    /// The frame of the first parent; rows that are not admissible under it give way to the nearest that are.
    fn graft(&self, a: &Architecture, b: &Architecture, positions: &[usize], rng: &mut Rng) -> Architecture {
        let Some(frame) = self.frames.iter().find(|frame| frame.values == a.globals()) else {
            return a.clone();
        };
        self.assemble(frame, |position| {
            let giver = if positions.contains(&position) && position < b.positions() { b } else { a };
            let wanted: Vec<Option<u32>> = giver.row(position).iter().copied().map(Some).collect();
            frame.menus[position].nearest(&wanted, rng).to_vec()
        })
    }

    fn validate(&self, architecture: &Architecture) -> Result<()> {
        let outside = |key: &str, value: serde_json::Value, choices: String| {
            Error::parse(key, format!("{value} is not in space '{}', which has {choices}", self.label))
        };
        let family = self.definition.family;
        if !architecture.family().is(family) {
            let message = format!("is a {}, the space holds {}", architecture.family(), family);
            return Err(Error::parse("family", message));
        }
        architecture.check()?;
        let text = |field: &Field, choices: &[u32]| {
            let shown: Vec<String> = choices.iter().take(8).map(|c| field.write(*c).to_string()).collect();
            format!("{}{}", shown.join(", "), if choices.len() > 8 { ", …" } else { "" })
        };
        for field in family.fields() {
            let at = position_in(family, field);
            if field.scope == Scope::Position {
                for position in 0..architecture.positions() {
                    let (value, choices) =
                        (architecture.row(position)[at], self.definition.columns[at].at(position));
                    if !choices.contains(&value) {
                        return Err(outside(field.key, field.write(value), text(field, choices)));
                    }
                }
                continue;
            }
            for slot in at..at + field.width() {
                let (value, choices) = (architecture.globals()[slot], &self.definition.globals[slot]);
                if !choices.contains(&value) {
                    return Err(outside(field.key, field.write(value), text(field, choices)));
                }
            }
        }
        // Each value is a choice and the family's rules hold: only the space's own rule is left.
        for position in 0..architecture.positions() {
            if let Err(reason) = ratio_rule(&self.definition, architecture, position) {
                return Err(Error::parse(format!("layer {}", position + 1), reason));
            }
        }
        Ok(())
    }

    fn size(&self) -> Size {
        Size::Exact(self.size.clone())
    }

    fn at(&self, index: &BigUint) -> Option<Architecture> {
        let (frame, digits) = self.locate(index)?;
        let frame = &self.frames[frame];
        Some(self.assemble(frame, |position| frame.menus[position].row(digits[position]).to_vec()))
    }

    fn feasible(&self, limits: &Limits) -> Result<Box<dyn Feasible + '_>> {
        Ok(Box::new(Budget::new(self, limits)?))
    }

    fn as_grid(&self) -> Option<&Grid> {
        Some(self)
    }
}

fn ratio_rule(definition: &Definition, architecture: &Architecture, position: usize) -> Result<(), String> {
    let Some(least) = definition.min_ffn_ratio else { return Ok(()) };
    let (ffn, width) =
        definition.family.ffn_and_width(architecture, position).unwrap_or((u64::MAX / 1000, 1));
    if ffn * 1000 < least * width {
        let least = least as f64 / 1e3;
        return Err(format!(
            "feed-forward width {ffn} is less than {least} times the width {width} (min_ffn_ratio)"
        ));
    }
    Ok(())
}

/// Visits points in index order without allocating for each.
pub struct Walk<'s> {
    space: &'s Grid,
    frame: usize,
    digits: Vec<usize>,
    left: u128,
    fresh: bool,
    point: Architecture,
}

impl Walk<'_> {
    /// The next point, valid until the next call.
    #[allow(clippy::should_implement_trait)] // It lends its one buffer, which an iterator cannot.
    pub fn next(&mut self) -> Option<&Architecture> {
        if self.left == 0 || self.frame >= self.space.frames.len() {
            return None;
        }
        if !self.fresh {
            self.advance();
            if self.frame >= self.space.frames.len() {
                return None;
            }
        }
        self.fresh = false;
        self.left -= 1;
        Some(&self.point)
    }

    fn advance(&mut self) {
        let frame = &self.space.frames[self.frame];
        for (position, menu) in frame.menus.iter().enumerate().rev() {
            let digit = &mut self.digits[position];
            *digit = if *digit + 1 == menu.len() { 0 } else { *digit + 1 };
            self.point.row_mut(position).copy_from_slice(menu.row(*digit));
            if *digit > 0 {
                return;
            }
        }
        self.frame += 1;
        self.digits =
            self.space.frames.get(self.frame).map_or(Vec::new(), |frame| vec![0; frame.menus.len()]);
        self.load();
    }

    fn load(&mut self) {
        if let Some(frame) = self.space.frames.get(self.frame) {
            self.point = self
                .space
                .assemble(frame, |position| frame.menus[position].row(self.digits[position]).to_vec());
        }
    }
}

struct Builder<'d> {
    definition: &'d Definition,
    family: &'static dyn Family,
}

impl Builder<'_> {
    fn frames(&self) -> Result<Vec<Frame>> {
        let (definition, family) = (self.definition, self.family);
        let combinations: u128 = definition.globals.iter().map(|choices| choices.len() as u128).product();
        if combinations > MAX_FRAMES as u128 {
            let message = format!(
                "the choices outside the layers have {combinations} combinations; at most {MAX_FRAMES} are handled: fix some of them"
            );
            return Err(Error::parse(&definition.name, message));
        }
        let deepest = self.deepest();
        let per_position =
            (0..deepest).map(|p| definition.columns.iter().map(|c| c.at(p).len() as u128).product::<u128>());
        let work = combinations * per_position.max().unwrap_or(1);
        if work > MAX_WORK {
            let message = format!(
                "the choices have {work} combinations of globals and layers; at most {MAX_WORK} are handled: use fewer or coarser choices"
            );
            return Err(Error::parse(&definition.name, message));
        }
        let mut scratch = self.scratch(deepest);
        let mut menus: HashMap<Arc<Menu>, ()> = HashMap::new();
        let (mut frames, mut reason) = (Vec::new(), String::new());
        let row_choices: Vec<Vec<u32>> = (0..deepest).map(|position| self.rows(position)).collect();
        // Layers follow the same rules at every depth, so one menu per distinct list of choices serves them all.
        let alike = matches!(family.card().positions, Positions::Layers(_));
        for values in product(&definition.globals) {
            scratch = self.with_globals(scratch, &values);
            if let Err(e) = family.check(&scratch) {
                reason = e;
                continue;
            }
            let positions = self.positions(&values);
            let mut found: Vec<Arc<Menu>> = Vec::with_capacity(positions);
            for position in 0..positions {
                let same = (alike && position > 0 && row_choices[position] == row_choices[position - 1])
                    .then(|| found[position - 1].clone());
                found.push(match same {
                    Some(menu) => menu,
                    None => {
                        let menu =
                            Arc::new(self.menu(&mut scratch, position, &row_choices[position], &mut reason));
                        menus.entry(menu.clone()).or_insert(());
                        menus.get_key_value(&menu).map(|(menu, ())| menu.clone()).unwrap_or(menu)
                    }
                });
            }
            if found.iter().all(|menu| menu.len() > 0) {
                let size = found.iter().map(|menu| BigUint::from(menu.len())).product();
                frames.push(Frame { values, menus: found, size });
            }
        }
        if frames.is_empty() {
            return Err(self.complain(&reason, "no combination of choices is admissible"));
        }
        Ok(frames)
    }

    fn menu(&self, scratch: &mut Architecture, position: usize, rows: &[u32], reason: &mut String) -> Menu {
        let width = self.family.row_width();
        let mut admissible = Vec::new();
        for row in rows.chunks_exact(width) {
            scratch.row_mut(position).copy_from_slice(row);
            let checked = self.family.check_position(scratch, position);
            match checked.and_then(|()| ratio_rule(self.definition, scratch, position)) {
                Ok(()) => admissible.extend_from_slice(row),
                Err(e) => *reason = e,
            }
        }
        Menu { rows: admissible, width }
    }

    fn rows(&self, position: usize) -> Vec<u32> {
        let choices: Vec<Vec<u32>> =
            self.definition.columns.iter().map(|column| column.at(position).to_vec()).collect();
        product(&choices).flatten().collect()
    }

    fn deepest(&self) -> usize {
        let largest: Vec<u32> =
            self.definition.globals.iter().map(|choices| *choices.iter().max().unwrap_or(&0)).collect();
        self.positions(&largest)
    }

    fn positions(&self, frame: &[u32]) -> usize {
        let Card { fields, positions, .. } = self.family.card();
        positions.count(fields, frame)
    }

    fn scratch(&self, positions: usize) -> Architecture {
        let mut values: Vec<u32> = self.definition.globals.iter().map(|choices| choices[0]).collect();
        for position in 0..positions {
            values.extend(self.definition.columns.iter().map(|column| column.at(position)[0]));
        }
        Architecture::unchecked("".into(), self.family, values)
    }

    fn with_globals(&self, scratch: Architecture, frame: &[u32]) -> Architecture {
        let mut values = scratch.values().to_vec();
        values[..frame.len()].copy_from_slice(frame);
        Architecture::unchecked("".into(), self.family, values)
    }

    /// A choice written out by hand that no architecture can have is a mistake; in a range it is not.
    fn refuse_dead_choices(&self, frames: &[Frame]) -> Result<()> {
        for field in self.family.fields().iter().filter(|field| self.definition.spelled_out(field.key)) {
            let at = position_in(self.family, field);
            let dead = if field.scope == Scope::Position {
                let positions = 0..self.deepest();
                let used = |position: usize, choice: u32| {
                    frames.iter().any(|frame| {
                        frame.menus.get(position).is_some_and(|menu| menu.iter().any(|row| row[at] == choice))
                    })
                };
                positions
                    .flat_map(|p| self.definition.columns[at].at(p).iter().map(move |choice| (p, *choice)))
                    .find(|(position, choice)| !used(*position, *choice))
                    .map(|(_, choice)| choice)
            } else {
                (at..at + field.width())
                    .flat_map(|slot| self.definition.globals[slot].iter().map(move |choice| (slot, *choice)))
                    .find(|(slot, choice)| !frames.iter().any(|frame| frame.values[*slot] == *choice))
                    .map(|(_, choice)| choice)
            };
            if let Some(choice) = dead {
                let message = format!(
                    "{} fits no other choice of this space, so it can never be used",
                    field.write(choice)
                );
                return Err(Error::parse(self.definition.at(field.key), message));
            }
        }
        Ok(())
    }

    /// The complaint, placed at the key that the reason starts with.
    fn complain(&self, reason: &str, what: &str) -> Error {
        let key = self
            .family
            .fields()
            .iter()
            .find(|field| reason.starts_with(field.key))
            .map_or("", |field| field.key);
        Error::parse(self.definition.at(key), format!("{what}: {reason}"))
    }
}

/// Every combination of one entry per list, the last list varying fastest.
fn product(lists: &[Vec<u32>]) -> impl Iterator<Item = Vec<u32>> {
    let total: usize = lists.iter().map(Vec::len).product();
    (0..total).map(move |mut index| {
        let mut point = vec![0; lists.len()];
        for (value, list) in point.iter_mut().zip(lists).rev() {
            *value = list[index % list.len()];
            index /= list.len();
        }
        point
    })
}
