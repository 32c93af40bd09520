//! Networks of others: published counts, what is refused, and the way there and back.

use foretell::architecture::Architecture;
use foretell::export::{self, Export, Stock};
use foretell::hub;
use foretell::network::Weights;
use foretell::seed::Seed;
use foretell::space;
use serde_json::{Value, json};
use std::path::Path;

fn read(config: Value) -> Result<Architecture, String> {
    hub::read(&config, Path::new(".")).map_err(|e| e.to_string())
}

fn count(config: Value) -> u64 {
    read(config).unwrap().params().total
}

/// The facts of each published configuration, as far as they differ from what transformers takes for granted, and the
/// parameters that its makers or transformers count.
#[test]
fn counts_of_well_known_models_are_the_published_ones() {
    let gpt2 = |width: u64, layers: u64, heads: u64| {
        json!({"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "vocab_size": 50257, "n_positions": 1024, "n_ctx": 1024,
            "n_embd": width, "n_layer": layers, "n_head": heads, "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5})
    };
    assert_eq!(count(gpt2(768, 12, 12)), 124_439_808);
    assert_eq!(count(gpt2(1024, 24, 16)), 354_823_168);
    let bert = json!({"model_type": "bert", "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
        "intermediate_size": 3072, "vocab_size": 30522, "max_position_embeddings": 512, "type_vocab_size": 2,
        "hidden_act": "gelu", "layer_norm_eps": 1e-12, "position_embedding_type": "absolute", "gradient_checkpointing": false});
    assert_eq!(count(bert), 109_482_240);
    let labels: Value = (0..1000).map(|i| (i.to_string(), json!(format!("class {i}")))).collect();
    let vit = |width: u64, heads: u64| {
        json!({"model_type": "vit", "architectures": ["ViTForImageClassification"], "hidden_size": width, "num_hidden_layers": 12,
            "num_attention_heads": heads, "intermediate_size": 4 * width, "image_size": 224, "patch_size": 16, "id2label": labels})
    };
    assert_eq!(count(vit(768, 12)), 86_567_656);
    assert_eq!(count(vit(192, 3)), 5_717_416, "DeiT-tiny");
    let llama = json!({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 11008, "num_attention_heads": 32,
        "num_hidden_layers": 32, "vocab_size": 32000, "max_position_embeddings": 2048, "rms_norm_eps": 1e-6, "hidden_act": "silu"});
    assert_eq!(count(llama), 6_738_415_616);
    let mistral = json!({"model_type": "mistral", "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32,
        "num_key_value_heads": 8, "num_hidden_layers": 32, "vocab_size": 32000, "max_position_embeddings": 32768,
        "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "sliding_window": 4096, "tie_word_embeddings": false});
    assert_eq!(count(mistral), 7_241_732_096);
    let qwen = json!({"model_type": "qwen2", "hidden_size": 896, "intermediate_size": 4864, "num_attention_heads": 14,
        "num_key_value_heads": 2, "num_hidden_layers": 24, "vocab_size": 151936, "max_position_embeddings": 32768,
        "rms_norm_eps": 1e-6, "rope_theta": 1000000.0, "sliding_window": 32768, "use_sliding_window": false, "tie_word_embeddings": true});
    assert_eq!(count(qwen), 494_032_768);
}

#[test]
fn what_cannot_be_expressed_is_refused_by_name() {
    for (config, parts) in [
        (json!({"model_type": "gpt_2"}), ["gpt_2", "did you mean 'gpt2'"]),
        (json!({"model_type": "opt"}), ["model_type 'opt'", "known: gpt2"]),
        (json!({"model_type": "gpt2", "activation_function": "relu"}), ["activation_function", "relu"]),
        (json!({"model_type": "gpt2", "tie_word_embeddings": false}), ["tie_word_embeddings", "only true"]),
        (
            json!({"model_type": "bert", "position_embedding_type": "relative_key"}),
            ["position_embedding_type", "absolute"],
        ),
        (json!({"model_type": "llama", "rope_scaling": {"rope_type": "llama3"}}), ["rope_scaling", "llama3"]),
        (json!({"model_type": "llama", "attention_bias": true}), ["attention_bias", "llama"]),
        (
            json!({"model_type": "vit", "intermediate_size": 3073, "hidden_size": 4096}),
            ["intermediate_size", "3073"],
        ),
        (json!({"model_type": "bert", "num_hidden_layers": "1e400"}), ["num_hidden_layers", "whole number"]),
        (
            json!({"model_type": "bert", "num_hidden_layers": 4_000_000_000_u64}),
            ["num_hidden_layers", "too many"],
        ),
        (json!({"model_type": "bert", "num_attention_heads": 7}), ["num_heads 7", "divide"]),
        (
            json!({"model_type": "bert", "per_layer_config": {"99": {"intermediate_size": 4}}}),
            ["per_layer_config.99", "per layer"],
        ),
        (
            json!({"model_type": "bert", "per_layer_config": {"0": {"skip": ["mlp"]}}}),
            ["per_layer_config.0.skip", "per layer"],
        ),
    ] {
        let error = read(config.clone()).expect_err(&config.to_string());
        assert!(parts.iter().all(|part| error.contains(part)), "{config}: {error}");
    }
}

/// Ids from before the fields that import needs: `head` of gpt2, `norm_eps` of vit, `rope_theta` and `norm_eps` of llama.
#[test]
fn fields_that_came_later_leave_ids_as_they_were() {
    for (value, id) in [
        (
            json!({"family": "gpt2", "vocab_size": 300, "context_len": 16, "d_model": 24, "n_layer": 2,
                "n_head": [2, 4], "d_inner": [20, 40]}),
            "01ac2e2dbf8adfe32481",
        ),
        (
            json!({"family": "vit", "embed_dim": 24, "depth": 2, "num_heads": [2, 4], "mlp_ratio": 2}),
            "4b7c1f050008fa68c219",
        ),
        (
            json!({"family": "llama", "hidden_size": 24, "num_layers": 2, "num_heads": [2, 4], "ffn_dim": [20, 40]}),
            "443dd44f2d87c8c90637",
        ),
    ] {
        assert_eq!(space::read_architecture(&value).unwrap().id(), id, "{value}");
    }
}

#[test]
fn layers_that_differ_are_read() {
    let found = read(
        json!({"model_type": "bert", "num_hidden_layers": 3, "per_layer_config": {"1": {"intermediate_size": 512}}}),
    );
    assert_eq!(found.unwrap().to_json()["ffn_dim"], json!([3072, 512, 3072]));
}

/// Homogeneous networks, so that transformers has a class for them.
fn homogeneous() -> Vec<Architecture> {
    [
        json!({"family": "gpt2", "head": "plain", "cutoffs": [], "vocab_size": 90, "context_len": 12, "d_model": 24, "n_layer": 2, "n_head": 4, "d_inner": 40}),
        json!({"family": "bert", "vocab_size": 90, "context_len": 12, "hidden_size": 24, "num_layers": 2, "num_heads": 3, "ffn_dim": 40}),
        json!({"family": "vit", "image_size": 32, "num_classes": 9, "embed_dim": 24, "depth": 2, "num_heads": 3, "mlp_ratio": 2.5, "pooling": "class"}),
        json!({"family": "llama", "vocab_size": 90, "context_len": 12, "hidden_size": 24, "num_layers": 2, "num_heads": 4, "num_kv_heads": 2, "ffn_dim": 40, "head_dim": 8}),
        json!({"family": "llama", "vocab_size": 90, "context_len": 12, "hidden_size": 24, "num_layers": 2, "num_heads": 4, "num_kv_heads": 2, "ffn_dim": 40,
            "attention_bias": true, "rope_theta": 1000000, "norm_eps": "1e-5"}),
    ]
    .into_iter()
    .map(|value| space::read_architecture(&value).unwrap())
    .collect()
}

#[test]
fn what_is_exported_as_stock_is_read_back() {
    for architecture in homogeneous() {
        let stock = Stock::of(&architecture).expect("layers are alike");
        let again = read(Value::Object(stock.config.clone())).unwrap();
        assert_eq!(again.params(), architecture.params(), "{:?}", stock.config);
        // Ids differ only where one thing can be said in two ways.
        let twice = read(Value::Object(Stock::of(&again).unwrap().config)).unwrap();
        assert_eq!(twice.id(), again.id());
    }
}

#[test]
fn weights_of_every_format_are_read() {
    let folder = std::env::temp_dir().join(format!("foretell-hub-{}", std::process::id()));
    let mut all = homogeneous();
    let adaptive = json!({"family": "gpt2", "vocab_size": 90, "cutoffs": [20, 50], "d_embed": 16, "div_val": 2, "context_len": 12, "d_model": 24,
        "n_layer": 2, "n_head": [2, 4], "d_inner": [20, 40]});
    let shunted = json!({"family": "shunted", "image_size": 32, "num_classes": 3, "base_dim": 4, "stem_convs": 1, "depth": 1, "num_heads": 2, "mlp_ratio": 1});
    all.extend([adaptive, shunted].map(|value| space::read_architecture(&value).unwrap()));
    for (i, architecture) in all.iter().enumerate() {
        let weights: Weights<f32> = Weights::shared(architecture, Seed(3));
        let request = Export { architecture, weights: Some(&weights), origin: &[] };
        for format in ["huggingface", "pytorch"] {
            let to = folder.join(format!("{i}-{format}"));
            export::write(&request, export::format(format).unwrap(), &to, false).unwrap();
            let again: Weights<f32> = Weights::read(architecture, &to.join("model.safetensors")).unwrap();
            assert_eq!(again.data, weights.data, "{architecture:?}");
            if format == "huggingface" {
                let config = serde_json::from_slice(&std::fs::read(to.join("config.json")).unwrap()).unwrap();
                assert_eq!(hub::read(&config, &to).unwrap().params(), architecture.params());
            }
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
