//! `foretell discover` and `calibrate` in a fresh folder: a table of 30 made-up networks, a formula, a proxy file, a search.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("foretell-{name}-{}", std::process::id()));
    let table = path.join("data/made-gpt2");
    std::fs::create_dir_all(&table).unwrap();
    // Wide and deep is good, and no count says all of it.
    let row = |i: usize| {
        let (layers, width) = (1 + i % 5, 32 * (1 + i / 5));
        json!({"space": "gpt2", "d_model": width, "d_embed": 32, "div_val": 1, "n_head": vec![2; layers],
            "d_inner": vec![2 * width; layers], "val_loss": 9.0 - (width as f64).ln() - 0.1 * layers as f64})
        .to_string()
    };
    std::fs::write(table.join("architectures.jsonl"), (0..30).map(row).collect::<Vec<_>>().join("\n"))
        .unwrap();
    path
}

fn run(folder: &Path, arguments: &str) -> std::process::Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_foretell"));
    command
        .args(arguments.split_whitespace())
        .current_dir(folder)
        .env("FORETELL_CACHE", folder.join("cache"));
    command.output().unwrap()
}

#[track_caller]
fn ok(folder: &Path, arguments: &str) -> String {
    let output = run(folder, arguments);
    assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_formula_is_found_kept_and_searched_by() {
    let folder = folder("discover");
    let ask = "discover --benchmark made-gpt2 --data data --options batch=2,tokens=8 --entries 64 --sample 10 --validation 6 \
               --splits 2 --unaries 1 --population 20 --generations 60 -o found.txt --json";
    let first: Value = serde_json::from_str(&ok(&folder, &format!("{ask} --method exhaustive"))).unwrap();
    assert_eq!((&first["probed"], &first["report"]["parts"][0]["evaluated"]), (&30.into(), &26_460.into()));
    let again: Value = serde_json::from_str(&ok(&folder, &format!("{ask} --threads 1"))).unwrap();
    let threads: Value = serde_json::from_str(&ok(&folder, &format!("{ask} --threads 4"))).unwrap();
    assert_eq!(again["probed"], 0);
    let fittest = |report: &Value| report["report"]["parts"][1]["fittest"].clone();
    assert_eq!(fittest(&again), fittest(&threads));
    let (best, found) = (&first["report"]["parts"][0]["fittest"], &again["report"]["parts"][0]["fittest"]);
    assert!(best["sample"].as_f64() >= found["sample"].as_f64());
    let file = std::fs::read_to_string(folder.join("found.txt")).unwrap();
    assert!(file.starts_with("# ") && file.trim().ends_with("[batch=2,tokens=8]"), "{file}");
    let scored =
        ok(&folder, "bench made-gpt2 --data data --json --resamples 0 --seeds 1 --proxies @found.txt");
    assert!(scored.contains("[batch=2,tokens=8]"));
    ok(
        &folder,
        "search --space gpt2 --max-params 7M --proxy @found.txt --algorithm steady-state --budget 3 --json",
    );
    ok(&folder, "proxies sum(square(head),norm(weight))");
    let sides: Value = serde_json::from_str(&ok(&folder, &format!("{ask} --method ablations"))).unwrap();
    let names: Vec<_> = sides["ablations"].as_array().unwrap().iter().map(|side| &side["ablation"]).collect();
    assert!(names.len() == 10 && names.contains(&&"5 operators".into()), "{names:?}");
    let output = run(&folder, &format!("{} --method exhaustive", ask.replace("--unaries 1", "--unaries 3")));
    assert_eq!(output.status.code(), Some(2));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn labels_become_a_proxy_file() {
    let folder = folder("calibrate");
    let ask = "calibrate --benchmark made-gpt2 --data data --labels 15 -o mine.txt --no-cache";
    let found: Value = serde_json::from_str(&ok(&folder, &format!("{ask} --json"))).unwrap();
    assert_eq!(found["test_networks"], 15);
    let taken = found["calibration"]["taken"].as_u64().unwrap() as usize;
    assert!(found["test_tau"][taken].as_f64().unwrap() > 0.5, "{found}");
    assert!(ok(&folder, ask).contains("taken"));
    ok(&folder, "search --space gpt2 --max-params 7M --proxy @mine.txt --budget 60 --json");
    ok(&folder, "discover --benchmark made-gpt2 --data data --method alpha");
    let rules: Value =
        serde_json::from_str(&ok(&folder, "discover --method alpha --space lonas-llama --json")).unwrap();
    assert_eq!(rules["rows"].as_array().unwrap().len(), 6);
    for wrong in
        ["discover --method random --space gpt2", "discover", "discover --space gpt2 --benchmark made-gpt2"]
    {
        assert_eq!(run(&folder, wrong).status.code(), Some(2), "{wrong}");
    }
    assert_eq!(run(&folder, &ask.replace("15", "29")).status.code(), Some(2));
    std::fs::remove_dir_all(&folder).unwrap();
}
