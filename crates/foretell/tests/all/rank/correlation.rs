use foretell::rank::{
    average_ranks, distinct, kendall_tau_a, kendall_tau_b, partial_kendall, pearson, spearman,
};
use proptest::prelude::*;

use super::{close, columns};

/// Tau-b and tau-a by looking at every pair.
fn naive_tau(x: &[f64], y: &[f64]) -> (Option<f64>, Option<f64>) {
    let sign = |a: f64, b: f64| i64::from(a > b) - i64::from(a < b);
    let (mut balance, mut untied_x, mut untied_y, mut all) = (0, 0, 0, 0);
    for i in 0..x.len() {
        for j in 0..i {
            let (sx, sy) = (sign(x[i], x[j]), sign(y[i], y[j]));
            balance += sx * sy;
            untied_x += sx * sx;
            untied_y += sy * sy;
            all += 1;
        }
    }
    let product = untied_x * untied_y;
    let b = (product > 0).then(|| balance as f64 / (product as f64).sqrt());
    (b, (all > 0).then(|| balance as f64 / f64::from(all)))
}

proptest! {
    #[test]
    fn tau_is_the_naive_count(data in columns(2, 0..40)) {
        let (b, a) = naive_tau(&data[0], &data[1]);
        prop_assert_eq!(kendall_tau_b(&data[0], &data[1]), b);
        prop_assert_eq!(kendall_tau_a(&data[0], &data[1]), a);
    }

    #[test]
    fn exchange_of_columns_changes_nothing(data in columns(3, 0..40)) {
        let [x, y, z] = [&data[0], &data[1], &data[2]];
        prop_assert_eq!(kendall_tau_b(x, y), kendall_tau_b(y, x));
        prop_assert_eq!(kendall_tau_a(x, y), kendall_tau_a(y, x));
        prop_assert_eq!(spearman(x, y), spearman(y, x));
        prop_assert_eq!(partial_kendall(x, y, z), partial_kendall(y, x, z));
    }

    #[test]
    fn rising_maps_change_nothing_and_falling_ones_the_sign(data in columns(2, 0..40)) {
        let [x, y] = [&data[0], &data[1]];
        let rising: Vec<f64> = x.iter().map(|value| value.exp() - 7.0).collect();
        let falling: Vec<f64> = x.iter().map(|value| -value * value * value).collect();
        prop_assert_eq!(kendall_tau_b(&rising, y), kendall_tau_b(x, y));
        prop_assert_eq!(kendall_tau_b(&falling, y), kendall_tau_b(x, y).map(|tau| -tau));
        prop_assert_eq!(spearman(&rising, y), spearman(x, y));
    }

    #[test]
    fn spearman_is_pearson_of_ranks(data in columns(2, 0..40)) {
        let (x, y) = (average_ranks(&data[0]), average_ranks(&data[1]));
        prop_assert_eq!(spearman(&data[0], &data[1]), pearson(&x, &y));
    }

    #[test]
    fn ranks_are_half_the_comparisons(data in columns(1, 0..40)) {
        let values = &data[0];
        let naive = |a: &f64| {
            let below = values.iter().filter(|b| *b < a).count() as f64;
            let equal = values.iter().filter(|b| *b == a).count() as f64;
            below + (equal + 1.0) / 2.0
        };
        prop_assert_eq!(average_ranks(values), values.iter().map(naive).collect::<Vec<_>>());
        let first = |i: &usize| !values[..*i].contains(&values[*i]);
        prop_assert_eq!(distinct(values), (0..values.len()).filter(first).count());
    }

    #[test]
    fn partial_is_its_formula(data in columns(3, 0..40)) {
        let tau = |i: usize, j: usize| naive_tau(&data[i], &data[j]).0;
        let expected = || {
            let (xy, xz, yz) = (tau(0, 1)?, tau(0, 2)?, tau(1, 2)?);
            let square = (1.0 - xz * xz) * (1.0 - yz * yz);
            (square > 0.0).then(|| (xy - xz * yz) / square.sqrt())
        };
        prop_assert!(close(partial_kendall(&data[0], &data[1], &data[2]), expected()));
    }
}
