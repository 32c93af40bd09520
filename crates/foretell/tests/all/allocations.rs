//! A pass that was run before finds its memory waiting.

#![allow(unsafe_code, reason = "an allocator that counts")]

use foretell::engine::buffer::Workspace;
use foretell::network::Weights;
use foretell::probe::{self, Loss, Pass, Setting};
use foretell::seed::Seed;
use serde_json::json;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Counts the bytes that a thread asks for, those aligned to cache lines apart: they are the packing buffers of `gemm`,
/// which it allocates and frees inside one product; nothing of ours is aligned so.
struct Counting;

thread_local! {
    static OURS: Cell<usize> = const { Cell::new(0) };
    static PACKING: Cell<usize> = const { Cell::new(0) };
    static LARGEST: Cell<usize> = const { Cell::new(0) };
}

/// The most bytes that this thread asked for at once since the last call.
pub fn largest() -> usize {
    LARGEST.take()
}

// SAFETY: hands everything on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let counter = if layout.align() >= 64 { &PACKING } else { &OURS };
        counter.with(|bytes| bytes.set(bytes.get() + layout.size()));
        LARGEST.with(|most| most.set(most.get().max(layout.size())));
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// For the tape's lists, the boxes of its steps and lists of token ids; the values of these passes take many MB.
const LIMIT: usize = 112 * 1024;

#[test]
fn a_second_pass_allocates_next_to_nothing() {
    let networks = [
        (
            json!({"family": "vit", "embed_dim": 192, "depth": 12, "num_heads": 3, "mlp_ratio": 4,
            "relative_position": true}),
            Pass { batch: 1, ..Pass::backward(Loss::CrossEntropy) },
        ),
        (
            json!({"family": "flexibert", "vocab_size": 1000, "context_len": 64, "embedding_size": 64,
            "hidden_size": 128, "operation_type": ["SA", "SA", "LT", "LT", "DSC"],
            "operation_parameter": ["SDP", "WMA", "DFT", "DCT", "5"], "num_heads": 2, "ffn_dim": 256,
            "ffn_stack": [1, 3, 1, 1, 1]}),
            Pass { batch: 4, ..Pass::backward(Loss::Projection) },
        ),
        (
            json!({"family": "gpt2", "vocab_size": 1000, "context_len": 192, "d_model": 256, "n_layer": 6, "n_head": 4,
            "d_inner": 1024, "cutoffs": [200, 500], "div_val": 2}),
            Pass { batch: 2, ..Pass::backward(Loss::CrossEntropy) },
        ),
    ];
    for (json, pass) in networks {
        let architecture = foretell::space::read_architecture(&json).unwrap();
        let weights: Weights<f32> = Weights::standalone(&architecture, Seed(0));
        let setting = Setting::new(&architecture, Seed(0));
        let input = probe::input(&setting, &pass).unwrap();
        let mut space = Workspace::new();
        for pass in [pass.clone(), Pass { train: true, ..pass.clone() }, Pass { loss: Loss::None, ..pass }] {
            let run = |space: &mut Workspace<f32>| {
                let signals = probe::run_on(&setting, &weights, &pass, &input, space).unwrap();
                signals.weight_gradients.into_iter().for_each(|gradients| space.give(gradients.data));
            };
            run(&mut space);
            let (before, held) = ((OURS.get(), PACKING.get()), space.peak_bytes());
            run(&mut space);
            let (ours, packing) = (OURS.get() - before.0, PACKING.get() - before.1);
            let name = architecture.family().name();
            println!("{name} {:?} train {}: {ours} bytes, {packing} for packing", pass.loss, pass.train);
            assert_eq!(space.peak_bytes(), held, "{name}: a buffer was not found again");
            assert!(ours <= LIMIT, "{name}: a second pass allocates {ours} bytes");
        }
        assert_eq!(space.live_bytes(), 0, "all buffers come back");
    }
}
