//! Searches that spend a time on training.

use super::support::Folder;
use super::training::kill_until_done;

const SPACE: &str = "name = 'tiny'\nfamily = 'gpt2'\n[fixed]\nvocab_size = 64\ncontext_len = 16\ncutoffs = []\n[choices]\n\
    n_layer = [1, 2, 3]\nd_model = [8, 16, 24]\nn_head = [1, 2]\nd_inner = [16, 32, 64]";
const TRAINING: &str = "--with batch=2 --with part=2 --with tokens=16 --with validate_samples=8";

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("tiny.toml", SPACE);
    folder.write("text.txt", &"in the beginning was the word, and the word was long. ".repeat(400));
    folder
}

/// Killed again and again, a search ends as an undisturbed one does; and all that names a winner names the same.
#[test]
fn a_timed_search_survives_kills_and_has_one_winner() {
    let folder = folder();
    let search =
        format!("search --time 1600steps --space tiny.toml --on text.txt --max-params 20k {TRAINING}");
    let whole = folder.json(&format!("{search} --store whole.db"));
    let kills = kill_until_done(&folder, &format!("{search} --store killed.db"));
    let killed = folder.json(&format!("{search} --store killed.db"));
    assert_eq!((&whole["hash"], &whole["trial"]), (&killed["hash"], &killed["trial"]), "after {kills} kills");
    // Limits count the vocabulary of the data: 257 bytes, not 64.
    assert_eq!(whole["architecture"]["vocab_size"], 257);
    assert!(whole["params"].as_u64().unwrap() <= 20_000);
    let study = whole["study"].as_str().unwrap();
    let id = whole["architecture"]["id"].as_str().unwrap();
    let shown = folder.json(&format!("show {study} -n 1 --store whole.db"));
    assert_eq!(
        (&shown["architecture"]["id"], &shown["winner"]),
        (&whole["architecture"]["id"], &true.into())
    );
    assert!(shown["evaluated"]["by"].as_str().unwrap().contains("mean of 3 seeds"), "{shown}");
    assert!(folder.ok(&format!("best {study} --store whole.db")).contains(id));
    folder.ok(&format!("report {study} --store whole.db -o r.html --svg svg"));
    let page = folder.read("r.html");
    assert!(page.contains(id) && page.contains("<h2>Training</h2>") && page.contains("best uniform network"));
    assert!(page.contains("--time 1600steps") && !folder.bytes("svg/runs.svg").is_empty());
    let text = folder.ok(&format!("{search} --store whole.db"));
    assert!(text.contains(&format!("winner {id}")) && text.contains("what the predictor learned"), "{text}");
}

/// A command is told how long to train, and with which draw.
#[test]
fn a_command_is_told_how_long_to_train() {
    let folder = folder();
    folder.write(
        "train.sh",
        "echo $FORETELL_STEPS $FORETELL_SEED >> said.txt\n\
         echo $(( 1000 - FORETELL_STEPS + $(wc -c < $1/architecture.json) % 7 ))\n",
    );
    let words =
        ["search", "--time", "1600steps", "--space", "tiny.toml", "--max-params", "20k", "--evaluate-lower"];
    let words = [&words[..], &["--evaluate-with", "sh train.sh {dir}", "--json"]].concat();
    let found: serde_json::Value = serde_json::from_str(&folder.ok(&words[..])).unwrap();
    let said = folder.read("said.txt");
    let lines: std::collections::BTreeSet<&str> = said.lines().collect();
    assert_eq!(lines.into_iter().collect::<Vec<_>>(), ["25 0", "76 0", "76 1", "76 2", "8 0"]);
    assert_eq!(found["timed"]["rungs"], serde_json::json!([8, 25, 76]));
}

#[test]
fn what_a_timed_search_cannot_do_is_named() {
    let folder = folder();
    folder.fails("search --time 3x", 2, "30m, 2h or 90s");
    folder.fails("search --time 5m --on nowhere.txt", 2, "nowhere.txt: is not there");
    folder.fails("search --time 200steps --space tiny.toml --on text.txt", 2, "too short for 43 runs");
    folder.fails("search --time 5m --space tiny.toml --on text.txt --max-params 10", 4, "nothing in space");
    folder.fails("search --time 5m --algorithm dp", 2, "--algorithm");
    folder.fails("search --time 5m --space tiny.toml --on text.txt --with steps=9", 2, "how long to train");
    folder.fails("search --time 5m --space autoformer-tiny", 2, "--on");
    let plan = folder.ok("search --time 30m --space tiny.toml --on text.txt --dry-run");
    assert!(plan.contains("would train networks of tiny-257 for about 30 minutes"), "{plan}");
}
