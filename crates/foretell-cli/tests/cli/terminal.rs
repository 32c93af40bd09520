//! Output on a terminal of 80 columns fits it; what is piped is whole.

use crate::support::Folder;
use std::io::Write;
use std::process::{Command, Stdio};
use unicode_width::UnicodeWidthStr;

/// What a command prints on a terminal with this many columns; none where there is no `script`.
fn on_terminal(folder: &Folder, arguments: &str, columns: u32) -> Option<String> {
    let binary = env!("CARGO_BIN_EXE_foretell");
    let command = format!("stty cols {columns} rows 24; {binary} {arguments}");
    let output = script(folder, &command).stdin(Stdio::null()).output().ok()?;
    assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stdout));
    Some(String::from_utf8(output.stdout).unwrap())
}

/// The program that runs a command on a terminal.
fn script(folder: &Folder, command: &str) -> Command {
    let mut script = Command::new("script");
    script.args(["-qec", command, "/dev/null"]).current_dir(&folder.0);
    script.env("FORETELL_CACHE", folder.0.join("cache"));
    script.env_remove("FORETELL_BENCHMARKS").env_remove("FORETELL_STORE");
    folder.at_home(&mut script);
    script
}

/// A terminal is asked before a study is deleted; only yes deletes it.
#[test]
fn deleting_asks_on_a_terminal() {
    let folder = Folder::new();
    if on_terminal(&folder, "algorithms", 80).is_none() {
        eprintln!("!!! SKIPPED: there is no program `script`, so nothing runs on a terminal");
        return;
    }
    folder.ok("search --budget 5 --name s");
    let command = format!("{} studies delete s", env!("CARGO_BIN_EXE_foretell"));
    for (answer, code, left) in [("n\n", 1, 1), ("\n", 1, 1), ("y\n", 0, 0)] {
        let mut asked = script(&folder, &command);
        let mut asked = asked.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        asked.stdin.as_mut().unwrap().write_all(answer.as_bytes()).unwrap();
        let output = asked.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains("Delete study 's' with 5 candidates from foretell.db? [y/N]"), "{text}");
        assert_eq!(output.status.code(), Some(code), "{text}");
        assert_eq!(folder.ok("studies --json").lines().count(), left, "{text}");
    }
}

/// The text without what moves the cursor or clears a line.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\u{1b}' => {
                let _ = characters.by_ref().find(|c| c.is_ascii_alphabetic());
            }
            '\r' => plain.push('\n'),
            other => plain.push(other),
        }
    }
    plain
}

#[test]
fn tables_fit_a_terminal() {
    let folder = Folder::new();
    if on_terminal(&folder, "algorithms", 80).is_none() {
        eprintln!("!!! SKIPPED: there is no program `script`, so nothing runs on a terminal");
        return;
    }
    for columns in [80, 120] {
        for arguments in
            ["spaces", "proxies", "proxies snip", "bench gpt2-pentateuch", "algorithms", "sample gpt2 -n 2"]
        {
            let text = plain(&on_terminal(&folder, arguments, columns).unwrap());
            assert!(text.lines().count() > 2, "{arguments}: {text}");
            for line in text.lines() {
                let width = line.width();
                assert!(
                    width <= columns as usize,
                    "{arguments}: {width} columns, {columns} are there: {line}"
                );
            }
        }
    }
    let narrow = on_terminal(&folder, "spaces", 80).unwrap();
    assert!(narrow.contains('…'), "{narrow}");
    // A pipe gets everything.
    let whole = folder.ok("spaces");
    assert!(!whole.contains("…\n") && whole.lines().any(|line| line.width() > 120), "{whole}");
    assert!(folder.ok("bench gpt2-pentateuch").contains("distinct"));
}
