//! How long exact search takes on every preset, under every limit and score of the shape, and what it refuses.
//!
//! `cargo run --example exact_times [PRESET …]`

use foretell::architecture::{Architecture, Counter};
use foretell::proxy::{CATALOGUE, Request};
use foretell::space::{Bound, Limits, PRESETS, preset};
use std::time::Instant;

fn main() -> foretell::error::Result<()> {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    for (name, _) in PRESETS.iter().filter(|(name, _)| wanted.is_empty() || wanted.iter().any(|w| w == name))
    {
        let space = preset(name)?;
        let (Some(grid), Some(extremes)) = (space.as_grid(), space.extremes()) else { continue };
        let share = |m: usize, percent: u64| Bound {
            min: 0,
            max: extremes[m].0 + (extremes[m].1 - extremes[m].0) / 100 * percent,
        };
        let mut limits = vec![("none".to_owned(), Limits::default())];
        for percent in [20, 50, 80] {
            let (params, flops) = (share(0, percent), share(1, percent));
            let open = Limits { counter: Counter::Exact, ..Limits::default() };
            limits.push((format!("params {percent}%"), Limits { params, ..open }));
            limits.push((format!("flops {percent}%"), Limits { flops, ..open }));
            limits.push((format!("both {percent}%"), Limits { params, flops, ..open }));
        }
        println!("{name}: {} uniform networks", grid.uniform_size());
        let shapes = CATALOGUE.iter().filter(|entry| !entry.about.drawn() && entry.about.parts.is_empty());
        for score in shapes.map(|entry| entry.about.name).chain(["-params", "-flops"]) {
            let request = Request::parse(score.trim_start_matches('-'))?;
            let sign = if score.starts_with('-') { -1.0 } else { 1.0 };
            let of = |point: &Architecture| Ok(sign * request.of_shape(point)?);
            for (what, limits) in &limits {
                let start = Instant::now();
                let found = grid.optimum(limits, 10, &of, &|_| {});
                let taken = start.elapsed().as_secs_f64();
                let text = match &found {
                    Ok(found) => match found.first() {
                        Some(best) => format!("{:.4} ({})", of(best)?, found.len()),
                        None => "nothing".to_owned(),
                    },
                    Err(error) => format!("refused: {error}"),
                };
                let start = Instant::now();
                let best = grid.best_uniform(limits, &|_| true, &of);
                let scan = start.elapsed().as_secs_f64();
                let best = best.ok().flatten().map_or("none".to_owned(), |best| format!("{:.4}", best.0));
                println!("  {name} | {score} | {what} | {taken:.3} s | {text} | uniform {scan:.3} s {best}");
            }
        }
    }
    Ok(())
}
