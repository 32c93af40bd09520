//! Damaged and hostile files, outputs that cannot be written, folders that two commands want.

use crate::support::Folder;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const NETWORK: &str = "{\"family\": \"gpt2\", \"vocab_size\": 257, \"context_len\": 32, \"cutoffs\": [], \"n_layer\": 1, \
                       \"d_model\": 16, \"n_head\": 2, \"d_inner\": 32}";

/// One digit of a cached score is changed: the score is computed again, with a note.
#[test]
fn an_altered_score_is_computed_again() {
    let folder = Folder::new();
    folder.write("net.json", NETWORK);
    let score = "score net.json --proxies snip --json";
    let first = folder.json("score net.json --proxies snip");
    let cached = folder.read("cache/scores.jsonl");
    let place = cached.find("\"value\":").unwrap() + 10;
    let digit = if &cached[place..=place] == "5" { "6" } else { "5" };
    folder.write("cache/scores.jsonl", &format!("{}{digit}{}", &cached[..place], &cached[place + 1..]));
    let said = folder.said(score);
    assert!(said.contains("note: ") && said.contains("1 damaged scores are computed again"), "{said}");
    assert_eq!(
        folder.json("score net.json --proxies snip")["scores"]["snip"]["values"],
        first["scores"]["snip"]["values"]
    );
    assert!(folder.said(&format!("{score} --quiet")).is_empty());
}

/// A cache folder inside of a file cannot be made, not even by root.
#[test]
fn a_command_goes_on_without_a_cache() {
    let folder = Folder::new();
    folder.write("net.json", NETWORK);
    folder.write("file", "");
    let output = folder
        .command("score net.json --proxies snip")
        .env("FORETELL_CACHE", folder.0.join("file/cache"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("scores are not cached"), "{said}");
    folder.write("text.txt", &"some sheep and some goats\n".repeat(40));
    let output = folder
        .command(
            "train net.json --on text.txt --with steps=1 --with tokens=8 --with batch=2 --with part=2 -o run",
        )
        .env("FORETELL_CACHE", folder.0.join("file/cache"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("tokens are not cached"), "{said}");
}

#[cfg(target_os = "linux")]
#[test]
fn standard_output_that_cannot_be_written_is_an_error() {
    let folder = Folder::new();
    folder.write("net.json", NETWORK);
    let full = || Stdio::from(std::fs::File::options().write(true).open("/dev/full").unwrap());
    for line in
        ["spaces", "spaces --json", "proxies", "--help", "count net.json --json", "completions bash", "man"]
    {
        let output = folder.command(line).stdout(full()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{line}: {said}");
        assert!(said.contains("cannot write standard output"), "{line}: {said}");
    }
    // A reader that has gone away is no error.
    let mut child = folder.command("proxies").spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(0));
}

/// Names of files, studies and spaces steer no terminal.
#[test]
fn control_characters_are_written_out() {
    let folder = Folder::new();
    let hostile = "a\u{1b}]0;title\u{7}\u{9b}31m\u{202e}b";
    for arguments in [
        vec!["count", hostile],
        vec!["score", hostile, "--json"],
        vec!["spaces", hostile],
        vec!["best", hostile],
        vec!["search", "--budget", "5", "--name", hostile],
        vec!["studies"],
        vec!["studies", "--json"],
        vec!["show", hostile],
        vec!["show", hostile, "--json"],
    ] {
        let output = folder.run(&arguments[..]);
        for bytes in [output.stdout, output.stderr] {
            let text = String::from_utf8(bytes).unwrap();
            let steers = |c: char| c.is_control() && c != '\n' && c != '\t' || c == '\u{202e}';
            assert!(!text.contains(steers), "{arguments:?}: {text:?}");
            if arguments.last() == Some(&"--json") {
                text.lines().for_each(|line| drop(serde_json::from_str::<serde_json::Value>(line).unwrap()));
            }
        }
    }
}

#[cfg(unix)]
#[test]
fn planted_links_are_not_written_through() {
    let folder = Folder::new();
    folder.ok("search --budget 10 --name s");
    folder.write("kept", "kept");
    std::os::unix::fs::symlink("kept", folder.0.join("s.html")).unwrap();
    folder.fails("report s", 2, "s.html: exists and is not a report");
    folder.fails("report s --force", 2, "is a link, which is not followed");
    assert_eq!(folder.read("kept"), "kept");
}

#[test]
fn two_trainings_of_one_folder_do_not_mix() {
    let folder = Folder::new();
    folder.write("net.json", NETWORK);
    folder.write("text.txt", &"some sheep and some goats\n".repeat(400));
    let train = "train net.json --on text.txt --with steps=100000 --with tokens=16 -o run";
    let mut first = Ended(folder.start(train));
    let start = Instant::now();
    while !folder.0.join("run/.foretell-lock").exists() && start.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(100));
    folder.fails(train, 1, &format!("run is being written by process {}", first.0.id()));
    first.end();
    // The lock of a killed process is free.
    folder.ok("train net.json --on text.txt --with steps=2 --with tokens=16 -o other");
    let mut again = Ended(folder.start(train));
    std::thread::sleep(Duration::from_millis(500));
    assert!(again.0.try_wait().unwrap().is_none(), "it runs");
}

/// A process that ends with its test, also where that fails.
struct Ended(Child);

impl Ended {
    fn end(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Ended {
    fn drop(&mut self) {
        self.end();
    }
}

/// Numbers that would ask for more memory than any machine has, or wrap around.
#[test]
fn huge_numbers_are_refused_or_work() {
    let folder = Folder::new();
    folder.write("net.json", NETWORK);
    folder.ok("score net.json --proxies snip --seed 18446744073709551615 --seeds 3");
    folder.ok("sample gpt2 --seed 18446744073709551615");
    folder.ok("search --budget 20 --seed 18446744073709551615 --name s");
    for batch in ["9223372036854775808", "1000000000", "18446744073709551616", "-1"] {
        folder.fails(&["score", "net.json", "--proxies", &format!("snip[batch={batch}]")], 2, "batch");
    }
    folder.write("wide.json", &NETWORK.replace("16", "16384").replace("\"n_layer\": 1", "\"n_layer\": 40"));
    folder.fails("train wide.json -o wide --with steps=1", 1, "are allowed");
    assert!(!folder.0.join("wide").exists());
    folder.fails("train net.json --with batch=4611686018427387904", 2, "batch");
    let build = |seeds: &str, strata: &str| {
        format!(
            "space = \"gpt2\"\nnetworks = 4\nparams = [1000000, 90000000]\nstrata = {strata}\nseeds = {seeds}\n[recipe]\nsteps = 1\n"
        )
    };
    folder.write("build.toml", &build("4294967296", "2"));
    folder.fails("benchmark build build.toml --dry-run", 2, "seeds");
    folder.write("build.toml", &build("2", "1000000000"));
    folder.fails("benchmark build build.toml --dry-run", 2, "strata");
    // The space has fewer networks than are asked for; drawing on until they are found would take hours.
    folder.write(
        "small.toml",
        "name = \"small\"\nfamily = \"gpt2\"\n[fixed]\nvocab_size = 257\ncontext_len = 32\ncutoffs = []\ndiv_val = 1\n\
         d_model = 16\nn_head = 2\n[choices]\nn_layer = [1, 2]\nd_inner = [16, 32, 48]\n",
    );
    let build =
        build("2", "1").replace("networks = 4", "networks = 65536").replace("\"gpt2\"", "\"small.toml\"");
    folder.write("build.toml", &build.replace("[1000000, 90000000]", "[1000, 30000]"));
    folder.fails("benchmark build build.toml --dry-run", 2, "of 65536 networks");
}

/// A formula that was found is not believed if its file was altered; one that somebody wrote is.
#[test]
fn an_altered_formula_is_refused() {
    let folder = Folder::new();
    folder.write("net.json", NETWORK);
    folder.write("own.txt", "nsc # mine\n");
    folder.ok("score net.json --proxies @own.txt");
    let sealed = foretell::file::seal_text("# found\nsnip\n");
    folder.write("found.txt", &sealed);
    folder.ok("score net.json --proxies @found.txt");
    folder.write("found.txt", &sealed.replace("snip", "nsc"));
    folder.fails("score net.json --proxies @found.txt", 2, "was altered since it was written");
}

/// What a killed command left behind is removed by the next one in the same place, if it is old.
#[test]
fn litter_goes() {
    let folder = Folder::new();
    folder.write("net.json", NETWORK);
    let litter = foretell::file::draft(&folder.0.join("model"));
    std::fs::create_dir(&litter).unwrap();
    let touched = Command::new("touch").args(["-d", "3 days ago"]).arg(&litter).status().unwrap();
    assert!(touched.success());
    folder.ok("export net.json --target json --to model");
    assert!(!litter.exists());
}
