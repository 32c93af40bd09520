//! Scores networks by several proxies at once: equal passes run once, weights are slices of one super-network.

use foretell::proxy::Request;
use foretell::score::{Options, Scorer};
use foretell::space;
use serde_json::json;

fn main() -> foretell::error::Result<()> {
    let network = |width: u32| {
        space::read_architecture(
            &json!({"family": "vit", "image_size": 32, "patch_size": 4, "num_classes": 10,
            "embed_dim": width, "depth": 2, "num_heads": 4, "mlp_ratio": 2}),
        )
    };
    let candidates = [network(32)?, network(48)?, network(64)?];
    let scorer = Scorer::new(Request::parse_list("snip,dss,dss++,hidden-covariance")?, Options::default());
    let table = scorer.table(&candidates, &[0, 1, 2], &|| {})?;
    for (candidate, row) in candidates.iter().zip(&table) {
        println!("{} {} parameters, {} passes", candidate.id(), candidate.params().total, row.passes.len());
        for (request, cell) in scorer.requests().iter().zip(&row.cells) {
            for score in &cell.scores {
                match score {
                    Ok(score) => {
                        println!("  {} {} of {} terms", request.label(), score.value, score.terms.len())
                    }
                    Err(error) => println!("  {error} ({})", error.kind()),
                }
            }
        }
    }
    // Ranks within the set, averaged over seeds: the widest leads.
    let column: Vec<_> = table.iter().map(|row| &row.cells[2]).collect();
    let order = scorer.order(2, &column).into_iter().collect::<foretell::error::Result<Vec<f64>>>()?;
    assert!(order[2] > order[0]);
    // Cells without recurrent states have no hidden covariance: a typed answer, not a number.
    assert_eq!(table[0].cells[3].scores[0].as_ref().err().map(|e| e.kind()), Some("not-defined"));
    Ok(())
}
