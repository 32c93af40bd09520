//! What the machine does to an evaluation is never stored as a result of the network.
#![cfg(unix)]

use crate::support::Folder;
use serde_json::Value;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

const SEARCH: &str = "search --algorithm random --budget 30 --evaluate-top 3 --json --name s --quiet";

fn evaluate(folder: &Folder, store: &str, command: &str, temporary: Option<&str>) -> Output {
    let mut run = folder.command(&format!("{SEARCH} --store {store}"));
    run.args(["--evaluate-with", command]);
    if let Some(path) = temporary {
        run.env("TMPDIR", path);
    }
    run.output().unwrap()
}

fn hash(output: &Output) -> Value {
    let found: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&output.stderr)));
    assert!(found["evaluated"]["value"].is_number(), "{found}");
    found["hash"].clone()
}

/// A missing or full folder for temporary files, and a command that was killed: exit 1, and the same command goes on.
#[test]
fn the_same_command_goes_on() {
    let folder = Folder::new();
    let command = "if [ -e broken ]; then kill -9 $$; fi; wc -c < {dir}/architecture.json";
    let whole = hash(&evaluate(&folder, "whole.db", command, None));
    let failed = evaluate(&folder, "a.db", command, Some("missing/folder"));
    let text = String::from_utf8_lossy(&failed.stderr).into_owned();
    assert_eq!(failed.status.code(), Some(1), "{text}");
    assert!(text.contains("cannot write") && text.contains("missing/folder"), "{text}");
    assert_eq!(hash(&evaluate(&folder, "a.db", command, None)), whole);
    folder.write("broken", "");
    let killed = evaluate(&folder, "b.db", command, None);
    let text = String::from_utf8_lossy(&killed.stderr).into_owned();
    assert_eq!(killed.status.code(), Some(1), "{text}");
    assert!(text.contains("signal 9") && text.contains("the same command"), "{text}");
    std::fs::remove_file(folder.0.join("broken")).unwrap();
    assert_eq!(hash(&evaluate(&folder, "b.db", command, None)), whole);
}

/// Folders that an earlier process with the same id left behind are in nobody's way.
#[test]
fn old_folders_are_in_nobodys_way() {
    let folder = Folder::new();
    let temporary = folder.0.join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    // The shell's id is the program's after exec; the folder is named as earlier releases did.
    let script = format!(
        "for i in 0 1 2; do mkdir -p {0}/foretell-$$-$i; done; export TMPDIR={0}; exec {1} {SEARCH} --evaluate-with 'wc -c < {{dir}}/architecture.json'",
        temporary.display(),
        env!("CARGO_BIN_EXE_foretell"),
    );
    let output = Command::new("sh").arg("-c").arg(script).current_dir(&folder.0).output().unwrap();
    hash(&output);
}

/// Whether a process runs; one that ended and is not waited for does not.
fn lives(pid: u32) -> bool {
    let state = Command::new("ps").args(["-o", "stat=", "-p", &pid.to_string()]).output().unwrap();
    let state = String::from_utf8_lossy(&state.stdout).into_owned();
    !state.trim().is_empty() && !state.starts_with('Z')
}

/// Whether this process, and what it starts, goes on when its terminal is closed.
fn ignores_hangups() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap_or("0");
    u64::from_str_radix(mask.trim(), 16).is_ok_and(|mask| mask & 1 == 1)
}

/// Signals end the search and the command it runs, and store nothing of it.
#[test]
fn signals_store_no_failure() {
    let folder = Folder::new();
    let command = "echo $$ > pid; sleep 0.6; wc -c < {dir}/architecture.json";
    let whole = hash(&evaluate(&folder, "whole.db", command, None));
    for (signal, code) in [("-HUP", 129), ("-INT", 130), ("-QUIT", 131), ("-TERM", 143)] {
        if signal == "-HUP" && ignores_hangups() {
            println!("skipped: hangups are ignored, as after nohup");
            continue;
        }
        let _ = std::fs::remove_file(folder.0.join("pid"));
        let store = format!("s{code}.db");
        let mut run = folder.command(&format!("{SEARCH} --store {store}"));
        let mut child = run.args(["--evaluate-with", command]).spawn().unwrap();
        let start = Instant::now();
        let pid = loop {
            let text = std::fs::read_to_string(folder.0.join("pid")).unwrap_or_default();
            if let Ok(pid) = text.trim().parse::<u32>() {
                break pid;
            }
            assert!(start.elapsed() < Duration::from_secs(30), "nothing was evaluated");
            std::thread::sleep(Duration::from_millis(5));
        };
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
        assert_eq!(child.wait().unwrap().code(), Some(code), "{signal}");
        let start = Instant::now();
        while lives(pid) {
            assert!(start.elapsed() < Duration::from_secs(5), "{signal} left the command running");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(hash(&evaluate(&folder, &store, command, None)), whole, "{signal}");
    }
}
