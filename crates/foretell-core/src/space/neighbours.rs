//! The architectures next to one of a grid: one value moves along its choices, everything else changes as little as the
//! rules of the space allow.

use super::grid::{Frame, Grid, Menu};
use crate::architecture::Architecture;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// Finds neighbours in a grid.
pub struct Neighbours<'g> {
    grid: &'g Grid,
    frames: FxHashMap<&'g [u32], usize>,
    /// By the address of the menu.
    menus: FxHashMap<usize, Index<'g>>,
    /// For each value outside the positions, the values that occur, ascending.
    outside: Vec<Vec<u32>>,
    /// For each column of a position, one over the spread of its values.
    scales: Vec<f64>,
}

/// The rows of a menu, to be found by all their values or by that of a column.
struct Index<'g> {
    rows: FxHashSet<&'g [u32]>,
    columns: Vec<ByValue>,
}

/// The rows of a menu by their value in one column, ascending.
struct ByValue {
    values: Vec<u32>,
    rows: Vec<Vec<u32>>,
}

impl<'g> Neighbours<'g> {
    /// Indexes a grid.
    pub fn new(grid: &'g Grid) -> Self {
        let mut menus = FxHashMap::default();
        for menu in grid.frames.iter().flat_map(|frame| &frame.menus) {
            menus.entry(Arc::as_ptr(menu) as usize).or_insert_with(|| Index::new(menu));
        }
        let occurring = |slot: usize| {
            let mut values: Vec<u32> = grid.frames.iter().map(|frame| frame.values[slot]).collect();
            values.sort_unstable();
            values.dedup();
            values
        };
        let slots = grid.definition.globals.len();
        let scales = (0..grid.definition.columns.len()).map(|column| {
            let tables = menus.values().filter_map(|index: &Index| index.columns.get(column));
            let ends = tables.filter_map(|table| Some((*table.values.first()?, *table.values.last()?)));
            let (low, high) = ends.fold((u32::MAX, 0), |(low, high), (l, h)| (low.min(l), high.max(h)));
            1.0 / f64::from(high.saturating_sub(low).max(1))
        });
        Neighbours {
            grid,
            frames: grid.frames.iter().enumerate().map(|(at, frame)| (&*frame.values, at)).collect(),
            scales: scales.collect(),
            outside: (0..slots).map(occurring).collect(),
            menus,
        }
    }

    fn frame(&self, point: &Architecture) -> Option<&'g Frame> {
        self.frames.get(point.globals()).map(|at| &self.grid.frames[*at])
    }

    /// The values that a column can have at a position, ascending.
    pub fn values(&self, point: &Architecture, position: usize, column: usize) -> &[u32] {
        self.table(point, position, column).map_or(&[], |(_, table)| &table.values)
    }

    fn table(&self, point: &Architecture, position: usize, column: usize) -> Option<(&'g Menu, &ByValue)> {
        let menu = self.frame(point)?.menus.get(position)?;
        Some((menu, self.index(menu)?.columns.get(column)?))
    }

    fn index(&self, menu: &Arc<Menu>) -> Option<&Index<'g>> {
        self.menus.get(&(Arc::as_ptr(menu) as usize))
    }

    /// Sets the value of a column at a position; the other columns change only where the space demands it.
    pub fn set(&self, point: &mut Architecture, position: usize, column: usize, value: u32) {
        let Some(menu) = self.frame(point).and_then(|frame| frame.menus.get(position)) else { return };
        let Some(index) = self.index(menu) else { return };
        let before = std::mem::replace(&mut point.row_mut(position)[column], value);
        if index.rows.contains(point.row(position)) {
            return;
        }
        point.row_mut(position)[column] = before;
        let table = &index.columns[column];
        let Ok(at) = table.values.binary_search(&value) else { return };
        let rows = table.rows[at].iter().map(|row| menu.row(*row as usize));
        if let Some(row) = self.nearest(rows, point.row(position)) {
            point.row_mut(position).copy_from_slice(row);
        }
    }

    /// Gives a position the row nearest to `wanted` that is admissible there.
    pub fn set_row(&self, point: &mut Architecture, position: usize, wanted: &[u32]) {
        if let Some(menu) = self.frame(point).and_then(|frame| frame.menus.get(position)) {
            point.row_mut(position).copy_from_slice(self.admissible(menu, wanted));
        }
    }

    /// The row of a menu that is nearest to `wanted`.
    fn admissible<'r>(&self, menu: &'r Arc<Menu>, wanted: &'r [u32]) -> &'r [u32] {
        if self.index(menu).is_some_and(|index| index.rows.contains(wanted)) {
            return wanted;
        }
        self.nearest(menu.iter(), wanted).unwrap_or(wanted)
    }

    /// The first of the rows that differ least from `wanted`.
    fn nearest<'r>(&self, rows: impl Iterator<Item = &'r [u32]>, wanted: &[u32]) -> Option<&'r [u32]> {
        let distance = |row: &[u32]| -> f64 {
            let gaps = row.iter().zip(wanted).zip(&self.scales);
            gaps.map(|((a, b), scale)| f64::from(a.abs_diff(*b)) * scale).sum()
        };
        let mut best: Option<(f64, &[u32])> = None;
        for row in rows {
            let distance = distance(row);
            if best.is_none_or(|(least, _)| distance < least) {
                best = Some((distance, row));
            }
        }
        best.map(|(_, row)| row)
    }

    /// The values that a slot outside the positions can have, ascending.
    pub fn outside(&self, slot: usize) -> &[u32] {
        &self.outside[slot]
    }

    /// The same architecture with some slots outside the positions set. Other slots change only where the space demands it;
    /// a deeper network repeats rows and a shallower one skips some, evenly over the depth.
    pub fn with_outside(&self, point: &Architecture, set: &[(usize, u32)]) -> Architecture {
        let distance = |frame: &Frame| -> f64 {
            let slots = frame.values.iter().zip(point.globals()).zip(&self.outside).enumerate();
            let gap = |(slot, ((value, old), choices)): (usize, ((&u32, &u32), &Vec<u32>))| {
                let spread = choices.last().zip(choices.first()).map_or(1, |(high, low)| high - low).max(1);
                match set.iter().find(|(wanted, _)| *wanted == slot) {
                    Some((_, wanted)) => 1e6 * f64::from(value.abs_diff(*wanted)) / f64::from(spread),
                    None => f64::from(value.abs_diff(*old)) / f64::from(spread),
                }
            };
            slots.map(gap).sum()
        };
        let mut wanted = point.globals().to_vec();
        set.iter().for_each(|(slot, value)| wanted[*slot] = *value);
        let frame = match self.frames.get(wanted.as_slice()) {
            Some(at) => Some(&self.grid.frames[*at]),
            None => self.grid.frames.iter().min_by(|a, b| distance(a).total_cmp(&distance(b))),
        };
        let Some(frame) = frame else { return point.clone() };
        let (before, after) = (point.positions(), frame.menus.len());
        self.grid.assemble(frame, |position| {
            let menu = &frame.menus[position];
            if before == 0 {
                menu.row(0)
            } else {
                self.admissible(menu, point.row(position * before / after))
            }
            .to_vec()
        })
    }
}

impl<'g> Index<'g> {
    fn new(menu: &'g Menu) -> Self {
        let column = |column: usize| {
            let mut rows: Vec<u32> = (0..menu.len() as u32).collect();
            let value = |row: &u32| menu.row(*row as usize)[column];
            rows.sort_by_key(value);
            let groups: Vec<&[u32]> = rows.chunk_by(|a, b| value(a) == value(b)).collect();
            ByValue {
                values: groups.iter().map(|group| value(&group[0])).collect(),
                rows: groups.into_iter().map(<[u32]>::to_vec).collect(),
            }
        };
        let columns = menu.iter().next().map_or(0, <[u32]>::len);
        Index { rows: menu.iter().collect(), columns: (0..columns).map(column).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;
    use crate::space::preset;

    /// Every value that a neighbour search offers leads to an architecture of the space that has it.
    #[test]
    fn neighbours_stay_inside_the_space() {
        for name in ["gpt2", "flexibert", "pit-ti", "shunted", "lonas-llama"] {
            let space = preset(name).unwrap();
            let grid = space.as_grid().unwrap();
            let neighbours = Neighbours::new(grid);
            let mut rng = Seed(1).stream("test", 0);
            for _ in 0..20 {
                let point = space.sample(&mut rng);
                for position in 0..point.positions() {
                    for column in 0..point.row(position).len() {
                        for value in neighbours.values(&point, position, column) {
                            let mut other = point.clone();
                            neighbours.set(&mut other, position, column, *value);
                            space.validate(&other).unwrap();
                            assert_eq!(other.row(position)[column], *value, "{name}");
                        }
                    }
                }
                for slot in 0..point.globals().len() {
                    for value in neighbours.outside(slot) {
                        let other = neighbours.with_outside(&point, &[(slot, *value)]);
                        space.validate(&other).unwrap();
                        assert_eq!(other.globals()[slot], *value, "{name}");
                    }
                }
            }
        }
    }

    /// 4 layers with feed-forward widths 512, 1024, 2048, 4096 made 2 deep keep the first and the third; at width 512 no
    /// layer may be narrower than 1024.
    #[test]
    fn depth_is_stretched_and_rules_are_kept() {
        let space = preset("gpt2").unwrap();
        let point = crate::space::read_architecture(&serde_json::json!({
            "space": "gpt2", "n_layer": 4, "d_model": 256, "d_embed": 128, "div_val": 1,
            "n_head": 4, "d_inner": [512, 1024, 2048, 4096],
        }))
        .unwrap();
        let neighbours = Neighbours::new(space.as_grid().unwrap());
        let change = |key: &str, value: u32| {
            let old = point.to_json()[key].as_u64().unwrap() as u32;
            let slot = (0..point.globals().len())
                .find(|slot| point.globals()[*slot] == old && neighbours.outside(*slot).contains(&value));
            neighbours.with_outside(&point, &[(slot.unwrap(), value)]).to_json()
        };
        assert_eq!(change("n_layer", 2)["d_inner"], serde_json::json!([512, 2048]));
        let wider = change("d_model", 512);
        assert_eq!(wider["d_model"], 512);
        assert_eq!(wider["d_inner"], serde_json::json!([1024, 1024, 2048, 4096]));
    }
}
