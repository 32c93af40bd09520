//! Whatever kind of study it is, every command names the same winner.

use crate::support::Folder;
use serde_json::Value;

const SMALL: &str = "name = \"small\"\nfamily = \"vit\"\n[fixed]\nimage_size = 32\npatch_size = 8\nnum_classes = 10\n[choices]\n\
                     embed_dim = [48, 64]\ndepth = [3, 4, 5]\nnum_heads = [2, 4]\nmlp_ratio = [2.0, 3.0, 4.0]\n";

/// The id that each command gives to the winner of a study must be that of `trial`.
#[track_caller]
fn agree(folder: &Folder, study: &str, store: &str, trial: &Value) {
    let first = |command: &str| folder.json(&format!("{command} --store {store}"));
    let shown = first(&format!("show {study} -n 1"));
    assert_eq!((&shown["trial"], &shown["winner"]), (trial, &true.into()), "{study}: show");
    let id = shown["architecture"]["id"].as_str().unwrap();
    folder.write("best.json", &first(&format!("best {study}")).to_string());
    assert_eq!(folder.json("count best.json")["id"], id, "{study}: best");
    let exported = first(&format!("export {study} --to out --target json --force"));
    assert_eq!(exported["id"], id, "{study}: export");
    folder.ok(&format!("report {study} --store {store} -o page.html --force"));
    let page = folder.read("page.html");
    let winner = page.split("<h2>Winner</h2>").nth(1).expect("a report has a winner");
    assert!(winner.split("</section>").next().unwrap().contains(id), "{study}: report");
    let front = folder.ok(&format!("front {study} --store {store} --json"));
    let marked: Vec<Value> = front.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let marked: Vec<&Value> = marked.iter().filter(|line| line["winner"] == true).collect();
    assert!(marked.iter().all(|line| line["trial"] == *trial), "{study}: front");
}

#[test]
fn every_command_names_the_same_winner() {
    let folder = Folder::new();
    folder.write("small.toml", SMALL);
    let kinds = [
        ("exact", "--space small.toml"),
        ("published", "--space small.toml --algorithm block-wise --budget 60"),
        ("memetic", "--space small.toml --algorithm memetic --budget 60"),
        ("set", "--space small.toml --proxy dss++[batch=2] --budget 20 --seeds 2"),
        ("several", "--space small.toml --objective proxy --objective params --budget 60"),
        ("three", "--space small.toml --objective proxy --objective flops --objective memory --budget 60"),
        ("limited", "--space small.toml --max-latency 1s --budget 40"),
        ("timed", "--space small.toml --objective proxy --objective latency --budget 40"),
    ];
    for (name, words) in kinds {
        let found = folder.json(&format!("search --name {name} {words}"));
        agree(&folder, name, "foretell.db", &found["trial"]);
    }
    // Evaluated: the value is the number of the trial's line in a file, so the last one asked wins.
    for (name, words) in [("asked", ""), ("asked-several", "--objective proxy --objective params")] {
        let words =
            format!("search --space small.toml --algorithm random --budget 20 --name {name} --json {words}");
        let mut run = folder.command(&words);
        let count = format!("echo x >> {name}; wc -l < {name}; : {{dir}}");
        let output = run.args(["--evaluate-with", &count]).output().unwrap();
        let found: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(found["evaluated"]["value"], 5.0, "{found}");
        agree(&folder, name, "foretell.db", &found["trial"]);
    }
    // Shards, with and without a limit that is measured.
    for (name, words) in [
        ("job", ""),
        ("timed-job", "--max-latency 1s"),
        ("front-job", "--objective proxy --objective params"),
    ] {
        for shard in 1..=2 {
            folder.ok(&format!(
                "search --space small.toml --algorithm random --budget 40 --name {name} --shard {shard}/2 --store {name}{shard}.db {words}"
            ));
        }
        folder.ok(&format!("merge {name}.db {name}1.db {name}2.db"));
        let shown = folder.json(&format!("show {name} -n 1 --store {name}.db"));
        agree(&folder, name, &format!("{name}.db"), &shown["trial"]);
        // Merging once more changes nothing.
        folder.ok(&format!("merge {name}.db {name}2.db {name}1.db"));
        agree(&folder, name, &format!("{name}.db"), &shown["trial"]);
    }
}

/// A finished study that is given a larger budget says what is new, and an unfinished answer is never taken for a final one.
#[test]
fn a_larger_budget_says_what_is_new() {
    let folder = Folder::new();
    let search = "search --algorithm random --seed 4 --name grows --budget";
    folder.ok(&format!("{search} 5"));
    let text = folder.ok(&format!("{search} 400"));
    assert!(text.contains("395 new candidates; trial"), "{text}");
    let same = folder.ok(&format!("{search} 400"));
    assert!(!same.contains("new candidates"), "{same}");
    let still = folder.ok(&format!("{search} 401"));
    assert!(still.contains("1 new candidates; the winner is still trial"), "{still}");
}

/// A limit on latency holds when the winner is measured again by another process; a limit on cache holds by count.
#[test]
fn limits_hold_for_decoders() {
    let folder = Folder::new();
    let space = "name = \"lm\"\nfamily = \"gpt2\"\n[fixed]\nvocab_size = 300\ncontext_len = 64\nhead = \"plain\"\n[choices]\nn_layer = [2, 3, 4, 6]\n\
                 d_model = [32, 64, 96]\nn_head = [2, 4]\nd_inner = [64, 128, 256]\n";
    folder.write("lm.toml", space);
    let found = folder.json("search --space lm.toml --max-cache 100k --name cache");
    assert!(found["cache_bytes"].as_u64().unwrap() <= 100_000, "{found}");
    agree(&folder, "cache", "foretell.db", &found["trial"]);
    let found = folder
        .json("search --space lm.toml --max-token-latency 10s --max-latency 10s --budget 80 --name token");
    assert!(found["latency"]["decode"]["seconds"].as_f64().unwrap() < 10.0, "{found}");
    assert!(found["latency"]["prefill"]["seconds"].as_f64().unwrap() < 10.0, "{found}");
    assert_eq!(found["answer"]["latency"].as_array().unwrap().len(), 2);
    agree(&folder, "token", "foretell.db", &found["trial"]);
    let front = "search --space lm.toml --objective proxy --objective token-latency --objective cache --budget 60 --name trade";
    let found = folder.json(front);
    agree(&folder, "trade", "foretell.db", &found["trial"]);
}
