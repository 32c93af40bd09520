//! Damaged, hostile and missing files: each is an error that names the file and what is wrong with it.

use crate::support::Folder;
use foretell::benchmark::import::import;
use foretell::error::Error;
use std::fs;
use std::io::{Cursor, Write};
use std::path::Path;

fn error(source: &str, clone: &Path) -> Error {
    import(source, clone, None).unwrap_err()
}

#[track_caller]
fn says(error: &Error, words: &[&str]) {
    let text = error.to_string();
    for word in words {
        assert!(text.contains(word), "'{text}' does not say '{word}'");
    }
}

fn put(folder: &Folder, path: &str, bytes: impl AsRef<[u8]>) {
    let path = folder.0.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

fn torch(pickle: &[u8]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let stored = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    archive.start_file("archive/data.pkl", stored).unwrap();
    archive.write_all(pickle).unwrap();
    archive.finish().unwrap().into_inner()
}

#[test]
fn a_folder_that_is_no_clone() {
    let folder = Folder::new("import-empty");
    for (source, named) in [
        ("training-free-nas", "data/BERT_benchmark.json"),
        ("archai", "branch neurips-lts"),
        ("auto-prox", "gt_results/gt_pit.pth"),
        ("nas-bench-nlp", "train_logs_wikitext-2"),
    ] {
        let error = error(source, &folder.0);
        assert_eq!(error.kind(), "data");
        says(&error, &["is not a clone of https://github.com/", named]);
    }
}

#[test]
fn torch_archives() {
    let folder = Folder::new("import-torch");
    let whole = torch(b"\x80\x02]q\x00.");
    put(&folder, "gt_results/gt_pit.pth", &whole[..whole.len() / 2]);
    says(&error("auto-prox", &folder.0), &["gt_pit.pth", "not a whole zip archive"]);

    put(&folder, "gt_results/gt_pit.pth", torch(b"\x80\x02cos\nsystem\nq\x00X\x04\x00\x00\x00true\x85R."));
    says(
        &error("auto-prox", &folder.0),
        &["gt_pit.pth", "archive/data.pkl", "GLOBAL os.system", "nothing was run"],
    );

    put(&folder, "gt_results/gt_pit.pth", torch(b"\x80\x02]q\x00(K"));
    says(&error("auto-prox", &folder.0), &["gt_pit.pth", "ends in the middle"]);

    put(&folder, "gt_results/gt_pit.pth", torch(b"\x80\x02}q\x00."));
    says(&error("auto-prox", &folder.0), &["holds no list of networks"]);

    // A list with one network that has nothing.
    put(&folder, "gt_results/gt_pit.pth", torch(b"\x80\x02]q\x00}q\x01a."));
    says(
        &error("auto-prox", &folder.0),
        &["pit-vit/architectures.jsonl", "no row can be used", "it has no arch"],
    );
}

const CONFIG: &str = "n_layer: 1\nd_model: 64\nd_embed: 64\ndiv_val: 1\nn_head:\n- 2\nd_inner:\n- 128\nn_token: 100\ntgt_len: 16\n";

fn decoders(folder: &Folder, config: &str, counts: &str) {
    let logs = "archai/nlp/nas/saved_logs/random_GPT2_wt103";
    put(folder, &format!("{logs}/config_0/j0/model_config.yaml"), config);
    put(folder, &format!("{logs}/ppl_summary.yaml"), "config_0_j0:\n  test_ppl: 30.5\n");
    put(folder, &format!("{logs}/params_summary.yaml"), counts);
}

#[test]
fn yaml_and_its_counts() {
    let folder = Folder::new("import-yaml");
    decoders(&folder, "n_layer: [1\n", "config_0_j0:\n  total: 1.0\n");
    says(&error("archai", &folder.0), &["model_config.yaml:1", "'[1' is not a plain value"]);

    decoders(&folder, CONFIG, "config_0_j0:\n  total: 1.0\n");
    says(&error("archai", &folder.0), &["params_summary.yaml gives no whole number as its nonembedding"]);

    decoders(
        &folder,
        CONFIG,
        "config_0_j0:\n  total: 1.0\n  nonembedding: 1.0\n  Attn: 16640.0\n  FFN: 1.0\n  AdaEmb: 1.0\n",
    );
    says(&error("archai", &folder.0), &["in the source, but the network that it describes has"]);

    fs::remove_file(folder.0.join("archai/nlp/nas/saved_logs/random_GPT2_wt103/ppl_summary.yaml")).unwrap();
    let missing = error("archai", &folder.0);
    assert_eq!(missing.kind(), "read");
    says(&missing, &["ppl_summary.yaml"]);
}

#[test]
fn csv_and_json() {
    let folder = Folder::new("import-csv");
    put(&folder, "data/BERT_benchmark.json", "[{\"id\": 0,");
    put(&folder, "data/BERT_results_activation.csv", "ID,Number of Parameters\n0,1\n");
    says(&error("training-free-nas", &folder.0), &["BERT_benchmark.json", "is no list of networks in JSON"]);

    put(&folder, "data/BERT_benchmark.json", "[{\"id\": 0}]");
    says(
        &error("training-free-nas", &folder.0),
        &["BERT_results_activation.csv", "has no column 'Synaptic Diversity'"],
    );

    let folder = Folder::new("import-logs");
    put(&folder, "train_logs_wikitext-2/log_stats_model_1000000_x_1.json", "{\"recepie_id\": 1000000}");
    says(&error("nas-bench-nlp", &folder.0), &["nasbench-nlp-wikitext2", "does not state recepie"]);
    let other = r#"{"recepie_id": 1000003, "recepie": "{\"h_new_0\": {\"op\": \"activation_tanh\", \"input\": [\"x\"]}}"}"#;
    put(&folder, "train_logs_wikitext-2/log_stats_model_1000000_x_1.json", other);
    says(
        &error("nas-bench-nlp", &folder.0),
        &["its cell is not the one that the benchmark drew as number 1000003"],
    );
    fs::remove_file(folder.0.join("train_logs_wikitext-2/log_stats_model_1000000_x_1.json")).unwrap();
    put(&folder, "train_logs_wikitext-2/logs.zip", "PK\x03\x04 no archive");
    says(&error("nas-bench-nlp", &folder.0), &["logs.zip", "not a whole zip archive"]);
}
