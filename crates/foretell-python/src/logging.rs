//! What the library notes, such as a damaged file: Python's `warnings`, and `logging` under the name `foretell` if somebody listens.

use log::{Level, LevelFilter, Log, Metadata, Record};
use pyo3::prelude::*;
use std::sync::Mutex;

struct Logging;

/// Warnings that were not told yet. They come from any thread, and are told by the one that called from Python.
static PENDING: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Hands on what the library notes from now on. The command line has its own way, so this is not done at import.
pub fn install() {
    // Fails only if it was done before.
    let _ = log::set_logger(&Logging).map(|()| log::set_max_level(LevelFilter::Info));
}

/// Tells what was noted. A filter may turn a warning into an exception.
pub fn tell(py: Python<'_>) -> PyResult<()> {
    let noted = std::mem::take(&mut *PENDING.lock().expect("no holder panics"));
    if noted.is_empty() {
        return Ok(());
    }
    py.import("foretell._notes")?.call_method1("warn", (noted,)).map(drop)
}

impl Log for Logging {
    fn enabled(&self, metadata: &Metadata) -> bool {
        metadata.target().starts_with("foretell")
    }

    fn log(&self, record: &Record) {
        if self.enabled(record.metadata()) && record.level() <= Level::Warn {
            PENDING.lock().expect("no holder panics").push(record.args().to_string());
        }
    }

    fn flush(&self) {}
}
