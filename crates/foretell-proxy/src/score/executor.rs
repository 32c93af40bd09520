//! Who scores a batch of candidates.

use super::{Row, Scorer, Workers};
use crate::architecture::Architecture;
use crate::error::Result;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Candidates to be scored, and by what.
pub struct Batch<'b> {
    /// The proxies and how networks are run.
    pub scorer: &'b Scorer,
    /// The candidates.
    pub architectures: &'b [Architecture],
    /// The seeds of each score.
    pub seeds: &'b [u64],
}

impl Batch<'_> {
    /// The row of one candidate, computed on this thread; nothing if the work was cancelled.
    pub fn row(&self, index: usize, workers: &mut Workers) -> Option<Row> {
        let work = || self.scorer.row(&self.architectures[index], self.seeds, workers);
        self.scorer.cancel().run(work).ok()
    }
}

/// Who scores a batch: threads of this process unless another is given. Rows are functions of the candidate and the
/// seeds, so it does not matter who computes them, or in which order.
pub trait Executor: Send + Sync {
    /// Scores every candidate and tells `each` its index and row as it comes: in any order, more than once if need be.
    /// `each` says whether to go on.
    fn score(&self, batch: &Batch, each: &(dyn Fn(usize, Row) -> bool + Sync)) -> Result<()>;

    /// How many candidates it scores at a time.
    fn width(&self) -> usize {
        rayon::current_num_threads()
    }
}

/// The threads of rayon's current pool. Each takes the next candidate, so that at most one per thread is ahead of another.
pub struct Threads;

impl Executor for Threads {
    fn score(&self, batch: &Batch, each: &(dyn Fn(usize, Row) -> bool + Sync)) -> Result<()> {
        let (next, all) = (AtomicUsize::new(0), batch.architectures.len());
        let work = || {
            let mut workers = Workers::default();
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= all {
                    break;
                }
                if !batch.row(index, &mut workers).is_some_and(|row| each(index, row)) {
                    next.store(all, Ordering::Relaxed);
                }
            }
        };
        let threads = rayon::current_num_threads().min(all);
        rayon::scope(|scope| (0..threads).for_each(|_| scope.spawn(|_| work())));
        Ok(())
    }
}
