//! Published tables in the layouts of their sources again: importing them gives the tables back.

use super::{benchmarks, import, table, without_lpzero};
use crate::support::Folder;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

fn rows(shared: &Path, name: &str) -> Vec<Map<String, Value>> {
    let text = fs::read_to_string(shared.join(name)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[track_caller]
fn same(imported: &foretell::benchmark::import::Imported, shared: &Path, name: &str) {
    let found = table(imported, name);
    assert_eq!(found.omitted, []);
    let expected = fs::read_to_string(shared.join(name)).unwrap();
    for (ours, theirs) in found.text.lines().zip(expected.lines()) {
        assert_eq!(ours, theirs, "{name}");
    }
    assert_eq!(found.text.len(), expected.len(), "{name}");
}

/// `key: value` lines, lists below their key.
fn yaml(values: &[(&str, &Value)]) -> String {
    let mut text = String::new();
    for (key, value) in values {
        match value {
            Value::Array(items) => {
                let _ = writeln!(text, "{key}:");
                items.iter().for_each(|item| writeln!(text, "- {item}").unwrap());
            }
            value => writeln!(text, "{key}: {value}").unwrap(),
        }
    }
    text
}

const CONFIG: [(&str, &str); 10] = [
    ("d_embed", "embed_dim"),
    ("d_inner", "ffn_dim"),
    ("d_model", "model_dim"),
    ("div_val", "embed_div"),
    ("n_all_param", "params_total_logged"),
    ("n_head", "num_heads"),
    ("n_layer", "num_layers"),
    ("n_nonemb_param", "params_decoder_logged"),
    ("n_token", "vocab_size"),
    ("tgt_len", "context_len"),
];
const COUNTS: [(&str, &str); 5] = [
    ("AdaEmb", "params_embedding"),
    ("Attn", "params_attention"),
    ("FFN", "params_ffn"),
    ("nonembedding", "params_decoder"),
    ("total", "params_total"),
];

fn fields<'r>(row: &'r Map<String, Value>, names: &[(&'static str, &str)]) -> Vec<(&'static str, &'r Value)> {
    let known = names.iter().filter_map(|(theirs, ours)| Some((*theirs, row.get(*ours)?)));
    known.filter(|(_, value)| !value.is_null()).collect()
}

/// Summaries of a folder, each by its name, and one configuration per network.
fn logs(
    folder: &Path,
    rows: &[Map<String, Value>],
    place: impl Fn(&str) -> String,
    summaries: &[(&str, &[(&'static str, &str)])],
) {
    for (summary, names) in summaries {
        let mut text = String::new();
        for row in rows {
            let id = row["id"].as_str().unwrap();
            match fields(row, names)[..] {
                [] => {}
                [("", value)] => writeln!(text, "{id}: {value}").unwrap(),
                ref known => {
                    let _ = writeln!(text, "{id}:");
                    for (key, value) in known {
                        // The source writes counts as floats.
                        let whole = if value.is_u64() { ".0" } else { "" };
                        let _ = writeln!(text, "  {key}: {value}{whole}");
                    }
                }
            }
        }
        put(&folder.join(format!("{summary}_summary.yaml")), &text);
    }
    for row in rows {
        let inside = folder.join(place(row["id"].as_str().unwrap()));
        put(&inside.join("model_config.yaml"), &yaml(&fields(row, &CONFIG)));
    }
}

#[test]
fn archai() {
    let Some(shared) = benchmarks() else { return };
    let clone = Folder::new("import-archai");
    let saved = clone.0.join("archai/nlp/nas/saved_logs");
    let results = [
        ("test_ppl", "test_ppl"),
        ("test_word_ppl", "test_word_ppl"),
        ("train_elapsed", "train_seconds"),
        ("valid_ppl", "valid_ppl"),
    ];
    for (folder, name) in [
        ("random_GPT2_wt103", "gpt2-wikitext103/architectures.jsonl"),
        ("random_TransXL_wt103", "transformer-xl-wikitext103/architectures.jsonl"),
        ("random_TransXL_wt103_homogeneous", "transformer-xl-wikitext103/homogeneous.jsonl"),
    ] {
        let mut rows = rows(&shared, name);
        if folder.ends_with("homogeneous") {
            // The source states one number for all layers.
            for row in &mut rows {
                for key in ["num_heads", "ffn_dim"] {
                    let one = row[key][0].clone();
                    row.insert(key.to_owned(), one);
                }
            }
        }
        logs(
            &saved.join(folder),
            &rows,
            |id| id.replace("_j", "/j"),
            &[("ppl", &results), ("params", &COUNTS)],
        );
    }
    let all = rows(&shared, "lts-pareto/architectures.jsonl");
    for (short, backbone) in [("GPT2", "gpt2"), ("TransXL", "transformer_xl")] {
        for device in ["arm", "corei7", "titanxp"] {
            let own = |row: &&Map<String, Value>| row["backbone"] == backbone && row["device"] == device;
            let rows: Vec<Map<String, Value>> = all.iter().filter(own).cloned().collect();
            logs(
                &saved.join(format!("pareto_{short}_lm1b_{device}")),
                &rows,
                str::to_owned,
                &[
                    ("ppl", &[("", "lm1b_ppl")]),
                    ("latency", &[("", "latency_ms")]),
                    ("memory", &[("", "memory_mb")]),
                    ("params", &COUNTS),
                ],
            );
        }
    }
    let imported = import("archai", &clone.0);
    assert!(imported.absent.is_empty(), "{:?}", imported.absent);
    for name in [
        "gpt2-wikitext103/architectures.jsonl",
        "transformer-xl-wikitext103/architectures.jsonl",
        "transformer-xl-wikitext103/homogeneous.jsonl",
        "lts-pareto/architectures.jsonl",
    ] {
        same(&imported, &shared, name);
    }
}

#[test]
fn nas_bench_nlp() {
    let Some(shared) = benchmarks() else { return };
    let clone = Folder::new("import-nlp");
    for (i, row) in rows(&shared, "nasbench-nlp-wikitext2/architectures.jsonl").into_iter().enumerate() {
        let node = |node: &Value| {
            (node["name"].as_str().unwrap().to_owned(), json!({"op": node["op"], "input": node["inputs"]}))
        };
        let recipe: Map<String, Value> = row["nodes"].as_array().unwrap().iter().map(node).collect();
        let log = json!({
            "recepie_id": row["recipe_id"], "recepie": serde_json::to_string(&recipe).unwrap(), "num_params": row["num_params"],
            "experiment_id": row["experiment_id"], "wall_times": [row["train_seconds"]], "train_losses": row["train_losses"],
            "val_losses": row["val_losses"], "test_losses": row["test_losses"], "status": row["status"],
        });
        let name = format!("log_stats_model_{}_{i:04}_{}.json", row["recipe_id"], row["experiment_id"]);
        put(&clone.0.join("train_logs_wikitext-2").join(name), &log.to_string().replace("null", "NaN"));
    }
    let imported = import("nas-bench-nlp", &clone.0);
    same(&imported, &shared, "nasbench-nlp-wikitext2/architectures.jsonl");
}

const ENCODER_METRICS: [(&str, &str); 14] = [
    ("Synaptic Diversity", "ref_synaptic_diversity"),
    ("Synaptic Diversity Normalized", "ref_synaptic_diversity_norm"),
    ("Synaptic Saliency", "ref_synaptic_saliency"),
    ("Synaptic Saliency Normalized", "ref_synaptic_saliency_norm"),
    ("Activation Distance", "ref_activation_distance"),
    ("Activation Distance Normalized", "ref_activation_distance_norm"),
    ("Jacobian Score", "ref_jacobian_covariance"),
    ("Jacobian Score Normalized", "ref_jacobian_cosine"),
    ("Head Importance", "ref_head_importance"),
    ("Head Importance Normalized", "ref_head_importance_norm"),
    ("Head Confidence", "ref_attention_confidence"),
    ("Head Confidence Normalized", "ref_attention_confidence_norm"),
    ("Head Softmax Confidence", "ref_softmax_confidence"),
    ("Head Softmax Confidence Normalized", "ref_softmax_confidence_norm"),
];

/// The columns of a shared CSV under the names of its source, `\r\n` at the ends of lines as there.
fn renamed(text: &str, header: &str) -> String {
    let (_, rest) = text.split_once('\n').unwrap();
    format!("{header}\n{rest}").replace('\n', "\r\n")
}

#[test]
fn encoders_of_training_free_nas() {
    let Some(shared) = benchmarks() else { return };
    let clone = Folder::new("import-encoders");
    let data = clone.0.join("data");
    let all = rows(&shared, "flexibert-glue/architectures.jsonl");
    let mut entries: Vec<Value> = all.iter().map(encoder).collect();
    entries.push(json!({"id": 1000, "completed": false}));
    put(&data.join("BERT_benchmark.json"), &Value::Array(entries).to_string());
    let names: Vec<&str> = ENCODER_METRICS.iter().map(|(theirs, _)| *theirs).collect();
    let mut csv = format!("ID,Number of Parameters,{}\n", names.join(","));
    for row in &all {
        let cells: Vec<String> = ENCODER_METRICS.iter().map(|(_, ours)| row[*ours].to_string()).collect();
        let _ = writeln!(csv, "{},{},{}", row["id"], row["params_reference"], cells.join(","));
    }
    put(&data.join("BERT_results_activation.csv"), &csv);
    let checkpoints = fs::read_to_string(shared.join("flexibert-glue/pretraining_checkpoints.csv")).unwrap();
    let header = "id,steps,cola,mnli,mrpc,qnli,qqp,rte,sst,sts,glue";
    put(&data.join("BERT_train_ablation.csv"), &renamed(&checkpoints, header));
    let repeats = fs::read_to_string(shared.join("flexibert-glue/metric_repeats.csv")).unwrap();
    for (varied, file) in
        [("minibatch", "BERT_batch_ablation.csv"), ("seed", "BERT_initialization_ablation.csv")]
    {
        let mut csv = format!("ID,{}\n", names.join(","));
        for line in repeats.lines().filter(|line| line.starts_with(varied)) {
            let cells: Vec<&str> = line.split(',').collect();
            let _ = writeln!(csv, "{},{}", cells[1], cells[3..].join(","));
        }
        put(&data.join(file), &csv);
    }
    let imported = import("training-free-nas", &clone.0);
    same(&imported, &shared, "flexibert-glue/pretraining_checkpoints.csv");
    same(&imported, &shared, "flexibert-glue/metric_repeats.csv");
    // LPZero's columns come from a clone of its own.
    for (column, file) in [
        ("ref_lpzero_1", "BERT_results_activation_2.csv"),
        ("ref_lpzero_2", "BERT_results_activation_lpzero.csv"),
    ] {
        let mut csv = "ID,Number of Parameters,lpzero\n".to_owned();
        all.iter().for_each(|row| writeln!(csv, "{},1,{}", row["id"], row[column]).unwrap());
        put(&clone.0.join("LPZero").join(file), &csv);
    }
    let added =
        foretell::benchmark::import::import("training-free-nas", &clone.0, Some(&clone.0.join("LPZero")))
            .unwrap();
    let networks = table(&imported, "flexibert-glue/architectures.jsonl");
    let complete = table(&added, "flexibert-glue/architectures.jsonl");
    assert_eq!(complete.text, fs::read_to_string(shared.join("flexibert-glue/architectures.jsonl")).unwrap());
    let expected = fs::read_to_string(shared.join("flexibert-glue/architectures.jsonl")).unwrap();
    let part = |text: &str| text.lines().map(without_lpzero).collect::<Vec<_>>();
    assert_eq!(part(&networks.text), part(&expected));
    assert_eq!(networks.omitted.len(), 1);
    assert_eq!(networks.omitted[0].reason, "its training was not completed");
    assert_eq!(networks.counts, 350);
    assert_eq!(imported.absent.len(), 2, "{:?}", imported.absent);
}

/// The entry of an encoder as the source has it: kernels are numbers there.
fn encoder(row: &Map<String, Value>) -> Value {
    let layer = |i: usize| {
        let parameter = row["operation_parameter"][i].as_str().unwrap();
        let parameter = parameter.parse::<u64>().map_or_else(|_| json!(parameter), |kernel| json!(kernel));
        json!({
            "operation_type": row["operation_type"][i], "operation_parameter": parameter,
            "num_operation_heads": row["num_heads"][i], "feed_forward_dimension": row["ffn_dim"][i],
            "num_feed_forward": row["ffn_stack"][i],
        })
    };
    let layers: Vec<Value> = (0..row["num_layers"].as_u64().unwrap() as usize).map(layer).collect();
    let scores: Map<String, Value> = ["glue", "cola", "mnli", "mrpc", "qnli", "qqp", "rte", "sst2", "stsb"]
        .map(|key| (key.trim_end_matches('2').trim_end_matches('b').to_owned(), row[key].clone()))
        .into_iter()
        .collect();
    json!({
        "id": row["id"], "completed": true, "time_to_train": row["pretrain_seconds"], "scores": scores,
        "hparams": {"model_hparam_overrides": {"hidden_size": row["hidden_size"], "nas_config": {"encoder_layers": layers}}},
    })
}

#[test]
fn cells_of_training_free_nas() {
    let Some(shared) = benchmarks() else { return };
    let clone = Folder::new("import-cells");
    let text = fs::read_to_string(shared.join("nasbench-nlp-ptb/runs.csv")).unwrap();
    let named = "log name,loss,perplexity,bits per word";
    let (mut parameters, mut results) = (
        format!("{named},trainable paramters,total paramters\n"),
        format!("\u{feff}{named},{}\n", CELL_METRICS),
    );
    let mut by_file: BTreeMap<&str, usize> = BTreeMap::new();
    for line in text.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let or_nan = |cell: &str| if cell.is_empty() { "nan".to_owned() } else { cell.to_owned() };
        let start = format!(
            "log_stats_model_{}_{}.json,{}",
            cells[0],
            cells[2],
            cells[3..6].iter().map(|cell| or_nan(cell)).collect::<Vec<_>>().join(",")
        );
        let _ = writeln!(parameters, "{start},{},{}", cells[6], cells[6]);
        if !cells[7].is_empty() {
            let _ = writeln!(results, "{start},{}", cells[7..].join(","));
            *by_file.entry("results").or_default() += 1;
        }
    }
    // What the public file holds between and after its rows.
    parameters.push_str("log name,loss,perplexity,trainable paramters,total paramters\n");
    parameters.push_str("log_stats_model_1003556_2020-04-22_16-22-31_999962372.json,nan,nan,nan,nan,nan\n");
    put(&clone.0.join("data/RNN_parameters.csv"), &parameters);
    put(&clone.0.join("data/RNN_results.csv"), &results);
    let imported = import("training-free-nas", &clone.0);
    same(&imported, &shared, "nasbench-nlp-ptb/recipes.jsonl");
    let runs = table(&imported, "nasbench-nlp-ptb/runs.csv");
    assert_eq!(runs.text, text);
    assert_eq!(runs.counts, 10_038);
    assert!(by_file["results"] > 7000);
    let reasons: Vec<&str> = runs.omitted.iter().map(|omitted| omitted.reason.as_str()).collect();
    assert_eq!(reasons, ["they repeat the header", "1 lines hold neither a loss nor a count"]);
}

const CELL_METRICS: &str = "Activation Distance,Synaptic Saliency,Jacobian Covariance,Jacobian Cosine,Large Noise Jacobian,\
    Large Noise Jacobian Cosine,More Noised Jacobian,More Noised Jacobian Cosine,Hidden Synaptic Saliency,\
    Layer 1 Hidden Covariance,Layer 2 Hidden Covariance,Layer 3 Hidden Covariance";
