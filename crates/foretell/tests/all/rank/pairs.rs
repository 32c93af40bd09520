use foretell::rank::{banded, close_pair_agreement};
use proptest::prelude::*;

use super::columns;

proptest! {
    #[test]
    fn close_pairs_are_the_naive_count(data in columns(3, 0..30), tolerance in 0.01..1.5_f64) {
        let (score, truth, size) = (&data[0], &data[1], &data[2]);
        let (mut pairs, mut points) = (0_u64, 0.0);
        for i in 0..score.len() {
            for j in 0..i {
                let (a, b) = (size[i].min(size[j]), size[i].max(size[j]));
                if truth[i] != truth[j] && (a == b || b - a < tolerance * b) {
                    pairs += 1;
                    points += match (score[i] - score[j]) * (truth[i] - truth[j]) {
                        0.0 => 0.5,
                        product if product > 0.0 => 1.0,
                        _ => 0.0,
                    };
                }
            }
        }
        let found = close_pair_agreement(score, truth, size, tolerance);
        prop_assert_eq!(found.map(|found| found.pairs), (pairs > 0).then_some(pairs));
        prop_assert_eq!(found.map(|f| f.agreement), (pairs > 0).then(|| points / pairs as f64));
    }

    #[test]
    fn bands_part_the_rows_by_size(data in columns(3, 0..60), bands in 0..8_usize) {
        let found = banded(&data[0], &data[1], &data[2], bands);
        prop_assert!(found.len() <= bands);
        prop_assert!(found.windows(2).all(|pair| pair[0].high < pair[1].low));
        let inside = |low: f64, high: f64| data[2].iter().filter(|v| (low..=high).contains(v)).count();
        prop_assert!(found.iter().all(|band| band.n == inside(band.low, band.high)));
        let covered: usize = found.iter().map(|band| band.n).sum();
        prop_assert_eq!(covered, if bands == 0 { 0 } else { data[2].len() });
    }

    #[test]
    fn bands_of_distinct_sizes_differ_by_one_row_at_most(n in 1..60_usize, bands in 1..8_usize) {
        let size: Vec<f64> = (0..n).map(|row| (row * 61 % 67) as f64).collect();
        let counts: Vec<usize> = banded(&size, &size, &size, bands).iter().map(|b| b.n).collect();
        prop_assert_eq!(counts.len(), bands.min(n));
        prop_assert!(counts.iter().max().zip(counts.iter().min()).is_some_and(|(a, b)| a - b <= 1));
    }
}
