//! What `bench` and `score` make of tables and programs of the user's.

use crate::support::Folder;
use serde_json::Value;

/// Rows of GPT-2 networks whose loss falls with width, with a score of the user's own that rises with it.
fn rows(widths: &[u32], more: impl Fn(u32) -> String) -> String {
    let row = |width: &u32| {
        format!(
            "{{\"id\": \"w{width}\", \"space\": \"gpt2\", \"n_layer\": 2, \"d_model\": {width}, \"d_embed\": 128, \
             \"div_val\": 1, \"n_head\": [2, 4], \"d_inner\": [2048, 2048], \"val_loss\": {}, \"mine\": {width}{}}}\n",
            1000.0 / f64::from(*width),
            more(*width)
        )
    };
    widths.iter().map(row).collect()
}

fn table(folder: &Folder, name: &str, text: &str) {
    std::fs::create_dir_all(folder.0.join(format!("data/{name}"))).unwrap();
    folder.write(&format!("data/{name}/architectures.jsonl"), text);
}

fn five() -> Folder {
    let folder = Folder::new();
    table(&folder, "mine", &rows(&[128, 192, 256, 320, 384], |_| String::new()));
    folder
}

#[test]
fn scores_of_every_network_are_written() {
    let folder = five();
    let ask = "bench mine --data data --resamples 0 --proxies sept[width=head,tokens=2],column:mine";
    folder.ok(&format!("{ask} --scores scores.json"));
    let scores: Value = serde_json::from_str(&folder.read("scores.json")).unwrap();
    assert_eq!(scores.as_array().unwrap().len(), 5);
    let second = &scores[1];
    assert_eq!((&second["name"], &second["scores"]["width"]), (&"w192".into(), &192.0.into()));
    assert_eq!(second["scores"]["column:mine"], 192.0);
    folder.ok(&format!("{ask} --scores scores.csv"));
    let text = folder.read("scores.csv");
    let mut lines = text.lines();
    let header = lines.next().unwrap();
    assert!(header.starts_with("benchmark,family,name,id,params,target,value,"), "{header}");
    assert!(header.contains("\"sept[width=head,tokens=2]\"") && lines.count() == 5, "{text}");
    folder.fails(&format!("{ask} --scores scores.txt"), 2, ".json nor .csv");
    folder.fails("bench --data data --scores s.csv", 2, "--scores");
}

/// A column of the table stands beside the proxies, a lower loss counting as better.
#[test]
fn columns_are_compared_with_proxies() {
    let folder = five();
    let report = folder.json("bench mine --data data --resamples 0 --proxies column:mine,column:val_loss");
    let tau = |name: &str| {
        let proxies = report["proxies"].as_array().unwrap();
        proxies.iter().find(|proxy| proxy["name"] == name).map(|proxy| proxy["kendall"].as_f64().unwrap())
    };
    assert_eq!((tau("column:mine"), tau("column:val_loss"), tau("width")), (Some(1.0), Some(1.0), Some(1.0)));
    folder.fails("bench mine --data data --proxies column:mne", 2, "did you mean 'mine'");
}

#[test]
fn plots_are_drawn() {
    let folder = five();
    folder.ok("bench mine --data data --resamples 0 --proxies params,column:mine --plots plots");
    let svg = folder.read("plots/mine-gpt2-column-mine.svg");
    assert!(svg.starts_with("<svg") && svg.matches("<circle class=\"p ").count() == 5, "{svg}");
    assert!(svg.contains("w192") && svg.contains("val_loss (lower is better)"), "{svg}");
    assert!(folder.0.join("plots/mine-gpt2-params.svg").exists());
}

#[test]
fn figures_are_printed_as_asked() {
    let folder = five();
    let ask = "bench mine --data data --resamples 0 --seeds 2 --proxies l2-norm,sept[width=head,tokens=2] --no-cache";
    let csv = folder.ok(&format!("{ask} --format csv"));
    assert!(csv.starts_with("benchmark,family,target,networks,proxy,baseline,tau,"), "{csv}");
    assert!(csv.contains("\"sept[width=head,tokens=2]\""), "{csv}");
    let latex = folder.ok(&format!("{ask} --format latex"));
    for part in [
        "\\begin{tabular}{lrrrrrrrrr}",
        "sept{[}width=head,tokens=2{]}",
        "val\\_loss",
        "$\\pm$",
        "\\bottomrule",
    ] {
        assert!(latex.contains(part), "{part} is not in {latex}");
    }
    let markdown = folder.ok(&format!("{ask} --format markdown --bands 15M,18M"));
    assert!(
        markdown.contains("1.000 ± .000") && markdown.contains("| proxy | parameters | networks |"),
        "{markdown}"
    );
    let report = folder.json(&format!("{ask} --bands 15M,18M"));
    let bands = report["proxies"][0]["bands"].as_array().unwrap();
    let counts: Vec<u64> = bands.iter().map(|band| band["n"].as_u64().unwrap()).collect();
    assert_eq!(counts.iter().sum::<u64>(), 5, "{bands:?}");
    assert!(
        bands.iter().all(|band| band["high"].as_f64() < Some(15e6) || band["low"].as_f64() >= Some(15e6))
    );
    folder.fails(&format!("{ask} --bands 5M,1M"), 2, "--bands");
    folder.fails(&format!("{ask} --markdown"), 2, "--markdown");
}

/// One bad table is reported, and the others are measured all the same.
#[test]
fn a_bad_table_does_not_hide_the_others() {
    let folder = five();
    table(&folder, "broken", "{\"space\": \"gpt2\"}\n");
    for ask in ["bench all --data data --resamples 0 --proxies params --limit 5", "bench --data data"] {
        let output = folder.run(ask);
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(1), "{err}");
        assert!(out.contains("mine") && err.contains("broken"), "{out}\n{err}");
    }
}

/// A row is what it says. Rows of llama, whose columns are BERT's too, were read as BERT with `head_dim` as the target.
#[test]
fn rows_are_of_the_family_that_they_say() {
    let folder = Folder::new();
    let row = |width: u32, said: &str| {
        format!(
            "{{{said}\"hidden_size\": {width}, \"num_layers\": 2, \"vocab_size\": 512, \"head_dim\": 32, \"num_heads\": \
             [4, 4], \"ffn_dim\": [64, 64], \"valid_ppl\": {}}}\n",
            1e4 / f64::from(width)
        )
    };
    let all = |said: &str| [64, 128, 192].map(|width| row(width, said)).concat();
    table(&folder, "said", &all("\"family\": \"llama\", "));
    let report = folder.json("bench said --data data --resamples 0 --proxies params");
    assert_eq!((&report["family"], &report["target"]), (&"llama".into(), &"valid_ppl".into()));
    assert!(report.get("notes").is_none(), "{report}");
    // Nothing said: the guess is.
    table(&folder, "guessed", &all(""));
    let guessed = folder.json("bench guessed --data data --resamples 0 --proxies params");
    assert!(guessed["notes"][0].as_str().unwrap().contains("3 rows say neither"), "{guessed}");
    assert_eq!(guessed["target"], "valid_ppl");
    folder.fails("bench guessed --data data --target head_dim", 2, "unknown target");
    table(&folder, "wrong", &all("\"family\": \"lama\", "));
    folder.fails("bench wrong --data data", 2, "did you mean 'llama'");
    table(&folder, "both", &all("\"family\": \"llama\", \"space\": \"gpt2\", "));
    folder.fails("bench both --data data", 2, "says family llama");
}

/// A space file next to the table reads its rows.
#[test]
fn a_table_names_its_own_space() {
    let folder = Folder::new();
    let text = rows(&[128, 192, 256], |_| String::new())
        .replace("\"gpt2\"", "\"own.toml\"")
        .replace(", \"div_val\": 1", "");
    table(&folder, "own", &text);
    let space = "name = \"own\"\nfamily = \"gpt2\"\n\n[fixed]\nvocab_size = 512\ncontext_len = 64\ndiv_val = 1\nd_embed = 128\n\
                 cutoffs = []\ntie_projs = true\n\n[choices]\nn_layer = [2]\nd_model = [128, 192, 256]\nn_head = [2, 4]\n\
                 d_inner = [2048]\n";
    folder.write("data/own/own.toml", space);
    let report = folder.json("bench own --data data --resamples 0 --proxies params");
    assert_eq!((&report["n"], report.get("notes")), (&3.into(), None));
}

/// Several results per network need a choice.
#[test]
fn budgets_are_chosen() {
    let folder = Folder::new();
    let of = |epochs: u32| rows(&[128, 192, 256], move |_| format!(", \"epochs\": {epochs}"));
    table(&folder, "long", &(of(10) + &of(50)));
    folder.fails("bench long --data data", 2, "differ in epochs; e.g. --where epochs=10");
    folder.fails("bench long --data data --where epochs=11", 2, "epochs=10, epochs=50");
    let report = folder.json("bench long --data data --where epochs=50 --resamples 0 --proxies params");
    assert_eq!((&report["n"], &report["target"]), (&3.into(), &"val_loss".into()));
}

#[test]
fn a_program_scores_architectures() {
    let folder = Folder::new();
    folder.write(
        "a.json",
        rows(&[128], |_| String::new())
            .split(", \"val_loss\"")
            .next()
            .unwrap()
            .replace("\"id\": \"w128\", ", "")
            .as_str(),
    );
    folder.write("a.json", &(folder.read("a.json") + "}"));
    // The width that the program finds in what it reads.
    folder.write("width.sh", "grep -o '\"d_model\":[0-9]*' | cut -d: -f2\n");
    let found = folder.run(&["score", "a.json", "--json", "--proxy-with", "sh width.sh"]);
    let found: Value = serde_json::from_slice(&found.stdout).unwrap();
    assert_eq!(found["scores"]["sh width.sh"]["value"], 128.0, "{found}");
    assert_eq!(found["scores"].as_object().unwrap().len(), 1);
    let both = folder.run(&["score", "a.json", "--proxies", "params", "--proxy-with", "sh width.sh"]);
    let both = String::from_utf8_lossy(&both.stdout).into_owned();
    assert!(both.contains("sh width.sh") && both.contains("params"), "{both}");
    let failed = folder.run(&["score", "a.json", "--json", "--proxy-with", "echo no number"]);
    let entry: Value = serde_json::from_slice(&failed.stdout).unwrap();
    assert_eq!(
        (failed.status.code(), &entry["scores"]["echo no number"]["kind"]),
        (Some(3), &"no-number".into())
    );
    let slow =
        folder.run(&["score", "a.json", "--json", "--proxy-with", "sleep 9", "--proxy-timeout", "0.05"]);
    assert!(String::from_utf8_lossy(&slow.stdout).contains("timeout"));
    folder.fails("score a.json --proxy-timeout 5", 2, "--proxy-with");
}

#[test]
fn stability_of_a_ranking() {
    let folder = Folder::new();
    table(&folder, "mine", &rows(&[128, 192], |_| ", \"vocab_size\": 64".to_owned()));
    let ask = "bench mine --data data --seeds 2 --proxies snip[batch=1,tokens=4]";
    let found = folder.json(&format!("{ask} --stability weights"));
    let proxy = &found["proxies"][0];
    assert_eq!((&found["variation"], &proxy["draws"][1]["name"]), (&"weights".into(), &"1".into()));
    assert!(proxy["between"].as_f64().is_some() && proxy["deviation"].as_f64().is_some(), "{proxy}");
    let shown = folder.ok(&format!("{ask} --stability inputs --format csv"));
    assert!(shown.starts_with("proxy,0,1,mean,deviation,between draws,"), "{shown}");
    folder.fails(&format!("{ask} --stability wieghts"), 2, "did you mean 'weights'");
    folder.fails("bench mine --data data --stability inputs", 2, "names no proxy");
    folder.fails(&format!("{ask},column:mine --stability inputs"), 2, "column");
    folder.fails(
        "bench mine --data data --stability inputs --proxies nsc",
        2,
        "nothing that is drawn changes it",
    );
}
