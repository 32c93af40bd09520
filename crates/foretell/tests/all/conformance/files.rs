//! Space files and architecture files that are wrong: refused with file, line, key and the cure.

use foretell::space;
use serde_json::{Value, json};

fn refused(text: &str) -> String {
    match space::parse("mine.toml", text) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(error) => error.to_string(),
    }
}

fn vit(choices: &str) -> String {
    format!(
        "name = \"mine\"\nfamily = \"vit\"\n[choices]\nembed_dim = [64]\ndepth = [2]\nmlp_ratio = [4]\n{choices}"
    )
}

#[test]
fn wrong_files_are_refused_by_line_and_key() {
    for (text, parts) in [
        (vit("num_head = [4]"), vec!["mine.toml:7", "num_head", "did you mean 'num_heads'"]),
        (vit("num_heads = []"), vec!["mine.toml:7", "num_heads", "empty"]),
        (vit("num_heads = [5, 7]"), vec!["mine.toml:7", "num_heads", "does not divide the width 64"]),
        (vit("num_heads = [4, 5]"), vec!["mine.toml:7", "num_heads", "5 fits no other choice"]),
        (vit("num_heads = [4, 4]"), vec!["mine.toml:7", "lists 4 twice"]),
        (vit("num_heads = 4"), vec!["mine.toml:7", "[fixed]"]),
        (vit("num_heads = [-4]"), vec!["mine.toml:7", "whole number"]),
        (vit("num_heads = [4.5]"), vec!["mine.toml:7", "whole number"]),
        (vit("num_heads = [99999999999999999999]"), vec!["mine.toml:7", "too large"]),
        (vit("num_heads = [\"four\"]"), vec!["mine.toml:7", "whole number"]),
        (vit("num_heads = { from = 1, to = 4, stop = 2 }"), vec!["mine.toml:7", "did you mean 'step'"]),
        (vit("num_heads = { from = 4, to = 1 }"), vec!["mine.toml:7", "no choice"]),
        (vit("num_heads = { from = 1, to = 4, step = 0 }"), vec!["mine.toml:7", "step 0"]),
        (vit("num_heads = [[4], [4], [4]]"), vec!["mine.toml:7", "3 entries", "2 layers"]),
        (vit("num_heads = [4]\nnum_heads = [2]"), vec!["mine.toml:8"]),
        (vit("num_heads = [4]\nheads = [2]"), vec!["mine.toml:8", "twice"]),
        (vit("num_heads = [4]\n[rules]\nmin_ffn = 2"), vec!["mine.toml:9", "min_ffn_ratio"]),
        (vit("num_heads = [4]\n[rules]\nmin_ffn_ratio = 2"), vec!["no meaning for the vit family"]),
        (vit("num_heads = [4]\n[fixd]\npatch_size = 8"), vec!["mine.toml:8", "did you mean 'fixed'"]),
        (
            vit("num_heads = [4]\n[fixed]\npatch_size = 15"),
            vec!["patch_size 15 does not divide image_size 224"],
        ),
        (vit("num_heads = [4]\n[fixed]\nimage_size = 1e400"), vec!["mine.toml:9", "finite"]),
        (vit("num_heads = [4]\n[fixed]\npooling = \"men\""), vec!["mine.toml:9", "did you mean 'mean'"]),
        (vit("num_heads = [4]\nmlp = nonsense"), vec!["mine.toml:8"]),
        ("family = \"vit\"".into(), vec!["mine.toml", "name"]),
        ("name = \"a\"\nfamily = \"vti\"".into(), vec!["mine.toml:2", "did you mean 'vit'"]),
        ("name = \"../../etc\"\nfamily = \"vit\"".into(), vec!["mine.toml:1", "letters"]),
        ("name = \"a\"\nfamily = \"vit\"\n".into(), vec!["mine.toml", "says nothing of embed_dim"]),
        ("name = 3\nfamily = \"vit\"\n".into(), vec!["mine.toml:1", "not a text"]),
        ("fixed = 3".into(), vec!["mine.toml"]),
        (String::new(), vec!["mine.toml", "name"]),
        ("\u{feff}name = ".into(), vec!["mine.toml:1"]),
        (
            format!(
                "name = \"a\"\nfamily = \"vit\"\n[choices]\nembed_dim = {}1{}",
                "[".repeat(5000),
                "]".repeat(5000)
            ),
            vec!["mine.toml"],
        ),
        ("x".repeat(2 << 20), vec!["mine.toml", "bytes"]),
    ] {
        let error = refused(&text);
        for part in parts {
            assert!(error.contains(part), "{part:?} is not in: {error}\n{}", &text[..text.len().min(300)]);
        }
    }
}

/// A million layers, a million heads of choices, a dimension beyond all memory: refused before anything is built.
#[test]
fn enormous_files_are_refused_before_they_cost_anything() {
    let depth = "name = \"a\"\nfamily = \"bert\"\n[fixed]\nhidden_size = 64\nnum_heads = 4\nffn_dim = 64\n[choices]\nnum_layers = ";
    for (text, part) in [
        (format!("{depth}[1000000]"), "1000000 is not between 1 and 1024"),
        (format!("{depth}{{ from = 1, to = 1000000000000 }}"), "not between 1 and 1024"),
        ("name = \"a\"\nfamily = \"bert\"\n[fixed]\nhidden_size = 4294967296\n".into(), "not between 1 and 1048576"),
        (
            "name = \"a\"\nfamily = \"bert\"\n[fixed]\nnum_heads = 1\nnum_layers = 1\nffn_dim = 4\n[choices]\n\
             hidden_size = { from = 1, to = 60000 }\nvocab_size = { from = 1, to = 60000 }"
                .into(),
            "3600000000 combinations",
        ),
        (
            "name = \"a\"\nfamily = \"bert\"\n[fixed]\nhidden_size = 64\nnum_layers = 1024\n[choices]\n\
             num_heads = { from = 1, to = 1024 }\nffn_dim = { from = 1, to = 60000 }"
                .into(),
            "use fewer or coarser choices",
        ),
    ] {
        let error = refused(&text);
        assert!(error.contains(part), "{error}");
    }
    // The deepest legal space still builds, and its size is exact.
    let deep = space::parse(
        "deep.toml",
        &format!("{depth}[1024]\n")
            .replace("ffn_dim = 64\n", "")
            .replace("[choices]", "[choices]\nffn_dim = [64, 96]"),
    )
    .unwrap();
    assert!((deep.ln_size().unwrap() - 1024.0 * 2f64.ln()).abs() < 1e-6);
}

#[test]
fn wrong_architectures_are_refused_by_key() {
    let gpt2 = |key: &str, value: Value| {
        let mut object = json!({"space": "gpt2", "n_layer": 2, "d_model": 128, "d_embed": 128, "div_val": 1, "n_head": 2, "d_inner": 512});
        object[key] = value;
        object
    };
    for (value, part) in [
        (json!([1]), "not a JSON object"),
        (json!({"n_layer": 2}), "neither its space nor its family"),
        (json!({"space": "gpt3"}), "did you mean 'gpt2'"),
        (json!({"space": "gpt2"}), "is missing"),
        (json!({"space": "no/such.toml"}), "no/such.toml"),
        (gpt2("n_heads", json!(2)), "did you mean 'n_head'"),
        (gpt2("n_head", json!([2, 2, 2])), "3 entries, but there are 2 layers"),
        (gpt2("n_head", json!(3)), "n_head 3 does not divide d_model 128"),
        (gpt2("n_head", json!("2")), "not a whole number"),
        (gpt2("n_layer", json!(1_000_000)), "not between 1 and 1024"),
        (gpt2("d_inner", json!(-1)), "not a whole number"),
        (gpt2("d_model", json!(1e300)), "d_model"),
        (gpt2("model_dim", json!(256)), "the same field"),
        (gpt2("cutoffs", json!([500, 400])), "do not rise"),
        (gpt2("cutoffs", json!([1, 2, 3, 4])), "cutoffs"),
        (json!({"space": "nasbench-nlp", "nodes": []}), "nodes"),
        (
            json!({"space": "nasbench-nlp", "nodes": [{"name": "h_new_0", "op": "linaer", "inputs": ["x"]}]}),
            "did you mean 'linear'",
        ),
        (
            json!({"space": "nasbench-nlp", "nodes": [{"name": "h_new_0", "op": "linear", "inputs": ["y"]}]}),
            "unknown input 'y'",
        ),
        (
            json!({"space": "nasbench-nlp", "nodes": [{"name": "h_new_0", "op": "activation_tanh", "inputs": ["x"]}]}),
            "only linear nodes",
        ),
        (
            json!({"space": "nasbench-nlp", "nodes": [
                {"name": "h_new_0", "op": "activation_tanh", "inputs": ["a"]},
                {"name": "a", "op": "activation_tanh", "inputs": ["h_new_0"]}]}),
            "circle",
        ),
    ] {
        let error = space::read_architecture(&value).expect_err(&value.to_string()).to_string();
        assert!(error.contains(part), "{part:?} is not in: {error}");
    }
}

/// Other patch and image sizes, vocabularies, contexts and per-layer widths: a file is as good as a preset.
#[test]
fn a_file_of_ones_own_works_like_a_preset() {
    let space = space::parse(
        "own.toml",
        "name = \"own\"\nfamily = \"vit\"\n[fixed]\nimage_size = 32\nnum_classes = 10\n[choices]\npatch_size = [4, 8]\n\
         embed_dim = [64]\ndepth = [3]\nnum_heads = [[2], [4], [8]]\nmlp_ratio = [[2], [3, 4], [4]]",
    )
    .unwrap();
    assert_eq!(space.size(), space::Size::Exact(4u32.into()));
    let tokens: Vec<u64> = (0..4u32).map(|i| space.at(&i.into()).unwrap().tokens()).collect();
    assert_eq!(tokens, [65, 65, 17, 17]);
}
