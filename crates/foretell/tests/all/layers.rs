//! Keeps the import table of ARCHITECTURE.md true: which module may name which.

use std::fs;
use std::path::Path;

/// Module, and the modules of the library that it may name.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("error", &[]),
    ("cancel", &["error"]),
    ("seed", &[]),
    ("units", &[]),
    ("file", &["error"]),
    ("catalogue", &["error"]),
    ("architecture", &["catalogue", "error"]),
    ("engine", &[]),
    ("network", &["architecture", "cancel", "engine", "error", "file", "seed", "space"]),
    ("probe", &["architecture", "engine", "error", "file", "network", "seed", "space"]),
    ("space", &["architecture", "cancel", "catalogue", "error", "file", "seed", "units"]),
    ("proxy", &["architecture", "catalogue", "engine", "error", "network", "probe", "rank", "space"]),
    ("latency", &["architecture", "engine", "error", "network", "probe", "seed", "space"]),
    ("data", &["error", "file", "score", "seed"]),
    (
        "train",
        &["architecture", "cancel", "data", "engine", "error", "file", "network", "score", "seed", "space"],
    ),
    ("rank", &[]),
    ("score", &["architecture", "cancel", "error", "file", "network", "probe", "proxy", "rank", "seed"]),
    ("search", &["catalogue", "error", "rank", "seed"]),
    ("store", &["cancel", "error", "file"]),
    (
        "study",
        &[
            "architecture",
            "benchmark",
            "cancel",
            "catalogue",
            "data",
            "error",
            "latency",
            "predict",
            "proxy",
            "rank",
            "score",
            "search",
            "seed",
            "space",
            "store",
            "train",
            "units",
        ],
    ),
    (
        "remote",
        &["architecture", "cancel", "error", "probe", "proxy", "score", "seed", "space", "store", "study"],
    ),
    ("predict", &["architecture", "engine", "error", "file", "proxy", "rank", "seed", "space"]),
    (
        "discover",
        &["architecture", "catalogue", "error", "file", "probe", "proxy", "rank", "score", "search", "seed"],
    ),
    (
        "report",
        &[
            "architecture",
            "benchmark",
            "error",
            "latency",
            "proxy",
            "rank",
            "search",
            "seed",
            "space",
            "store",
            "study",
            "units",
        ],
    ),
    (
        "reproduce",
        &[
            "architecture",
            "benchmark",
            "cancel",
            "catalogue",
            "data",
            "discover",
            "error",
            "file",
            "proxy",
            "rank",
            "report",
            "score",
            "search",
            "seed",
            "space",
            "store",
            "study",
            "train",
            "units",
        ],
    ),
    ("export", &["architecture", "catalogue", "error", "file", "network"]),
    ("prelude", &["architecture", "cancel", "error", "proxy", "score", "search", "seed", "space", "study"]),
    ("hub", &["architecture", "catalogue", "error", "file", "space"]),
    (
        "benchmark",
        &[
            "architecture",
            "catalogue",
            "data",
            "error",
            "file",
            "network",
            "proxy",
            "rank",
            "score",
            "seed",
            "space",
            "train",
        ],
    ),
];

/// Crates of the library, each with the modules that it holds; they depend on those before them alone.
const CRATES: [(&str, &[&str]); 4] = [
    (
        "foretell-core",
        &["error", "cancel", "seed", "units", "file", "catalogue", "rank", "architecture", "space"],
    ),
    ("foretell-network", &["network", "probe"]),
    ("foretell-proxy", &["proxy", "score"]),
    (
        "foretell",
        &[
            "benchmark",
            "data",
            "discover",
            "export",
            "hub",
            "latency",
            "predict",
            "prelude",
            "remote",
            "report",
            "reproduce",
            "search",
            "store",
            "study",
            "train",
        ],
    ),
];

#[test]
fn modules_import_only_what_the_table_allows() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found = 0;
    for (name, modules) in CRATES {
        let mut known: Vec<String> = Vec::new();
        for entry in fs::read_dir(crates.join(name).join("src")).unwrap() {
            let path = entry.unwrap().path();
            let module = path.file_stem().unwrap().to_str().unwrap().to_owned();
            if module == "lib" {
                continue;
            }
            let allowed = MAY_IMPORT.iter().find(|(name, _)| *name == module);
            let allowed = allowed.unwrap_or_else(|| panic!("{module} is missing from the import table")).1;
            found += check(&path, &module, allowed);
            known.push(module);
        }
        known.sort();
        let mut expected = modules.to_vec();
        expected.sort_unstable();
        assert_eq!(known, expected, "{name}");
    }
    found += check(&crates.join("foretell-engine/src"), "engine", &[]);
    assert!(found > 250, "only {found} files were looked at");
}

/// Looks at every file of a module; how many there are.
fn check(path: &Path, module: &str, allowed: &[&str]) -> usize {
    let files = if path.is_dir() { rust_files(path) } else { vec![path.to_owned()] };
    let all = || MAY_IMPORT.iter().map(|(name, _)| *name);
    for file in &files {
        let text = fs::read_to_string(file).unwrap();
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        for name in code.flat_map(|line| line.split("crate::").skip(1).map(str::to_owned).collect::<Vec<_>>())
        {
            let name: String = name.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            assert!(
                name == module
                    || allowed.contains(&name.as_str())
                    || module == "engine" && all().all(|known| known != name),
                "{}: imports {name}",
                file.display()
            );
        }
    }
    files.len()
}

pub fn rust_files(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| if path.is_dir() { rust_files(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|e| e == "rs"))
        .collect()
}

/// Families own their facts: outside a family's own files nobody asks which family an architecture is of by its name.
/// What is compared is the kind of network, a fact that the family states, or two families with each other.
#[test]
fn families_are_not_told_apart_by_name() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let names: Vec<String> =
        foretell::architecture::families().iter().map(|family| format!("\"{}\"", family.name())).collect();
    let own: Vec<String> = names.iter().map(|name| name.trim_matches('"').replace('-', "_")).collect();
    let sources = [
        "foretell-core",
        "foretell-engine",
        "foretell-network",
        "foretell-proxy",
        "foretell",
        "foretell-cli",
        "foretell-python",
    ]
    .iter()
    .flat_map(|name| rust_files(&crates.join(name).join("src")));
    let (mut looked, mut found) = (0, Vec::new());
    for file in sources {
        let stem = file.file_stem().unwrap().to_str().unwrap().to_owned();
        if own.contains(&stem) || stem == "tests" {
            continue;
        }
        looked += 1;
        let text = fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        for (number, line) in code.lines().enumerate() {
            let line = line.split("//").next().unwrap();
            let asks = line.contains(".name()") && (line.contains("family()") || line.contains("family."));
            let compares = ["==", "!=", "match ", "matches!"].iter().any(|word| line.contains(word));
            // An arm, a comparison or a look-up of a literal, wherever the name came from.
            let literal = names.iter().any(|name| line.contains(name));
            let used = ["=>", "==", "family(", "\"family\""].iter().any(|word| line.contains(word));
            if asks && compares || literal && used {
                found.push(format!("{}:{}: {}", file.display(), number + 1, line.trim()));
            }
        }
    }
    let allowed = |line: &String| ALLOWED.iter().any(|(file, _)| line.contains(file));
    found.retain(|line| !allowed(line));
    assert!(looked > 200, "only {looked} files were looked at");
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Files that name families for another reason.
const ALLOWED: [(&str, &str); 1] =
    [("architecture/family.rs", "compares two families, which is what their names are for")];
