//! Commands of the user's: a network goes in as files, a number comes out as the last line printed.
//!
//! What exceeds its time is ended with all it started, and so is everything that runs when the process ends itself.

use super::evaluate::{Failure, failure};
use crate::architecture::{Architecture, Counter};
use crate::error::{Error, Result};
use crate::space;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A proxy that is a command: it reads an architecture as JSON from its standard input and prints the score as its last
/// line, larger for what is better. It is run by `sh`.
#[derive(Debug, Clone)]
pub struct Program {
    command: String,
    limit: Duration,
}

impl Program {
    /// A command, and how long it may take for one network.
    pub fn new(command: &str, limit: Duration) -> Result<Self> {
        match command.trim().is_empty() {
            true => Err(Error::option("scoring command", "is empty")),
            false => Ok(Program { command: command.to_owned(), limit }),
        }
    }

    /// The command.
    pub fn command(&self) -> &str {
        &self.command
    }

    /// The score of a network.
    pub fn score(&self, architecture: &Architecture) -> Result<f64, Failure> {
        let broken = |e: io::Error| failure("not-started", e);
        let folder = Folder::new(architecture).map_err(broken)?;
        let genes = File::open(folder.network().join(ARCHITECTURE)).map_err(broken)?;
        number(&self.command, &folder, genes.into(), self.limit)
    }
}

/// The file with the architecture.
const ARCHITECTURE: &str = "architecture.json";

/// Lines of standard error that are kept of a command that failed.
const LINES: usize = 5;
/// Bytes at the end of a file that these lines are looked for in.
const TAIL: u64 = 8192;

/// The last lines of a file that are not empty.
fn tail(path: &Path, lines: usize) -> String {
    let read = || -> io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(io::SeekFrom::Start(length.saturating_sub(TAIL)))?;
        let mut bytes = Vec::new();
        file.take(TAIL).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let all: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.trim().is_empty()).collect();
    all[all.len().saturating_sub(lines)..].join("\n").trim().to_owned()
}

/// The number that a command prints as its last line. `FORETELL_DIR` is the folder with the network.
pub(super) fn number(command: &str, folder: &Folder, stdin: Stdio, limit: Duration) -> Result<f64, Failure> {
    let broken = |e: io::Error| failure("not-started", e);
    let (out, err) = (folder.0.join("stdout"), folder.0.join("stderr"));
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command).env("FORETELL_DIR", folder.network()).stdin(stdin);
    shell.stdout(File::create(&out).map_err(broken)?).stderr(File::create(&err).map_err(broken)?);
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut shell, 0);
    let mut child = Running::start(&mut shell).map_err(broken)?;
    let Some(status) = child.wait(limit).map_err(broken)? else {
        return Err(failure("timeout", format!("took longer than {} s", limit.as_secs_f64())));
    };
    if !status.success() {
        return Err(failure("exit", format!("{status}\n{}", tail(&err, LINES))));
    }
    let line = tail(&out, 1);
    match line.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => {
            let message = format!("the last line printed is '{line}', not a number\n{}", tail(&err, LINES));
            Err(failure("no-number", message))
        }
    }
}

/// A network as files, gone when dropped.
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn new(architecture: &Architecture) -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = format!("foretell-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let folder = Folder(std::env::temp_dir().join(name));
        // Not ours to share: a folder that is already there is refused.
        fs::create_dir(&folder.0)?;
        let network = folder.network();
        fs::create_dir(&network)?;
        let genes = Value::Object(space::write_architecture(architecture));
        fs::write(network.join(ARCHITECTURE), genes.to_string())?;
        let counts = json!({
            "id": architecture.id(), "params": architecture.params().total,
            "flops": architecture.flops(Counter::Exact), "memory_bytes": architecture.memory().total(),
        });
        fs::write(network.join("counts.json"), counts.to_string())?;
        Ok(folder)
    }

    /// The folder that a command may look at.
    fn network(&self) -> PathBuf {
        self.0.join("network")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The processes that commands started and that have not ended.
static RUNNING: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// Ends whatever commands are running: for a process that is about to end itself.
pub fn abandon() {
    RUNNING.lock().expect("no holder panics").drain(..).for_each(end);
}

/// A child that is ended with all it started when dropped before it ended.
struct Running {
    child: Child,
    ended: bool,
}

impl Running {
    fn start(command: &mut Command) -> io::Result<Self> {
        let mut running = RUNNING.lock().expect("no holder panics");
        let child = command.spawn()?;
        running.push(child.id());
        Ok(Running { child, ended: false })
    }

    /// How it ended; nothing if it did not in time.
    fn wait(&mut self, limit: Duration) -> io::Result<Option<std::process::ExitStatus>> {
        let (start, mut pause) = (Instant::now(), Duration::from_millis(1));
        loop {
            if let Some(status) = self.child.try_wait()? {
                self.ended = true;
                return Ok(Some(status));
            }
            let Some(left) = limit.checked_sub(start.elapsed()) else { return Ok(None) };
            std::thread::sleep(pause.min(left));
            pause = (2 * pause).min(Duration::from_millis(100));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.ended {
            end(self.child.id());
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
        RUNNING.lock().expect("no holder panics").retain(|pid| *pid != self.child.id());
    }
}

/// Ends the group of processes that one leads.
fn end(leader: u32) {
    #[cfg(unix)]
    if let Ok(leader) = i32::try_from(leader) {
        use nix::sys::signal::{Signal, killpg};
        let _ = killpg(nix::unistd::Pid::from_raw(leader), Signal::SIGKILL);
    }
    #[cfg(not(unix))]
    let _ = leader;
}
