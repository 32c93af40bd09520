//! Places where a test may end the process or make the disk fail: around everything that a store reads or writes.

/// Ends the process if it is the `FORETELL_FAILPOINT`-th time that a failpoint is passed, or fails as a disk would where a
/// test asked for it; not part of releases.
#[cfg(not(debug_assertions))]
pub(super) fn pass(_: &rusqlite::Connection) -> rusqlite::Result<()> {
    Ok(())
}

#[cfg(debug_assertions)]
pub(super) use faulty::pass;

#[cfg(debug_assertions)]
pub(crate) mod faulty {
    use rusqlite::{Connection, ffi};
    use std::collections::HashMap;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::{LazyLock, Mutex};

    /// For each store by its path, how many more failpoints it passes until one fails; [`FAILING`] from then on.
    static FAULTS: LazyLock<Mutex<HashMap<String, u64>>> = LazyLock::new(Mutex::default);

    const FAILING: u64 = u64::MAX;

    pub(in crate::store) fn pass(connection: &Connection) -> rusqlite::Result<()> {
        static PASSED: AtomicU64 = AtomicU64::new(0);
        static LAST: LazyLock<Option<u64>> =
            LazyLock::new(|| std::env::var("FORETELL_FAILPOINT").ok()?.parse().ok());
        if let Some(last) = *LAST
            && PASSED.fetch_add(1, Ordering::Relaxed) + 1 == last
        {
            std::process::abort();
        }
        let mut faults = FAULTS.lock().expect("no holder panics");
        let Some(left) = connection.path().and_then(|path| faults.get_mut(path)) else { return Ok(()) };
        *left = match *left {
            1 | FAILING => FAILING,
            left => left.saturating_sub(1),
        };
        if *left < FAILING {
            return Ok(());
        }
        let said = Some("disk I/O error of a test".to_owned());
        Err(rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_IOERR), said))
    }

    /// From the `nth` failpoint that the store passes on, every one fails as a disk would; 0 ends this.
    #[cfg(test)]
    pub(crate) fn fail_from(path: &std::path::Path, nth: u64) {
        let path = path.to_string_lossy().into_owned();
        FAULTS.lock().expect("no holder panics").insert(path, nth);
    }

    /// Whether the fault has happened.
    #[cfg(test)]
    pub(crate) fn failed(path: &std::path::Path) -> bool {
        FAULTS.lock().expect("no holder panics").get(&*path.to_string_lossy()) == Some(&FAILING)
    }
}
