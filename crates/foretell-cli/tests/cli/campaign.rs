//! Kills and power losses at random moments over every command that writes: the command is run again, and its result is the
//! one of an undisturbed run. `FORETELL_CAMPAIGN=N` runs N rounds of each instead of a few.
#![cfg(target_os = "linux")]

use crate::support::Folder;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Rounds of each command.
fn rounds() -> u64 {
    std::env::var("FORETELL_CAMPAIGN").ok().and_then(|count| count.parse().ok()).unwrap_or(2)
}

/// Random numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n.max(1)
    }
}

/// A command that writes.
struct Job {
    name: &'static str,
    /// What is run before, undisturbed.
    before: &'static [&'static str],
    command: &'static str,
    /// What stays the same: a command that prints it, or a folder or file.
    result: Outcome,
}

enum Outcome {
    /// What this command prints.
    Printed(&'static str),
    /// All files below a folder.
    Files(&'static str),
}

const NETWORK: &str = r#"{"family": "gpt2", "vocab_size": 257, "context_len": 32, "d_model": 16, "n_layer": 2,
    "n_head": [2, 2], "d_inner": [32, 16], "tie_projs": true}"#;
const CONFIG: &str = "space = \"space.toml\"\nnetworks = 3\nparams = [8_000, 40_000]\nstrata = 3\nrepeat = 1\nseeds = 1\n\
    data = \"text.txt\"\n[recipe]\nsteps = 6\nbatch = 4\ntokens = 16\nvalidate_samples = 8\n";
const SPACE: &str = "name = \"small\"\nfamily = \"gpt2\"\n[fixed]\nvocab_size = 257\ncontext_len = 32\ncutoffs = []\n\
    div_val = 1\n[choices]\nn_layer = [1, 2, 3]\nd_model = [16, 24, 32]\nn_head = [1, 2, 4]\nd_inner = [16, 32, 48, 64]\n";
const SEARCH: &str = "search --space flexibert --algorithm random --budget 24 --proxy snip[batch=1] --seeds 1 --name s --quiet";

const JOBS: &[Job] = &[
    Job { name: "search", before: &[], command: SEARCH, result: Outcome::Printed("show s -n 24 --json") },
    Job {
        name: "search by passes over several objectives",
        before: &[],
        command: "search --space flexibert --algorithm pareto --budget 40 --objective proxy --objective params --name s --quiet",
        result: Outcome::Printed("front s --json"),
    },
    Job {
        name: "train",
        before: &[],
        command: "train net.json --on text.txt --with steps=40 --with tokens=16 --with batch=4 -o run --save-every 0.05",
        result: Outcome::Files("run/checkpoint-0000000040"),
    },
    Job {
        name: "benchmark build",
        before: &[],
        command: "benchmark build config.toml -o built",
        result: Outcome::Files("built/architectures.jsonl"),
    },
    Job {
        name: "export",
        before: &[],
        command: "export net.json --to out --force",
        result: Outcome::Files("out"),
    },
    Job {
        name: "report",
        before: &[SEARCH],
        command: "report s -o page.html",
        result: Outcome::Files("page.html"),
    },
    Job {
        name: "merge",
        before: &[SEARCH],
        command: "merge both.db foretell.db",
        result: Outcome::Printed("best s --store both.db --json"),
    },
    Job {
        name: "verify",
        before: &["search --space space.toml --algorithm random --budget 20 --name s --quiet"],
        command: "verify s -k 1 --seeds 1 --on text.txt --with steps=6 --with tokens=16 --with batch=4 -o verified",
        result: Outcome::Files("verified/verification.json"),
    },
    Job {
        name: "score",
        before: &[],
        command: "score net.json --proxies snip,synflow,grad-norm --seeds 5",
        result: Outcome::Printed("score net.json --proxies snip,synflow,grad-norm --seeds 5 --json"),
    },
    Job {
        name: "predict",
        before: &[],
        command: "predict fit --benchmark gpt2-pentateuch --count 20 -o p.json",
        result: Outcome::Files("p.json"),
    },
];

fn folder(job: &Job) -> Folder {
    let folder = Folder::new();
    folder.write("net.json", NETWORK);
    folder.write("config.toml", CONFIG);
    folder.write("space.toml", SPACE);
    folder.write(
        "text.txt",
        &(0..300).map(|i| format!("{} sheep, and {} goats of Ur\n", i * i % 97, i % 13)).collect::<String>(),
    );
    job.before.iter().for_each(|command| drop(folder.ok(*command)));
    folder
}

/// Everything below a path, names and bytes, without times that differ from run to run.
fn files(path: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    if path.is_file() {
        return vec![(PathBuf::new(), std::fs::read(path).unwrap())];
    }
    let entries = std::fs::read_dir(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut all: Vec<(PathBuf, Vec<u8>)> = Vec::new();
    for entry in entries.flatten() {
        let inside = files(&entry.path()).into_iter();
        all.extend(inside.map(|(name, bytes)| (PathBuf::from(entry.file_name()).join(name), bytes)));
    }
    all.sort();
    all
}

/// What a job came to; seconds and times are left out.
fn outcome(job: &Job, folder: &Folder) -> Vec<(PathBuf, Vec<u8>)> {
    match job.result {
        Outcome::Files(path) => {
            let found = files(&folder.0.join(path));
            assert!(!found.is_empty(), "{path} holds nothing to compare");
            found.into_iter().map(|(name, bytes)| (name, without_times(&bytes))).collect()
        }
        Outcome::Printed(command) => vec![(PathBuf::new(), without_times(folder.ok(command).as_bytes()))],
    }
}

/// Text without fields and lines that hold times.
fn without_times(bytes: &[u8]) -> Vec<u8> {
    let Ok(text) = std::str::from_utf8(bytes) else { return bytes.to_vec() };
    let stripped = |text: &str| {
        let mut value = serde_json::from_str::<serde_json::Value>(text).ok()?;
        strip(&mut value);
        Some(value.to_string())
    };
    if let Some(whole) = stripped(text) {
        return whole.into_bytes();
    }
    let timed = |line: &&str| !["second", "202", "Written", " s,"].iter().any(|word| line.contains(word));
    let line = |line: &str| stripped(line).unwrap_or_else(|| line.to_owned());
    text.lines().filter(timed).map(line).collect::<String>().into_bytes()
}

fn strip(value: &mut serde_json::Value) {
    if let Some(object) = value.as_object_mut() {
        // A digest over times differs like them.
        let timed = |key: &str| key.contains("second") || key.contains("time") || key == "digest";
        object.retain(|key, _| !timed(key) && key != "provenance");
        object.values_mut().for_each(strip);
    }
    value.as_array_mut().into_iter().flatten().for_each(strip);
}

/// Runs a job with a disturbance a few times, then undisturbed, and compares.
fn disturbed(job: &Job, round: u64, run: &dyn Fn(&Folder, &mut Dice, &Job) -> bool) -> u64 {
    let undisturbed = folder(job);
    undisturbed.ok(job.command);
    let expected = outcome(job, &undisturbed);
    let (folder, mut dice) = (folder(job), Dice(round));
    let hits = (0..3).filter(|_| run(&folder, &mut dice, job)).count() as u64;
    folder.ok(job.command);
    let found = outcome(job, &folder);
    let differing = found.iter().zip(&expected).filter(|(found, expected)| found != expected);
    let names: Vec<&PathBuf> = differing.map(|(found, _)| &found.0).collect();
    assert!(found == expected, "{} in round {round} has another result: {names:?}", job.name);
    if job.before.contains(&SEARCH) || job.command == SEARCH {
        folder.ok("verify-store");
    }
    hits
}

#[test]
#[ignore = "loads the machine: ./check runs it alone"]
fn kills_over_every_command_that_writes() {
    for job in JOBS {
        let start = Instant::now();
        folder(job).ok(job.command);
        let whole = start.elapsed();
        let kill = |folder: &Folder, dice: &mut Dice, job: &Job| {
            let mut child = folder.start(job.command);
            std::thread::sleep(Duration::from_micros(dice.below(whole.as_micros() as u64)));
            child.kill().unwrap();
            child.wait().unwrap().code().is_none()
        };
        let hits: u64 = (0..rounds()).map(|round| disturbed(job, round, &kill)).sum();
        println!("{}: {hits} kills in {} rounds, the same result", job.name, rounds());
    }
}

/// Any number of threads, and pauses at random moments, give the same study.
#[test]
#[ignore = "loads the machine: ./check runs it alone"]
fn threads_and_pauses_change_nothing() {
    let job = &JOBS[0];
    let undisturbed = folder(job);
    undisturbed.ok(job.command);
    let expected = outcome(job, &undisturbed);
    for threads in [1, 16, 128] {
        let folder = folder(job);
        let mut dice = Dice(threads);
        let mut child = folder.start(&format!("{} --threads {threads}", job.command));
        for _ in 0..rounds() {
            for signal in ["-STOP", "-CONT"] {
                std::thread::sleep(Duration::from_millis(dice.below(60)));
                // The program may have ended by now.
                let _ = Command::new("kill").args([signal, &child.id().to_string()]).output();
            }
        }
        assert!(child.wait().unwrap().success());
        assert!(outcome(job, &folder) == expected, "{threads} threads");
    }
}

/// A library to preload, compiled: `power` takes back writes that were not synced, `clock` is ahead.
fn library(name: &str) -> PathBuf {
    let made = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.so"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/preload/{name}.c"));
    let cc = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .arg(&made)
        .arg(source)
        .arg("-ldl")
        .status();
    assert!(cc.expect("a C compiler, which SQLite is built with").success());
    made
}

#[test]
#[ignore = "loads the machine: ./check runs it alone"]
fn power_losses_over_every_command_that_writes() {
    let (library, mut all) = (library("power"), 0);
    for job in JOBS {
        let lose = |folder: &Folder, dice: &mut Dice, job: &Job| {
            let mut command = folder.command(job.command);
            command.env("LD_PRELOAD", &library).env("POWER_FOLDER", &folder.0);
            // Some commands write once, others hundreds of times.
            let most = [3, 12, 60][dice.below(3) as usize];
            command.env("POWER_AFTER", dice.below(most).to_string());
            command.stdout(Stdio::null()).stderr(Stdio::null());
            command.status().unwrap().code() == Some(137)
        };
        let hits: u64 = (0..rounds()).map(|round| disturbed(job, round, &lose)).sum();
        println!("{}: {hits} power losses in {} rounds, the same result", job.name, rounds());
        all += hits;
    }
    assert!(all >= 10 * rounds(), "only {all} power losses");
}

/// The program in process and host-name namespaces of its own, as in a container, with a clock that is some seconds ahead.
fn elsewhere(folder: &Folder, arguments: &[&str], ahead: i64) -> Command {
    let program = folder.command(arguments);
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--uts"]);
    command.arg(program.get_program()).args(program.get_args()).current_dir(&folder.0);
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.env("LD_PRELOAD", library("clock")).env("CLOCK_AHEAD", ahead.to_string());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Waits until a search holds its study.
fn held(folder: &Folder) {
    let start = Instant::now();
    while !folder.0.join("evaluating").exists() {
        assert!(start.elapsed() < Duration::from_secs(60), "the search does not begin");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A study is not taken from a living process of another container, whatever its clock and ours say, and is taken from a
/// dead one although its clock was ahead.
#[test]
#[ignore = "takes a minute: ./check runs it beside the kills"]
fn other_namespaces_and_clocks_take_nothing_from_the_living() {
    if !Command::new("unshare")
        .args(["--user", "--pid", "--fork", "true"])
        .status()
        .is_ok_and(|s| s.success())
    {
        println!("skipped: no namespaces on this machine");
        return;
    }
    let search = [
        "search",
        "--space",
        "flexibert",
        "--budget",
        "5",
        "--name",
        "s",
        "--evaluate-top",
        "1",
        "--evaluate-with",
    ];
    let search = [&search[..], &["test -d {dir}; touch \"$MARK\"; sleep \"$NAP\"; echo 1"]].concat();
    for (of_holder, of_thief) in [(0, 0), (0, 70), (0, -86_400), (86_400, 0)] {
        let folder = Folder::new();
        let start = |ahead: i64, nap: &str| {
            let mut command = elsewhere(&folder, &search, ahead);
            command.env("MARK", folder.0.join("evaluating")).env("NAP", nap).spawn().unwrap()
        };
        let mut holder = start(of_holder, "50");
        held(&folder);
        let thief = start(of_thief, "50").wait_with_output().unwrap();
        let error = String::from_utf8_lossy(&thief.stderr);
        assert_eq!(thief.status.code(), Some(1), "clocks {of_holder} and {of_thief} s ahead: {error}");
        assert!(error.contains("is being written"), "{error}");
        assert!(holder.try_wait().unwrap().is_none(), "the holder has ended");
        holder.kill().unwrap();
        holder.wait().unwrap();
        if of_holder > 0 {
            let heir = start(0, "0").wait_with_output().unwrap();
            assert!(heir.status.success(), "{}", String::from_utf8_lossy(&heir.stderr));
        }
    }
}
