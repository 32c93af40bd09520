//! How long work goes on after its cancel token: `cargo bench --bench cancel`. Half a second is the limit.

use foretell::cancel::CancelToken;
use foretell::data::{Data, Tokeniser};
use foretell::prelude::*;
use foretell::train::{self, Recipe};
use serde_json::json;
use std::time::{Duration, Instant};

/// Runs work whose token is cancelled after a while, and prints how long it went on.
fn cancelled<T>(what: &str, after: u64, work: impl FnOnce(CancelToken) -> Result<T>) {
    let token = CancelToken::default();
    let other = token.clone();
    let stopper = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(after));
        other.cancel();
        Instant::now()
    });
    let kind = work(token).map_or_else(|error| error.kind(), |_| "done before");
    let late = Instant::now().saturating_duration_since(stopper.join().expect("it sleeps"));
    println!("{what}, cancelled after {after} ms: {kind} {late:.0?} later");
    assert!(late < Duration::from_millis(500), "{what}: {late:?}");
}

fn main() {
    let wide = json!({"family": "vit", "embed_dim": 384, "depth": 16, "num_heads": 6, "mlp_ratio": 4});
    let networks = vec![space::read_architecture(&wide).expect("a network"); 8];
    for after in [100, 400, 1500] {
        cancelled("scoring by snip", after, |cancel| {
            let options = Options { cancel, ..Options::default() };
            Scorer::new(Request::parse_list("snip[batch=16]")?, options).table(&networks, &[0], &|| ())
        });
        cancelled("exact search of gpt2-public", after, |cancel| {
            let limits = Limits { params: Bound { min: 0, max: 100_000_000 }, ..Limits::default() };
            Study::builder(space::preset("gpt2-public")?).limits(limits).cancel(cancel).run()
        });
        cancelled("search by dss++", after, |cancel| {
            let study = Study::builder(space::preset("flexibert")?).objective(Objective::proxy("dss++")?);
            study.budget(100_000).cancel(cancel).run()
        });
        cancelled("training", after, |cancel| {
            let data = Data::demo(Tokeniser::Bytes)?;
            let network = json!({"family": "gpt2", "vocab_size": 257, "context_len": 128, "d_model": 192, "n_layer": 6,
                "n_head": 4, "d_inner": 768});
            let network = train::fit(&space::read_architecture(&network)?, &data)?;
            let recipe = Recipe { steps: 100_000, batch: 32, ..Recipe::default() };
            cancel.run(|| train::run(&network, &data, &recipe))?
        });
    }
}
