//! `foretell export` as users meet it: what is written, where, and what is never touched.

use crate::support::Folder;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

fn names(folder: &Folder, inner: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder.0.join(inner)).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A small network whose layers differ, of a space with the given name.
fn gpt2(space: &str) -> String {
    serde_json::json!({"family": "gpt2", "space": space, "vocab_size": 300, "context_len": 16, "d_model": 24, "n_layer": 2,
        "n_head": [2, 4], "d_inner": [20, 40]})
    .to_string()
}

const HOSTILE: &str = "x\"\"\"; import os; os.system('touch /pwned') #\n`<script>../../etc";

#[test]
fn a_study_comes_out_as_a_folder_that_every_command_reads() {
    let folder = Folder::new();
    let next = folder.ok(&["search", "--budget", "40", "--name", "s"]);
    assert!(next.contains("foretell export s --to winner"), "{next}");
    let said: Value = serde_json::from_str(&folder.ok(&["export", "s", "--to", "winner", "--json"])).unwrap();
    assert_eq!(
        names(&folder, "winner"),
        [
            "README.md",
            "architecture.json",
            "config.json",
            "configuration_foretell_vit.py",
            "model.safetensors",
            "modeling_foretell_vit.py",
            "train.py"
        ]
    );
    let config: Value = serde_json::from_str(&folder.read("winner/config.json")).unwrap();
    assert_eq!(config["auto_map"]["AutoConfig"], "configuration_foretell_vit.VitConfig");
    assert!(folder.read("winner/README.md").contains("| study | s |"));
    // Scores with the weights inside are those of the draw that score itself makes.
    let params: Value = serde_json::from_str(&folder.ok(&["count", "winner", "--json"])).unwrap();
    assert_eq!(params["params"]["total"], said["params"]);
    let best = folder.ok(&["best", "s", "--json"]);
    std::fs::write(folder.0.join("best.json"), best).unwrap();
    let score = |arguments: &[&str]| -> Value {
        let all = [arguments, &["--proxies", "l2-norm", "--seeds", "1", "--json"]].concat();
        serde_json::from_str::<Value>(&folder.ok(&all[..])).unwrap()["scores"].clone()
    };
    assert_eq!(score(&["score", "winner", "--weights", "winner"]), score(&["score", "best.json"]));
    // A folder of the study's name is not taken for the study.
    folder.ok(&["export", "s", "--to", "s"]);
    folder.ok(&["export", "s", "--to", "s", "--force"]);
    assert!(folder.read("s/README.md").contains("| study | s |"));
    // Another candidate, other formats.
    folder.ok(&["export", "s", "--trial", "3", "--to", "third", "--target", "pytorch", "--no-weights"]);
    assert_eq!(names(&folder, "third"), ["README.md", "architecture.json", "model.py", "train.py"]);
    folder.ok(&["export", "s", "--to", "timm", "--target", "timm"]);
    folder.ok(&["export", "s", "--to", "json", "--target", "json"]);
    assert_eq!(names(&folder, "json"), ["architecture.json"]);
    folder.fails(&["export", "s", "--trial", "40", "--to", "no"], 2, "has 10 candidates");
    folder.fails(&["export", "s", "--to", "no", "--target", "onxx"], 2, "unknown format");
    folder.fails(&["export", "t", "--to", "no"], 2, "unknown study");
}

/// The card is whole, and recommends what is in the folder: train.py is there with and without weights.
#[test]
fn the_card_is_whole_and_says_what_is_there() {
    let folder = Folder::new();
    folder.ok(&[
        "search",
        "--budget",
        "40",
        "--name",
        "s",
        "--algorithm",
        "block-wise[population=10,steps=4]",
    ]);
    for target in ["huggingface", "pytorch"] {
        for weights in [&[][..], &["--no-weights"]] {
            let to = format!("{target}{}", weights.len());
            let said = folder.ok(&[&["export", "s", "--to", &to, "--target", target], weights].concat()[..]);
            assert!(said.contains("python train.py"), "{said}");
            assert!(names(&folder, &to).contains(&"train.py".to_owned()));
            let card = folder.read(&format!("{to}/README.md"));
            assert!(card.contains("python train.py --data IMAGES"), "{card}");
            // The settings end as they do in the study, with the seed among them, and brackets are kept.
            let settings = card.lines().find(|line| line.starts_with("| settings |")).unwrap();
            assert!(settings.contains("block-wise\\[population=10,steps=4\\]"), "{settings}");
            assert!(settings.contains("seed:0") && settings.contains("autoformer-tiny"), "{settings}");
        }
    }
    assert!(folder.read("huggingface1/train.py").contains("from_config"));
    assert!(folder.read("pytorch1/model.py").contains("def initial"));
}

#[test]
fn names_reach_neither_code_nor_paths() {
    let folder = Folder::new();
    std::fs::write(folder.0.join("plain.json"), gpt2("plain")).unwrap();
    std::fs::write(folder.0.join("hostile.json"), gpt2(HOSTILE)).unwrap();
    for target in ["huggingface", "pytorch"] {
        folder.ok(&["export", "plain.json", "--to", &format!("plain/{target}"), "--target", target]);
        folder.ok(&["export", "hostile.json", "--to", &format!("hostile/{target}"), "--target", target]);
        for name in names(&folder, &format!("plain/{target}")) {
            let [a, b] = ["plain", "hostile"]
                .map(|from| std::fs::read(folder.0.join(from).join(target).join(&name)).unwrap());
            // Only the description of the architecture says the name of its space, as JSON.
            assert!(a == b || name == "architecture.json", "{target}/{name} depends on a name");
        }
    }
    let search = ["search", "--budget", "5", "--name", HOSTILE];
    folder.ok(&search);
    folder.ok(&["export", HOSTILE, "--to", "study"]);
    let card = folder.read("study/README.md");
    assert!(!card.contains('<') && !card.contains("\"\"\"") && card.contains("| study | x"), "{card}");
    assert!(!folder.read("study/modeling_foretell_vit.py").contains("os.system"));
    folder.fails(&["export", "plain.json", "--to", ".."], 2, "names no folder");
    folder.fails(
        &["export", "plain.json", "--to", "x", "--target", "timm"],
        2,
        "vision transformers, not gpt2",
    );
    assert!(!folder.0.join("x").exists());
}

#[test]
fn nothing_is_overwritten_and_a_full_disk_loses_nothing() {
    let folder = Folder::new();
    std::fs::write(folder.0.join("a.json"), gpt2("a")).unwrap();
    folder.ok(&["export", "a.json", "--to", "model"]);
    folder.fails(&["export", "a.json", "--to", "model"], 2, "--force");
    let before = folder.read("model/config.json");
    folder.ok(&["export", "a.json", "--to", "model", "--force"]);
    assert_eq!(folder.read("model/config.json"), before);
    // Files may not grow beyond 8 KB, as if the disk were full: nothing is left, what was there stays.
    let binary = env!("CARGO_BIN_EXE_foretell");
    let limited = |to: &str| {
        let script = format!("trap '' XFSZ; ulimit -f 8; exec {binary} export a.json --to {to} --force");
        Command::new("sh").args(["-c", &script]).current_dir(&folder.0).output().unwrap()
    };
    for to in ["model", "fresh"] {
        let output = limited(to);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert!(error.contains("cannot write"), "{error}");
    }
    assert_eq!(names(&folder, "."), ["a.json", "model"]);
    assert_eq!(folder.read("model/config.json"), before);
    // A folder of somebody else's is never replaced.
    std::fs::create_dir(folder.0.join("home")).unwrap();
    std::fs::write(folder.0.join("home/diary.txt"), "mine").unwrap();
    folder.fails(&["export", "a.json", "--to", "home", "--force"], 2, "diary.txt");
    assert!(Path::new(&folder.0.join("home/diary.txt")).exists());
}

#[test]
fn configurations_of_others_are_counted() {
    let folder = Folder::new();
    let config = r#"{"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "vocab_size": 50257, "n_positions": 1024}"#;
    std::fs::create_dir(folder.0.join("gpt2")).unwrap();
    std::fs::write(folder.0.join("gpt2/config.json"), config).unwrap();
    for source in ["gpt2", "gpt2/config.json"] {
        let found: Value = serde_json::from_str(&folder.ok(&["count", source, "--json"])).unwrap();
        assert_eq!(found["params"]["total"], 124_439_808);
    }
    std::fs::write(folder.0.join("opt.json"), r#"{"model_type": "opt"}"#).unwrap();
    folder.fails(&["count", "opt.json"], 2, "unknown model_type 'opt'");
    folder.fails(&["count", "."], 2, "without a config.json");
    // A network of any size as code alone, and refused before its weights are drawn.
    let huge = r#"{"model_type": "llama", "hidden_size": 65536, "num_attention_heads": 512, "intermediate_size": 200000, "num_hidden_layers": 200}"#;
    std::fs::write(folder.0.join("huge.json"), huge).unwrap();
    folder.fails(&["export", "huge.json", "--to", "huge"], 2, "--no-weights");
    folder.ok(&["export", "huge.json", "--to", "huge", "--no-weights"]);
    assert_eq!(names(&folder, "huge"), ["README.md", "architecture.json", "config.json", "train.py"]);
}
