//! The real binary in a fresh folder: what it prints, where, and with which exit code.

use crate::support::Folder;
use serde_json::Value;
use std::io::Write;
use std::process::{Command, Output, Stdio};

fn run_with(folder: &Folder, arguments: &str, input: &str) -> Output {
    let mut child = folder.command(arguments).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

/// Fails without a result, every part in its message.
#[track_caller]
fn refused(folder: &Folder, arguments: &str, code: i32, parts: &[&str]) {
    let output = folder.run(arguments);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{arguments}: {error}");
    assert!(output.stdout.is_empty(), "{arguments} printed a result");
    parts.iter().for_each(|part| assert!(error.contains(part), "{part:?} is not in: {error}"));
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A benchmark of four GPT-2 networks whose loss falls with width.
fn benchmark(folder: &Folder) {
    std::fs::create_dir_all(folder.0.join("data/tiny-gpt2")).unwrap();
    let row = |id: u32, width: u32, loss: f64| {
        format!(
            "{{\"id\": {id}, \"space\": \"gpt2\", \"n_layer\": 2, \"d_model\": {width}, \"d_embed\": 128, \"div_val\": 1, \
             \"n_head\": [2, 4], \"d_inner\": [2048, 2048], \"val_loss\": {loss}, \"device\": \"d{}\"}}\n",
            id % 2
        )
    };
    let text =
        [(0, 128, 4.0), (1, 192, 3.5), (2, 256, 3.0), (3, 320, 2.5)].map(|(i, w, l)| row(i, w, l)).concat();
    folder.write("data/tiny-gpt2/architectures.jsonl", &text);
}

#[test]
fn without_arguments_the_help_shows_examples() {
    let output = Folder::new().run("");
    let help =
        String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    for part in [
        "Examples:",
        "foretell spaces autoformer-tiny",
        "foretell sample gpt2",
        "foretell bench gpt2-pentateuch",
    ] {
        assert!(help.contains(part), "{help}");
    }
}

#[test]
fn every_space_is_listed_and_its_file_read_back() {
    let folder = Folder::new();
    let spaces = lines(&folder.ok("spaces --json"));
    assert_eq!(spaces.len(), foretell::space::PRESETS.len());
    for space in &spaces {
        let name = space["space"].as_str().unwrap();
        let text = folder.ok(&format!("spaces {name} --toml"));
        folder.write("mine.toml", &text.replace(&format!("name = \"{name}\""), "name = \"mine\""));
        let mine: Value = serde_json::from_str(&folder.ok("spaces mine.toml --json")).unwrap();
        assert_eq!((&mine["size"], &mine["params"]), (&space["size"], &space["params"]), "{name}");
    }
    assert!(folder.ok("spaces").contains("1,056,964,608"));
    let tiny = folder.ok("spaces autoformer-tiny --max-params 6M");
    assert!(tiny.contains("feasible") && tiny.contains("192, 216, 240"), "{tiny}");
}

#[test]
fn samples_are_counted_and_lie_inside_the_limits() {
    let folder = Folder::new();
    let samples = folder.ok("sample gpt2 -n 5 --seed 3 --min-params 15M --max-params 20M --json");
    assert_eq!(samples, folder.ok("sample gpt2 -n 5 --seed 3 --min-params 15M --max-params 20M --json"));
    assert_ne!(samples, folder.ok("sample gpt2 -n 5 --seed 4 --min-params 15M --max-params 20M --json"));
    let output = run_with(&folder, "count - --json", &samples);
    let counts = lines(&String::from_utf8(output.stdout).unwrap());
    assert_eq!(counts.len(), 5);
    for count in &counts {
        let params = &count["params"];
        assert!((15_000_000..=20_000_000).contains(&params["total"].as_u64().unwrap()));
        let parts: u64 = ["attention", "ffn", "norm"].iter().map(|part| params[part].as_u64().unwrap()).sum();
        assert_eq!(parts, params["decoder"].as_u64().unwrap());
        assert!(count["flops"].as_u64().unwrap() > 0 && count["memory_bytes"].as_u64().unwrap() > 0);
        assert_eq!(count["space"], "gpt2");
    }
    folder.write("a.json", &samples);
    assert!(folder.ok("count a.json").lines().count() == 7);
    assert!(folder.ok("count a.json --tensors").contains("model.transformer.h.0.attn.c_attn.weight"));
}

#[test]
fn a_space_file_works_in_every_command() {
    let folder = Folder::new();
    folder.write(
        "mine.toml",
        "name = \"mine\"\nfamily = \"bert\"\n[fixed]\nvocab_size = 1000\n[choices]\nhidden_size = [64]\nnum_layers = [2]\n\
         num_heads = [2, 4]\nffn_dim = [64, 128]\n",
    );
    assert!(folder.ok("spaces mine.toml").contains("16"));
    let sample = folder.ok("sample mine.toml --json");
    let count = run_with(&folder, "count - --json", &sample);
    assert_eq!(count.status.code(), Some(0), "{}", String::from_utf8_lossy(&count.stderr));
}

#[test]
fn modes_are_set_from_the_command_line() {
    let folder = Folder::new();
    folder.write(
        "a.json",
        r#"{"space": "flexibert", "hidden_size": 128, "num_layers": 2, "operation_type": "DSC", "operation_parameter": ["9", "5"],
            "num_heads": [4, 2], "ffn_dim": 512, "ffn_stack": 1}"#,
    );
    let total = |arguments: &str| lines(&folder.ok(arguments))[0]["params"]["total"].as_u64().unwrap();
    assert_eq!(total("count a.json --json"), 4_356_183);
    assert_eq!(total("count a.json --json --set mode=published"), 5_526_167);
    assert_eq!(total("count a.json --json --set mode=as-trained"), 4_369_408);
}

#[test]
fn bench_prints_the_agreed_shape() {
    let folder = Folder::new();
    benchmark(&folder);
    let text = folder.ok("bench tiny-gpt2 --data data --json");
    let report: Value = serde_json::from_str(text.trim()).unwrap();
    assert_eq!(
        (&report["benchmark"], &report["target"], &report["n"]),
        (&"tiny-gpt2".into(), &"val_loss".into(), &4.into())
    );
    let proxies = report["proxies"].as_array().unwrap();
    for key in [
        "name",
        "kendall",
        "kendall_ci",
        "spearman",
        "spearman_ci",
        "pearson",
        "kendall_given_params",
        "kendall_given_depth",
        "distinct",
        "failed",
        "seconds_per_architecture",
    ] {
        assert!(proxies.iter().all(|proxy| proxy.get(key).is_some()), "{key}");
    }
    let width = proxies.iter().find(|proxy| proxy["name"] == "width").unwrap();
    assert_eq!((&width["kendall"], &width["trivial"]), (&1.0.into(), &true.into()));
    // The trivial baselines are there whatever was asked for; the answer does not depend on the threads.
    let asked = |threads: u32| {
        let text = folder
            .ok(&format!("bench tiny-gpt2 --data data --json --proxies sept[tokens=2] --threads {threads}"));
        let mut report: Value = serde_json::from_str(text.trim()).unwrap();
        for proxy in report["proxies"].as_array_mut().unwrap() {
            proxy.as_object_mut().unwrap().remove("seconds_per_architecture");
        }
        report
    };
    let one = asked(1);
    assert_eq!(one, asked(8));
    let names: Vec<&str> =
        one["proxies"].as_array().unwrap().iter().filter_map(|p| p["name"].as_str()).collect();
    assert!(
        ["sept[tokens=2]", "params", "depth", "flops"].iter().all(|name| names.contains(name)),
        "{names:?}"
    );
    let table = folder.ok("bench tiny-gpt2 --data data --where device=d1 --limit 2");
    assert!(table.contains("2 gpt2 networks") && table.contains("baseline"), "{table}");
    assert!(folder.ok("bench --data data").contains("tiny-gpt2"));
}

#[test]
fn mistakes_are_named_with_their_cure() {
    let folder = Folder::new();
    benchmark(&folder);
    folder.write("bad.json", "{\"space\": \"gpt2\", \"n_layer\": ");
    folder.write("typo.json", "{\"space\": \"gpt2\", \"n_layers\": 2}");
    folder.write("bad.toml", "name = \"bad\"\nfamily = \"vit\"\n[choices]\nnum_head = [3]\n");
    folder.write("gpt2.toml", "name = \"gpt2\"\nfamily = \"bert\"\n[fixed]\nhidden_size = 8\nnum_layers = 1\nnum_heads = 1\nffn_dim = 8\n");
    folder.write("data/tiny-gpt2/broken.jsonl", "{\"space\": \"gpt2\", \"n_layer\": 2}\n");
    for (arguments, code, parts) in [
        ("spaces autoformer-tinny", 2, vec!["did you mean 'autoformer-tiny'"]),
        ("spaces nowhere.toml", 1, vec!["nowhere.toml"]),
        ("spaces bad.toml", 2, vec!["bad.toml:4", "num_heads"]),
        ("spaces gpt2.toml", 2, vec!["choose another name"]),
        (
            "sample gpt2 --max-params 1k",
            4,
            vec!["at most 1,000 parameters were requested; the smallest network has 3,659,954 parameters"],
        ),
        ("sample gpt2 --max-params many", 2, vec!["6M"]),
        ("sample autoformer-tiny --max-params -3", 2, vec!["-3"]),
        ("sample gpt2 --max-flops 1G --flops published", 2, vec!["no published counter"]),
        ("count bad.json", 2, vec!["bad.json", "not JSON"]),
        ("count typo.json", 2, vec!["typo.json, architecture 1", "did you mean 'n_layer'"]),
        ("count missing.json", 1, vec!["missing.json"]),
        ("proxies spet", 2, vec!["did you mean 'sept'"]),
        ("bench tiny-gpt --data data", 2, vec!["did you mean 'tiny-gpt2'"]),
        ("bench tiny-gpt2 --data data --target val_los", 2, vec!["did you mean 'val_loss'"]),
        ("bench tiny-gpt2 --data data --where device=d7", 2, vec!["device=d0"]),
        ("bench tiny-gpt2/broken --data data", 2, vec!["broken.jsonl:1"]),
        ("bench tiny-gpt2 --data nowhere", 2, vec!["nowhere", "FORETELL_BENCHMARKS"]),
        ("bench tiny-gpt2", 2, vec!["--data FOLDER"]),
        ("frobnicate", 2, vec!["frobnicate"]),
    ] {
        refused(&folder, arguments, code, &parts);
    }
}

#[test]
fn proxies_and_doctor_speak_json_too() {
    let folder = Folder::new();
    assert_eq!(lines(&folder.ok("proxies --json")).len(), folder.ok("proxies").lines().count() - 5);
    assert!(folder.ok("proxies nsc").contains("Zhu"));
    let doctor: Value = serde_json::from_str(&folder.ok("doctor --json")).unwrap();
    assert!(doctor["cores"].as_u64().unwrap() >= 1 && doctor["benchmarks"].is_array());
}

const SMALL: &str = r#"{"family": "vit", "image_size": 16, "patch_size": 4, "num_classes": 7, "embed_dim": 16, "depth": 2,
    "num_heads": 2, "mlp_ratio": 2}
    {"family": "vit", "image_size": 16, "patch_size": 4, "num_classes": 7, "embed_dim": 24, "depth": 3, "num_heads": 3, "mlp_ratio": 2}
"#;

#[test]
fn scores_have_the_agreed_shape_and_are_cached() {
    let folder = Folder::new();
    folder.write("a.json", SMALL);
    let first = lines(&folder.ok("score a.json --json --proxies all"));
    assert_eq!(first.len(), 2);
    let scores = first[0]["scores"].as_object().unwrap();
    // All but shape-law, which is meant only where it is named.
    assert_eq!(scores.len() + 1, lines(&folder.ok("proxies --json")).len());
    assert!(
        scores["snip"]["value"].as_f64().unwrap() > 0.0
            && scores["snip"]["deviation"].as_f64().unwrap() > 0.0
    );
    assert_eq!(scores["snip"]["values"].as_array().unwrap().len(), 3);
    assert_eq!(scores["hidden-covariance"]["kind"], "not-defined");
    assert!(scores["ntkt"]["standard_error"].as_f64().unwrap() > 0.0);
    assert!(scores["dss++"]["parts"]["diversity"].as_f64().unwrap() > 0.0);
    // Twenty proxies share a few passes; the second time there is none.
    assert!((5..25).contains(&first[0]["passes"].as_array().unwrap().len()));
    let again = lines(&folder.ok("score a.json --json --proxies all"));
    assert_eq!(again[0]["passes"].as_array().unwrap().len(), 0);
    assert_eq!(again[0]["scores"]["snip"]["values"], scores["snip"]["values"]);
    // Threads and the cache change nothing; another seed does.
    let fresh =
        |more: &str| lines(&folder.ok(&format!("score a.json --json --proxies snip,dss --no-cache {more}")));
    assert_eq!(fresh("--threads 1")[0]["scores"]["snip"]["values"], scores["snip"]["values"]);
    assert_ne!(fresh("--seed 7")[0]["scores"]["snip"]["values"], scores["snip"]["values"]);
    let double = fresh("--precision f64 --seeds 1")[0]["scores"]["dss"]["value"].as_f64().unwrap();
    let single = fresh("--seeds 1")[0]["scores"]["dss"]["value"].as_f64().unwrap();
    assert!(double != single && (double / single - 1.0).abs() < 1e-4);
    let table = folder.ok("score a.json --proxies snip,synflow --terms --no-cache");
    assert!(
        table.contains("blocks.1.fc2.weight") && table.contains("loss crossentropy, by weights"),
        "{table}"
    );
}

/// Weights and inputs of a golden case, by the files a user would give: the original's SNIP and SynFlow.
#[test]
fn weights_and_inputs_come_from_files() {
    let folder = Folder::new();
    folder.write(
        "pit.json",
        r#"{"family": "pit", "image_size": 32, "patch_size": 8, "stride": 4, "base_dim": 8, "depth": [1, 2, 1],
            "num_heads": [1, 2, 4], "mlp_ratio": 2, "num_classes": 10}"#,
    );
    let case = concat!(env!("CARGO_MANIFEST_DIR"), "/../foretell/tests/fixtures/golden/pit");
    let files = format!("--weights {case}/weights.safetensors --inputs {case}/inputs.safetensors");
    let scored =
        lines(&folder.ok(&format!("score pit.json --json --proxies snip,synflow --precision f64 {files}")));
    for (name, expected) in [("snip", 1.042461324287062), ("synflow", 9.821333808504857)] {
        let found = scored[0]["scores"][name]["value"].as_f64().unwrap();
        assert!((found / expected - 1.0).abs() < 1e-9, "{name}: {found} is not {expected}");
    }
}

#[test]
fn rank_orders_best_first() {
    let folder = Folder::new();
    folder.write("a.json", SMALL);
    let ranked = lines(&folder.ok("rank a.json --json --proxies params,dss++,grad-norm"));
    assert_eq!((&ranked[0]["ranks"]["params"], &ranked[1]["ranks"]["params"]), (&1.0.into(), &2.0.into()));
    assert!(ranked[0]["mean_rank"].as_f64() <= ranked[1]["mean_rank"].as_f64());
    assert!(folder.ok("rank a.json").contains("mean rank"));
    folder.write("one.json", SMALL.split_once("\n    {").unwrap().0);
    refused(&folder, "rank one.json", 2, &["at least two"]);
}

#[test]
fn scoring_mistakes_are_named() {
    let folder = Folder::new();
    folder.write("a.json", SMALL);
    folder.write("junk.safetensors", "junk");
    for (arguments, code, parts) in [
        ("score a.json --proxies snpi", 2, vec!["did you mean 'snip'"]),
        ("score a.json --proxies snip[layer=first]", 2, vec!["did you mean 'layers'"]),
        ("score a.json --proxies snip[layers=frist]", 2, vec!["unknown variant"]),
        ("score a.json --proxies snip[variant=publisht]", 2, vec!["did you mean 'published'"]),
        ("score a.json --weights nowhere", 2, vec!["neither shared nor standalone nor a file"]),
        ("score a.json --inputs nowhere.safetensors", 1, vec!["nowhere.safetensors"]),
        ("score a.json --inputs junk.safetensors", 2, vec!["junk.safetensors"]),
        ("score a.json --seeds 0", 2, vec!["0"]),
        ("score a.json --proxies ,", 2, vec!["names no proxy"]),
    ] {
        refused(&folder, arguments, code, &parts);
    }
    // A network beyond memory is refused before a weight is drawn, and its neighbour is scored.
    folder.write(
        "big.json",
        &(r#"{"family": "vit", "embed_dim": 30000, "depth": 20, "num_heads": 2, "mlp_ratio": 4}"#.to_owned()
            + SMALL),
    );
    let scored = lines(&folder.ok("score big.json --json --proxies snip --seeds 1"));
    assert_eq!(scored[0]["scores"]["snip"]["kind"], "memory");
    assert!(scored[1]["scores"]["snip"]["value"].as_f64().unwrap() > 0.0);
    // A weight file that does not fit is one candidate's failure, by name.
    let output = folder.ok("score a.json --json --proxies snip,params --weights junk.safetensors");
    assert_eq!(lines(&output)[0]["scores"]["snip"]["kind"], "data");
    assert!(lines(&output)[0]["scores"]["params"]["value"].as_f64().unwrap() > 0.0);
}

/// Interrupted while it works, the command is gone within half a second, and what was scored is known next time.
#[test]
#[cfg(unix)]
fn an_interrupt_stops_at_once() {
    let folder = Folder::new();
    folder.write("a.json", &folder.ok("sample autoformer-tiny -n 40 --json"));
    let mut child = folder.command("score a.json --proxies grasp,ntkt --json").spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let start = std::time::Instant::now();
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(130));
    assert!(start.elapsed().as_millis() < 500, "{:?}", start.elapsed());
}

/// `foretell spaces | head -1` must not complain.
#[test]
fn a_reader_that_leaves_is_no_error() {
    let folder = Folder::new();
    let mut child = folder.command("sample autoformer-tiny -n 20000 --json").spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0));
}
