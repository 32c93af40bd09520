//! Output on a terminal of 80 columns fits it; what is piped is whole.

use crate::support::Folder;
use std::process::{Command, Stdio};
use unicode_width::UnicodeWidthStr;

/// What a command prints on a terminal with this many columns; none where there is no `script`.
fn on_terminal(folder: &Folder, arguments: &str, columns: u32) -> Option<String> {
    let binary = env!("CARGO_BIN_EXE_foretell");
    let command = format!("stty cols {columns} rows 24; {binary} {arguments}");
    let output = Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .current_dir(&folder.0)
        .env("FORETELL_CACHE", folder.0.join("cache"))
        .env_remove("FORETELL_BENCHMARKS")
        .stdin(Stdio::null())
        .output()
        .ok()?;
    assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stdout));
    Some(String::from_utf8(output.stdout).unwrap())
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
