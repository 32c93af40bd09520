//! What every space, proxy and searcher must do, run over the catalogues: a new entry is tested without further edits.

mod budgets;
mod files;
mod options;
mod passes;
mod proxies;
mod searchers;
mod spaces;

use foretell::space::{self, PRESETS, Space};
use std::sync::Arc;

fn presets() -> impl Iterator<Item = Arc<dyn Space>> {
    PRESETS.iter().map(|(name, _)| space::preset(name).unwrap())
}

/// One small space per grid family, each with a rule that couples choices.
const SHRUNKEN: [&str; 8] = [
    r#"name = "small-vit"
family = "vit"
[choices]
patch_size = [14, 16]
embed_dim = [12, 16]
depth = [1, 3]
num_heads = [2, 3, 4]
mlp_ratio = [1.5, 2]"#,
    r#"name = "small-pit"
family = "pit"
[choices]
base_dim = [8, 16]
mlp_ratio = [2, 3]
num_heads = [1, 2, 4]
depth = [[1, 2], [2], [1, 3]]"#,
    r#"name = "small-shunted"
family = "shunted"
[choices]
base_dim = [16, 32]
depth = [[1, 2], [1], [2, 4], [1]]
num_heads = [[2], [2, 4], [4], [1, 8]]
mlp_ratio = [2, 4]"#,
    r#"name = "small-bert"
family = "bert"
[fixed]
vocab_size = 100
[choices]
hidden_size = [24, 32]
num_layers = [1, 2]
num_heads = [3, 4]
ffn_dim = [40, 64, 80]
[rules]
min_ffn_ratio = 1.5"#,
    r#"name = "small-flexibert"
family = "flexibert"
[fixed]
vocab_size = 100
[choices]
hidden_size = [16, 32]
num_layers = [1, 2]
operation_type = ["SA", "LT", "DSC"]
operation_parameter = ["SDP", "DCT", "5", "9"]
num_heads = [2, 4]
ffn_dim = [64]
ffn_stack = [1, 3]"#,
    r#"name = "small-gpt2"
family = "gpt2"
[fixed]
vocab_size = 500
cutoffs = [100]
d_embed = 32
[choices]
n_layer = [1, 2, 3]
d_model = [16, 24]
div_val = [1, 2]
n_head = [2, 4]
d_inner = { from = 24, to = 64, step = 8 }
[rules]
min_ffn_ratio = 2"#,
    r#"name = "small-xl"
family = "transformer-xl"
[fixed]
vocab_size = 500
cutoffs = []
[choices]
n_layer = [2]
d_model = [16, 32]
n_head = [2, 8]
d_inner = [[20, 40, 60], [30, 31]]"#,
    r#"name = "small-llama"
family = "llama"
[fixed]
hidden_size = 64
vocab_size = 100
[choices]
num_layers = [1, 2]
num_heads = [4, 8]
num_kv_heads = ["none", 2, 8]
ffn_dim = [96, 128]"#,
];

fn shrunken() -> impl Iterator<Item = Arc<dyn Space>> {
    SHRUNKEN.iter().map(|text| space::parse("test", text).unwrap())
}
