//! Reads an architecture and prints what it costs, part by part.
//!
//! `cargo run --release --example count_one`

use foretell::architecture::{Counter, Part};
use foretell::space;
use serde_json::json;

fn main() -> foretell::error::Result<()> {
    let gpt2 = space::read_architecture(&json!({
        "space": "gpt2", "n_layer": 4, "d_model": 256, "d_embed": 512, "div_val": 2,
        "n_head": [4, 4, 8, 8], "d_inner": [751, 935, 735, 1179],
    }))?;
    let params = gpt2.params();
    println!("{}: {} parameters, {} outside embedding and head", gpt2.id(), params.total, params.decoder());
    for part in Part::ALL.into_iter().filter(|part| params.part(*part) > 0) {
        println!("  {:<10} {:>12}", part.name(), params.part(part));
    }
    println!("{:?} multiply-adds, {} bytes to score it", gpt2.flops(Counter::Exact), gpt2.memory().total());
    Ok(())
}
