//! How fast this core is at the moment: a small matrix product whose work never changes is timed beside every repeat.
//!
//! CPU time does not show a core that runs at a lower frequency or shares its units with a neighbour. The product shows
//! it: where it takes 1.2 times its quickest time, so does a network, about.

use super::clock::Repeat;
use crate::engine::matmul::{Mat, MatMut, product};
use std::sync::atomic::{AtomicU64, Ordering};

/// Rows and columns; three such matrices fit into the second-level cache.
const SIDE: usize = 128;
/// Products of one timing, about half a millisecond.
const PRODUCTS: usize = 10;

/// The quickest timing of this process, as bits: positive numbers are ordered like their bits.
static QUICKEST: AtomicU64 = AtomicU64::new(u64::MAX);

/// A fixed piece of work.
pub(super) struct Reference {
    a: Vec<f32>,
    b: Vec<f32>,
    c: Vec<f32>,
}

impl Reference {
    /// The work, run until its quickest time no longer falls.
    pub fn new() -> Self {
        let entry = |i: usize| (i % 17) as f32 / 17.0;
        let (a, b) =
            ((0..SIDE * SIDE).map(entry).collect(), (0..SIDE * SIDE).map(|i| entry(i + 5)).collect());
        let mut reference = Reference { a, b, c: vec![0.0; SIDE * SIDE] };
        for _ in 0..20 {
            reference.time();
        }
        reference
    }

    /// Seconds of the work now.
    pub fn time(&mut self) -> f64 {
        let Reference { a, b, c } = self;
        let mut run = || {
            let (a, b) = (Mat::new(a.as_slice(), SIDE, SIDE), Mat::new(b.as_slice(), SIDE, SIDE));
            product(1.0, a, b, 0.0, MatMut::new(c, SIDE, SIDE));
            std::hint::black_box(&c);
            Ok::<(), ()>(())
        };
        let seconds = Repeat::time(PRODUCTS, &mut run).map_or(f64::INFINITY, |repeat| repeat.own_seconds());
        QUICKEST.fetch_min(seconds.to_bits(), Ordering::Relaxed);
        seconds
    }
}

/// How many times its quickest time a timing took: 1 on a core at full speed.
pub(super) fn slowdown(seconds: f64) -> f64 {
    (seconds / f64::from_bits(QUICKEST.load(Ordering::Relaxed))).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_quicker_than_the_quickest() {
        let mut reference = Reference::new();
        let now = reference.time();
        assert!(now > 0.0 && now.is_finite());
        assert!(slowdown(now) >= 1.0);
        assert_eq!(slowdown(0.0), 1.0);
        assert!(slowdown(2.0 * now) >= 2.0 * 0.999);
    }
}
