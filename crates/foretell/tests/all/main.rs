//! All integration tests of the library in one executable: linking it once is quicker than linking one per file.
//! Run one file's by its name: `cargo test -p foretell --test all store::`.

mod allocations;
mod benchmarks;
mod campaign;
mod cancel;
mod conformance;
mod counts;
mod discover;
mod docs;
mod engine_kernels;
mod exact;
mod fine_tune;
mod fuzz;
mod golden;
mod hub;
mod import;
mod layers;
mod machine;
mod memory;
mod names;
mod oracle;
mod probe;
mod properties;
mod rank;
mod report;
mod search;
mod store;
mod support;
mod train;
