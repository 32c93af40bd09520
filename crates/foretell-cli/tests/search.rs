//! `foretell search` as users meet it: killed, interrupted, on any number of threads, twice at once.

use serde_json::Value;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("foretell-search-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_foretell"));
        command.args(arguments.split_whitespace()).current_dir(&self.0).env_remove("FORETELL_STORE");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, arguments: &str) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn start(&self, arguments: &str) -> Child {
        self.command(arguments).stdout(Stdio::null()).spawn().unwrap()
    }

    #[track_caller]
    fn ok(&self, arguments: &str) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    #[track_caller]
    fn json(&self, arguments: &str) -> Value {
        serde_json::from_str(self.ok(&format!("{arguments} --json")).lines().next().unwrap()).unwrap()
    }

    #[track_caller]
    fn fails(&self, arguments: &str, code: i32, part: &str) {
        let output = self.run(arguments);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{arguments}: {error}");
        assert!(error.contains(part), "{part:?} is not in: {error}");
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A pass over a small network, a few milliseconds each: long enough to be killed in.
const SLOW: &str = "search --space small.toml --proxy dss++ --budget 150 --seed 5";
const SMALL: &str = "name = \"small\"\nfamily = \"vit\"\n[fixed]\nimage_size = 32\npatch_size = 8\nnum_classes = 10\n[choices]\n\
                     embed_dim = [48, 64]\ndepth = [3, 4, 5]\nnum_heads = [2, 4]\nmlp_ratio = [2.0, 3.0, 4.0]\n";

#[test]
fn the_default_ends_with_a_winner_and_what_to_do_next() {
    let folder = Folder::new();
    let text = folder.ok("search --budget 300");
    for part in
        ["winner", "uniform, nearest in size", "mlp_ratio", "Next:", "foretell best", "dss++", "0 failed"]
    {
        assert!(text.contains(part), "{part:?} is not in: {text}");
    }
    let studies = folder.json("studies");
    let name = studies["study"].as_str().unwrap();
    assert_eq!((&studies["trials"], &studies["stopped"]), (&300.into(), &"budget".into()));
    assert_eq!(studies["config"]["limits"]["max_params"], 6_000_000);
    assert!(studies["provenance"]["version"].is_string() && studies["provenance"]["processor"].is_string());
    let best = folder.json(&format!("best {name}"));
    assert_eq!(best["space"], "autoformer-tiny");
    std::fs::write(folder.0.join("best.json"), best.to_string()).unwrap();
    let count = folder.json("count best.json");
    assert!(count["params"]["total"].as_u64().unwrap() <= 6_000_000);
    assert_eq!(folder.json(&format!("show {name} -n 3"))["architecture"]["id"], count["id"]);
    assert!(folder.ok(&format!("show {name}")).contains("hash"));
    assert!(folder.ok("verify-store").contains("300 candidates, all as written"));
    // The same command again scores nothing and says the same.
    let again = folder.json("search --budget 300");
    assert_eq!((&again["resumed"], &again["trials"]), (&300.into(), &300.into()));
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
    assert!(folder.ok(&format!("front {name}")).contains("knee: trial"));
}

#[test]
fn killed_at_any_moment_a_study_ends_the_same() {
    let folder = Folder::new();
    std::fs::write(folder.0.join("small.toml"), SMALL).unwrap();
    let start = Instant::now();
    let undisturbed = folder.json(&format!("{SLOW} --store whole.db"));
    let whole = start.elapsed();
    let (mut kills, mut midway) = (0, 0);
    for round in 0..200_u32 {
        if kills >= 32 {
            break;
        }
        let store = format!("{}.db", round % 4);
        let threads = 1 + round % 3;
        let mut child = folder.start(&format!("{SLOW} --store {store} --threads {threads}"));
        // A sequence that fills the interval evenly.
        let share = f64::from(round) * 0.618_034 % 1.0;
        std::thread::sleep(whole.mul_f64(share * 0.6));
        if child.try_wait().unwrap().is_none() {
            child.kill().unwrap();
            kills += 1;
        }
        child.wait().unwrap();
        if folder.0.join(&store).exists() && folder.run(&format!("studies --store {store}")).status.success()
        {
            folder.ok(&format!("verify-store --store {store}"));
            midway += 1;
        }
        // After two kills a study is brought to its end and begun anew.
        if round % 8 >= 4 {
            let ended = folder.json(&format!("{SLOW} --store {store} --threads {threads}"));
            assert_eq!(ended["hash"], undisturbed["hash"], "round {round}");
            for side in ["", "-wal", "-shm"] {
                let _ = std::fs::remove_file(folder.0.join(format!("{store}{side}")));
            }
        }
    }
    println!("{kills} kills, {midway} stores looked at between, a whole study takes {whole:?}");
    assert!(kills >= 30, "only {kills} runs were killed");
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
fn an_interrupt_stops_at_once_and_a_second_searcher_is_refused() {
    let folder = Folder::new();
    std::fs::write(folder.0.join("small.toml"), SMALL).unwrap();
    let long = SLOW.replace("150", "100000");
    let mut child =
        folder.start(&format!("{long} --space autoformer-tiny").replace("--space small.toml ", ""));
    let studies = || folder.run("studies --json").stdout;
    let start = Instant::now();
    while studies().is_empty() && start.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(50));
    }
    let start = Instant::now();
    folder.fails(
        &format!("{long} --space autoformer-tiny").replace("--space small.toml ", ""),
        1,
        &child.id().to_string(),
    );
    assert!(start.elapsed() < Duration::from_secs(1), "refused after {:?}", start.elapsed());
    let start = Instant::now();
    let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(status.success());
    let code = child.wait().unwrap().code();
    assert_eq!(code, Some(130));
    assert!(start.elapsed() < Duration::from_millis(500), "stopped after {:?}", start.elapsed());
}

#[test]
fn mistakes_are_named_with_their_cure() {
    let folder = Folder::new();
    for (arguments, code, part) in [
        ("search --algorithm block-wize", 2, "did you mean 'block-wise'"),
        ("search --algorithm block-wise[populaton=3]", 2, "did you mean 'population'"),
        ("search --algorithm block-wise[population=0]", 2, "at least 1"),
        ("search --algorithm evolution[block_rate=2]", 2, "not 0 to 1"),
        ("search --algorithm random[batch=x]", 2, "random[batch=x]"),
        ("search --proxy ncs", 2, "did you mean 'nsc'"),
        ("search --max-params 1k", 4, "the nearest that exists is"),
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
