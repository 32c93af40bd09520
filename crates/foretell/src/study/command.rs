//! Commands of the user's: a network goes in as files, a number comes out as the last line printed.
//!
//! What exceeds its time is ended with all it started, and so is everything that runs when the process ends itself.

use super::evaluate::Failure;
use crate::architecture::{Architecture, Counter};
use crate::cancel;
use crate::error::{Error, Result};
use crate::space;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

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
        let folder = write_network(architecture)?;
        let path = network(folder.path()).join(ARCHITECTURE);
        let genes = File::open(&path).map_err(|e| Error::read(&path, e))?;
        number(&self.command, folder.path(), genes.into(), &[], self.limit)
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

/// The number that a command prints as its last line. `FORETELL_DIR` is the folder with the network; `variables` are set, too.
pub(super) fn number(
    command: &str,
    folder: &Path,
    stdin: Stdio,
    variables: &[(String, String)],
    limit: Duration,
) -> Result<f64, Failure> {
    let (out, err) = (folder.join("stdout"), folder.join("stderr"));
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command).env("FORETELL_DIR", network(folder)).stdin(stdin);
    shell.envs(variables.iter().map(|(name, value)| (name, value)));
    let create = |path: &Path| File::create(path).map_err(|e| Error::write(path, e));
    shell.stdout(create(&out)?).stderr(create(&err)?);
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut shell, 0);
    let mut child = Running::start(&mut shell).map_err(not_run)?;
    let Some(status) = child.wait(limit).map_err(not_run)? else {
        return Err(Failure::verdict("timeout", format!("took longer than {} s", limit.as_secs_f64())));
    };
    verdict(status, &out, &err).or_else(|failure| {
        // What a command says of a network with no space left or while the program ends is not believed.
        check_space(folder)?;
        check_signal(status)?;
        Err(failure)
    })
}

/// What a command said before it ended.
fn verdict(status: ExitStatus, out: &Path, err: &Path) -> Result<f64, Failure> {
    if !status.success() {
        return Err(Failure::verdict("exit", format!("{status}\n{}", tail(err, LINES))));
    }
    let line = tail(out, 1);
    match line.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => {
            let message = format!("the last line printed is '{line}', not a number\n{}", tail(err, LINES));
            Err(Failure::verdict("no-number", message))
        }
    }
}

/// A command that could not be started or waited for.
fn not_run(error: io::Error) -> Error {
    if leaving() {
        return Error::Cancelled;
    }
    Error::NotEvaluated { reason: format!("the command did not start: {error}") }
}

/// Refuses a verdict that was given while the folder's disk has no room.
fn check_space(folder: &Path) -> Result<()> {
    let path = folder.join("space");
    let write = || {
        let file = File::create_new(&path)?;
        io::Write::write_all(&mut &file, &[0; 65536])?;
        file.sync_all()
    };
    write().map_err(|e| Error::write(folder, e))?;
    fs::remove_file(&path).map_err(|e| Error::write(&path, e))
}

/// Signals by which users, schedulers and a system without memory end a process; a shell reports them as 128 + number.
const ENDING: [i32; 5] = [1, 2, 3, 9, 15];

/// Refuses a verdict of a command that was ended from outside.
fn check_signal(status: ExitStatus) -> Result<()> {
    #[cfg(unix)]
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    #[cfg(not(unix))]
    let signal = None;
    let signal = signal.or_else(|| Some(status.code()? - 128)).filter(|signal| ENDING.contains(signal));
    match signal {
        _ if LEAVING.load(Ordering::SeqCst) => Err(Error::Cancelled),
        Some(signal) => {
            let reason = format!(
                "signal {signal} ended the command; if the network needs more memory than there is, let the \
                 command exit with a code of its own, and it is stored as failed"
            );
            Err(Error::NotEvaluated { reason })
        }
        None => Ok(()),
    }
}

/// The folder that a command may look at.
fn network(folder: &Path) -> PathBuf {
    folder.join("network")
}

/// A network as files in a new folder, gone when dropped.
pub(super) fn write_network(architecture: &Architecture) -> Result<TempDir> {
    let made = tempfile::Builder::new().prefix("foretell-").tempdir();
    let folder = made.map_err(|e| Error::write(std::env::temp_dir(), e))?;
    let network = network(folder.path());
    fs::create_dir(&network).map_err(|e| Error::write(&network, e))?;
    let genes = Value::Object(space::write_architecture(architecture));
    let counts = json!({
        "id": architecture.id(), "params": architecture.params().total,
        "flops": architecture.flops(Counter::Exact), "memory_bytes": architecture.memory().total(),
    });
    for (name, content) in [(ARCHITECTURE, genes), ("counts.json", counts)] {
        let path = network.join(name);
        fs::write(&path, content.to_string()).map_err(|e| Error::write(&path, e))?;
    }
    Ok(folder)
}

/// The processes that evaluators started and that have not ended.
static RUNNING: Mutex<Vec<u32>> = Mutex::new(Vec::new());
/// Whether this process is about to end: no command is started any more, and what the ended ones said is not believed.
static LEAVING: AtomicBool = AtomicBool::new(false);

/// Ends the commands of all evaluators for good: for a process that is about to end itself.
pub fn abandon() {
    let mut running = RUNNING.lock().expect("no holder panics");
    LEAVING.store(true, Ordering::SeqCst);
    running.drain(..).for_each(end);
}

/// Whether [`abandon`] was called. Evaluations are not stored from then on.
pub(super) fn leaving() -> bool {
    LEAVING.load(Ordering::SeqCst)
}

/// A child that is ended with all it started when dropped before it ended.
struct Running {
    child: Child,
    ended: bool,
}

impl Running {
    fn start(command: &mut Command) -> io::Result<Self> {
        let mut running = RUNNING.lock().expect("no holder panics");
        if leaving() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let child = command.spawn()?;
        running.push(child.id());
        Ok(Running { child, ended: false })
    }

    /// How it ended; nothing if it did not in time.
    fn wait(&mut self, limit: Duration) -> io::Result<Option<ExitStatus>> {
        let (start, mut pause) = (Instant::now(), Duration::from_millis(1));
        loop {
            cancel::checkpoint();
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
