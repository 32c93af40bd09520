//! Config files: which one wins, what is ignored, what is refused.

use crate::support::Folder;

/// A folder with a config file of its own and one of its user.
fn folder(here: &str, user: &str) -> Folder {
    let folder = Folder::new();
    folder.write("foretell.toml", here);
    let config = match cfg!(target_os = "macos") {
        true => "home/Library/Application Support/foretell/config.toml",
        false => "home/.config/foretell/config.toml",
    };
    folder.write_in(config, user);
    folder
}

const VIT: &str = r#"{"family": "vit", "image_size": 16, "patch_size": 4, "num_classes": 7, "embed_dim": 16, "depth": 2,
    "num_heads": 2, "mlp_ratio": 2}"#;

/// The command line wins over the folder's file, which wins over the user's, and a command's table over [all].
#[test]
fn the_nearest_setting_wins() {
    let folder = folder(
        "[all]\nstore = \"here.db\"\nseed = 5\n[search]\nspace = \"gpt2\"\nmax-params = 20_000_000\nbudget = 7\n",
        "[all]\nstore = \"user.db\"\n[search]\nbudget = 3\nname = \"of-the-user\"\nalgorithm = \"random\"\n",
    );
    let found = folder.json("search");
    assert_eq!((&found["study"], &found["trials"]), (&"of-the-user".into(), &7.into()));
    assert_eq!(found["architecture"]["space"], "gpt2");
    let study = folder.json("studies");
    assert_eq!((&study["config"]["seed"], &study["config"]["algorithm"]), (&5.into(), &"random".into()));
    assert_eq!(study["config"]["limits"]["max_params"], 20_000_000);
    assert!(folder.0.join("here.db").exists() && !folder.0.join("user.db").exists());
    let typed =
        folder.json("search --budget 4 --name typed --space autoformer-tiny --max-params 6M --store t.db");
    assert_eq!((&typed["trials"], &typed["study"]), (&4.into(), &"typed".into()));
    let set = folder.command("studies").env("FORETELL_STORE", "t.db").output().unwrap();
    assert!(String::from_utf8_lossy(&set.stdout).contains("typed"), "a variable wins over a file");
    let without = folder.json("search --no-config --budget 2 --dry-run");
    assert_eq!(
        (&without["space"], &without["writes"][0]),
        (&"autoformer-tiny".into(), &"foretell.db".into())
    );
}

/// Flags, lists, nested commands, and an option that is required.
#[test]
fn every_kind_of_option_can_be_set() {
    let folder = folder(
        "[all]\njson = true\n[search]\nobjective = [\"proxy\", \"params\"]\nbudget = 20\n[export]\nto = \"out\"\n\
         no-weights = true\n[studies.delete]\nyes = true\n",
        "[all]\njson = false\n",
    );
    folder.write("vit.json", VIT);
    let front: serde_json::Value = serde_json::from_str(&folder.ok("search --name s")).unwrap();
    assert!(front["front"].as_u64().unwrap() > 0, "{front}");
    assert!(folder.ok("export vit.json").starts_with('{'));
    assert!(!folder.0.join("out/model.safetensors").exists() && folder.0.join("out/config.json").exists());
    assert!(folder.ok("studies delete s").contains("\"deleted\":\"s\""));
}

/// A setting of a file never makes a command fail that is right without it.
#[test]
fn what_conflicts_with_the_command_line_is_ignored() {
    let folder = folder(
        "[score]\nno-cache = true\nweights = \"standalone\"\nprecision = \"f64\"\n[bench]\nformat = \"markdown\"\n\
         [search]\nevaluate-with = \"echo 1; : {dir}\"\non = \"text.txt\"\n[all]\nquiet = true\n",
        "",
    );
    folder.write("vit.json", VIT);
    folder.ok("score vit.json --proxies params --json --cache here");
    folder.ok("score vit.json --proxies snip --seeds 1 --json --cache here");
    assert!(folder.0.join("here/scores.jsonl").exists(), "no-cache of the file is ignored");
    assert!(!folder.ok("score vit.json --proxies snip --seeds 1 --json").is_empty());
    assert!(folder.ok("bench gpt2-pentateuch --resamples 0 --proxies params --json").starts_with('{'));
    assert!(folder.ok("bench gpt2-pentateuch --resamples 0 --proxies params").starts_with("###"));
    // Both ways to evaluate exclude each other.
    let said = folder
        .said("search --space flexibert --budget 3 --evaluate flexibert-pentateuch --dry-run --verbose");
    assert!(said.contains("evaluate-with in [search] is ignored: it conflicts with evaluate"), "{said}");
    assert!(said.contains("quiet in [all] is ignored: it conflicts with verbose"), "{said}");
    assert!(said.contains("--on of the config file has no effect"), "{said}");
}

#[test]
fn mistakes_name_the_file_and_the_key() {
    for (text, parts) in [
        ("[serach]\nseed = 1\n", vec!["unknown table 'serach'", "did you mean 'search'"]),
        (
            "[search]\nmax-parms = 6\n",
            vec!["unknown key 'max-parms' in [search]", "did you mean 'max-params'"],
        ),
        ("[all]\nsed = 6\n", vec!["unknown key 'sed' in [all]", "did you mean 'seed'"]),
        (
            "[benchmark.build]\nshards = \"1/2\"\n",
            vec!["unknown key 'shards' in [benchmark.build]", "'shard'"],
        ),
        ("[search]\nno-config = true\n", vec!["unknown key 'no-config' in [search]"]),
        ("seed = 1\n", vec!["key 'seed' is in no table", "[all]"]),
        ("[search]\nmax-params = \"many\"\n", vec!["max-params in [search]", "'many'", "6M"]),
        ("[search]\nbudget = 0\n", vec!["budget in [search]", "0"]),
        ("[search]\nseed = [1, 2]\n", vec!["seed in [search]", "takes one value, not a list"]),
        ("[search]\nretry-failed = \"yes\"\n", vec!["retry-failed in [search]", "takes true or false"]),
        ("[search]\n\nseed = = 1\n", vec!["foretell.toml:3"]),
    ] {
        let folder = folder(text, "");
        for part in parts.into_iter().chain(["foretell.toml"]) {
            folder.fails("search --budget 3", 2, part);
        }
        assert!(!folder.0.join("foretell.db").exists(), "{text}");
        folder.ok("search --help");
        folder.ok("completions bash");
        folder.ok("search --budget 3 --no-config --json");
    }
    let user = folder("", "[search]\nbugdet = 1\n");
    user.fails("doctor", 2, "config.toml: unknown key 'bugdet' in [search] (did you mean 'budget'?)");
}

#[test]
fn the_doctor_lists_the_files() {
    let folder = folder("[all]\nthreads = 2\n", "");
    let doctor = folder.json("doctor");
    assert_eq!(doctor["threads"], 2);
    let files = doctor["config"].as_array().unwrap();
    assert_eq!(files.len(), 2);
    assert!(files.iter().all(|file| file["read"] == true), "{files:?}");
    assert_eq!(files[0]["path"], folder.0.join("foretell.toml").to_str().unwrap());
    assert!(folder.ok("doctor").contains("foretell.toml (read)"));
    assert!(folder.ok("doctor --no-config").contains("foretell.toml (not read)"));
    assert!(Folder::new().ok("doctor").contains("foretell.toml (does not exist)"));
}
