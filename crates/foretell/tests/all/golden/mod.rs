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

/// How many numbers of each case are compared: of forward and backward passes in f64 and f32, of metrics in both. In f32
/// fewer where the original's own f32 value decides nothing. First the cases that ship, then those of the full set.
const COMPARED: [(&str, [usize; 2], [usize; 2]); 19] = [
    ("autoformer-rpe", [23, 23], [236, 206]),
    ("bert", [47, 47], [0, 0]),
    ("flexibert-dsc", [128, 126], [202, 202]),
    ("flexibert-lt", [68, 66], [118, 118]),
    ("flexibert-sa", [102, 100], [194, 194]),
    ("gpt2-flex-adaptive", [52, 52], [120, 120]),
    ("gpt2-ntkt", [44, 44], [239, 239]),
    ("llama", [27, 27], [0, 0]),
    ("pit", [47, 47], [112, 112]),
    ("rnn-lstm", [35, 35], [30, 30]),
    ("rnn-tanh", [17, 17], [21, 21]),
    ("shunted", [182, 182], [0, 0]),
    ("transformer-xl", [36, 36], [0, 0]),
    ("autoformer-norpe", [17, 17], [176, 154]),
    ("flexibert-ffdim", [127, 124], [232, 232]),
    ("flexibert-init", [115, 82], [55, 55]),
    ("flexibert-mixed-128", [168, 164], [282, 282]),
    ("flexibert-mixed-256", [102, 100], [174, 174]),
    ("gpt2-flex", [58, 58], [171, 171]),
];

/// How many of them ship.
const SHIPPED: usize = 13;

/// Nothing is passed over: all cases that ship are there, and those of the full set all or none of them.
#[test]
fn the_set_is_whole() {
    let cases = case::all();
    let missing = |known: &&(&str, [usize; 2], [usize; 2])| !cases.iter().any(|case| case.name == known.0);
    let (shipped, further) = COMPARED.split_at(SHIPPED);
    assert_eq!(shipped.iter().find(missing), None);
    let gone = further.iter().filter(missing).count();
    assert!(gone == 0 || gone == further.len(), "{gone} cases of the full set are gone");
}

/// Refuses another number of compared values than [`COMPARED`] states. Cases that it does not know compare a few at least.
fn counted(case: &Case, counts: [usize; 2], stated: Option<[usize; 2]>) -> bool {
    println!("{}: {} in f64, {} in f32 compared", case.name, counts[0], counts[1]);
    match stated {
        Some(stated) => counts == stated,
        None => counts.iter().all(|count| *count > 5),
    }
}

fn stated(case: &Case) -> Option<&'static (&'static str, [usize; 2], [usize; 2])> {
    COMPARED.iter().find(|known| known.0 == case.name)
}

#[test]
fn every_case_in_both_precisions() {
    let other = |case: &Case| {
        let counts = [Precision::F64, Precision::F32].map(|precision| check(case, precision));
        let right = counted(case, counts, stated(case).map(|known| known.1));
        (!right).then(|| format!("{} compared {counts:?} values", case.name))
    };
    let counts: Vec<String> = case::all().iter().filter_map(other).collect();
    let wrong = case::disagreements();
    assert!(wrong.is_empty(), "{} values disagree: {wrong:#?}", wrong.len());
    assert!(counts.is_empty(), "other numbers than are stated: {counts:#?}");
}

/// Every recorded metric by the proxy that claims to be it.
#[test]
fn every_metric_in_both_precisions() {
    let other = |case: &Case| {
        let counts = [Precision::F64, Precision::F32].map(|precision| metrics::check(case, precision));
        let right = counted(case, counts, stated(case).map(|known| known.2));
        (!right).then(|| format!("{} compared {counts:?} numbers of metrics", case.name))
    };
    let counts: Vec<String> = case::all().iter().filter_map(other).collect();
    let wrong = case::disagreements();
    assert!(wrong.is_empty(), "{} values disagree: {wrong:#?}", wrong.len());
    assert!(counts.is_empty(), "other numbers than are stated: {counts:#?}");
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
