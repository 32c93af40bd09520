//! The tables and figures of the papers, searches inside tables, and studies side by side.

use crate::support::{self, Folder};
use serde_json::Value;

/// Every entry runs in its smallest size. Those whose table does not ship run where the benchmark folder is there and are
/// refused by name where it is not.
#[test]
#[ignore = "takes about a minute: ./check runs it as a step of its own"]
fn every_entry_runs_in_its_smallest_size() {
    let folder = Folder::new();
    let mut command = folder.command("reproduce all --smallest --to out --json");
    let tables = support::benchmarks();
    if let Some(tables) = &tables {
        command.env("FORETELL_BENCHMARKS", tables);
    }
    let output = command.output().unwrap();
    let (said, error) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8_lossy(&output.stderr));
    for line in said.lines() {
        let told: Value = serde_json::from_str(line).unwrap();
        let id = told["entry"].as_str().unwrap();
        assert!(folder.read(&format!("out/{id}/smallest/result.json")).contains(id));
        let rows = told["rows"].as_array().unwrap();
        let known = |figure: &Value| figure["value"].is_number();
        let measured = |row: &Value| row["measured"].as_array().is_some_and(|row| row.iter().any(known));
        assert!(rows.iter().any(measured), "{id} has no figure: {told}");
    }
    let refused: Vec<&str> = error.lines().filter(|line| line.contains("\"error\"")).collect();
    match tables {
        Some(_) => assert!(output.status.success() && refused.is_empty(), "{error}"),
        None => {
            eprintln!("skipped: {} entries", refused.len());
            assert!(refused.iter().all(|line| line.contains("needs this table")), "{error}");
            assert!(!refused.is_empty() && output.status.code() == Some(1), "{error}");
        }
    }
    assert!(said.lines().count() + refused.len() >= 50, "{}", said.lines().count());
}

/// A run that was killed resumes; one that is repeated writes the same bytes, on any number of threads.
#[test]
fn a_run_that_was_killed_ends_the_same() {
    let folder = Folder::new();
    let run = |to: &str| format!("reproduce t-razor/table-5 --smallest --quiet --to {to}");
    let files = |to: &str| {
        let names = ["result.json", "result.csv", "leader.svg", "best.svg"];
        names.map(|name| folder.bytes(&format!("{to}/t-razor/table-5/smallest/{name}")))
    };
    let mut child = folder.start(&run("killed"));
    std::thread::sleep(std::time::Duration::from_millis(700));
    child.kill().unwrap();
    child.wait().unwrap();
    folder.ok(&run("killed"));
    folder.ok(&(run("whole") + " --threads 1"));
    let whole = files("whole");
    assert_eq!(files("killed"), whole);
    folder.ok(&run("whole"));
    assert_eq!(files("whole"), whole);
}

#[test]
fn what_cannot_be_run_says_why() {
    let folder = Folder::new();
    folder.fails("reproduce etas/table-3 --quick", 2, "gpt2-wikitext103");
    folder.fails("reproduce t-razor/figure-3", 2, "foretell algorithms block-wise");
    folder.fails("reproduce t-razor/table-9 --full", 2, "accelerators");
    folder.fails("reproduce etas/table-30", 2, "etas/table-3");
    assert!(folder.ok("reproduce --list").contains("serianni-kalita/figure-11"));
    assert!(folder.ok("reproduce etas --list").lines().count() < 14);
}

#[test]
fn studies_inside_a_table_are_compared() {
    let folder = Folder::new();
    for (seed, name) in [("0", "a"), ("1", "b")] {
        let search = "search --in gpt2-pentateuch --proxy nsc --budget 20 --algorithm random --quiet";
        let said = folder.ok(&format!("{search} --seed {seed} --name {name}"));
        assert!(said.contains("labels by table gpt2-pentateuch:valid_ppl"), "{said}");
    }
    folder.ok("search --in gpt2-pentateuch:valid_loss --proxy params --budget 20 --algorithm memetic[generation=5] --name c --quiet");
    let json = folder.json("compare a b c --svg charts --csv figures");
    assert_eq!(json["proxies"], serde_json::json!(["nsc", "params"]));
    assert!(
        json["values"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|row| row.as_array().unwrap())
            .all(Value::is_number)
    );
    assert!(folder.read("compare.html").contains("random nsc (2 seeds)"));
    // Labels of two columns are not drawn together, scores of two proxies neither.
    assert!(
        !folder.0.join("charts/best-score.svg").exists() && !folder.0.join("charts/best-label.svg").exists()
    );
    folder.ok("compare a b --svg charts --csv figures");
    let svg = folder.read("charts/leader-label.svg");
    assert!(svg.contains("class=\"band k0\""), "{svg}");
    assert_eq!(folder.read("figures/winners.csv").lines().count(), 3);
    folder.ok("report a --svg charts");
    assert!(folder.read("charts/labels.svg").contains("best by score"));
    folder.fails("search --in gpt2-pentateuch --space gpt2", 2, "cannot be used with");
    folder.fails("search --in nothing", 2, "gpt2-pentateuch");
}
