//! One training step of three GPT-2s on all cores: forward, backward, clipping, AdamW, in f32.
//!
//! `cargo bench --bench train -- [steps] [S|M|L …]` prints `name milliseconds tokens-per-second` per step. `compare.sh`
//! interleaves these runs with the same networks in PyTorch eager (`peer.py`) on the same cores and prints the ratio.

use foretell::data::{Data, Tokeniser};
use foretell::space::read_architecture;
use foretell::train::{Recipe, Trainer};
use serde_json::json;
use std::time::Instant;

/// S: 2 layers 64 wide. M: 4 layers 128 wide. L: 6 layers 384 wide. 16 x 128 bytes each, a part per core.
fn size(kind: &str) -> (u32, u32, u32) {
    match kind {
        "S" => (2, 64, 4),
        "M" => (4, 128, 4),
        _ => (6, 384, 6),
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let steps = arguments.first().and_then(|word| word.parse().ok()).unwrap_or(20);
    let kinds: Vec<&str> = match arguments.get(1..) {
        Some(kinds) if !kinds.is_empty() => kinds.iter().map(String::as_str).collect(),
        _ => vec!["S", "M", "L"],
    };
    let data = Data::demo(Tokeniser::Bytes).unwrap();
    for kind in kinds {
        let (layers, width, heads) = size(kind);
        let network = read_architecture(&json!({"family": "gpt2", "vocab_size": 257, "context_len": 128,
            "cutoffs": [], "n_layer": layers, "d_model": width, "n_head": heads, "d_inner": 4 * width}))
        .unwrap();
        let part = 16 / rayon::current_num_threads().clamp(1, 16).next_power_of_two();
        let recipe = Recipe { steps: 1_000_000, batch: 16, part, rate: 1e-4, ..Recipe::default() };
        let mut trainer = Trainer::<f32>::new(&network, &data, &recipe).unwrap();
        for step in 0..steps + 3 {
            let start = Instant::now();
            trainer.step().unwrap();
            let seconds = start.elapsed().as_secs_f64();
            if step >= 3 {
                println!("{kind} {:.3} {:.0}", 1e3 * seconds, trainer.work() as f64 / seconds);
            }
        }
    }
}
