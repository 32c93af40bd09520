//! A place where a test may end the process: before and after everything that changes a store.

/// Ends the process if it is the `FORETELL_FAILPOINT`-th time that a failpoint is passed; not part of releases.
pub(super) fn pass() {
    #[cfg(debug_assertions)]
    {
        use std::sync::LazyLock;
        use std::sync::atomic::{AtomicU64, Ordering};
        static PASSED: AtomicU64 = AtomicU64::new(0);
        static LAST: LazyLock<Option<u64>> =
            LazyLock::new(|| std::env::var("FORETELL_FAILPOINT").ok()?.parse().ok());
        if let Some(last) = *LAST
            && PASSED.fetch_add(1, Ordering::Relaxed) + 1 == last
        {
            std::process::abort();
        }
    }
}
