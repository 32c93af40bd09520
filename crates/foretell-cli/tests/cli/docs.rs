//! Every `foretell` command in the documentation exists, with its long options.

use crate::support::Folder;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The commands and long options that a help text lists.
#[derive(Clone)]
struct Help {
    commands: BTreeSet<String>,
    options: BTreeSet<String>,
}

impl Help {
    fn parse(text: &str) -> Self {
        let (mut commands, mut options) = (BTreeSet::new(), BTreeSet::new());
        let mut listing = false;
        for line in text.lines() {
            if !line.is_empty() && !line.starts_with(' ') {
                listing = line == "Commands:";
            }
            let words = line.trim_start();
            // An entry is indented by two spaces, its description by more.
            if listing && line.len() == words.len() + 2 {
                commands.extend(words.split_whitespace().next().map(str::to_owned));
            }
            if words.starts_with('-') {
                let long = words.split([' ', ',', '=']).find(|word| word.starts_with("--"));
                options.extend(long.map(str::to_owned));
            }
        }
        Help { commands, options }
    }
}

/// Help texts, each asked for once.
struct Helps {
    folder: Folder,
    known: BTreeMap<String, Help>,
}

impl Helps {
    fn of(&mut self, command: &str) -> Help {
        let known = self.known.get(command).cloned();
        known.unwrap_or_else(|| {
            let help = Help::parse(&self.folder.ok(&format!("{command} --help")));
            self.known.insert(command.to_owned(), help.clone());
            help
        })
    }

    /// What is wrong with a command line, without the program's name.
    fn check(&mut self, words: &[String]) -> Option<String> {
        let mut path = String::new();
        let mut help = self.of("");
        let mut rest = words;
        while let Some((word, further)) = rest.split_first().filter(|(word, _)| is_command(word)) {
            if help.commands.is_empty() {
                break;
            }
            if !help.commands.contains(word) {
                return Some(format!("there is no command 'foretell{path} {word}'"));
            }
            path = format!("{path} {word}");
            help = self.of(path.trim());
            rest = further;
        }
        let long = rest.iter().filter(|word| word.starts_with("--") && word.len() > 2);
        let mut long = long.map(|word| word.split('=').next().unwrap_or(word));
        let unknown = long.find(|option| !help.options.contains(*option))?;
        Some(format!("'foretell{path}' has no option {unknown}"))
    }
}

/// A word that can be a command: lower case and hyphens.
fn is_command(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_lowercase())
        && word.chars().all(|c| c.is_ascii_lowercase() || c == '-')
}

/// A shell line as commands of words. Quotes are honoured, comments left out.
fn commands(line: &str) -> Vec<Vec<String>> {
    let (mut found, mut words, mut word) = (Vec::new(), Vec::new(), String::new());
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), c) => word.push(c),
            (None, '\'' | '"') => quote = Some(c),
            (None, '#') if word.is_empty() => break,
            (None, ' ' | '|' | '&' | ';') => {
                words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
                if c != ' ' {
                    found.push(std::mem::take(&mut words));
                }
            }
            (None, c) => word.push(c),
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    found.push(words);
    found.retain(|words| !words.is_empty());
    found
}

/// The words behind `foretell`, or behind `cargo run … --`; none if the command is another program.
fn arguments(words: &[String]) -> Option<&[String]> {
    let start = words.iter().position(|word| !word.contains('=')).unwrap_or(0);
    match &words[start..] {
        [program, rest @ ..] if program == "foretell" => Some(rest),
        [cargo, run, rest @ ..] if cargo == "cargo" && run == "run" => {
            let end = rest.iter().position(|word| word == "--")?;
            (!rest.contains(&"--example".to_owned())).then_some(&rest[end + 1..])
        }
        _ => None,
    }
}

/// The shell lines of a page: those of its `sh` blocks, and code in the text that begins with `foretell`.
fn shell_lines(text: &str) -> Vec<String> {
    let (mut lines, mut prose, mut fence) = (Vec::new(), String::new(), None);
    let text = text.replace("\\\n", " ");
    for line in text.lines() {
        match (line.trim_start().strip_prefix("```"), fence) {
            (Some(_), Some(_)) => fence = None,
            (Some(language), None) => fence = Some(language == "sh"),
            (None, Some(true)) => lines.push(line.to_owned()),
            (None, Some(false)) => {}
            (None, None) => prose += &format!("{line}\n"),
        }
    }
    let code = prose.split('`').skip(1).step_by(2).map(|code| code.replace('\n', " ").replace("\\|", "|"));
    lines.extend(code.filter(|code| code.starts_with("foretell ")));
    lines
}

fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = ["docs", "docs/papers"].map(|folder| fs::read_dir(root.join(folder)).unwrap());
    let docs = folders.into_iter().flatten().map(|entry| entry.unwrap().path());
    let mut pages: Vec<PathBuf> = docs.filter(|path| path.extension().is_some_and(|e| e == "md")).collect();
    pages.extend(["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md"].map(|name| root.join(name)));
    pages.sort();
    pages
}

#[test]
fn documented_commands_exist() {
    let mut helps = Helps { folder: Folder::new(), known: BTreeMap::new() };
    let (mut wrong, mut checked) = (Vec::new(), 0);
    for page in pages() {
        for line in shell_lines(&fs::read_to_string(&page).unwrap()) {
            for command in commands(&line) {
                let Some(words) = arguments(&command) else { continue };
                checked += 1;
                if let Some(problem) = helps.check(words) {
                    wrong.push(format!("{}: {line}: {problem}", page.display()));
                }
            }
        }
    }
    assert!(checked > 100, "only {checked} commands were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn shell_lines_are_cut_into_commands() {
    let cut = |line: &str| commands(line).iter().map(|words| words.join("·")).collect::<Vec<_>>();
    assert_eq!(cut("foretell rank - # a | b"), ["foretell·rank·-"]);
    assert_eq!(
        cut("A=b foretell best 'x | y' --json | foretell rank -"),
        ["A=b·foretell·best·x | y·--json", "foretell·rank·-"]
    );
    let page = "```sh\nforetell a \\\n  --b\n```\n```text\nforetell c\n```\nSee `foretell d \\| e` and `f`.";
    assert_eq!(shell_lines(page), ["foretell a    --b", "foretell d | e"]);
    let words = |line: &str| commands(line).remove(0);
    assert_eq!(arguments(&words("cargo run --release -- search")).unwrap(), ["search"]);
    assert!(arguments(&words("cargo run --example a -- b")).is_none());
    assert!(arguments(&words("python train.py --data X")).is_none());
}
