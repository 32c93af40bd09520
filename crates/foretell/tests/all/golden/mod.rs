//! Agreement with the original PyTorch implementations, or with references written for the purpose: forward passes and
//! gradients of every golden case.
//!
//! Walks the cases of the repository and those of `FORETELL_GOLDEN`, so further ones of a known family are checked unseen.

mod autoformer;
mod case;
mod flexibert;
mod gpt2;
mod metrics;
mod pit;
mod recurrent;
mod reference;

use case::{Case, Precision};

#[test]
fn every_case_in_both_precisions() {
    for case in &case::all() {
        let counts = [Precision::F64, Precision::F32].map(|precision| check(case, precision));
        println!("{}: {} values in f64, {} in f32", case.name, counts[0], counts[1]);
        assert!(counts.iter().all(|count| *count > 5), "{} compared nothing", case.name);
    }
}

/// Every recorded metric by the proxy that claims to be it.
#[test]
fn every_metric_in_both_precisions() {
    for case in &case::all() {
        let counts = [Precision::F64, Precision::F32].map(|precision| metrics::check(case, precision));
        println!("{}: {} metrics in f64, {} in f32", case.name, counts[0], counts[1]);
    }
}

/// Checks one case and says how many values were compared.
fn check(case: &Case, precision: Precision) -> usize {
    match case.family() {
        "autoformer" => autoformer::check(case, precision),
        "flexibert" => flexibert::check(case, precision),
        "gpt2_flex" => gpt2::check(case, precision),
        "pit" => pit::check(case, precision),
        "nas_bench_nlp_rnn" => recurrent::check(case, precision),
        "bert" | "llama" | "transformer-xl" | "shunted" => reference::check(case, precision),
        other => panic!("{}: no test knows the family {other}", case.name),
    }
}
