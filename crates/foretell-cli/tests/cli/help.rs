//! Help, manual pages and completions, and the words they use.

use crate::support::Folder;

const SHELLS: [&str; 5] = ["bash", "zsh", "fish", "powershell", "elvish"];

/// The names of all manual pages, one per command.
fn pages(folder: &Folder) -> Vec<String> {
    let list = folder.ok("man --out pages");
    list.lines().map(str::to_owned).collect()
}

#[test]
fn completions_are_written_for_every_shell() {
    let folder = Folder::new();
    for shell in SHELLS {
        let script = folder.ok(&format!("completions {shell}"));
        for part in ["foretell", "calibrate", "max-params", "verify-store"] {
            assert!(script.contains(part), "{shell}: {part}");
        }
    }
    folder.fails("completions tcsh", 2, "tcsh");
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = Folder::new();
    let main = folder.ok("man");
    assert!(main.contains(".TH foretell 1") && main.contains("foretell\\-search(1)"), "{main}");
    assert!(!folder.0.join("pages").exists());
    let pages = pages(&folder);
    for name in
        ["foretell", "foretell-search", "foretell-studies-delete", "foretell-benchmark-path", "foretell-man"]
    {
        let page = folder.read(&format!("pages/{name}.1"));
        assert!(page.contains(&format!(".TH {name} 1")), "{name}: {page}");
        assert!(pages.iter().any(|page| page.ends_with(&format!("{name}.1"))), "{name}");
    }
    assert_eq!(std::fs::read_dir(folder.0.join("pages")).unwrap().count(), pages.len());
}

/// A command says what to do, an option what it takes, both in usual words.
#[test]
fn the_help_is_plain() {
    let folder = Folder::new();
    let archaic = [
        "foretold",
        "beside",
        "remember",
        "goes on",
        "go on",
        "mere",
        "so many",
        "one's own",
        "of its own",
        "anew",
        "reckon",
    ];
    for page in pages(&folder) {
        let name = page.rsplit(['/', '\\']).next().unwrap().trim_end_matches(".1").to_owned();
        let words = name
            .replacen("verify-store", "verify_store", 1)
            .replace('-', " ")
            .replace("verify_store", "verify-store");
        let help = folder.ok(&format!("{} --help", words.trim_start_matches("foretell").trim()));
        let first = help.split_whitespace().next().unwrap();
        assert!(!first.ends_with('s') || first == "Discuss", "{name} begins with {first}: {help}");
        assert!(first.starts_with(|c: char| c.is_ascii_uppercase()), "{name}: {help}");
        let text = help.to_lowercase();
        for word in archaic {
            assert!(
                !text
                    .split(|c: char| !c.is_alphabetic() && c != ' ' && c != '\'')
                    .any(|part| { format!(" {part} ").contains(&format!(" {word} ")) }),
                "{name} says {word:?}: {help}"
            );
        }
        // Every option is followed by its description.
        let lines: Vec<&str> = help.lines().collect();
        for (at, line) in lines.iter().enumerate().filter(|(_, line)| line.trim_start().starts_with("--")) {
            let described = line.trim().contains("  ")
                || lines.get(at + 1).is_some_and(|next| next.starts_with("          "));
            assert!(described, "{name}: {line}");
        }
    }
}
