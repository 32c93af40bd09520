//! Networks whose layers are all alike, to begin a search with.

use super::SpaceGround;
use crate::architecture::Architecture;
use std::collections::BTreeMap;

impl SpaceGround<'_, '_> {
    /// The best network whose layers are all alike, where scores need no pass, and the largest one of each depth.
    pub(super) fn uniform(&self) -> Vec<Architecture> {
        let Some(grid) = self.moves.space.as_grid() else { return Vec::new() };
        let mut largest: BTreeMap<u64, (u64, Architecture)> = BTreeMap::new();
        let mut best: Option<(f64, Architecture)> = None;
        let knows = self.knows();
        for point in grid.uniform().filter(|point| self.moves.walls.excess(point) == 0.0) {
            let value = if knows { self.known(&point).ok() } else { None };
            if let Some(value) = value.filter(|value| best.as_ref().is_none_or(|(most, _)| value > most)) {
                best = Some((value, point.clone()));
            }
            let size = point.params().total;
            if largest.get(&point.depth()).is_none_or(|(most, _)| size > *most) {
                largest.insert(point.depth(), (size, point));
            }
        }
        let best = best.map(|(_, point)| point);
        best.into_iter().chain(largest.into_values().map(|(_, point)| point)).collect()
    }
}
