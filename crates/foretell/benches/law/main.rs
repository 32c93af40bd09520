//! The weights of `shape-law`, and what such a law is worth: `cargo bench --bench law`.
//!
//! The law is a ridge regression over tables of trained decoders; within each table labels have mean 0 and deviation 1,
//! and every table weighs as much as the others; each budget is a table. Each is then tested with a law learned from the other tables: Kendall's
//! tau, and the share of pairs of nearly equal size in the right order. Tables are read from FORETELL_BENCHMARKS; those
//! that ship are always there.

mod fit;

use fit::{Table, dot, fit, tables};
use foretell::benchmark;
use foretell::proxy::Request;
use foretell::rank;

fn main() {
    let folder = benchmark::folder(None).expect("FORETELL_BENCHMARKS names a folder");
    let tables = tables(&folder);
    println!(
        "| table | tokens per weight of a block | tau | pairs of equal size | NSC | best count, chosen with all labels |"
    );
    println!("|---|---|---|---|---|---|");
    for table in &tables {
        let others: Vec<&Table> = tables.iter().filter(|other| other.base() != table.base()).collect();
        print(table, &fit(&others));
    }
    println!("\nweights: {:.3?}", fit(&tables.iter().collect::<Vec<_>>()));
}

/// Prints what a law is worth on a table.
fn print(table: &Table, weights: &[f64]) {
    let size: Vec<f64> = table.networks.iter().map(|network| network.params().total as f64).collect();
    let pairs =
        |scores: &[f64]| rank::close_pair_agreement(scores, &table.truth, &size, 0.1).unwrap().agreement;
    let said: Vec<f64> = table.rows.iter().map(|row| dot(row, weights)).collect();
    let score = |name: &str| -> Vec<f64> {
        let request = Request::parse(name).expect("a proxy");
        table.networks.iter().map(|network| request.of_shape(network).expect("a score")).collect()
    };
    let counts = ["params", "decoder-params", "attention-params", "ffn-params", "flops", "depth", "width"];
    let best = counts.map(|name| (pairs(&score(name)), name));
    let (share, name) = best.into_iter().max_by(|a, b| a.0.total_cmp(&b.0)).expect("counts");
    println!(
        "| {} | {:.1} | {:.3} | {:.3} | {:.3} | {share:.3} {name} |",
        table.name,
        table.ratio,
        rank::kendall_tau_b(&said, &table.truth).unwrap(),
        pairs(&said),
        pairs(&score("nsc"))
    );
}
