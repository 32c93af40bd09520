//! What users get wrong: options out of range or without effect, files that are something else, and what they are told.

use crate::support::Folder;
use serde_json::Value;
use std::process::{Command, Stdio};
use std::time::Duration;

const VIT: &str = r#"{"family": "vit", "image_size": 16, "patch_size": 4, "num_classes": 7, "embed_dim": 16, "depth": 2,
    "num_heads": 2, "mlp_ratio": 2}
    {"family": "vit", "image_size": 16, "patch_size": 4, "num_classes": 7, "embed_dim": 24, "depth": 3, "num_heads": 3,
    "mlp_ratio": 2}
"#;
const GPT2: &str = r#"{"family": "gpt2", "vocab_size": 300, "context_len": 16, "d_model": 24, "n_layer": 2, "n_head": [2, 4],
    "d_inner": [20, 40]}"#;

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("vit.json", VIT);
    folder.write("gpt2.json", GPT2);
    folder
}

/// The study of the README reads images: without any, the cure is named before anything is trained.
#[test]
fn networks_of_images_need_images() {
    let folder = folder();
    folder.write("one.json", VIT.split_once("\n    {").unwrap().0);
    folder.ok("search --budget 20 --name s");
    for command in ["verify s", "train one.json", "search --evaluate train --budget 5"] {
        for part in ["--on FOLDER", "train/CLASS/*.png", "vit networks read images", "gpt2", "flexibert"] {
            folder.fails(command, 2, part);
        }
    }
    assert!(!folder.0.join("s.verified").exists());
    std::fs::write(folder.0.join("text.txt"), "some words\n".repeat(500)).unwrap();
    folder.fails("verify s --on text.txt", 2, "data: is text; a vit network reads images");
}

#[test]
fn no_score_at_all_is_exit_code_3() {
    let folder = folder();
    for command in ["score", "rank"] {
        for json in ["", "--json"] {
            let output = folder.run(&format!("{command} vit.json --proxies hidden-covariance {json}"));
            assert_eq!(output.status.code(), Some(3), "{command} {json}");
            assert!(!output.stdout.is_empty(), "the errors are shown");
            folder.ok(&format!("{command} vit.json --proxies hidden-covariance,params {json}"));
        }
    }
    let help = folder.ok("--help").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("3 most candidates or all evaluations failed or no score succeeded"), "{help}");
}

#[test]
fn numbers_out_of_range_are_refused_at_once() {
    let folder = folder();
    for (arguments, part) in [
        ("score gpt2.json --proxies snip[batch=0]", "batch is 0; it must be a whole number from 1 to 65536"),
        ("score gpt2.json --proxies snip[batch=9223372036854775808]", "batch is 9223372036854775808"),
        ("score gpt2.json --proxies ntkt[probes=4000000000]", "probes is 4000000000"),
        ("score gpt2.json --proxies zico[batches=1000000000]", "batches is 1000000000"),
        ("discover --benchmark gpt2-pentateuch --options batch=0", "batch is 0"),
        ("bench gpt2-pentateuch --limit 0", "--limit"),
        ("bench gpt2-pentateuch --resamples 99999999999", "--resamples"),
        ("sample gpt2 -n 0", "-n"),
        ("show s -n 0", "-n"),
        ("search --budget 0", "--budget"),
        ("search --evaluate gpt2-pentateuch --evaluate-top 0", "--evaluate-top"),
        ("discover --benchmark gpt2-pentateuch --sample 0", "--sample"),
        ("discover --benchmark gpt2-pentateuch --validation 0", "--validation"),
        ("discover --benchmark gpt2-pentateuch --population 0", "--population"),
        ("discover --benchmark gpt2-pentateuch --entries 4000000000", "--entries"),
        ("calibrate --benchmark gpt2-pentateuch --labels 0", "--labels"),
        ("train gpt2.json --image-size 0", "--image-size"),
        ("train gpt2.json --save-every 0", "--save-every"),
        ("verify s -k 0", "-k"),
        ("score gpt2.json --threads 0", "--threads"),
    ] {
        folder.fails(arguments, 2, part);
    }
    // A batch beyond memory is one candidate's refusal, before anything is drawn.
    folder.write("large.json", &VIT.replace("\"image_size\": 16", "\"image_size\": 2048"));
    let huge = folder.run("score large.json --proxies snip[batch=65536] --json --seeds 1");
    assert_eq!(huge.status.code(), Some(3));
    let said: Value = serde_json::from_slice(huge.stdout.split(|b| *b == b'\n').next().unwrap()).unwrap();
    assert_eq!(said["scores"]["snip[batch=65536]"]["kind"], "memory", "{said}");
}

/// The largest seed works everywhere; further seeds wrap around to 0.
#[test]
fn the_largest_seed_is_a_seed() {
    let folder = folder();
    let seed = "--seed 18446744073709551615";
    let table = "--benchmark gpt2-pentateuch --limit 30";
    for command in [
        format!("score gpt2.json --proxies snip {seed}"),
        format!("rank vit.json {seed} --proxies snip"),
        format!("sample gpt2 -n 2 {seed}"),
        format!("search --budget 20 {seed}"),
        format!("bench gpt2-pentateuch --limit 10 --proxies l2-norm {seed} --resamples 10"),
        format!("discover {table} --method alpha {seed}"),
        format!("discover {table} --sample 8 --validation 6 --splits 2 --population 10 --generations 10 --entries 16 \
                 --options batch=1,tokens=4 {seed}"),
        format!("calibrate {table} --labels 10 {seed}"),
        "train gpt2.json --with seed=18446744073709551615 --with steps=2 --with batch=2 --with part=1 --with validate_samples=2".into(),
        format!("export gpt2.json --to out {seed}"),
    ] {
        folder.ok(&command);
    }
    let values = |seed: &str| folder.json(&format!("score gpt2.json --proxies snip --no-cache {seed}"));
    let wrapped = values(seed);
    let plain = values("--seed 0 --seeds 1");
    assert_eq!(wrapped["scores"]["snip"]["values"][1], plain["scores"]["snip"]["value"]);
}

#[test]
fn a_file_of_proxies_stands_anywhere_in_a_list() {
    let folder = folder();
    folder.write("my.proxy", "# what was calibrated\nblend(0.6 * nsc, 0.4 * depth)\nsum(square(head), norm(weight))[batch=2] # one\n");
    folder.write("one.proxy", "sept[tokens=2]\n");
    let labels = |list: &str| -> Vec<String> {
        let scored = folder.json(&format!("score gpt2.json --seeds 1 --proxies {list}"));
        scored["scores"].as_object().unwrap().keys().cloned().collect()
    };
    let written = ["blend(0.6 * nsc, 0.4 * depth)", "sum(square(head), norm(weight))[batch=2]"];
    assert_eq!(
        labels("snip[batch=2,tokens=8],@my.proxy,dss"),
        ["snip[batch=2,tokens=8]", written[0], written[1], "dss"]
    );
    assert_eq!(labels("@one.proxy,@my.proxy"), ["sept[tokens=2]", written[0], written[1]]);
    assert_eq!(labels("@one.proxy"), ["sept[tokens=2]"]);
    let study = folder.json("search --space gpt2 --max-params 20M --budget 10 --proxy @one.proxy");
    assert!(study["objectives"]["sept[tokens=2]"].is_f64(), "{study}");
    folder.write("empty.proxy", "# nothing\n");
    folder.fails("score gpt2.json --proxies snip,@empty.proxy", 2, "empty.proxy: names no proxy");
    folder.fails("score gpt2.json --proxies snip,@nowhere.proxy", 1, "nowhere.proxy");
}

#[test]
fn the_doctor_names_paths() {
    let folder = folder();
    let before = folder.json("doctor");
    for key in ["version", "cores", "threads", "cpu_features", "memory_bytes"] {
        assert!(!before[key].is_null(), "{key}: {before}");
    }
    let place = |found: &Value, what: &str| -> Value {
        found["paths"].as_array().unwrap().iter().find(|place| place["what"] == what).unwrap().clone()
    };
    let (cache, store) = (place(&before, "cache"), place(&before, "store"));
    assert_eq!(
        (&cache["source"], &cache["exists"], &cache["writable"]),
        (&"FORETELL_CACHE".into(), &false.into(), &true.into())
    );
    assert_eq!(cache["path"], folder.0.join("cache").to_str().unwrap());
    assert_eq!((&store["source"], &store["exists"]), (&"default".into(), &false.into()));
    assert!(place(&before, "benchmarks")["path"].as_str().unwrap().ends_with("foretell/benchmarks"));
    folder.ok("search --budget 10");
    assert_eq!(place(&folder.json("doctor"), "store")["exists"], true);
    let text = folder.ok("doctor");
    for part in
        ["version", "foretell.db (exists, writable; default)", "FORETELL_CACHE", "gpt2-pentateuch", "cores"]
    {
        assert!(text.contains(part), "{part:?} is not in: {text}");
    }
    let missing = folder.command("doctor").env("FORETELL_BENCHMARKS", "no/such/folder").output().unwrap();
    let text = String::from_utf8(missing.stdout).unwrap();
    assert!(
        text.contains("no/such/folder (does not exist, its folder is writable; FORETELL_BENCHMARKS)"),
        "{text}"
    );
}

/// A device, a folder or a pipe without end in place of a file is refused at once, whatever reads it.
#[cfg(unix)]
#[test]
fn endless_files_are_refused() {
    let folder = folder();
    folder.ok("search --budget 10 --name s");
    for arguments in [
        "count /dev/zero",
        "score /dev/zero",
        "spaces /dev/zero",
        "sample /dev/zero",
        "train gpt2.json --recipe /dev/zero",
        "train gpt2.json --on /dev/zero",
        "benchmark build /dev/zero",
        "score gpt2.json --proxies @/dev/zero",
        "score gpt2.json --proxies snip --weights /dev/zero",
        "score gpt2.json --proxies snip --inputs /dev/zero",
        "report s --verification /dev/zero",
        "studies --store /dev/zero",
        "search --store /dev/zero --budget 5",
        "repair /dev/zero",
        "export /dev/zero --to out",
    ] {
        let output = folder.run(arguments);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(matches!(output.status.code(), Some(1 | 2)), "{arguments}: {error}");
        assert!(error.contains("/dev/zero"), "{arguments}: {error}");
    }
    // A pipe that ends is a file like any other; one that does not is cut off at the limit.
    let piped = |script: &str| {
        let binary = env!("CARGO_BIN_EXE_foretell");
        let script = script.replace("FORETELL", binary);
        Command::new("sh").args(["-c", &script]).current_dir(&folder.0).stdin(Stdio::null()).output().unwrap()
    };
    assert!(piped("mkfifo p; cat gpt2.json > p & FORETELL count p").status.success());
    assert!(piped("cat gpt2.json | FORETELL count -").status.success());
    let endless = piped("yes | tr -d '\\n' | FORETELL count -");
    assert!(String::from_utf8_lossy(&endless.stderr).contains("larger than 64 MiB"), "{endless:?}");
}

#[test]
fn a_file_that_is_no_store_is_called_what_it_is() {
    let folder = folder();
    for command in ["studies --store vit.json", "search --store vit.json", "verify-store --store vit.json"] {
        folder.fails(command, 1, "this is not a foretell store but a JSON file");
    }
    assert_eq!(folder.read("vit.json"), VIT, "it is not touched");
    folder.write("page.db", &"x".repeat(4096));
    folder.fails("studies --store page.db", 1, "not a foretell store but a text file");
}

/// Options that have no effect are refused by name.
#[test]
fn options_without_effect_are_refused() {
    let folder = folder();
    let shape = "none of the proxies uses weights (params, nsc)";
    for (arguments, parts) in [
        (
            "score gpt2.json --proxies params,nsc --weights standalone",
            vec!["--weights: has no effect", shape],
        ),
        ("score gpt2.json --proxies params,nsc --weights gpt2.json", vec!["--weights: has no effect"]),
        ("score gpt2.json --proxies params,nsc --precision f64", vec!["--precision: has no effect", shape]),
        ("score gpt2.json --proxies l2-norm --inputs gpt2.json", vec!["--inputs: has no effect", "l2-norm"]),
        ("rank vit.json --weights standalone", vec!["--weights: has no effect"]),
        ("bench gpt2-pentateuch --proxies params --precision f64", vec!["--precision: has no effect"]),
        ("score gpt2.json --no-cache --cache here", vec!["--no-cache", "--cache"]),
        ("spaces --max-params 6M", vec!["SPACE", "limits need the name of a space"]),
        ("spaces --toml", vec!["SPACE"]),
        ("sample autoformer-tiny --flops published", vec!["--flops: has no effect without --min-flops"]),
        ("search --on text.txt", vec!["--on: has no effect without --evaluate train"]),
        ("search --with steps=3", vec!["--with: has no effect without --evaluate train"]),
        ("search --evaluate-lower", vec!["--evaluate"]),
        ("search --evaluate-retries 3", vec!["--evaluate-with"]),
        ("export gpt2.json --to out --trial 3", vec!["--trial: has no effect: gpt2.json is not a study"]),
        ("export gpt2.json --to out --no-weights --seed 3", vec!["--seed", "--no-weights"]),
        ("train gpt2.json --image-size 32", vec!["--image-size: has no effect on text"]),
    ] {
        parts.iter().for_each(|part| folder.fails(arguments, 2, part));
    }
    let scored = folder.run("score gpt2.json --proxies synaptic-diversity[qkv=split] --json");
    assert_eq!(scored.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&scored.stdout).contains("qkv: has no effect on gpt2"));
}

/// An interrupted command promises only what it keeps.
#[cfg(unix)]
#[test]
fn an_interrupt_says_what_is_kept() {
    let folder = folder();
    folder.write("many.json", &folder.ok("sample autoformer-tiny -n 200 --json"));
    for (arguments, promise) in [
        (
            "score many.json --proxies grasp,ntkt --json",
            r#"{"kind":"interrupted","message":"interrupted; the scores computed so far are cached"#,
        ),
        ("score many.json --proxies grasp,ntkt --json --no-cache", r#""message":"interrupted","exit":130"#),
        ("score many.json --proxies grasp,ntkt --terms", "foretell: interrupted\n"),
        (
            "search --proxy grasp",
            "foretell: interrupted; scored candidates are stored; the same command resumes the search\n",
        ),
    ] {
        let child = folder.command(arguments).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(1500));
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        let output = child.wait_with_output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(130), "{arguments}: {error}");
        assert!(error.contains(promise), "{arguments}: {error}");
    }
}
