//! Where test data lies, and what happens where it does not.

use std::path::PathBuf;

/// The benchmark folder; without one, says that the test is skipped, or fails if `CI` is set.
pub fn benchmarks() -> Option<PathBuf> {
    let found = shared("FORETELL_BENCHMARKS", "benchmarks");
    assert!(found.is_some() || std::env::var_os("CI").is_none(), "set FORETELL_BENCHMARKS");
    found
}

/// The folder with samples of public repositories; without one, says that the test is skipped.
pub fn originals() -> Option<PathBuf> {
    shared("FORETELL_ORIGINALS", "originals")
}

fn shared(variable: &str, name: &str) -> Option<PathBuf> {
    let set = std::env::var_os(variable).map(PathBuf::from);
    // Tests run in the crate's folder, the data lies beside the checkout.
    let beside = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")).join(name);
    let folder = set.unwrap_or(beside);
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("skipped: no {name} at {}: set {variable}", folder.display());
    None
}

/// A folder of its own for a test, gone with it; what failed stays, to be looked at.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("foretell-test-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}
