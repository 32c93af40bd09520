//! Who says how good a network really is: a table of trained networks, or a command of the user's.
//!
//! A value is stored the moment it is known, and so is a failure: what was evaluated once is never evaluated again.

use crate::architecture::{Architecture, Counter};
use crate::benchmark::{self, Benchmark};
use crate::error::{Error, Result};
use crate::space;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Says how good a network really is.
pub trait Evaluator: Send + Sync {
    /// What is asked, in words that stay the same; stored with every value.
    fn label(&self) -> String;
    /// The value of a network, larger is better.
    fn evaluate(&self, architecture: &Architecture) -> Result<f64, Failure>;
}

/// Why there is no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// A short stable word.
    pub status: &'static str,
    /// The cause.
    pub message: String,
}

fn failure(status: &'static str, message: impl ToString) -> Failure {
    Failure { status, message: message.to_string() }
}

/// The end of a label where small values are good; these are stored with their sign turned.
pub(super) const LEAST: &str = ", least";

/// A stored value as the evaluator gave it.
pub fn as_given(label: &str, value: f64) -> f64 {
    if label.ends_with(LEAST) { -value } else { value }
}

/// A column of a benchmark: exactly the networks that were trained, no others. A candidate is looked up with the classes
/// and the vocabulary of the table's data, which are no choice of a search.
pub struct Table {
    label: String,
    values: HashMap<String, f64>,
    data: Vec<(&'static str, Value)>,
}

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

/// What the data decides.
const DATA: [&str; 2] = ["num_classes", "vocab_size"];

impl Table {
    /// Opens `benchmark` or `benchmark:column` in a folder of benchmarks; by default its first result of training.
    pub fn open(folder: &Path, text: &str, lower: bool) -> Result<Self> {
        let (name, column) = text.split_once(':').map_or((text, None), |(name, column)| (name, Some(column)));
        let benchmark = Benchmark::load(folder, name)?;
        let column = column.map_or_else(|| benchmark.default_target(), |column| benchmark.column(column))?;
        let least = lower || column.lower_is_better;
        let mut rows: HashMap<String, Vec<f64>> = HashMap::new();
        for (architecture, value) in benchmark.architectures.iter().zip(&column.values) {
            rows.entry(architecture.id()).or_default().extend(value.filter(|value| value.is_finite()));
        }
        // Networks that were trained several times have the mean of their results.
        let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
        let values = rows.into_iter().filter(|(_, values)| !values.is_empty());
        let values = values.map(|(id, values)| (id, if least { -mean(values) } else { mean(values) }));
        let label = format!("table {name}:{}{}", column.name, if least { LEAST } else { "" });
        let first = benchmark.architectures.first().map(Architecture::to_json).unwrap_or_default();
        let data = DATA.into_iter().filter_map(|key| Some((key, first.get(key)?.clone()))).collect();
        Ok(Table { label, values: values.collect(), data })
    }

    /// Opens a table of the usual folder: see [`benchmark::folder`].
    pub fn find(given: Option<&Path>, text: &str, lower: bool) -> Result<Self> {
        Self::open(&benchmark::folder(given)?, text, lower)
    }
}

impl Evaluator for Table {
    fn label(&self) -> String {
        self.label.clone()
    }

    fn evaluate(&self, architecture: &Architecture) -> Result<f64, Failure> {
        let with =
            |network: Architecture, (key, value): &(&str, Value)| network.with(key, value).unwrap_or(network);
        let id = self.data.iter().fold(architecture.clone(), with).id();
        let missing = || failure("not-in-table", format!("{id} was not trained for {}", self.label));
        self.values.get(&id).copied().ok_or_else(missing)
    }
}

/// A command that is given a folder with `architecture.json` and `counts.json` and prints a number as its last line.
///
/// It is run by `sh`, with `{dir}` leaderboard for the folder: the path is handed over in a variable and never read as part
/// of the command. What exceeds its time is ended with all it started.
pub struct External {
    command: String,
    limit: Duration,
    retries: u32,
    least: bool,
}

impl External {
    /// A command with `{dir}` in it, how long it may take, how often it is tried again, and whether small is good.
    pub fn new(command: &str, limit: Duration, retries: u32, lower: bool) -> Result<Self> {
        if !command.contains("{dir}") {
            let message = "lacks {dir}, which stands for the folder with the network: './train.sh {dir}'";
            return Err(Error::option("evaluation command", message));
        }
        Ok(External { command: command.to_owned(), limit, retries, least: lower })
    }

    fn attempt(&self, folder: &Path) -> Result<f64, Failure> {
        let broken = |e: io::Error| failure("not-started", e);
        let (out, err) = (folder.join("stdout"), folder.join("stderr"));
        let network = folder.join("network");
        let mut command = Command::new("sh");
        command
            .arg("-c")
            .arg(self.command.replace("{dir}", "\"$FORETELL_DIR\""))
            .env("FORETELL_DIR", &network);
        command.stdin(Stdio::null());
        command.stdout(File::create(&out).map_err(broken)?).stderr(File::create(&err).map_err(broken)?);
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = Running::start(&mut command).map_err(broken)?;
        let Some(status) = child.wait(self.limit).map_err(broken)? else {
            return Err(failure("timeout", format!("took longer than {} s", self.limit.as_secs_f64())));
        };
        if !status.success() {
            return Err(failure("exit", format!("{status}\n{}", tail(&err, LINES))));
        }
        let line = tail(&out, 1);
        match line.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(if self.least { -value } else { value }),
            _ => {
                let message =
                    format!("the last line printed is '{line}', not a number\n{}", tail(&err, LINES));
                Err(failure("no-number", message))
            }
        }
    }
}

impl Evaluator for External {
    fn label(&self) -> String {
        format!("command {}{}", self.command, if self.least { LEAST } else { "" })
    }

    fn evaluate(&self, architecture: &Architecture) -> Result<f64, Failure> {
        let mut last = failure("not-started", "");
        for _ in 0..=self.retries {
            // Nothing of an attempt is left to the next one.
            let folder = Folder::new(architecture).map_err(|e| failure("not-started", e))?;
            match self.attempt(&folder.0) {
                Ok(value) => return Ok(value),
                Err(failure) => last = failure,
            }
        }
        Err(last)
    }
}

/// A network as files, gone when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(architecture: &Architecture) -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = format!("foretell-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let folder = Folder(std::env::temp_dir().join(name));
        // Not ours to share: a folder that is already there is refused.
        fs::create_dir(&folder.0)?;
        let network = folder.0.join("network");
        fs::create_dir(&network)?;
        let genes = Value::Object(space::write_architecture(architecture));
        fs::write(network.join("architecture.json"), genes.to_string())?;
        let counts = json!({
            "id": architecture.id(), "params": architecture.params().total,
            "flops": architecture.flops(Counter::Exact), "memory_bytes": architecture.memory().total(),
        });
        fs::write(network.join("counts.json"), counts.to_string())?;
        Ok(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The processes that evaluators started and that have not ended.
static RUNNING: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// Ends whatever evaluators are running: for a process that is about to end itself.
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
