//! Options of every command: `--quiet`, `--verbose`, `--dry-run`, and errors as JSON. Also `studies delete`.

use crate::support::Folder;
use serde_json::Value;
use std::time::{Duration, Instant};

const GPT2: &str = r#"{"family": "gpt2", "vocab_size": 300, "context_len": 16, "d_model": 24, "n_layer": 2, "n_head": [2, 4],
    "d_inner": [20, 40]}"#;

const LM: &str = "name = \"lm\"\nfamily = \"gpt2\"\n[fixed]\nvocab_size = 257\ncontext_len = 32\ncutoffs = []\ndiv_val = 1\n\
                  [choices]\nn_layer = [1, 2, 3]\nd_model = [16, 24, 32]\nn_head = [1, 2, 4]\nd_inner = [16, 32, 48, 64]\n";
const SMALL: &str = "name = \"small\"\nfamily = \"vit\"\n[fixed]\nimage_size = 32\npatch_size = 8\nnum_classes = 10\n[choices]\n\
                     embed_dim = [48, 64]\ndepth = [3, 4, 5]\nnum_heads = [2, 4]\nmlp_ratio = [2.0, 3.0, 4.0]\n";

#[test]
fn quiet_prints_results_only() {
    let folder = Folder::new();
    folder.write("net.json", GPT2);
    let train = "train net.json --with steps=4 --with batch=2 --with part=1 --with validate_every=2 --with validate_samples=2";
    assert!(folder.said(&format!("{train} -o loud")).contains("validation"));
    assert_eq!(folder.said(&format!("{train} -o quiet --quiet")), "");
    for (arguments, note) in [
        ("search --budget 10", "Next:"),
        ("search --budget 10", "warning: there is no table"),
        ("proxies", "Details of one"),
        ("spaces", "A space file works like a preset"),
        ("bench gpt2-pentateuch --resamples 0 --proxies params", "Kendall"),
    ] {
        let (loud, quiet) = (folder.ok(arguments), folder.ok(&format!("{arguments} --quiet")));
        assert!(loud.contains(note) && !quiet.contains(note), "{arguments}: {quiet}");
        assert!(quiet.len() > 100, "{arguments}: the result is left: {quiet}");
    }
    folder.fails("spaces nowhere --quiet", 2, "unknown space");
    folder.fails("spaces --quiet --verbose", 2, "--verbose");
}

#[test]
fn verbose_says_what_is_read_cached_and_decided() {
    let folder = Folder::new();
    folder.write("net.json", GPT2);
    let said = folder.said("search --budget 10 --name s --verbose --json");
    for part in ["the study is stored in foretell.db", "algorithm \"dp\"", "benchmarks are read from"] {
        assert!(said.contains(part), "{part:?} is not in: {said}");
    }
    assert!(folder.said("show s --verbose").contains("studies are read from foretell.db"));
    let said = folder.said("score net.json --proxies snip --seeds 1 --verbose");
    assert!(
        said.contains("architectures are read from net.json") && said.contains("scores are cached in"),
        "{said}"
    );
    assert!(said.contains("0 of 1 scores were cached"), "{said}");
    let said = folder.said("score net.json --proxies snip --seeds 1 --verbose");
    assert!(said.contains("1 of 1 scores were cached"), "{said}");
    assert_eq!(folder.said("score net.json --proxies snip --seeds 1"), "");
}

/// A dry run checks, prints and changes nothing.
#[test]
fn a_dry_run_changes_nothing() {
    let folder = Folder::new();
    folder.write("net.json", GPT2);
    folder.write("small.toml", SMALL);
    folder.write("lm.toml", LM);
    folder.write("text.txt", &"some words in a line\n".repeat(400));
    folder.write(
        "build.toml",
        "space = \"lm.toml\"\nnetworks = 2\nparams = [8_000, 40_000]\nstrata = 2\ndata = \"text.txt\"\n[recipe]\nsteps = 3\n",
    );
    folder.ok("search --space gpt2 --max-params 20M --budget 10 --name s");
    let table = "--benchmark gpt2-pentateuch --limit 40";
    let discover = format!("discover {table} --sample 10 --validation 10");
    let before = folder.listing();
    for (arguments, parts) in [
        (
            "search".to_owned(),
            vec!["10 candidates of autoformer-tiny", "algorithm    dp", "foretell.db (exists)"],
        ),
        (
            "search --space small.toml --store new.db --proxy dss++[batch=2] --seeds 1 --budget 20".into(),
            vec!["20 candidates", "time         about", "new.db (would be created)"],
        ),
        (
            "search --space gpt2 --max-params 20M --budget 12 --name s".into(),
            vec!["2 candidates of gpt2", "10 candidates are stored"],
        ),
        ("train net.json --on text.txt -o run".into(), vec!["parameters) for", "run (would be created)"]),
        ("train --demo".into(), vec!["gpt2", "trained-"]),
        ("verify s -k 2 --seeds 2 --on text.txt".into(), vec!["8 networks", "s.verified (would be created)"]),
        (
            "bench gpt2-pentateuch --proxies snip --limit 5".into(),
            vec!["5 networks of gpt2-pentateuch", "snip", "scores.jsonl"],
        ),
        (discover.clone(), vec!["1,080 formulas", "40 gpt2 networks", "gpt2-pentateuch-gpt2.statistics"]),
        (format!("{discover} --method exhaustive --unaries 1"), vec!["26,460 formulas"]),
        (
            format!("calibrate {table} --labels 20 -o p.txt"),
            vec!["20 labelled networks", "20 others", "p.txt"],
        ),
        ("benchmark build build.toml -o made".into(), vec!["3 of 3 runs of 2 networks", "made"]),
    ] {
        let text = folder.ok(&format!("{arguments} --dry-run"));
        for part in parts.into_iter().chain(["dry run: "]) {
            assert!(text.contains(part), "{arguments}: {part:?} is not in: {text}");
        }
        assert_eq!(folder.json(&format!("{arguments} --dry-run"))["dry_run"], true, "{arguments}");
        assert_eq!(folder.listing(), before, "{arguments}");
    }
    for (arguments, code, part) in [
        ("search --max-params 1k", 4, "the smallest network"),
        ("search --space gpt2 --name s --seed 9", 2, "other settings"),
        ("train net.json --on nowhere", 2, "nowhere"),
        ("verify nothing", 2, "unknown study"),
        ("bench gpt2-pentateuch --target nothing", 2, "unknown target"),
        ("discover --benchmark gpt2-pentateuch --limit 15", 2, "--sample: 50 to sample"),
    ] {
        folder.fails(&format!("{arguments} --dry-run"), code, part);
    }
    assert_eq!(folder.listing(), before);
}

/// One line of JSON on stderr, whatever goes wrong.
#[test]
fn errors_are_json_with_json() {
    let folder = Folder::new();
    folder.write("foretell.db", "no store");
    for (arguments, kind, code, part) in [
        ("search --bogus", "usage", 2, "unexpected argument '--bogus'"),
        ("search --budget many", "usage", 2, "--budget"),
        ("frobnicate", "usage", 2, "frobnicate"),
        ("", "usage", 2, "a command is missing"),
        ("spaces autoformer-tinny", "unknown-name", 2, "did you mean 'autoformer-tiny'"),
        ("count nowhere.json", "read", 1, "nowhere.json"),
        ("search --max-params 1k --store new.db", "infeasible", 4, "smallest network"),
        ("studies", "store", 1, "--store names another file"),
        ("studies --store none.db", "read", 1, "--store names another file"),
        ("studies delete s --store none.db", "read", 1, "none.db"),
        ("bench nothing", "unknown-name", 2, "--data FOLDER"),
        ("calibrate --benchmark gpt2-pentateuch --limit 4", "option", 2, "--labels"),
        (
            "search --space nasbench-nlp --proxy attention-confidence --seeds 1 --budget 2 --store f.db",
            "no-winner",
            3,
            "not-defined",
        ),
    ] {
        let output = folder.run(&format!("{arguments} --json"));
        assert_eq!(output.status.code(), Some(code), "{arguments}");
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(text.lines().count(), 1, "{arguments}: {text}");
        let error: Value = serde_json::from_str(&text).unwrap();
        let error = &error["error"];
        assert_eq!((&error["kind"], &error["exit"]), (&kind.into(), &code.into()), "{arguments}: {text}");
        assert!(error["message"].as_str().unwrap().contains(part), "{arguments}: {text}");
    }
    folder.write("foretell.toml", "[all]\njson = true\n");
    let output = folder.run("spaces nowhere");
    assert!(output.stderr.starts_with(b"{\"error\""), "{output:?}");
    assert!(folder.ok("--help --json").contains("Usage:"));
}

#[test]
fn a_study_is_deleted_and_its_neighbours_stay() {
    let folder = Folder::new();
    folder.ok("search --budget 20 --name kept");
    let kept = folder.ok("show kept");
    folder.ok("search --budget 20 --name old --algorithm random");
    folder.fails("studies delete old", 2, "--yes: is required to delete study 'old' with 20 candidates");
    folder.fails("studies delete odl --yes", 2, "did you mean 'old'");
    folder.fails("studies delete old --yes --store none.db", 1, "none.db");
    assert!(!folder.0.join("none.db").exists());
    assert!(
        folder
            .ok("studies delete old --yes")
            .contains("deleted study 'old' with 20 candidates from foretell.db")
    );
    assert_eq!(folder.ok("studies --json").lines().count(), 1);
    assert_eq!(folder.ok("show kept"), kept);
    folder.ok("verify-store");
    folder.fails("studies delete old --yes", 2, "unknown study");
    // The name is free again.
    assert_eq!(folder.json("search --budget 5 --name old --seed 3")["resumed"], 0);
    assert_eq!(folder.json("studies --store foretell.db delete old --yes")["deleted"], "old");
}

#[cfg(target_os = "linux")]
#[test]
fn a_study_that_is_being_written_is_not_deleted() {
    let folder = Folder::new();
    folder.write("small.toml", SMALL);
    let mut child = folder.start("search --space small.toml --proxy dss++ --budget 100000 --name busy");
    let start = Instant::now();
    while folder.run("studies --json").stdout.is_empty() {
        assert!(start.elapsed() < Duration::from_secs(60), "nothing is stored");
        std::thread::sleep(Duration::from_millis(50));
    }
    // The study is stored a moment before its lease.
    std::thread::sleep(Duration::from_millis(500));
    folder.fails("studies delete busy --yes", 1, &format!("is being written by process {}", child.id()));
    child.kill().unwrap();
    child.wait().unwrap();
    folder.ok("studies delete busy --yes");
    assert_eq!(folder.ok("studies --json"), "");
}

#[test]
fn benchmarks_are_in_the_data_folder_of_the_user() {
    let folder = Folder::new();
    let default = folder.ok("benchmark path");
    let default = std::path::Path::new(default.trim());
    assert!(default.starts_with(&folder.0) && default.ends_with("foretell/benchmarks"), "{default:?}");
    assert_eq!(folder.json("benchmark path")["exists"], false);
    assert_eq!(folder.ok("benchmark path --data here").trim(), "here");
    let set = folder.command("benchmark path").env("FORETELL_BENCHMARKS", "there").output().unwrap();
    assert_eq!(set.stdout, b"there\n");
    // Tables are found there without an option, and the included ones need no folder.
    assert!(folder.ok("bench").contains("gpt2-pentateuch"));
    let row = r#"{"space": "gpt2", "n_layer": 2, "d_model": 128, "d_embed": 128, "div_val": 1, "n_head": [2, 4], "d_inner": [2048, 2048], "val_loss": 4.0}"#;
    std::fs::create_dir_all(default.join("mine")).unwrap();
    std::fs::write(default.join("mine/architectures.jsonl"), row).unwrap();
    let list = folder.ok("bench");
    assert!(list.contains("mine") && list.contains("gpt2-pentateuch"), "{list}");
}
