//! `foretell predict`: fit, show, use, suggest, and a search that maximises a prediction.

use crate::support::Folder;
use serde_json::Value;

const FIT: &str = "predict fit --benchmark gpt2-pentateuch --target valid_loss --count 30 -o p.json";

/// Thirty labels order the other 120 networks better than any count (tau .864), and the intervals hold.
#[test]
fn a_predictor_is_fitted_shown_and_used() {
    let folder = Folder::new();
    let fitted = folder.json(FIT);
    assert!(fitted["test_tau"].as_f64().unwrap() > 0.87, "{fitted}");
    assert_eq!(fitted["check"]["labels"], 30);
    assert_eq!(folder.json("predict show p.json")["check"], fitted["check"]);
    assert!(folder.ok("predict show p.json").contains("leave-one-out"));
    let networks = folder.ok("predict suggest --space gpt2 -n 4 --max-params 20M --json");
    assert_eq!(networks.lines().count(), 4);
    folder.write("networks.jsonl", &networks);
    let said = folder.ok("predict use p.json networks.jsonl --json");
    let rows: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), 4);
    let losses: Vec<f64> = rows.iter().map(|row| row["predicted"].as_f64().unwrap()).collect();
    assert!(losses.is_sorted(), "the lowest loss comes first: {losses:?}");
    for row in &rows {
        let [low, high] = [0, 1].map(|end| row["interval"][end].as_f64().unwrap());
        assert!((low..=high).contains(&row["predicted"].as_f64().unwrap()), "{row}");
    }
    folder.ok("predict suggest --space gpt2 -n 3 --max-params 20M --predictor p.json");
}

/// A search maximises what the predictor expects; its study is read without the file.
#[test]
fn a_search_maximises_a_prediction() {
    let folder = Folder::new();
    folder.ok(FIT);
    let search = "search --space gpt2 --max-params 20M --proxy @p.json --budget 60 --name s";
    let found = folder.json(search);
    assert_eq!(folder.json(search)["hash"], found["hash"]);
    std::fs::remove_file(folder.0.join("p.json")).unwrap();
    assert_eq!(folder.json("best s")["d_inner"], found["architecture"]["d_inner"]);
    folder.ok("show s");
    folder.fails("search --space flexibert --proxy @p.json", 1, "p.json");
}

/// Labels that teach nothing are named, and so are damaged predictors and networks of another family.
#[test]
fn bad_input_is_named() {
    let folder = Folder::new();
    let row = |width: u32, loss: &str| {
        format!(
            "{{\"family\": \"gpt2\", \"vocab_size\": 64, \"context_len\": 16, \"d_model\": {width}, \"n_layer\": 1, \
             \"n_head\": [1], \"d_inner\": [8], \"valid_loss\": {loss}}}\n"
        )
    };
    let table =
        |labels: &[(u32, &str)]| labels.iter().map(|(width, loss)| row(*width, loss)).collect::<String>();
    let fit = "predict fit --benchmark own.jsonl -o p.json";
    for (labels, message) in [
        (vec![(8, "1"), (16, "2")], "too few"),
        (vec![(8, "2"), (16, "2"), (24, "2"), (32, "2"), (40, "2")], "nothing can be learned"),
        (vec![(8, "1"), (8, "9"), (16, "2"), (24, "2.1"), (32, "2"), (40, "2.2"), (48, "2.3")], "contradict"),
        (vec![(8, "1"), (8, "1.1"), (8, "1.2"), (8, "1.3"), (8, "1.2")], "too few"),
    ] {
        folder.write("own.jsonl", &table(&labels));
        folder.fails(fit, 2, message);
    }
    folder.write(
        "own.jsonl",
        &table(&[(8, "1.5"), (16, "1.4"), (24, "1.2"), (32, "1.1"), (40, "1.0"), (48, "0.9")]),
    );
    folder.ok(fit);
    folder.write(
        "vit.json",
        r#"{"family": "vit", "embed_dim": 32, "depth": 2, "num_heads": 2, "mlp_ratio": 4}"#,
    );
    folder.fails("predict use p.json vit.json", 2, "gpt2");
    let text = std::fs::read_to_string(folder.0.join("p.json")).unwrap();
    folder.write("p.json", &text.replacen("0.", "1.", 1));
    folder.fails("predict show p.json", 2, "damaged");
    folder.write("p.json", &text[..text.len() / 2]);
    folder.fails("predict show p.json", 2, "not a predictor");
    folder.fails("predict show missing.json", 1, "missing.json");
}

/// Labels of several budgets are used together: predictions are for the largest, or for the one asked for.
#[test]
fn short_runs_are_evidence() {
    let folder = Folder::new();
    let fit = "predict fit --benchmark gpt2-regimes --target valid_loss --count 24 -o p.json";
    let fitted = folder.json(fit);
    assert_eq!((&fitted["budget"], &fitted["check"]["labels"]), (&1_843_200.0.into(), &(24 * 9).into()));
    assert_eq!(fitted["test_networks"], 12);
    assert!(fitted["test_tau"].as_f64().unwrap() > 0.4, "{fitted}");
    folder.write("networks.jsonl", &folder.ok("sample gpt2 -n 3 --seed 1 --json"));
    let mean = |file: &str| {
        let said = folder.ok(&format!("predict use {file} networks.jsonl --json"));
        let rows = said.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        rows.map(|row| row["predicted"].as_f64().unwrap()).sum::<f64>()
    };
    folder.ok(&format!("{} --at 20k", fit.replace("p.json", "short.json")));
    assert!(mean("short.json") > mean("p.json"), "less training, larger loss");
    folder.fails("predict fit --benchmark gpt2-regimes --train-tokens 1M", 2, "no effect");
    folder.fails("predict fit --benchmark gpt2-pentateuch --at 1M", 2, "one budget");
    let known =
        "predict fit --benchmark gpt2-pentateuch --target valid_loss --count 10 --train-tokens 358400";
    assert!(folder.json(known)["test_tau"].as_f64().unwrap() > 0.8);
}

/// The training budget decides the shape: a search for long training finds a deeper decoder than one for short training.
#[test]
fn the_training_budget_is_an_input() {
    let folder = Folder::new();
    let depth = |tokens: &str| {
        let search = format!("search --space gpt2 --max-params 20M --train-tokens {tokens} --budget 1500");
        folder.json(&search)["architecture"]["n_layer"].as_u64().unwrap()
    };
    assert!(depth("10M") < depth("30G"));
    let networks = folder.ok("sample gpt2 -n 4 --seed 1 --json");
    folder.write("networks.jsonl", &networks);
    assert!(folder.ok("rank networks.jsonl --train-tokens 20M").contains("shape-law[tokens=20000000]"));
    folder.fails("search --space flexibert --train-tokens 1M --budget 20", 2, "decoders");
    folder.fails("search --space gpt2 --train-tokens 1M --proxy nsc", 2, "--proxy");
}
