//! Exact counts of row pairs by how two columns order them.

use super::order::{Levels, comparable};

/// Two columns prepared so that any multiset of their rows is tallied without
/// sorting: rows that agree in both columns form one cell, and cells are kept
/// in the order of (x, y).
pub(super) struct Cells {
    levels: Vec<(usize, usize)>,
    y_count: usize,
    of: Vec<usize>,
}

impl Cells {
    /// `None` unless the columns have one length and no NaN.
    pub(super) fn new(x: &[f64], y: &[f64]) -> Option<Self> {
        if !comparable(&[x, y]) {
            return None;
        }
        let (x, y) = (Levels::new(x), Levels::new(y));
        let mut sorted: Vec<(usize, usize, usize)> =
            (0..x.of.len()).map(|row| (x.of[row], y.of[row], row)).collect();
        sorted.sort_unstable();
        let mut of = vec![0; sorted.len()];
        let mut levels = Vec::new();
        for cell in sorted.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            for &(_, _, row) in cell {
                of[row] = levels.len();
            }
            levels.extend(cell.first().map(|&(x, y, _)| (x, y)));
        }
        Some(Self { levels, y_count: y.count, of })
    }

    /// Number of rows.
    pub(super) fn rows(&self) -> usize {
        self.of.len()
    }

    /// Tally of the chosen rows, O(n log n): cells are visited by rising x, and
    /// a Fenwick tree over y says how many earlier rows lie above the present one.
    pub(super) fn tally(&self, rows: impl Iterator<Item = usize>) -> Tally {
        let mut weights = vec![0_u64; self.levels.len()];
        for row in rows {
            weights[self.of[row]] += 1;
        }
        let mut tally = Tally::default();
        let mut seen = Prefixes::new(self.y_count);
        let mut y_weights = vec![0_u64; self.y_count];
        let mut seen_weight = 0;
        let mut rest = weights.as_slice();
        for column in self.levels.chunk_by(|a, b| a.0 == b.0) {
            let (here, later) = rest.split_at(column.len());
            rest = later;
            // Rows of equal x are no discordant pair, so all of them ask
            // before any of them is added.
            for (&(_, y), &weight) in column.iter().zip(here).filter(|(_, weight)| **weight > 0) {
                tally.discordant += weight * (seen_weight - seen.up_to(y));
                tally.tied_both += pairs(weight);
            }
            for (&(_, y), &weight) in column.iter().zip(here).filter(|(_, weight)| **weight > 0) {
                seen.add(y, weight);
                y_weights[y] += weight;
            }
            let column_weight: u64 = here.iter().sum();
            seen_weight += column_weight;
            tally.tied_x += pairs(column_weight);
        }
        tally.tied_y = y_weights.into_iter().map(pairs).sum();
        tally.all = pairs(seen_weight);
        tally
    }
}

/// Numbers of row pairs.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Tally {
    /// All pairs, n (n - 1) / 2.
    pub(super) all: u64,
    /// Pairs equal in x, whatever y.
    pub(super) tied_x: u64,
    /// Pairs equal in y, whatever x.
    pub(super) tied_y: u64,
    /// Pairs equal in both.
    pub(super) tied_both: u64,
    /// Pairs that x and y order in opposite ways.
    pub(super) discordant: u64,
}

impl Tally {
    /// Concordant minus discordant pairs.
    pub(super) fn balance(&self) -> i128 {
        let [all, tied_x, tied_y, tied_both, discordant] =
            [self.all, self.tied_x, self.tied_y, self.tied_both, self.discordant].map(i128::from);
        all - tied_x - tied_y + tied_both - 2 * discordant
    }
}

fn pairs(rows: u64) -> u64 {
    rows * rows.saturating_sub(1) / 2
}

/// Fenwick tree: running sums of weights under point additions.
struct Prefixes(Vec<u64>);

impl Prefixes {
    fn new(len: usize) -> Self {
        Self(vec![0; len + 1])
    }

    fn add(&mut self, place: usize, weight: u64) {
        let mut node = place + 1;
        while let Some(sum) = self.0.get_mut(node) {
            *sum += weight;
            node += node & node.wrapping_neg();
        }
    }

    /// Sum of the weights at `place` and before.
    fn up_to(&self, place: usize) -> u64 {
        let mut node = place + 1;
        let mut sum = 0;
        while node > 0 {
            sum += self.0[node];
            node &= node - 1;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows (1,1) (1,2) (2,1) (2,1) (3,0): 10 pairs. Equal x: {0,1} {2,3}.
    /// Equal y: rows 0, 2, 3 give 3. Equal both: {2,3}. Discordant: row 4 lies
    /// below all four others (4), row 1 lies above rows 2 and 3 (2).
    #[test]
    fn counts_by_hand() {
        let cells = Cells::new(&[1.0, 1.0, 2.0, 2.0, 3.0], &[1.0, 2.0, 1.0, 1.0, 0.0]);
        let tally = cells.map(|cells| cells.tally(0..5));
        let expected = Tally { all: 10, tied_x: 2, tied_y: 3, tied_both: 1, discordant: 6 };
        assert_eq!(expected.balance(), -6);
        assert_eq!(tally, Some(expected));
    }
}
