use foretell::rank::{
    banded, best_true_rank, bootstrap, close_pair_agreement, hypervolume, kendall_interval, kendall_tau_b,
    pareto_front, partial_kendall, pearson, quantile, spearman, spearman_interval, top_k_overlap,
};
use proptest::prelude::*;

proptest! {
    /// NaN, infinities, subnormals, zeros of both signs, columns cut short: no
    /// function panics, no statistic is NaN or out of its range.
    #[test]
    fn any_floats_at_all(
        rows in proptest::collection::vec([proptest::num::f64::ANY; 3], 0..12),
        missing in 0..3_usize,
        k in 0..14_usize,
    ) {
        let [x, y, mut z] = [0, 1, 2].map(|i| rows.iter().map(|row| row[i]).collect::<Vec<f64>>());
        z.truncate(rows.len().saturating_sub(missing / 2));
        let signed = [
            kendall_tau_b(&x, &y),
            spearman(&x, &y),
            pearson(&x, &y),
            kendall_tau_b(&x, &z),
            pearson(&y, &z),
            partial_kendall(&x, &y, &z),
        ];
        prop_assert!(signed.into_iter().flatten().all(|value| (-1.0..=1.0).contains(&value)));
        let shares = [
            top_k_overlap(&x, &z, k),
            close_pair_agreement(&x, &y, &z, 0.5).map(|found| found.agreement),
        ];
        prop_assert!(shares.into_iter().flatten().all(|value| (0.0..=1.0).contains(&value)));
        let rank = best_true_rank(&x, &z, k);
        prop_assert!(rank.is_none_or(|rank| (0.999..x.len() as f64 + 0.001).contains(&rank)));
        let points: Vec<Vec<f64>> = rows.iter().map(|row| row.to_vec()).collect();
        prop_assert!(hypervolume(&points, &[0.0; 3]) >= 0.0);
        prop_assert!(pareto_front(&points).len() <= rows.len());
        prop_assert!(banded(&x, &y, &z, k).len() <= k);
        prop_assert!(quantile(&x, 0.3).is_none_or(|value| !value.is_nan()));
        let intervals = [
            kendall_interval(&x, &y, 5, 1),
            spearman_interval(&x, &z, 5, 1),
            bootstrap(x.len(), 5, 1, |rows| rows.first().map(|&row| x[row])),
        ];
        prop_assert!(intervals.into_iter().flatten().all(|found| found.low <= found.high));
    }
}
