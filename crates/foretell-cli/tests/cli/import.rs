//! `foretell benchmark import`: the list of sources, slips of the keyboard, and a clone that becomes a table.

use crate::support::Folder;

/// A clone with one log of the plain recurrent cell, and one that is no log.
fn clone() -> Folder {
    let folder = Folder::new();
    let log = r#"{"recepie_id": 1000000, "experiment_id": 7, "status": "OK", "num_params": 15066078,
        "recepie": "{\"f\": {\"op\": \"linear\", \"input\": [\"x\", \"h_prev_0\"]}, \"h_new_0\": {\"op\": \"activation_tanh\", \"input\": [\"f\"]}}",
        "train_losses": [6.5, 6.0], "val_losses": [6.25, NaN], "test_losses": [6.125, 6.5], "wall_times": [1.5, 2.0]}"#;
    folder.write_in("clone/train_logs_wikitext-2/log_stats_model_1000000_2020_7.json", log);
    folder.write_in("clone/train_logs_wikitext-2/log_stats_model_1000001_2020_8.json", "{}");
    folder
}

#[test]
fn a_clone_becomes_a_table() {
    let folder = clone();
    let ask = "benchmark import nas-bench-nlp clone --to tables";
    let told = folder.ok(&format!("{ask} --dry-run"));
    assert!(told.contains("1 row, 1 published count agrees") && told.contains("dry run"), "{told}");
    assert!(told.contains("log_stats_model_1000001_2020_8.json: does not state recepie_id"), "{told}");
    assert!(!folder.0.join("tables").exists());
    let found = folder.json(ask);
    assert_eq!((&found["tables"][0]["rows"], &found["tables"][0]["counts"]), (&1.into(), &1.into()));
    assert_eq!(
        folder.read("tables/nasbench-nlp-wikitext2/architectures.jsonl"),
        "{\"recipe_id\": 1000000, \"recipe_group\": \"h0-0000\", \"experiment_id\": 7, \"status\": \"OK\", \
         \"num_hidden_states\": 1, \"num_params\": 15066078, \
         \"nodes\": [{\"name\":\"f\",\"op\":\"linear\",\"inputs\":[\"x\",\"h_prev_0\"]},\
         {\"name\":\"h_new_0\",\"op\":\"activation_tanh\",\"inputs\":[\"f\"]}], \
         \"best_val_loss\": 6.25, \"test_loss_at_best_val\": 6.125, \"last_val_loss\": null, \"last_test_loss\": 6.5, \
         \"train_seconds\": 3.5, \"train_losses\": [6.5,6.0], \"val_losses\": [6.25,null], \"test_losses\": [6.125,6.5]}\n"
    );
    folder.fails(ask, 2, "exists");
    folder.ok(&format!("{ask} --force"));
}

#[test]
fn sources_are_listed_and_slips_are_named() {
    let folder = Folder::new();
    let list = folder.ok("benchmark import --list");
    assert!(list.contains("https://github.com/microsoft/archai, branch neurips-lts"), "{list}");
    assert_eq!(folder.json("benchmark import --list").as_array().unwrap().len(), 4);
    folder.fails("benchmark import arhcai .", 2, "did you mean 'archai'");
    folder.fails("benchmark import archai .", 2, "is not a clone of https://github.com/microsoft/archai");
    folder.fails("benchmark import archai", 2, "CLONE");
    folder.fails("benchmark import archai . --with .", 2, "no other repository adds columns");
}
