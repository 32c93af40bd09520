//! Uniform networks against brute force.

use super::super::{Bound, Limits, Space, parse, preset};
use crate::architecture::{Architecture, Counter, Positions, Scope};
use crate::error::{Error, Result};
use num_bigint::BigUint;
use std::sync::Arc;

/// A small space with layers whose lists differ, and rules that leave some combinations out.
const SMALL: &str = r#"
name = "small"
family = "gpt2"
[choices]
n_layer = [1, 2, 3]
d_model = [64, 96]
n_head = [[2, 4, 64], [2, 3, 64], [3, 2, 64]]
d_inner = [[128, 192, 256, 320], [512, 96], [100, 200, 300]]
[rules]
min_ffn_ratio = 1.5
"#;

/// Whether one level of a field gives these values from these lists.
fn levelled(values: &[u32], lists: &[&[u32]]) -> bool {
    let longest = lists.iter().map(|list| list.len()).max().unwrap();
    let steps = (longest - 1).max(1) as f64;
    (0..longest).any(|level| {
        values.iter().zip(lists).all(|(value, list)| {
            list[(level as f64 * (list.len() - 1) as f64 / steps).round() as usize] == *value
        })
    })
}

/// Every uniform network of a space, by looking at all of its networks.
fn brute(space: &dyn Space) -> Vec<Architecture> {
    let (definition, grid) = (space.definition(), space.as_grid().unwrap());
    let fields = definition.family.fields();
    let uniform = |point: &Architecture| {
        let rows = definition.columns.iter().enumerate().all(|(field, column)| {
            let values: Vec<u32> = (0..point.positions()).map(|p| point.row(p)[field]).collect();
            let lists: Vec<&[u32]> = (0..point.positions()).map(|p| column.at(p)).collect();
            levelled(&values, &lists)
        });
        let mut at = 0;
        rows && fields.iter().filter(|field| field.scope != Scope::Position).all(|field| {
            let slots = at..at + field.width();
            at += field.width();
            let lists: Vec<&[u32]> =
                definition.globals[slots.clone()].iter().map(|list| list.as_slice()).collect();
            definition.family.card().positions != Positions::Stages(field.width())
                || levelled(&point.globals()[slots], &lists)
        })
    };
    let mut found = Vec::new();
    let mut walk = grid.walk(&BigUint::ZERO, u128::MAX);
    while let Some(point) = walk.next() {
        if uniform(point) {
            found.push(point.clone());
        }
    }
    found
}

/// A score with ties and with failures.
fn uneven(point: &Architecture) -> Result<f64> {
    let sum: u64 = point.values().iter().map(|value| u64::from(*value)).sum();
    if sum % 7 == 3 {
        return Err(Error::parse("the score", "fails here"));
    }
    Ok((sum % 11) as f64)
}

/// All answers, under limits that leave out about half of the networks and a test that leaves out some more.
fn compare(space: &Arc<dyn Space>, all: &[Architecture]) {
    let grid = space.as_grid().unwrap();
    assert_eq!(grid.uniform_size(), all.len() as u64, "{}", space.name());
    assert!(all.len() > 10, "{}", space.name());
    let params = |point: &Architecture| point.params().total;
    let mut sizes: Vec<u64> = all.iter().map(params).collect();
    sizes.sort_unstable();
    let (low, high) = (sizes[sizes.len() / 8], sizes[sizes.len() * 2 / 3]);
    let flops = all.iter().map(|point| point.flops(Counter::Exact).unwrap()).max().unwrap() - 1;
    let limits = Limits {
        params: Bound { min: low, max: high },
        flops: Bound { min: 0, max: flops },
        counter: Counter::Exact,
    };
    let keep = |point: &Architecture| !params(point).is_multiple_of(5);
    let inside: Vec<&Architecture> = all
        .iter()
        .filter(|point| (low..=high).contains(&params(point)) && keep(point))
        .filter(|point| point.flops(Counter::Exact).unwrap() <= flops)
        .collect();

    let scored = inside.iter().filter_map(|point| Some((uneven(point).ok()?, *point)));
    let best = scored
        .min_by(|(a, x), (b, y)| b.total_cmp(a).then((params(x), x.values()).cmp(&(params(y), y.values()))));
    let found = grid.best_uniform(&limits, &keep, &uneven).unwrap();
    assert_eq!(found.as_ref().map(|(score, point)| (*score, point)), best, "{}", space.name());

    for wanted in [0, low, (low + high) / 2, u64::MAX] {
        let key =
            |point: &&&Architecture| (params(point).abs_diff(wanted), params(point), point.values().to_vec());
        let nearest = inside.iter().min_by_key(key).copied();
        assert_eq!(
            grid.nearest_uniform(&limits, &keep, wanted).as_ref(),
            nearest,
            "{} {wanted}",
            space.name()
        );
    }

    let largest = grid.largest_uniform(&limits, &keep);
    let mut depths: Vec<u64> = inside.iter().map(|point| point.depth()).collect();
    depths.sort_unstable();
    depths.dedup();
    assert_eq!(largest.iter().map(Architecture::depth).collect::<Vec<_>>(), depths);
    for point in &largest {
        let rivals = inside.iter().filter(|rival| rival.depth() == point.depth());
        let expected = rivals.min_by_key(|rival| (std::cmp::Reverse(params(rival)), rival.values().to_vec()));
        assert_eq!(Some(&point), expected, "{}", space.name());
    }
}

#[test]
fn small_spaces_agree_with_brute_force() {
    for space in [preset("pit-ti").unwrap(), preset("shunted").unwrap(), parse("small.toml", SMALL).unwrap()]
    {
        let all = brute(&*space);
        compare(&space, &all);
    }
}

/// AutoFormer's layers share their lists, so uniform means alike: 3 widths, 3 depths, 2 x 2 rows.
#[test]
fn alike_layers_agree_with_brute_force() {
    let space = preset("autoformer-tiny").unwrap();
    let mut all = Vec::new();
    for (width, depth) in
        [192, 216, 240].into_iter().flat_map(|width| [12, 13, 14].map(|depth| (width, depth)))
    {
        for (frames, ratio) in [(3, 3.5), (3, 4.0), (4, 3.5), (4, 4.0)] {
            let object = serde_json::json!({
                "embed_dim": width, "depth": depth, "num_heads": frames, "mlp_ratio": ratio,
            });
            all.push(space.read(object.as_object().unwrap()).unwrap());
        }
    }
    assert_eq!(all.len(), 36);
    compare(&space, &all);
}

/// Many networks: the score is taken as a sum, and the answer is that of scoring each one.
#[test]
fn sums_and_single_scores_agree() {
    let space = preset("gpt2").unwrap();
    let grid = space.as_grid().unwrap();
    let limits = Limits { params: Bound { min: 0, max: 9_000_000 }, ..Limits::default() };
    let sum = |point: &Architecture| {
        Ok((0..point.positions()).map(|p| f64::from(point.row(p)[1] % 640)).sum::<f64>())
    };
    let product = |point: &Architecture| Ok((1.0 + sum(point)?).ln());
    let keep = |point: &Architecture| !point.params().total.is_multiple_of(3);
    let by_sum = grid.best_uniform(&limits, &keep, &sum).unwrap().unwrap();
    let by_product = grid.best_uniform(&limits, &keep, &product).unwrap().unwrap();
    assert_eq!(by_sum.1, by_product.1);
}

#[test]
fn failures_are_skipped_unless_all_fail() {
    let space = preset("pit-ti").unwrap();
    let grid = space.as_grid().unwrap();
    let failing = |_: &Architecture| -> Result<f64> { Err(Error::parse("the score", "fails everywhere")) };
    let error = grid.best_uniform(&Limits::default(), &|_| true, &failing).unwrap_err();
    assert!(error.to_string().contains("fails everywhere"), "{error}");
    let endless = |_: &Architecture| Ok(f64::NAN);
    let error = grid.best_uniform(&Limits::default(), &|_| true, &endless).unwrap_err();
    assert!(error.to_string().contains("NaN"), "{error}");
    assert!(grid.best_uniform(&Limits::default(), &|_| false, &uneven).unwrap().is_none());
}
