//! The memory of a pass as the operating system measures it, against the prediction.
//!
//! Every case runs in a process of its own: the most memory a process ever held resident never falls again.

use foretell::engine::buffer::Workspace;
use foretell::network::Weights;
use foretell::probe::{self, Loss, Pass, Setting};
use foretell::seed::Seed;
use serde_json::{Value, json};

const CASE: &str = "FORETELL_MEMORY_CASE";

fn cases() -> Vec<(Value, Pass)> {
    let lstm = json!([
        {"name": "i", "op": "linear", "inputs": ["x", "h_prev_0"]}, {"name": "ia", "op": "activation_tanh", "inputs": ["i"]},
        {"name": "f", "op": "linear", "inputs": ["x", "h_prev_0"]}, {"name": "fa", "op": "activation_sigm", "inputs": ["f"]},
        {"name": "h_new_1", "op": "blend", "inputs": ["fa", "h_prev_1", "ia"]},
        {"name": "h_new_0", "op": "activation_tanh", "inputs": ["h_new_1"]},
    ]);
    vec![
        (
            json!({"family": "vit", "embed_dim": 192, "depth": 12, "num_heads": 3, "mlp_ratio": 4}),
            Pass { batch: 8, ..Pass::backward(Loss::CrossEntropy) },
        ),
        (
            json!({"family": "flexibert", "vocab_size": 30522, "context_len": 128, "hidden_size": 256,
            "operation_type": ["SA", "LT", "DSC", "SA"], "operation_parameter": ["SDP", "DFT", "9", "WMA"],
            "num_heads": 4, "ffn_dim": 1024, "ffn_stack": [1, 3, 1, 1]}),
            Pass { batch: 16, ..Pass::backward(Loss::Projection) },
        ),
        (
            json!({"family": "gpt2", "vocab_size": 50264, "context_len": 192, "d_model": 256, "n_layer": 6,
            "n_head": 4, "d_inner": 1024, "cutoffs": [19997, 39997], "div_val": 4}),
            Pass { batch: 16, ..Pass::backward(Loss::CrossEntropy) },
        ),
        (
            json!({"family": "recurrent", "vocab_size": 10000, "embed_dim": 400, "hidden_size": 600,
            "context_len": 70, "nodes": lstm}),
            Pass { batch: 16, ..Pass::backward(Loss::HalfSquare) },
        ),
        (
            json!({"family": "vit", "embed_dim": 192, "depth": 12, "num_heads": 3, "mlp_ratio": 4}),
            Pass { batch: 8, ..Pass::forward() }.keep(probe::Signal::Attention).keep(probe::Signal::Inputs),
        ),
    ]
}

/// A line of the process's status, in bytes.
fn status(key: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|line| line.starts_with(key)).unwrap();
    1024 * line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
}

/// Run in a child: what the pass was predicted to take, what it took.
fn measure(case: usize) {
    let (json, pass) = cases().swap_remove(case);
    let architecture = foretell::space::read_architecture(&json).unwrap();
    let setting = Setting::new(&architecture, Seed(0));
    let predicted = probe::peak_bytes::<f32>(&setting, &pass).unwrap();
    let before = status("VmRSS");
    let weights: Weights<f32> = Weights::standalone(&architecture, Seed(0));
    let mut space = Workspace::new();
    let signals = probe::run(&setting, &weights, &pass, &mut space).unwrap();
    println!("measured {predicted} {}", status("VmHWM") - before);
    drop(signals);
}

#[test]
fn predicted_within_a_tenth() {
    if !cfg!(target_os = "linux") {
        eprintln!("skipped: resident memory is read from /proc, which only Linux has");
        return;
    }
    if let Ok(case) = std::env::var(CASE) {
        return measure(case.parse().unwrap());
    }
    for (case, (json, _)) in cases().iter().enumerate() {
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        child
            .args(["memory::predicted_within_a_tenth", "--exact", "--nocapture"])
            .env(CASE, case.to_string());
        let text = String::from_utf8(child.output().unwrap().stdout).unwrap();
        let at = text.find("measured ").unwrap_or_else(|| panic!("{json}: {text}"));
        let numbers: Vec<f64> =
            text[at..].lines().next().unwrap().split(' ').skip(1).map(|n| n.parse().unwrap()).collect();
        let (predicted, measured) = (numbers[0], numbers[1]);
        println!("{}: predicted {:.1} MB, measured {:.1}", json["family"], predicted / 1e6, measured / 1e6);
        assert!((predicted / measured - 1.0).abs() < 0.1, "{json}: {predicted} is not {measured}");
    }
}
