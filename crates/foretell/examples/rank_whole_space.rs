//! Scores every architecture of a space from its shape alone and prints the best inside a budget.
//!
//! `cargo run --release --example rank_whole_space`

use foretell::proxy::Request;
use foretell::space;
use num_bigint::BigUint;

fn main() -> foretell::error::Result<()> {
    let space = space::preset("pit-ti")?;
    let proxy = Request::parse("nsc")?;
    let mut best: Vec<(f64, String)> = Vec::new();
    let mut walk = space.as_grid().expect("PiT is a grid").walk(&BigUint::ZERO, u128::MAX);
    while let Some(architecture) = walk.next() {
        if architecture.params().total <= 5_000_000 {
            best.push((
                proxy.of_shape(architecture)?,
                serde_json::Value::Object(space.write(architecture)).to_string(),
            ));
            best.sort_by(|a, b| b.0.total_cmp(&a.0));
            best.truncate(5);
        }
    }
    best.iter().for_each(|(score, architecture)| println!("{score:10.1}  {architecture}"));
    Ok(())
}
