//! What the latency of a network is made of: sums over its layers, known without running it.

use super::Phase;
use crate::architecture::{Architecture, Counter, Part, Role, Tensor, Visitor};

/// How many terms there are.
pub(super) const TERMS: usize = 8;

/// Numbers of a table's row that are read at once: a row of fewer costs as much.
const LINE: u64 = 16;

/// The terms of one network in one phase.
///
/// Common to both: 1; blocks and heads for what each costs whatever its size; weights inside layers, those of the
/// feed-forward apart. A whole input adds its multiply-adds, widths and activations. A decoding step adds what it
/// reads: the cache, the weights that score words, and their rows, which have a least cost.
pub(super) fn terms(architecture: &Architecture, phase: Phase) -> [f64; TERMS] {
    let (params, family) = (architecture.params(), architecture.family());
    let [mut blocks, mut widths, mut heads] = [0; 3];
    architecture.blocks(&mut |block| {
        blocks += 1;
        widths += block.width;
        heads += block.heads.unwrap_or(0);
    });
    let mixing = [Part::Attention, Part::Pooling, Part::Cell, Part::Adapter].map(|part| params.part(part));
    let positions = 0..architecture.positions();
    let of_phase: [f64; 3] = match phase {
        Phase::Prefill => [
            positions.clone().map(|i| family.flops_position(architecture, i, Counter::Exact) as f64).sum(),
            widths as f64,
            positions.map(|i| family.activations_position(architecture, i) as f64).sum(),
        ],
        Phase::Decode => [
            family.cache_numbers(architecture).unwrap_or(0) as f64,
            family.flops_outside(architecture, Counter::Exact) as f64,
            table_rows(architecture) as f64,
        ],
    };
    let common = [1, blocks, heads, mixing.iter().sum(), params.part(Part::Ffn)].map(|term| term as f64);
    let mut all = common.into_iter().chain(of_phase);
    std::array::from_fn(|_| all.next().unwrap_or(0.0))
}

/// Numbers of all embedding tables, rows cut at one line.
fn table_rows(architecture: &Architecture) -> u64 {
    let mut numbers = 0;
    let mut sink = |tensor: &Tensor| {
        if tensor.role == Role::Embedding {
            let rows = u64::from(tensor.shape[0]);
            numbers += rows * (tensor.len() / rows).min(LINE);
        }
    };
    architecture.family().outside(architecture, &mut Visitor::new(&mut sink));
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space;
    use serde_json::json;

    /// Two layers of 8 columns and a vocabulary of 10 words in 32 columns and 20 in 8: 10 · 16 + 20 · 8 numbers; the
    /// cache holds 2 layers · 2 · 8 · 6 tokens.
    #[test]
    fn terms_by_hand() {
        let network = space::read_architecture(&json!({"family": "gpt2", "vocab_size": 30, "cutoffs": [10],
            "div_val": 4, "d_embed": 32, "context_len": 6, "d_model": 8, "n_head": [1, 2], "d_inner": [4, 5]}))
        .unwrap();
        let decode = terms(&network, Phase::Decode);
        assert_eq!([decode[0], decode[1], decode[2], decode[5], decode[7]], [1.0, 2.0, 3.0, 192.0, 320.0]);
        let prefill = terms(&network, Phase::Prefill);
        assert_eq!(prefill[..5], decode[..5]);
        // 6 tokens · (4 · 64 + 2 · 8 · (4, 5)) + 2 · 36 · 8, and widths of 8.
        let work = 6.0 * (2.0 * 256.0 + 16.0 * 9.0) + 2.0 * 576.0;
        assert_eq!(prefill[5..7], [work, 16.0]);
    }
}
