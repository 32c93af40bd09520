use foretell::rank::{hypervolume, pareto_front};
use proptest::prelude::*;

/// Integer points of 1 to 4 objectives in 0..=4.
fn points() -> impl Strategy<Value = Vec<Vec<f64>>> {
    (1..=4_usize).prop_flat_map(|objectives| {
        let point = proptest::collection::vec((0..=4_i32).prop_map(f64::from), objectives);
        proptest::collection::vec(point, 1..25)
    })
}

/// Number of unit cubes of the grid above `reference` that some point covers.
fn covered_cubes(points: &[Vec<f64>], reference: &[f64]) -> usize {
    let objectives = reference.len();
    let corner = |cube: usize| -> Vec<f64> {
        (0..objectives).map(|i| (cube / 5_usize.pow(i as u32) % 5) as f64).collect()
    };
    let exceeds = |p: &[f64], q: &[f64]| p.iter().zip(q).all(|(a, b)| a > b);
    (0..5_usize.pow(objectives as u32))
        .map(corner)
        .filter(|corner| corner.iter().zip(reference).all(|(c, r)| c >= r))
        .filter(|corner| points.iter().any(|p| exceeds(p, corner) && exceeds(p, reference)))
        .count()
}

proptest! {
    #[test]
    fn the_front_is_the_naive_one(points in points()) {
        let dominated = |q: &Vec<f64>| {
            points.iter().any(|p| p != q && p.iter().zip(q).all(|(a, b)| a >= b))
        };
        let naive: Vec<usize> = (0..points.len()).filter(|&i| !dominated(&points[i])).collect();
        prop_assert_eq!(pareto_front(&points), naive);
    }

    #[test]
    fn the_hypervolume_counts_the_cubes(points in points(), low in 0..3_i32) {
        let reference = vec![f64::from(low); points[0].len()];
        let cubes = covered_cubes(&points, &reference);
        prop_assert_eq!(hypervolume(&points, &reference), cubes as f64);
    }
}
