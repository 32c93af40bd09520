//! Exact search against enumeration, and what it refuses.

use super::super::{Bound, Limits, Space, parse, preset};
use crate::architecture::{Architecture, Counter};
use crate::error::Result;
use num_bigint::BigUint;
use std::sync::Mutex;

/// Layers that all draw from the same lists.
const LAYERS: &str = r#"
name = "layers"
family = "gpt2"
[choices]
n_layer = [1, 2, 3]
d_model = [64, 96]
d_embed = [32, 64]
n_head = [2, 4]
d_inner = { from = 64, to = 320, step = 64 }
"#;

/// Two costs that do not grow together.
const CROSSED: &str = r#"
name = "crossed"
family = "vit"
[fixed]
head_dim = 64
relative_position = true
max_relative_position = 14
[choices]
embed_dim = [64, 96]
depth = [2, 3]
num_heads = [2, 3, 5]
mlp_ratio = [1.0, 2.5, 3.0]
"#;

fn rows(architecture: &Architecture) -> impl Iterator<Item = (usize, &[u32])> {
    (0..architecture.positions()).map(|p| (p, architecture.row(p)))
}

/// A jagged sum over layers that is no function of cost and depends on the position.
fn jagged(architecture: &Architecture) -> Result<f64> {
    let layer = |(p, row): (usize, &[u32])| {
        let terms =
            row.iter().enumerate().map(|(i, x)| f64::from((x * 37 + 11 * i as u32 + 5 * p as u32) % 23));
        terms.sum::<f64>()
    };
    Ok(rows(architecture).map(layer).sum())
}

/// A sum over layers that are all alike, with a part outside them. Whole numbers: sums are exact in any order.
fn alike(architecture: &Architecture) -> Result<f64> {
    let layer = |(_, row): (usize, &[u32])| f64::from(row.iter().map(|x| x * 29 % 31).sum::<u32>());
    Ok(rows(architecture).map(layer).sum::<f64>()
        + f64::from(architecture.globals().iter().sum::<u32>() % 13))
}

/// Proportional to a cost, which is where bounds are of no use.
fn params(architecture: &Architecture) -> Result<f64> {
    Ok(architecture.params().total as f64)
}

fn fewest_flops(architecture: &Architecture) -> Result<f64> {
    Ok(-(architecture.flops(Counter::Exact).unwrap() as f64))
}

fn depth(architecture: &Architecture) -> Result<f64> {
    Ok(architecture.depth() as f64)
}

/// Limits on either cost, both, and from below.
fn all_limits(all: &[(Architecture, u64, u64)]) -> Vec<Limits> {
    let middle = |cost: fn(&(Architecture, u64, u64)) -> u64| {
        let mut costs: Vec<u64> = all.iter().map(cost).collect();
        costs.sort_unstable();
        costs[costs.len() / 3]
    };
    let (params, flops) = (middle(|x| x.1), middle(|x| x.2));
    let (any, most) = (Bound::default(), |max| Bound { min: 0, max });
    let bounds = [
        (any, any),
        (most(params), any),
        (any, most(flops)),
        (most(params), most(flops)),
        (Bound { min: params, max: 2 * params }, any),
        (any, Bound { min: flops, max: flops + flops / 10 }),
        (Bound { min: params - params / 20, max: params }, Bound { min: flops / 2, max: flops }),
        (Bound { min: params, max: params }, any),
        (most(1), any),
    ];
    bounds.map(|(params, flops)| Limits { params, flops, counter: Counter::Exact }).to_vec()
}

/// The best scores by looking at every network: of those that share frame and score, one.
fn enumerated(
    all: &[(Architecture, u64, u64)],
    limits: &Limits,
    count: usize,
    score: fn(&Architecture) -> Result<f64>,
) -> Vec<f64> {
    let inside = |x: &&(Architecture, u64, u64)| {
        (limits.params.min..=limits.params.max).contains(&x.1)
            && (limits.flops.min..=limits.flops.max).contains(&x.2)
    };
    let mut scores: Vec<(f64, &[u32])> =
        all.iter().filter(inside).map(|x| (score(&x.0).unwrap(), x.0.globals())).collect();
    scores.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    scores.dedup();
    scores.into_iter().take(count).map(|(score, _)| score).collect()
}

fn compare(space: &dyn Space, scores: &[fn(&Architecture) -> Result<f64>]) {
    let grid = space.as_grid().unwrap();
    let mut all = Vec::new();
    let mut walk = grid.walk(&BigUint::ZERO, u128::MAX);
    while let Some(point) = walk.next() {
        all.push((point.clone(), point.params().total, point.flops(Counter::Exact).unwrap()));
    }
    for limits in all_limits(&all) {
        for (which, score) in scores.iter().enumerate() {
            for count in [1, 7] {
                let found = grid.optimum(&limits, count, score, &|_| {}).unwrap();
                for point in &found {
                    space.validate(point).unwrap();
                    assert!((limits.params.min..=limits.params.max).contains(&point.params().total));
                    let flops = point.flops(Counter::Exact).unwrap();
                    assert!((limits.flops.min..=limits.flops.max).contains(&flops));
                }
                let found: Vec<f64> = found.iter().map(|point| score(point).unwrap()).collect();
                assert_eq!(found, enumerated(&all, &limits, count, *score), "score {which}, {limits:?}");
            }
        }
    }
}

#[test]
fn stages_agree_with_enumeration() {
    compare(&*preset("pit-ti").unwrap(), &[jagged, params, fewest_flops, depth]);
}

#[test]
fn layers_agree_with_enumeration() {
    compare(&*parse("layers.toml", LAYERS).unwrap(), &[jagged, alike, params, fewest_flops, depth]);
}

#[test]
fn costs_that_cross_agree_with_enumeration() {
    compare(&*parse("crossed.toml", CROSSED).unwrap(), &[jagged, alike, params, fewest_flops, depth]);
}

#[test]
fn any_number_of_threads_gives_the_same_networks() {
    let space = preset("gpt2-etas").unwrap();
    let limits = Limits { params: Bound { min: 0, max: 12_000_000 }, ..Limits::default() };
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| space.as_grid().unwrap().optimum(&limits, 10, &alike, &|_| {}).unwrap())
    };
    let one = run(1);
    assert_eq!(one.len(), 10);
    assert_eq!(one, run(3));
}

#[test]
fn progress_rises_to_one() {
    let space = preset("autoformer-tiny").unwrap();
    let told = Mutex::new(Vec::new());
    let progress = |share| told.lock().unwrap().push(share);
    space.as_grid().unwrap().optimum(&Limits::default(), 1, &alike, &progress).unwrap();
    let told = told.into_inner().unwrap();
    assert!(told.is_sorted() && told.len() > 2, "{told:?}");
    assert_eq!(told.last(), Some(&1.0));
}

#[test]
fn what_is_no_sum_is_refused() {
    let space = preset("autoformer-tiny").unwrap();
    let product = |architecture: &Architecture| Ok(jagged(architecture)?.powi(2));
    let error = space.as_grid().unwrap().optimum(&Limits::default(), 1, &product, &|_| {}).unwrap_err();
    assert!(error.to_string().contains("no sum over layers"), "{error}");
}

#[test]
fn what_is_no_number_is_refused() {
    let space = preset("autoformer-tiny").unwrap();
    let nothing = |_: &Architecture| Ok(f64::NAN);
    let error = space.as_grid().unwrap().optimum(&Limits::default(), 1, &nothing, &|_| {}).unwrap_err();
    assert!(error.to_string().contains("NaN"), "{error}");
}

/// LoNAS has millions of different sums of multiply-adds. A range so narrow that few networks are in it makes bounds
/// useless, and a score that is no function of cost needs all of these sums.
#[test]
fn too_many_sums_are_refused() {
    let space = preset("lonas-llama").unwrap();
    let flops = Bound { min: 12_500_000_000_000, max: 12_500_001_000_000 };
    let limits = Limits { flops, ..Limits::default() };
    let error = space.as_grid().unwrap().optimum(&limits, 10, &alike, &|_| {}).unwrap_err();
    assert!(error.to_string().contains("limit parameters instead"), "{error}");
}
