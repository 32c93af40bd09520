//! Wall time and CPU time of the calling thread.

use std::time::Instant;

/// Seconds of one run, as the clock on the wall and the scheduler count them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Repeat {
    /// What passed.
    pub wall: f64,
    /// What this thread spent on a core; `None` where the system does not count it.
    pub cpu: Option<f64>,
}

impl Repeat {
    /// Times `runs` calls and gives the mean of one.
    pub fn time<E>(runs: usize, run: &mut impl FnMut() -> Result<(), E>) -> Result<Self, E> {
        let (start, before) = (Instant::now(), thread_seconds());
        for _ in 0..runs {
            run()?;
        }
        let (wall, after) = (start.elapsed().as_secs_f64(), thread_seconds());
        let cpu = before.zip(after).map(|(before, after)| (after - before) / runs as f64);
        Ok(Repeat { wall: wall / runs as f64, cpu })
    }

    /// The time that counts: CPU time where it is known.
    pub fn seconds(&self) -> f64 {
        self.cpu.unwrap_or(self.wall)
    }
}

/// Seconds that this thread has spent on a core.
#[cfg(any(target_os = "linux", target_os = "android", target_os = "macos", target_os = "freebsd"))]
fn thread_seconds() -> Option<f64> {
    use nix::time::{ClockId, clock_gettime};
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).ok()?;
    Some(time.tv_sec() as f64 + time.tv_nsec() as f64 * 1e-9)
}

/// Other systems have no such clock here: repeats are judged by their spread alone.
#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "macos", target_os = "freebsd")))]
fn thread_seconds() -> Option<f64> {
    None
}
