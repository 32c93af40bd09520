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
