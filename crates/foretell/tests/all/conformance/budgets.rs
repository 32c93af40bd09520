//! Limits: samples are feasible, shares are exact, distributions are those of the enumeration, and what cannot be met
//! is refused with the nearest value that exists.

use super::{presets, shrunken};
use foretell::architecture::{Architecture, Counter};
use foretell::error::Error;
use foretell::seed::Seed;
use foretell::space::{self, Bound, Limits, Space};
use foretell::units::grouped;
use num_bigint::BigUint;
use std::collections::HashMap;

fn cost(architecture: &Architecture) -> [u64; 2] {
    [architecture.params().total, architecture.flops(Counter::Exact).unwrap()]
}

fn limits(params: (u64, u64), flops: (u64, u64)) -> Limits {
    let bound = |(min, max)| Bound { min, max };
    Limits { params: bound(params), flops: bound(flops), ..Limits::default() }
}

fn all(space: &dyn Space) -> Vec<Architecture> {
    let mut walk = space.as_grid().unwrap().walk(&BigUint::ZERO, u128::MAX);
    let mut points = Vec::new();
    while let Some(point) = walk.next() {
        points.push(point.clone());
    }
    points
}

/// Windows around quantiles of the true costs, one metric or both.
fn windows(points: &[Architecture]) -> Vec<Limits> {
    let quantile = |metric: usize, share: f64| {
        let mut costs: Vec<u64> = points.iter().map(|p| cost(p)[metric]).collect();
        costs.sort_unstable();
        costs[((costs.len() - 1) as f64 * share) as usize]
    };
    let (p, f) = (|share| quantile(0, share), |share| quantile(1, share));
    vec![
        limits((0, p(0.1)), (0, u64::MAX)),
        limits((p(0.9), u64::MAX), (0, u64::MAX)),
        limits((p(0.4), p(0.5)), (0, u64::MAX)),
        limits((0, u64::MAX), (f(0.3), f(0.5))),
        limits((p(0.2), p(0.7)), (f(0.1), f(0.6))),
        limits((p(0.0), p(0.0)), (0, u64::MAX)),
    ]
}

#[test]
fn shares_are_exact_and_samples_feasible() {
    for space in shrunken().chain([space::preset("pit-ti").unwrap()]) {
        let points = all(&*space);
        for limits in windows(&points) {
            let inside = |p: &&Architecture| {
                let [params, flops] = cost(p);
                (limits.params.min..=limits.params.max).contains(&params)
                    && (limits.flops.min..=limits.flops.max).contains(&flops)
            };
            let count = points.iter().filter(inside).count();
            match space.within(&limits) {
                Err(Error::Infeasible { .. }) => assert_eq!(count, 0, "{} {limits:?}", space.name()),
                Err(other) => panic!("{other}"),
                Ok(feasible) => {
                    let share = feasible.share().unwrap() * points.len() as f64;
                    assert!((share - count as f64).abs() < 1e-6, "{}: {share} is not {count}", space.name());
                    for uniform in [false, true] {
                        let mut rng = Seed(5).stream("budget", 0);
                        for _ in 0..40 {
                            let sample = feasible.sample(uniform, &mut rng).unwrap();
                            assert!(inside(&&sample), "{sample:?}");
                            space.validate(&sample).unwrap();
                        }
                    }
                }
            }
        }
    }
}

/// Chi-square of 20,000 draws against the exact expectation, for both distributions.
#[test]
fn samples_follow_the_stated_distribution() {
    let space = space::parse("test", super::SHRUNKEN[3]).unwrap();
    let points = all(&*space);
    let costs: Vec<u64> = points.iter().map(|p| cost(p)[0]).collect();
    let (min, max) = (costs.iter().min().unwrap(), costs.iter().max().unwrap());
    let limits = limits((min + (max - min) / 4, min + 3 * (max - min) / 4), (0, u64::MAX));
    let inside: Vec<&Architecture> =
        points.iter().filter(|p| (limits.params.min..=limits.params.max).contains(&cost(p)[0])).collect();
    // Depth and width first: a network of L layers with m rows each has weight m^-L within its head.
    let sizes: HashMap<&[u32], f64> = points.iter().fold(HashMap::new(), |mut sizes, p| {
        *sizes.entry(p.globals()).or_insert(0.0) += 1.0;
        sizes
    });
    let feasible = space.within(&limits).unwrap();
    const DRAWS: usize = 20_000;
    for uniform in [true, false] {
        let weight = |p: &Architecture| if uniform { 1.0 } else { 1.0 / sizes[p.globals()] };
        let total: f64 = inside.iter().map(|p| weight(p)).sum();
        let mut counts: HashMap<Architecture, f64> = HashMap::new();
        for index in 0..DRAWS {
            let sample = feasible.sample(uniform, &mut Seed(6).stream("chi", index as u64)).unwrap();
            *counts.entry(sample).or_insert(0.0) += 1.0;
        }
        let chi: f64 = inside
            .iter()
            .map(|p| {
                let expected = weight(p) / total * DRAWS as f64;
                (counts.get(*p).copied().unwrap_or(0.0) - expected).powi(2) / expected
            })
            .sum();
        let freedom = inside.len() as f64 - 1.0;
        // Five standard deviations of a chi-square.
        assert!(
            inside.len() > 20 && (chi - freedom).abs() < 5.0 * (2.0 * freedom).sqrt(),
            "{uniform} {chi} {freedom}"
        );
    }
}

/// Both metrics bounded at once in every preset, at a place that a sample shows to be feasible.
#[test]
fn presets_sample_inside_tight_limits() {
    for space in presets() {
        let target = space.sample(&mut Seed(7).stream("target", 0));
        let [params, flops] = cost(&target);
        let around = |x: u64| (x - x / 50, x + x / 50);
        let limits = limits(around(params), around(flops));
        let feasible = space.within(&limits).unwrap_or_else(|e| panic!("{}: {e}", space.name()));
        for index in 0..10 {
            let sample = feasible.sample(false, &mut Seed(7).stream("tight", index)).unwrap();
            let [p, f] = cost(&sample);
            assert!((around(params).0..=around(params).1).contains(&p), "{}", space.name());
            assert!((around(flops).0..=around(flops).1).contains(&f), "{}", space.name());
            space.validate(&sample).unwrap();
        }
    }
}

/// The budget beyond the smallest or largest network is refused with exactly that network's size.
#[test]
fn an_impossible_budget_names_the_nearest_value() {
    for space in presets().filter(|space| space.as_grid().is_some()) {
        let [(least, most), (lightest, _)] = space.extremes().unwrap();
        for (limits, nearest) in [
            (limits((0, least - 1), (0, u64::MAX)), least),
            (limits((most + 1, u64::MAX), (0, u64::MAX)), most),
            (limits((0, u64::MAX), (0, lightest / 2)), lightest),
        ] {
            match space.within(&limits).err() {
                Some(Error::Infeasible { reason, .. }) => {
                    assert!(reason.contains(&grouped(nearest)), "{}: {reason} lacks {nearest}", space.name());
                }
                other => panic!("{}: {other:?}", space.name()),
            }
        }
    }
}

#[test]
fn limits_that_exclude_each_other_are_told_apart() {
    let space = space::preset("autoformer-tiny").unwrap();
    let [(least, most), (lightest, heaviest)] = space.extremes().unwrap();
    let reason = |limits: Limits| space.within(&limits).err().unwrap().to_string();
    let text = reason(limits((most, u64::MAX), (0, lightest)));
    assert!(text.contains("no network has both") && text.contains("the nearest network has"), "{text}");
    let text = reason(limits((0, least), (heaviest, u64::MAX)));
    assert!(text.contains("no network has both"), "{text}");
    let text = reason(limits((10, 5), (0, u64::MAX)));
    assert!(text.contains("the minimum of 10 parameters exceeds the maximum of 5 parameters"), "{text}");
}

/// Cells: an impossible budget names the nearest cell; a rare one is met by construction.
#[test]
fn recurrent_cells_under_limits() {
    let space = space::preset("nasbench-nlp").unwrap();
    let error = space.within(&limits((0, 1000), (0, u64::MAX))).err().unwrap().to_string();
    assert!(error.contains("the nearest cell has 5,731,600 parameters"), "{error}");
    // Five linear nodes, nearly all with three inputs, are a rare draw.
    let rare = limits((16_400_000, u64::MAX), (0, u64::MAX));
    let feasible = space.within(&rare).unwrap();
    for index in 0..3 {
        let cell = feasible.sample(false, &mut Seed(8).stream("rare", index)).unwrap();
        assert!(cell.params().total >= 16_400_000);
        space.validate(&cell).unwrap();
    }
}

/// Irregular widths make sums that never meet; rounding and rejection keep samples exact and the work bounded.
#[test]
fn irregular_widths_are_sampled_by_rounding() {
    let widths: Vec<u64> = (0..40).map(|i: u64| 1000 + i * i * 37 + i * 3 % 11).collect();
    let ranks: Vec<u64> = (1..=3).map(|i| i * 17).collect();
    let text = format!(
        "name = \"irregular\"\nfamily = \"llama\"\n[fixed]\nhidden_size = 512\nvocab_size = 100\nnum_heads = 8\n\
         [choices]\nnum_layers = [24]\nffn_dim = {widths:?}\nqkv_rank = {ranks:?}\n"
    );
    let space = space::parse("irregular.toml", &text).unwrap();
    let [(least, most), (lightest, heaviest)] = space.extremes().unwrap();
    let middle = |a: u64, b: u64| (a + (b - a) / 2, a + (b - a) / 2 + (b - a) / 10);
    let limits = limits(middle(least, most), middle(lightest, heaviest));
    let feasible = space.within(&limits).unwrap();
    for index in 0..20 {
        let [p, f] = cost(&feasible.sample(false, &mut Seed(9).stream("irregular", index)).unwrap());
        assert!(
            (limits.params.min..=limits.params.max).contains(&p)
                && (limits.flops.min..=limits.flops.max).contains(&f)
        );
    }
}
