//! Three networks, forward and backward of all weights in f32 on one core.
//!
//! `cargo bench --bench engine -- [runs] [A|B|C …]` prints `name milliseconds share` per run; the share is that of the
//! core's peak, measured by a loop of fused multiply-adds in the same process, which the matrix products reach if all
//! the time is theirs. `compare.sh` interleaves these runs with the same three networks in PyTorch eager (`peer.py`) on
//! one pinned core and prints the ratio.
//! `cargo bench --bench engine -- cores` runs two candidates on two cores.

use foretell::architecture::Architecture;
use foretell::engine::buffer::Workspace;
use foretell::network::Weights;
use foretell::probe::{self, Feed, Loss, Pass, Setting};
use foretell::seed::Seed;
use serde_json::{Value, json};
use std::time::Instant;

fn read(value: Value) -> Architecture {
    foretell::space::read_architecture(&value).unwrap()
}

/// A: ViT-tiny at 224 px, one image. B: BERT-mini, 8 x 128 tokens. C: GPT-2, 8 layers 512 wide, 192 tokens.
fn workload(kind: &str) -> (Architecture, Pass) {
    match kind {
        "A" => (
            read(json!({"family": "vit", "embed_dim": 192, "depth": 12, "num_heads": 3, "mlp_ratio": 4})),
            Pass { feed: Feed::Ones, batch: 1, ..Pass::backward(Loss::Sum) },
        ),
        "B" => (
            read(
                json!({"family": "bert", "vocab_size": 1000, "context_len": 128, "hidden_size": 256, "num_layers": 4,
                "num_heads": 4, "ffn_dim": 1024}),
            ),
            Pass { batch: 8, ..Pass::backward(Loss::Projection) },
        ),
        _ => (
            read(
                json!({"family": "gpt2", "vocab_size": 1000, "context_len": 192, "d_model": 512, "n_layer": 8, "n_head": 8,
                "d_inner": 2048, "cutoffs": []}),
            ),
            Pass { batch: 1, ..Pass::backward(Loss::Projection) },
        ),
    }
}

/// Floating-point operations of a workload's matrix products: two for each multiply-add, once forward and twice backward.
fn flops(kind: &str) -> f64 {
    // Samples, tokens, keys a query is multiplied with, width, feed-forward width, blocks; further multiply-adds.
    let (samples, tokens, keys, width, ffn, depth, more) = match kind {
        "A" => (1.0, 197.0, 197.0, 192.0, 768.0, 12.0, 196.0 * 768.0 * 192.0 + 192.0 * 1000.0),
        "B" => (8.0, 128.0, 128.0, 256.0, 1024.0, 4.0, 0.0),
        // Causal, in blocks of 64 queries; the logits of 1000 words.
        _ => (1.0, 192.0, 128.0, 512.0, 2048.0, 8.0, 192.0 * 512.0 * 1000.0),
    };
    let block = tokens * (4.0 * width * width + 2.0 * width * ffn) + 2.0 * tokens * keys * width;
    6.0 * (samples * depth * block + more)
}

/// Operations per second of one core: independent fused multiply-adds in registers, the widest this machine has.
fn peak() -> f64 {
    struct Loop(usize);
    impl pulp::WithSimd for Loop {
        type Output = (f32, usize);

        #[inline(always)]
        fn with_simd<S: pulp::Simd>(self, simd: S) -> Self::Output {
            let (a, b) = (simd.splat_f32s(std::hint::black_box(0.999)), simd.splat_f32s(1e-3));
            // Written out: a loop over them is not unrolled at the optimisation level of this crate.
            macro_rules! in_registers {
                ($($sum:ident)*) => {{
                    $(let mut $sum = simd.splat_f32s(1.0);)*
                    for _ in 0..self.0 {
                        $($sum = simd.mul_add_f32s(a, $sum, b);)*
                    }
                    [$($sum),*]
                }};
            }
            let sums = in_registers!(s0 s1 s2 s3 s4 s5 s6 s7 s8 s9 s10 s11);
            let total = sums.into_iter().map(|sum| simd.reduce_sum_f32s(sum)).sum();
            (total, S::F32_LANES)
        }
    }
    const STEPS: usize = 2_000_000;
    let timed = |_| {
        let start = Instant::now();
        let (total, lanes) = pulp::Arch::new().dispatch(Loop(STEPS));
        std::hint::black_box(total);
        (2 * 12 * STEPS * lanes) as f64 / start.elapsed().as_secs_f64()
    };
    (0..10).map(timed).fold(0.0, f64::max)
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    if arguments.first().is_some_and(|word| word == "cores") {
        return ["A", "B", "C"].into_iter().for_each(two_cores);
    }
    let runs = arguments.first().and_then(|word| word.parse().ok()).unwrap_or(20);
    let kinds: Vec<&str> = match arguments.get(1..) {
        Some(kinds) if !kinds.is_empty() => kinds.iter().map(String::as_str).collect(),
        _ => vec!["A", "B", "C"],
    };
    let peak = peak();
    eprintln!("peak {:.0} GFLOP/s", peak / 1e9);
    for kind in kinds {
        let mut run = candidate(kind);
        (0..3).for_each(|_| run());
        for _ in 0..runs {
            let start = Instant::now();
            run();
            let seconds = start.elapsed().as_secs_f64();
            println!("{kind} {:.3} {:.1}", 1e3 * seconds, 100.0 * flops(kind) / seconds / peak);
        }
    }
}

/// A network ready to be run forward and backward, again and again.
fn candidate(kind: &str) -> impl FnMut() {
    let (architecture, pass) = workload(kind);
    let weights: Weights<f32> = Weights::shared(&architecture, Seed(0));
    let input = probe::input(&Setting::new(&architecture, Seed(0)), &pass).unwrap();
    let mut space = Workspace::new();
    move || {
        let run = probe::run_on(&Setting::new(&architecture, Seed(0)), &weights, &pass, &input, &mut space)
            .unwrap();
        space.give(run.weight_gradients.unwrap().data);
    }
}

/// Twice as many candidates on two cores: how much more work gets done in the same time.
fn two_cores(kind: &str) {
    const RUNS: usize = 12;
    let timed = |threads: usize| {
        let start = std::sync::Barrier::new(threads);
        let slowest = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads)
                .map(|_| {
                    scope.spawn(|| {
                        let mut run = candidate(kind);
                        (0..2).for_each(|_| run());
                        start.wait();
                        let clock = Instant::now();
                        (0..RUNS).for_each(|_| run());
                        clock.elapsed().as_secs_f64()
                    })
                })
                .collect();
            workers.into_iter().map(|worker| worker.join().unwrap()).fold(0.0, f64::max)
        });
        slowest / RUNS as f64
    };
    let (one, two) = (timed(1), timed(2));
    println!(
        "{kind} one core {:.1} ms, two cores {:.1} ms each: {:.2} times the work",
        1e3 * one,
        1e3 * two,
        2.0 * one / two
    );
}
