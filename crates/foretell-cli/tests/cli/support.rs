//! The real binary in a folder of its own.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// Arguments: words, or a line that is cut at its spaces.
pub trait Words {
    fn words(&self) -> Vec<&str>;
}

impl Words for str {
    fn words(&self) -> Vec<&str> {
        self.split_whitespace().collect()
    }
}

impl Words for String {
    fn words(&self) -> Vec<&str> {
        self.as_str().words()
    }
}

impl<const N: usize> Words for [&str; N] {
    fn words(&self) -> Vec<&str> {
        self.to_vec()
    }
}

impl Words for [&str] {
    fn words(&self) -> Vec<&str> {
        self.to_vec()
    }
}

/// The benchmark folder: `FORETELL_BENCHMARKS`, else beside the checkout; without one, an error if `CI` is set.
pub fn benchmarks() -> Option<PathBuf> {
    let beside = || concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/benchmarks").into();
    let folder = std::env::var_os("FORETELL_BENCHMARKS").map_or_else(beside, PathBuf::from);
    let found = folder.is_dir().then_some(folder);
    assert!(found.is_some() || std::env::var_os("CI").is_none(), "set FORETELL_BENCHMARKS");
    found
}

/// A fresh folder, gone with the test.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("foretell-cli-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.join(name), text).unwrap();
    }

    /// Writes a file and the folders it is in.
    pub fn write_in(&self, name: &str, text: &str) {
        std::fs::create_dir_all(self.0.join(name).parent().unwrap()).unwrap();
        self.write(name, text);
    }

    /// The names of all files in the folder and below, with their sizes.
    pub fn listing(&self) -> Vec<(PathBuf, u64)> {
        fn add(folder: &Path, listing: &mut Vec<(PathBuf, u64)>) {
            for entry in std::fs::read_dir(folder).unwrap().flatten() {
                match entry.metadata().unwrap() {
                    inner if inner.is_dir() => add(&entry.path(), listing),
                    file => listing.push((entry.path(), file.len())),
                }
            }
        }
        let mut listing = Vec::new();
        add(&self.0, &mut listing);
        listing.sort();
        listing
    }

    pub fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.0.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    pub fn read(&self, name: &str) -> String {
        String::from_utf8(self.bytes(name)).unwrap()
    }

    /// The program in this folder, with its own home and cache and none of the user's settings.
    pub fn command<W: Words + ?Sized>(&self, arguments: &W) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_foretell"));
        command.args(arguments.words()).current_dir(&self.0).env("FORETELL_CACHE", self.0.join("cache"));
        command.env_remove("FORETELL_STORE").env_remove("FORETELL_BENCHMARKS");
        self.at_home(&mut command);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Keeps the user's config, cache and data away.
    pub fn at_home(&self, command: &mut Command) {
        command.env("HOME", self.0.join("home"));
        for name in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"] {
            command.env_remove(name);
        }
    }

    pub fn run<W: Words + ?Sized>(&self, arguments: &W) -> Output {
        self.command(arguments).output().unwrap()
    }

    pub fn start(&self, arguments: &str) -> Child {
        self.command(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    #[track_caller]
    pub fn ok<W: Words + ?Sized>(&self, arguments: &W) -> String {
        let output = self.run(arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {error}", arguments.words().join(" "));
        String::from_utf8(output.stdout).unwrap()
    }

    /// The first line of what `--json` prints.
    #[track_caller]
    pub fn json(&self, arguments: &str) -> Value {
        serde_json::from_str(self.ok(&format!("{arguments} --json")).lines().next().unwrap()).unwrap()
    }

    /// What a command that succeeds writes to stderr.
    #[track_caller]
    pub fn said<W: Words + ?Sized>(&self, arguments: &W) -> String {
        let output = self.run(arguments);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{}: {error}", arguments.words().join(" "));
        error
    }

    #[track_caller]
    pub fn fails<W: Words + ?Sized>(&self, arguments: &W, code: i32, part: &str) {
        let output = self.run(arguments);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{}: {error}", arguments.words().join(" "));
        assert!(error.contains(part), "{part:?} is not in: {error}");
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
