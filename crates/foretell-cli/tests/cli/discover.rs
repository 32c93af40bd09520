//! `foretell discover` and `calibrate` in a fresh folder: a table of 30 made-up networks, a formula, a proxy file, a search.

use crate::support::Folder;
use serde_json::{Value, json};

fn folder() -> Folder {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.0.join("data/made-gpt2")).unwrap();
    // Wide and deep is good, and no count says all of it.
    let row = |i: usize| {
        let (layers, width) = (1 + i % 5, 32 * (1 + i / 5));
        json!({"space": "gpt2", "d_model": width, "d_embed": 32, "div_val": 1, "n_head": vec![2; layers],
            "d_inner": vec![2 * width; layers], "val_loss": 9.0 - (width as f64).ln() - 0.1 * layers as f64})
        .to_string()
    };
    folder.write("data/made-gpt2/architectures.jsonl", &(0..30).map(row).collect::<Vec<_>>().join("\n"));
    folder
}

#[test]
fn a_formula_is_found_kept_and_searched_by() {
    let folder = folder();
    let ask = "discover --benchmark made-gpt2 --data data --options batch=2,tokens=8 --entries 64 --sample 10 --validation 6 \
               --splits 2 --unaries 1 --population 20 --generations 60 -o found.txt";
    let first = folder.json(&format!("{ask} --method exhaustive"));
    assert_eq!((&first["probed"], &first["report"]["parts"][0]["evaluated"]), (&30.into(), &26_460.into()));
    let again = folder.json(&format!("{ask} --threads 1"));
    let threads = folder.json(&format!("{ask} --threads 4"));
    assert_eq!(again["probed"], 0);
    let fittest = |report: &Value| report["report"]["parts"][1]["fittest"].clone();
    assert_eq!(fittest(&again), fittest(&threads));
    let (best, found) = (&first["report"]["parts"][0]["fittest"], &again["report"]["parts"][0]["fittest"]);
    assert!(best["sample"].as_f64() >= found["sample"].as_f64());
    let file = folder.read("found.txt");
    assert!(file.starts_with("# ") && file.contains("[batch=2,tokens=8]\n# digest "), "{file}");
    let scored = folder.ok("bench made-gpt2 --data data --json --resamples 0 --seeds 1 --proxies @found.txt");
    assert!(scored.contains("[batch=2,tokens=8]"));
    folder.ok(
        "search --space gpt2 --max-params 7M --proxy @found.txt --algorithm steady-state --budget 3 --json",
    );
    folder.ok("proxies sum(square(head),norm(weight))");
    let sides = folder.json(&format!("{ask} --method ablations"));
    let names: Vec<_> = sides["ablations"].as_array().unwrap().iter().map(|side| &side["ablation"]).collect();
    assert!(names.len() == 10 && names.contains(&&"5 operators".into()), "{names:?}");
    folder.fails(&format!("{} --method exhaustive", ask.replace("--unaries 1", "--unaries 3")), 2, "unaries");
}

#[test]
fn labels_become_a_proxy_file() {
    let folder = folder();
    let ask = "calibrate --benchmark made-gpt2 --data data --labels 15 -o mine.txt --no-cache";
    let found = folder.json(ask);
    assert_eq!(found["test_networks"], 15);
    let taken = found["calibration"]["taken"].as_u64().unwrap() as usize;
    assert!(found["test_tau"][taken].as_f64().unwrap() > 0.5, "{found}");
    assert!(folder.ok(ask).contains("taken"));
    folder.ok("search --space gpt2 --max-params 7M --proxy @mine.txt --budget 60 --json");
    folder.ok("discover --benchmark made-gpt2 --data data --method alpha");
    let rules = folder.json("discover --method alpha --space lonas-llama");
    assert_eq!(rules["rows"].as_array().unwrap().len(), 6);
    // Adapters alone vary in LoNAS's attention, and they are not counted.
    assert!(rules["warnings"][0].as_str().unwrap().contains("the attention capacity is the same"), "{rules}");
    assert!(folder.ok("discover --method alpha --space lonas-llama").contains("nothing to balance"));
    let gpt2 = folder.json("discover --method alpha --space gpt2");
    assert_eq!(gpt2["warnings"].as_array().unwrap().len(), 0);
    for wrong in
        ["discover --method random --space gpt2", "discover", "discover --space gpt2 --benchmark made-gpt2"]
    {
        folder.fails(wrong, 2, "");
    }
    // As many labels as there are: validation leaves one out at a time, and nothing is left to test.
    let all = folder.json(&ask.replace("15", "1000"));
    assert_eq!((&all["test_networks"], &all["test_tau"][0]), (&0.into(), &serde_json::Value::Null));
    assert_eq!(all["calibration"]["labels"], 30);
    assert!(all["calibration"]["steps"][0]["left_out"].as_f64().unwrap() > 0.5, "{all}");
    assert!(folder.ok(&ask.replace("15", "1000")).contains("0 test networks"));
    folder.fails(&format!("{ask} --limit 4"), 2, "--labels");
}
