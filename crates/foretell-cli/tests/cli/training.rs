//! `foretell train`, `benchmark build`, `verify` and `search --evaluate train` as users meet them: killed and continued.

use crate::support::Folder;
use serde_json::Value;
use std::process::Command;
use std::time::{Duration, Instant};

/// A folder with a text to train on and a space of small networks.
fn folder() -> Folder {
    let folder = Folder::new();
    let line = |i: usize| format!("{} sheep, and {} goats of {}\n", i * i % 97, i % 13, ["Ur", "Nod"][i % 2]);
    folder.write("text.txt", &(0..800).map(line).collect::<String>());
    folder.write("small.toml", SPACE);
    folder
}

const SPACE: &str = "name = \"small\"\nfamily = \"gpt2\"\n[fixed]\nvocab_size = 257\ncontext_len = 32\ncutoffs = []\n\
                     div_val = 1\n[choices]\nn_layer = [1, 2, 3]\nd_model = [16, 24, 32]\nn_head = [1, 2, 4]\n\
                     d_inner = [16, 32, 48, 64]\n";
const NETWORK: &str = "{\"family\": \"gpt2\", \"vocab_size\": 50000, \"context_len\": 32, \"cutoffs\": [], \"n_layer\": 2, \
                       \"d_model\": 32, \"n_head\": 2, \"d_inner\": 64}";

/// Kills a command again and again, each time a quarter later, until it gets done; how often it was killed.
pub fn kill_until_done(folder: &Folder, arguments: &str) -> i32 {
    for kills in 0.. {
        let mut child = folder.start(arguments);
        let (start, patience) =
            (Instant::now(), Duration::from_millis((150.0 * 1.25_f64.powi(kills)) as u64));
        loop {
            if let Some(status) = child.try_wait().unwrap() {
                assert!(status.success(), "{arguments}");
                return kills;
            }
            if start.elapsed() >= patience {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    unreachable!()
}

/// The vocabulary is the text's; weights after kills are those of an undisturbed run, bit for bit, on one thread or two.
#[test]
fn training_survives_kills() {
    let folder = folder();
    folder.write("net.json", NETWORK);
    let train = "train net.json --on text.txt --with steps=60 --with tokens=32 --with validate_every=20 --with dropout=0.1 \
                 --save-every 0.001";
    let whole = folder.json(&format!("{train} -o whole --threads 1"));
    assert_eq!((&whole["steps"], &whole["seen"]), (&60.into(), &(60 * 16 * 32).into()));
    assert_eq!(whole["curve"].as_array().unwrap().len(), 3);
    let (first, last) = (whole["curve"][0]["valid"]["loss"].as_f64(), whole["valid_loss"].as_f64());
    assert!(last < first && last < Some(4.0), "{first:?} {last:?}");
    let kills = kill_until_done(&folder, &format!("{train} -o killed --threads 2"));
    assert!(kills > 0, "the run is too short to be killed");
    for file in ["weights", "training"] {
        let path = format!("checkpoint-0000000060/{file}.safetensors");
        assert_eq!(folder.bytes(&format!("whole/{path}")), folder.bytes(&format!("killed/{path}")), "{file}");
    }
    let known = folder.json(&format!("{train} -o killed"));
    assert_eq!((&known["curve"], &known["valid_loss"]), (&whole["curve"], &whole["valid_loss"]));
    // The checkpoint is a weight file like any other.
    folder.write("fit.json", &NETWORK.replace("50000", "257"));
    folder.ok("score fit.json --proxies snip --weights whole/checkpoint-0000000060/weights.safetensors");
    folder.fails(&format!("{train} -o whole --with rate=0.1"), 2, "another run (recipe differ)");
    folder.fails("train net.json --on nowhere", 2, "train.txt and valid.txt");
    folder.fails("train net.json --with stps=3", 2, "unknown field `stps`");
    folder.fails("train net.json --tokeniser words", 2, "bpe:N");
}

/// Interrupted or terminated, a run writes a checkpoint after its step and resumes as if nothing had happened.
#[cfg(unix)]
#[test]
fn an_interrupted_run_resumes_where_it_stopped() {
    let folder = folder();
    folder.write("net.json", NETWORK);
    let train = "train net.json --on text.txt --with steps=300 --with tokens=32 --with validate_every=100 --with dropout=0.1 \
                 --save-every 1000000";
    folder.ok(&format!("{train} -o whole"));
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let into = format!("stopped-{signal}");
        let child = folder.command(&format!("{train} -o {into}")).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(700));
        Command::new("kill").args([format!("-{signal}"), child.id().to_string()]).status().unwrap();
        let output = child.wait_with_output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{error}");
        assert!(error.contains("of 300") && error.contains(&into) && error.contains("resumes"), "{error}");
        let entries = std::fs::read_dir(folder.0.join(&into)).unwrap().flatten();
        let names: Vec<_> =
            entries.map(|entry| entry.file_name()).filter(|name| name != ".foretell-lock").collect();
        assert_eq!(names.len(), 1, "there is one checkpoint: {error}");
        assert!(!folder.0.join(&into).join("checkpoint-0000000300").exists(), "it was too late");
        folder.ok(&format!("{train} -o {into}"));
        for file in ["weights", "training"] {
            let path = format!("checkpoint-0000000300/{file}.safetensors");
            let [a, b] = ["whole", &into].map(|run| folder.bytes(&format!("{run}/{path}")));
            assert!(a == b, "{file} differs after SIG{signal}");
        }
    }
}

/// Runs of several networks share a table, a run that is repeated stands in it once, and a predictor learns from it.
#[test]
fn curves_are_rows_that_a_predictor_learns_from() {
    let folder = folder();
    for (at, line) in folder.ok("sample small.toml -n 6 --json").lines().enumerate() {
        folder.write("net.json", line);
        let train = format!(
            "train net.json --on text.txt --with steps=12 --with tokens=16 --with batch=4 --with validate_every=4 \
             --with validate_samples=8 -o run-{at} --quiet --curve runs.jsonl"
        );
        folder.ok(&train);
        folder.ok(&train);
    }
    let table = folder.read("runs.jsonl");
    let rows: Vec<Value> = table.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), 6 * 3);
    assert_eq!((&rows[1]["steps"], &rows[1]["tokens"]), (&8.into(), &(8 * 4 * 16).into()));
    assert!(rows.iter().all(|row| row["valid_loss"].as_f64() > Some(0.0) && row["n_layer"].is_number()));
    let fitted = folder.json("predict fit --benchmark runs.jsonl --target valid_loss -o p.json");
    assert_eq!(fitted["check"]["labels"], 6 * 3, "{fitted}");
    folder.write("broken.jsonl", "{\n");
    folder.fails(
        "train net.json --on text.txt --with steps=1 -o last --curve broken.jsonl",
        2,
        "line 1: is no row",
    );
}

#[test]
fn the_demonstration_learns() {
    let folder = folder();
    let text = folder.ok("train --demo --with steps=12 --with batch=4 --with validate_every=6");
    for part in ["parameters", "validation      loss", "perplexity", "per second", "weights.safetensors"] {
        assert!(text.contains(part), "{part:?} is not in: {text}");
    }
}

const CONFIG: &str = "space = \"../small.toml\"\nnetworks = 8\nparams = [8_000, 40_000]\nstrata = 4\nrepeat = 4\nseeds = 2\n\
                      data = \"../text.txt\"\n[recipe]\nsteps = 15\nbatch = 4\ntokens = 32\nvalidate_samples = 8\n";

/// Killed, in shares, on any number of threads: the same table; and `bench` reads it.
#[test]
fn a_benchmark_is_the_same_however_it_was_built() {
    let folder = folder();
    std::fs::create_dir(folder.0.join("mine")).unwrap();
    folder.write("mine/config.toml", CONFIG);
    let whole = folder.json("benchmark build mine/config.toml -o whole/mine --threads 1");
    assert_eq!((&whole["networks"], &whole["runs"]), (&8.into(), &10.into()));
    let kills = kill_until_done(&folder, "benchmark build mine/config.toml -o killed/mine --threads 2");
    assert!(kills > 0, "the build is too short to be killed");
    let half = folder.json("benchmark build mine/config.toml -o shared/mine --shard 2/2");
    assert_eq!(half["table"], Value::Null);
    folder.json("benchmark build mine/config.toml -o shared/mine --shard 1/2");
    for other in ["killed", "shared"] {
        for file in ["architectures.jsonl", "repeats.csv"] {
            assert_eq!(
                folder.bytes(&format!("whole/mine/{file}")),
                folder.bytes(&format!("{other}/mine/{file}")),
                "{other}"
            );
        }
    }
    let repeats = folder.read("whole/mine/repeats.csv");
    assert_eq!(repeats.lines().count(), 5, "{repeats}");
    let bench = folder.json("bench mine --data whole --proxies params --resamples 50 --no-cache");
    assert_eq!((&bench["n"], &bench["target"]), (&8.into(), &"valid_ppl".into()));
    let noise = &bench["noise"];
    assert!(noise["networks"] == 2 && noise["deviation"].as_f64().unwrap() > 0.0, "{noise}");
    assert!(folder.ok("bench mine --data whole --resamples 0 --no-cache").contains("Noise ceiling: tau"));
    let rows = folder.read("whole/mine/architectures.jsonl");
    let table = foretell::benchmark::Benchmark::load(&folder.0.join("whole"), "mine").unwrap();
    for (row, network) in rows.lines().zip(&table.architectures) {
        assert_eq!(
            serde_json::from_str::<Value>(row).unwrap()["id"],
            network.id(),
            "a row is read as what was trained"
        );
    }
    assert!(table.counts.len() == 16 && table.counts.iter().all(|count| count.published == count.ours));
    let sizes: Vec<u64> = rows
        .lines()
        .map(|row| serde_json::from_str::<Value>(row).unwrap()["params_total"].as_u64().unwrap())
        .collect();
    assert!(sizes.chunks(2).is_sorted_by(|a, b| a.iter().max() < b.iter().min()), "{sizes:?}");
    folder.write("mine/config.toml", &CONFIG.replace("steps = 15", "steps = 16"));
    folder.fails("benchmark build mine/config.toml -o whole/mine", 2, "another recipe");
    for (was, is, part) in [
        ("networks = 8", "networks = 999999999999", "at most 1000000"),
        ("[8_000, 40_000]", "[8_000, 8_002]", "fewer strata"),
    ] {
        folder.write("mine/config.toml", &CONFIG.replace(was, is));
        folder.fails("benchmark build mine/config.toml -o other", 2, part);
    }
    folder.write("mine/config.toml", &CONFIG.replace("40_000", "9_000_000"));
    folder.fails("benchmark build mine/config.toml -o other", 4, "nothing in space 'small' is feasible");
}

/// ETAS trains what its proxy lets through, goes on after kills, and its best are put to the test.
#[test]
fn etas_trains_and_is_verified() {
    let folder = folder();
    let training = "--on text.txt --with steps=10 --with batch=4 --with tokens=32 --with validate_samples=8";
    let search = format!(
        "search --space small.toml --algorithm etas[warmup=12,pool=8,chosen=2,parents=2,steps=3,rate=0.3] --proxy nsc \
         --evaluate train {training}"
    );
    let whole = folder.json(&format!("{search} --store whole.db"));
    let kills = kill_until_done(&folder, &format!("{search} --store killed.db"));
    let killed = folder.json(&format!("{search} --store killed.db"));
    assert_eq!(whole["hash"], killed["hash"], "after {kills} kills");
    let study = whole["study"].as_str().unwrap();
    let best = folder.json(&format!("show {study} -n 1 --store whole.db"));
    assert!(
        best["evaluated"].is_null()
            || best["evaluated"]["by"].as_str().unwrap().contains("valid_loss after 10 steps")
    );
    let told = folder.json(&format!("verify {study} -k 2 --seeds 2 --store whole.db -o told {training}"));
    assert_eq!(
        (told["pairs"].as_array().unwrap().len(), told["pairs"][0][0]["losses"].as_array().unwrap().len()),
        (2, 2)
    );
    assert!(told["gain"].is_f64() && told["interval"]["low"].is_f64(), "{told}");
    let text = folder.ok(&format!("verify {study} -k 2 --seeds 2 --store whole.db -o told {training}"));
    assert!(text.contains("The search ") && text.contains("95 % interval"), "{text}");
    folder.ok(&format!(
        "report {study} --store whole.db -o r.html --verification told/verification.json --svg svg"
    ));
    assert!(folder.read("r.html").contains("Trained against random networks"));
    assert!(!folder.bytes("svg/verified.svg").is_empty());
}
