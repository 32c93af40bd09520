//! Seconds per architecture on one core: every proxy of the catalogue alone, all together, and the sets of metrics that
//! the originals compute, beside the originals' own time.
//!
//! `cargo bench --bench proxies -- [autoformer|flexibert|gpt2|nasbench] [suites|alone]`; without words: everything. Weights
//! are slices of one super-network, as in a search. Each figure is the median over a few sampled architectures, after one
//! that warms caches and buffers. The originals were timed in PyTorch on one core of an AVX-512 machine, so their column
//! is another machine's; what both have in common is the work.

use foretell::architecture::Architecture;
use foretell::proxy::{CATALOGUE, Request};
use foretell::score::{Options, Scorer, Workers};
use foretell::seed::Seed;
use foretell::space;
use std::time::Instant;

/// A family's workload: the space to sample from, and what all its proxies are told.
struct Workload {
    name: &'static str,
    space: &'static str,
    what: &'static str,
    /// Sets of metrics of one original: its name, the requests, its seconds per architecture.
    suites: &'static [(&'static str, &'static str, f64)],
}

const WORKLOADS: &[Workload] = &[
    Workload {
        name: "autoformer",
        space: "autoformer-tiny",
        what: "224 px",
        suites: &[
            ("TF-TAS dss", "dss", 1.37),
            ("TF-TAS snip, 64 images", "snip[batch=64]", 14.0),
            ("TF-TAS naswot, 64 images", "naswot[batch=64]", 10.5),
            ("TF-TAS grasp, 64 images", "grasp[batch=64]", 43.7),
        ],
    },
    Workload {
        name: "flexibert",
        space: "flexibert",
        what: "16 x 128 tokens",
        suites: &[(
            "Serianni & Kalita, BERT suite",
            "synaptic-diversity,synaptic-saliency,naswot[over=tokens],jacobian-covariance[of=positions],\
             jacobian-cosine[of=positions],head-importance,attention-confidence,softmax-confidence",
            0.83,
        )],
    },
    Workload { name: "gpt2", space: "gpt2-public", what: "16 x 192 tokens", suites: &[] },
    Workload {
        name: "nasbench",
        space: "nasbench-nlp",
        what: "70 steps",
        suites: &[(
            "Serianni & Kalita, RNN suite, 16 texts",
            "naswot[of=outputs,batch=16],jacobian-covariance[batch=16],jacobian-cosine[batch=16],large-noise[batch=16],\
             more-noised[batch=16],synaptic-saliency[batch=16],hidden-covariance[batch=16],hidden-covariance[layer=2,batch=16],\
             hidden-covariance[layer=3,batch=16],hidden-saliency[batch=16]",
            5.1,
        )],
    },
];

/// The median time of a list of requests over sampled architectures; none where it is defined for none of them.
fn seconds(requests: &str, architectures: &[Architecture]) -> Option<f64> {
    let scorer = Scorer::new(Request::parse_list(requests).unwrap(), Options::default());
    let mut workers = Workers::default();
    let mut times = Vec::new();
    for (i, architecture) in architectures.iter().enumerate() {
        let start = Instant::now();
        let scored = scorer.score(architecture, 0, &mut workers);
        let time = start.elapsed().as_secs_f64();
        if i > 0 && scored.scores.iter().any(Result::is_ok) {
            times.push(time);
        }
    }
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied()
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let asked = |word: &str| words.iter().any(|w| w == word);
    let names: Vec<&str> = WORKLOADS.iter().map(|w| w.name).filter(|name| asked(name)).collect();
    for workload in WORKLOADS.iter().filter(|w| names.is_empty() || names.contains(&w.name)) {
        let space = space::preset(workload.space).unwrap();
        let sample = |n: u64| -> Vec<Architecture> {
            (0..n).map(|i| space.sample(&mut Seed(0).stream("bench", i))).collect()
        };
        println!("{} ({}), seconds per architecture", workload.space, workload.what);
        if !asked("alone") {
            for (name, requests, original) in workload.suites {
                let found = seconds(requests, &sample(6)).expect("the suites are defined");
                println!(
                    "  {name:<42} {found:>9.3}   original {original:>6.2}   {:>5.1} times",
                    original / found
                );
            }
        }
        if !asked("suites") {
            println!(
                "  {:<42} {:>9.3}",
                "all proxies together",
                seconds("all", &sample(2)).expect("some are defined")
            );
            let mut sum = 0.0;
            for name in CATALOGUE.iter().map(|entry| entry.about.name) {
                match seconds(name, &sample(4)) {
                    Some(time) if time < 1e-3 => println!("  {name:<42} {:>7.1} µs", 1e6 * time),
                    Some(time) => {
                        sum += time;
                        println!("  {name:<42} {time:>9.3}");
                    }
                    None => println!("  {name:<42}         –"),
                }
            }
            println!("  {:<42} {sum:>9.3}", "sum of all proxies alone");
        }
    }
}
