use foretell::rank::{average_ranks, best_true_rank, top_k_overlap};
use proptest::prelude::*;

use super::{close, columns, tie_breakings};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn overlap_is_the_mean_over_all_tie_breakings(data in columns(2, 1..6), k in 1..6_usize) {
        let (score, truth) = (tie_breakings(&data[0]), tie_breakings(&data[1]));
        let mut shared = 0;
        for a in &score {
            for b in &truth {
                shared += a.iter().take(k).filter(|row| b[..k.min(b.len())].contains(row)).count();
            }
        }
        let mean = shared as f64 / (score.len() * truth.len() * k) as f64;
        let expected = (k <= data[0].len()).then_some(mean);
        prop_assert!(close(top_k_overlap(&data[0], &data[1], k), expected));
    }

    #[test]
    fn best_rank_is_the_mean_over_all_tie_breakings(data in columns(2, 1..7), k in 1..7_usize) {
        let n = data[1].len() as f64;
        let ranks: Vec<f64> = average_ranks(&data[1]).iter().map(|rank| n + 1.0 - rank).collect();
        let orders = tie_breakings(&data[0]);
        let best = |order: &Vec<usize>| order.iter().take(k).map(|&i| ranks[i]).fold(n, f64::min);
        let mean = orders.iter().map(best).sum::<f64>() / orders.len() as f64;
        let expected = (k <= data[0].len()).then_some(mean);
        prop_assert!(close(best_true_rank(&data[0], &data[1], k), expected));
    }
}
