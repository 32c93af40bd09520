//! How near searchers come to the best network there is.
//!
//! ```text
//! cargo bench --bench search                        a few presets and scores, three seeds: about a minute
//! cargo bench --bench search -- --full [name…]      every preset, limit and score, or those named, ten seeds, as Markdown
//! cargo bench --bench search -- --alone [name…]     the same without the published algorithms; a number is the budget
//! cargo bench --bench search -- passes [PRESET]     a score that takes passes, against ten times as many random draws
//! cargo bench --bench search -- t-razor [N]         the speed of a T-Razor search of N candidates, 8,000 by default
//! ```

mod cases;
mod passes;
mod t_razor;
mod table;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => table::short(),
        ["--full", named @ ..] => table::full(named, 3),
        ["--alone", named @ ..] => table::full(named, 0),
        ["passes"] => passes::run(None),
        ["passes", preset] => passes::run(Some(preset)),
        ["t-razor"] => t_razor::run(8000),
        ["t-razor", count] if count.parse::<u64>().is_ok() => t_razor::run(count.parse().unwrap_or(8000)),
        other => {
            eprintln!("cannot read '{}': see the first lines of benches/search/main.rs", other.join(" "));
            std::process::exit(2);
        }
    }
}
