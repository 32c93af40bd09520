//! Test vectors: exact counts of named networks and exact sizes of every space.
//!
//! Where the numbers come from: parameter and FLOP vectors are those of the original projects' counters or
//! published tables; the sum behind each size is written out in the test.

use foretell::architecture::{Architecture, Counter, Part};
use foretell::space::{self, Size};
use num_bigint::BigUint;
use serde_json::{Value, json};

fn read(value: Value) -> Architecture {
    space::read_architecture(&value).unwrap()
}

fn total(value: Value) -> u64 {
    read(value).params().total
}

#[test]
fn autoformer() {
    let tiny = read(json!({"space": "autoformer-tiny", "embed_dim": 192, "depth": 14,
        "num_heads": [3,4,3,3,4,4,3,4,4,3,4,3,4,4],
        "mlp_ratio": [4,3.5,3.5,3.5,4,3.5,4,4,3.5,4,3.5,3.5,3.5,3.5]}));
    assert_eq!(tiny.params().total, 6_776_776);
    assert_eq!(tiny.flops(Counter::Published), Some(1_573_082_940));
    let small = read(json!({"space": "autoformer-small", "embed_dim": 448, "depth": 13,
        "num_heads": [6,5,5,7,6,7,7,7,5,6,5,7,5],
        "mlp_ratio": [3.5,3,3.5,4,3.5,3.5,3.5,3.5,3.5,4,3,4,3]}));
    assert_eq!(small.params().total, 28_262_984);
    assert_eq!(small.flops(Counter::Published), Some(5_952_001_594));
    let base = read(json!({"space": "autoformer-base", "embed_dim": 624, "depth": 15,
        "num_heads": [9,10,9,10,9,9,10,10,9,10,10,10,9,10,10],
        "mlp_ratio": [3.5,3,3.5,4,3.5,3.5,3.5,3.5,3.5,4,3,4,3,3.5,3]}));
    assert_eq!(base.params().total, 64_959_352);
    assert_eq!(base.flops(Counter::Published), Some(13_533_557_862));
}

/// One token fewer in every block and the head on one vector: by hand for the smallest tiny network.
#[test]
fn autoformer_exact_flops() {
    let a = read(
        json!({"space": "autoformer-tiny", "embed_dim": 192, "depth": 12, "num_heads": 3, "mlp_ratio": 3.5}),
    );
    let (s, d, q, f) = (197u64, 192u64, 192u64, 672u64);
    let block = 2 * s * d
        + 3 * s * d * q
        + 2 * s * s * q
        + s * q * d
        + 2 * 14 * s * s
        + s * s / 2
        + s * q / 2
        + 2 * s * d * f;
    assert_eq!(a.flops(Counter::Exact), Some(d + 196 * 768 * d + 197 * d / 2 + 12 * block + d * 1000));
}

#[test]
fn pit() {
    let pit = |space: &str, base: u32, heads: [u32; 3]| {
        total(
            json!({"space": space, "base_dim": base, "mlp_ratio": 4, "depth": [2, 6, 4], "num_heads": heads}),
        )
    };
    assert_eq!(pit("pit-ti", 32, [2, 4, 8]), 4_847_272);
    assert_eq!(pit("pit-xs", 48, [2, 4, 8]), 10_618_888);
    assert_eq!(pit("pit-s", 48, [3, 6, 12]), 23_461_912);
}

#[test]
fn shunted() {
    let stems = space::preset("shunted-stems").unwrap();
    let shunted = |depth: [u32; 4], convs: u32| {
        let network = json!({"space": "shunted-stems", "base_dim": 64, "depth": depth, "num_heads": [2, 4, 8, 16],
            "mlp_ratio": [8, 8, 4, 4], "stem_convs": convs});
        // All three published networks lie inside.
        stems.validate(&space::read_architecture(&network).unwrap()).unwrap();
        total(network)
    };
    assert_eq!(shunted([1, 2, 4, 1], 0), 11_553_576);
    assert_eq!(shunted([2, 4, 12, 1], 1), 22_401_256);
    assert_eq!(shunted([3, 4, 24, 2], 2), 39_614_376);
}

#[test]
fn bert() {
    assert_eq!(
        total(json!({"space": "bert", "num_layers": 12, "ffn_dim": 3072, "num_heads": 12})),
        109_482_240
    );
}

#[test]
fn flexibert_in_three_modes() {
    type Layer = (&'static str, &'static str, u32, u32, u32);
    let count = |hidden: u32, layers: &[Layer]| {
        ["published", "spec", "as-trained"].map(|mode| {
            let column = |f: &dyn Fn(&Layer) -> Value| layers.iter().map(f).collect::<Value>();
            total(
                json!({"space": "flexibert", "mode": mode, "hidden_size": hidden, "num_layers": layers.len(),
                "operation_type": column(&|l| l.0.into()), "operation_parameter": column(&|l| l.1.into()),
                "num_heads": column(&|l| l.2.into()), "ffn_dim": column(&|l| l.3.into()),
                "ffn_stack": column(&|l| l.4.into())}),
            )
        })
    };
    assert_eq!(
        count(
            256,
            &[
                ("SA", "WMA", 4, 1024, 3),
                ("LT", "DCT", 2, 512, 3),
                ("SA", "SDP", 4, 512, 3),
                ("SA", "SDP", 4, 1024, 1)
            ]
        ),
        [13_330_176, 9_657_088, 10_576_896]
    );
    assert_eq!(
        count(
            256,
            &[
                ("LT", "DFT", 4, 1024, 3),
                ("SA", "SDP", 2, 1024, 1),
                ("DSC", "9", 4, 512, 3),
                ("DSC", "5", 2, 512, 1)
            ]
        ),
        [11_106_199, 9_006_999, 9_920_512]
    );
    assert_eq!(
        count(
            128,
            &[
                ("SA", "SDP", 4, 1024, 1),
                ("LT", "DCT", 2, 1024, 1),
                ("DSC", "9", 4, 512, 3),
                ("LT", "DFT", 4, 512, 1)
            ]
        ),
        [8_840_082, 5_448_914, 5_291_264]
    );
    assert_eq!(
        count(128, &[("DSC", "9", 4, 512, 1), ("DSC", "5", 2, 512, 1)]),
        [5_526_167, 4_356_183, 4_369_408]
    );
    assert_eq!(
        count(
            256,
            &[
                ("LT", "DCT", 4, 512, 1),
                ("SA", "SDP", 2, 1024, 3),
                ("DSC", "5", 4, 512, 1),
                ("LT", "DFT", 2, 1024, 3)
            ]
        ),
        [10_937_226, 10_411_914, 11_363_328]
    );
}

#[test]
fn gpt2_field_by_field() {
    let fields = |value: Value| {
        let params = read(value).params();
        [
            params.part(Part::Embedding),
            params.part(Part::Attention),
            params.part(Part::Ffn),
            params.decoder(),
            params.total,
        ]
    };
    assert_eq!(
        fields(
            json!({"space": "gpt2", "n_layer": 5, "d_model": 128, "d_embed": 256, "div_val": 4, "n_head": 2,
            "d_inner": [1071, 640, 1286, 800, 1871]})
        ),
        [6_631_088, 330_240, 1_457_316, 1_790_372, 8_505_006]
    );
    assert_eq!(
        fields(
            json!({"space": "gpt2", "n_layer": 4, "d_model": 256, "d_embed": 512, "div_val": 2, "n_head": 2,
            "d_inner": [751, 935, 735, 1179]})
        ),
        [16_951_168, 1_052_672, 1_847_824, 2_905_104, 20_038_634]
    );
    assert_eq!(
        fields(
            json!({"space": "gpt2", "n_layer": 2, "d_model": 128, "d_embed": 512, "div_val": 1, "n_head": 2,
            "d_inner": [730, 1220]})
        ),
        [25_825_280, 132_096, 501_406, 634_782, 26_576_888]
    );
}

#[test]
fn recurrent_reference_cells() {
    let linear = |name: &str, inputs: [&str; 2]| json!({"name": name, "op": "linear", "inputs": inputs});
    let act = |name: &str, kind: &str, input: &str| json!({"name": name, "op": format!("activation_{kind}"), "inputs": [input]});
    let rnn = json!([linear("f", ["x", "h_prev_0"]), act("h_new_0", "tanh", "f")]);
    let gru = json!([
        linear("r", ["x", "h_prev_0"]), act("r_act", "sigm", "r"),
        linear("z", ["x", "h_prev_0"]), act("z_act", "sigm", "z"),
        {"name": "rh", "op": "elementwise_prod", "inputs": ["r_act", "h_prev_0"]},
        linear("c", ["x", "rh"]), act("c_act", "tanh", "c"),
        {"name": "h_new_0", "op": "blend", "inputs": ["z_act", "c_act", "h_prev_0"]},
    ]);
    let lstm = json!([
        linear("i", ["x", "h_prev_0"]), act("i_act", "tanh", "i"), linear("j", ["x", "h_prev_0"]), act("j_act", "sigm", "j"),
        linear("f", ["x", "h_prev_0"]), act("f_act", "sigm", "f"), linear("o", ["x", "h_prev_0"]), act("o_act", "tanh", "o"),
        {"name": "p", "op": "elementwise_prod", "inputs": ["f_act", "h_prev_1"]},
        {"name": "q", "op": "elementwise_prod", "inputs": ["i_act", "j_act"]},
        {"name": "h_new_1", "op": "elementwise_sum", "inputs": ["p", "q"]},
        act("t", "tanh", "h_new_1"),
        {"name": "h_new_0", "op": "elementwise_prod", "inputs": ["t", "o_act"]},
    ]);
    for (cell, ptb, wikitext2) in
        [(rnn, 5_731_600, 15_066_078), (gru, 9_174_800, 18_509_278), (lstm, 10_896_400, 20_230_878)]
    {
        assert_eq!(total(json!({"space": "nasbench-nlp", "nodes": cell})), ptb);
        assert_eq!(total(json!({"space": "nasbench-nlp", "vocab_size": 33278, "nodes": cell})), wikitext2);
    }
}

/// LLaMA-7B has 6,738,415,616 parameters; LoNAS leaves out the final norm of 4,096.
#[test]
fn lonas() {
    let full = json!({"space": "lonas-llama", "qkv_rank": 32, "up_rank": 32, "ffn_dim": 11008});
    assert_eq!(total(full.clone()), 6_738_411_520);
    assert_eq!(read(full).with("counting", &json!("full")).unwrap().params().total, 6_738_415_616);
    let widths: Vec<u64> = (0..32).map(|i| [11008, 9632, 8256, 6880, 5504][i % 5]).collect();
    let expected =
        2 * 32000 * 4096 + 32 * (4 * 4096 * 4096 + 2 * 4096) + 3 * 4096 * widths.iter().sum::<u64>();
    assert_eq!(
        total(json!({"space": "lonas-llama", "qkv_rank": 28, "up_rank": 32, "ffn_dim": widths})),
        expected
    );
}

#[test]
fn sizes() {
    let power = |base: u32, exponent: u32| BigUint::from(base).pow(exponent);
    let autoformer =
        |options: u32, depths: [u32; 3]| depths.map(|l| power(options, l)).iter().sum::<BigUint>() * 3u32;
    // GPT-2: sum over depth and width of 9 (or 3) head choices times (3 heads x widths from 2·d on) per layer.
    let gpt2 = |heads: u32, widths: &[u32], least: &dyn Fn(u32) -> u32, most: u32, step: u32| -> BigUint {
        let layer = |d: u32| 3 * ((most - least(d)) / step + 1);
        (2..=16)
            .flat_map(|l| widths.iter().map(move |d| (l, *d)))
            .map(|(l, d)| power(layer(d), l) * heads)
            .sum()
    };
    let grid: Vec<u32> = (128..=1024).step_by(64).collect();
    let paper = |heads| gpt2(heads, &grid, &|d| 2 * d, 4096, 64);
    // The smallest integer of at least 1.7·d, never below 512.
    let public = gpt2(9, &[64, 128, 256, 512], &|d| (d * 17).div_ceil(10).max(512), 2048, 1);
    for (name, size) in [
        ("autoformer-tiny", BigUint::from(1_056_964_608u64)),
        ("autoformer-tiny", autoformer(4, [12, 13, 14])),
        ("autoformer-small", BigUint::from(77_103_263_459_313u64)),
        ("autoformer-base", BigUint::from(10_108_977_168_384u64)),
        ("pit-ti", BigUint::from(4320u32)),
        ("pit-xs", BigUint::from(4320u32)),
        ("pit-s", BigUint::from(4320u32)),
        ("shunted", BigUint::from(3u32 * (3 * 3) * (4 * 2 * 3) * (6 * 2 * 3) * (2 * 2 * 3))),
        ("shunted-stems", BigUint::from(3u32 * 3 * (3 * 3) * (4 * 2 * 3) * (6 * 2 * 3) * (2 * 2 * 3))),
        ("bert", BigUint::from(282_578_800_082_944u64)),
        ("flexibert", BigUint::from(10_621_440u32)),
        ("gpt2", paper(9)),
        ("gpt2-etas", paper(3)),
        ("gpt2-etas-lm1b", paper(3)),
        ("gpt2-text", (1..=12).map(|l| power(4 * 32, l)).sum::<BigUint>() * 16u32),
        ("gpt2-public", public),
        ("transformer-xl", paper(9)),
        ("lonas-llama", power(20, 32)),
    ] {
        assert_eq!(space::preset(name).unwrap().size(), Size::Exact(size), "{name}");
    }
    let log10 = |name: &str| space::preset(name).unwrap().ln_size().unwrap() / std::f64::consts::LN_10;
    assert!((log10("gpt2") - 37.52).abs() < 0.01 && (log10("gpt2-etas") - 37.05).abs() < 0.01);
    assert_eq!(space::preset("nasbench-nlp").unwrap().size(), Size::Open);
}

/// Bytes in f32 that decoding keeps of a whole context, by hand.
#[test]
fn caches() {
    // 3 layers · 2 · 64 · 192 tokens · 4 bytes, whatever the heads.
    let gpt2 = json!({"family": "gpt2", "d_model": 64, "n_head": [1, 2, 4], "d_inner": [64, 128, 256]});
    assert_eq!(read(gpt2).cache_bytes(), Some(294_912));
    // Transformer-XL keeps projected distances too: 2 · 3 · 64 · 192 · 4.
    let xl = json!({"family": "transformer-xl", "d_model": 64, "n_head": [1, 2], "d_inner": 64});
    assert_eq!(read(xl).cache_bytes(), Some(294_912));
    // Key heads of 16 columns: (2 + 1 + 4) · 16 · 2 · 10 tokens · 4.
    let llama = json!({"family": "llama", "vocab_size": 8, "context_len": 10, "hidden_size": 64, "ffn_dim": 8,
        "num_heads": [4, 4, 4], "num_kv_heads": [2, 1, null]});
    assert_eq!(read(llama).cache_bytes(), Some(8_960));
    // Two states; three layers of 6, 6 and 5 columns: 2 · 17 · 4. The length of the sequence does not matter.
    let node = |name: &str, op: &str, inputs: &[&str]| json!({"name": name, "op": op, "inputs": inputs});
    let cell = json!({"family": "recurrent", "embed_dim": 5, "hidden_size": 6, "num_layers": 3, "nodes": [
        node("a", "linear", &["x", "h_prev_1"]), node("h_new_1", "activation_tanh", &["a"]),
        node("h_new_0", "elementwise_sum", &["h_new_1", "h_prev_0"])]});
    for steps in [7, 70] {
        assert_eq!(read(cell.clone()).with("context_len", &json!(steps)).unwrap().cache_bytes(), Some(136));
    }
    for encoder in ["bert", "flexibert", "autoformer-tiny", "pit-ti", "shunted"] {
        let network = space::preset(encoder).unwrap().sample(&mut foretell::seed::Seed(0).stream("cache", 0));
        assert!(network.cache_bytes().is_none() && !network.is_decoder(), "{encoder}");
    }
}
