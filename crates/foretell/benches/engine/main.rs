//! Three networks, forward and backward of all weights in f32 on one core.
//!
//! `cargo bench --bench engine -- [runs] [A|B|C …]` prints `name milliseconds` per run. `compare.sh` interleaves these
//! runs with the same three networks in PyTorch eager (`peer.py`) on one pinned core and prints the ratio.

use foretell::architecture::Architecture;
use foretell::engine::buffer::Workspace;
use foretell::network::{Input, Weights};
use foretell::probe::{self, Feed, Loss, Pass};
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
            Pass::backward(Feed::Ones, 1, Loss::Sum),
        ),
        "B" => (
            read(
                json!({"family": "bert", "vocab_size": 1000, "context_len": 128, "hidden_size": 256, "num_layers": 4,
                "num_heads": 4, "ffn_dim": 1024}),
            ),
            Pass::backward(Feed::RandomTokens, 8, Loss::Projection),
        ),
        _ => (
            read(
                json!({"family": "gpt2", "vocab_size": 1000, "context_len": 192, "d_model": 512, "n_layer": 8, "n_head": 8,
                "d_inner": 2048, "cutoffs": []}),
            ),
            Pass::backward(Feed::RandomTokens, 1, Loss::Projection),
        ),
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let runs = arguments.first().and_then(|word| word.parse().ok()).unwrap_or(20);
    let kinds: Vec<&str> = match arguments.get(1..) {
        Some(kinds) if !kinds.is_empty() => kinds.iter().map(String::as_str).collect(),
        _ => vec!["A", "B", "C"],
    };
    for kind in kinds {
        let (architecture, pass) = workload(kind);
        let weights: Weights<f32> = Weights::shared(&architecture, Seed(0));
        let mut input = probe::input(&architecture, &pass).unwrap();
        if let Input::Tokens { labels, .. } = &mut input {
            labels.clear();
        }
        let mut space = Workspace::new();
        for run in 0..runs + 3 {
            let start = Instant::now();
            probe::run(&architecture, &weights, &pass, Some(&input), &mut space).unwrap();
            if run >= 3 {
                println!("{kind} {:.3}", 1e3 * start.elapsed().as_secs_f64());
            }
        }
    }
}
