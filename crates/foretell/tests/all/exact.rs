//! Exact search and exact uniform networks by real proxies on presets, with values known from earlier complete searches.

use foretell::architecture::Architecture;
use foretell::proxy::Request;
use foretell::space::{Bound, Limits, preset};

fn at_most(params: u64) -> Limits {
    Limits { params: Bound { min: 0, max: params }, ..Limits::default() }
}

/// The optimum by nsc inside a limit on parameters.
fn optimum(space: &str, params: u64) -> f64 {
    let space = preset(space).unwrap();
    let nsc = Request::parse("nsc").unwrap();
    let of = |point: &Architecture| nsc.of_shape(point);
    let found = space.as_grid().unwrap().optimum(&at_most(params), 10, &of, &|_| {}).unwrap();
    assert_eq!(found.len(), 10);
    assert!(found.iter().all(|point| point.params().total <= params));
    let scores: Vec<f64> = found.iter().map(|point| of(point).unwrap()).collect();
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
    scores[0]
}

/// Values of the complete dynamic programme, which took a minute on gpt2.
#[test]
fn known_optima() {
    let gpt2 = optimum("gpt2", 20_000_000);
    assert!((gpt2 - 16_148.4).abs() < 0.05, "{gpt2}");
    let tiny = optimum("autoformer-tiny", 6_000_000);
    assert!((tiny - 8_114.23).abs() < 0.005, "{tiny}");
}

/// gpt2 at most 20 M parameters: the best uniform network is nearly as good as the optimum.
#[test]
fn known_uniform_networks() {
    let space = preset("gpt2").unwrap();
    let grid = space.as_grid().unwrap();
    let nsc = Request::parse("nsc").unwrap();
    let limits = at_most(20_000_000);
    let (score, best) = grid.best_uniform(&limits, &|_| true, &|point| nsc.of_shape(point)).unwrap().unwrap();
    assert!((score - 16_140.5).abs() < 0.05, "{score}");
    assert_eq!(best.params().total / 10_000, 1_993);
    let object = space.write(&best);
    assert_eq!((&object["n_layer"], &object["d_model"]), (&16.into(), &320.into()));
    assert_eq!(object["d_inner"][0], 960);

    let nearest = grid.nearest_uniform(&limits, &|_| true, best.params().total).unwrap();
    assert_eq!(nearest.params().total, best.params().total);
    let largest = grid.largest_uniform(&limits, &|_| true);
    assert_eq!(largest.iter().map(Architecture::depth).collect::<Vec<_>>(), (2..=16).collect::<Vec<_>>());
}
