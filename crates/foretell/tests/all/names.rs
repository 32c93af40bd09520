//! Tensor names stand in one place: the module `names` in the architecture file of the family that has them.

use super::layers::rust_files;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Files that may write names of tensors, and how those names begin.
const EXCEPTIONS: [(&str, &str); 4] = [
    // What transformers' own model calls the words that have another name here.
    ("foretell-network/src/network/gpt2.rs", "wte."),
    // The end of a buffer's name in files of transformers.
    ("foretell-network/src/network/names.rs", ".attn."),
    // The end of a name, which files of old spell otherwise.
    ("foretell-network/src/network/weights.rs", "LayerNorm."),
    // Heads are trained beside a network and thrown away: no family has them.
    ("foretell/src/train/head.rs", "head."),
];

#[test]
fn tensor_names_stand_once() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let folders = fs::read_dir(crates).unwrap().map(|entry| entry.unwrap().path().join("src"));
    let files = folders.filter(|folder| folder.is_dir()).flat_map(|folder| rust_files(&folder));
    let (mut known, mut rest, mut families) = (BTreeSet::new(), Vec::new(), 0);
    for file in files.filter(|file| !file.ends_with("tests.rs")) {
        let text = fs::read_to_string(&file).unwrap();
        let name = file.strip_prefix(crates).unwrap().to_str().unwrap().replace('\\', "/");
        let mut code = text.split("#[cfg(test)]\nmod tests {").next().unwrap().to_owned();
        let family = name.starts_with("foretell-core/src/architecture/") && !name.ends_with("/mod.rs");
        if let Some(start) = code.find("\npub mod names {\n").filter(|_| family) {
            let end = start + code[start..].find("\n}\n").unwrap();
            let mut own = BTreeSet::new();
            for literal in literals(&code[start..end]) {
                assert!(own.insert(literal.to_owned()), "{name}: {literal} stands twice in its names");
            }
            code.replace_range(start..end, "");
            known.extend(own);
            families += 1;
        }
        rest.push((name, code));
    }
    assert!(families == 10 && known.len() > 150, "{} names of {families} families", known.len());

    let mut excepted = BTreeSet::new();
    for (name, code) in &rest {
        for literal in literals(code).filter(|literal| known.contains(*literal) || looks_like_a_name(literal))
        {
            let exception =
                EXCEPTIONS.iter().find(|(file, start)| file == name && literal.starts_with(start));
            let exception = exception.unwrap_or_else(|| {
                panic!("{name}: {literal:?} belongs into the names of its family, architecture::names")
            });
            excepted.insert(exception);
        }
    }
    assert_eq!(excepted.len(), EXCEPTIONS.len(), "an exception that nothing needs: {excepted:?}");
}

/// What stands between two quotation marks of one line and has only characters of names, comments left out.
fn literals(code: &str) -> impl Iterator<Item = &str> {
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.flat_map(|line| {
        let pieces: Vec<_> = line.split('"').collect();
        let inner = 1..pieces.len().max(2) - 1;
        pieces[inner].iter().copied().filter(|piece| is_plain(piece)).collect::<Vec<_>>()
    })
}

fn is_plain(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "_.{}".contains(c))
}

/// Whether it ends as weights and biases do, after more than a dot.
fn looks_like_a_name(literal: &str) -> bool {
    literal.strip_suffix(".weight").or(literal.strip_suffix(".bias")).is_some_and(is_plain)
}

#[test]
fn names_are_told_from_other_text() {
    for name in ["head.weight", "blocks.{}.fc1.bias", "encoder.layer.{}.attention.self.query.weight"] {
        assert!(looks_like_a_name(name), "{name}");
    }
    for text in ["", ".weight", ".bias", "bias", "weights.0", "the model.weight", "README.md"] {
        assert!(!looks_like_a_name(text), "{text}");
    }
    let code = "// \"a.bias\"\nf([\"a.weight\", \"\"], 1); // \"b\"";
    assert_eq!(literals(code).collect::<Vec<_>>(), ["a.weight", "b"]);
}
