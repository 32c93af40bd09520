//! What the library notes, such as a damaged file, goes to Python's `logging` under the name `foretell`.

use log::{Level, LevelFilter, Log, Metadata, Record};
use pyo3::prelude::*;

struct Logging;

/// Hands on what the library notes from now on. The command line has its own way, so this is not done at import.
pub fn install() {
    // Fails only if it was done before.
    let _ = log::set_logger(&Logging).map(|()| log::set_max_level(LevelFilter::Info));
}

impl Log for Logging {
    fn enabled(&self, metadata: &Metadata) -> bool {
        metadata.target().starts_with("foretell")
    }

    fn log(&self, record: &Record) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let level = match record.level() {
            Level::Error => 40,
            Level::Warn => 30,
            Level::Info => 20,
            Level::Debug | Level::Trace => 10,
        };
        Python::attach(|py| {
            let logger = py.import("logging").and_then(|m| m.call_method1("getLogger", ("foretell",)));
            // There is nobody to tell that telling failed.
            let _ = logger.and_then(|logger| logger.call_method1("log", (level, record.args().to_string())));
        });
    }

    fn flush(&self) {}
}
