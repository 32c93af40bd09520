//! A proxy of your own: a card, the passes it looks at, a score. Registered, it is asked for by name like any other, with
//! options in brackets.

use foretell::architecture::Part;
use foretell::prelude::*;
use foretell::proxy::{self, About, Cost, Score};
use serde::Deserialize;

/// Feed-forward parameters that the attention parameters can keep busy.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Balance {
    ratio: f64,
}

impl Default for Balance {
    fn default() -> Self {
        Balance { ratio: 2.0 }
    }
}

static BALANCE: About = About {
    name: "balance",
    sentence: "Prefers networks whose feed-forward layers are a fixed multiple of their attention.",
    formula: "s = −(F/A − r)²,  F, A: feed-forward and attention parameters",
    paper: "an example",
    cost: Cost::Shape,
    options: &[("ratio", "2", "the multiple that is best")],
    ranges: &[proxy::Range::real("ratio", 0.0, 100.0)],
    ..About::SHAPE
};

impl Proxy for Balance {
    fn score(&self, input: &ProxyInput) -> Result<Score> {
        let params = input.subject.params();
        let ratio = params.part(Part::Ffn) as f64 / params.part(Part::Attention).max(1) as f64;
        Ok(Score::from(-(ratio - self.ratio).powi(2)))
    }
}

fn main() -> Result<()> {
    proxy::register::<Balance>(&BALANCE)?;
    let study = Study::builder(space::preset("flexibert")?)
        .objective(Objective::proxy("balance[ratio=1.5]")?)
        .budget(300)
        .run()?;
    let winner = study.winner.expect("every network has this score");
    println!("{} {:.6}", winner.architecture.id(), winner.values[0]);
    assert!(winner.values[0] > -0.01);
    assert!(Request::parse("balance[ratio=1e9]").is_err(), "options are checked against their ranges");
    Ok(())
}
