//! Looking at a study while another process writes it, and searches that need the Python package.

use crate::support::Folder;
use serde_json::Value;

const SMALL: &str = "name = \"small\"\nfamily = \"vit\"\n[fixed]\nimage_size = 32\npatch_size = 8\nnum_classes = 10\n[choices]\n\
                     embed_dim = [48, 64]\ndepth = [3, 4, 5]\nnum_heads = [2, 4]\nmlp_ratio = [2.0, 3.0, 4.0]\n";
const SEARCH: &str =
    "search --space small.toml --algorithm random --proxy snip[batch=1] --seeds 1 --name live";

#[test]
fn a_running_study_is_followed_to_its_end() {
    let folder = Folder::new();
    folder.write("small.toml", SMALL);
    let mut search = folder.start(&format!("{SEARCH} --budget 60"));
    while !String::from_utf8_lossy(&folder.run("studies").stdout).contains("live") {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let told = folder.ok("watch live --every 50ms --json");
    assert!(search.wait().unwrap().success());
    let told: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let last = told.last().unwrap();
    assert_eq!((&last["stopped"], &last["failed"]), (&"budget".into(), &0.into()), "{last}");
    let best = folder.json("show live -n 1");
    assert_eq!(last["best"]["trial"], best["trial"]);
    let line = folder.ok("watch live --once");
    assert!(line.contains("candidates, best") && line.contains("stopped: budget"), "{line}");
}

#[test]
fn a_search_on_ray_without_the_python_package_is_refused() {
    let folder = Folder::new();
    folder.write("small.toml", SMALL);
    let mut command = folder.command(&format!("{SEARCH} --budget 4 --on-ray auto"));
    let output = command.env("PATH", folder.0.join("nowhere")).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("--on-ray: needs the Python package") && error.contains("pip install"), "{error}");
    assert!(!folder.0.join("foretell.db").exists());
}
