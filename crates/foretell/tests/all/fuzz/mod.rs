//! Mutated inputs for every parser, and damaged copies of every file that the library writes.
//!
//! Seeds are small files of `tests/fixtures/fuzz`, the presets, and what the library writes. Every mutant is a function of
//! its number, so a failure names the one that shows it. `FORETELL_CAMPAIGN=N` runs N mutants per parser.

mod damage;
mod mutate;
mod parsers;

use crate::allocations::largest;
use mutate::mutant;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

/// Mutants per parser.
fn campaign(usual: u64) -> u64 {
    std::env::var("FORETELL_CAMPAIGN").ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}

/// The time that a parser may take for a small file, on a busy machine without optimisation.
const PATIENCE: Duration = Duration::from_secs(4);

/// The most memory that it may ask for at once.
const ROOM: usize = 256 << 20;

/// Runs a parser on mutants of some seeds: it must end in time with any result, without a panic or a large allocation.
fn fuzz(name: &str, usual: u64, seeds: &[Vec<u8>], parse: &dyn Fn(&[u8]) -> bool) {
    let (count, mut accepted, mut failures) = (campaign(usual), 0, Vec::new());
    for seed in seeds {
        assert!(parse(seed), "{name}: a seed is refused: {:?}", String::from_utf8_lossy(seed));
    }
    for number in 0..count {
        let bytes = mutant(seeds, number);
        let (start, _) = (Instant::now(), largest());
        let ended = catch_unwind(AssertUnwindSafe(|| parse(&bytes)));
        let (took, asked) = (start.elapsed(), largest());
        accepted += u64::from(matches!(ended, Ok(true)));
        if ended.is_err() || took > PATIENCE || asked > ROOM {
            let text = String::from_utf8_lossy(&bytes);
            let text: String = text.chars().take(600).collect();
            failures.push(format!(
                "mutant {number}: panic {}, {took:?}, {asked} bytes: {text:?}",
                ended.is_err()
            ));
        }
    }
    println!("{name}: {count} mutants, {accepted} accepted, {} failures", failures.len());
    assert!(failures.is_empty(), "{name}: {} of {count} fail: {failures:#?}", failures.len());
}

/// A file of the corpus.
fn corpus(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/fuzz").join(name);
    std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}
