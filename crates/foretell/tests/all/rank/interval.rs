use foretell::rank::{bootstrap, kendall_interval, kendall_tau_b, spearman, spearman_interval};
use proptest::prelude::*;

use super::columns;

fn gathered(column: &[f64], rows: &[usize]) -> Vec<f64> {
    rows.iter().map(|&row| column[row]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_fast_routes_have_the_bits_of_the_generic_one(data in columns(2, 0..30), seed: u64) {
        let [x, y] = [&data[0], &data[1]];
        let generic = |statistic: fn(&[f64], &[f64]) -> Option<f64>| {
            bootstrap(x.len(), 40, seed, |rows| statistic(&gathered(x, rows), &gathered(y, rows)))
        };
        prop_assert_eq!(kendall_interval(x, y, 40, seed), generic(kendall_tau_b));
        prop_assert_eq!(spearman_interval(x, y, 40, seed), generic(spearman));
    }
}

#[test]
fn the_number_of_threads_does_not_matter() -> Result<(), rayon::ThreadPoolBuildError> {
    let x: Vec<f64> = (0..200).map(|row| f64::from(row * 37 % 101)).collect();
    let y: Vec<f64> = (0..200).map(|row| f64::from(row * 53 % 97)).collect();
    let run = || (kendall_interval(&x, &y, 300, 5), spearman_interval(&x, &y, 300, 5));
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build()?.install(run);
    let crowd = rayon::ThreadPoolBuilder::new().num_threads(7).build()?.install(run);
    assert_eq!(alone, crowd);
    assert!(alone.0.is_some_and(|interval| interval.low < interval.high));
    Ok(())
}
