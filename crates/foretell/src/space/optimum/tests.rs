//! Exact search against enumeration, and what it refuses.

use super::super::{Bound, Limits, preset};
use crate::architecture::Architecture;
use crate::error::Result;
use crate::architecture::Counter;
use num_bigint::BigUint;

/// A jagged sum over layers that is no function of cost.
fn jagged(architecture: &Architecture) -> Result<f64> {
    let layers = (0..architecture.positions()).map(|p| {
        let row = architecture.row(p);
        row.iter()
            .enumerate()
            .map(|(i, x)| f64::from((x * 37 + 11 * i as u32 + 5 * p as u32) % 23))
            .sum::<f64>()
    });
    Ok(layers.sum())
}

/// Against all of PiT's networks, under either limit, both, and lower ones.
#[test]
fn the_optimum_is_that_of_enumeration() {
    let space = preset("pit-ti").unwrap();
    let grid = space.as_grid().unwrap();
    let mut all = Vec::new();
    let mut walk = grid.walk(&BigUint::ZERO, u128::MAX);
    while let Some(point) = walk.next() {
        all.push((jagged(point).unwrap(), point.params().total, point.flops(Counter::Exact).unwrap()));
    }
    let mut sizes: Vec<(u64, u64)> = all.iter().map(|(_, params, flops)| (*params, *flops)).collect();
    sizes.sort_unstable();
    let (params, flops) = sizes[sizes.len() / 3];
    let most = |max| Bound { max, ..Bound::default() };
    for (p, f) in [
        (Bound::default(), Bound::default()),
        (most(params), Bound::default()),
        (Bound::default(), most(flops)),
        (most(params), most(flops)),
        (Bound { min: params, max: 2 * params }, Bound::default()),
    ] {
        let limits = Limits { params: p, flops: f, counter: Counter::Exact };
        let inside =
            |x: &&(f64, u64, u64)| (p.min..=p.max).contains(&x.1) && (f.min..=f.max).contains(&x.2);
        let mut expected: Vec<f64> = all.iter().filter(inside).map(|x| x.0).collect();
        expected.sort_by(|a, b| b.total_cmp(a));
        expected.dedup();
        let found = grid.optimum(&limits, 5, &jagged, &|_| {}).unwrap();
        let mut found: Vec<f64> = found.iter().map(|point| jagged(point).unwrap()).collect();
        assert_eq!(found[0], expected[0], "{limits:?}");
        found.dedup();
        assert!(
            found.iter().all(|score| expected[..5].contains(score)),
            "{found:?} {:?}",
            &expected[..5]
        );
    }
}

#[test]
fn what_is_no_sum_is_refused() {
    let space = preset("autoformer-tiny").unwrap();
    let product = |architecture: &Architecture| Ok(jagged(architecture)?.powi(2));
    let error = space.as_grid().unwrap().optimum(&Limits::default(), 1, &product, &|_| {}).unwrap_err();
    assert!(error.to_string().contains("no sum over layers"), "{error}");
}
