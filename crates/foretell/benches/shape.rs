//! Counting and scoring from the architecture alone: architectures per second on one core, and a whole space on all.
//!
//! `cargo bench --bench shape`; the last benchmark walks all 10,621,440 FlexiBERT architectures.

use divan::counter::ItemsCount;
use foretell::architecture::{Architecture, Counter};
use foretell::proxy::{CATALOGUE, Request};
use foretell::seed::Seed;
use foretell::space::{self, PRESETS, Size};
use num_bigint::BigUint;
use rayon::prelude::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

fn main() {
    divan::main();
}

const SAMPLE: usize = 1000;

fn sample(space: &str) -> Vec<Architecture> {
    let space = space::preset(space).unwrap();
    (0..SAMPLE as u64).map(|i| space.sample(&mut Seed(0).stream("bench", i))).collect()
}

/// Parameters, multiply-adds and SEPT of each architecture of a space, one core.
#[divan::bench(args = PRESETS.iter().map(|(name, _)| *name).filter(|name| *name != "nasbench-nlp"))]
fn params_flops_sept(bencher: divan::Bencher, space: &str) {
    let architectures = sample(space);
    let sept = Request::parse("sept").unwrap();
    bencher.counter(ItemsCount::new(SAMPLE)).bench_local(|| {
        let score = |a: &Architecture| {
            a.params().total as f64 + a.flops(Counter::Exact).unwrap() as f64 + sept.of_shape(a).unwrap()
        };
        architectures.iter().map(score).sum::<f64>()
    });
}

/// Each proxy that looks at the shape alone on autoformer-tiny (gpt2 where it is defined for that alone), one core.
#[divan::bench(args = CATALOGUE.iter().filter(|entry| !entry.about.drawn()).map(|entry| entry.about.name))]
fn proxy(bencher: divan::Bencher, name: &str) {
    let request = Request::parse(name).unwrap();
    let tiny = sample("autoformer-tiny");
    let architectures = if request.of_shape(&tiny[0]).is_ok() { tiny } else { sample("gpt2") };
    bencher
        .counter(ItemsCount::new(SAMPLE))
        .bench_local(|| architectures.iter().map(|a| request.of_shape(a).unwrap()).sum::<f64>());
}

/// Sampling, with and without a budget, one core.
#[divan::bench(args = ["autoformer-tiny", "flexibert", "gpt2"])]
fn sample_within_params(bencher: divan::Bencher, name: &str) {
    let space = space::preset(name).unwrap();
    let [(low, high), _] = space.extremes().unwrap();
    let limits = space::Limits {
        params: space::Bound { min: low, max: low + (high - low) / 4 },
        ..Default::default()
    };
    let feasible = space.within(&limits).unwrap();
    let mut rng = Seed(0).stream("bench", 0);
    bencher.counter(ItemsCount::new(1usize)).bench_local(|| feasible.sample(false, &mut rng).unwrap());
}

/// Every FlexiBERT architecture scored by NSC on all cores, the ten best kept: memory does not grow with the space.
#[divan::bench(sample_count = 1, sample_size = 1)]
fn rank_all_of_flexibert_by_nsc(bencher: divan::Bencher) {
    let space = space::preset("flexibert").unwrap();
    let Size::Exact(size) = space.size() else { unreachable!("a grid has a size") };
    let size = u64::try_from(size).unwrap();
    let request = Request::parse("nsc").unwrap();
    const CHUNK: u64 = 100_000;
    bencher.counter(ItemsCount::new(size as usize)).bench_local(|| {
        let chunks: Vec<u64> = (0..size).step_by(CHUNK as usize).collect();
        let best = |start: u64| {
            let mut walk = space.as_grid().unwrap().walk(&BigUint::from(start), u128::from(CHUNK));
            let (mut heap, mut index) = (BinaryHeap::new(), start);
            while let Some(point) = walk.next() {
                // Scores of one sign order like their bits.
                let score = request.of_shape(point).unwrap().to_bits();
                heap.push(Reverse((score, index)));
                if heap.len() > 10 {
                    heap.pop();
                }
                index += 1;
            }
            heap.into_vec()
        };
        let mut all: Vec<_> = chunks.into_par_iter().flat_map(best).collect();
        all.sort_unstable();
        all.truncate(10);
        all
    });
}
