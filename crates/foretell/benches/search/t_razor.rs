//! A T-Razor search: block-wise evolution of autoformer-tiny by DSS++ on all cores. Prints wall time, candidates per second
//! and resident memory over the run. The paper took 0.4 days of a V100 for 8,000 candidates.

use foretell::space;
use foretell::store::Store;
use foretell::study::{Progress, Settings, StudyBuilder, Watch};
use std::sync::Mutex;
use std::time::Instant;

/// Prints how far it is at every eighth of the run.
struct Log {
    start: Instant,
    eighths: Mutex<u64>,
}

impl Watch for Log {
    fn generation(&self, progress: &Progress) {
        let mut eighths = self.eighths.lock().expect("no holder panics");
        if progress.done * 8 >= (*eighths + 1) * progress.total {
            *eighths = progress.done * 8 / progress.total;
            let seconds = self.start.elapsed().as_secs_f64();
            let rate = progress.done as f64 / seconds;
            println!(
                "{:>6} candidates {seconds:>8.1} s {rate:>7.2} /s {:>6} MB",
                progress.done,
                resident() >> 20
            );
        }
    }
}

/// Resident bytes, where the system tells.
fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    let pages = pages.and_then(|text| text.split_whitespace().nth(1)?.parse::<u64>().ok());
    pages.unwrap_or(0) * 4096
}

/// Runs the search with so many candidates.
pub fn run(candidates: u64) {
    let settings = Settings {
        budget: Some(candidates),
        ..Settings::new(space::preset("autoformer-tiny").unwrap()).search("block-wise", "dss++").unwrap()
    };
    let log = Log { start: Instant::now(), eighths: Mutex::new(0) };
    let mut store = Store::memory().unwrap();
    let summary = StudyBuilder::from(settings.clone()).in_store(&mut store).watch(&log).run().unwrap();
    let seconds = log.start.elapsed().as_secs_f64();
    println!(
        "{} candidates in {seconds:.1} s on {} threads, {:.2} a second, {} failed",
        summary.progress.done,
        rayon::current_num_threads(),
        summary.progress.done as f64 / seconds,
        summary.progress.failed
    );
}
