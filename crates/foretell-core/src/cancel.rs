//! Stopping work from another thread.
//!
//! A [`CancelToken`] is shared with the code that may stop the work. Work that was started by [`CancelToken::run`] looks at the
//! token wherever it calls [`checkpoint`]: between the layers of a pass, between candidates, between training steps. It then
//! unwinds to `run`, which returns [`Error::Cancelled`].

use crate::error::{Error, Result};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that stops work, from any thread.
///
/// ```
/// use foretell_core::cancel::{CancelToken, checkpoint};
/// let token = CancelToken::default();
/// let other = token.clone();
/// std::thread::spawn(move || other.cancel());
/// let result = token.run(|| loop { checkpoint() });
/// assert_eq!(result.unwrap_err().kind(), "cancelled");
/// ```
#[derive(Debug, Clone, Default)]
pub struct CancelToken(Arc<AtomicBool>);

/// What unwinds from a checkpoint.
struct Cancelled;

thread_local! {
    static CURRENT: RefCell<Option<CancelToken>> = const { RefCell::new(None) };
}

impl CancelToken {
    /// Stops the work.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the work is to stop.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// [`Error::Cancelled`] if the work is to stop.
    pub fn check(&self) -> Result<()> {
        if self.is_cancelled() { Err(Error::Cancelled) } else { Ok(()) }
    }

    /// Runs work on this thread that stops at its next [`checkpoint`] when the token is cancelled.
    pub fn run<T>(&self, work: impl FnOnce() -> T) -> Result<T> {
        self.check()?;
        let before = CURRENT.replace(Some(self.clone()));
        let result = catch_unwind(AssertUnwindSafe(work));
        CURRENT.set(before);
        match result {
            Ok(value) => Ok(value),
            Err(payload) if payload.is::<Cancelled>() => Err(Error::Cancelled),
            Err(payload) => resume_unwind(payload),
        }
    }

    /// The token of the work that this thread runs, to hand on to threads that help with it.
    pub fn current() -> Option<Self> {
        CURRENT.with_borrow(Clone::clone)
    }

    /// Leaves the work if the token is cancelled; for threads that help and whose caller hands panics on.
    pub fn leave_if_cancelled(&self) {
        if self.is_cancelled() {
            resume_unwind(Box::new(Cancelled));
        }
    }
}

/// Leaves the work that [`CancelToken::run`] started on this thread, if its token is cancelled.
pub fn checkpoint() {
    let cancelled = CURRENT.with_borrow(|token| token.as_ref().is_some_and(CancelToken::is_cancelled));
    if cancelled {
        resume_unwind(Box::new(Cancelled));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_without_a_token_never_stops() {
        checkpoint();
        assert_eq!(CancelToken::default().run(|| 3).unwrap(), 3);
    }

    #[test]
    fn cancelled_work_does_not_begin() {
        let token = CancelToken::default();
        token.cancel();
        assert!(matches!(token.run(|| panic!("began")), Err(Error::Cancelled)));
    }

    /// Work inside other work has a token of its own; the outer one is back afterwards.
    #[test]
    fn tokens_nest() {
        let (outer, inner) = (CancelToken::default(), CancelToken::default());
        let result = outer.run(|| {
            inner.cancel();
            assert!(inner.run(|| ()).is_err());
            checkpoint();
            outer.cancel();
            checkpoint();
        });
        assert!(matches!(result, Err(Error::Cancelled)));
    }

    #[test]
    #[should_panic(expected = "a real one")]
    fn other_panics_go_on() {
        let _ = CancelToken::default().run(|| panic!("a real one"));
    }
}
