//! The order of one column: levels, ranks, distinct values.

/// Rank of every value, 1 for the smallest; equal values share the mean of the
/// ranks they cover: `rank = (values below) + (values equal + 1) / 2`.
///
/// `-0.0` equals `0.0`. A NaN has a place too, that of [`f64::total_cmp`].
pub fn average_ranks(values: &[f64]) -> Vec<f64> {
    Levels::new(values).ranks(0..values.len())
}

/// Number of different values; `-0.0` equals `0.0`.
pub fn distinct(values: &[f64]) -> usize {
    Levels::new(values).count
}

/// Whether all columns have one length and no NaN.
pub(super) fn comparable(columns: &[&[f64]]) -> bool {
    columns.windows(2).all(|pair| pair[0].len() == pair[1].len())
        && columns.iter().all(|column| column.iter().all(|value| !value.is_nan()))
}

/// Rows by rising value, equal ones in their given order; `-0.0` equals `0.0`.
pub(super) fn ascending(values: &[f64]) -> Vec<usize> {
    let mut rows: Vec<usize> = (0..values.len()).collect();
    rows.sort_by(|&a, &b| (values[a] + 0.0).total_cmp(&(values[b] + 0.0)));
    rows
}

/// A column as small integers in the order of its values: the least is 0, the
/// next larger 1, and so on, equal values alike.
pub(super) struct Levels {
    /// Level of each row.
    pub(super) of: Vec<usize>,
    /// Number of levels.
    pub(super) count: usize,
}

impl Levels {
    pub(super) fn new(values: &[f64]) -> Self {
        // Adding zero turns -0.0 into 0.0, which total_cmp would tell apart.
        let mut sorted: Vec<(f64, usize)> =
            values.iter().enumerate().map(|(row, &value)| (value + 0.0, row)).collect();
        sorted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let mut of = vec![0; values.len()];
        let mut count = 0;
        for group in sorted.chunk_by(|a, b| a.0.total_cmp(&b.0).is_eq()) {
            for &(_, row) in group {
                of[row] = count;
            }
            count += 1;
        }
        Self { of, count }
    }

    /// Average ranks of the chosen rows among themselves, without sorting.
    pub(super) fn ranks(&self, rows: impl Iterator<Item = usize> + Clone) -> Vec<f64> {
        let mut sizes = vec![0_usize; self.count];
        for row in rows.clone() {
            sizes[self.of[row]] += 1;
        }
        let mut below = 0;
        let rank_of_level: Vec<f64> = sizes
            .into_iter()
            .map(|size| {
                let rank = below as f64 + (size + 1) as f64 / 2.0;
                below += size;
                rank
            })
            .collect();
        rows.map(|row| rank_of_level[self.of[row]]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 3 is rank 1; the two 5s cover 2 and 3, mean 2.5; 9 is rank 4.
    #[test]
    fn ties_share_the_mean_rank() {
        assert_eq!(average_ranks(&[5.0, 9.0, 5.0, 3.0]), [2.5, 4.0, 2.5, 1.0]);
        assert_eq!(average_ranks(&[]), [0.0; 0]);
    }

    #[test]
    fn zeros_of_either_sign_are_one_value() {
        assert_eq!(distinct(&[0.0, -0.0, 1.0]), 2);
        assert_eq!(average_ranks(&[0.0, -0.0]), [1.5, 1.5]);
    }

    #[test]
    fn a_nan_neither_panics_nor_disturbs_the_others() {
        assert_eq!(average_ranks(&[2.0, f64::NAN, 1.0]), [2.0, 3.0, 1.0]);
        assert_eq!(distinct(&[f64::NAN, f64::NAN, 1.0]), 2);
    }

    /// Rows 1, 1, 3 hold 9, 9, 3: ranks 2.5, 2.5, 1.
    #[test]
    fn ranks_of_repeated_rows_are_those_of_the_gathered_values() {
        let levels = Levels::new(&[5.0, 9.0, 5.0, 3.0]);
        assert_eq!(levels.ranks([1, 1, 3].into_iter()), [2.5, 2.5, 1.0]);
    }
}
