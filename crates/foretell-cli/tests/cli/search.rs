//! `foretell search` as users meet it: killed, interrupted, on any number of threads, twice at once.

use crate::support::Folder;
use serde_json::Value;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

fn remove(folder: &Folder, store: &str) {
    for side in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(folder.0.join(format!("{store}{side}")));
    }
}

/// A pass over a small network, a few milliseconds each: long enough to be killed in.
const SLOW: &str = "search --space small.toml --proxy dss++ --budget 150 --seed 5";
const SMALL: &str = "name = \"small\"\nfamily = \"vit\"\n[fixed]\nimage_size = 32\npatch_size = 8\nnum_classes = 10\n[choices]\n\
                     embed_dim = [48, 64]\ndepth = [3, 4, 5]\nnum_heads = [2, 4]\nmlp_ratio = [2.0, 3.0, 4.0]\n";

#[test]
fn the_default_ends_with_a_proved_winner_and_what_to_do_next() {
    let folder = Folder::new();
    let text = folder.ok("search");
    for part in [
        "proved optimal",
        "8114.23",
        "best uniform network",
        "uniform, nearest in size",
        "mlp_ratio",
        "warning: there is no table of trained vit networks",
        "Next:",
        "foretell best",
        "dss++",
        "0 failed",
    ] {
        assert!(text.contains(part), "{part:?} is not in: {text}");
    }
    let studies = folder.json("studies");
    let name = studies["study"].as_str().unwrap();
    assert_eq!((&studies["trials"], &studies["config"]["algorithm"]), (&10.into(), &"dp".into()));
    assert_eq!(studies["config"]["limits"]["max_params"], 6_000_000);
    assert!(studies["provenance"]["version"].is_string() && studies["provenance"]["processor"].is_string());
    let best = folder.json(&format!("best {name}"));
    assert_eq!(best["space"], "autoformer-tiny");
    std::fs::write(folder.0.join("best.json"), best.to_string()).unwrap();
    let count = folder.json("count best.json");
    assert!(count["params"]["total"].as_u64().unwrap() <= 6_000_000);
    assert_eq!(folder.json(&format!("show {name} -n 3"))["architecture"]["id"], count["id"]);
    assert!(folder.ok(&format!("show {name}")).contains("hash"));
    assert!(folder.ok("verify-store").contains("10 candidates, all intact"));
    // The same command again scores nothing and gives the same answer.
    let again = folder.json("search");
    assert_eq!((&again["resumed"], &again["trials"]), (&10.into(), &10.into()));
    assert!(folder.ok("search --help").contains("at most 6M parameters"));
}

#[test]
fn several_objectives_end_with_a_front() {
    let folder = Folder::new();
    let found = folder.json("search --objective proxy --objective params --budget 200");
    assert!(found["front"].as_u64().unwrap() > 3 && found["hypervolume"].as_f64().unwrap() > 0.0);
    let name = found["study"].as_str().unwrap();
    let front = folder.ok(&format!("front {name} --json"));
    let lines: Vec<Value> = front.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len() as u64, found["front"].as_u64().unwrap());
    assert_eq!(lines.iter().filter(|line| line["knee"] == true).count(), 1);
    assert_eq!(folder.ok(&format!("front {name} -n 2 --json")).lines().count(), 2);
    let short = folder.ok(&format!("front {name} -n 2"));
    assert!(short.contains("winner (*): trial") && short.contains("more: foretell front"), "{short}");
    assert_eq!(folder.ok(&format!("best {name} -n 4 --json")).lines().count(), 4);
}

/// Small generations of every searcher.
const SEARCHERS: [&str; 8] = [
    "random[batch=10]",
    "exhaustive[batch=10]",
    "evolution[population=10,parents=4,mutants=5,crossovers=3]",
    "etas[warmup=12,pool=8,patience=0]",
    "block-wise[population=8,oversample=2,mutants=6,crossovers=6]",
    "pareto[population=10,parents=4,mutants=4,crossovers=4]",
    "steady-state[population=10]",
    "memetic",
];

/// How often searches are killed in all; more with `FORETELL_KILLS`.
fn kills() -> u32 {
    std::env::var("FORETELL_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(210)
}

#[test]
fn killed_at_any_moment_a_study_ends_the_same() {
    let folder = Folder::new();
    std::fs::write(folder.0.join("small.toml"), SMALL).unwrap();
    let (mut kills, mut runs, each) = (0, 0_u32, self::kills().div_ceil(SEARCHERS.len() as u32));
    for algorithm in SEARCHERS {
        let search =
            format!("search --space small.toml --proxy dss++ --budget 40 --seed 5 --algorithm {algorithm}");
        let start = Instant::now();
        let undisturbed = folder.json(&format!("{search} --store whole.db"));
        let whole = start.elapsed();
        let (mut here, mut since) = (0, 0);
        while here < each {
            runs += 1;
            let threads = 1 + runs % 3;
            let mut child = folder.start(&format!("{search} --store killed.db --threads {threads}"));
            // A sequence that fills the interval evenly.
            std::thread::sleep(whole.mul_f64(f64::from(runs) * 0.618_034 % 1.0 * 0.7));
            let alive = child.try_wait().unwrap().is_none();
            child.kill().unwrap();
            child.wait().unwrap();
            here += u32::from(alive);
            since += 1;
            // After some kills in a row the study is brought to its end and started again.
            if since == 8 || here == each {
                let ended = folder.json(&format!("{search} --store killed.db --threads {threads}"));
                assert_eq!(ended["hash"], undisturbed["hash"], "{algorithm}");
                folder.ok("verify-store --store killed.db");
                remove(&folder, "killed.db");
                since = 0;
            }
        }
        remove(&folder, "whole.db");
        kills += here;
    }
    println!("{kills} kills in {runs} runs");
}

/// The process ends before or after any single thing that it does to the store.
#[test]
fn ended_at_every_step_of_the_store_a_study_ends_the_same() {
    let folder = Folder::new();
    let search = "search --algorithm random[batch=4] --budget 10 --evaluate-top 2 --json";
    let run = |store: &str, last: Option<u32>| {
        let mut command = folder.command(&format!("{search} --store {store}"));
        command.args(["--evaluate-with", "echo 1; : {dir}"]);
        last.map(|last| command.env("FORETELL_FAILPOINT", last.to_string()));
        command.output().unwrap()
    };
    let hash = |output: Output| {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).unwrap()["hash"].clone()
    };
    let undisturbed = hash(run("whole.db", None));
    let mut points = 0;
    for last in 1.. {
        let output = run("cut.db", Some(last));
        if output.status.success() {
            break;
        }
        assert_eq!(output.status.code(), None, "{}", String::from_utf8_lossy(&output.stderr));
        points = last;
        assert_eq!(hash(run("cut.db", None)), undisturbed, "ended at point {last}");
        folder.ok("verify-store --store cut.db");
        remove(&folder, "cut.db");
    }
    println!("{points} points");
    assert!(points > 30, "only {points} points");
}

#[test]
fn threads_do_not_change_a_study() {
    let folder = Folder::new();
    std::fs::write(folder.0.join("small.toml"), SMALL).unwrap();
    let hash = |threads: u32| {
        let run = format!("{SLOW} --budget 60 --store t{threads}.db --threads {threads}")
            .replace("--budget 150 ", "");
        folder.json(&run)["hash"].clone()
    };
    let one = hash(1);
    assert!([2, 3, 8].into_iter().all(|threads| hash(threads) == one));
}

#[cfg(unix)]
#[test]
fn a_signal_stops_at_once_and_a_second_searcher_is_refused() {
    let folder = Folder::new();
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let store = format!("--store s{code}.db");
        let long = format!("search --space autoformer-tiny --proxy dss++ --budget 100000 {store}");
        let mut child = folder.start(&long);
        let start = Instant::now();
        while folder.run(&format!("studies --json {store}")).stdout.is_empty() {
            assert!(start.elapsed() < Duration::from_secs(20), "no study appeared");
        }
        // The study is there a moment before its lease.
        std::thread::sleep(Duration::from_millis(200));
        let start = Instant::now();
        folder.fails(&long, 1, &child.id().to_string());
        assert!(start.elapsed() < Duration::from_secs(1), "refused after {:?}", start.elapsed());
        let start = Instant::now();
        let status = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        assert!(status.success());
        assert_eq!(child.wait().unwrap().code(), Some(code));
        assert!(start.elapsed() < Duration::from_millis(500), "stopped after {:?}", start.elapsed());
    }
}

/// A command is given the network, may take its time and no more, may be tried again, and never sees a path as code.
#[cfg(unix)]
#[test]
fn commands_evaluate_the_best() {
    let folder = Folder::new();
    let hostile = folder.0.join("a b;touch hacked;$(touch hacked)`touch hacked`'\"");
    std::fs::create_dir(&hostile).unwrap();
    let run = |name: &str, command: &str, more: &str| -> Value {
        let search =
            format!("search --algorithm random --budget 30 --evaluate-top 3 --json --name {name} {more}");
        let mut run = folder.command(&search);
        let output = run.args(["--evaluate-with", command]).env("TMPDIR", &hostile).output().unwrap();
        assert!(matches!(output.status.code(), Some(0 | 3)), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    // The third best is said to be the best.
    let count =
        "ls {dir}/architecture.json > /dev/null && echo x >> asked && echo no number && wc -l < asked";
    let found = run("count", count, "");
    assert_eq!(found["evaluated"]["value"], 3.0, "{found}");
    let shown = folder.ok("show count -n 3 --json");
    let first: Value = serde_json::from_str(shown.lines().next().unwrap()).unwrap();
    assert_eq!((&found["trial"], &first["evaluated"]["value"]), (&first["trial"], &3.0.into()));
    assert_eq!(folder.json("best count")["space"], "autoformer-tiny");
    folder.ok("report count -o count.html");
    let page = std::fs::read_to_string(folder.0.join("count.html")).unwrap();
    assert!(
        page.contains("<h2>Evaluated candidates</h2>") && page.contains("The best value decides the winner")
    );
    // Nothing is evaluated again.
    assert_eq!(run("count", count, "")["hash"], found["hash"]);
    assert_eq!(std::fs::read_to_string(folder.0.join("asked")).unwrap().lines().count(), 3);
    let least = run("least", "echo x >> asked2; wc -l < asked2; : {dir}", "--evaluate-lower");
    assert_eq!(least["evaluated"]["value"], 1.0);
    let retried = "if [ -e once ]; then echo 7; else touch once; exit 3; fi; : {dir}";
    assert_eq!(run("retried", retried, "--evaluate-retries 1")["evaluated"]["value"], 7.0);
    for (name, command, kind) in [
        ("exit", "echo 5; echo reason >&2; exit 3; : {dir}", "exit"),
        ("words", "echo 5; echo five; : {dir}", "no-number"),
        ("nan", "echo NaN; : {dir}", "no-number"),
        ("slow", "sleep 77.5 & echo $! > pid; wait; : {dir}", "timeout"),
    ] {
        let found = run(name, command, "--evaluate-timeout 0.3");
        assert_eq!(found["evaluated"]["kind"], kind, "{found}");
    }
    // Failures are counted, their last words kept, exit 3 if none succeeded, and they can be made again.
    let broken = "[ -e mended ] && echo 8 && exit; echo first >&2; echo last >&2; exit 3; : {dir}";
    let search = |more: &str| {
        let words = format!("search --algorithm random --budget 30 --evaluate-top 2 --name broken {more}");
        folder.command(&words).args(["--evaluate-with", broken]).output().unwrap()
    };
    let output = search("");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(text.contains("2, 2 failed") && text.contains("first\nlast"), "{text}");
    std::fs::write(folder.0.join("mended"), "").unwrap();
    assert_eq!(search("").status.code(), Some(3), "what failed is not made again unasked");
    let again = search("--retry-failed --json");
    let again: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(again["evaluated"]["value"], 8.0, "{again}");
    let pid = std::fs::read_to_string(folder.0.join("pid")).unwrap();
    let left = std::fs::read_to_string(format!("/proc/{}/cmdline", pid.trim())).unwrap_or_default();
    assert!(!left.contains("77.5"), "the command's child lives on");
    assert!(!folder.0.join("hacked").exists(), "a path was run");
    assert_eq!(std::fs::read_dir(&hostile).unwrap().count(), 0, "folders are left behind");
    folder.fails("search --evaluate-with true", 2, "{dir}");
}

/// A table knows the networks that were trained and no others.
#[test]
fn tables_evaluate_the_best() {
    let folder = Folder::new();
    std::fs::write(folder.0.join("small.toml"), SMALL).unwrap();
    std::fs::create_dir_all(folder.0.join("tables/mine")).unwrap();
    let rows = folder.ok("sample small.toml -n 6 --json");
    let rows = rows.lines().enumerate().map(|(i, line)| {
        let mut row: Value = serde_json::from_str(line).unwrap();
        row["space"] = "small.toml".into();
        row["loss"] = (10 - i).into();
        row["num_classes"] = 7.into();
        row
    });
    let rows: Vec<Value> = rows.collect();
    let text: Vec<String> = rows.iter().map(Value::to_string).collect();
    std::fs::write(folder.0.join("tables/mine/architectures.jsonl"), text.join("\n")).unwrap();
    let search =
        "search --space small.toml --algorithm exhaustive --proxy params --evaluate-top 100000 --data tables";
    let found = folder.json(&format!("{search} --evaluate mine:loss --name all"));
    assert_eq!(found["evaluated"]["value"], 5.0, "{found}");
    assert_eq!(found["evaluated"]["by"], "table mine:loss, least");
    assert_eq!(found["architecture"]["num_heads"], rows[5]["num_heads"]);
    let shown = folder.ok("show all -n 100000");
    assert_eq!(shown.matches("not-in-table").count(), found["trials"].as_u64().unwrap() as usize - 6);
    folder.fails(&format!("{search} --evaluate mine:los"), 2, "did you mean 'loss'");
    folder.fails(&format!("{search} --evaluate yours"), 2, "mine");
}

/// Shards of a search in stores of their own become one study; a damaged store is repaired.
#[test]
fn stores_are_merged_and_repaired() {
    let folder = Folder::new();
    for shard in ["1/2", "2/2"] {
        let store = format!("{}.db", &shard[..1]);
        folder.ok(&format!(
            "search --algorithm random --budget 101 --name job --shard {shard} --store {store}"
        ));
    }
    folder.ok("merge all.db 1.db 2.db");
    assert!(folder.ok("merge all.db 2.db 1.db").contains("101"));
    assert!(folder.ok("studies --store all.db").contains("merged, 2 of 2 shards finished"));
    assert!(folder.ok("verify-store --store all.db").contains("202 candidates"));
    let best = folder.json("show job --store all.db -n 1");
    let parts = ["1", "2"].map(|i| folder.json(&format!("show job-{i}of2 --store {i}.db -n 1")));
    let value = |object: &Value| object["objectives"]["nsc"].as_f64().unwrap();
    assert_eq!(value(&best), value(&parts[0]).max(value(&parts[1])));
    folder.fails("search --name job --store all.db --budget 5", 2, "other settings");
    folder.fails("search --shard 3/2", 2, "3/2");
    assert!(folder.ok("repair all.db").contains("nothing to repair"));
    let path = folder.0.join("all.db");
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2 / 4096 * 4096;
    bytes[middle..middle + 4096].fill(7);
    std::fs::write(&path, bytes).unwrap();
    folder.fails("verify-store --store all.db", 1, "foretell repair");
    let done = folder.json("repair all.db");
    assert_eq!(done["repaired"], true);
    assert!(folder.0.join("all.db.damaged-1").exists());
    folder.ok("verify-store --store all.db");
    folder.fails("repair nothing.db", 1, "nothing.db");
}

/// Jobs of a cluster that start at once with a store that is not there yet.
#[test]
fn four_searches_create_one_store() {
    let folder = Folder::new();
    for round in 0..4 {
        let start = |seed: u32| {
            folder
                .command(&format!("search --algorithm random --budget 5 --seed {seed} --store {round}.db"))
                .spawn()
        };
        let searches: Vec<_> = (0..4).map(start).collect();
        for search in searches {
            let output = search.unwrap().wait_with_output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        assert!(folder.ok(&format!("verify-store --store {round}.db")).contains("4 studies, 20 candidates"));
    }
}

/// A study whose machine is gone is freed by hand; a search that still runs stops and loses nothing.
#[test]
fn a_study_is_unlocked_by_hand() {
    let folder = Folder::new();
    let search = "search --algorithm random[batch=5] --proxy dss++ --budget 100000 --name long";
    let child = folder.command(search).spawn().unwrap();
    let start = Instant::now();
    while !String::from_utf8_lossy(&folder.run("studies unlock long").stdout).contains("which process") {
        assert!(start.elapsed() < Duration::from_secs(30), "the search holds no study");
    }
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("taken over"), "{error}");
    folder.ok("verify-store");
    assert!(folder.ok("studies unlock long").contains("is not locked"));
    folder.fails("studies unlock lang", 2, "did you mean 'long'");
    folder.fails("studies unlock a --store nothing.db", 1, "nothing.db");
    assert!(!folder.0.join("nothing.db").exists());
}

/// A disk that fills up, and one that cannot be written.
#[cfg(target_os = "linux")]
#[test]
fn small_and_read_only_disks() {
    let folder = Folder::new();
    let disk = folder.0.join("disk");
    std::fs::create_dir(&disk).unwrap();
    let mount = |options: &str| {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(&disk).stderr(Stdio::null());
        mount.status().is_ok_and(|status| status.success())
    };
    if !mount("size=320k") {
        eprintln!("skipped: only root can mount");
        return;
    }
    let search = "search --algorithm random --budget 2000 --seed 3";
    let tried = std::panic::catch_unwind(|| {
        let whole = folder.json(&format!("{search} --store whole.db"));
        let full = folder.run(&format!("{search} --store disk/s.db"));
        let error = String::from_utf8_lossy(&full.stderr).into_owned();
        assert_eq!(full.status.code(), Some(1), "{error}");
        assert!(error.contains("disk/s.db") && error.contains("again"), "{error}");
        assert!(mount("remount,size=20m"));
        let stored = folder.json("studies --store disk/s.db")["trials"].as_u64().unwrap();
        assert!((50..2000).contains(&stored), "{stored} stored");
        let ended = folder.json(&format!("{search} --store disk/s.db"));
        assert_eq!((&ended["hash"], &ended["resumed"]), (&whole["hash"], &stored.into()));
        assert!(mount("remount,ro"));
        let name = ended["study"].as_str().unwrap();
        assert_eq!(folder.json(&format!("show {name} --store disk/s.db -n 1"))["trial"], ended["trial"]);
        folder.ok("verify-store --store disk/s.db");
        folder.fails(
            &format!("{search} --store disk/s.db --budget 3000").replace("--budget 2000 ", ""),
            1,
            "disk/s.db",
        );
    });
    let _ = Command::new("umount").arg(&disk).status();
    tried.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}

#[test]
fn mistakes_are_named_with_their_cure() {
    let folder = Folder::new();
    for (arguments, code, part) in [
        ("search --algorithm block-wize", 2, "did you mean 'block-wise'"),
        ("search --algorithm block-wise[populaton=3]", 2, "did you mean 'population'"),
        ("search --algorithm block-wise[population=0]", 2, "not 1 to 1000000"),
        ("search --algorithm evolution[block_rate=2]", 2, "not 0 to 1"),
        ("search --algorithm random[batch=x]", 2, "random[batch=x]"),
        ("search --proxy ncs", 2, "did you mean 'nsc'"),
        ("search --max-params 1k", 4, "the smallest network has"),
        ("search --evaluate train", 2, "vit networks read images"),
        ("search --max-memory 1k", 4, "bytes of memory"),
        ("search --store no/such/folder.db", 1, "no/such/folder.db"),
        ("studies --store nothing.db", 1, "nothing.db"),
        ("algorithms etsa", 2, "did you mean 'etas'"),
    ] {
        folder.fails(arguments, code, part);
    }
    folder.ok("search --budget 20 --name mine");
    folder.fails("best mime", 2, "did you mean 'mine'");
    folder.fails("search --budget 20 --name mine --seed 1", 2, "seed was 0 and is 1");
    // A proxy that is defined for nothing of a space fails everywhere: finished, but useless.
    folder.fails("search --space nasbench-nlp --proxy attention-confidence --budget 6", 3, "not-defined");
}

#[test]
fn the_algorithms_are_listed_with_their_options() {
    let folder = Folder::new();
    for name in ["random", "exhaustive", "evolution", "etas", "block-wise", "pareto"] {
        assert!(folder.ok("algorithms").contains(name));
        assert_eq!(folder.json(&format!("algorithms {name}"))["name"], name);
    }
    assert!(folder.ok("algorithms block-wise").contains("option      steps=160"));
}

/// Latency is predicted, limited and measured; what was measured is the study's own, so that it resumes as it began.
#[test]
fn latency_is_predicted_and_measured() {
    let folder = Folder::new();
    std::fs::write(folder.0.join("small.toml"), SMALL).unwrap();
    let search = "search --space small.toml --proxy nsc --seed 2 --objective proxy --objective latency";
    let first = folder.json(&format!("{search} --budget 30"));
    let latency = &first["latency"]["prefill"];
    assert!(latency["seconds"].as_f64().unwrap() > 0.0 && latency["threads"] == 1, "{first}");
    assert!(latency["predicted"].as_f64().unwrap() > 0.0, "{first}");
    let model = &first["answer"]["latency"][0];
    assert_eq!(model["candidates"].as_u64().unwrap(), first["front"].as_u64().unwrap().min(20));
    let on = folder.json(&format!("{search} --budget 50"));
    assert_eq!((on["study"].as_str(), on["resumed"].as_u64()), (first["study"].as_str(), Some(30)));
    folder.fails("search --space small.toml --max-latency 1us --budget 5", 4, "milliseconds were requested");
    folder.fails("search --max-latency fast", 2, "20ms");
    folder.fails("search --max-token-latency 1ms", 2, "no decoders");
    folder.fails("search --max-cache 1M", 2, "no decoders");
}

/// The exact search says the best there is, and names what it cannot search.
#[test]
fn the_exact_search_is_quick_or_refuses() {
    let folder = Folder::new();
    std::fs::write(folder.0.join("small.toml"), SMALL).unwrap();
    let found = folder.json("search --algorithm dp --max-params 6M");
    assert_eq!(found["params"], 5_979_016);
    folder.fails("search --algorithm dp --proxy dss++ --budget 5", 2, "use nsc");
    // By default a score of passes is searched by the memetic algorithm.
    let other = folder.json("search --space small.toml --proxy dss++[batch=2] --budget 20 --seeds 1");
    assert_eq!(other["algorithm"], "memetic");
}
