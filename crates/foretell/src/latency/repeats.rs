//! From repeated runs on a machine that may be busy to the time of a run on a quiet one.
//!
//! CPU time leaves out the slices that other processes take, so it is the time that counts. It cannot see a core that
//! runs slower or caches that others have emptied; those only ever add time. Repeats near the quickest form the *low
//! cluster*, and its median is the result. A repeat is undisturbed if it lies in the cluster and its wall time is its
//! CPU time, give or take a few percent.

use super::Latency;
use super::clock::Repeat;
use std::time::Instant;

/// Runs before anything is timed: buffers are allocated, caches warm up.
const WARM_UP: usize = 2;
/// Repeats that are taken at least.
const FEWEST: usize = 9;
/// Repeats after which measuring stops.
const MOST: usize = 60;
/// Seconds after which measuring stops.
const LONGEST: f64 = 4.0;
/// Undisturbed repeats that are enough.
const ENOUGH: usize = 7;
/// Repeats of the low cluster that are enough where the machine is never quiet.
const ENOUGH_DISTURBED: usize = 25;
/// A repeat lasts at least so many seconds, of several runs if one is shorter: reading both clocks takes about 1 µs.
const SHORTEST: f64 = 5e-4;
/// How far wall time may exceed CPU time.
const WAITED: f64 = 1.03;
/// How far the low cluster reaches above its second quickest repeat.
const CLUSTER: f64 = 1.05;

/// Times a run until enough repeats were undisturbed, or time is up.
pub(super) fn measure<E>(mut run: impl FnMut() -> Result<(), E>) -> Result<Latency, E> {
    for _ in 1..WARM_UP {
        run()?;
    }
    let warm = Repeat::time(1, &mut run)?.seconds();
    let runs = (SHORTEST / warm.max(1e-8)).ceil().max(1.0) as usize;
    let (start, mut repeats) = (Instant::now(), Vec::with_capacity(MOST));
    loop {
        repeats.push(Repeat::time(runs, &mut run)?);
        if finished(&repeats, start.elapsed().as_secs_f64()) {
            return Ok(summary(&repeats));
        }
    }
}

/// Whether no further repeat is needed, or allowed.
fn finished(repeats: &[Repeat], elapsed: f64) -> bool {
    if repeats.len() < FEWEST {
        return false;
    }
    let low = Low::of(repeats);
    let enough = low.undisturbed.len() >= ENOUGH || low.all.len() >= ENOUGH_DISTURBED;
    enough || repeats.len() >= MOST || elapsed >= LONGEST
}

/// The low cluster, in order.
struct Low {
    all: Vec<f64>,
    undisturbed: Vec<f64>,
}

impl Low {
    fn of(repeats: &[Repeat]) -> Self {
        let mut sorted: Vec<&Repeat> = repeats.iter().collect();
        sorted.sort_by(|a, b| a.seconds().total_cmp(&b.seconds()));
        // The quickest alone may be a fluke of the clock.
        let second = sorted.get(1).or(sorted.first()).map_or(0.0, |repeat| repeat.seconds());
        sorted.retain(|repeat| repeat.seconds() <= second * CLUSTER);
        let waited = |repeat: &Repeat| repeat.cpu.is_some_and(|cpu| repeat.wall > cpu * WAITED);
        let undisturbed = sorted.iter().filter(|repeat| !waited(repeat));
        Low {
            undisturbed: undisturbed.map(|repeat| repeat.seconds()).collect(),
            all: sorted.iter().map(|repeat| repeat.seconds()).collect(),
        }
    }
}

/// The median of the undisturbed repeats, or of the whole low cluster where they are too few.
fn summary(repeats: &[Repeat]) -> Latency {
    let low = Low::of(repeats);
    let quiet = low.undisturbed.len() >= ENOUGH;
    let used = if quiet { &low.undisturbed } else { &low.all };
    let mut every: Vec<f64> = repeats.iter().map(Repeat::seconds).collect();
    every.sort_by(f64::total_cmp);
    let seconds = used[used.len() / 2];
    Latency {
        seconds,
        interval: (used[0], used[used.len() - 1].max(every[every.len() / 2])),
        runs: repeats.len(),
        threads: 1,
        disturbed: 1.0 - low.undisturbed.len() as f64 / repeats.len() as f64,
        quiet,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repeat(wall: f64, cpu: f64) -> Repeat {
        Repeat { wall, cpu: Some(cpu) }
    }

    /// Nine quiet repeats of 100 to 104: all in the cluster, which ends at 101 · 1.05; the fifth is the median.
    #[test]
    fn quiet_repeats_give_their_median() {
        let repeats: Vec<Repeat> =
            [104.0, 100.0, 103.0, 101.0, 102.0, 101.5, 103.5, 102.5, 100.5].map(|t| repeat(t, t)).to_vec();
        let found = summary(&repeats);
        assert_eq!((found.seconds, found.interval, found.runs), (102.0, (100.0, 104.0), 9));
        assert!(found.quiet && found.disturbed == 0.0 && finished(&repeats, 0.0));
    }

    /// Four slices in five go to others, so wall time is five times too long and CPU time is right; a fifth of the
    /// repeats also find cold caches.
    #[test]
    fn waiting_does_not_count() {
        let repeats: Vec<Repeat> =
            (0..30).map(|i| repeat(50.0, if i % 5 == 0 { 14.0 } else { 10.0 })).collect();
        let found = summary(&repeats);
        assert_eq!((found.seconds, found.interval), (10.0, (10.0, 10.0)));
        assert!(!found.quiet && found.disturbed == 1.0);
    }

    /// Three quarters of the repeats run on a core that is slowed down, which CPU time does not show.
    #[test]
    fn slow_repeats_are_disturbed() {
        let mut repeats: Vec<Repeat> =
            (0..28).map(|i| repeat(10.0, 10.0 + if i % 4 == 0 { 0.0 } else { 4.0 })).collect();
        repeats.iter_mut().for_each(|repeat| repeat.wall = repeat.seconds());
        let found = summary(&repeats);
        assert_eq!((found.seconds, found.disturbed, found.quiet), (10.0, 0.75, true));
        assert_eq!(found.interval, (10.0, 14.0));
    }

    #[test]
    fn measuring_ends() {
        let never_quiet = |count: usize| -> Vec<Repeat> {
            (0..count).map(|i| repeat(100.0, 10.0 * 1.06f64.powi(i as i32))).collect()
        };
        assert!(!finished(&never_quiet(8), 100.0), "nine repeats are the least");
        assert!(!finished(&never_quiet(59), 3.9));
        assert!(finished(&never_quiet(60), 0.1) && finished(&never_quiet(9), 4.0));
        let found = summary(&never_quiet(60));
        assert!(!found.quiet && found.interval.1 > 5.0 * found.seconds);
    }

    /// Without CPU time the spread decides.
    #[test]
    fn wall_time_alone() {
        let repeats: Vec<Repeat> =
            (0..20).map(|i| Repeat { wall: if i % 2 == 0 { 10.0 } else { 25.0 }, cpu: None }).collect();
        let found = summary(&repeats);
        assert_eq!((found.seconds, found.disturbed, found.quiet), (10.0, 0.5, true));
    }

    /// A run of microseconds is repeated until the clock does not matter.
    #[test]
    fn short_runs_are_timed_in_batches() {
        let mut runs = 0u64;
        let work = || -> Result<(), ()> {
            runs += 1;
            std::hint::black_box((0..2000u64).fold(runs, |a, b| std::hint::black_box(a ^ b)));
            Ok(())
        };
        let found = measure(work).unwrap();
        assert!(runs > 10 * found.runs as u64, "{runs} runs in {} repeats", found.runs);
        assert!(found.seconds > 1e-8 && found.seconds < 1e-2, "{found:?}");
        assert_eq!(measure(|| Err::<(), _>("broken")), Err("broken"));
    }
}
