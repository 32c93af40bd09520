//! A space of one's own, a budget, and samples that fit by construction.
//!
//! `cargo run --release --example own_space`

use foretell::seed::Seed;
use foretell::space::{self, Bound, Limits};

const MINE: &str = r#"
name = "phone-vit"
family = "vit"
[fixed]
image_size = 160
num_classes = 200
[choices]
patch_size = [10, 16, 20]
embed_dim = { from = 96, to = 256, step = 32 }
depth = [6, 8, 10]
num_heads = [2, 4]
mlp_ratio = [2, 3, 4]
"#;

fn main() -> foretell::error::Result<()> {
    let space = space::parse("phone-vit", MINE)?;
    let limits = Limits {
        params: Bound { min: 0, max: 2_000_000 },
        flops: Bound { min: 0, max: 300_000_000 },
        ..Limits::default()
    };
    let feasible = space.within(&limits)?;
    println!(
        "{:?}, {:.1} % of it inside the budget",
        space.size(),
        100.0 * feasible.share().unwrap_or(f64::NAN)
    );
    for index in 0..5 {
        let architecture = feasible.sample(false, &mut Seed(0).stream("example", index))?;
        println!(
            "{} parameters: {}",
            architecture.params().total,
            serde_json::Value::Object(space.write(&architecture))
        );
    }
    Ok(())
}
